"""The tree that has most votes, against every tree that could have been elected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_trees import trees
from structron.search.trees.votes import combined


def votes_for(tree, heads, weights):
    """By hand: what all voters give to the arcs of a tree; None if it has an arc that nobody voted for."""
    given = [sum(w for own, w in zip(heads, weights, strict=True) if own[m] == h) for m, h in enumerate(tree)]
    return sum(given) if all(given) else None


@given(seed=st.integers(0, 2**32), n=st.integers(1, 5), voters=st.integers(1, 4))
def test_no_tree_has_more_votes(seed, n, voters):
    rng, every = np.random.default_rng(seed), trees(n, False, True)
    heads = every[rng.integers(len(every), size=voters)].astype(np.int64)
    relations, weights = rng.integers(3, size=heads.shape), rng.uniform(0.5, 1.5, voters)
    found, named = combined(np.array([0, n]), heads, relations, weights)
    possible = [total for tree in every if (total := votes_for(tree, heads, weights)) is not None]
    assert votes_for(found, heads, weights) == pytest.approx(max(possible))
    assert (every == found).all(axis=1).any()
    for m in range(n):
        given = {r: sum(weights[(heads[:, m] == found[m]) & (relations[:, m] == r)]) for r in range(3)}
        assert given[named[m]] == pytest.approx(max(given.values()))


def test_the_majority_may_be_no_tree():
    """1 ← 2 and 2 ← 1 have most votes each; by hand: of the ways out of that cycle, 0 → 2 → 1 has most."""
    heads = np.array([[2, 0, 2], [0, 1, 1], [2, 1, 0]])[:2]
    found, _ = combined(np.array([0, 3]), heads, np.zeros_like(heads), np.array([1.1, 0.6]))
    assert found.tolist() == [2, 0, 2]
    three = np.array([[2, 0], [0, 1], [2, 0]])
    assert combined(np.array([0, 2]), three, three, np.array([1.0, 1.2, 0.6]))[0].tolist() == [2, 0]


def test_sentences_do_not_touch_each_other():
    starts = np.array([0, 2, 2, 5])
    heads = np.array([[0, 1, 2, 0, 2], [2, 0, 0, 1, 1], [0, 1, 2, 0, 1]])
    found, named = combined(starts, heads, np.array([[0] * 5, [1] * 5, [2] * 5]), np.array([1.0, 1.5, 1.0]))
    assert found.tolist() == [0, 1, 2, 0, 2] or found.tolist() == [0, 1, 2, 0, 1]
    assert found[:2].tolist() == [0, 1]
    assert set(named[:2].tolist()) <= {0, 2}
