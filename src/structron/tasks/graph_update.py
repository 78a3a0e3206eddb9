"""Parsing, and learning to with perceptron updates: w += Φ(x, y) - Φ(x, z), part by part, in compiled code.

The features of a word are those of its arc, its relation, and of its parts with sibling and head's head; they are
defined for any heads, tree or not, so that a mixture of two trees has features too.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels import compiled
from structron.search.parts import siblings_of
from structron.tasks.graph_features import (
    PLAIN,
    add_cells,
    bin_of,
    look_at,
    order_of,
    rows_of_four,
    rows_of_three,
    rows_of_two,
    side_of,
)
from structron.tasks.graph_relations import rows_of_relation
from structron.tasks.graph_scores import NOTHING, gather_tags, rows_between, sibling_cells
from structron.tasks.graph_search import parse
from structron.tasks.graph_templates import (
    ARC,
    GRAND,
    HEAD,
    RANK,
    RANK_HEAD,
    RANK_WORD,
    SIBLING,
    TRIPLE,
    WORD,
)

TIME, UPDATES, WRONG_TOKENS, TOKENS, LOST, STATS = range(6)
"""Places in `stats`: examples so far, and this pass's counts. LOST: gold heads that pruning ranks too low."""


class Tree(NamedTuple):
    """Heads and relations of the words 1 … n, tree or not, and the sibling next to each, which follows from them."""

    heads: np.ndarray  # int64[n + 1]
    relation: np.ndarray  # int64[n + 1]
    inner: np.ndarray  # int64[n + 1], see siblings_of


@compiled
def add_both(look, u, count, h, m, amount, time):
    add_cells(look, u, count, bin_of(h, m), amount, time)
    add_cells(look, u, count, PLAIN + side_of(h, m), amount, time)


@compiled
def add_arc(look, u, h, m, n, tags, amount, time):
    """The features of an arc."""
    at = rows_of_two(look, 0, HEAD, h, h, NOTHING)
    at = rows_of_two(look, at, WORD, m, m, NOTHING)
    at = rows_of_two(look, at, ARC, h, m, NOTHING)
    kinds = np.zeros(n + 1, np.int64)
    known = gather_tags(look, min(h, m) + 1, max(h, m), kinds, 0, np.zeros(tags, np.int64), 1)
    add_both(look, u, rows_between(look, at, h, m, kinds, known), h, m, amount, time)


@compiled
def add_rank(look, u, h, m, amount, time):
    """The features of an arc in the fast model."""
    at = rows_of_two(look, 0, RANK_HEAD, h, h, NOTHING)
    at = rows_of_two(look, at, RANK_WORD, m, m, NOTHING)
    add_both(look, u, rows_of_two(look, at, RANK, h, m, NOTHING), h, m, amount, time)


@compiled
def add_sibling(look, u, h, s, m, none, amount, time):
    count = rows_of_three(look, 0, SIBLING, h, s, m, NOTHING)
    near, plain = sibling_cells(h, s, m, none)
    add_cells(look, u, count, near, amount, time)
    add_cells(look, u, count, plain, amount, time)


@compiled
def add_grand(look, u, g, h, m, amount, time):
    add_cells(look, u, rows_of_three(look, 0, GRAND, g, h, m, NOTHING), order_of(g, h, m), amount, time)


@compiled
def add_triple(look, u, g, h, s, m, amount, time):
    add_cells(look, u, rows_of_four(look, 0, TRIPLE, g, h, s, m), order_of(g, h, m), amount, time)


@compiled
def make_tree(heads, relation, n):
    inner = np.zeros(n + 1, np.int64)
    siblings_of(heads, n, inner, np.zeros(n + 1, np.int64))
    return Tree(heads, relation, inner)


@compiled
def add_word(look, u, n, setting, relations, tree, rival, moved, m, amount, time):
    """amount · the features that word m has in a tree and not in its rival; moved: whether their heads differ."""
    h, s = tree.heads[m], tree.inner[m] if tree.inner[m] > 0 else n + 1
    g = tree.heads[h] if h > 0 else n + 1
    same_head = rival.heads[m] == h
    same_sibling = same_head and rival.inner[m] == tree.inner[m]
    same_grand = same_head and (h == 0 or rival.heads[h] == g)
    if not same_head:
        add_arc(look, u, h, m, n, relations.tags, amount, time)
    if relations.size > 0 and (moved or rival.relation[m] != tree.relation[m]):
        add_cells(look, u, rows_of_relation(look, tree.heads, n, m), tree.relation[m], amount, time)
    if setting.order == 2 and not same_sibling:
        add_sibling(look, u, h, s, m, n + 1, amount, time)
    if setting.order == 2 and setting.grandparents:
        if not same_grand:
            add_grand(look, u, g, h, m, amount, time)
        if not (same_grand and same_sibling):
            add_triple(look, u, g, h, s, m, amount, time)


@compiled
def add_difference(look, u, n, setting, relations, y, z, amount, time):
    """w += amount · (Φ(x, y) - Φ(x, z)), touching only what differs. y, z: trees."""
    moved = False
    for m in range(1, n + 1):
        moved |= y.heads[m] != z.heads[m]
    for m in range(1, n + 1):
        add_word(look, u, n, setting, relations, y, z, moved, m, amount, time)
        add_word(look, u, n, setting, relations, z, y, moved, m, -amount, time)


@compiled
def correct(look, u, n, setting, relations, y, z, ranked, stats):
    """Learn from one example: y the gold tree, z the one that was found, ranked the heads of the fast model."""
    stats[TIME] += 1
    stats[TOKENS] += n
    wrong = 0
    for m in range(1, n + 1):
        wrong += y.heads[m] != z.heads[m] or y.relation[m] != z.relation[m]
        if setting.keep > 0 and ranked[m] != y.heads[m]:
            stats[LOST] += 1
            add_rank(look, u, y.heads[m], m, 1.0, stats[TIME])
            add_rank(look, u, ranked[m], m, -1.0, stats[TIME])
    if wrong > 0:
        stats[UPDATES] += 1
        stats[WRONG_TOKENS] += wrong
        add_difference(look, u, n, setting, relations, y, z, 1.0, stats[TIME])


@compiled
def run(templates, x, starts, heads, relation, sequence, lo, hi, w, u, shift, setting, relations, learning, stats):
    """Parse the sentences sequence[lo:hi] one after the other, and learn from each, or write what was found.

    heads, relation: of all words; the gold ones if learning, otherwise they are written. One kernel does both, since
    what takes the compiler its time is the search.
    """
    none = np.empty(0, np.int64)
    for k in range(lo, hi):
        start, n = starts[sequence[k]], starts[sequence[k] + 1] - starts[sequence[k]]
        look = look_at(templates, x, start, n, w, shift)
        y_heads, y = (np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)) if learning else (none, none)
        for i in range(n if learning else 0):
            y_heads[i + 1], y[i + 1] = heads[start + i], relation[start + i]
        z_heads, z, ranked = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
        parse(look, n, setting, relations, y_heads, y, z_heads, z, ranked)
        if learning:
            right, found = make_tree(y_heads, y, n), make_tree(z_heads, z, n)
            correct(look, u, n, setting, relations, right, found, ranked, stats)
        else:
            for i in range(n):
                heads[start + i], relation[start + i] = z_heads[i + 1], z[i + 1]
