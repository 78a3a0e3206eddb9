"""Eisner's algorithm against every projective tree there is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_trees import best_of, random_scores, score_of, trees
from structron.search.trees.eisner import best_projective, eisner, make_chart
from structron.trees import is_projective


def test_the_number_of_trees():
    """Cayley's formula (n + 1)^(n - 1), with one root n^(n - 1); projective ones: 1, 3, 12, 55 (OEIS A001764)."""
    assert [len(trees(n, False, False)) for n in (1, 2, 3, 4)] == [1, 3, 16, 125]
    assert [len(trees(n, False, True)) for n in (1, 2, 3, 4)] == [1, 2, 9, 64]
    assert [len(trees(n, True, False)) for n in (1, 2, 3, 4, 5)] == [1, 3, 12, 55, 273]
    assert [len(trees(n, True, True)) for n in (1, 2, 3, 4)] == [1, 2, 7, 30]


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans(), st.booleans())
def test_no_projective_tree_is_better(seed, n, whole, single_root):
    scores = random_scores(seed, n, whole)
    heads, score = best_projective(scores, single_root)
    assert heads.tolist() in trees(n, True, single_root).tolist()
    assert score == pytest.approx(score_of(scores, heads), abs=1e-5)
    assert score == pytest.approx(best_of(scores, True, single_root), abs=1e-5)


@pytest.mark.parametrize("single_root", [False, True], ids=["roots", "root"])
def test_six_words(single_root):
    for seed in range(20):
        scores = random_scores(seed, 6, False)
        assert best_projective(scores, single_root)[1] == pytest.approx(best_of(scores, True, single_root), abs=1e-5)


def test_by_hand():
    """Three words: 2 is the root, 1 and 3 hang on it; 1 → 3 would be worth more but crosses the arc to the root."""
    scores = np.zeros((4, 4), np.float32)
    scores[0, 2], scores[2, 1], scores[2, 3], scores[1, 3] = 5, 2, 1, 3
    assert best_projective(scores)[0].tolist() == [2, 0, 2]
    assert best_projective(scores)[1] == 8


def test_several_roots_only_where_they_are_allowed():
    scores = np.zeros((3, 3), np.float32)
    scores[0] = 1
    assert best_projective(scores)[0].tolist() == [0, 0]
    assert sorted(best_projective(scores, single_root=True)[0].tolist())[0] == 0
    assert best_projective(scores, single_root=True)[1] == 1


def test_arcs_that_cannot_be():
    scores = np.full((4, 4), -np.inf, np.float32)
    for head, word in ((0, 1), (1, 2), (2, 3)):
        scores[head, word] = -1
    assert best_projective(scores)[0].tolist() == [0, 1, 2]


def test_nothing_to_parse():
    heads, score = best_projective(np.zeros((1, 1)))
    assert len(heads) == 0
    assert score == 0


def test_room_is_used_again():
    chart, heads = make_chart(40), np.zeros(41, np.int64)
    for n in (40, 3, 17, 1):
        scores = random_scores(n, n, False)
        eisner(scores, n, True, chart, heads)
        assert heads[1 : n + 1].tolist() == best_projective(scores, True)[0].tolist()
        assert is_projective(heads[1 : n + 1].tolist())
