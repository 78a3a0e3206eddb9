"""Update rules against their table, the compiled learner against one that keeps dictionaries, and the theory."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import (
    CHAIN_1,
    USUAL,
    Space,
    begin_with,
    chain_problem,
    corpus_of,
    figure1_problem,
    inputs_of,
    learn_pass,
    learner_of,
    model_of,
    named,
    random_corpus,
    random_weights,
    training,
    uneven_weights,
    weights_in,
    without_zeros,
)
from separable import bound_of, confusion_matrix, separable
from slow import SlowLearner, SlowTrace, assert_learns_alike, slow_rule
from structron import BeamLearner
from structron.errors import StructronError
from structron.learn.beam import BeamTraining
from structron.learn.loop import Schedule, train
from structron.search.beam.frontier import Anchored
from structron.update.violation import RULES, Rule, standard
from structron.weights import store
from structron.weights.sparse import DENSE_ROWS

VALID = [name for name, rule in RULES.items() if rule.valid]

# -- rules ---------------------------------------------------------------------------------------------------------


@st.composite
def traces(draw) -> SlowTrace:
    """What a search can leave: while the correct prefix is in the beam, and where it falls, the best scores no less."""
    best, gold, alive, right = [0.0], [0.0], [True], [True]
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(["right", "alive", "fallen"]))
        score = float(draw(st.integers(-3, 3)))
        ahead = 0 if kind == "right" else draw(st.integers(-3 if kind == "fallen" and not all(alive) else 0, 3))
        best.append(score + ahead)
        gold.append(score)
        alive.append(kind != "fallen")
        right.append(kind == "right")
    return SlowTrace(best, gold, alive, right)


@pytest.mark.parametrize("name", RULES)
@given(trace=traces())
@settings(max_examples=60)
def test_every_rule_follows_the_table(name, trace):
    arrays = (np.array(trace.best), np.array(trace.gold), np.array(trace.alive, np.int64), np.array(trace.right))
    chosen = RULES[name].choose(*arrays, len(trace.best) - 1)
    assert chosen == slow_rule(name, trace)
    assert not RULES[name].valid or not chosen or trace.wrong_by(chosen) <= 0


def never(best, gold, alive, right, n):
    return 0


def trace_of(problem, x, gold, weights, beam: int) -> SlowTrace:
    """What the engine's search leaves for an example."""
    learner = training(problem, inputs_of(problem, [x], [gold]), beam, Rule(never))
    learner.store.sparse = model_of(problem, weights).sparse
    assert learn_pass(learner, [0])["updates"] == 0
    trace, n = learner.engine.scratch(learner.inputs).trace, len(gold)
    columns = (trace.best, trace.gold, trace.alive.astype(bool), trace.right.astype(bool))
    return SlowTrace(*(column[: n + 1].tolist() for column in columns))


@pytest.mark.parametrize("name", USUAL)
def test_traces_of_searches_are_those_of_lists(name):
    """And all rules choose by them as the table says.

    Gold comes back when a state it was merged with is reduced: of two like states on different stacks the better stays,
    with both stacks; reduced with the other, it is gold.
    """
    back, (problem, columns) = 0, named(name)
    for seed in (1, 297, 308, 347):
        rng = np.random.default_rng(seed)
        xs, golds = random_corpus(rng, problem, 3, 6, columns)
        weights = random_weights(problem, rng, 2)
        for beam in (2, 8):
            slow = SlowLearner(problem, xs, golds, "standard", beam, weights=weights)
            for e, (x, gold) in enumerate(zip(xs, golds, strict=True)):
                expected = slow.trace(e, 0)[1]
                assert trace_of(problem, x, gold, weights, beam) == expected
                back += any(now and not before for before, now in pairwise(expected.alive))
                arrays = [np.array(column) for column in vars(expected).values()]
                for rule in RULES:
                    assert RULES[rule].choose(*arrays, len(gold)) == slow_rule(rule, expected)
    assert back or name != "poor"


def test_a_tie_is_a_violation():
    """Equality counts: with all weights 0 every wrong output ties."""
    trace = (np.zeros(3), np.zeros(3), np.array([1, 1, 0]), np.array([1, 0, 0]), 2)
    assert {name: rule.choose(*trace) for name, rule in RULES.items()} == {
        "standard": 2,
        "early": 2,
        "max-violation": 1,
        "latest": 2,
        "hybrid": 2,
        "laso": 2,
        "laso-literal": 2,
    }


