"""Learning trees: w += Φ(x, y) - Φ(x, z), part by part, in compiled code.

The features of a word are those of its arc, its relation, and of its parts with sibling and head's head. They are
defined for any heads, tree or not.

The fast model that prunes learns beside the other, in the same vector. What is predicted is thus a pair, the tree and
the fast model's tree, and Φ of a pair is the sum of both. Either can be wrong.

The margin is cost-augmented search: each word whose head or relation is wrong is worth C to the
search, so that y wins only if a tree with k wrong words is behind by k·C. The margin of a tree thus grows with its
mistakes, where that of the chain learners (update/margin.py) is the same for all.

ALMA (update/alma.py, eq. (3) of Daumé & Marcu 2005) takes its lowering (1 - α)·B·k^(-1/2) as C, for both trees of the
pair, and makes one step of both differences. Δ is gathered first: ℘(Δ) needs its length, and hashed features of the
two trees may share a cell.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from structron.kernels.jit import helper, ir_inline, kernel
from structron.kernels.reference import Doubles, Ints, by_reference, reference
from structron.kernels.table import ONE
from structron.search.graph.features import (
    PLAIN,
    ZERO,
    bin_of,
    order_of,
    rows_of_four,
    rows_of_three,
    rows_of_two,
    side_of,
)
from structron.search.graph.relations import rows_of_relation
from structron.search.graph.scores import NOTHING, gather_tags, new_stamp, row_between, sibling_cells
from structron.search.graph.scratch import ParseScratch
from structron.search.graph.templates import ARC, GRAND, HEAD, RANK, RANK_HEAD, RANK_WORD, SIBLING, TRIPLE, WORD
from structron.search.trees.parts import siblings_of
from structron.update.alma import ALPHA, TOTAL, end_example, step
from structron.update.delta import FULL, Delta, clear, make_delta, put

TIME, UPDATES, WRONG_TOKENS, TOKENS, LOST, INVALID, STATS = range(7)
"""Places in `stats`: examples so far, and this pass's counts. LOST: gold heads that are not the fast model's own."""
NO_CAPACITY = -1
IN_PLACE = make_delta(0)
"""No room to gather Δ: it is added to the weights part by part."""


@by_reference
class Sums(NamedTuple):
    """What an update writes beside the weights."""

    u: Doubles  # float64[cells]: the sums for the mean
    by: Doubles  # float64[2]: how much is added to each weight (0: nothing), and when
    delta: Delta  # with room: gather Δ there, cell + 1 as the feature, and leave weights and sums alone


AMOUNT, WHEN = 0, 1
"""Places in `by`."""


def make_sums(u: np.ndarray, amount: float = 0.0, time: float = 0.0, delta: Delta = IN_PLACE) -> Sums:
    """Sums for the mean, and by how much they and the weights change."""
    return Sums(u, np.array([amount, time]), delta)


@by_reference
class Learning(NamedTuple):
    """What a learner reads and writes beside the scratch memory for parsing; trees are those of all words."""

    heads: Ints  # the gold trees
    relation: Ints
    found: Ints  # those that were found
    named: Ints
    ranked: Ints  # and the heads of the fast model
    sums: Sums
    alma: Doubles
    stats: Doubles


@helper
def touch(sentence, sums, count, cell, sign):
    """w += sign · amount in one cell of each of the first rows; returns sign · w before that."""
    w, rows, u = sentence.w, sentence.rows, sums.u
    total, change, place, time = 0.0, sign * sums.by[AMOUNT], np.uint64(cell), sums.by[WHEN]
    if sums.delta.feature.shape[0] > 0:
        for t in range(count):
            put(sums.delta, rows[t] + place + ONE, ZERO, change)
        change = 0.0
    for t in range(count):
        total += w[rows[t] + place]
        if change != 0:
            w[rows[t] + place] += np.float32(change)
            u[rows[t] + place] += change * (time - 1)
    return sign * total


@ir_inline
def touch_arc(sentence, sums, h, m, sign):
    """The features of an arc."""
    at = rows_of_two(sentence, ZERO, HEAD, h, h, NOTHING)
    at = rows_of_two(sentence, at, WORD, m, m, NOTHING)
    at = rows_of_two(sentence, at, ARC, h, m, NOTHING)
    known = gather_tags(sentence, min(h, m) + 1, max(h, m), ZERO, new_stamp(sentence))
    for k in range(known):
        sentence.rows[at + k] = row_between(sentence, h, m, sentence.kinds[k])
    total = touch(sentence, sums, at + known, bin_of(h, m), sign)
    return total + touch(sentence, sums, at + known, PLAIN + side_of(h, m), sign)


@ir_inline
def touch_rank(sentence, sums, h, m, sign):
    """The features of an arc in the fast model."""
    at = rows_of_two(sentence, ZERO, RANK_HEAD, h, h, NOTHING)
    at = rows_of_two(sentence, at, RANK_WORD, m, m, NOTHING)
    at = rows_of_two(sentence, at, RANK, h, m, NOTHING)
    total = touch(sentence, sums, at, bin_of(h, m), sign)
    return total + touch(sentence, sums, at, PLAIN + side_of(h, m), sign)


@ir_inline
def touch_sibling(sentence, sums, h, s, m, none, sign):
    count = rows_of_three(sentence, ZERO, SIBLING, h, s, m, NOTHING)
    near, plain = sibling_cells(h, s, m, none)
    total = touch(sentence, sums, count, near, sign)
    return total + touch(sentence, sums, count, plain, sign)


@ir_inline
def touch_grand(sentence, sums, g, h, s, m, pair, sign):
    """The features of a word with its head's head; pair: those without the sibling too."""
    cell, total = order_of(g, h, m), 0.0
    if pair:
        total += touch(sentence, sums, rows_of_three(sentence, ZERO, GRAND, g, h, m, NOTHING), cell, sign)
    return total + touch(sentence, sums, rows_of_four(sentence, ZERO, TRIPLE, g, h, s, m), cell, sign)


