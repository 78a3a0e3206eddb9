"""Eisner's algorithm among few arcs finds what it finds among all pairs of words, those that are not allowed barred."""

import numpy as np
import pytest

from brute_trees import arcs_of
from structron.kernels.jit import entry
from structron.search.trees.eisner import eisner, eisner_among, make_chart


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_the_same_tree(single_root, share):
    random = np.random.default_rng(round(share * 10))
    for n in (1, 2, 3, 5, 8, 8, 12):
        allowed = random.random((n + 1, n + 1)) < share
        allowed[np.arange(n), np.arange(1, n + 1)] = True  # a chain of words is a tree
        allowed[:, 0] = allowed[np.arange(n + 1), np.arange(n + 1)] = False
        scores = np.where(allowed, random.normal(size=(n + 1, n + 1)), -np.inf).astype(np.float32)
        found, expected = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
        best = entry(eisner)(scores, n, int(single_root), make_chart(n), expected)
        score = entry(eisner_among)(arcs_of(allowed), scores, n, int(single_root), make_chart(n), found)
        assert score == pytest.approx(best)
        assert found.tolist() == expected.tolist()
        assert all(allowed[found[m], m] for m in range(1, n + 1))