def test_an_unknown_rule_is_named():
    problem, xs, golds = corpus_of("chain1")
    with pytest.raises(StructronError, match="update"):
        training(problem, inputs_of(problem, xs, golds), 1, "erly")


# -- the learner ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", USUAL)
def test_learning_is_that_of_dictionaries(name, rule):
    """Weights, their mean over all examples, and every statistic, pass by pass, for several beams."""
    rng, (problem, xs, golds) = np.random.default_rng(7), corpus_of(name)
    for beam, merge in ((1, True), (2, False), (3, True), (None, True)):
        start = uneven_weights(problem, rng) if RULES[rule].mean else {}  # shares are rounded: no ties, please
        slow = SlowLearner(problem, xs, golds, rule, beam or math.inf, merge)
        assert_learns_alike(learner_of(name, beam, rule, merge), slow, rng, start, 1e-5)


def test_rows_of_many_labels_are_learned_alike():
    """So many labels that the rows of weights become vectors: as updates go on, and in the finished model."""
    problem, rng = chain_problem(24, 3, CHAIN_1), np.random.default_rng(5)
    xs, golds = random_corpus(rng, problem, 25, 4, [3])
    for rule in ("max-violation", "laso"):
        fast = training(problem, inputs_of(problem, xs, golds), 2, rule)
        slow = SlowLearner(problem, xs, golds, rule, 2)
        for _ in range(2):
            learn_pass(fast, range(25))
            slow.run(range(25))
        assert fast.sparse.used[DENSE_ROWS] > 0
        found, mean = weights_in(problem, *fast.rows()), slow.mean()
        assert {key: found.get(key, 0.0) for key in mean} == pytest.approx(mean, abs=1e-5)
        state = {name: array.copy() for name, array in fast.state().items()}
        again = training(problem, inputs_of(problem, xs, golds), 2, rule)
        again.restore(state)
        assert same(fast, again)
        fast.average = "none"
        assert weights_in(problem, *fast.rows()) == without_zeros(slow.weights)
        found, scores = fast.snapshot().decode(inputs_of(problem, xs), 2)
        for space, actions, score in zip(slow.spaces, found, scores, strict=True):
            assert score == space.score(slow.weights, tuple(actions))


def test_the_figures_are_really_put_to_the_test():
    """The corpora above show what the statistics count: falls, search errors, updates that are no violations."""
    totals = dict.fromkeys(["updates", "invalid", "fell_off", "search_errors"], 0)
    for name in USUAL:
        learner = learner_of(name, 1, "standard")
        for _ in range(6):
            counts = learn_pass(learner, range(5))
            totals = {key: total + counts[key] for key, total in totals.items()}
    assert min(totals.values()) > 0


@pytest.mark.parametrize(
    ("rule", "merge", "change"),
    [
        # only (0, 0) is wrong and not below gold
        ("laso", True, {(1, 1): 1, (1, 0): -1}),
        ("laso", False, {(1, 1): 1, (1, 0): -1}),
        # states are merged by their last label: the queue is (0, 0) and (0, 1). Word 2: L0 1 - 1/2, L1 -1/2
        ("laso-literal", True, {(1, 1): 1, (1, 0): -1, (2, 0): 1 / 2, (2, 1): -1 / 2}),
        # the queue is all four, gold included: L1 1 - 2/4 and L0 -2/4 for word 1, L0 1 - 2/4 and L1 -2/4 for word 2
        ("laso-literal", False, {(1, 1): 1 / 2, (1, 0): -1 / 2, (2, 0): 1 / 2, (2, 1): -1 / 2}),
    ],
)
def test_equation_2_in_a_beam_by_hand(rule, merge, change):
    """Two words, two labels, no features but the word. w: word 1: L0 2, L1 1; word 2: L0 3, L1 1.

    Correct is (1, 0) with 1 + 3 = 4; (0, 0) has 5, (0, 1) 3, (1, 1) 2, and all are in a beam of four.
    """
    problem = chain_problem(2, 3, ["w"])
    given = inputs_of(problem, [np.array([[1], [2]])], [[1, 0]])
    learner = training(problem, given, 4, rule, merge, "none", check=True)
    start = {(1, 0): 2.0, (1, 1): 1.0, (2, 0): 3.0, (2, 1): 1.0}
    begin_with(learner, {("w", (word,), label): weight for (word, label), weight in start.items()})
    assert learn_pass(learner, [0])["updates"] == 1
    found = {(word, label): weight for (_, (word,), label), weight in weights_in(problem, *learner.rows()).items()}
    assert found == {key: weight for key in start if (weight := start[key] + change.get(key, 0.0))}


