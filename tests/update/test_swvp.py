"""Weighted violations against full rescoring, enumeration, hand-worked numbers and the bound of Theorem 1."""

from collections import Counter
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import brute
from brute_swvp import BETAS, alternate, mixed_jj, naive_gamma, naive_jj, naive_step, variants
from helpers import (
    assert_same_weights,
    learn_passes,
    learned,
    learning_problems,
    make_learner,
    random_chain,
    random_examples,
)
from structron.errors import StructronError
from structron.kernels.jit import entry
from structron.search.chain.scores import make_work
from structron.search.chain.viterbi import decode
from structron.update.swvp import (
    FAMILIES,
    VARIANTS,
    Swvp,
    define_jj,
    enforce_condition,
    make_mixed,
    pack_substructures,
    set_gamma,
    substructures,
    weigh,
)
from structron.update.swvp_chain import factors_around, mixed_delta

LABELS = ["A", "B", "C"]

problems = learning_problems()


# -- JJ and deltas -------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=9))
@settings(max_examples=80)
def test_families_are_their_definitions(pairs):
    y, z = (np.array(column) for column in zip(*pairs, strict=True))
    for number, family in enumerate(FAMILIES):
        jj = make_mixed(len(y))
        count = entry(define_jj)(number, y, z, len(y), jj)
        found = [tuple(jj.places[jj.first[k] : jj.last[k]].tolist()) for k in range(count + 1)]
        assert found == [*mixed_jj(family, y.tolist(), z.tolist()), tuple(np.flatnonzero(y != z).tolist())]
        assert jj.size[0] == len(naive_jj(family, y.tolist(), z.tolist())) or (y == z).all()


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
    jj = pack_substructures(lists, len(lists), wrong, make_mixed(5))
    jj.m[:] = y
    for k, places in enumerate(lists):
        mixed = y.copy()
        mixed[list(places)] = z[list(places)]
        expected = scores[tuple(y.tolist())][2] - scores[tuple(mixed.tolist())][2]
        assert entry(mixed_delta)(chains, weights, order, 2, 5, y, z, jj, k, 3) == pytest.approx(expected, abs=1e-4)
        assert jj.m.tolist() == y.tolist()


@pytest.mark.parametrize("order", [1, 2])
def test_a_single_position_is_a_few_factors(order):
    """However long the sentence: only the position itself and the `order` next ones are looked at."""
    y, z = np.zeros(50, np.int64), np.ones(50, np.int64)
    jj = pack_substructures([(20,), (49,), (3, 4, 10)], 3, [3, 4, 10, 20, 49], make_mixed(50))
    assert entry(factors_around)(jj, 0, order, 50) == order + 1
    assert jj.around[: order + 1].tolist() == list(range(20, 21 + order))
    assert entry(factors_around)(jj, 1, order, 50) == 1
    assert entry(factors_around)(jj, 2, order, 50) == (2 + order) + (1 + order)
    assert entry(define_jj)(FAMILIES.index("whole"), y, z, 50, make_mixed(50)) == 1


# -- gamma ---------------------------------------------------------------------------------------------------------

deltas = st.lists(st.one_of(st.just(0.0), st.floats(-1e4, 1e4, allow_subnormal=False)), max_size=8)


def gamma_of(given_deltas, variant: str, beta: float, right: int = 0) -> tuple[np.ndarray, float]:
    """γ of the J with m^J ≠ y; right: of how many others m^J = y."""
    gamma, count = np.full(len(given_deltas), np.nan), len(given_deltas)
    left = entry(set_gamma)(np.array(given_deltas), count, count + right, Swvp(variant, beta).rule, gamma)
    return gamma, left


@given(deltas, st.sampled_from(VARIANTS), st.sampled_from(BETAS) | st.floats(0.01, 20), st.integers(0, 6))
def test_gamma_is_the_papers_formula(found, variant, beta, right):
    """Condition 1: γ ≥ 0 and Σγ = 1, the whole output's share counted. Aggressive variants keep to violations."""
    gamma, left = gamma_of(found, variant, beta, right)
    assert (gamma >= 0).all()
    assert gamma.sum() + left == pytest.approx(1)
    assert variant.startswith("b") or all(g == 0 for g, d in zip(gamma, found, strict=True) if d > 0)
    jj = [*((k,) for k in range(len(found))), *[()] * right]
    expected = naive_gamma(jj, [*found, *[0.0] * right], variant, beta)
    assert left == (expected is None)
    if all(abs(d) > 1e-9 or d == 0 for d in found):
        assert [*gamma.tolist(), *[0.0] * right] == pytest.approx(expected or [0.0] * len(jj), abs=1e-9)


