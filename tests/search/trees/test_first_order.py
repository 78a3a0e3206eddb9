"""Eisner's algorithm and maximum spanning arborescences against every tree there is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_trees import best_of, best_projective, best_tree, random_scores, score_of, stands_in, trees
from structron.kernels.jit import entry
from structron.search.trees.arborescence import arborescence, make_contraction
from structron.search.trees.eisner import eisner, make_chart
from structron.text.trees import check_tree, is_projective

SEARCHES = {"eisner": (best_projective, True), "arborescence": (best_tree, False)}


def test_the_number_of_trees():
    """Cayley's formula (n + 1)^(n - 1), with one root n^(n - 1); projective ones: 1, 3, 12, 55 (OEIS A001764)."""
    assert [len(trees(n, False, False)) for n in (1, 2, 3, 4)] == [1, 3, 16, 125]
    assert [len(trees(n, False, True)) for n in (1, 2, 3, 4)] == [1, 2, 9, 64]
    assert [len(trees(n, True, False)) for n in (1, 2, 3, 4, 5)] == [1, 3, 12, 55, 273]
    assert [len(trees(n, True, True)) for n in (1, 2, 3, 4)] == [1, 2, 7, 30]


@pytest.mark.parametrize("name", SEARCHES)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 6),
    whole=st.booleans(),
    single_root=st.booleans(),
    lower=st.sampled_from([0, 2]),
    missing=st.booleans(),
)
def test_no_tree_is_better(name, seed, n, whole, single_root, lower, missing):
    """Where the root is no way out there are more cycles; arcs may be missing, but never those of one tree."""
    (search, projective), rng, scores = SEARCHES[name], np.random.default_rng(seed), random_scores(seed, n, whole)
    scores[0] -= lower
    if missing:
        kept, possible = rng.random((n + 1, n + 1)) < 0.5, trees(n, projective, True)
        kept[possible[rng.integers(len(possible))], np.arange(1, n + 1)] = True
        scores[~kept] = -np.inf
    heads, score = search(scores, single_root)
    assert stands_in(heads, trees(n, projective, single_root))
    assert score == pytest.approx(score_of(scores, heads), abs=1e-5)
    assert score == pytest.approx(best_of(scores, projective, single_root), abs=1e-4)


def test_projective_by_hand():
    """Three words: 2 is the root, 1 and 3 hang on it; 1 → 3 would be worth more but crosses the arc to the root."""
    scores = np.zeros((4, 4), np.float32)
    scores[0, 2], scores[2, 1], scores[2, 3], scores[1, 3] = 5, 2, 1, 3
    heads, score = best_projective(scores)
    assert (heads.tolist(), score) == ([2, 0, 2], 8)


def test_cycles_inside_cycles_by_hand():
    """1 ⇄ 2 and 3 ⇄ 4 are cycles, and then one of the two pairs; by hand: enter at 3, where it costs least."""
    scores = np.full((5, 5), -20, np.float32)
    scores[1, 2] = scores[2, 1] = scores[3, 4] = scores[4, 3] = 10
    scores[4, 1], scores[2, 3] = 8, 7
    scores[0, 1:] = [0, 0, 1, 0]
    heads, score = best_tree(scores)
    assert (heads.tolist(), score) == ([4, 1, 0, 3], 10 + 10 + 8 + 1)


def test_several_roots_only_where_they_are_allowed():
    scores = np.zeros((3, 3), np.float32)
    scores[0] = 1
    assert best_projective(scores)[0].tolist() == [0, 0]
    assert best_projective(scores, single_root=True)[0].tolist().count(0) == 1


def test_nothing_to_parse():
    heads, score = best_projective(np.zeros((1, 1)))
    assert (len(heads), score) == (0, 0)


def test_room_is_used_again():
    chart, scratch, heads = make_chart(40), make_contraction(40), np.zeros(41, np.int64)
    for n in (40, 3, 17, 1, 0):
        scores = random_scores(n, n, False)
        scores[0] -= 3
        entry(arborescence)(scores, n, 1, scratch, heads)
        assert heads[1 : n + 1].tolist() == best_tree(scores, True)[0].tolist()
        if n:
            assert check_tree(heads[1 : n + 1].tolist()) is None
            entry(eisner)(scores, n, 1, chart, heads)
            assert heads[1 : n + 1].tolist() == best_projective(scores, True)[0].tolist()
            assert is_projective(heads[1 : n + 1].tolist())
