"""The k best trees under any search of search.py: the best one, then the best of what is left, and so on.

Lawler (1972), after Murty (1968): the trees other than the best one of a set fall into disjoint sets, one for each
word: the words before it keep their heads, and its own head is barred. The best tree of each set is found by the same
search, over arcs whose scores are -inf where they may not be used; the best of all is next, and its set is split in
turn. No tree is found twice.

The order is exact where the search is. Hill climbing gives what a climb finds in each set: the first tree is that of
the search alone, and the others follow by their scores, of which one can be higher than the first when a climb that
had to start elsewhere ended higher.

A set costs one search, unless no sum over its words' best parts can reach the k best trees found so far.
"""

from typing import Any, NamedTuple

import numpy as np

from structron.kernels.jit import WithFunctionPointers, ir_inline
from structron.kernels.reference import Doubles, Flags, Flags2, Ints, Ints2, by_reference
from structron.search.trees.parts import Arcs, Parts, part_score, rank, side
from structron.search.trees.search import SIGNATURE, Charts


@by_reference
class Pool(NamedTuple):
    """The best trees found so far, each the best of its own set: words before `fork` keep their heads, and the word
    there has none that is barred."""

    heads: Ints2  # int64[capacity, n + 1]
    barred: Flags2  # bool[capacity, n + 1]
    fork: Ints  # int64[capacity]      n + 1: the set has been split
    score: Doubles  # float64[capacity]
    order: Ints  # int64[capacity]     trees from the first to the last


@by_reference
class ScoreBounds(NamedTuple):
    """What arcs and words add to a score at most, whatever the rest of the tree."""

    arc: Doubles  # float64[arcs]
    rest: Doubles  # float64[n + 2]   the sum over this word and all that follow


@by_reference
class Splitting(NamedTuple):
    """Scratch memory for `split`: the set that it splits, and the tree that a search finds in one of the parts."""

    left: Parts  # with the arcs that may be used
    heads: Ints  # int64[n + 1]
    found: Ints  # int64[n + 1]
    barred: Flags  # bool[n + 1]


def most_trees(arcs: Arcs, n: int, k: int) -> int:
    """k, or the number of ways to choose heads where that is less."""
    ways = 1
    for heads in np.diff(arcs.into_first[1 : n + 2]).tolist():
        ways = min(ways * heads, k)
    return ways


def make_pool(scratch: int, n: int) -> Pool:
    """Scratch memory for so many trees of n words."""
    heads, barred = np.zeros((scratch, n + 1), np.int64), np.zeros((scratch, n + 1), np.bool_)
    return Pool(heads, barred, np.zeros(scratch, np.int64), np.zeros(scratch, np.float64), np.zeros(scratch, np.int64))


@ir_inline
def limit_of(arcs, parts, b):
    """The best that an arc and its parts can have in any tree."""
    h, m = arcs.head[b], arcs.word[b]
    start, step, _ = side(arcs, h, m > h)
    inner = rank(arcs, b) if parts.sibling.shape[0] > 0 else 0
    known = parts.grand.shape[0] > 0
    above = arcs.into_first[h + 1] - arcs.into_first[h] if known else 1
    best = -np.inf
    for k in range(above):
        a = arcs.into[arcs.into_first[h] + k] if known else np.int64(-1)
        for i in range(-1, inner):
            best = max(best, part_score(arcs, parts, a, b, start + step * i if i >= 0 else np.int64(-1)))
    return best


@ir_inline
def find_limits(arcs, parts, n, limits):
    """Write the limits of all arcs and words."""
    limits.rest[n + 1] = 0.0
    for m in range(n, 0, -1):
        best = -np.inf
        for k in range(arcs.into_first[m], arcs.into_first[m + 1]):
            b = arcs.into[k]
            limits.arc[b] = limit_of(arcs, parts, b)
            best = max(best, limits.arc[b])
        limits.rest[m] = limits.rest[m + 1] + best


@ir_inline
def bar(arcs, limits, m, barred, scores):
    """Take the barred heads from a word in the scores of arcs; what it can add at most, -inf where no head is left."""
    best = -np.inf
    for k in range(arcs.into_first[m], arcs.into_first[m + 1]):
        b = arcs.into[k]
        if barred[arcs.head[b]]:
            scores[b] = -np.inf
        elif scores[b] > -np.inf:
            best = max(best, limits.arc[b])
    return best


@ir_inline
def keep(arcs, parts, m, head, projective, single_root, scores):
    """Leave a word one head, and take away the arcs that cannot be in a tree with it: the search is faster then."""
    low, high = min(m, head), max(m, head)
    for b in range(arcs.need[0]):
        left, right = min(arcs.head[b], arcs.word[b]), max(arcs.head[b], arcs.word[b])
        crossing = left < low < right < high or low < left < high < right
        second_root = single_root and head == 0 and arcs.head[b] == 0
        if arcs.word[b] == m or second_root or (projective and crossing):
            scores[b] = -np.inf
    scores[arcs.number[head, m]] = parts.arc[arcs.number[head, m]]


