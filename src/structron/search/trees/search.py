"""The searches for trees behind one signature, so that a parser is compiled without knowing which it will use.

    search(arcs, parts, n, single_root, heads) -> score        arcs, parts: see parts.py

`find_arcs`: Eisner's algorithm. `find_crossing`: maximum spanning arborescence. `siblings`, `grandparents`: eisner2.py.
`climb_…`: hill climbing from the better of two trees, the best projective one under all parts and the arborescence
under arcs alone.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from structron.kernels.jit import compiled
from structron.search.trees.arborescence import arborescence, make_contraction
from structron.search.trees.eisner import LONG, eisner, eisner_among, make_chart
from structron.search.trees.eisner2 import grandparents, siblings
from structron.search.trees.parts import Arcs, Parts, climb, tree_score

_LIST, _SCORES = types.int64[::1], types.float32[::1]
_ARCS = types.NamedTuple((*[_LIST] * 4, types.int64[:, ::1], *[_LIST] * 5), Arcs)
_PARTS = types.NamedUniTuple(_SCORES, 4, Parts)
SIGNATURE = types.float64(_ARCS, _PARTS, types.int64, types.boolean, _LIST)


@compiled
def scores_of_arcs(arcs, parts, n):
    """float32[n + 1, n + 1]: by head and word; -inf where there is no arc."""
    scores = np.full((n + 1, n + 1), np.float32(-np.inf), np.float32)
    for b in range(arcs.head.shape[0] - 1):
        scores[arcs.head[b], arcs.word[b]] = parts.arc[b]
    return scores


def find_arcs(arcs, parts, n, single_root, heads):
    """The best projective tree under arcs alone."""
    scores = scores_of_arcs(arcs, parts, n)
    if n > LONG:
        return eisner_among(arcs, scores, n, single_root, make_chart(n), heads)
    return eisner(scores, n, single_root, make_chart(n), heads)


def find_crossing(arcs, parts, n, single_root, heads):
    """The best tree under arcs alone."""
    return arborescence(scores_of_arcs(arcs, parts, n), n, single_root, make_contraction(n), heads)


@compiled
def climb_from_better(arcs, parts, n, single_root, score, heads):
    """Climb from the tree in `heads`, which has this score, or from the arborescence where that is better."""
    other = np.zeros(n + 1, np.int64)
    found = arborescence(scores_of_arcs(arcs, parts, n), n, single_root, make_contraction(n), other)
    if found > -np.inf:
        room = np.zeros((2, n + 1), np.int64)
        if tree_score(arcs, parts, other, n, room[0], room[1]) > score:
            heads[:] = other
    elif score == -np.inf:
        return score
    return climb(arcs, parts, n, single_root, heads)


def climb_siblings(arcs, parts, n, single_root, heads):
    """A tree, crossing or not, that no other head of one word makes better under arcs and siblings."""
    return climb_from_better(arcs, parts, n, single_root, siblings(arcs, parts, n, single_root, heads), heads)


def climb_grandparents(arcs, parts, n, single_root, heads):
    """The same under all parts."""
    return climb_from_better(arcs, parts, n, single_root, grandparents(arcs, parts, n, single_root, heads), heads)


def search_of(order: int, with_grandparents: bool, projective: bool) -> Callable:
    """The search for trees of that kind, not compiled."""
    if order == 1:
        return find_arcs if projective else find_crossing
    if projective:
        return GRANDPARENTS if with_grandparents else SIBLINGS
    return climb_grandparents if with_grandparents else climb_siblings


GRANDPARENTS, SIBLINGS = (getattr(kernel, "py_func", kernel) for kernel in (grandparents, siblings))
_compiled: dict[Callable, Any] = {}


def compiled_search(order: int, with_grandparents: bool, projective: bool) -> Any:
    """The same as a pointer that kernels take; compiled, or read from the cache, when it is first asked for."""
    search = search_of(order, with_grandparents, projective)
    if search not in _compiled:
        _compiled[search] = compiled(search, signature=SIGNATURE)
    return _compiled[search]
