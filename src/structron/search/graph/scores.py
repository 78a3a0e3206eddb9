"""Scores of the parts of one sentence (see search/trees/parts.py) under a vector of hashed weights, in compiled code.

What looks at one word only is added up once per word, for all distances; the tags between two words are gathered while
a head's arcs grow outwards. Relations: see relations.py.
"""

import numpy as np

from structron.kernels.jit import compiled, inlined
from structron.kernels.table import SEED, mix
from structron.search.graph import templates as groups
from structron.search.graph.features import (
    PLAIN,
    ZERO,
    bin_of,
    order_of,
    row_of,
    rows_of_four,
    rows_of_three,
    rows_of_two,
    side_of,
    sum_both,
    sum_cells,
)
from structron.search.trees.eisner import LONG
from structron.search.trees.parts import Parts, rank, side
from structron.weights.hashed import CELLS

NOTHING = np.uint64(0)


@inlined
def tag_code(tag):
    return mix(SEED, np.uint64(tag))


@compiled
def sums_of_words(look, n, head_group, word_group):
    """float32[2, n + 1, CELLS]: what looks at the head alone, and at the word alone, for all distances."""
    sums = np.zeros((2, n + 1, CELLS), np.float32)
    for role in range(2):
        for i in range(n + 1):
            for t in range(rows_of_two(look, ZERO, head_group if role == 0 else word_group, i, i, NOTHING)):
                for c in range(CELLS):
                    sums[role, i, c] += look.w[look.rows[t] + c]
    return sums


@inlined
def of_words(sums, h, m):
    """What the sums of words say of an arc."""
    near, plain = bin_of(h, m), PLAIN + side_of(h, m)
    return sums[0, h, near] + sums[0, h, plain] + sums[1, m, near] + sums[1, m, plain]


@compiled
def rank_arcs(look, n, scores):
    """Write the scores of all arcs under the fast model that prunes: float32[n + 1, n + 1].

    In long sentences those between words more than LONG apart are left out.
    """
    sums = sums_of_words(look, n, groups.RANK_HEAD, groups.RANK_WORD)
    for h in range(n + 1):
        scores[h, 0] = -np.inf
        for m in range(1, n + 1):
            if h == m or (n > LONG and h > 0 and abs(h - m) > LONG):
                scores[h, m] = -np.inf
                continue
            count = rows_of_two(look, ZERO, groups.RANK, h, m, NOTHING)
            both = sum_both(look, count, bin_of(h, m), PLAIN + side_of(h, m))
            scores[h, m] = of_words(sums, h, m) + both


@compiled
def rows_between(look, at, h, m, kinds, known):
    """The rows of the tags between, of which there are `known`, all different: kinds[: known]."""
    place = look.templates.start[groups.BETWEEN]
    for k in range(known):
        look.rows[at + k] = row_of(look.codes[h, place] + look.codes[m, place + 1] + tag_code(kinds[k]), look.shift)
    return at + known


@compiled
def gather_tags(look, begin, end, kinds, known, marks, stamp):
    """Add the tags of the words begin … end - 1 to kinds, each once; how many there are then.

    marks: int64[tags], the last stamp of each tag.
    """
    for i in range(begin, end):
        tag = look.tags[i]
        if marks[tag] != stamp:
            marks[tag] = stamp
            kinds[known] = tag
            known += 1
    return known


@compiled
def score_arcs(look, arcs, n, tags, scores):
    """Write the score of each arc without its relation: float32[arcs]."""
    sums = sums_of_words(look, n, groups.HEAD, groups.WORD)
    kinds, marks = np.zeros(n + 1, np.int64), np.zeros(tags, np.int64)
    for h in range(n + 1):
        for to_right in range(2):
            b, step, count = side(arcs, h, to_right == 1)
            known, reached = 0, h + step
            for _ in range(count):
                m = arcs.word[b]
                low, high = (reached, m) if to_right else (m + 1, reached + 1)
                known = gather_tags(look, low, high, kinds, known, marks, 2 * h + to_right + 1)
                reached = m
                near, plain = bin_of(h, m), PLAIN + to_right
                at = rows_between(look, rows_of_two(look, ZERO, groups.ARC, h, m, NOTHING), h, m, kinds, known)
                scores[b] = of_words(sums, h, m) + sum_both(look, at, near, plain)
                b += step


# -- second order --------------------------------------------------------------------------------------------------


@inlined
def sibling_cells(h, s, m, none):
    """The cells of a sibling part: how far the siblings are from each other, and the side."""
    return bin_of(h if s == none else s, m), PLAIN + side_of(h, m)


@compiled
def score_siblings(look, arcs, n, scores):
    """Write the scores of all sibling parts: float32[arcs.sibling[-1]]."""
    for b in range(arcs.head.shape[0] - 1):
        h, m = arcs.head[b], arcs.word[b]
        start, step, _ = side(arcs, h, m > h)
        for k in range(1 + rank(arcs, b)):
            s = arcs.word[start + step * (k - 1)] if k > 0 else n + 1
            near, plain = sibling_cells(h, s, m, n + 1)
            scores[arcs.sibling[b] + k] = sum_both(
                look, rows_of_three(look, ZERO, groups.SIBLING, h, s, m, NOTHING), near, plain
            )


@compiled
def score_grand(look, arcs, n, grand, triple):
    """Write the scores of all parts with a head's head: float32[arcs.grand[-1]], and [arcs.triple[-1]] unless empty."""
    for a in range(arcs.head.shape[0]):
        h = arcs.word[a]
        g = arcs.head[a] if h > 0 else n + 1
        third = arcs.triple[a]
        for b in range(arcs.first[h], arcs.first[h + 1]):
            m = arcs.word[b]
            cell = order_of(g, h, m)
            grand[arcs.grand[a] + b - arcs.first[h]] = sum_cells(
                look, rows_of_three(look, ZERO, groups.GRAND, g, h, m, NOTHING), cell
            )
            if triple.shape[0] > 0:
                start, step, _ = side(arcs, h, m > h)
                for k in range(1 + rank(arcs, b)):
                    s = arcs.word[start + step * (k - 1)] if k > 0 else n + 1
                    triple[third] = sum_cells(look, rows_of_four(look, ZERO, groups.TRIPLE, g, h, s, m), cell)
                    third += 1


@compiled
def score_parts(look, arcs, n, arc_scores, setting):
    """The scores of all parts, given those of arcs: at order 1 there are no others."""
    wanted = setting.order == 2
    above = wanted and setting.grandparents
    sibling = np.zeros(arcs.sibling[-1] if wanted else 0, np.float32)
    grand = np.zeros(arcs.grand[-1] if above else 0, np.float32)
    triple = np.zeros(arcs.triple[-1] if above and look.templates.size[groups.TRIPLE] > 0 else 0, np.float32)
    if wanted:
        score_siblings(look, arcs, n, sibling)
    if above:
        score_grand(look, arcs, n, grand, triple)
    return Parts(arc_scores, sibling, grand, triple)
