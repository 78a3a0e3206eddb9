"""Eisner's algorithm (1996, 2000): the best projective tree when every arc has a score of its own, in O(n³).

    scores  float32[n + 1, n + 1]   of the arc from head (row) to word (column); 0 is the root, words count from 1;
                                    -inf: an arc that cannot be
    heads   int64[n + 1]            the head of every word; heads[0] is -1

A span has its head at one end: complete[h, e] is the best tree of h over the words between h and e, arc[h, m] the same
up to its last child m, whose own words beyond m are still to come. Both directions share one matrix, since h and e say
which it is. No back-pointers are kept: the way back finds each maximum again, for the best tree only.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import helper, ir_inline
from structron.kernels.reference import Doubles2, Ints2, by_reference

ARC, COMPLETE = np.int64(0), np.int64(1)
NONE, ONE = np.int64(0), np.int64(1)
"""As NumPy's: kernels are compiled once more for a literal."""
LONG = 500
"""Words from which on a search looks at allowed arcs alone, not at all pairs of words (`eisner_among`), and that an arc
of so long a sentence may span."""


@by_reference
class Chart(NamedTuple):
    """Scratch memory, used for one sentence after the other."""

    complete: Doubles2  # float64[n + 1, n + 1]   head, end
    ending: Doubles2  # float64[n + 1, n + 1]     the same by end, head: inner loops read along rows
    arc: Doubles2  # float64[n + 1, n + 1]        head, last child
    stack: Ints2  # int64[3n + 8, 3]              spans to take apart: ARC or COMPLETE, head, end


def make_chart(words: int) -> Chart:
    """Scratch memory for sentences of up to that many words."""
    side = words + 1
    stack = np.zeros((3 * words + 8, 3), np.int64)
    return Chart(np.zeros((side, side)), np.zeros((side, side)), np.zeros((side, side)), stack)


@ir_inline
def best_split(chart, lo, hi):
    """Where the words between two heads part: lo … r belong to lo, r + 1 … hi to hi. The score, and r."""
    best, at = -np.inf, lo
    for r in range(lo, hi):
        score = chart.complete[lo, r] + chart.complete[hi, r + 1]
        if score > best:
            best, at = score, r
    return best, at


@ir_inline
def best_last_child(chart, h, e):
    """The last child of h on the way to e, which has the rest. The score, and the child."""
    lo, hi = (h + 1, e + 1) if h < e else (e, h)
    best, at = -np.inf, e
    for m in range(lo, hi):
        score = chart.arc[h, m] + chart.ending[e, m]
        if score > best:
            best, at = score, m
    return best, at


def fill_chart(scores, first, n, chart):
    """All spans of the positions first … n, from short to long."""
    for i in range(first, n + 1):
        chart.complete[i, i] = chart.ending[i, i] = 0.0
    for width in range(1, n + 1 - first):
        for lo in range(first, n + 1 - width):
            hi = lo + width
            split, _ = best_split(chart, lo, hi)
            chart.arc[lo, hi] = split + scores[lo, hi]
            chart.arc[hi, lo] = split + scores[hi, lo]
            right, _ = best_last_child(chart, lo, hi)
            chart.complete[lo, hi] = chart.ending[hi, lo] = right
            left, _ = best_last_child(chart, hi, lo)
            chart.complete[hi, lo] = chart.ending[lo, hi] = left


fill = helper(fill_chart, fastmath={"nnan", "nsz"})
"""Several maxima side by side: there is no NaN, and either of two zeros will do. Sums stay the same."""


@helper(inline=True)
def best_among(arcs, chart, h, e):
    """The score of the best last child of h on the way to e, among its allowed arcs alone."""
    best = -np.inf
    if h < e:
        for b in range(arcs.right[h], arcs.first[h + 1]):
            m = arcs.word[b]
            if m > e:
                break
            best = max(best, chart.arc[h, m] + chart.ending[e, m])
    else:
        for b in range(arcs.right[h] - 1, arcs.first[h] - 1, -1):
            m = arcs.word[b]
            if m < e:
                break
            best = max(best, chart.arc[h, m] + chart.ending[e, m])
    return best


@helper
def fill_among(arcs, scores, first, n, chart):
    """`fill` where few arcs are allowed: O(n² k) for k heads a word."""
    for i in range(first, n + 1):
        for j in range(n + 1):
            chart.arc[i, j] = -np.inf
        chart.complete[i, i] = chart.ending[i, i] = 0.0
    for hi in range(first + 1, n + 1):
        for lo in range(hi - 1, first - 1, -1):
            if arcs.number[lo, hi] >= 0 or arcs.number[hi, lo] >= 0:
                split, _ = best_split(chart, lo, hi)
                if arcs.number[lo, hi] >= 0:
                    chart.arc[lo, hi] = split + scores[lo, hi]
                if arcs.number[hi, lo] >= 0:
                    chart.arc[hi, lo] = split + scores[hi, lo]
            chart.complete[lo, hi] = chart.ending[hi, lo] = best_among(arcs, chart, lo, hi)
            chart.complete[hi, lo] = chart.ending[lo, hi] = best_among(arcs, chart, hi, lo)


@helper
def put(stack, size, kind, h, e):
    """Note a span for later, unless there is nothing in it."""
    if h != e:
        stack[size, 0], stack[size, 1], stack[size, 2] = kind, h, e
        return size + 1
    return size


@ir_inline
def take_apart(chart, size, heads):
    """Write the heads of all words in the spans that wait on the stack."""
    stack = chart.stack
    while size > 0:
        size -= 1
        kind, h, e = stack[size, 0], stack[size, 1], stack[size, 2]
        if kind == COMPLETE:
            _, m = best_last_child(chart, h, e)
            size = put(stack, size, COMPLETE, m, e)
            size = put(stack, size, ARC, h, m)
        else:
            heads[e] = h
            lo, hi = min(h, e), max(h, e)
            _, r = best_split(chart, lo, hi)
            size = put(stack, size, COMPLETE, lo, r)
            size = put(stack, size, COMPLETE, hi, r + 1)


@ir_inline
def best_root(scores, n, chart):
    """The one word that the root has as a child, and the score of the whole tree."""
    best, at = -np.inf, 1
    for m in range(1, n + 1):
        score = scores[0, m] + chart.complete[m, 1] + chart.complete[m, n]
        if score > best:
            best, at = score, m
    return best, at


@helper
def tree_of(scores, n, single_root, chart, heads):
    """Write the best tree of a chart that is filled; its score."""
    if single_root:
        best, root = best_root(scores, n, chart)
        heads[root] = 0
        size = put(chart.stack, put(chart.stack, NONE, COMPLETE, root, ONE), COMPLETE, root, n)
    else:
        best, size = chart.complete[0, n], put(chart.stack, NONE, COMPLETE, NONE, n)
    take_apart(chart, size, heads)
    return best


@ir_inline
def eisner(scores, n, single_root, chart, heads):
    """Write the best projective tree of n words; its score. single_root: the root has one child."""
    heads[0] = -1
    if n == 0:
        return 0.0
    fill(scores, ONE if single_root else NONE, n, chart)
    return tree_of(scores, n, single_root, chart, heads)


@ir_inline
def eisner_among(arcs, scores, n, single_root, chart, heads):
    """The same among few arcs (see parts.py), which make at least one tree. scores: -inf where there is none."""
    heads[0] = -1
    if n == 0:
        return 0.0
    fill_among(arcs, scores, ONE if single_root else NONE, n, chart)
    return tree_of(scores, n, single_root, chart, heads)
