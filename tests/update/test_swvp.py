"""Weighted violations against full rescoring, enumeration, hand-worked numbers and the bound of Theorem 1."""

from collections import Counter
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import brute
import structron
from brute_swvp import BETAS, alternate, naive_gamma, naive_jj
from helpers import assert_same_weights, learn_passes, make_learner, random_chain, random_examples, weights_of
from structron import Chunker
from structron.cli import main
from structron.data.toy_english import toy_english, write_conll
from structron.errors import StructronError
from structron.search.chain.scores import make_work
from structron.search.chain.viterbi import decode
from structron.update.swvp import (
    FAMILIES,
    VARIANTS,
    Swvp,
    define_jj,
    enforce_condition,
    factors_around,
    make_mixed,
    mixed_delta,
    pack_substructures,
    set_gamma,
    substructures,
)

LABELS = ["A", "B", "C"]

problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "order": st.sampled_from([1, 2]),
        "values": st.booleans(),
        "pairs": st.booleans(),
        "shortest": st.sampled_from([0, 1]),
    }
)


# -- JJ and deltas -------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=9))
@settings(max_examples=80)
def test_families_are_their_definitions(pairs):
    y, z = (np.array(column) for column in zip(*pairs, strict=True))
    for number, family in enumerate(FAMILIES):
        jj = make_mixed(len(y))
        count = define_jj(number, y, z, len(y), jj)
        found = [tuple(jj.places[jj.first[k] : jj.last[k]].tolist()) for k in range(count)]
        assert found == naive_jj(family, y.tolist(), z.tolist())


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_deltas_are_those_of_full_rescoring(order, pairs, seed):
    """Every set of wrong positions of a sentence of five, single ones among them, against all labellings' scores."""
    rng = np.random.default_rng(seed)
    chains, weights = random_chain(rng, 3, order, [2, 5, 1], whole=False, pairs=pairs, values=seed % 2 == 1)
    scores = brute.chain_scores(chains, weights, order, 1, 3)
    y, z = rng.integers(3, size=(2, 5))
    wrong = np.flatnonzero(y != z).tolist()
    lists = list(chain.from_iterable(combinations(wrong, size) for size in range(1, len(wrong) + 1)))
    jj = pack_substructures(lists, make_mixed(5))
    jj.m[:] = y
    for k, places in enumerate(lists):
        mixed = y.copy()
        mixed[list(places)] = z[list(places)]
        expected = scores[tuple(y.tolist())][2] - scores[tuple(mixed.tolist())][2]
        assert mixed_delta(chains, weights, order, 2, 5, y, z, jj, k, 3) == pytest.approx(expected, abs=1e-4)
        assert jj.m.tolist() == y.tolist()


@pytest.mark.parametrize("order", [1, 2])
def test_a_single_position_is_a_few_factors(order):
    """However long the sentence: only the position itself and the `order` next ones are looked at."""
    y, z = np.zeros(50, np.int64), np.ones(50, np.int64)
    jj = pack_substructures([(20,), (49,), (3, 4, 10)], make_mixed(50))
    assert factors_around(jj, 0, order, 50) == order + 1
    assert jj.around[: order + 1].tolist() == list(range(20, 21 + order))
    assert factors_around(jj, 1, order, 50) == 1
    assert factors_around(jj, 2, order, 50) == (2 + order) + (1 + order)
    assert define_jj(FAMILIES.index("whole"), y, z, 50, make_mixed(50)) == 1


# -- gamma ---------------------------------------------------------------------------------------------------------

deltas = st.lists(st.one_of(st.just(0.0), st.floats(-1e4, 1e4, allow_subnormal=False)), max_size=8)


def gamma_of(given_deltas, variant: str, beta: float) -> tuple[np.ndarray, float]:
    gamma = np.full(len(given_deltas), np.nan)
    left = set_gamma(np.array(given_deltas), len(given_deltas), Swvp(variant, beta).rule, gamma)
    return gamma, left