def test_equation_2_as_printed_need_not_be_a_violation():
    """One word: L2 (5) is correct, L0 (6) wins, L1 (1) is in the beam too: w·Δ = 5 - (6 + 5 + 1)/3 = 1, filtered -1."""
    for rule, invalid, expected in (("laso", 0, [5, 1, 6]), ("laso-literal", 1, [6 - 1 / 3, 1 - 1 / 3, 5 + 2 / 3])):
        problem = chain_problem(3, 2, ["w"])
        learner = training(problem, inputs_of(problem, [np.array([[1]])], [[2]]), 3, rule, average="none", check=True)
        begin_with(learner, {("w", (1,), 0): 6.0, ("w", (1,), 1): 1.0, ("w", (1,), 2): 5.0})
        assert learn_pass(learner, [0])["invalid"] == invalid
        found = weights_in(problem, *learner.rows())
        assert [found["w", (1,), y] for y in range(3)] == pytest.approx(expected)


def test_an_expectation_over_a_beam_by_hand():
    """One word with labels of weight log 1, log 2, log 5; the first is correct. All three in the beam: probabilities
    1/8, 2/8, 5/8; a beam of two has lost the correct one: 2/7, 5/7."""
    problem, rule = chain_problem(3, 2, ["w"]), replace(RULES["laso-literal"], expected=True)
    start = {("w", (1,), y): math.log(n) for y, n in enumerate((1, 2, 5)) if n > 1}
    for beam, shares in ((3, (1 / 8, 2 / 8, 5 / 8)), (2, (0, 2 / 7, 5 / 7))):
        learner = training(
            problem, inputs_of(problem, [np.array([[1]])], [[0]]), beam, rule, average="none", check=True
        )
        begin_with(learner, start)
        assert learn_pass(learner, [0])["updates"] == 1
        found = weights_in(problem, *learner.rows())
        change = [found["w", (1,), y] - start.get(("w", (1,), y), 0.0) for y in range(3)]
        assert change == pytest.approx([1 - shares[0], -shares[1], -shares[2]], abs=1e-6)


def test_an_expectation_needs_the_scale_of_the_weights():
    rule = replace(RULES["laso-literal"], expected=True)
    with pytest.raises(StructronError, match="update: expected=True cannot be combined with alma"):
        BeamLearner(chain_problem(2, 2, ["w"]), update=rule, alma=0.9).options.search()


def test_laso_learns_more_than_once_from_an_example():
    counts = learn_pass(learner_of("parser", 1, "laso"), range(5))
    assert counts["updates"] > counts["examples"]


def test_the_check_refutes_a_rule_that_only_claims_to_be_valid():
    problem = figure1_problem()
    inputs = inputs_of(problem, [np.zeros((4, 1), np.int64)], [[0, 0, 1, 2]])
    learner = training(problem, inputs, 1, Rule(standard, valid=True), check=True)
    learn_pass(learner, [0])
    learn_pass(learner, [0])
    with pytest.raises(StructronError, match="1 update without a violation; expected a step at which"):
        learn_pass(learner, [0])


def test_the_check_can_be_switched_off(monkeypatch):
    """In tests it is on."""
    assert learner_of("chain1", 1, "early").check
    assert not learner_of("chain1", 1, "early", check=False).check
    monkeypatch.setenv("STRUCTRON_CHECK", "0")
    assert not learner_of("chain1", 1, "early").check


# -- Figure 1 ------------------------------------------------------------------------------------------------------

NN, VD = ("nn", (0,), 0), ("vd", (0,), 1)


def figure1_weights(rule: str, beam: int | None, passes: int) -> tuple[list[tuple[float, float]], list[dict]]:
    """(#N→N, #V→.) after every pass over the one example, and the counts."""
    problem = figure1_problem()
    x, y = np.zeros((4, 1), np.int64), [0, 0, 1, 2]
    problem.check(x, y)
    learner = training(problem, inputs_of(problem, [x], [y]), beam, rule, average="none", check=True)
    weights, counts = [], []
    for _ in range(passes):
        counts.append(learn_pass(learner, [0]))
        found = weights_in(problem, *learner.rows())
        assert found.keys() <= {NN, VD}
        weights.append((found.get(NN, 0.0), found.get(VD, 0.0)))
    return weights, counts


