"""Second-order searches where they are first-order ones, and climbing, against every tree there is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_trees import Scores, arcs_of, best_projective, make_parts, search_for, some_arcs, trees
from structron.kernels.jit import entry
from structron.search.trees import parts as kernels
from structron.text.trees import check_tree

SEARCHES = {"siblings": (2, False, True), "grandparents": (2, True, True)}
climb, tree_score = entry(kernels.climb), entry(kernels.tree_score)


def test_without_second_order_parts_it_is_eisner():
    rng = np.random.default_rng(4)
    for n in (1, 7, 20):
        scores = rng.normal(size=(n + 1, n + 1)).astype(np.float32)
        arcs, heads = arcs_of(np.ones((n + 1, n + 1), np.bool_)), np.zeros(n + 1, np.int64)
        nothing = [lambda *_: 0.0] * 2
        parts = make_parts(arcs, lambda h, m, scores=scores: scores[h, m], *nothing)
        expected = best_projective(scores, True)[0].tolist()
        for kind in SEARCHES.values():
            search_for(kind, arcs, parts, n, True, heads)
            assert heads[1:].tolist() == expected


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans(), st.booleans(), st.booleans())
def test_climbing(seed, n, single_root, grand, triple):
    """The score of a tree is that of its definition; a climb ends at a tree that no single change betters."""
    scores, allowed = Scores(seed, n, False, grand, triple), some_arcs(seed, n, 0.7, projective=False)
    arcs = arcs_of(allowed)
    parts = scores.parts(arcs)
    candidates = trees(n, False, single_root)
    candidates = candidates[allowed[candidates, np.arange(1, n + 1)].all(axis=1)]
    start = candidates[seed % len(candidates)].tolist()
    heads = np.array([-1, *start])
    scratch = np.zeros((2, n + 1), np.int64)
    assert tree_score(arcs, parts, heads, n, *scratch) == pytest.approx(scores.of(start), abs=1e-4)
    found = climb(arcs, parts, n, int(single_root), heads, kernels.make_family(n))
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


@given(st.integers(0, 2**32), st.integers(1, 7), st.booleans(), st.booleans(), st.booleans())
def test_every_step_is_the_best_one(seed, n, single_root, grand, triple):
    """What a change adds is found from a few parts; the way up is that of whole trees scored by their definition."""
    scores, rng = Scores(seed, n, False, grand, triple), np.random.default_rng(seed)
    start = rng.permutation(n)
    tree = [0] * n
    for k in range(1, n):
        tree[start[k]] = int(start[rng.integers(k)]) + 1
    allowed = rng.random((n + 1, n + 1)) < 0.7
    allowed[tree, np.arange(1, n + 1)] = True
    allowed[0, 1:] |= not single_root
    arcs, heads = arcs_of(allowed), np.array([-1, *tree])
    climb(arcs, scores.parts(arcs), n, int(single_root), heads, kernels.make_family(n))
    while True:
        others = [(m, h) for m in range(n) for h in range(n + 1) if h != tree[m] and h != m + 1 and allowed[h, m + 1]]
        changed = [[*tree[:m], h, *tree[m + 1 :]] for m, h in others]
        changed = [other for other in changed if check_tree(other, not single_root) is None]
        if single_root:
            changed = [other for other in changed if other.index(0) == tree.index(0)]
        best = max(changed, key=scores.of, default=tree)
        if scores.of(best) <= scores.of(tree) + 1e-6:
            break
        tree = best
    assert heads[1:].tolist() == tree


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans(), st.booleans())
def test_climbing_from_the_better_of_two(seed, n, single_root, grand):
    """Not below the best projective tree, nor below the arborescence, and a tree; exact where arcs are all."""
    scores, allowed = Scores(seed, n, False, grand, grand), some_arcs(seed, n, 0.8)
    arcs = arcs_of(allowed)
    parts, heads, start = scores.parts(arcs), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    found = search_for((2, grand, False), arcs, parts, n, single_root, heads)
    assert found == pytest.approx(scores.of(heads[1:].tolist()), abs=1e-4)
    assert heads[1:].tolist() in trees(n, False, single_root).tolist()
    assert found >= search_for((2, grand, True), arcs, parts, n, single_root, start) - 1e-4
    search_for((1, grand, False), arcs, parts, n, single_root, start)
    assert found >= scores.of(start[1:].tolist()) - 1e-4