@given(deltas, st.sampled_from(["b-wm", "b-wmr"]), st.sampled_from(BETAS), st.floats(-1e4, 0))
def test_condition_2_can_be_enforced(found, variant, beta, whole):
    """w·Σγ ΔΦ ≤ 0 with the whole output's share, which is 0 where the condition held before."""
    gamma, left = gamma_of(found, variant, beta)
    assume(left == 0)
    before, delta = gamma.copy(), np.array(found)
    share = entry(enforce_condition)(delta, len(found), gamma, whole)
    size = max(map(abs, [*found, whole]))
    assert gamma.sum() + share == pytest.approx(1)
    assert (gamma >= 0).all()
    assert gamma @ delta + share * whole <= 1e-12 * size
    if before @ delta <= 0:
        assert share == 0
        assert (gamma == before).all()
    elif whole < 0:
        assert gamma @ delta + share * whole == pytest.approx(0, abs=1e-12 * size)


@pytest.mark.parametrize(
    ("found", "right", "variant", "beta", "expected"),
    [
        ([-3, 1, -1], 0, "b-wm", 1, [3 / 5, 1 / 5, 1 / 5]),
        ([-3, 1, -1], 5, "b-wm", 1, [3 / 5, 1 / 5, 1 / 5]),  # right positions: |d|^β = 0
        ([-3, 1, -1], 0, "a-wm", 1, [3 / 4, 0, 1 / 4]),
        ([-3, 1, -1], 0, "b-wm", 2, [9 / 11, 1 / 11, 1 / 11]),
        ([-3, 2, -1], 0, "b-wmr", 1, [1 / 2, 1 / 3, 1 / 6]),  # 3/3, 2/3, 1/3, divided by 2
        ([-3, 2, -1], 3, "b-wmr", 1, [6 / 15, 5 / 15, 4 / 15]),  # 6/6, 5/6, 4/6, divided by 15/6
        ([-3, 2], 6, "b-wmr", 1, [8 / 15, 7 / 15]),  # two errors in eight words: 8/8 and 7/8, divided by 15/8
        ([-3, 2], 6, "b-wmr", 2, [64 / 113, 49 / 113]),
        ([-3, 2], 6, "a-wmr", 1, [1, 0]),  # I^v = {1}: 1/1
        ([-3, -2], 6, "a-wmr", 1, [2 / 3, 1 / 3]),  # I^v has two: 2/2 and 1/2, divided by 3/2
        ([-3, 2, -1], 5, "a-wmr", 1, [2 / 3, 0, 1 / 3]),
        ([-3, 2, -1], 0, "b-wmr", 2, [9 / 14, 4 / 14, 1 / 14]),
        ([-3, 3, 1], 0, "b-wmr", 1, [3 / 7, 3 / 7, 1 / 7]),  # equal ones share a rank: 3/3, 3/3, 1/3
        ([-3, 3, 1], 1, "b-wmr", 1, [4 / 10, 4 / 10, 2 / 10]),  # 4/4, 4/4, 2/4
        *[([0.0] * 4, 2, variant, 3, [1 / 4] * 4) for variant in VARIANTS],  # before the first update
    ],
)
def test_gamma_by_hand(found, right, variant, beta, expected):
    assert gamma_of(found, variant, beta, right)[0].tolist() == pytest.approx(expected)


def test_condition_2_by_hand():
    """Σγd = 1, the whole output's d = -3: a quarter of it."""
    gamma = np.array([0.5, 0.5])
    assert entry(enforce_condition)(np.array([4.0, -2.0]), 2, gamma, -3.0) == 0.25
    assert gamma.tolist() == [0.375, 0.375]
    assert entry(enforce_condition)(np.array([4.0, -2.0]), 2, gamma, 0.0) == 1


@pytest.mark.parametrize(
    ("variant", "enforce", "deltas", "gamma", "dot"),
    [
        ("b-wm", False, [4.0, -2.0, -3.0], [2 / 3, 1 / 3, 0.0], 2.0),
        ("b-wm", True, [4.0, -2.0, -3.0], [0.4, 0.2, 0.4], 0.0),
        ("a-wm", True, [4.0, -2.0, -3.0], [0.0, 1.0, 0.0], -2.0),
        ("a-wm", False, [4.0, 2.0, -3.0], [0.0, 0.0, 1.0], -3.0),
        ("b-wm", True, [4.0, -2.0, 1.0], [0.0, 0.0, 1.0], 1.0),
    ],
)
def test_weighing_by_hand(variant, enforce, deltas, gamma, dot):
    """Two mixtures and the whole output: γ of all three, and w·Δ."""
    jj = make_mixed(2)
    jj.delta[:] = deltas
    assert entry(weigh)(jj, 2, Swvp(variant, enforce=enforce).rule) == pytest.approx(dot, abs=1e-12)
    assert jj.gamma == pytest.approx(gamma)


