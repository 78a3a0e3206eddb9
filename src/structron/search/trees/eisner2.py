"""The best projective tree under second-order parts (see parts.py), over allowed arcs only.

`siblings`: consecutive siblings, O(n³): McDonald & Pereira (2006), Figure 2.
`grandparents`: siblings and grandparents, Koo & Collins (2010), Model 1: O(n⁴), or O(n² k²) where pruning leaves k
heads a word. Every span of a head h is kept once for each g that h may hang on. (g, h) is an arc a, so charts are
indexed by arcs, and an arc that pruning took away costs nothing.

    complete   C[a, e]    h = word[a] with all its words up to e
    arc        I[a, b]    the same up to the child m = word[b], which has its words on the inner side only
    between    S[b, s]    the words between m and the next inner child s of the same head

As in eisner.py no back-pointers are kept.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import helper, ir_inline
from structron.kernels.reference import Doubles, Doubles2, Ints2, by_reference
from structron.search.trees.eisner import ARC, COMPLETE, NONE, best_last_child, best_split, put
from structron.search.trees.parts import rank, side, triple_at

BETWEEN = np.int64(2)


@by_reference
class Spans(NamedTuple):
    """The charts of one sentence after the other."""

    complete: Doubles2  # float64[arcs + 1, n + 1]
    arc: Doubles  # float64[grand parts]
    between: Doubles  # float64[sibling parts]
    rest: Doubles  # float64[n + 1]     scratch
    stack: Ints2  # int64[3n + 8, 3]


def make_spans(words: int, arcs: int, siblings: int, grands: int) -> Spans:
    """Scratch memory for sentences of up to so many words, arcs and parts."""
    complete, stack = np.zeros((arcs + 1, words + 1)), np.zeros((3 * words + 8, 3), np.int64)
    return Spans(complete, np.zeros(grands), np.zeros(siblings), np.zeros(words + 1), stack)


# -- siblings and grandparents -------------------------------------------------------------------------------------


@ir_inline
def is_possible(arcs, spans, a):
    """Whether an arc is scored above -inf; the others are skipped, so that a search for the next best tree is fast."""
    return spans.complete[a, arcs.word[a]] == 0.0


@ir_inline
def best_middle(arcs, spans, inner, b):
    """Where the words between two children of one head part. The score, and the last word of the left one."""
    low, high = min(arcs.word[inner], arcs.word[b]), max(arcs.word[inner], arcs.word[b])
    left, right = (inner, b) if arcs.word[inner] == low else (b, inner)
    best, at = -np.inf, low
    for r in range(low, high):
        score = spans.complete[left, r] + spans.complete[right, r + 1]
        if score > best:
            best, at = score, r
    return best, at


@helper
def best_sibling(arcs, parts, spans, single_root, a, b):
    """The arc to the inner sibling of the best arc b below arc a, or -1: the way back of `fill_arc`."""
    h, m = arcs.head[b], arcs.word[b]
    start, step, _ = side(arcs, h, m > h)
    best, own, below, third = without_sibling(arcs, parts, spans, a, b, h, m)
    at = np.int64(-1)
    if single_root and h == 0:
        return at
    place = arcs.sibling[b] + 1
    for k in range(rank(arcs, b)):
        score = with_sibling(parts, spans, own, place + k, below + start + step * k, third + k)
        if score > best:
            best, at = score, start + step * k
    return at


@ir_inline
def without_sibling(arcs, parts, spans, a, b, h, m):
    """The score of arc b below arc a without a sibling. Then what `with_sibling` wants: the score that siblings do not
    change, and what a place among the arcs of h and among the sibling parts of b is less than one below a."""
    below = arcs.grand[a] - arcs.first[h]
    third = triple_at(arcs, a, b)
    own = np.float64(parts.arc[b])
    best = own + parts.sibling[arcs.sibling[b]] + parts.grand[below + b]
    own += parts.grand[below + b]
    if parts.triple.shape[0] > 0:
        best += parts.triple[third]
    return spans.complete[b, h + 1 if m > h else h - 1] + best, own, below, third + 1


@ir_inline
def with_sibling(parts, spans, own, place, arc, third):
    """The score of an arc with a sibling part, the span of the sibling's arc, and a triple."""
    score = own + parts.sibling[place] + spans.arc[arc] + spans.between[place]
    if parts.triple.shape[0] > 0:
        score += parts.triple[third]
    return score