@ir_inline
def has_one_root(heads, n):
    roots = 0
    for m in range(1, n + 1):
        roots += heads[m] == 0
    return roots == 1


@ir_inline
def find(search, arcs, parts, charts, n, single_root, heads):
    """Write the best tree; its score, -inf where there is none: an arborescence may have several roots then."""
    score = search(arcs, parts, charts, n, single_root, heads)
    return -np.inf if single_root and n > 0 and not has_one_root(heads, n) else score


@ir_inline
def put(pool, size, heads, score, fork, barred):
    """Enter a tree behind the first one, by its score; the last one gives way where there is no room."""
    scratch = pool.order.shape[0]
    t = pool.order[size - 1] if size == scratch else size
    k = min(size, scratch - 1)
    while k > 1 and pool.score[pool.order[k - 1]] < score:
        pool.order[k] = pool.order[k - 1]
        k -= 1
    pool.order[k], pool.score[t], pool.fork[t] = t, score, fork
    for m in range(heads.shape[0]):
        pool.heads[t, m], pool.barred[t, m] = heads[m], barred[m]
    return min(size + 1, scratch)


@ir_inline
def split(search, arcs, parts, charts, limits, n, projective, single_root, pool, size, t, scratch):
    """Enter the best tree of each set that the set of tree t falls into without t; how many trees there are then."""
    heads, barred, found, left, fork = scratch.heads, scratch.barred, scratch.found, scratch.left, pool.fork[t]
    for m in range(n + 1):
        heads[m], barred[m] = pool.heads[t, m], pool.barred[t, m]
    for b in range(arcs.need[0]):
        left.arc[b] = parts.arc[b]
    pool.fork[t] = n + 1
    kept = 0.0
    for m in range(1, n + 1):
        if m >= fork:
            barred[heads[m]] = True
            most = kept + bar(arcs, limits, m, barred, left.arc) + limits.rest[m + 1]
            full = size == pool.order.shape[0]
            least = pool.score[pool.order[size - 1]] if full else -np.inf
            if most > least:
                score = find(search, arcs, left, charts, n, single_root, found)
                if score > least:
                    size = put(pool, size, found, score, m, barred)
            for h in range(n + 1):
                barred[h] = False
        keep(arcs, parts, m, heads[m], projective, single_root, left.arc)
        kept += limits.arc[arcs.number[heads[m], m]]
    return size


@ir_inline
def next_to_split(pool, size):
    """The first place in order whose set is whole, or -1."""
    for k in range(size):
        if pool.fork[pool.order[k]] <= pool.heads.shape[1] - 1:
            return k
    return -1


def fill_pool(search, arcs, parts, charts, n, projective, single_root, pool, limits, scratch):
    """`k_best`, given room: how many trees were found. They stand in the pool, by its order."""
    pool.score[0] = find(search, arcs, parts, charts, n, single_root, pool.heads[0])
    if pool.score[0] == -np.inf:
        return 0
    pool.fork[0], pool.order[0] = 1, 0
    size = 1
    if pool.order.shape[0] > 1:
        find_limits(arcs, parts, n, limits)
        for _ in range(pool.order.shape[0] - 1):
            place = next_to_split(pool, size)
            if place < 0:
                break
            t = pool.order[place]
            size = split(search, arcs, parts, charts, limits, n, projective, single_root, pool, size, t, scratch)
    return size


FILL_POOL = WithFunctionPointers(fill_pool, SIGNATURE)


def k_best(
    search: Any, arcs: Arcs, parts: Parts, charts: Charts, n: int, projective: bool, single_root: bool, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k best trees, or all where there are fewer, best first: int64[trees, n + 1] and their scores.

    search, arcs, parts, charts: see search.py. projective: whether the search finds no other trees. Without any tree of
    allowed arcs nothing is found.
    """
    pool = make_pool(most_trees(arcs, n, k), n)
    if len(pool.order) == 0:
        return pool.heads, pool.score
    heads, found = (np.zeros(n + 1, np.int64) for _ in range(2))
    scratch = Splitting(parts._replace(arc=np.zeros_like(parts.arc)), heads, found, np.zeros(n + 1, np.bool_))
    limits = ScoreBounds(np.zeros(len(parts.arc)), np.zeros(n + 2))
    size = FILL_POOL(search, arcs, parts, charts, n, int(projective), int(single_root), pool, limits, scratch)
    chosen = pool.order[:size]
    return pool.heads[chosen], pool.score[chosen]
