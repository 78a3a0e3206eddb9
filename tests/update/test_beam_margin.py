"""Margins under any search: Algorithm 3.1 of Kazama & Torisawa (2007) by enumeration, its theorem, all learners."""

import math
from itertools import pairwise

import numpy as np
import pytest

import segmentations as lattice
from problems import (
    CHAIN_1,
    CHAIN_2,
    POOR,
    Space,
    Weights,
    begin_with,
    chain_problem,
    figure1_problem,
    inputs_of,
    learn_pass,
    parser_problem,
    random_corpus,
    uneven_weights,
    weights_in,
)
from slow import SlowLearner
from structron import (
    BeamLearner,
    Chunker,
    JointTagger,
    Parser,
    QueueLearner,
    SegmentChunker,
    StructronError,
    Tagger,
    load,
)
from structron.data.toy_english import toy_english
from structron.learn.beam import BeamTraining
from structron.update.alma import ALPHA, MARGIN, end_example, lowering, make_alma, named, step
from structron.update.violation import RULES
from thermostat import EXAMPLES, NOISY, PROBLEM, weights_of

PROBLEMS = {
    "chain1": (lambda: chain_problem(3, 4, CHAIN_1), [4]),
    "chain2": (lambda: chain_problem(3, 4, CHAIN_2), [4]),
    "parser": (parser_problem, [4, 4]),
    "poor": (lambda: parser_problem(POOR, words=2, tags=3), [2, 3]),
}
VALID = [name for name, rule in RULES.items() if rule.valid]
ONE_UPDATE = [name for name, rule in RULES.items() if rule.valid and not rule.go_on]


def difference(space: Space, y: tuple, z: tuple) -> Weights:
    """ΔΦ(x, y, z)."""
    delta = {feature: float(count) for feature, count in space.phi(y).items()}
    for feature, count in space.phi(z).items():
        delta[feature] = delta.get(feature, 0.0) - count
    return {feature: amount for feature, amount in delta.items() if amount}


def dot(weights: Weights, delta: Weights) -> float:
    return sum(weights.get(feature, 0.0) * amount for feature, amount in delta.items())


def algorithm_3_1(space: Space, gold: tuple, weights: Weights, margin: float) -> bool:
    """One example of it, over all outputs: the best z other than y, if y does not beat it by more than C."""
    z = max((actions for actions in space.all() if actions != gold), key=lambda actions: space.score(weights, actions))
    delta = difference(space, gold, z)
    if dot(weights, delta) > margin:
        return False
    for feature, amount in delta.items():
        weights[feature] = weights.get(feature, 0.0) + amount
    return True


# -- the state -----------------------------------------------------------------------------------------------------


def test_a_margin_is_a_perceptron_that_lowers():
    state = make_alma(None, 500)
    assert (state[ALPHA], state[MARGIN]) == (0, 500)
    assert lowering(state) == 500
    assert step(state, 9.0, 1.0) == 1
    end_example(state)
    assert lowering(state) == 500
    assert lowering(make_alma(None)) == lowering(make_alma(None, 0)) == 0


def test_names():
    assert named("max-violation", None, 500.0) == "max-violation-margin-500"
    assert named("early", None, 0.5) == "early-margin-0.5"
    assert named("early", None, 0.0) == "early-margin-0"


@pytest.mark.parametrize("margin", [-1, -1e-9, math.nan, math.inf, True, "much"], ids=str)
def test_a_margin_that_cannot_be(margin):
    with pytest.raises(StructronError, match=r"margin: .*; expected a number of at least 0, for instance 500"):
        make_alma(None, margin)


def test_one_kind_of_margin():
    with pytest.raises(
        StructronError, match=r"margin 500 and alma 0\.9: expected one of the two \(alma None; --alma no"
    ):
        make_alma(0.9, 500)


