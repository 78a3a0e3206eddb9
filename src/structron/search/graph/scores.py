"""Scores of the parts of one sentence (see search/trees/parts.py) under a vector of hashed weights, in compiled code.

What looks at one word only is added up once per word, for all distances; the tags between two words are gathered while
a head's arcs grow outwards. Relations: see relations.py.
"""

import numpy as np

from structron.kernels.jit import helper, ir_inline, prefetch_at
from structron.kernels.table import SEED, mix
from structron.search.graph import templates as groups
from structron.search.graph.features import PLAIN, bin_of, order_of, row_of, side_of
from structron.search.trees.eisner import LONG
from structron.search.trees.parts import rank, side
from structron.weights.hashed import CELLS

NOTHING = np.uint64(0)


@helper(inline=True)
def tag_code(tag):
    return mix(SEED, np.uint64(tag))


@ir_inline
def group_of(sentence, group):
    """How many templates a group has, and its first column."""
    return sentence.templates.size[group], sentence.templates.start[group]


@helper
def add_words(sentence, n, head_group, word_group, sums):
    """Write what looks at the head alone, and at the word alone, for all distances: float32[2, n + 1, CELLS]."""
    for role in range(2):
        count, first = group_of(sentence, head_group if role == 0 else word_group)
        for i in range(n + 1):
            for c in range(CELLS):
                sums[role, i, c] = 0.0
            for t in range(count):
                row = row_of(sentence.codes[i, first + t] + sentence.codes[i, first + count + t], sentence.shift)
                for c in range(CELLS):
                    sums[role, i, c] += sentence.w[row + np.uint64(c)]


@ir_inline
def of_words(sums, h, m):
    """What the sums of words say of an arc."""
    near, plain = bin_of(h, m), PLAIN + side_of(h, m)
    return sums[0, h, near] + sums[0, h, plain] + sums[1, m, near] + sums[1, m, plain]


@ir_inline
def prefetch_pair(sentence, at, count, first, h, m):
    """Put the rows of head and word behind the first `at`, and ask for them; how many there are then. To wait for one
    after the other would take twice as long."""
    for t in range(count):
        sentence.rows[at + t] = row_of(
            sentence.codes[h, first + t] + sentence.codes[m, first + count + t], sentence.shift
        )
        prefetch_at(sentence.w, sentence.rows[at + t])
    return at + count


@ir_inline
def of_rows(sentence, at, count, near, plain):
    """What rows from place `at` on say: two cells of each."""
    total = np.float32(0.0)
    for t in range(count):
        total += sentence.w[sentence.rows[at + t] + near] + sentence.w[sentence.rows[at + t] + plain]
    return total


@ir_inline
def is_too_far(n, h, m):
    """Whether an arc is left out in a long sentence; or h is m."""
    return h == m or (n > LONG and h > 0 and abs(h - m) > LONG)


@helper
def add_ranks(sentence, n, sums, scores):
    """`rank_arcs`, given what it knows of words."""
    count, first = group_of(sentence, groups.RANK)
    for h in range(n + 1):
        at = 0
        for m in range(1, n + 1):
            if not is_too_far(n, h, m):
                at = prefetch_pair(sentence, at, count, first, h, m)
        scores[h, 0] = -np.inf
        at = 0
        for m in range(1, n + 1):
            if is_too_far(n, h, m):
                scores[h, m] = -np.inf
                continue
            near, plain = np.uint64(bin_of(h, m)), np.uint64(PLAIN + side_of(h, m))
            scores[h, m] = of_words(sums, h, m) + of_rows(sentence, at, count, near, plain)
            at += count


@ir_inline
def rank_arcs(sentence, n, sums, scores):
    """Write the scores of all arcs under the fast model that prunes: float32[n + 1, n + 1]. sums: see `add_words`.

    In long sentences those between words more than LONG apart are left out.
    """
    add_words(sentence, n, groups.RANK_HEAD, groups.RANK_WORD, sums)
    add_ranks(sentence, n, sums, scores)


@ir_inline
def row_between(sentence, h, m, tag):
    """The row of a tag between head and word."""
    place = sentence.templates.start[groups.BETWEEN]
    return row_of(sentence.codes[h, place] + sentence.codes[m, place + 1] + tag_code(tag), sentence.shift)


@ir_inline
def new_stamp(sentence):
    """A stamp that no tag has: `gather_tags` begins anew."""
    sentence.marks[sentence.marks.shape[0] - 1] += 1
    return sentence.marks[sentence.marks.shape[0] - 1]


@ir_inline
def gather_tags(sentence, begin, end, known, stamp):
    """Add the tags of the words begin … end - 1 to look.kinds, each once; how many there are then.

    look.marks: the last stamp of each tag, and behind them the last stamp of all.
    """
    for i in range(begin, end):
        tag = sentence.tags[i]
        if sentence.marks[tag] != stamp:
            sentence.marks[tag] = stamp
            sentence.kinds[known] = tag
            known += 1
    return known