@given(deltas, st.sampled_from(VARIANTS), st.floats(0.01, 20))
def test_gamma_selection_condition_1(found, variant, beta):
    """γ ≥ 0 and Σγ = 1, the whole output's share counted; γ is 0 on what is no violation in aggressive variants."""
    gamma, left = gamma_of(found, variant, beta)
    assert (gamma >= 0).all()
    assert gamma.sum() + left == pytest.approx(1)
    assert left in (0, 1)
    if variant.startswith("a"):
        assert all(g == 0 for g, d in zip(gamma, found, strict=True) if d > 0)
        assert float(gamma @ np.array(found)) <= 0 or not found
        assert (left == 1) == all(d > 0 for d in found)
    else:
        assert (left == 1) == (not found)


@given(deltas, st.sampled_from(VARIANTS), st.sampled_from(BETAS))
def test_gamma_is_the_papers_formula(found, variant, beta):
    assume(all(abs(d) > 1e-9 or d == 0 for d in found))
    gamma, left = gamma_of(found, variant, beta)
    expected = naive_gamma(found, variant, beta)
    assert (left == 1) == (expected is None)
    assert gamma.tolist() == pytest.approx(expected or [0.0] * len(found), abs=1e-9)


@given(deltas, st.sampled_from(["b-wm", "b-wmr"]), st.sampled_from(BETAS), st.floats(-1e4, 0))
def test_condition_2_can_be_enforced(found, variant, beta, whole):
    """w·Σγ ΔΦ ≤ 0 with the whole output's share, which is 0 where the condition held before."""
    gamma, left = gamma_of(found, variant, beta)
    assume(left == 0)
    before, delta = gamma.copy(), np.array(found)
    share = enforce_condition(delta, len(found), gamma, whole)
    size = max(map(abs, [*found, whole]))
    assert gamma.sum() + share == pytest.approx(1)
    assert (gamma >= 0).all()
    assert gamma @ delta + share * whole <= 1e-12 * size
    if before @ delta <= 0:
        assert share == 0
        assert (gamma == before).all()
    elif whole < 0:
        assert gamma @ delta + share * whole == pytest.approx(0, abs=1e-12 * size)


def test_weighted_margin_by_hand():
    """d = -3, 1, -1, β = 1: balanced 3/5, 1/5, 1/5; aggressive 3/4, 0, 1/4; β = 2: 9/11, 1/11, 1/11."""
    assert gamma_of([-3, 1, -1], "b-wm", 1)[0].tolist() == pytest.approx([0.6, 0.2, 0.2])
    assert gamma_of([-3, 1, -1], "a-wm", 1)[0].tolist() == pytest.approx([0.75, 0, 0.25])
    assert gamma_of([-3, 1, -1], "b-wm", 2)[0].tolist() == pytest.approx([9 / 11, 1 / 11, 1 / 11])


def test_weighted_margin_rank_by_hand():
    """d = -3, 2, -1, β = 1. Balanced: 3/3, 2/3, 1/3, divided by 2. Aggressive: 2/2, 1/2, divided by 3/2. β = 2: 9, 4, 1
    of 14. Equal ones share a rank: -3, 3, 1 have 3/3, 3/3, 1/3, divided by 7/3."""
    assert gamma_of([-3, 2, -1], "b-wmr", 1)[0].tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    assert gamma_of([-3, 2, -1], "a-wmr", 1)[0].tolist() == pytest.approx([2 / 3, 0, 1 / 3])
    assert gamma_of([-3, 2, -1], "b-wmr", 2)[0].tolist() == pytest.approx([9 / 14, 4 / 14, 1 / 14])
    assert gamma_of([-3, 3, 1], "b-wmr", 1)[0].tolist() == pytest.approx([3 / 7, 3 / 7, 1 / 7])


@pytest.mark.parametrize("variant", VARIANTS)
def test_gamma_is_uniform_before_the_first_update(variant):
    assert gamma_of([0.0] * 4, variant, 3)[0].tolist() == [0.25] * 4


def test_condition_2_by_hand():
    """Σγd = 1, the whole output's d = -3: a quarter of it."""
    gamma = np.array([0.5, 0.5])
    assert enforce_condition(np.array([4.0, -2.0]), 2, gamma, -3.0) == 0.25
    assert gamma.tolist() == [0.375, 0.375]
    assert enforce_condition(np.array([4.0, -2.0]), 2, gamma, 0.0) == 1


# -- learning ------------------------------------------------------------------------------------------------------


def now(learner) -> brute.Vector:
    return weights_of(learner.finish(learner.snapshot()))


