"""The searches for trees behind one signature, so that a parser is compiled without knowing which it will use.

    search(arcs, parts, charts, n, single_root, heads) -> score        arcs, parts: see parts.py

`find_arcs`: Eisner's algorithm. `find_crossing`: maximum spanning arborescence. `find_siblings`, `find_grandparents`:
eisner2.py. `climb_…`: hill climbing from the better of two trees, the best projective one under all parts and the
arborescence under arcs alone.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types

from structron.kernels.jit import ir_inline, kernel
from structron.kernels.reference import Doubles2, Floats2, by_reference, reference
from structron.search.trees.arborescence import Contraction, arborescence, make_contraction
from structron.search.trees.eisner import LONG, Chart, eisner, eisner_among, make_chart
from structron.search.trees.eisner2 import Spans, grandparents, make_spans, siblings
from structron.search.trees.parts import Arcs, Family, Parts, climb, make_family, tree_score


@by_reference
class Charts(NamedTuple):
    """Scratch memory for any of the searches, one sentence after the other; what its search does not use is empty."""

    scores: Floats2  # float32[n + 1, n + 1]    of arcs by head and word; -inf where there is none
    chart: Chart
    between: Doubles2  # float64[n + 1, n + 1]  see `siblings`
    spans: Spans
    contraction: Contraction
    family: Family


REFERENCES: Any = (Arcs, Parts, Charts)
SIGNATURE = types.float64(*(reference(own) for own in REFERENCES), types.int64, types.int64, types.int64[::1])


@ir_inline
def load_arcs(arcs, parts, n, scores):
    """The scores of arcs by head and word."""
    for h in range(n + 1):
        for m in range(n + 1):
            scores[h, m] = -np.inf
    for b in range(arcs.need[0]):
        scores[arcs.head[b], arcs.word[b]] = parts.arc[b]


def find_arcs(arcs, parts, charts, n, single_root, heads):
    """The best projective tree under arcs alone. Without parts: charts.scores is known already."""
    if parts.arc.shape[0] > 0:
        load_arcs(arcs, parts, n, charts.scores)
    if n > LONG:
        return eisner_among(arcs, charts.scores, n, single_root, charts.chart, heads)
    return eisner(charts.scores, n, single_root, charts.chart, heads)


def find_crossing(arcs, parts, charts, n, single_root, heads):
    """The best tree under arcs alone."""
    load_arcs(arcs, parts, n, charts.scores)
    return arborescence(charts.scores, n, single_root, charts.contraction, heads)


def find_siblings(arcs, parts, charts, n, single_root, heads):
    """The best projective tree under arcs and siblings."""
    return siblings(arcs, parts, n, single_root, charts.chart, charts.between, heads)


def find_grandparents(arcs, parts, charts, n, single_root, heads):
    """The best projective tree under all parts."""
    return grandparents(arcs, parts, n, single_root, charts.spans, heads)


@ir_inline
def climb_from_better(arcs, parts, charts, n, single_root, score, heads):
    """Climb from the tree in `heads`, which has this score, or from the arborescence where that is better."""
    load_arcs(arcs, parts, n, charts.scores)
    other, family = charts.family.start, charts.family
    found = arborescence(charts.scores, n, single_root, charts.contraction, other)
    if found > -np.inf:
        if tree_score(arcs, parts, other, n, family.inner, family.last) > score:
            for m in range(n + 1):
                heads[m] = other[m]
    elif score == -np.inf:
        return score
    return climb(arcs, parts, n, single_root, heads, family)


def climb_siblings(arcs, parts, charts, n, single_root, heads):
    """A tree, crossing or not, that no other head of one word makes better under arcs and siblings."""
    score = siblings(arcs, parts, n, single_root, charts.chart, charts.between, heads)
    return climb_from_better(arcs, parts, charts, n, single_root, score, heads)


def climb_grandparents(arcs, parts, charts, n, single_root, heads):
    """The same under all parts."""
    score = grandparents(arcs, parts, n, single_root, charts.spans, heads)
    return climb_from_better(arcs, parts, charts, n, single_root, score, heads)


def search_of(order: int, with_grandparents: bool, projective: bool) -> Callable:
    """The search for trees of that kind, not compiled."""
    if order == 1:
        return find_arcs if projective else find_crossing
    if projective:
        return find_grandparents if with_grandparents else find_siblings
    return climb_grandparents if with_grandparents else climb_siblings


@cache
def _pointer(search: Callable) -> Any:
    return kernel(search, signature=SIGNATURE)


def compiled_search(order: int, with_grandparents: bool, projective: bool) -> Any:
    """The same as a pointer that kernels take; compiled, or read from the cache, when it is first used."""
    return _pointer(search_of(order, with_grandparents, projective))


def make_charts(order: int, with_grandparents: bool, projective: bool, words: int, need: Any, pruned: bool) -> Charts:
    """Scratch memory for the search of that kind, for sentences of up to so many words. need: see parts.Arcs.

    pruned: for `find_arcs` too.
    """
    arcs, siblings, grands, _ = (int(count) for count in need)
    second = order == 2 and with_grandparents
    crossing, by_words = words if not projective else 0, order == 2 and not with_grandparents
    in_pairs = words if pruned or (order == 1 and projective) or by_words else 0
    side = 1 + max(in_pairs, crossing)
    return Charts(
        np.zeros((side, side), np.float32),
        make_chart(in_pairs),
        np.zeros((words + 1, words + 1) if by_words else (1, 1)),
        make_spans(words, arcs, siblings, grands) if second else make_spans(0, 0, 0, 0),
        make_contraction(crossing),
        make_family(crossing),
    )
