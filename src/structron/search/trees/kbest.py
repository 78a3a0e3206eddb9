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

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import compiled
from structron.search.trees.parts import Parts, part_score, rank, side


class Pool(NamedTuple):
    """The best trees found so far, each the best of its own set: words before `fork` keep their heads, and the word
    there has none that is barred."""

    heads: np.ndarray  # int64[room, n + 1]
    barred: np.ndarray  # bool[room, n + 1]
    fork: np.ndarray  # int64[room]      n + 1: the set has been split
    score: np.ndarray  # float64[room]
    order: np.ndarray  # int64[room]     trees from the first to the last


class Limits(NamedTuple):
    """What arcs and words add to a score at most, whatever the rest of the tree."""

    arc: np.ndarray  # float64[arcs]
    rest: np.ndarray  # float64[n + 2]   the sum over this word and all that follow


@compiled
def most_trees(arcs, n, k):
    """k, or the number of ways to choose heads where that is less."""
    ways = 1
    for m in range(1, n + 1):
        ways *= arcs.into_first[m + 1] - arcs.into_first[m]
        if ways >= k:
            return k
    return ways


@compiled
def make_pool(room, n):
    return Pool(
        np.zeros((room, n + 1), np.int64),
        np.zeros((room, n + 1), np.bool_),
        np.zeros(room, np.int64),
        np.zeros(room, np.float64),
        np.zeros(room, np.int64),
    )


@compiled
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


@compiled
def find_limits(arcs, parts, n):
    limits = Limits(np.zeros(parts.arc.shape[0]), np.zeros(n + 2))
    for m in range(n, 0, -1):
        best = -np.inf
        for k in range(arcs.into_first[m], arcs.into_first[m + 1]):
            b = arcs.into[k]
            limits.arc[b] = limit_of(arcs, parts, b)
            best = max(best, limits.arc[b])
        limits.rest[m] = limits.rest[m + 1] + best
    return limits


@compiled
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


@compiled
def keep(arcs, parts, m, head, projective, single_root, scores):
    """Leave a word one head, and take away the arcs that cannot be in a tree with it: the search is faster then."""
    low, high = min(m, head), max(m, head)
    for b in range(scores.shape[0]):
        left, right = min(arcs.head[b], arcs.word[b]), max(arcs.head[b], arcs.word[b])
        crossing = left < low < right < high or low < left < high < right
        second_root = single_root and head == 0 and arcs.head[b] == 0
        if arcs.word[b] == m or second_root or (projective and crossing):
            scores[b] = -np.inf
    scores[arcs.number[head, m]] = parts.arc[arcs.number[head, m]]


@compiled
def has_one_root(heads, n):
    roots = 0
    for m in range(1, n + 1):
        roots += heads[m] == 0
    return roots == 1


@compiled
def find(search, arcs, parts, n, single_root, heads):
    """Write the best tree; its score, -inf where there is none: an arborescence may have several roots then."""
    score = search(arcs, parts, n, single_root, heads)
    return -np.inf if single_root and n > 0 and not has_one_root(heads, n) else score


@compiled
def put(pool, size, heads, score, fork, barred):
    """Enter a tree behind the first one, by its score; the last one gives way where there is no room."""
    room = pool.order.shape[0]
    t = pool.order[size - 1] if size == room else size
    k = min(size, room - 1)
    while k > 1 and pool.score[pool.order[k - 1]] < score:
        pool.order[k] = pool.order[k - 1]
        k -= 1
    pool.order[k], pool.score[t], pool.fork[t] = t, score, fork
    pool.heads[t], pool.barred[t] = heads, barred
    return min(size + 1, room)


@compiled
def split(search, arcs, parts, limits, n, projective, single_root, pool, size, t):
    """Enter the best tree of each set that the set of tree t falls into without t; how many trees there are then."""
    heads, barred, fork, found = pool.heads[t].copy(), pool.barred[t].copy(), pool.fork[t], np.zeros(n + 1, np.int64)
    pool.fork[t] = n + 1
    left = Parts(parts.arc.copy(), parts.sibling, parts.grand, parts.triple)
    kept = 0.0
    for m in range(1, n + 1):
        if m >= fork:
            barred[heads[m]] = True
            most = kept + bar(arcs, limits, m, barred, left.arc) + limits.rest[m + 1]
            full = size == pool.order.shape[0]
            least = pool.score[pool.order[size - 1]] if full else -np.inf
            if most > least:
                score = find(search, arcs, left, n, single_root, found)
                if score > least:
                    size = put(pool, size, found, score, m, barred)
            barred[:] = False
        keep(arcs, parts, m, heads[m], projective, single_root, left.arc)
        kept += limits.arc[arcs.number[heads[m], m]]
    return size


@compiled
def next_to_split(pool, size):
    """The first place in order whose set is whole, or -1."""
    for k in range(size):
        if pool.fork[pool.order[k]] <= pool.heads.shape[1] - 1:
            return k
    return -1


@compiled
def k_best(search, arcs, parts, n, projective, single_root, k):
    """The k best trees, or all where there are fewer, best first: int64[trees, n + 1] and their scores.

    search, arcs, parts: see search.py. projective: whether the search finds no other trees. Without any tree of
    allowed arcs nothing is found.
    """
    pool = make_pool(most_trees(arcs, n, k), n)
    room = pool.order.shape[0]
    if room == 0:
        return pool.heads, pool.score
    pool.score[0] = find(search, arcs, parts, n, single_root, pool.heads[0])
    if pool.score[0] == -np.inf:
        return pool.heads[:0], pool.score[:0]
    pool.fork[0] = 1
    size = 1
    if room > 1:
        limits = find_limits(arcs, parts, n)
        for _ in range(room - 1):
            place = next_to_split(pool, size)
            if place < 0:
                break
            size = split(search, arcs, parts, limits, n, projective, single_root, pool, size, pool.order[place])
    chosen = pool.order[:size]
    return pool.heads[chosen], pool.score[chosen]