def predicted(learner, s: int) -> list[int]:
    """What the learner's search finds for a sentence under the weights of the moment."""
    starts, count = learner.chains.starts, len(learner.labels)
    work = make_work(int(np.diff(starts).max()), count, learner.rows.stride, learner.order)
    out, scores = np.zeros(int(starts[-1]), np.int64), np.zeros(len(starts), np.float32)
    decode(learner.chains, learner.weights(), learner.order, s, s + 1, count, work, out, scores)
    return out[starts[s] : starts[s + 1]].tolist()


def difference(x: brute.Example, z, order: int) -> Counter:
    """Φ(x, y) - Φ(x, z)."""
    change = Counter(brute.phi(x, x.y, order))
    change.subtract(brute.phi(x, z, order))
    return change


def naive_step(x: brute.Example, z, w: brute.Vector, order: int, swvp: Swvp) -> brute.Vector:
    """Lines 6 to 11 of Algorithm 2, with every mixed assignment rescored as a whole."""
    changes = []
    for places in naive_jj(swvp.jj, x.y, z):
        mixed = [z[j] if j in places else label for j, label in enumerate(x.y)]
        changes.append(difference(x, mixed, order))
    found = [brute.dot(w, change) for change in changes]
    gamma, whole = naive_gamma(found, swvp.variant, swvp.beta), difference(x, z, order)
    share = 1.0
    if gamma is not None:
        total, worst = float(np.dot(gamma, found)), brute.dot(w, whole)
        share = 0.0
        if swvp.enforce and total > 0:
            share = total / (total - worst) if worst < 0 else 1.0
    step: brute.Vector = {}
    for amount, change in [(share, whole), *(((1 - share) * g, c) for g, c in zip(gamma or [], changes, strict=False))]:
        for name, value in change.items():
            step[name] = step.get(name, 0.0) + amount * value
    return step


variants = st.builds(
    Swvp, st.sampled_from(VARIANTS), st.sampled_from(BETAS), st.sampled_from([*FAMILIES, alternate]), st.booleans()
)


@given(problems, variants)
@settings(max_examples=120)
def test_every_step_is_that_of_algorithm_2(problem, swvp):
    rng = np.random.default_rng(problem["seed"])
    options = {key: problem[key] for key in ("values", "pairs")}
    examples = random_examples(rng, LABELS, sentences=4, longest=5, shortest=problem["shortest"], **options)
    learner = make_learner(examples, LABELS, problem["order"], average="none", swvp=swvp, **options)
    for s in rng.integers(len(examples), size=8).tolist():
        before, z = now(learner), [LABELS[y] for y in predicted(learner, s)]
        (updates,) = learn_passes(learner, [[s]])
        x = examples[s]
        assert updates == (tuple(z) != x.y)
        expected = dict(before)
        for name, amount in naive_step(x, z, before, problem["order"], swvp).items() if updates else ():
            expected[name] = expected.get(name, 0.0) + amount
        assert_same_weights(now(learner), expected, tolerance=2e-5)


@given(problems, st.sampled_from(VARIANTS), st.sampled_from(BETAS), st.booleans(), st.sampled_from(["mean", "none"]))
@settings(max_examples=60)
def test_the_whole_output_is_the_plain_perceptron_bit_for_bit(problem, variant, beta, enforce, average):
    rng = np.random.default_rng(problem["seed"])
    options = {key: problem[key] for key in ("values", "pairs")}
    examples = random_examples(rng, LABELS, shortest=problem["shortest"], **options)
    passes = [rng.permutation(len(examples)).tolist() for _ in range(4)]
    learners = [
        make_learner(examples, LABELS, problem["order"], average=average, swvp=swvp, **options)
        for swvp in (None, Swvp(variant, beta, "whole", enforce), Swvp(variant, beta, lambda y, z: [range(len(y))]))
    ]
    plain, *weighted = [(learn_passes(learner, passes), learner) for learner in learners]
    for updates, learner in weighted:
        assert updates == plain[0]
        assert learner.rows.w.tobytes() == plain[1].rows.w.tobytes()
        assert learner.rows.u.tobytes() == plain[1].rows.u.tobytes()