@ir_inline
def best_outermost(arcs, spans, a, e):
    """The arc to the last child of an arc's word on the way to e: the way back of `fill_complete`."""
    h = arcs.word[a]
    start, step, count = side(arcs, h, e > h)
    below = arcs.grand[a] - arcs.first[h]
    reach = abs(e - h)
    best, at = -np.inf, np.int64(-1)
    for k in range(count):
        b = start + step * k
        if abs(arcs.word[b] - h) > reach:
            break
        score = spans.arc[below + b] + spans.complete[b, e]
        if score > best:
            best, at = score, b
    return at


@ir_inline
def fill_arc(arcs, parts, spans, single_root, h, m, b, start, step):
    """All spans that end with arc b from h to m. start, step: see `side`."""
    count, place = (b - start) * step, arcs.sibling[b] + 1
    for k in range(count):
        if is_possible(arcs, spans, start + step * k):
            spans.between[place + k], _ = best_middle(arcs, spans, start + step * k, b)
    for j in range(arcs.into_first[h], arcs.into_first[h + 1]):
        a = arcs.into[j]
        if is_possible(arcs, spans, a) and not min(h, m) <= arcs.head[a] <= max(h, m):
            best, own, below, third = without_sibling(arcs, parts, spans, a, b, h, m)
            if not (single_root and h == 0):
                for k in range(count):
                    best = max(best, with_sibling(parts, spans, own, place + k, below + start + step * k, third + k))
            spans.arc[below + b] = best


@ir_inline
def fill_complete(arcs, spans, h, e, start, step, count):
    """All words of h up to e, for every head that h may hang on. What children have beyond themselves (`rest`) is the
    same for all of them."""
    reach, known, rest = abs(e - h), 0, spans.rest
    while known < count and abs(arcs.word[start + step * known] - h) <= reach:
        rest[known] = spans.complete[start + step * known, e]
        known += 1
    for j in range(arcs.into_first[h], arcs.into_first[h + 1]):
        a = arcs.into[j]
        if is_possible(arcs, spans, a) and not min(h, e) <= arcs.head[a] <= max(h, e):
            place = arcs.grand[a] - arcs.first[h] + start
            best = -np.inf
            for c in range(known):
                best = max(best, spans.arc[place + step * c] + rest[c])
            spans.complete[a, e] = best


@helper
def fill_spans(arcs, parts, n, single_root, spans):
    """All spans, each after those inside it: by their right end, then from short to long."""
    for high in range(1, n + 1):
        for low in range(high - 1, -1, -1):
            for to_left in range(2 if low > 0 else 1):
                h, m = (high, low) if to_left else (low, high)
                start, step, count = side(arcs, h, m > h)
                b = arcs.number[h, m]
                if b >= 0 and is_possible(arcs, spans, b):
                    fill_arc(arcs, parts, spans, single_root, h, m, b, start, step)
                fill_complete(arcs, spans, h, m, start, step, count)


@helper
def unfold(arcs, parts, single_root, spans, size, heads):
    """Write the heads of all words in the spans that wait on the stack; False where a span has no tree."""
    stack = spans.stack
    while size > 0:
        size -= 1
        kind, a, e = stack[size, 0], stack[size, 1], stack[size, 2]
        if kind == COMPLETE:
            if arcs.word[a] == e:
                continue
            b = best_outermost(arcs, spans, a, e)
            if b < 0:
                return False
            size = push(stack, size, COMPLETE, b, e)
            size = push(stack, size, ARC, a, b)
        elif kind == ARC:
            h, m = arcs.word[a], arcs.word[e]
            heads[m] = h
            inner = best_sibling(arcs, parts, spans, single_root, a, e)
            if inner < 0:
                size = push(stack, size, COMPLETE, e, h + 1 if m > h else h - 1)
            else:
                size = push(stack, size, BETWEEN, inner, e)
                size = push(stack, size, ARC, a, inner)
        else:
            _, r = best_middle(arcs, spans, a, e)
            left, right = (a, e) if arcs.word[a] < arcs.word[e] else (e, a)
            size = push(stack, size, COMPLETE, left, r)
            size = push(stack, size, COMPLETE, right, r + 1)
    return True