# -- against enumeration -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_exact_search_is_algorithm_3_1(name, merge):
    """All derivations are looked at, merged or not: weight for weight."""
    make, columns = PROBLEMS[name]
    problem = make()
    for seed, margin in enumerate((0.0, 0.5, 3.0, 20.0, 1000.0)):
        rng = np.random.default_rng(seed)
        xs, golds = random_corpus(rng, problem, 4, 4, columns)
        spaces, weights = [Space(problem, x) for x in xs], uneven_weights(problem, rng)
        kept = [e for e, space in enumerate(spaces) if len(list(space.all())) > 1]
        fast = BeamTraining(problem, inputs_of(problem, xs, golds), None, "standard", merge, "none", margin=margin)
        begin_with(fast, weights)
        for _ in range(4):
            order = rng.permutation(kept).tolist()
            updates = sum(algorithm_3_1(spaces[e], golds[e], weights, margin) for e in order)
            assert learn_pass(fast, order)["updates"] == updates
        found = weights_in(problem, *fast.rows())
        assert found == pytest.approx({key: weights[key] for key in found}, abs=2e-5)
        assert all(abs(weight) < 2e-5 for key, weight in weights.items() if key not in found)


@pytest.mark.parametrize("seed", range(8))
def test_a_lattice_is_algorithm_3_1(seed):
    """Segmentations: the search merges nodes, and yet finds the best derivation that is not the correct one."""
    rng, margin = np.random.default_rng(seed), float(2 * seed)
    corpus = lattice.Corpus(seed, [3, 5, 2, 4])
    weights = lattice.random_weights(seed)
    table = np.stack([np.arange(1, corpus.features + 1), np.zeros(corpus.features)], axis=1).astype(np.uint64)
    how = (None, "standard", True, "none", corpus.anchored(table), True)
    learner = BeamTraining(lattice.PROBLEM, corpus.inputs(True), *how, margin=margin)
    lattice.begin_with(learner, weights)
    for _ in range(3):
        order, updates = rng.permutation(4).tolist(), 0
        for e in order:
            gold = corpus.golds[e]
            others = (z for z in lattice.everything([3, 5, 2, 4][e]) if z != gold)
            z = max(others, key=lambda actions, e=e: corpus.score(weights, e, actions))
            if corpus.score(weights, e, gold) - corpus.score(weights, e, z) <= margin:
                updates += 1
                for sign, actions in ((1.0, gold), (-1.0, z)):
                    for key, count in corpus.phi(e, actions).items():
                        weights[key] = weights.get(key, 0.0) + sign * count
        assert learn_pass(learner, order)["updates"] == updates
    found = lattice.learned(learner, corpus.features)
    assert found == pytest.approx({key: weights[key] for key in found}, abs=1e-4)
    assert all(abs(weight) < 1e-4 for key, weight in weights.items() if key not in found)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_weights_are_those_of_the_slow_learner(name, rule):
    """Every rule under several margins and beams, merged and not: updates, counts, and the mean."""
    make, columns = PROBLEMS[name]
    problem, rng = make(), np.random.default_rng(23)
    xs, golds = random_corpus(rng, problem, 5, 5, columns)
    for margin, beam, merge in ((0.5, 1, True), (3.0, 3, True), (20.0, 2, False), (2.0, None, True)):
        start = uneven_weights(problem, rng)
        fast = BeamTraining(problem, inputs_of(problem, xs, golds), beam, rule, merge, "none", margin=margin)
        begin_with(fast, start)
        slow = SlowLearner(problem, xs, golds, rule, beam or math.inf, merge, dict(start), margin=margin)
        for _ in range(3):
            order = rng.permutation(len(xs)).tolist()
            counts = learn_pass(fast, order)
            slow.run(order)
            assert counts == slow.counts | {"tokens": sum(map(len, xs))}
            found = weights_in(problem, *fast.rows())
            assert found == pytest.approx({key: slow.weights[key] for key in found}, abs=1e-4)
        fast.average = "mean"
        mean, expected = weights_in(problem, *fast.rows()), slow.mean()
        assert mean == pytest.approx({key: expected[key] for key in mean}, abs=1e-4)


@pytest.mark.parametrize("rule", ONE_UPDATE)
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_update_is_a_violation_of_the_margin(name, rule):
    """w·ΔΦ ≤ C, from the weights before and after an example; some are violations of the margin only."""
    make, columns = PROBLEMS[name]
    problem, rng, margin, close = make(), np.random.default_rng(5), 6.0, 0
    xs, golds = random_corpus(rng, problem, 6, 5, columns)
    learner = BeamTraining(problem, inputs_of(problem, xs, golds), 3, rule, average="none", margin=margin)
    before: Weights = {}
    for e in [*range(6)] * 12:
        updates = learn_pass(learner, [e])["updates"]
        after = weights_in(problem, *learner.rows())
        delta = {key: after.get(key, 0.0) - before.get(key, 0.0) for key in after.keys() | before.keys()}
        assert dot(before, delta) <= margin
        close += updates and dot(before, delta) > 0
        before = after
    assert close