@pytest.mark.parametrize("family", ["errors", alternate])
def test_the_average_is_the_mean_over_every_example(family):
    examples = random_examples(np.random.default_rng(5), LABELS, pairs=True)
    swvp = Swvp("b-wm", jj=family)
    one, mean = (make_learner(examples, LABELS, 1, pairs=True, average=a, swvp=swvp) for a in ("none", "mean"))
    total: Counter = Counter()
    for s in [0, 3, 1, 5, 2, 4, 4, 0, 5, 1]:
        learn_passes(one, [[s]])
        learn_passes(mean, [[s]])
        total.update(now(one))
    assert_same_weights(now(mean), {name: value / 10 for name, value in total.items()}, tolerance=1e-5)


def test_two_errors_by_hand():
    """y = B B and, all weights being 0, z = A A: two errors of the same weight. m is A B and B A, each counts a half;
    the plain update would have taken 1 from A A instead, which neither of them has."""
    x = brute.Example([[("f", 1.0)], [("g", 1.0)]], [[], []], ("B", "B"))
    learner = make_learner([x], ["A", "B"], 1, average="none", swvp=Swvp("a-wm"))
    learn_passes(learner, [[0]])
    found = now(learner)
    halves = {("f", "B"): 0.5, ("f", "A"): -0.5, ("g", "B"): 0.5, ("g", "A"): -0.5}
    halves |= {("label", brute.START, "B"): 0.5, ("label", brute.START, "A"): -0.5}
    halves |= {("label", "B", "B"): 1.0, ("label", "A", "B"): -0.5, ("label", "B", "A"): -0.5}
    assert found == halves


def test_documents_are_learned_sentence_by_sentence():
    examples = random_examples(np.random.default_rng(2), LABELS)
    apart, together = (
        make_learner(examples, LABELS, 1, swvp=Swvp("b-wmr"), units=units) for units in (None, [0, 2, 2, 6])
    )
    assert apart.examples == together.examples == 6
    learn_passes(apart, [range(6)] * 3)
    learn_passes(together, [range(6)] * 3)
    assert apart.rows.w.tobytes() == together.rows.w.tobytes()


def test_updates_that_are_no_violations_are_counted():
    """Balanced ones can be; aggressive and enforced ones never are."""
    counts = {}
    for swvp in (Swvp("b-wm", 5.0), Swvp("a-wm", 5.0), Swvp("b-wm", 5.0, enforce=True)):
        examples = random_examples(np.random.default_rng(0), LABELS, sentences=30, longest=8)
        learner = make_learner(examples, LABELS, 1, swvp=swvp)
        learn_passes(learner, [range(30)] * 4)
        counts[swvp] = learner.counts()["invalid"]
    assert [count > 0 for count in counts.values()] == [True, False, False]


# -- Theorem 1 -----------------------------------------------------------------------------------------------------


def norm(vector) -> float:
    return float(np.sqrt(sum(value * value for value in vector.values())))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("variant", ["a-wm", "a-wmr", "b-wm", "b-wmr"])
@pytest.mark.parametrize("order", [1, 2])
def test_theorem_1_bounds_the_updates_on_separable_data(order, variant, family):
    """Updates until none is left ≤ (R^JJ)²/(δ^JJ)², where JJ has the whole output too: updates may fall back to it."""
    rng = np.random.default_rng(3)
    truth = {(f"f{k}", label): float(rng.normal()) for k in range(6) for label in LABELS}
    truth |= {("label", p, y): float(rng.normal()) for p in [brute.START, *LABELS] for y in LABELS}
    examples = random_examples(rng, LABELS, sentences=6, longest=4, vocabulary=6)
    for x in examples:
        x.y = brute.best(x, truth, LABELS, order)
    changes = []
    for x in examples:
        for z in brute.labellings(LABELS, len(x)):
            for places in {*naive_jj(family, x.y, z), *naive_jj("whole", x.y, z)}:
                mixed = [z[j] if j in places else label for j, label in enumerate(x.y)]
                changes.append(difference(x, mixed, order))
    margin = min(brute.dot(truth, change) for change in changes) / norm(truth)
    radius = max(norm(change) for change in changes)
    learner = make_learner(examples, LABELS, order, average="none", swvp=Swvp(variant, 1.0, family, enforce=True))
    updates = 0
    for _ in range(2000):
        (new,) = learn_passes(learner, [range(len(examples))])
        updates += new
        if new == 0:
            break
    assert margin > 0
    assert new == 0
    assert 0 < updates <= radius**2 / margin**2


