"""The perceptron against a naive one on a dictionary of weights, the paper's own example, and its two theorems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from helpers import assert_same_weights, learn_passes, learned, learning_problems, make_learner, random_examples
from structron.kernels.jit import entry
from structron.model.chain import fixed_rows
from structron.search.chain.scores import make_work
from structron.update.perceptron import add_difference

LABELS = ["A", "B", "C"]

problems = learning_problems(labels=st.integers(2, 3), cutoff=st.sampled_from([0, 1, 3]))


def build(problem: dict) -> tuple[list[brute.Example], list[str], list[list[int]]]:
    rng = np.random.default_rng(problem["seed"])
    labels = LABELS[: problem["labels"]]
    options = {key: problem[key] for key in ("values", "pairs", "shortest")}
    examples = random_examples(rng, labels, **options)
    return examples, labels, [rng.permutation(len(examples)).tolist() for _ in range(3)]


def learner_of(problem: dict, examples: list[brute.Example], labels: list[str], average: str):
    options = {key: problem[key] for key in ("order", "values", "pairs", "cutoff")}
    return make_learner(examples, labels, average=average, **options)


@pytest.mark.parametrize("average", ["none", "mean", "voted"])
@given(problem=problems)
@settings(max_examples=40)
def test_a_run_is_that_of_the_naive_perceptron(average, problem):
    """Weight by weight, by name; values are multiples of 1/4, so that every sum is exact. The mean is that over every
    example of every pass; votes are those of a stored list of vectors."""
    examples, labels, passes = build(problem)
    learner = learner_of(problem, examples, labels, average)
    updates = learn_passes(learner, passes)
    kept = brute.cut_off(examples, problem["cutoff"])
    run = brute.perceptron(kept, labels, problem["order"], passes)
    assert updates == run.mistakes
    assert len(run.vectors) == 3 * len(examples)
    if average != "voted":
        expected, tolerance = (run.last, 0.0) if average == "none" else (run.mean(), 1e-6)
        assert_same_weights(learned(learner), expected, tolerance)
        return
    out, _, _ = learner.finish(learner.snapshot()).decode(learner.prepared)
    starts = learner.prepared.starts
    for s, x in enumerate(kept):
        found = tuple(labels[y] for y in out[starts[s] : starts[s + 1]])
        assert found == run.vote(x, labels, problem["order"])


def test_votes_are_counted_for_every_example():
    examples = random_examples(np.random.default_rng(3), LABELS)
    learner = make_learner(examples, LABELS, 1, average="voted")
    learn_passes(learner, [range(6), range(6)])
    votes = learner.snapshot().votes
    assert votes.count.sum() == 12
    assert len(votes.count) == len(votes.ptr) > 2


def test_the_example_of_section_2_1():
    """the/D man/N saw/V the/D dog/N decoded as …saw/N…: Collins names the eight parameters that change."""
    words = ["the", "man", "saw", "the", "dog"]
    labels = ["D", "N", "V"]
    gold, guess = "DNVDN", "DNNDN"
    x = brute.Example([[(word, 1.0)] for word in words], [[] for _ in words], tuple(gold))
    learner = make_learner([x], labels, 2, average="none")
    y, z = (np.array([labels.index(label) for label in text]) for text in (gold, guess))
    work = make_work(5, 3, learner.store.stride, 2)
    entry(add_difference)(learner.chains, learner.weights(), 2, 0, 5, y, z, 1.0, 1, 3, work)
    found = learned(learner)
    paper = {
        ("labels", "D", "N", "V"): 1,
        ("labels", "N", "V", "D"): 1,
        ("labels", "V", "D", "N"): 1,
        ("saw", "V"): 1,
        ("labels", "D", "N", "N"): -1,
        ("labels", "N", "N", "D"): -1,
        ("labels", "N", "D", "N"): -1,
        ("saw", "N"): -1,
    }
    bigrams = {("label", "N", "V"): 1, ("label", "V", "D"): 1, ("label", "N", "N"): -1, ("label", "N", "D"): -1}
    assert found == paper | bigrams


def test_counts_not_indicators():
    """A feature that fires twice in a sentence is changed by two."""
    x = brute.Example([[("f", 1.0)], [("f", 1.0), ("f", 1.0)]], [[], []], ("B", "B"))
    learner = make_learner([x], ["A", "B"], 1, average="none")
    learn_passes(learner, [[0]])
    found = learned(learner)
    assert found["f", "B"] == 3
    assert found["f", "A"] == -3


def test_a_hand_worked_average():
    """One word, one feature. Example 1 (B) is wrong at zero weights, example 2 (A) is wrong then, example 3 is right.

    w(f, A) after each example: -1, 0, 0; the mean is -1/3. w(f, B) is its opposite.
    """
    one = brute.Example([[("f", 1.0)]], [[]], ("B",))
    two = brute.Example([[("f", 1.0)]], [[]], ("A",))
    learner = make_learner([one, two, two], ["A", "B"], 1)
    assert learn_passes(learner, [[0, 1, 2]]) == [2]
    found = learned(learner)
    expected = {("f", "A"): -1 / 3, ("f", "B"): 1 / 3}
    expected |= {("label", brute.START, "A"): -1 / 3, ("label", brute.START, "B"): 1 / 3}
    assert_same_weights(found, expected, tolerance=1e-7)


def test_constraints_hold_while_learning():
    """The search never proposes what is forbidden, so no update can touch it."""
    rng = np.random.default_rng(8)
    labels = ["A", "B", "C"]
    examples = [x for x in random_examples(rng, labels, sentences=40) if "AB" not in "".join(x.y)]
    allowed = np.ones((4, 3), bool)
    allowed[1, 1] = False
    learner = make_learner(examples, labels, 1, average="none", allowed=allowed)
    order = list(range(len(examples)))
    learn_passes(learner, [order, order])
    legal = lambda x, y: "AB" not in "".join(y)  # noqa: E731
    run = brute.perceptron(examples, labels, 1, [order, order], legal=legal)
    found = learned(learner)
    assert_same_weights(found, run.last)
    assert ("label", "A", "B") not in found
    free = brute.perceptron(examples, labels, 1, [order, order])
    assert ("label", "A", "B") in free.last


# -- growth --------------------------------------------------------------------------------------------------------


def many_features(rng: np.random.Generator, pairs: bool) -> list[brute.Example]:
    """More features than the first rows and blocks have room for, most of them touched by some update."""
    examples = []
    for s in range(60):
        n = 8
        plain = [[(f"f{s}.{i}.{k}", 1.0) for k in range(15)] + [(f"g{rng.integers(40)}", 1.0)] for i in range(n)]
        paired = [[f"p{s}.{i}.{k}" for k in range(6)] for i in range(n)]
        y = tuple(LABELS[k] for k in rng.integers(3, size=n))
        examples.append(brute.Example(plain, paired if pairs else [[] for _ in range(n)], y))
    return examples


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("pairs", [False, True])
def test_rows_and_blocks_grow_beyond_their_first_room(order, pairs, monkeypatch):
    """A learner that starts with little room must end with the weights of one that has room for all."""
    examples = many_features(np.random.default_rng(1), pairs)
    passes = [np.random.default_rng(k).permutation(len(examples)).tolist() for k in range(3)]
    roomy = make_learner(examples, LABELS, order, pairs=pairs)
    roomy.store.reserve(200_000)
    learn_passes(roomy, passes)
    monkeypatch.setattr("structron.weights.dense.FIRST_ROWS", 1)
    tight = make_learner(examples, LABELS, order, pairs=pairs)
    fixed, blocks = fixed_rows(3, order), len(tight.store.block_rows)
    tight.store.w, tight.store.u = tight.store.w[: fixed + 1].copy(), tight.store.u[: fixed + 1].copy()
    learn_passes(tight, passes)
    assert len(tight.store.w) > fixed + 1
    assert (len(tight.store.block_rows) > blocks) == pairs
    assert tight.stats.tolist() == roomy.stats.tolist()
    here, there = (learned(learner) for learner in (tight, roomy))
    assert here == there
    assert len(here) > 10_000


# -- theorems ------------------------------------------------------------------------------------------------------


def radius(examples: list[brute.Example], labels: list[str], order: int) -> float:
    """R: the longest difference of feature vectors between a right and a wrong output."""
    wrong = [(x, y) for x in examples for y in brute.labellings(labels, len(x)) if y != x.y]
    return max(brute.norm(brute.difference(x, y, order)) for x, y in wrong)


def margin(examples: list[brute.Example], labels: list[str], order: int, u: dict) -> list[float]:
    """Per example, how far u puts the right output before the best wrong one (u scaled to length 1)."""
    return [
        min(brute.dot(u, brute.difference(x, y, order)) for y in brute.labellings(labels, len(x)) if y != x.y)
        / brute.norm(u)
        for x in examples
    ]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_1_bounds_the_mistakes_on_separable_data(order, seed):
    """Mistakes over all passes ≤ R² / δ², and training ends with none."""
    rng = np.random.default_rng(seed)
    truth = {(f"f{k}", label): float(rng.normal()) for k in range(6) for label in LABELS}
    truth |= {("label", p, y): float(rng.normal()) for p in [brute.START, *LABELS] for y in LABELS}
    examples = random_examples(rng, LABELS, sentences=8, vocabulary=6)
    for x in examples:
        x.y = brute.best(x, truth, LABELS, order)
    learner = make_learner(examples, LABELS, order)
    mistakes = []
    while not mistakes or mistakes[-1]:
        mistakes += learn_passes(learner, [rng.permutation(len(examples)).tolist()])
        assert len(mistakes) < 1000
    separators = [truth, learned(learner)]
    delta = max(min(margin(examples, LABELS, order, u)) for u in separators)
    assert delta > 0
    assert 3 < sum(mistakes) <= radius(examples, LABELS, order) ** 2 / delta**2


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_2_bounds_the_mistakes_of_the_first_pass(order, seed):
    """(R + D)² / δ² for any U and δ, on data that nothing separates."""
    rng = np.random.default_rng(seed)
    truth = {(f"f{k}", label): float(rng.normal()) for k in range(4) for label in LABELS}
    examples = random_examples(rng, LABELS, sentences=30, vocabulary=4, longest=3)
    for x in examples:
        noise = rng.random(len(x)) < 0.2
        best = brute.best(x, truth, LABELS, order)
        x.y = tuple(LABELS[int(rng.integers(3))] if odd else label for odd, label in zip(noise, best, strict=True))
    learner = make_learner(examples, LABELS, order, average="none")
    (mistakes,) = learn_passes(learner, [rng.permutation(len(examples)).tolist()])
    r = radius(examples, LABELS, order)
    margins = np.array(margin(examples, LABELS, order, truth))
    assert margins.min() < 0
    bounds = []
    for delta in np.geomspace(0.01, 10, 60):
        short = np.maximum(0, delta - margins)
        bounds.append((r + np.sqrt((short**2).sum())) ** 2 / delta**2)
    assert 0 < mistakes <= min(bounds)