@pytest.mark.parametrize("merge", [True, False], ids=["merged", "apart"])
@pytest.mark.parametrize("rule", RULES)
def test_gold_on_top_is_no_longer_enough(rule, merge):
    """One word: L0 is correct and beats L1 by 2 and L2 by 5. With C = 3 there is one update, against L1 alone."""
    problem = chain_problem(3, 4, ["w"])
    for margin, updates in ((None, 0), (0.0, 0), (1.5, 0), (3.0, 1)):
        given = inputs_of(problem, [np.array([[1]])], [[0]])
        learner = BeamTraining(problem, given, 3, rule, merge, "none", margin=margin)
        begin_with(learner, {("w", (1,), 0): 6.0, ("w", (1,), 1): 4.0, ("w", (1,), 2): 1.0})
        assert learn_pass(learner, [0])["updates"] == updates
        found = weights_in(problem, *learner.rows())
        assert found == {("w", (1,), 0): 6.0 + updates, ("w", (1,), 1): 4.0 - updates, ("w", (1,), 2): 1.0}
        assert learn_pass(learner, [0])["updates"] == 0


def test_the_best_that_is_not_gold_under_a_beam():
    """Standard, beam 1: gold leaves the beam at a step where it was best, and the last step is learned from."""
    problem = chain_problem(2, 3, ["w"])
    weights = {("w", (1,), 0): 3.0, ("w", (2,), 0): 9.0}
    learner = BeamTraining(problem, inputs_of(problem, [np.array([[1], [2]])], [[0, 0]]), 1, "standard", margin=5.0)
    begin_with(learner, weights)
    learner.average = "none"
    assert learn_pass(learner, [0])["updates"] == 1
    assert weights_in(problem, *learner.rows()) == {
        ("w", (1,), 0): 4.0,
        ("w", (1,), 1): -1.0,
        ("w", (2,), 0): 9.0,
    }


# -- the theorem ---------------------------------------------------------------------------------------------------


def converged(learner: BeamTraining, examples: int, passes: int = 5000) -> int:
    """Updates until a pass has none."""
    updates = 0
    for _ in range(passes):
        new = learn_pass(learner, range(examples))["updates"]
        if not new:
            return updates
        updates += new
    raise AssertionError("no convergence")


def geometry(spaces: list[Space], golds: list[tuple], weights: Weights) -> tuple[float, float]:
    """The margin of the weights, as a unit vector, over all wrong outputs; and R², the largest ‖ΔΦ‖²."""
    deltas = [difference(s, y, z) for s, y in zip(spaces, golds, strict=True) for z in s.all() if z != y]
    size = math.sqrt(sum(weight * weight for weight in weights.values()))
    longest = max(sum(amount * amount for amount in delta.values()) for delta in deltas)
    return min(dot(weights, delta) for delta in deltas) / size, longest


@pytest.mark.parametrize("merge", [True, False], ids=["merged", "apart"])
@pytest.mark.parametrize("margin", [0.0, 0.5, 1.0, 7.0, 300.0])
def test_convergence_on_figure_1(margin, merge):
    """Two features, so δ is known: ΔΦ are (-1, 1), (1, 1), (1, 0), best separated by (1, 2)/√5; δ = 1/√5, R² = 2."""
    problem, delta = figure1_problem(), 1 / math.sqrt(5)
    x, gold = np.array([[0], [1], [2], [3]]), (0, 0, 1, 2)
    learner = BeamTraining(problem, inputs_of(problem, [x], [gold]), None, "standard", merge, "none", margin=margin)
    updates = converged(learner, 1)
    reached, longest = geometry([Space(problem, x)], [gold], weights_in(problem, *learner.rows()))
    assert longest == 2
    assert 0 < updates <= (2 * margin + longest) / delta**2
    assert reached >= delta * margin / (2 * margin + longest)
    assert reached <= delta + 1e-6