# -- what cannot be ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0, -1.0, float("nan"), float("inf"), "1", None, True])
def test_bad_beta(beta):
    with pytest.raises(StructronError, match=r"beta: .*; expected a number above 0"):
        Swvp("a-wm", beta)


def test_bad_variant_and_bad_family():
    with pytest.raises(StructronError, match="unknown swvp 'c-wm'; expected one of: a-wm, b-wm, a-wmr, b-wmr"):
        Swvp("c-wm")
    with pytest.raises(StructronError, match="jj: 'words'; expected errors, spans, prefixes, whole, or a function"):
        Swvp("a-wm", jj="words")


@pytest.mark.parametrize("outside", [3, -1])
def test_positions_outside_are_named(outside):
    x = brute.Example([[("f", 1.0)]] * 3, [[]] * 3, ("B", "B", "A"))
    learner = make_learner([x], ["A", "B"], 1, swvp=Swvp("a-wm", jj=lambda y, z: [[0], [1, outside]]))
    with pytest.raises(StructronError, match=rf"jj: the function gave position {outside}; expected 0 to 2"):
        learn_passes(learner, [[0]])


@pytest.mark.parametrize("given_lists", [None, 5, [1, 2], [[0.5]], ["ab"]])
def test_what_is_no_list_of_positions(given_lists):
    with pytest.raises(StructronError, match=r"jj: the function gave .*; expected lists of positions"):
        substructures(given_lists, {0}, 3)


def test_a_users_lists_are_cut_to_what_is_wrong():
    given_lists = [[0, 1], [1, 1, 0], {2}, (np.int64(1),), [], [0, 2]]
    assert substructures(given_lists, {0, 1}, 3) == [(0, 1), (1,), (0,)]


def test_a_users_function_sees_labels():
    seen = []
    x = brute.Example([[("f", 1.0)]] * 2, [[]] * 2, ("B", "A"))
    learner = make_learner([x], ["A", "B"], 1, swvp=Swvp("a-wm", jj=lambda y, z: seen.append((y, z)) or []))
    learn_passes(learner, [[0]])
    assert seen == [(["B", "A"], ["A", "A"])]
    assert now(learner)["f", "B"] == 1


def test_names():
    assert str(Swvp("a-wm")) == "swvp-a-wm-1-errors"
    assert str(Swvp("b-wmr", 2.5, alternate, True)) == "swvp-b-wmr-2.5-alternate-enforced"


# -- labellers -----------------------------------------------------------------------------------------------------

ROWS = [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in toy_english(60, 3)]


def test_a_labeller_with_weighted_violations(tmp_path):
    """Another model than the plain one, with its rule in the signature, and kept by its file."""
    plain, weighted = (Chunker(passes=4, swvp=swvp, beta=2.0).fit(ROWS) for swvp in (None, "b-wmr"))
    assert weighted.model_.w.tobytes() != plain.model_.w.tobytes()
    assert "update swvp-b-wmr-2-errors" in weighted.signature_
    assert all("invalid" in record for record in weighted.history_)
    assert weighted.score(ROWS) > 90
    weighted.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert (again.swvp, again.beta, again.jj, again.enforce) == ("b-wmr", 2.0, "errors", False)
    assert again.predict(ROWS) == weighted.predict(ROWS)


def test_the_whole_output_is_the_plain_labeller():
    plain, whole = (Chunker(passes=3, runs=2, swvp=swvp, jj="whole").fit(ROWS) for swvp in (None, "a-wm"))
    assert whole.model_.w.tobytes() == plain.model_.w.tobytes()


def test_a_users_function_is_not_in_the_file_but_its_name(tmp_path):
    labeler = Chunker(passes=2, swvp="b-wm", jj=alternate).fit(ROWS)
    assert "swvp-b-wm-1-alternate" in labeler.signature_
    labeler.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert again.predict(ROWS[:5]) == labeler.predict(ROWS[:5])
    with pytest.raises(StructronError, match="jj: 'alternate'; expected errors, spans, prefixes, whole, or a function"):
        again.partial_fit(ROWS)
    again.jj = alternate
    again.partial_fit(ROWS)