# -- learning ------------------------------------------------------------------------------------------------------


def mixed_difference(x: brute.Example, z, places, order: int) -> Counter:
    """ΔΦ(x, y, m^J), the mixed assignment scored as a whole."""
    return brute.difference(x, [z[j] if j in places else label for j, label in enumerate(x.y)], order)


def predicted(learner, s: int) -> list[int]:
    """What the learner's search finds for a sentence under the weights of the moment."""
    starts, count = learner.chains.starts, len(learner.labels)
    work = make_work(int(np.diff(starts).max()), count, learner.store.stride, learner.order)
    out, scores = np.zeros(int(starts[-1]), np.int64), np.zeros(len(starts), np.float32)
    decode(learner.chains, learner.weights(), learner.order, s, s + 1, count, work, out, scores)
    return out[starts[s] : starts[s + 1]].tolist()


@given(problems, variants)
@settings(max_examples=120)
def test_every_step_is_that_of_algorithm_2(problem, swvp):
    rng = np.random.default_rng(problem["seed"])
    options = {key: problem[key] for key in ("values", "pairs")}
    examples = random_examples(rng, LABELS, sentences=4, longest=5, shortest=problem["shortest"], **options)
    learner = make_learner(examples, LABELS, problem["order"], average="none", swvp=swvp, **options)
    for s in rng.integers(len(examples), size=8).tolist():
        before, z = learned(learner), [LABELS[y] for y in predicted(learner, s)]
        (updates,) = learn_passes(learner, [[s]])
        x = examples[s]
        assert updates == (tuple(z) != x.y)
        expected = dict(before)
        jj = naive_jj(swvp.jj, x.y, z)
        changes = [mixed_difference(x, z, places, problem["order"]) for places in [*jj, range(len(z))]]
        for name, amount in naive_step(jj, changes, before, swvp).items() if updates else ():
            expected[name] = expected.get(name, 0.0) + amount
        assert_same_weights(learned(learner), expected, tolerance=2e-5)


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
        assert learner.store.w.tobytes() == plain[1].store.w.tobytes()
        assert learner.store.u.tobytes() == plain[1].store.u.tobytes()


@pytest.mark.parametrize("family", ["errors", alternate])
def test_the_average_is_the_mean_over_every_example(family):
    examples = random_examples(np.random.default_rng(5), LABELS, pairs=True)
    swvp = Swvp("b-wm", jj=family)
    one, mean = (make_learner(examples, LABELS, 1, pairs=True, average=a, swvp=swvp) for a in ("none", "mean"))
    total: Counter = Counter()
    for s in [0, 3, 1, 5, 2, 4, 4, 0, 5, 1]:
        learn_passes(one, [[s]])
        learn_passes(mean, [[s]])
        total.update(learned(one))
    assert_same_weights(learned(mean), {name: value / 10 for name, value in total.items()}, tolerance=1e-5)


def test_two_errors_by_hand():
    """y = B B and, all weights being 0, z = A A: two errors of the same weight. m is A B and B A, each counts a half;
    the plain update would have taken 1 from A A instead, which neither of them has."""
    x = brute.Example([[("f", 1.0)], [("g", 1.0)]], [[], []], ("B", "B"))
    learner = make_learner([x], ["A", "B"], 1, average="none", swvp=Swvp("a-wm"))
    learn_passes(learner, [[0]])
    found = learned(learner)
    halves = {("f", "B"): 0.5, ("f", "A"): -0.5, ("g", "B"): 0.5, ("g", "A"): -0.5}
    halves |= {("label", brute.START, "B"): 0.5, ("label", brute.START, "A"): -0.5}
    halves |= {("label", "B", "B"): 1.0, ("label", "A", "B"): -0.5, ("label", "B", "A"): -0.5}
    assert found == halves