@helper
def find_siblings(tree, n, last):
    """Find the sibling next to each word of a tree. last: scratch memory for n + 1."""
    siblings_of(tree.heads, n, tree.inner, last)


@ir_inline
def touch_word(sentence, sums, n, setting, relations, tree, rival, changed, m, sign):
    """The features that word m has in a tree and not in its rival. changed: see `changed_families`."""
    h, s = tree.heads[m], tree.inner[m] if tree.inner[m] > 0 else n + 1
    g = tree.heads[h] if h > 0 else n + 1
    same_head = rival.heads[m] == h
    same_sibling = same_head and rival.inner[m] == tree.inner[m]
    same_grand = same_head and (h == 0 or rival.heads[h] == g)
    total = 0.0
    if not same_head:
        total += touch_arc(sentence, sums, h, m, sign)
    around = not same_grand or changed[m] or changed[h]
    if relations.size > 0 and (around or rival.relation[m] != tree.relation[m]):
        count = rows_of_relation(sentence, tree.heads, n, m)
        total += touch(sentence, sums, count, tree.relation[m], sign)
    if setting.order == 2 and not same_sibling:
        total += touch_sibling(sentence, sums, h, s, m, n + 1, sign)
    if setting.order == 2 and setting.grandparents and not (same_grand and same_sibling):
        total += touch_grand(sentence, sums, g, h, s, m, not same_grand, sign)
    return total


@ir_inline
def changed_families(y, z, n, changed):
    """For each head, the root too, whether its children differ in two trees."""
    for h in range(n + 1):
        changed[h] = 0
    for m in range(1, n + 1):
        if y.heads[m] != z.heads[m]:
            changed[y.heads[m]] = changed[z.heads[m]] = 1