@helper
def add_arcs(sentence, arcs, n, sums, scores):
    """`score_arcs`, given what it knows of words."""
    count, first = group_of(sentence, groups.ARC)
    for h in range(n + 1):
        at = 0
        for b in range(arcs.first[h], arcs.first[h + 1]):
            at = prefetch_pair(sentence, at, count, first, h, arcs.word[b])
        for to_right in range(2):
            b, step, many = side(arcs, h, to_right == 1)
            known, reached, stamp = 0, h + step, new_stamp(sentence)
            for _ in range(many):
                m = arcs.word[b]
                low, high = (reached, m) if to_right else (m + 1, reached + 1)
                known = gather_tags(sentence, low, high, known, stamp)
                reached = m
                near, plain = np.uint64(bin_of(h, m)), np.uint64(PLAIN + to_right)
                total = of_rows(sentence, (b - arcs.first[h]) * count, count, near, plain)
                for k in range(known):
                    row = row_between(sentence, h, m, sentence.kinds[k])
                    total += sentence.w[row + near] + sentence.w[row + plain]
                scores[b] = of_words(sums, h, m) + total
                b += step


@ir_inline
def score_arcs(sentence, arcs, n, sums, scores):
    """Write the score of each arc without its relation: float32[arcs]. sums: see `add_words`."""
    add_words(sentence, n, groups.HEAD, groups.WORD, sums)
    add_arcs(sentence, arcs, n, sums, scores)


# -- second order --------------------------------------------------------------------------------------------------


@helper(inline=True)
def sibling_cells(h, s, m, none):
    """The cells of a sibling part: how far the siblings are from each other, and the side."""
    return bin_of(h if s == none else s, m), PLAIN + side_of(h, m)


@ir_inline
def prefetch_more(sentence, at, count, i, first):
    """As `prefetch_pair`, for word i, whose columns begin at `first`, and others, whose sums are rows[: count]."""
    for t in range(count):
        sentence.rows[at + t] = row_of(sentence.rows[t] + sentence.codes[i, first + t], sentence.shift)
        prefetch_at(sentence.w, sentence.rows[at + t])
    return at + count


@helper
def score_siblings(sentence, arcs, n, scores):
    """Write the scores of all sibling parts: float32[arcs.need[1]]. What head and word add to the codes is the same
    for all siblings."""
    codes, both = sentence.codes, sentence.rows
    count, first = group_of(sentence, groups.SIBLING)
    for b in range(arcs.need[0]):
        h, m = arcs.head[b], arcs.word[b]
        start, step, _ = side(arcs, h, m > h)
        for t in range(count):
            both[t] = codes[h, first + t] + codes[m, first + 2 * count + t]
        many, at = 1 + rank(arcs, b), count
        for k in range(many):
            s = arcs.word[start + step * (k - 1)] if k > 0 else n + 1
            at = prefetch_more(sentence, at, count, s, first + count)
        for k in range(many):
            s = arcs.word[start + step * (k - 1)] if k > 0 else n + 1
            near, plain = sibling_cells(h, s, m, n + 1)
            scores[arcs.sibling[b] + k] = of_rows(sentence, count + k * count, count, np.uint64(near), np.uint64(plain))


@helper
def score_grand(sentence, arcs, n, scores):
    """Write the scores of all parts with a head's head: float32[arcs.need[2]]."""
    codes, both = sentence.codes, sentence.rows
    count, first = group_of(sentence, groups.GRAND)
    for a in range(arcs.need[0] + 1):
        h = arcs.word[a]
        g = arcs.head[a] if h > 0 else n + 1
        for t in range(count):
            both[t] = codes[g, first + t] + codes[h, first + count + t]
        at, place = count, arcs.grand[a] - arcs.first[h]
        for b in range(arcs.first[h], arcs.first[h + 1]):
            at = prefetch_more(sentence, at, count, arcs.word[b], first + 2 * count)
        at = count
        for b in range(arcs.first[h], arcs.first[h + 1]):
            cell, total = np.uint64(order_of(g, h, arcs.word[b])), np.float32(0.0)
            for t in range(count):
                total += sentence.w[sentence.rows[at + t] + cell]
            scores[place + b] = total
            at += count


@helper
def score_triples(sentence, arcs, n, scores):
    """Write the scores of all parts with a head's head and a sibling: float32[arcs.need[3]]."""
    count, first = group_of(sentence, groups.TRIPLE)
    codes = sentence.codes
    for a in range(arcs.need[0] + 1):
        h, place = arcs.word[a], arcs.triple[a]
        g = arcs.head[a] if h > 0 else n + 1
        for b in range(arcs.first[h], arcs.first[h + 1]):
            m = arcs.word[b]
            start, step, _ = side(arcs, h, m > h)
            many, cell = 1 + rank(arcs, b), np.uint64(order_of(g, h, m))
            for k in range(many):
                scores[place + k] = 0.0
            for t in range(count):
                three = codes[g, first + t] + codes[h, first + count + t] + codes[m, first + 3 * count + t]
                for k in range(many):
                    s = arcs.word[start + step * (k - 1)] if k > 0 else n + 1
                    scores[place + k] += sentence.w[
                        row_of(three + codes[s, first + 2 * count + t], sentence.shift) + cell
                    ]
            place += many