@pytest.mark.parametrize(
    ("variant", "beta", "first", "second"),
    [
        ("b-wmr", 1.0, 8 / 15, 7 / 15),  # |JJ| = 8: 8/8 and 7/8, divided by 15/8
        ("b-wmr", 2.0, 64 / 113, 49 / 113),
        ("a-wmr", 1.0, 2 / 3, 1 / 3),  # |I^v| = 2: 2/2 and 1/2, divided by 3/2
        ("b-wm", 1.0, 7 / 9, 2 / 9),  # 3.5 and 1, divided by 4.5
    ],
)
def test_two_errors_in_eight_words_by_hand(variant, beta, first, second):
    """y = B A A A A B A A; w: 3 for A at the start, 1/2 for A after A, so that z = A A A A A A A A.

    d of {1}: (start, B) + (B, A) - (start, A) - (A, A) = 0 + 0 - 3 - 1/2 = -3.5.
    d of {6}: (A, B) + (B, A) - 2·(A, A) = -1. So r is 0 and 1, and the six right words have d = 0.
    """
    x = brute.Example([[(f"f{i}", 1.0)] for i in range(8)], [[] for _ in range(8)], tuple("BAAAABAA"))
    learner = make_learner([x], ["A", "B"], 1, average="none", swvp=Swvp(variant, beta))
    learner.store.w[0, 0], learner.store.w[1, 0] = 3.0, 0.5
    learn_passes(learner, [[0]])
    words = {key: value for key, value in learned(learner).items() if key[0] != "label"}
    expected = {("f0", "B"): first, ("f0", "A"): -first, ("f5", "B"): second, ("f5", "A"): -second}
    assert words == pytest.approx(expected)


def test_documents_are_learned_sentence_by_sentence():
    examples = random_examples(np.random.default_rng(2), LABELS)
    apart, together = (
        make_learner(examples, LABELS, 1, swvp=Swvp("b-wmr"), units=units) for units in (None, [0, 2, 2, 6])
    )
    assert apart.examples == together.examples == 6
    learn_passes(apart, [range(6)] * 3)
    learn_passes(together, [range(6)] * 3)
    assert apart.store.w.tobytes() == together.store.w.tobytes()


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
            for places in {*mixed_jj(family, x.y, z), *mixed_jj("whole", x.y, z)}:
                changes.append(mixed_difference(x, z, places, order))
    margin = min(brute.dot(truth, change) for change in changes) / brute.norm(truth)
    radius = max(brute.norm(change) for change in changes)
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

BAD_BETAS = [0, -1.0, float("nan"), float("inf"), "1", None, True]
NO_POSITIONS = [None, 5, [1, 2], [[0.5]], ["ab"]]


@pytest.mark.parametrize(
    ("given_options", "message"),
    [
        *[({"beta": beta}, "beta: .*; expected a number above 0") for beta in BAD_BETAS],
        ({"variant": "c-wm"}, "unknown swvp 'c-wm'; expected one of: a-wm, b-wm, a-wmr, b-wmr"),
        ({"jj": "words"}, "jj: 'words'; expected errors, spans, prefixes, whole, or a function"),
    ],
)
def test_bad_options(given_options, message):
    with pytest.raises(StructronError, match=message):
        Swvp(**{"variant": "a-wm"} | given_options)


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        *[([[0], [1, place]], f"jj: the function returned position {place}; expected 0 to 2") for place in (3, -1)],
        *[(lists, r"jj: the function returned .*; expected lists of positions") for lists in NO_POSITIONS],
    ],
)
def test_what_is_no_list_of_positions(lists, message):
    with pytest.raises(StructronError, match=message):
        substructures(lists, {0}, 3)


def test_a_users_lists_are_cut_to_what_is_wrong():
    """A list that stands there twice counts once; one that makes the same mixture as another, or none, counts."""
    given_lists = [[0, 1], [1, 1, 0], {2}, (np.int64(1),), [], [0, 2], [0]]
    assert substructures(given_lists, {0, 1}, 3) == ([(0, 1), (1,), (0,), (0,)], 6)


def test_a_users_function_sees_labels():
    seen = []
    x = brute.Example([[("f", 1.0)]] * 2, [[]] * 2, ("B", "A"))
    learner = make_learner([x], ["A", "B"], 1, swvp=Swvp("a-wm", jj=lambda y, z: seen.append((y, z)) or []))
    learn_passes(learner, [[0]])
    assert seen == [(["B", "A"], ["A", "A"])]
    assert learned(learner)["f", "B"] == 1


def test_names():
    assert str(Swvp("a-wm")) == "swvp-a-wm-1-errors"
    assert str(Swvp("b-wmr", 2.5, alternate, True)) == "swvp-b-wmr-2.5-alternate-enforced"
