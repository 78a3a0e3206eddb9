"""Relations of graph-based parsing, in compiled code.

While trees are searched, every arc has the relation that suits its two words best, and its score. When the tree is
there, relations are chosen once more, with all that it says: the children of a word, what else hangs on its head, the
head's head. Both use the same weights, those of words and arcs, to which the second choice adds its own.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import compiled, inlined
from structron.search.graph import templates as groups
from structron.search.graph.features import ZERO, bin_of, rows_of_three, rows_of_two, side_of
from structron.search.graph.scores import NOTHING, tag_code


class Relations(NamedTuple):
    """Which relations there are, and which can be between a head and a word with certain tags."""

    size: int  # 0: unlabelled
    tags: int
    first: np.ndarray  # int64[2 · tags · tags + 1]   by side, tag of the head, tag of the word
    possible: np.ndarray  # int64[…]


@inlined
def side_code(h, m):
    """Relations to the left and to the right have rows of their own."""
    return tag_code(1 << 20) if m > h else NOTHING


@inlined
def bin_code(h, m):
    return tag_code((1 << 21) + bin_of(h, m))


@inlined
def list_of(look, relations, h, m):
    """Where the relations that an arc can have begin and end in `possible`."""
    place = (side_of(h, m) * relations.tags + look.tags[h]) * relations.tags + look.tags[m]
    return relations.first[place], relations.first[place + 1]


@compiled
def add_rows(look, count, relations, lo, hi, sums):
    """Add the weights of the possible relations lo … hi - 1 in the first rows to sums."""
    for t in range(count):
        for k in range(lo, hi):
            sums[k - lo] += look.w[look.rows[t] + relations.possible[k]]


@compiled
def relations_of_words(look, n, relations):
    """float32[2, 2, n + 1, relations]: by role and side, what the head alone and the word alone say of relations."""
    sums = np.zeros((2, 2, n + 1, relations.size), np.float32)
    for role in range(2):
        for to_right in range(2):
            for i in range(n + 1):
                group = groups.RELATION_UNDER if role == 0 else groups.RELATION_OF
                for t in range(rows_of_two(look, ZERO, group, i, i, side_code(0, to_right))):
                    for k in range(relations.size):
                        sums[role, to_right, i, k] += look.w[look.rows[t] + k]
    return sums


@compiled
def rows_of_pair(look, at, h, m):
    """The rows of an arc's relation that look at both words."""
    at = rows_of_two(look, at, groups.RELATION, h, m, side_code(h, m))
    return rows_of_two(look, at, groups.RELATION_FAR, h, m, bin_code(h, m))


@compiled
def rows_of_relation(look, heads, n, m):
    """All rows of the relation of word m in a tree, or under any heads; how many."""
    h = heads[m]
    at = rows_of_two(look, ZERO, groups.RELATION_OF, m, m, side_code(h, m))
    at = rows_of_two(look, at, groups.RELATION_UNDER, h, h, side_code(h, m))
    at = rows_of_pair(look, at, h, m)
    for i in range(1, n + 1):
        if heads[i] == m:
            at = rows_of_three(look, at, groups.RELATION_CHILD, h, i, m, side_code(m, i))
        elif heads[i] == h and i != m:
            at = rows_of_three(look, at, groups.RELATION_BESIDE, h, i, m, side_code(i, m))
    return rows_of_three(look, at, groups.RELATION_ABOVE, heads[h] if h > 0 else n + 1, h, m, NOTHING)


@inlined
def best_of(relations, lo, hi, sums, right, gold, cost):
    """The relation with the highest sum, and the sum. Those other than the gold one (right: the arc is) get a cost."""
    most, at = np.float32(-np.inf), relations.possible[lo]
    for k in range(lo, hi):
        r = relations.possible[k]
        score = sums[k - lo] if right and r == gold else sums[k - lo] + np.float32(cost)
        if score > most:
            most, at = score, r
    return at, most


@compiled
def score_relations(look, arcs, n, relations, gold_heads, gold, cost, scores):
    """Add the best relation's score to each arc's. cost: see `best_of` (gold_heads: of n + 1; empty: no cost)."""
    learning = gold_heads.shape[0] > 0
    if relations.size == 0:
        for b in range(scores.shape[0]):
            if learning and gold_heads[arcs.word[b]] != arcs.head[b]:
                scores[b] += np.float32(cost)
        return
    sums, own = relations_of_words(look, n, relations), np.zeros(relations.size, np.float32)
    for b in range(scores.shape[0]):
        h, m = arcs.head[b], arcs.word[b]
        lo, hi = list_of(look, relations, h, m)
        for k in range(lo, hi):
            r = relations.possible[k]
            own[k - lo] = sums[0, side_of(h, m), h, r] + sums[1, side_of(h, m), m, r]
        add_rows(look, rows_of_pair(look, ZERO, h, m), relations, lo, hi, own)
        right = learning and gold_heads[m] == h
        _, most = best_of(relations, lo, hi, own, right, gold[m] if right else -1, cost if learning else 0.0)
        scores[b] += most


@compiled
def choose_relations(look, n, relations, gold_heads, gold, cost, heads, found):
    """Write the relation of every word of a tree."""
    if relations.size == 0:
        return
    own = np.zeros(relations.size, np.float32)
    for m in range(1, n + 1):
        h = heads[m]
        lo, hi = list_of(look, relations, h, m)
        own[:] = 0.0
        add_rows(look, rows_of_relation(look, heads, n, m), relations, lo, hi, own)
        learning = gold_heads.shape[0] > 0
        right = learning and gold_heads[m] == h
        found[m], _ = best_of(relations, lo, hi, own, right, gold[m] if right else -1, cost if learning else 0.0)