@helper(inline=True)
def push(stack, size, kind, a, e):
    stack[size, 0], stack[size, 1], stack[size, 2] = kind, a, e
    return size + 1


@ir_inline
def clear_spans(arcs, parts, n, spans):
    """No spans but those of one word: its own, under every arc that can be."""
    count = arcs.need[0]
    for a in range(count + 1):
        for e in range(n + 1):
            spans.complete[a, e] = -np.inf
        if a == count or parts.arc[a] > -np.inf:
            spans.complete[a, arcs.word[a]] = 0.0
    for k in range(arcs.need[2]):
        spans.arc[k] = -np.inf


@ir_inline
def grandparents(arcs, parts, n, single_root, spans, heads):
    """Write the best projective tree of allowed arcs under all parts; its score, -inf where there is no tree."""
    heads[0] = -1
    clear_spans(arcs, parts, n, spans)
    fill_spans(arcs, parts, n, single_root, spans)
    root = arcs.need[0]
    score = spans.complete[root, n]
    if score == -np.inf or not unfold(
        arcs, parts, single_root, spans, push(spans.stack, NONE, COMPLETE, root, n), heads
    ):
        return -np.inf
    return score


# -- siblings alone ------------------------------------------------------------------------------------------------


@ir_inline
def best_inner(arcs, parts, chart, between, single_root, b):
    """The best arc b and all within it. The score, and the arc to its inner sibling or -1."""
    h, m = arcs.head[b], arcs.word[b]
    start, step, _ = side(arcs, h, m > h)
    place = arcs.sibling[b]
    best = chart.complete[m, h + 1 if m > h else h - 1] + parts.sibling[place]
    at = np.int64(-1)
    if not (single_root and h == 0):
        for k in range(rank(arcs, b)):
            s = arcs.word[start + step * k]
            score = chart.arc[h, s] + between[min(s, m), max(s, m)] + parts.sibling[place + 1 + k]
            if score > best:
                best, at = score, start + step * k
    return best + parts.arc[b], at


@helper
def fill_siblings(arcs, parts, n, single_root, chart, between):
    """All spans of the positions 0 … n, from short to long."""
    for i in range(n + 1):
        chart.complete[i, i] = chart.ending[i, i] = 0.0
    for width in range(1, n + 1):
        for low in range(n + 1 - width):
            high = low + width
            between[low, high], _ = best_split(chart, low, high)
            for h, m in ((low, high), (high, low)):
                b = arcs.number[h, m]
                chart.arc[h, m] = -np.inf
                if b >= 0 and parts.arc[b] > -np.inf:
                    chart.arc[h, m], _ = best_inner(arcs, parts, chart, between, single_root, b)
            for h, e in ((low, high), (high, low)):
                best, _ = best_last_child(chart, h, e)
                chart.complete[h, e] = chart.ending[e, h] = best


@ir_inline
def siblings(arcs, parts, n, single_root, chart, between, heads):
    """Write the best projective tree of allowed arcs under arc and sibling parts; its score, -inf: no tree."""
    heads[0] = -1
    if n == 0:
        return 0.0
    fill_siblings(arcs, parts, n, single_root, chart, between)
    stack = chart.stack
    size = put(stack, NONE, COMPLETE, NONE, n)
    while size > 0 and chart.complete[0, n] > -np.inf:
        size -= 1
        kind, h, e = stack[size, 0], stack[size, 1], stack[size, 2]
        if kind == COMPLETE:
            _, m = best_last_child(chart, h, e)
            size = put(stack, size, COMPLETE, m, e)
            size = put(stack, size, ARC, h, m)
        elif kind == ARC:
            heads[e] = h
            _, inner = best_inner(arcs, parts, chart, between, single_root, arcs.number[h, e])
            if inner < 0:
                size = put(stack, size, COMPLETE, e, h + 1 if e > h else h - 1)
            else:
                size = put(stack, size, BETWEEN, arcs.word[inner], e)
                size = put(stack, size, ARC, h, arcs.word[inner])
        else:
            low, high = min(h, e), max(h, e)
            _, r = best_split(chart, low, high)
            size = put(stack, size, COMPLETE, low, r)
            size = put(stack, size, COMPLETE, high, r + 1)
    return chart.complete[0, n]
