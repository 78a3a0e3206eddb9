"""The margin perceptron against enumeration, hand-worked numbers and the bound of its theorem."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from helpers import learn_passes, learned, learning_problems, make_learner, random_examples

LABELS = ["A", "B", "C"]

problems = learning_problems(labels=st.integers(2, 3), margin=st.sampled_from([0.0, 1.0, 7.5]), documents=st.booleans())


def difference(document, z, order: int) -> Counter:
    """Φ(x, y) - Φ(x, z) of a document."""
    change: Counter = Counter()
    for x, guess in zip(document, z, strict=True):
        change.update(brute.difference(x, guess, order))
    return Counter({name: amount for name, amount in change.items() if amount})


def nearest_wrong(document, w, labels, order: int):
    """The best score among wrong labellings, minus the correct one's, and all differences that reach it."""
    gold = tuple(x.y for x in document)
    scored = [
        (-brute.dot(w, change), change)
        for z in product(*(brute.labellings(labels, len(x)) for x in document))
        if z != gold
        for change in [difference(document, z, order)]
    ]
    top = max((score for score, _ in scored), default=-np.inf)
    return top, [change for score, change in scored if score == top]


@given(problems)
@settings(max_examples=60)
def test_every_step_is_that_of_algorithm_3_1(problem):
    """Before each example all labellings are listed; the step must be one that the algorithm allows, or none."""
    rng = np.random.default_rng(problem["seed"])
    labels, order, margin = LABELS[: problem["labels"]], problem["order"], problem["margin"]
    options = {key: problem[key] for key in ("values", "pairs", "shortest")}
    examples = random_examples(rng, labels, longest=3, **options)
    units = [0, 2, 3, 3, 5, 6] if problem["documents"] else list(range(7))
    given_options = {key: problem[key] for key in ("values", "pairs", "order")}
    learner = make_learner(examples, labels, average="none", margin=margin, units=units, **given_options)
    for e in rng.integers(len(units) - 1, size=12).tolist():
        document = examples[units[e] : units[e + 1]]
        before = learned(learner)
        top, steps = nearest_wrong(document, before, labels, order)
        learn_passes(learner, [[e]])
        change = Counter(learned(learner))
        change.subtract(before)
        found = {name: amount for name, amount in change.items() if amount}
        if -top > margin:
            assert found == {}
        else:
            assert found in [dict(step) for step in steps]


@pytest.mark.parametrize(("label", "near"), [("A", [1, 1, 1, 0, 0]), ("B", [0, 1, 1, 0, 0])])
def test_one_word_by_hand(label, near):
    """One word, two labels, one feature. Each update adds 1 to the weights of the label and takes it from the other's,
    feature and transition: the difference of scores grows by 4. With C = 9 it is 0, 4, 8, 12: three updates and no
    more. Those of a right example are near misses: at first only where A, the first of equal labels, is right."""
    x = brute.Example([[("f", 1.0)]], [[]], (label,))
    learner, found = make_learner([x], ["A", "B"], 1, average="none", margin=9), []
    for _ in range(5):
        learn_passes(learner, [[0]])
        found.append(tuple(learner.counts()[name] for name in ("updates", "near", "wrong_tokens")))
    updates = [1, 1, 1, 0, 0]
    assert found == [(u, n, u - n) for u, n in zip(updates, near, strict=True)]
    assert sorted(learned(learner).values()) == [-3, -3, 3, 3]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("margin", [0.0, 5.0, 50.0])
def test_convergence_within_the_bound_and_the_margin_reached(order, margin):
    """k ≤ (2C + R²)/δ² updates, and then a margin of at least δ·C/(2C + R²), δ that of a known separator."""
    rng = np.random.default_rng(7)
    labels = LABELS[:2]
    examples = []
    for _ in range(8):
        words = rng.integers(4, size=3).tolist()
        y = tuple("AB"[(word + (k > 0)) % 2] for k, word in enumerate(words))
        plain = [[(f"w{word}{'first' if k == 0 else ''}", 1.0)] for k, word in enumerate(words)]
        examples.append(brute.Example(plain, [[] for _ in words], y))
    changes = [difference([x], [z], order) for x in examples for z in brute.labellings(labels, len(x)) if z != x.y]
    separator = {}
    for word in range(4):
        for k, name in enumerate((f"w{word}first", f"w{word}")):
            right = "AB"[(word + k) % 2]
            separator[name, right] = 1.0
            separator[name, "BA"["AB".index(right)]] = -1.0
    norm = brute.norm(separator)
    delta = min(brute.dot(separator, change) for change in changes) / norm
    radius = max(brute.norm(change) for change in changes) ** 2
    learner = make_learner(examples, labels, order, average="none", margin=margin)
    updates = 0
    while (new := learn_passes(learner, [range(len(examples))])[0]) > 0:
        updates += new
    assert delta > 0
    assert updates <= (2 * margin + radius) / delta**2
    w = learned(learner)
    length = brute.norm(w)
    reached = min(brute.dot(w, change) for change in changes)
    assert reached > margin
    assert reached / length >= delta * margin / (2 * margin + radius)