def test_a_checkpoint_goes_on_bit_for_bit(tmp_path):
    whole, first, rest = (Chunker(passes=passes, swvp="b-wm") for passes in (4, 2, 4))
    whole.fit(ROWS)
    first.fit(ROWS, checkpoint=tmp_path / "c")
    rest.fit(ROWS, checkpoint=tmp_path / "c", resume=True)
    assert rest.model_.w.tobytes() == whole.model_.w.tobytes()
    with pytest.raises(StructronError, match="belongs to other data or options"):
        Chunker(passes=4, swvp="b-wm", beta=2).fit(ROWS, checkpoint=tmp_path / "c", resume=True)


def test_documents_and_bpm():
    documents = [structron.Document(ROWS[lo : lo + 4]) for lo in range(0, 20, 4)]
    rows = [[(word, pos, chunk) for word, pos, chunk in sentence] for sentence in ROWS[:20]]
    entities = structron.EntityRecognizer(margin=None, non_local=(), passes=3, swvp="b-wm", bpm=2)
    apart = entities.fit(rows).model_.w
    assert entities.fit(documents).model_.w.tobytes() == apart.tobytes()


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"update": "laso", "beam": 4}, "a-wm with update laso"),
        ({"alma": 0.9, "beam": None}, "a-wm with update laso"),
        ({"alma": 0.9, "beam": None, "update": "standard"}, r"a-wm with alma 0\.9"),
        ({"margin": 5}, "a-wm with margin 5"),
        ({"non_local": ["phrase", "conjunction"]}, "a-wm with non_local phrase conjunction"),
    ],
)
def test_what_weighted_violations_do_not_go_with(options, shown):
    with pytest.raises(StructronError, match=f"^swvp: {shown}; works with exact search"):
        Chunker(swvp="a-wm", **options).fit(ROWS)


@pytest.mark.parametrize(("name", "value"), [("swvp", "wm"), ("beta", float("nan")), ("beta", 0), ("jj", "all")])
def test_bad_parameters_of_a_labeller(name, value):
    with pytest.raises(StructronError, match=name):
        Chunker(**{"swvp": "a-wm", name: value}).fit(ROWS)


def test_the_scikit_learn_estimator():
    sklearn = pytest.importorskip("structron.sklearn")
    X, Y = [[row[0] for row in s] for s in ROWS], [[row[2] for row in s] for s in ROWS]
    labeler = sklearn.SequenceLabeler(passes=2, swvp="a-wmr", beta=0.5, jj="spans", enforce=True).fit(X, Y)
    assert "swvp-a-wmr-0.5-spans-enforced" in labeler.labeler_.signature_
    with pytest.raises(ValueError, match="beta: -1"):
        sklearn.SequenceLabeler(swvp="a-wmr", beta=-1).fit(X, Y)


def test_the_command_line(tmp_path, capfd):
    file, argv = str(tmp_path / "t.conll"), ["train", "chunker", "--model", str(tmp_path / "m"), "--passes", "2"]
    write_conll(file, toy_english(40, 3))
    argv += ["--train", file]
    assert main([*argv, "--swvp", "b-wm", "--beta", "1.5"]) == 0
    assert "update swvp-b-wm-1.5-errors" in capfd.readouterr().err
    assert main([*argv, "--swvp", "none"]) == 0
    assert "update standard" in capfd.readouterr().err
    for more, says in (
        (["--swvp", "c-wm"], "'--swvp'"),
        (["--swvp", "a-wm", "--beta", "nan"], "'--beta': nan: expected a number above 0"),
        (["--swvp", "a-wm", "--beta", "0"], "'--beta': 0: expected a number above 0"),
        (["--beta", "2"], "--beta 2: expected --swvp a-wm, b-wm, a-wmr or b-wmr beside it"),
        (["--swvp", "a-wm", "--alma", "0.9"], "swvp: a-wm with update laso; works with exact search or a beam"),
        (["--swvp", "a-wm", "--margin", "4"], "swvp: a-wm with margin 4"),
    ):
        assert main([*argv, *more]) == 2
        said = capfd.readouterr().err
        assert said.count("\n") == 1
        assert says in said


def test_a_task_it_cannot_serve(capfd):
    assert main(["train", "segments", "--train", "t", "--model", "m", "--swvp", "a-wm"]) == 2
    said = capfd.readouterr().err
    assert "--swvp: not an option of the segments; works with tagger, chunker, joint, entities, parser" in said
