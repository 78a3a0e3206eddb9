"""Maximum spanning arborescences against every tree there is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_trees import best_of, random_scores, score_of, trees
from structron.search.trees.arborescence import arborescence, best_tree, make_contraction
from structron.trees import check_tree


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans(), st.booleans())
def test_no_tree_is_better(seed, n, whole, single_root):
    scores = random_scores(seed, n, whole)
    heads, score = best_tree(scores, single_root)
    assert heads.tolist() in trees(n, False, single_root).tolist()
    assert score == pytest.approx(score_of(scores, heads), abs=1e-5)
    assert score == pytest.approx(best_of(scores, False, single_root), abs=1e-4)


@pytest.mark.parametrize("single_root", [False, True], ids=["roots", "root"])
def test_six_words(single_root):
    for seed in range(40):
        scores = random_scores(seed, 6, False)
        scores[0] -= 2  # the root is no way out: more cycles
        assert best_tree(scores, single_root)[1] == pytest.approx(best_of(scores, False, single_root), abs=1e-4)


def test_cycles_inside_cycles():
    """1 ⇄ 2 and 3 ⇄ 4 are cycles, and then one of the two pairs; by hand: enter at 3, where it costs least."""
    scores = np.full((5, 5), -20, np.float32)
    scores[1, 2] = scores[2, 1] = scores[3, 4] = scores[4, 3] = 10
    scores[4, 1], scores[2, 3] = 8, 7
    scores[0, 1:] = [0, 0, 1, 0]
    heads, score = best_tree(scores)
    assert heads.tolist() == [4, 1, 0, 3]
    assert score == 10 + 10 + 8 + 1


@given(st.integers(0, 2**32), st.integers(2, 5))
def test_arcs_that_cannot_be(seed, n):
    """Half of the arcs are missing, but never those of one tree."""
    rng = np.random.default_rng(seed)
    scores = random_scores(seed, n, False)
    kept = rng.random((n + 1, n + 1)) < 0.5
    possible = trees(n, False, True)
    kept[possible[rng.integers(len(possible))], np.arange(1, n + 1)] = True
    scores[~kept] = -np.inf
    for single_root in (False, True):
        heads, score = best_tree(scores, single_root)
        assert score == pytest.approx(best_of(scores, False, single_root), abs=1e-4)
        assert score == pytest.approx(score_of(scores, heads), abs=1e-5)


def test_room_is_used_again():
    room, heads = make_contraction(40), np.zeros(41, np.int64)
    for n in (40, 3, 17, 1, 0):
        scores = random_scores(n, n, False)
        scores[0] -= 3
        arborescence(scores, n, True, room, heads)
        assert heads[1 : n + 1].tolist() == best_tree(scores, True)[0].tolist()
        assert n == 0 or check_tree(heads[1 : n + 1].tolist()) is None