@helper
def difference(sentence, sums, n, setting, relations, y, z, changed):
    """w·(Φ(x, y) - Φ(x, z)) of two trees; and w += amount · (Φ(x, y) - Φ(x, z)), touching only what differs.

    What is returned means nothing if weights change while they are added up. changed: scratch memory for n + 1.
    """
    changed_families(y, z, n, changed)
    total = 0.0
    for m in range(1, n + 1):
        for wrong in range(2):
            tree, rival, sign = (z, y, -1.0) if wrong else (y, z, 1.0)
            total += touch_word(sentence, sums, n, setting, relations, tree, rival, changed, m, sign)
    return total


@helper
def take_tree(heads, relation, start, n, tree):
    """The tree of the n words from `start` on."""
    tree.heads[0] = tree.relation[0] = -1
    for i in range(n):
        tree.heads[i + 1], tree.relation[i + 1] = heads[start + i], relation[start + i]


@ir_inline
def count_wrong(y, z, n):
    wrong = 0
    for m in range(1, n + 1):
        wrong += y.heads[m] != z.heads[m] or y.relation[m] != z.relation[m]
    return wrong


@ir_inline
def correct_ranking(sentence, sums, n, y, ranked):
    """The update of the fast model, one wrong head at a time; returns how many there are."""
    lost = 0
    for m in range(1, n + 1):
        if ranked[m] != y.heads[m]:
            lost += 1
            for wrong in range(2):
                touch_rank(sentence, sums, ranked[m] if wrong else y.heads[m], m, -1.0 if wrong else 1.0)
    return lost


@ir_inline
def take_step(delta, w, u, alma):
    """v += f·Δ, and the scale of w = scale·v: eq. (3)."""
    length, dot = 0.0, 0.0
    for j in range(delta.used[0]):
        k = delta.place[j]
        length += delta.amount[k] * delta.amount[k]
        dot += delta.amount[k] * w[np.int64(delta.feature[k]) - 1]
    before, factor = alma[TOTAL], step(alma, length, dot)
    for j in range(delta.used[0]):
        k = delta.place[j]
        cell, change = np.int64(delta.feature[k]) - 1, factor * delta.amount[k]
        w[cell] += np.float32(change)
        u[cell] += change * before


def correct(scratch, learning, n, amount):
    """Learn from a sentence of n words: the gold tree, and the one that was found, by so much.

    With an amount of 0 the fast model alone learns. learning.sums.delta: IN_PLACE, or room for ALMA. Returns how many
    words are wrong; NO_ROOM: Δ needs more, and nothing was changed.
    """
    sentence, y, z, sums, setting = scratch.sentence, scratch.gold, scratch.found, learning.sums, scratch.setting
    delta, alma, stats = sums.delta, learning.alma, learning.stats
    find_siblings(y, n, scratch.order)
    find_siblings(z, n, scratch.order)
    time, lost = stats[TIME] + 1, 0
    clear(delta)
    sums.by[AMOUNT], sums.by[WHEN] = 1.0, time
    if setting.keep > 0:
        lost = correct_ranking(sentence, sums, n, y, scratch.ranked)
    wrong = count_wrong(y, z, n)
    if wrong > 0 and amount != 0:
        sums.by[AMOUNT] = amount
        difference(sentence, sums, n, setting, scratch.relations, y, z, scratch.changed)
    if delta.used[FULL]:
        return NO_CAPACITY
    if alma[ALPHA] > 0 and wrong + lost > 0:
        take_step(delta, sentence.w, sums.u, alma)
    end_example(alma)
    stats[TIME] = time
    stats[TOKENS] += n
    stats[LOST] += lost
    stats[UPDATES] += wrong > 0
    stats[WRONG_TOKENS] += wrong
    return wrong


_KINDS = (reference(ParseScratch), reference(Learning))
SIGNATURE = types.int64(*_KINDS, types.int64, types.float64)
CORRECT = kernel(correct, signature=SIGNATURE)
