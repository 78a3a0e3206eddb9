"""Learning trees: w += Φ(x, y) - Φ(x, z), part by part, and weighted violations, in compiled code.

The features of a word are those of its arc, its relation, and of its parts with sibling and head's head. They are
defined for any heads, tree or not, so a mixture of two trees has features too (Dror & Reichart 2016, Figure 1); see
update/swvp.py, whose decisions are here the words' heads and relations. What tells a mixture from the gold tree is
around the words that were exchanged, and only that is looked at.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import compiled, inlined
from structron.search.graph.features import (
    PLAIN,
    ZERO,
    bin_of,
    look_at,
    order_of,
    rows_of_four,
    rows_of_three,
    rows_of_two,
    side_of,
)
from structron.search.graph.relations import rows_of_relation
from structron.search.graph.scores import NOTHING, gather_tags, rows_between, sibling_cells
from structron.search.graph.templates import ARC, GRAND, HEAD, RANK, RANK_HEAD, RANK_WORD, SIBLING, TRIPLE, WORD
from structron.search.trees.parts import siblings_of
from structron.update.swvp import define_jj, enforce_condition, set_gamma, weighted_delta

TIME, UPDATES, WRONG_TOKENS, TOKENS, LOST, INVALID, STATS = range(7)
"""Places in `stats`: examples so far, and this pass's counts. LOST: gold heads that are not the fast model's own."""
OWN = -1


class Tree(NamedTuple):
    """Heads and relations of the words 1 … n, tree or not, and the sibling next to each, which follows from them."""

    heads: np.ndarray  # int64[n + 1]
    relation: np.ndarray  # int64[n + 1]
    inner: np.ndarray  # int64[n + 1], see siblings_of


class Sums(NamedTuple):
    """What an update writes: how much is added to each weight (0: nothing), when, and the sums for the mean."""

    u: np.ndarray  # float64[cells]
    amount: float
    time: float


@inlined
def touch(look, sums, count, cell, sign):
    """w += sign · amount in one cell of each of the first rows; returns sign · w before that."""
    total, change = 0.0, sign * sums.amount
    for t in range(count):
        total += look.w[look.rows[t] + cell]
        if change != 0:
            look.w[look.rows[t] + cell] += np.float32(change)
            sums.u[look.rows[t] + cell] += change * (sums.time - 1)
    return sign * total


@compiled
def touch_arc(look, sums, h, m, n, tags, sign):
    """The features of an arc."""
    at = rows_of_two(look, ZERO, HEAD, h, h, NOTHING)
    at = rows_of_two(look, at, WORD, m, m, NOTHING)
    at = rows_of_two(look, at, ARC, h, m, NOTHING)
    kinds = np.zeros(n + 1, np.int64)
    known = gather_tags(look, min(h, m) + 1, max(h, m), kinds, ZERO, np.zeros(tags, np.int64), np.int64(1))
    at = rows_between(look, at, h, m, kinds, known)
    return touch(look, sums, at, bin_of(h, m), sign) + touch(look, sums, at, PLAIN + side_of(h, m), sign)


@compiled
def touch_rank(look, sums, h, m, sign):
    """The features of an arc in the fast model."""
    at = rows_of_two(look, ZERO, RANK_HEAD, h, h, NOTHING)
    at = rows_of_two(look, at, RANK_WORD, m, m, NOTHING)
    at = rows_of_two(look, at, RANK, h, m, NOTHING)
    return touch(look, sums, at, bin_of(h, m), sign) + touch(look, sums, at, PLAIN + side_of(h, m), sign)


@compiled
def touch_sibling(look, sums, h, s, m, none, sign):
    count = rows_of_three(look, ZERO, SIBLING, h, s, m, NOTHING)
    near, plain = sibling_cells(h, s, m, none)
    return touch(look, sums, count, near, sign) + touch(look, sums, count, plain, sign)


@compiled
def touch_grand(look, sums, g, h, s, m, pair, sign):
    """The features of a word with its head's head; pair: those without the sibling too."""
    cell, total = order_of(g, h, m), 0.0
    if pair:
        total += touch(look, sums, rows_of_three(look, ZERO, GRAND, g, h, m, NOTHING), cell, sign)
    return total + touch(look, sums, rows_of_four(look, ZERO, TRIPLE, g, h, s, m), cell, sign)


@compiled
def make_tree(heads, relation, n):
    inner = np.zeros(n + 1, np.int64)
    siblings_of(heads, n, inner, np.zeros(n + 1, np.int64))
    return Tree(heads, relation, inner)


@compiled
def touch_word(look, sums, n, setting, relations, tree, rival, changed, m, sign):
    """The features that word m has in a tree and not in its rival. changed: see `changed_families`."""
    h, s = tree.heads[m], tree.inner[m] if tree.inner[m] > 0 else n + 1
    g = tree.heads[h] if h > 0 else n + 1
    same_head = rival.heads[m] == h
    same_sibling = same_head and rival.inner[m] == tree.inner[m]
    same_grand = same_head and (h == 0 or rival.heads[h] == g)
    total = 0.0
    if not same_head:
        total += touch_arc(look, sums, h, m, n, relations.tags, sign)
    around = not same_grand or changed[m] or changed[h]
    if relations.size > 0 and (around or rival.relation[m] != tree.relation[m]):
        total += touch(look, sums, rows_of_relation(look, tree.heads, n, m), tree.relation[m], sign)
    if setting.order == 2 and not same_sibling:
        total += touch_sibling(look, sums, h, s, m, n + 1, sign)
    if setting.order == 2 and setting.grandparents and not (same_grand and same_sibling):
        total += touch_grand(look, sums, g, h, s, m, not same_grand, sign)
    return total


