"""Bounds of convergence that experiments report: by hand, their vectors against `brute`, and runs that keep to them."""

import json

import numpy as np
import pytest

import brute
from structron.experiments.dror2016 import bound as dror
from structron.experiments.frame import tiny
from structron.experiments.kazama2007 import bound as kazama


def test_vectors_are_those_of_the_definition():
    """Lengths and products of differences, from dictionaries of features."""
    rng, words = np.random.default_rng(1), [2, 0, 2, 1]
    x = brute.Example([[(f"w{word}", 1.0)] for word in words], [[] for _ in words])
    every = [*tiny.labellings(4, 2)]
    assert len(every) == 16
    for _ in range(20):
        y, z = (every[k] for k in rng.integers(16, size=2))
        x.y = tuple("AB"[label] for label in y)
        change = brute.difference(x, ["AB"[label] for label in z], 1)
        found = tiny.phi(words, y, 3, 2) - tiny.phi(words, z, 3, 2)
        assert sorted(found[found != 0]) == sorted(value for value in change.values() if value)


def test_a_separator_by_hand():
    """Of (1, 0) and (0, 1) the best is (1, 1)/√2; of the differences in Huang et al.'s Figure 1 (1, 2)/√5, δ = 1/√5."""
    u = tiny.separator(np.eye(2))
    assert u == pytest.approx([0.5**0.5] * 2, abs=1e-3)
    rows = np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    assert (rows @ tiny.separator(rows)).min() == pytest.approx(5**-0.5, abs=1e-3)
    assert tiny.longest(rows) == pytest.approx(2**0.5)


def test_the_bound_of_algorithm_4_2_by_hand():
    """C = 5, R = 2, δ = 1/2: (10 + 4)/(1/4) = 56 updates, and then a margin of (1/2)·5/14."""
    assert kazama.bound(5, 2, 0.5) == 56
    assert kazama.least_margin(5, 2, 0.5) == pytest.approx(2.5 / 14)


def test_non_local_features_by_hand():
    """a b | a a: the first a of one sentence with both of the other; b with none."""
    document = [[("a",), ("b",)], [("a",), ("a",)]]
    assert kazama.agreement(document, [["X", "Y"], ["X", "Y"]]) == {"agree": 1, "differ": 1}
    assert kazama.agreement(document, [["X", "Y"], ["X", "X"]]) == {"agree": 2, "differ": 0}


@pytest.mark.parametrize("candidates", [2, 4, 30])
@pytest.mark.parametrize("margin", [0.0, 5.0, 50.0])
def test_algorithm_4_2_keeps_to_its_bound(margin, candidates):
    found = kazama.check(6, margin, candidates, seed=candidates)
    assert json.loads(json.dumps(found)) == found
    assert 0 < found["updates"] <= found["bound"] == (2 * margin + found["R"] ** 2) / found["delta"] ** 2
    assert found["margin"] >= found["least_margin"]
    assert found["holds"]


def test_the_bound_of_appendix_b_by_hand():
    """R = 2; r = 1, -1/2; r^JJ = 3/2, 1/2. δ = 1: D = √(0 + (3/2)²), r^diff = 1/2: (2 + 3/2)²/(1 + 1/2)² = 49/9."""
    given = 2.0, np.array([1.0, -0.5]), np.array([1.5, 0.5])
    assert dror.bound(*given, 1.0) == pytest.approx(49 / 9)
    assert dror.bound(*given, 0.5) == pytest.approx(9)  # D = 1: (2 + 1)²/1²
    assert dror.least_bound(*given, [0.5, 1.0]) == (pytest.approx(49 / 9), 1.0)


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("variant", ["a-wm", "a-wmr", "b-wm", "b-wmr"])
def test_the_first_pass_keeps_to_the_bound_of_appendix_b(variant, noise):
    """And the bound says something: it is below the number of sentences, and not above that of the plain perceptron."""
    found = dror.check(150, variant, noise=noise, seed=2)
    assert json.loads(json.dumps(found)) == found
    assert found["separable"] == (noise == 0)
    assert found["applies"]
    assert found["holds"]
    assert 0 < found["updates"] <= found["bound"] <= found["plain_bound"]
    assert found["bound"] < 150 or found["whole"]