def test_figure_1_greedy_search_with_standard_updates_never_ends():
    weights, counts = figure1_weights("standard", 1, 9)
    assert weights == [(-1, 1), (0, 2), (-1, 3), (0, 4), (-1, 5), (0, 6), (-1, 7), (0, 8), (-1, 9)]
    assert [c["updates"] for c in counts] == [1] * 9
    assert [c["invalid"] for c in counts] == [0, 0] + [1] * 7
    assert [c["search_errors"] for c in counts] == [0, 0] + [1] * 7


def figure1_scores(weights: dict) -> dict[tuple, float]:
    space = Space(figure1_problem(), np.zeros((4, 1), np.int64))
    return {y: space.score(weights, y) for y in space.all()}


def test_figure_1_is_separable():
    """u = (1, 2) of the paper: the correct labelling wins against the three others."""
    scores = figure1_scores({NN: 1.0, VD: 2.0})
    assert scores == {(0, 0, 0, 2): 2.0, (0, 0, 1, 2): 3.0, (0, 1, 0, 2): 0.0, (0, 1, 1, 2): 2.0}


@pytest.mark.parametrize("rule", ["standard", "early", "hybrid", "laso"])
def test_figure_1_exact_search_converges(rule):
    weights, counts = figure1_weights(rule, None, 9)
    assert counts[-1]["updates"] == 0
    assert sum(c["invalid"] for c in counts) == 0
    scores = figure1_scores(dict(zip((NN, VD), weights[-1], strict=True)))
    assert scores[0, 0, 1, 2] == max(scores.values()) > min(scores.values())


@pytest.mark.parametrize("rule", ["max-violation", "latest"])
def test_figure_1_prefixes_are_not_separable(rule):
    """N N V must beat N N N (so #N→N < 0) and N V N (so #N→N > 0): these two learn from it for ever, but validly."""
    _, counts = figure1_weights(rule, None, 9)
    assert [(c["updates"], c["invalid"]) for c in counts] == [(1, 0)] * 9


@pytest.mark.parametrize("rule", VALID)
def test_figure_1_valid_rules_never_make_an_invalid_update(rule):
    """No weights win greedily here (N→N must beat N→V at the second word and lose at the third): updates go on."""
    _, counts = figure1_weights(rule, 1, 9)
    assert sum(c["invalid"] for c in counts) == 0
    assert sum(c["updates"] for c in counts) >= 2


# -- mistakes are bounded ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["chain", "parser"])
def test_mistakes_stay_within_the_bound(name, rule):
    """Theorem 2 of the paper: at most R²/δ² updates, ever, as long as they are violations. Standard ones are if the
    search is exact (that is Collins' Theorem 1), those of eq. (2) as printed if the queue holds one node."""
    problem, xs, golds = separable(name)
    bound = bound_of(confusion_matrix(problem, xs, golds, rule == "standard"))
    for beam in {"standard": (None,), "laso-literal": (1,)}.get(rule, (1, 2, None)):
        learner = training(problem, inputs_of(problem, xs, golds), beam, rule, average="none", check=True)
        updates = []
        for _ in range(200):
            updates.append(learn_pass(learner, range(len(xs)))["updates"])
            if not updates[-1]:
                break
        assert updates[-1] == 0
        assert 0 < sum(updates) <= bound
        model = model_of(problem, weights_in(problem, *learner.rows()))
        assert [tuple(y) for y in model.decode(inputs_of(problem, xs), beam)[0]] == [tuple(y) for y in golds]


# -- runs, checkpoints, room ---------------------------------------------------------------------------------------


def same(left: BeamTraining, right: BeamTraining) -> bool:
    """Bit for bit, weights and means."""
    found = []
    for learner in (left, right):
        for average in ("none", "mean"):
            learner.average = average
            keys, rows = learner.rows()
            found.append({(int(keys[p]), c): w for p, c, w in zip(*(a.tolist() for a in rows), strict=True)})
    return found[:2] == found[2:]


@pytest.mark.parametrize("rule", RULES)
def test_a_run_is_a_function_of_the_seed(rule, tmp_path):
    """Whether it is another learner's, a twin's, or resumed; and a learner can be set back."""
    first, again, other, half, rest = (learner_of("parser", 2, rule) for _ in range(5))
    for learner, seed in ((first, 1), (again, 1), (other, 2)):
        train(learner, Schedule(passes=4, seed=seed))
    assert same(first, again)
    assert not same(first, other)
    twin = other.fresh_copy()
    assert not len(twin.rows()[0])
    train(twin, Schedule(passes=4, seed=1))
    assert same(first, twin)
    train(half, Schedule(passes=2, seed=1, checkpoint=tmp_path / "half"))
    state = {name: array.copy() for name, array in half.state().items()}
    result = train(rest, Schedule(passes=4, seed=1, checkpoint=tmp_path / "half", resume=True))
    assert same(first, rest)
    assert not same(half, rest)
    assert [record["pass"] for record in result.history] == [1, 2, 3, 4]
    rest.restore(state)
    assert same(half, rest)
    assert learn_pass(half, range(5)) == learn_pass(rest, range(5))
    assert same(half, rest)