@pytest.mark.parametrize("merge", [True, False], ids=["merged", "apart"])
def test_convergence_on_chains(merge):
    """Separable sentences: the bounds hold for the δ of the best separator known, and a wider C widens the margin."""
    problem, rng = chain_problem(3, 6, CHAIN_1), np.random.default_rng(2)
    xs, golds = random_corpus(rng, problem, 6, 4, [6])
    spaces, given, found = [Space(problem, x) for x in xs], inputs_of(problem, xs, golds), {}
    for margin in (0.0, 2.0, 10.0, 200.0):
        learner = BeamTraining(problem, given, None, "standard", merge, "none", margin=margin)
        updates = converged(learner, 6)
        found[margin] = (updates, *geometry(spaces, golds, weights_in(problem, *learner.rows())))
    delta = max(reached for _, reached, _ in found.values())
    for margin, (updates, reached, longest) in found.items():
        assert updates <= (2 * margin + longest) / delta**2
        assert reached >= delta * margin / (2 * margin + longest)
    assert found[200.0][1] > found[0.0][1]


@pytest.mark.parametrize("rule", VALID)
def test_every_valid_rule_reaches_the_margin(rule):
    """In a beam too, where every prefix can be separated: words that have one label each."""
    problem, rng = chain_problem(3, 6, CHAIN_1), np.random.default_rng(2)
    xs, golds = random_corpus(rng, problem, 6, 4, [6], lambda space: tuple((space.x[:, 0] % 3).tolist()))
    learner = BeamTraining(problem, inputs_of(problem, xs, golds), 4, rule, average="none", margin=15.0)
    assert converged(learner, 6) > 0
    weights = weights_in(problem, *learner.rows())
    for x, gold in zip(xs, golds, strict=True):
        space = Space(problem, x)
        others = [space.score(weights, z) for z in space.all() if z != gold]
        assert space.score(weights, gold) - max(others) >= 15.0


# -- learners, files, checkpoints ----------------------------------------------------------------------------------

TOY = [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in toy_english(60, 3)]
COLUMNS = ["word", "pos", "chunk"]
TREES = [
    [[w, t, str(h), r] for w, t, h, r in zip(s.words, s.pos, s.heads, s.relations, strict=True)]
    for s in toy_english(40, 3)
]
TASKS = {
    "segments": (SegmentChunker, {"columns": COLUMNS, "alma": None}, TOY),
    "joint": (JointTagger, {"columns": COLUMNS, "alma": None}, TOY),
    "parser": (Parser, {"columns": ["word", "pos", "head", "deprel"]}, TREES),
}


@pytest.mark.parametrize("task", TASKS)
def test_every_task_learns_with_it(task, tmp_path):
    kind, options, data = TASKS[task]
    fitted = [kind(passes=3, update="max-violation", margin=m, **options).fit(data) for m in (None, 20)]
    plain, wide = (model.history_[-1]["updates"] for model in fitted)
    assert wide > plain
    model = fitted[1]
    assert "update max-violation-margin-20 |" in model.signature_
    assert model.score(data) > 80
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.margin, again.stop_change, again.signature_) == (20, None, model.signature_)
    assert again.predict(data) == model.predict(data)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_refuses_what_cannot_be(task):
    kind, options, data = TASKS[task]
    with pytest.raises(StructronError, match="margin: -1; expected a number of at least 0"):
        kind(margin=-1, **options).fit(data)
    with pytest.raises(StructronError, match=r"margin 5 and alma 0\.5: expected one of the two"):
        kind(margin=5, **options | {"alma": 0.5}).fit(data)
    with pytest.raises(StructronError, match="stop_change: 0; expected a number above 0"):
        kind(stop_change=0, **options).fit(data)


@pytest.mark.parametrize("kind", [Tagger, Chunker])
def test_chains_with_a_beam(kind, tmp_path):
    """Goes on from a model with the margin it has, too."""
    given = {"columns": COLUMNS, "label": "pos" if kind is Tagger else None, "runs": 1, "passes": 3, "beam": 4}
    plain, wide = (kind(margin=margin, **given).fit(TOY) for margin in (None, 20))
    assert wide.history_[-1]["updates"] > plain.history_[-1]["updates"]
    assert "update max-violation-margin-20 | search beam-4-dp |" in wide.signature_
    wide.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.margin, again.predict(TOY)) == (20, wide.predict(TOY))
    again.passes = 1
    more = again.partial_fit(TOY)
    assert more.history_[0]["updates"] > 0
    with pytest.raises(StructronError, match=r"margin 20 and alma 0\.9: expected one of the two"):
        kind(margin=20, alma=0.9, **given).fit(TOY)