@compiled
def changed_families(y, z, n):
    """For each head, the root too, whether its children differ in two trees."""
    changed = np.zeros(n + 1, np.bool_)
    for m in range(1, n + 1):
        if y.heads[m] != z.heads[m]:
            changed[y.heads[m]] = changed[z.heads[m]] = True
    return changed


@compiled
def difference(look, sums, n, setting, relations, y, z):
    """w·(Φ(x, y) - Φ(x, z)) of two trees; and w += amount · (Φ(x, y) - Φ(x, z)), touching only what differs.

    With an amount other than 0 what is returned means nothing: weights change while they are added up.
    """
    changed, total = changed_families(y, z, n), 0.0
    for m in range(1, n + 1):
        total += touch_word(look, sums, n, setting, relations, y, z, changed, m, 1.0)
        total += touch_word(look, sums, n, setting, relations, z, y, changed, m, -1.0)
    return total


@compiled
def take_tree(heads, relation, start, n):
    """The tree of the n words from `start` on."""
    own = np.zeros((2, n + 1), np.int64)
    own[:, 0] = -1
    for i in range(n):
        own[0, i + 1], own[1, i + 1] = heads[start + i], relation[start + i]
    return make_tree(own[0], own[1], n)


@compiled
def count_wrong(y, z, n):
    wrong = 0
    for m in range(1, n + 1):
        wrong += y.heads[m] != z.heads[m] or y.relation[m] != z.relation[m]
    return wrong


@compiled
def correct(
    templates, x, start, n, w, u, shift, setting, relations, heads, relation, found, named, ranked, amount, stats
):
    """Learn from the n words from `start` on: the gold tree, and the one that was found, by so much.

    heads, relation, found, named, ranked: of all words; ranked: the heads of the fast model. Returns how many words
    are wrong, and with an amount of 0 by how much the gold tree is ahead.
    """
    look = look_at(templates, x, start, n, w, shift)
    y, z = take_tree(heads, relation, start, n), take_tree(found, named, start, n)
    stats[TIME] += 1
    stats[TOKENS] += n
    rank = Sums(u, 1.0, stats[TIME])
    for m in range(1, n + 1):
        best = ranked[start + m - 1]
        if setting.keep > 0 and best != y.heads[m]:
            stats[LOST] += 1
            touch_rank(look, rank, y.heads[m], m, 1.0)
            touch_rank(look, rank, best, m, -1.0)
    wrong, ahead = count_wrong(y, z, n), 0.0
    stats[UPDATES] += wrong > 0
    stats[WRONG_TOKENS] += wrong
    if wrong > 0:
        ahead = difference(look, Sums(u, amount, stats[TIME]), n, setting, relations, y, z)
    return wrong, ahead


# -- weighted violations: lines 7 to 11 of the paper's Algorithm 2 --------------------------------------------------


@compiled
def decisions(tree, n, size):
    """int64[n]: each word's head and relation as one number."""
    found = np.zeros(n, np.int64)
    for m in range(1, n + 1):
        found[m - 1] = tree.heads[m] * max(size, 1) + tree.relation[m]
    return found


@compiled
def mix_trees(y, z, n, jj, k):
    """m^J: heads and relations of z on J, of y elsewhere."""
    heads, relation = y.heads.copy(), y.relation.copy()
    for p in range(jj.first[k], jj.last[k]):
        m = jj.places[p] + 1
        heads[m], relation[m] = z.heads[m], z.relation[m]
    return make_tree(heads, relation, n)


@compiled
def correct_mixed(
    templates,
    x,
    start,
    n,
    w,
    u,
    shift,
    setting,
    relations,
    heads,
    relation,
    found,
    named,
    jj,
    count,
    rule,
    ahead,
    stats,
):
    """The update of SWVP where `correct` has found a mistake, with an amount of 0.

    count: sub-structures in jj, or OWN: those of the rule's family. ahead: w·ΔΦ of the whole tree.
    """
    look, time = look_at(templates, x, start, n, w, shift), stats[TIME]
    y, z = take_tree(heads, relation, start, n), take_tree(found, named, start, n)
    if count == OWN:
        count = define_jj(rule.family, decisions(y, n, relations.size), decisions(z, n, relations.size), n, jj)
    for k in range(count):
        jj.delta[k] = difference(look, Sums(u, 0.0, time), n, setting, relations, y, mix_trees(y, z, n, jj, k))
    whole = set_gamma(jj.delta, count, rule, jj.gamma)
    if rule.enforce and whole == 0:
        whole = enforce_condition(jj.delta, count, jj.gamma, ahead)
    elif whole == 0:
        stats[INVALID] += weighted_delta(jj.delta, count, jj.gamma) > 0
    for k in range(count):
        if jj.gamma[k] > 0:
            difference(look, Sums(u, jj.gamma[k], time), n, setting, relations, y, mix_trees(y, z, n, jj, k))
    if whole > 0:
        difference(look, Sums(u, whole, time), n, setting, relations, y, z)
