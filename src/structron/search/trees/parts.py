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

from structron.kernels.jit import compiled, inlined


class Arcs(NamedTuple):
    """Allowed arcs of one sentence of n words; the arc to the root from nowhere has number `arcs`."""

    head: np.ndarray  # int64[arcs + 1]
    word: np.ndarray  # int64[arcs + 1]
    first: np.ndarray  # int64[n + 2]        arcs of head h: first[h] … first[h + 1] - 1
    right: np.ndarray  # int64[n + 1]        the first of them that goes to the right
    number: np.ndarray  # int64[n + 1, n + 1] the arc from head to word, -1 where there is none
    into_first: np.ndarray  # int64[n + 2]   arcs to word m: into[into_first[m]] …
    into: np.ndarray  # int64[arcs + 1]
    sibling: np.ndarray  # int64[arcs + 1]   the part of arc b without sibling; those with siblings, outwards, follow it
    grand: np.ndarray  # int64[arcs + 2]     the parts of arc a with each of the arcs of its word
    triple: np.ndarray  # int64[arcs + 2]    the parts of arc a with each sibling part of its word's arcs


class Parts(NamedTuple):
    """Scores, one for every part; `grand` and `triple` may be empty: there are no such parts then."""

    arc: np.ndarray  # float32[arcs]
    sibling: np.ndarray  # float32[arcs.sibling[-1]]
    grand: np.ndarray  # float32[arcs.grand[-1]]
    triple: np.ndarray  # float32[arcs.triple[-1]]


@inlined
def rank(arcs, b):
    """How many allowed arcs of the same head and side are shorter."""
    h = arcs.head[b]
    return b - arcs.right[h] if arcs.word[b] > h else arcs.right[h] - 1 - b


@inlined
def side(arcs, h, to_right):
    """The shortest arc of a head on a side, the step to the next longer one, and how many there are."""
    if to_right:
        return arcs.right[h], 1, arcs.first[h + 1] - arcs.right[h]
    return arcs.right[h] - 1, -1, arcs.right[h] - arcs.first[h]


@inlined
def triple_at(arcs, a, b):
    """The part of a with arc b without sibling; those with siblings follow it."""
    return arcs.triple[a] + arcs.sibling[b] - arcs.sibling[arcs.first[arcs.word[a]]]


@compiled
def index_arcs(allowed, n):
    """Number the arcs that a mask bool[n + 1, n + 1] allows (head, word; never to the root), and their parts."""
    count = 0
    for h in range(n + 1):
        for m in range(1, n + 1):
            count += allowed[h, m] and h != m
    head, word = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    first, right = np.zeros(n + 2, np.int64), np.zeros(n + 1, np.int64)
    number = np.full((n + 1, n + 1), -1, np.int64)
    b = 0
    for h in range(n + 1):
        first[h] = b
        for m in range(1, n + 1):
            if m == h + 1 or m == 1:
                right[h] = b
            if allowed[h, m] and h != m:
                head[b], word[b], number[h, m] = h, m, b
                b += 1
        if h == n:
            right[h] = b
    first[n + 1] = b
    head[count], word[count] = -1, 0
    into_first, into = index_by_word(number, n, count)
    places = np.zeros((3, count + 2), np.int64)
    arcs = Arcs(head, word, first, right, number, into_first, into, places[0, : count + 1], places[1], places[2])
    for b in range(count):
        arcs.sibling[b + 1] = arcs.sibling[b] + 1 + rank(arcs, b)
    for a in range(count + 1):
        lo, hi = first[word[a]], first[word[a] + 1]
        arcs.grand[a + 1] = arcs.grand[a] + hi - lo
        arcs.triple[a + 1] = arcs.triple[a] + arcs.sibling[hi] - arcs.sibling[lo]
    return arcs


@compiled
def index_by_word(number, n, count):
    """The arcs to each word; the root has the one from nowhere."""
    into_first, into = np.zeros(n + 2, np.int64), np.zeros(count + 1, np.int64)
    into[0] = count
    k = 1
    for m in range(1, n + 1):
        into_first[m] = k
        for h in range(n + 1):
            if number[h, m] >= 0:
                into[k] = number[h, m]
                k += 1
    into_first[n + 1] = k
    return into_first, into


@inlined
def arc_above(arcs, heads, h):
    """The arc of a tree to a word, or to the root."""
    return arcs.into[0] if h == 0 else arcs.number[heads[h], h]


@inlined
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


@compiled
def siblings_of(heads, n, inner, last):
    """For each word its nearest sibling on the way to their head, 0 where there is none. last: room for n + 1."""
    last[: n + 1] = 0
    for m in range(1, n + 1):
        if heads[m] < m:
            inner[m], last[heads[m]] = last[heads[m]], m
    last[: n + 1] = 0
    for m in range(n, 0, -1):
        if heads[m] > m:
            inner[m], last[heads[m]] = last[heads[m]], m


@compiled
def tree_score(arcs, parts, heads, n, inner, last):
    """The score of a tree of allowed arcs. inner, last: int64[n + 1], room for siblings."""
    siblings_of(heads, n, inner, last)
    total = 0.0
    for m in range(1, n + 1):
        h = heads[m]
        beside = arcs.number[h, inner[m]] if inner[m] > 0 else np.int64(-1)
        total += part_score(arcs, parts, arc_above(arcs, heads, h), arcs.number[h, m], beside)
    return total


@compiled
def is_below(heads, word, top):
    """Whether a word is another one or one of its descendants."""
    while word > 0 and word != top:
        word = heads[word]
    return word == top


@compiled
def climb(arcs, parts, n, single_root, heads):
    """Change one head after the other, always to the best effect, while the score grows; the score.

    McDonald & Pereira (2006), Figure 5: trees with crossing arcs are near the best projective one. A tree stays a tree;
    with single_root the child of the root stays.
    """
    inner, last = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    best = tree_score(arcs, parts, heads, n, inner, last)
    while True:
        word = new_head = 0
        for m in range(1, n + 1):
            old = heads[m]
            if single_root and old == 0:
                continue
            for k in range(arcs.into_first[m], arcs.into_first[m + 1]):
                h = arcs.head[arcs.into[k]]
                if h == old or (single_root and h == 0) or is_below(heads, h, m):
                    continue
                heads[m] = h
                score = tree_score(arcs, parts, heads, n, inner, last)
                if score > best + 1e-6:
                    best, word, new_head = score, m, h
            heads[m] = old
        if word == 0:
            return best
        heads[word] = new_head