def test_segments_have_no_list_of_best_ones():
    with pytest.raises(StructronError, match="segments: no n-best labellings; expected a chunker"):
        SegmentChunker().nbest(TOY, 3)


def test_learners_of_a_problem(tmp_path):
    """A queue learner with a beam is the engine with laso; files keep the margin."""
    given = {"beam": 3, "passes": 3, "seed": 4, "margin": 4.0}
    own = QueueLearner(PROBLEM, queue="beam", **given).fit(NOISY)
    engine = BeamLearner(PROBLEM, update="laso", merge=False, **given).fit(NOISY)
    assert weights_of(own.model_) == pytest.approx(weights_of(engine.model_), abs=1e-4)
    assert [r["updates"] for r in own.history_] == [r["updates"] for r in engine.history_]
    assert "update laso-margin-4 |" in own.signature_
    for learner in (own, engine):
        learner.save(tmp_path / "m")
        assert type(learner).load(tmp_path / "m", PROBLEM).margin == 4.0
    for kind in (BeamLearner, QueueLearner):
        with pytest.raises(StructronError, match="margin: nan; expected"):
            kind(PROBLEM, margin=math.nan).fit(NOISY)


def test_a_queue_learner_reaches_the_margin():
    learner = QueueLearner(PROBLEM, queue="exhaustive", passes=200, average="none", margin=3.0).fit(EXAMPLES)
    assert learner.stopped_ == "converged"
    assert learner.evaluate(EXAMPLES).exact == 100.0


def test_checkpoints_know_the_margin(tmp_path):
    options = {"passes": 2, "margin": 4.0}
    whole = BeamLearner(PROBLEM, passes=4, margin=4.0).fit(NOISY)
    BeamLearner(PROBLEM, **options).fit(NOISY, checkpoint=tmp_path / "c")
    for margin in (None, 5.0):
        with pytest.raises(StructronError, match="belongs to other data or options"):
            BeamLearner(PROBLEM, margin=margin).fit(NOISY, checkpoint=tmp_path / "c", resume=True)
    resumed = BeamLearner(PROBLEM, passes=4, margin=4.0).fit(NOISY, checkpoint=tmp_path / "c", resume=True)
    assert weights_of(resumed.model_) == weights_of(whole.model_)


def test_the_state_of_an_older_version_goes_on():
    """Which had no place for the margin."""
    problem = chain_problem()
    xs, golds = random_corpus(np.random.default_rng(1), problem, 3, 4, [4])
    old, new = (BeamTraining(problem, inputs_of(problem, xs, golds), 2) for _ in range(2))
    learn_pass(old, range(3))
    state = old.state()
    new.restore(state | {"pace": state["pace"][:MARGIN]})
    assert weights_in(problem, *new.rows()) == weights_in(problem, *old.rows())
    assert learn_pass(new, range(3)) == learn_pass(old, range(3))


def test_learners_stop_when_hardly_anything_changes(tmp_path):
    """Updates per example, since the engine counts no wrong words; killed after two passes or not."""
    whole = BeamLearner(PROBLEM, passes=50, stop_change=0.5).fit(NOISY)
    passes = len(whole.history_)
    shares = [record["updates"] for record in whole.history_]
    steady = [abs(new - old) < 0.5 * old for old, new in pairwise(shares)]
    assert (whole.stopped_, 4 <= passes < 50) == ("change", True)
    assert steady[-3:] == [True] * 3
    assert not any(all(steady[k : k + 3]) for k in range(len(steady) - 3))
    BeamLearner(PROBLEM, passes=2, stop_change=0.5).fit(NOISY, checkpoint=tmp_path / "c")
    given = {"checkpoint": tmp_path / "c", "resume": True}
    resumed = BeamLearner(PROBLEM, passes=50, stop_change=0.5).fit(NOISY, **given)
    assert (resumed.stopped_, len(resumed.history_)) == ("change", passes)
    assert weights_of(resumed.model_) == weights_of(whole.model_)
    resumed.save(tmp_path / "m")
    assert BeamLearner.load(tmp_path / "m", PROBLEM).stop_change == 0.5
