"""The best tree and the k best against all trees there are, sorted by their scores."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brute_trees import Scores, arcs_of, make_parts, search_for, some_arcs, trees
from structron.search.trees.kbest import k_best
from structron.search.trees.search import compiled_search, make_charts

EXACT = {
    "arcs": (1, False, True),
    "crossing": (1, False, False),
    "siblings": (2, False, True),
    "grandparents": (2, True, True),
}
CLIMBING = {"climbing, siblings": (2, False, False), "climbing, grandparents": (2, True, False)}


def make_scores(kind, seed: int, n: int, whole: bool, triple: bool = True) -> Scores:
    order, grand, _ = kind
    return Scores(seed, n, whole, grand, grand and triple, sibling=order == 2)


def find(kind, scores: Scores, allowed: np.ndarray, single_root: bool, k: int) -> list[tuple[tuple[int, ...], float]]:
    arcs = arcs_of(allowed)
    charts = make_charts(*kind, scores.n, arcs.need, False)
    heads, found = k_best(compiled_search(*kind), arcs, scores.parts(arcs), charts, scores.n, kind[2], single_root, k)
    return list(zip(map(tuple, heads[:, 1:].tolist()), found.tolist(), strict=True))


def first_of(kind, scores: Scores, allowed: np.ndarray, single_root: bool) -> tuple[tuple[int, ...], float]:
    """The tree that the search alone finds."""
    arcs, heads = arcs_of(allowed), np.full(scores.n + 1, -9)
    score = search_for(kind, arcs, scores.parts(arcs), scores.n, single_root, heads)
    return tuple(heads[1:].tolist()), score


def all_of(kind, scores: Scores, allowed: np.ndarray, single_root: bool) -> dict[tuple[int, ...], float]:
    """Every tree that the mask leaves, and its score."""
    candidates = trees(scores.n, kind[2], single_root)
    fits = allowed[candidates, np.arange(1, scores.n + 1)].all(axis=1)
    return {tuple(heads): scores.of(heads) for heads in candidates[fits].tolist()}


@given(
    st.sampled_from(list(EXACT)),
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.3, 0.6, 1.0]),
    st.sampled_from([1, 2, 5, 20, 1000]),
)
@example("grandparents", 1, 5, False, False, True, 1.0, 50)
@example("grandparents", 2, 5, False, True, False, 0.6, 1000)
@example("siblings", 1, 5, False, True, True, 1.0, 1000)
@example("arcs", 1, 5, True, False, True, 1.0, 1000)
@example("crossing", 1, 5, False, True, True, 1.0, 1000)
@example("crossing", 2, 5, False, False, True, 0.6, 100)
@example("siblings", 3, 6, False, False, True, 0.6, 1)
@example("grandparents", 3, 6, False, True, True, 0.6, 1)
def test_no_tree_is_missed(name, seed, n, whole, single_root, triple, share, k):
    """The k best scores of all trees, from different trees; whole scores have ties, where any order will do.

    The first is what the search alone finds.
    """
    kind = EXACT[name]
    scores, allowed = make_scores(kind, seed, n, whole, triple), some_arcs(seed, n, share)
    found, possible = find(kind, scores, allowed, single_root, k), all_of(kind, scores, allowed, single_root)
    expected = sorted(possible.values(), reverse=True)[:k]
    assert [score for _, score in found] == pytest.approx(expected, abs=1e-4)
    assert len({heads for heads, _ in found}) == len(found)
    for heads, score in found:
        assert score == pytest.approx(possible[heads], abs=1e-4)
    assert found[0] == first_of(kind, scores, allowed, single_root)


@given(
    st.sampled_from(list(CLIMBING)),
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from([0.3, 0.6, 1.0]),
    st.sampled_from([1, 2, 10, 2000]),
)
def test_climbing(name, seed, n, single_root, share, k):
    """Different allowed trees with their own scores; the search's own first, then by score; all when k is so large."""
    kind = CLIMBING[name]
    scores, allowed = make_scores(kind, seed, n, False), some_arcs(seed, n, share, projective=False)
    found, possible = find(kind, scores, allowed, single_root, k), all_of(kind, scores, allowed, single_root)
    assert len({heads for heads, _ in found}) == len(found) == min(k, len(possible))
    for heads, score in found:
        assert score == pytest.approx(possible[heads], abs=1e-4)
    assert found[1:] == sorted(found[1:], key=lambda tree: -tree[1])
    assert found[0] == first_of(kind, scores, allowed, single_root)


@pytest.mark.parametrize("name", EXACT | CLIMBING)
@pytest.mark.parametrize("single_root", [False, True], ids=["roots", "root"])
def test_arcs_that_cannot_be(name, single_root):
    """Arcs that are scored -inf are as good as absent, also where nothing but them makes a tree."""
    kind, n = (EXACT | CLIMBING)[name], 4
    for seed in range(5):
        scores, allowed = make_scores(kind, seed, n, False), some_arcs(seed, n, 0.5)
        arc, every = scores.arc, np.ones((n + 1, n + 1), np.bool_)
        scores.arc = lambda h, m, arc=arc, allowed=allowed: arc(h, m) if allowed[h, m] else -np.inf
        found, possible = find(kind, scores, every, single_root, 300), all_of(kind, scores, allowed, single_root)
        assert dict(found).keys() == possible.keys()
        assert [s for _, s in found[1:]] == pytest.approx(sorted((possible[h] for h, _ in found[1:]), reverse=True))
    scores.arc = lambda h, m: -np.inf if m == 2 else 0.0
    assert find(kind, scores, every, single_root, 3) == []


@pytest.mark.parametrize("name", EXACT | CLIMBING)
def test_no_tree_at_all(name):
    """No heads for a word; a cycle; and only trees with two roots where there must be one."""
    kind = (EXACT | CLIMBING)[name]
    scores = make_scores(kind, 1, 3, False)
    for arcs, single_root in (
        ([(0, 1), (1, 3)], False),
        ([(0, 1), (2, 3), (3, 2)], False),
        ([(0, 1), (0, 2), (2, 3)], True),
    ):
        allowed = np.zeros((4, 4), np.bool_)
        for head, word in arcs:
            allowed[head, word] = True
        assert find(kind, scores, allowed, single_root, 5) == []
    assert [heads for heads, _ in find(kind, scores, allowed, False, 5)] == [(0, 0, 2)]


@pytest.mark.parametrize("name", EXACT | CLIMBING)
def test_nothing_to_parse(name):
    kind = (EXACT | CLIMBING)[name]
    assert find(kind, make_scores(kind, 1, 0, False), np.ones((1, 1), np.bool_), True, 5) == [((), 0.0)]


def test_by_hand():
    """Two words: 0 → 1 → 2 is worth 5, 0 → 2 → 1 is worth 4, two roots 3."""
    weights = np.array([[0, 2, 1], [0, 0, 3], [0, 3, 0]], np.float32)
    arcs = arcs_of(np.ones((3, 3), np.bool_))
    parts = make_parts(arcs, lambda h, m: weights[h, m])
    for projective in (True, False):
        for single_root, expected in ((False, [5, 4, 3]), (True, [5, 4])):
            charts = make_charts(1, False, projective, 2, arcs.need, False)
            search = compiled_search(1, False, projective)
            heads, scores = k_best(search, arcs, parts, charts, 2, projective, single_root, 9)
            assert heads[:, 1:].tolist() == [[0, 1], [2, 0], [0, 0]][: len(expected)]
            assert scores.tolist() == expected
