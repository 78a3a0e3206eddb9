"""Relations of graph-based parsing, in compiled code.

While trees are searched, every arc has the relation that suits its two words best, and its score. When the tree is
there, relations are chosen once more, with all that it says: the children of a word, what else hangs on its head, the
head's head. Both use the same weights, those of words and arcs, to which the second choice adds its own.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import helper, ir_inline
from structron.kernels.reference import Ints, by_reference
from structron.search.graph import templates as groups
from structron.search.graph.features import ZERO, bin_of, row_of, rows_of_three, rows_of_two, side_of
from structron.search.graph.scores import NOTHING, group_of, tag_code

NO_RELATION, ANY_RELATION = -1, -2
"""In place of the correct relation of an arc: the arc is not correct, or every relation is."""


@by_reference
class Relations(NamedTuple):
    """Which relations there are, and which can be between a head and a word with certain tags."""

    size: int  # 0: unlabelled
    tags: int
    first: Ints  # int64[2 · tags · tags + 1]   by side, tag of the head, tag of the word
    possible: Ints  # int64[…]


@helper(inline=True)
def side_code(h, m):
    """Relations to the left and to the right have rows of their own."""
    return tag_code(1 << 20) if m > h else NOTHING


@helper(inline=True)
def bin_code(h, m):
    return tag_code((1 << 21) + bin_of(h, m))


@ir_inline
def list_of(sentence, relations, h, m):
    """Where the relations that an arc can have begin and end in `possible`."""
    place = (side_of(h, m) * relations.tags + sentence.tags[h]) * relations.tags + sentence.tags[m]
    return relations.first[place], relations.first[place + 1]


@helper
def add_relations_of_words(sentence, n, relations, sums):
    """Write what head and word alone say of relations: float32[2, 2, n + 1, relations], by role and side."""
    for role in range(2):
        count, first = group_of(sentence, groups.RELATION_UNDER if role == 0 else groups.RELATION_OF)
        for to_right in range(2):
            for i in range(n + 1):
                for k in range(relations.size):
                    sums[role, to_right, i, k] = 0.0
                for t in range(count):
                    code = (
                        sentence.codes[i, first + t] + sentence.codes[i, first + count + t] + side_code(ZERO, to_right)
                    )
                    row = row_of(code, sentence.shift)
                    for k in range(relations.size):
                        sums[role, to_right, i, k] += sentence.w[row + np.uint64(k)]


@helper
def rows_of_pair(sentence, at, h, m):
    """The rows of an arc's relation that look at both words."""
    at = rows_of_two(sentence, at, groups.RELATION, h, m, side_code(h, m))
    return rows_of_two(sentence, at, groups.RELATION_FAR, h, m, bin_code(h, m))


@helper
def rows_of_relation(sentence, heads, n, m):
    """All rows of the relation of word m in a tree, or under any heads; how many."""
    h = heads[m]
    at = rows_of_two(sentence, ZERO, groups.RELATION_OF, m, m, side_code(h, m))
    at = rows_of_two(sentence, at, groups.RELATION_UNDER, h, h, side_code(h, m))
    at = rows_of_pair(sentence, at, h, m)
    for i in range(1, n + 1):
        if heads[i] == m:
            at = rows_of_three(sentence, at, groups.RELATION_CHILD, h, i, m, side_code(m, i))
        elif heads[i] == h and i != m:
            at = rows_of_three(sentence, at, groups.RELATION_BESIDE, h, i, m, side_code(i, m))
    return rows_of_three(sentence, at, groups.RELATION_ABOVE, heads[h] if h > 0 else n + 1, h, m, NOTHING)


@ir_inline
def sum_of_rows(sentence, count, relation, total):
    """Add the weights of a relation in the first rows to what is known of it."""
    for t in range(count):
        total += sentence.w[sentence.rows[t] + relation]
    return total


@ir_inline
def right_relation(gold, h, m):
    """The relation of word m that is correct under the head h; heads and relations that are open (-1) can be any."""
    if gold.heads[m] >= 0 and gold.heads[m] != h:
        return NO_RELATION
    return gold.relation[m] if gold.relation[m] >= 0 else ANY_RELATION


@helper
def add_best_relations(sentence, arcs, relations, gold, learning, cost, sums, scores):
    """`score_relations`, given what words alone say."""
    for b in range(arcs.need[0]):
        h, m = arcs.head[b], arcs.word[b]
        lo, hi = list_of(sentence, relations, h, m)
        count, to_right = rows_of_pair(sentence, ZERO, h, m), side_of(h, m)
        right = right_relation(gold, h, m) if learning else ANY_RELATION
        most = np.float32(-np.inf)
        for k in range(lo, hi):
            r = relations.possible[k]
            score = sum_of_rows(sentence, count, np.uint64(r), sums[0, to_right, h, r] + sums[1, to_right, m, r])
            if right != ANY_RELATION and r != right:
                score += np.float32(cost)
            most = max(most, score)
        scores[b] += most


@ir_inline
def score_relations(sentence, arcs, n, relations, gold, learning, cost, sums, scores):
    """Add the best relation's score to each arc's. cost: while learning, of all but the gold heads and relations.

    sums: scratch memory, see `add_relations_of_words`.
    """
    if relations.size == 0:
        for b in range(arcs.need[0] if learning else 0):
            if gold.heads[arcs.word[b]] >= 0 and gold.heads[arcs.word[b]] != arcs.head[b]:
                scores[b] += np.float32(cost)
    else:
        add_relations_of_words(sentence, n, relations, sums)
        add_best_relations(sentence, arcs, relations, gold, learning, cost, sums, scores)


@ir_inline
def choose_relations(sentence, n, relations, gold, learning, cost, heads, found):
    """Write the relation of every word of a tree. gold, cost: see `score_relations`."""
    for m in range(1, n + 1 if relations.size > 0 else 0):
        h = heads[m]
        lo, hi = list_of(sentence, relations, h, m)
        count = rows_of_relation(sentence, heads, n, m)
        right = right_relation(gold, h, m) if learning else ANY_RELATION
        most, found[m] = np.float32(-np.inf), relations.possible[lo]
        for k in range(lo, hi):
            r = relations.possible[k]
            score = sum_of_rows(sentence, count, np.uint64(r), np.float32(0.0))
            if right != ANY_RELATION and r != right:
                score += np.float32(cost)
            if score > most:
                most, found[m] = score, r
