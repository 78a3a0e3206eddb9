"""Second-order searches against every tree there is, over all arcs and over some."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_trees import Scores, best_projective, make_parts, some_arcs, trees
from structron.search.trees.eisner2 import grandparents, siblings
from structron.search.trees.parts import climb, index_arcs, tree_score
from structron.search.trees.search import compiled_search
from structron.trees import check_tree


def best_of(scores: Scores, allowed: np.ndarray, projective: bool, single_root: bool) -> float:
    candidates = trees(scores.n, projective, single_root)
    fits = allowed[candidates, np.arange(1, scores.n + 1)].all(axis=1)
    return max(scores.of(heads) for heads in candidates[fits].tolist())


SEARCHES = {"siblings": siblings, "grandparents": grandparents}


@pytest.mark.parametrize("name", SEARCHES)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 4),
    whole=st.booleans(),
    single_root=st.booleans(),
    triple=st.booleans(),
    share=st.sampled_from([0.5, 1.0]),
)
def test_no_tree_is_better(name, seed, n, whole, single_root, triple, share):
    grand = name == "grandparents"
    scores, allowed = Scores(seed, n, whole, grand, grand and triple), some_arcs(seed, n, share)
    arcs, heads = index_arcs(allowed, n), np.full(n + 1, -9)
    found = SEARCHES[name](arcs, scores.parts(arcs), n, single_root, heads)
    assert heads[1:].tolist() in trees(n, True, single_root).tolist()
    assert found == pytest.approx(scores.of(heads[1:].tolist()), abs=1e-4)
    assert found == pytest.approx(best_of(scores, allowed, True, single_root), abs=1e-4)


@pytest.mark.parametrize("single_root", [False, True], ids=["roots", "root"])
def test_six_words(single_root):
    allowed = some_arcs(6, 6, 0.6)
    arcs, heads = index_arcs(allowed, 6), np.zeros(7, np.int64)
    for seed, (name, search) in product(range(3), SEARCHES.items()):
        scores = Scores(seed, 6, False, *[name == "grandparents"] * 2)
        expected = best_of(scores, allowed, True, single_root)
        assert search(arcs, scores.parts(arcs), 6, single_root, heads) == pytest.approx(expected, abs=1e-4)


def test_without_second_order_parts_it_is_eisner():
    rng = np.random.default_rng(4)
    for n in (1, 7, 20):
        scores = rng.normal(size=(n + 1, n + 1)).astype(np.float32)
        arcs, heads = index_arcs(np.ones((n + 1, n + 1), np.bool_), n), np.zeros(n + 1, np.int64)
        nothing = [lambda *_: 0.0] * 2
        parts = make_parts(arcs, lambda h, m, scores=scores: scores[h, m], *nothing)
        expected = best_projective(scores, True)[0].tolist()
        for search in SEARCHES.values():
            search(arcs, parts, n, True, heads)
            assert heads[1:].tolist() == expected


def test_no_tree_at_all():
    allowed = np.zeros((4, 4), np.bool_)
    allowed[0, 1] = allowed[1, 3] = True
    arcs, heads = index_arcs(allowed, 3), np.zeros(4, np.int64)
    parts = Scores(1, 3, False, True, True).parts(arcs)
    assert {search(arcs, parts, 3, False, heads) for search in SEARCHES.values()} == {-np.inf}


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans(), st.booleans(), st.booleans())
def test_climbing(seed, n, single_root, grand, triple):
    """The score of a tree is that of its definition; a climb ends at a tree that no single change betters."""
    scores, allowed = Scores(seed, n, False, grand, triple), some_arcs(seed, n, 0.7, projective=False)
    arcs = index_arcs(allowed, n)
    parts = scores.parts(arcs)
    candidates = trees(n, False, single_root)
    candidates = candidates[allowed[candidates, np.arange(1, n + 1)].all(axis=1)]
    start = candidates[seed % len(candidates)].tolist()
    heads = np.array([-1, *start])
    room = np.zeros((2, n + 1), np.int64)
    assert tree_score(arcs, parts, heads, n, *room) == pytest.approx(scores.of(start), abs=1e-4)
    found = climb(arcs, parts, n, single_root, heads)
    end = heads[1:].tolist()
    assert end in candidates.tolist()
    assert found == pytest.approx(scores.of(end), abs=1e-4)
    assert found >= scores.of(start) - 1e-4
    for m in range(n):
        for h in range(n + 1):
            changed = [*end[:m], h, *end[m + 1 :]]
            if changed in candidates.tolist():
                assert scores.of(changed) <= found + 1e-4
    assert not single_root or check_tree(end) is None


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans(), st.booleans())
def test_climbing_from_the_better_of_two(seed, n, single_root, grand):
    """Not below the best projective tree, nor below the arborescence, and a tree; exact where arcs are all."""
    scores, allowed = Scores(seed, n, False, grand, grand), some_arcs(seed, n, 0.8)
    arcs = index_arcs(allowed, n)
    parts, heads, start = scores.parts(arcs), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    search = compiled_search(2, grand, False)
    found = search(arcs, parts, n, single_root, heads)
    assert found == pytest.approx(scores.of(heads[1:].tolist()), abs=1e-4)
    assert heads[1:].tolist() in trees(n, False, single_root).tolist()
    assert found >= compiled_search(2, grand, True)(arcs, parts, n, single_root, start) - 1e-4
    compiled_search(1, grand, False)(arcs, parts, n, single_root, start)
    assert found >= scores.of(start[1:].tolist()) - 1e-4


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans(), st.booleans())
def test_first_order_searches_over_allowed_arcs(seed, n, single_root, projective):
    allowed = some_arcs(seed, n, 0.7)
    arcs, heads = index_arcs(allowed, n), np.zeros(n + 1, np.int64)
    weights = np.random.default_rng(seed).normal(size=(n + 1, n + 1)).astype(np.float32)
    parts = make_parts(arcs, lambda h, m: weights[h, m])
    found = compiled_search(1, False, projective)(arcs, parts, n, single_root, heads)
    candidates = trees(n, projective, single_root)
    candidates = candidates[allowed[candidates, np.arange(1, n + 1)].all(axis=1)]
    best = max(sum(weights[h, m] for m, h in enumerate(tree, 1)) for tree in candidates.tolist())
    assert found == pytest.approx(best, abs=1e-4)
    assert heads[1:].tolist() in candidates.tolist()