def test_a_checkpoint_of_other_data_is_refused():
    problem = chain_problem(2, 2, ["y1"], where=1)
    x = np.ones((2, 1), np.int64)
    anchored = Anchored(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([[5, 0], [6, 0]], np.uint64))
    with_features = training(problem, inputs_of(problem, [x], [[0, 1]]), 1, "early", anchored=anchored)
    without = training(problem, inputs_of(problem, [x], [[0, 1]]), 1, "early")
    with pytest.raises(StructronError, match="other data"):
        without.restore(with_features.state())
    assert with_features.fingerprint() != without.fingerprint()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["chain2", "labelled"])
def test_tables_that_are_too_small_grow(name, rule, monkeypatch):
    usual = learner_of(name, 2, rule)
    monkeypatch.setattr(store, "FIRST_CELLS", 16)
    tiny = learner_of(name, 2, rule)
    before = len(tiny.sparse.column)
    for _ in range(3):
        learn_pass(usual, range(5))
        learn_pass(tiny, range(5))
    assert len(tiny.sparse.column) > before
    assert len(tiny.sparse.column) < len(usual.sparse.column)
    assert same(usual, tiny)


@pytest.mark.parametrize("rule", RULES)
def test_searches_that_need_room_are_repeated_without_a_trace(rule):
    for name in USUAL:
        usual, tight = learner_of(name, 2, rule), learner_of(name, 2, rule)
        scratch = tight.engine.scratch(tight.inputs)
        scratch.rows, scratch.candidates = 6, 2
        scratch._make()
        for _ in range(3):
            assert learn_pass(usual, range(5)) == learn_pass(tight, range(5))
        assert same(usual, tight)


def test_an_infinite_beam_learns_with_arrays_that_grow():
    problem, xs, golds = corpus_of("chain2", 5, 2, 7)
    xs, golds = [*xs, np.ones((7, 1), np.int64)], [*golds, (0, 1, 2, 0, 1, 2, 0)]
    merged, plain = (training(problem, inputs_of(problem, xs, golds), None, "early", m) for m in (True, False))
    for learner in (merged, plain):
        learn_pass(learner, range(3))
    assert plain.engine.scratch(plain.inputs).wide > 256
    assert learn_pass(plain, range(3))["fell_off"] == 0


def test_numbered_features_are_learned_like_templates():
    """The same words once as an atom and once numbered before the search: the same weights and means."""
    _, xs, golds = corpus_of("chain1", 2, 6, 5)
    by_template = chain_problem(3, 4, ["w", "y1"])
    numbered = chain_problem(3, 4, ["y1"], where=1)
    words = np.concatenate(xs)[:, 0]
    table = np.stack([np.arange(101, 105), np.zeros(4)], axis=1).astype(np.uint64)
    anchored = Anchored(np.arange(len(words) + 1), words.astype(np.int32), table)
    for rule in RULES:
        left = training(by_template, inputs_of(by_template, xs, golds), 2, rule)
        right = training(numbered, inputs_of(numbered, xs, golds), 2, rule, anchored=anchored)
        for _ in range(2):
            assert learn_pass(left, range(6)) == learn_pass(right, range(6))
        named = weights_in(by_template, *left.rows())
        keys, rows = right.rows()
        flat = {(int(keys[p]), c): w for p, c, w in zip(*(a.tolist() for a in rows), strict=True) if w}
        assert {(v[0], c): w for (text, v, c), w in named.items() if text == "w"} == {
            (key - 101, c): w for (key, c), w in flat.items() if key < 200
        }
        model = right.snapshot()
        expected = left.snapshot().decode(inputs_of(by_template, xs), 2)
        given_again = anchored._replace(numbers=words.astype(np.int32), table=known_table(model, table))
        assert model.decode(inputs_of(numbered, xs), 2, True, given_again) == expected


def known_table(model, table: np.ndarray) -> np.ndarray:
    """Keys and heads of all features, learned or not."""
    heads = dict(model.anchored_table.tolist())
    return np.array([[key, heads.get(key, 0)] for key in table[:, 0].tolist()], np.uint64)
