"""Second-order parts of trees over a set of allowed arcs, and where the score of each is found.

    arc         h → m
    sibling     h → s, m    s the nearest child of h between h and m, or none
    grand       g → h → m   the root has no g: it is the word of an arc from nowhere, numbered after all others
    triple      g → h → s, m

Arcs are sorted by head, then by word. The parts of an arc stand together, so that whoever scores parts fills arrays
from left to right and only for arcs that pruning has left, and a search finds any part by adding.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import helper, ir_inline
from structron.kernels.reference import Floats, Ints, Ints2, by_reference


@by_reference
class Arcs(NamedTuple):
    """Allowed arcs of one sentence of n words; the arc to the root from nowhere has number `arcs`, which is
    first[n + 1]. Used for one sentence after the other."""

    head: Ints  # int64[arcs + 1]
    word: Ints  # int64[arcs + 1]
    first: Ints  # int64[n + 2]        arcs of head h: first[h] … first[h + 1] - 1
    right: Ints  # int64[n + 1]        the first of them that goes to the right
    number: Ints2  # int64[n + 1, n + 1] the arc from head to word, -1 where there is none
    into_first: Ints  # int64[n + 2]   arcs to word m: into[into_first[m]] …
    into: Ints  # int64[arcs + 1]
    sibling: Ints  # int64[arcs + 1]   the part of arc b without sibling; those with siblings, outwards, follow it
    grand: Ints  # int64[arcs + 2]     the parts of arc a with each of the arcs of its word
    triple: Ints  # int64[arcs + 2]    the parts of arc a with each sibling part of its word's arcs
    need: Ints  # int64[4]             how many arcs, sibling, grand and triple parts there are


@by_reference
class Parts(NamedTuple):
    """Scores, one for every part, and room for more; an empty array: there are no such parts."""

    arc: Floats  # float32[arcs]
    sibling: Floats  # float32[arcs.need[1]]
    grand: Floats  # float32[arcs.need[2]]
    triple: Floats  # float32[arcs.need[3]]


def make_arcs(words: int, arcs: int) -> Arcs:
    """Scratch memory for sentences of up to so many words and arcs."""
    head, word, into, sibling, grand, triple = (np.zeros(arcs + 2, np.int64) for _ in range(6))
    first, right, into_first = (np.zeros(words + 2, np.int64) for _ in range(3))
    number = np.zeros((words + 1, words + 1), np.int64)
    return Arcs(head, word, first, right, number, into_first, into, sibling, grand, triple, np.zeros(4, np.int64))


@ir_inline
def rank(arcs, b):
    """How many allowed arcs of the same head and side are shorter."""
    h = arcs.head[b]
    return b - arcs.right[h] if arcs.word[b] > h else arcs.right[h] - 1 - b


@ir_inline
def side(arcs, h, to_right):
    """The shortest arc of a head on a side, the step to the next longer one, and how many there are."""
    if to_right:
        return arcs.right[h], 1, arcs.first[h + 1] - arcs.right[h]
    return arcs.right[h] - 1, -1, arcs.right[h] - arcs.first[h]


@ir_inline
def triple_at(arcs, a, b):
    """The part of a with arc b without sibling; those with siblings follow it."""
    return arcs.triple[a] + arcs.sibling[b] - arcs.sibling[arcs.first[arcs.word[a]]]


@ir_inline
def index_by_word(arcs, n, count):
    """The arcs to each word, by their heads; the root has the one from nowhere."""
    word, into_first, into = arcs.word, arcs.into_first, arcs.into
    for m in range(n + 1):
        into_first[m] = 0
    for b in range(count):
        into_first[word[b]] += 1
    end = count + 1
    into_first[n + 1] = end
    for m in range(n, 0, -1):
        end -= into_first[m]
        into_first[m] = end
    into[0] = count
    for b in range(count):
        into[into_first[word[b]]] = b
        into_first[word[b]] += 1
    for m in range(n, 0, -1):
        into_first[m] = into_first[m - 1] if m > 1 else 1


@helper
def index_arcs(allowed, n, arcs):
    """Number the arcs that a mask bool[n + 1, n + 1] allows (head, word; never to the root), and their parts.

    False: there is no room for so many arcs.
    """
    head, word, first, right, number = arcs.head, arcs.word, arcs.first, arcs.right, arcs.number
    b, most = 0, head.shape[0] - 2
    for h in range(n + 1):
        first[h], number[h, 0] = b, -1
        for m in range(1, n + 1):
            if m == h + 1 or m == 1:
                right[h] = b
            number[h, m] = -1
            if allowed[h, m] and h != m:
                if b < most:
                    head[b], word[b], number[h, m] = h, m, b
                b += 1
        if h == n:
            right[h] = b
    first[n + 1] = arcs.need[0] = count = b
    if count > most:
        return False
    head[count], word[count] = -1, 0
    index_by_word(arcs, n, count)
    arcs.sibling[0] = arcs.grand[0] = arcs.triple[0] = 0
    for b in range(count):
        arcs.sibling[b + 1] = arcs.sibling[b] + 1 + rank(arcs, b)
    for a in range(count + 1):
        lo, hi = first[word[a]], first[word[a] + 1]
        arcs.grand[a + 1] = arcs.grand[a] + hi - lo
        arcs.triple[a + 1] = arcs.triple[a] + arcs.sibling[hi] - arcs.sibling[lo]
    arcs.need[1], arcs.need[2], arcs.need[3] = arcs.sibling[count], arcs.grand[count + 1], arcs.triple[count + 1]
    return True


@ir_inline
def has_capacity(parts, need):
    """Whether there is room for the scores of so many parts."""
    siblings, grands, triples = parts.sibling.shape[0], parts.grand.shape[0], parts.triple.shape[0]
    enough = parts.arc.shape[0] >= need[0] and (siblings == 0 or siblings >= need[1])
    return enough and (grands == 0 or grands >= need[2]) and (triples == 0 or triples >= need[3])


@ir_inline
def arc_above(arcs, heads, h):
    """The arc of a tree to a word, or to the root."""
    return arcs.into[0] if h == 0 else arcs.number[heads[h], h]


@ir_inline
def part_score(arcs, parts, a, b, inner):
    """All that arc b adds below arc a: itself, and its parts with a and with the arc `inner` to its sibling, if any."""
    place = 0 if inner < 0 else 1 + rank(arcs, inner)
    score = np.float64(parts.arc[b])
    if parts.sibling.shape[0] > 0:
        score += parts.sibling[arcs.sibling[b] + place]
    if parts.grand.shape[0] > 0:
        score += parts.grand[arcs.grand[a] + b - arcs.first[arcs.head[b]]]
    if parts.triple.shape[0] > 0:
        score += parts.triple[triple_at(arcs, a, b) + place]
    return score


@helper
def added(arcs, parts, a, b, inner):
    """`part_score` where it stands in many places: not a copy for each of them."""
    return part_score(arcs, parts, a, b, inner)


@helper
def siblings_of(heads, n, inner, last):
    """For each word its nearest sibling on the way to their head, 0: there is none. last: scratch memory for n + 1."""
    for i in range(n + 1):
        last[i] = 0
    for m in range(1, n + 1):
        if heads[m] < m:
            inner[m], last[heads[m]] = last[heads[m]], m
    for i in range(n + 1):
        last[i] = 0
    for m in range(n, 0, -1):
        if heads[m] > m:
            inner[m], last[heads[m]] = last[heads[m]], m


@helper
def tree_score(arcs, parts, heads, n, inner, last):
    """The score of a tree of allowed arcs. inner, last: int64[n + 1], scratch memory for siblings."""
    siblings_of(heads, n, inner, last)
    total = 0.0
    for m in range(1, n + 1):
        h = heads[m]
        beside = arcs.number[h, inner[m]] if inner[m] > 0 else np.int64(-1)
        total += added(arcs, parts, arc_above(arcs, heads, h), arcs.number[h, m], beside)
    return total


@ir_inline
def is_below(heads, word, top):
    """Whether a word is another one or one of its descendants."""
    while word > 0 and word != top:
        word = heads[word]
    return word == top


@by_reference
class Family(NamedTuple):
    """Who stands beside whom in a tree; 0: nobody. The children of a head on one side follow each other outwards."""

    inner: Ints  # int64[n + 1]        the nearest sibling on the way to the head
    outer: Ints  # int64[n + 1]        the nearest one beyond
    child: Ints2  # int64[2, n + 1]    the child next to a head, to the left and to the right
    last: Ints  # int64[n + 1]         scratch
    change: Ints  # int64[2]           a word, and its other head
    start: Ints  # int64[n + 1]        the heads of a tree to climb from


def make_family(words: int) -> Family:
    """Scratch memory for sentences of up to that many words."""
    inner, outer, last, start = (np.zeros(words + 1, np.int64) for _ in range(4))
    return Family(inner, outer, np.zeros((2, words + 1), np.int64), last, np.zeros(2, np.int64), start)


@ir_inline
def find_family(heads, n, family):
    """Who stands beside whom under these heads."""
    siblings_of(heads, n, family.inner, family.last)
    for i in range(n + 1):
        family.outer[i] = family.child[0, i] = family.child[1, i] = 0
    for m in range(1, n + 1):
        if family.inner[m] > 0:
            family.outer[family.inner[m]] = m
        else:
            family.child[1 if m > heads[m] else 0, heads[m]] = m


@ir_inline
def number_of(arcs, h, m):
    """The arc from a head to a word, -1 for no word."""
    return arcs.number[h, m] if m > 0 else np.int64(-1)


@helper
def beside(arcs, parts, a, h, inner, b, outer):
    """What children of h, neighbours in this order, add below arc a more than the first and the last would without the
    one between them, the word of arc b."""
    near, far = number_of(arcs, h, inner), number_of(arcs, h, outer)
    score = added(arcs, parts, a, b, near)
    if far >= 0:
        score += added(arcs, parts, a, far, b) - added(arcs, parts, a, far, near)
    return score


@ir_inline
def gain(arcs, parts, heads, family, m, h):
    """What another head h of word m adds to the score of a tree: only parts of m, of its neighbours under either head
    and of its children are others then."""
    old = heads[m]
    before, after = arcs.number[old, m], arcs.number[h, m]
    outer = family.child[1 if m > h else 0, h]
    inner = 0
    while outer > 0 and abs(outer - h) < abs(m - h):
        inner, outer = outer, family.outer[outer]
    total = beside(arcs, parts, arc_above(arcs, heads, h), h, inner, after, outer)
    total -= beside(arcs, parts, arc_above(arcs, heads, old), old, family.inner[m], before, family.outer[m])
    if parts.grand.shape[0] + parts.triple.shape[0] > 0:
        for to_right in range(2):
            child = family.child[to_right, m]
            while child > 0:
                b, near = arcs.number[m, child], number_of(arcs, m, family.inner[child])
                total += added(arcs, parts, after, b, near) - added(arcs, parts, before, b, near)
                child = family.outer[child]
    return total


@helper
def best_change(arcs, parts, n, single_root, heads, family):
    """The other head of one word that adds most to the score of a tree: the word and the head, or 0 and 0."""
    most, change = 0.0, family.change
    change[0] = change[1] = 0
    for m in range(1, n + 1):
        if single_root and heads[m] == 0:
            continue
        for k in range(arcs.into_first[m], arcs.into_first[m + 1]):
            b = arcs.into[k]
            h = arcs.head[b]
            if h == heads[m] or (single_root and h == 0) or parts.arc[b] == -np.inf or is_below(heads, h, m):
                continue
            more = gain(arcs, parts, heads, family, m, h)
            if more > most + 1e-6:
                most, change[0], change[1] = more, m, h


@ir_inline
def climb(arcs, parts, n, single_root, heads, family):
    """Change one head after the other, always to the best effect, while the score grows; the score.

    McDonald & Pereira (2006), Figure 5: trees with crossing arcs are near the best projective one. A tree stays a tree;
    with single_root the child of the root stays.
    """
    while True:
        find_family(heads, n, family)
        best_change(arcs, parts, n, single_root, heads, family)
        if family.change[0] == 0:
            return tree_score(arcs, parts, heads, n, family.inner, family.last)
        heads[family.change[0]] = family.change[1]
