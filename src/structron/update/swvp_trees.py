"""Weighted violations (Dror & Reichart 2016, Algorithm 2; see swvp.py) for trees: their Figure 1.

A decision is a word's head and relation. Features are defined for any heads, so a mixture of two trees has them too,
tree or not. What tells it from the gold tree is around the words that were exchanged, and only that is looked at.
"""

from structron.kernels.jit import helper, ir_inline, kernel
from structron.search.graph.features import encode
from structron.update.swvp import define_jj, is_invalid, weigh
from structron.update.trees import AMOUNT, INVALID, TIME, WHEN, difference, find_siblings, take_tree

OWN = -1


@helper
def decisions(tree, n, size, found):
    """Write each word's head and relation as one number: int64[n]."""
    for m in range(1, n + 1):
        found[m - 1] = tree.heads[m] * max(size, 1) + tree.relation[m]


@helper
def mix_trees(y, z, n, jj, k, mixed, last):
    """m^J: heads and relations of z on J, of y elsewhere. last: scratch memory for n + 1."""
    for m in range(n + 1):
        mixed.heads[m], mixed.relation[m] = y.heads[m], y.relation[m]
    for p in range(jj.first[k], jj.last[k]):
        m = jj.places[p] + 1
        mixed.heads[m], mixed.relation[m] = z.heads[m], z.relation[m]
    find_siblings(mixed, n, last)


@ir_inline
def change_for(scratch, sums, n, jj, k, amount):
    """What sub-structure k is worth, w·(Φ(x, y) - Φ(x, m^J)), and the update by so much."""
    sums.by[AMOUNT] = amount
    mix_trees(scratch.gold, scratch.found, n, jj, k, scratch.mixed, scratch.order)
    setting, relations, changed = scratch.setting, scratch.relations, scratch.changed
    return difference(scratch.sentence, sums, n, setting, relations, scratch.gold, scratch.mixed, changed)


@kernel
def correct_mixed(scratch, learning, x, start, n, jj, count, rule):
    """The update where `correct` has found a mistake, with an amount of 0.

    learning.sums.delta: IN_PLACE. count: sub-structures in jj, or OWN: those of the rule's family.
    """
    y, z, size, sums, stats = scratch.gold, scratch.found, scratch.relations.size, learning.sums, learning.stats
    encode(scratch.sentence, x, start, n)
    take_tree(learning.heads, learning.relation, start, n, y)
    take_tree(learning.found, learning.named, start, n, z)
    find_siblings(y, n, scratch.order)
    sums.by[WHEN] = stats[TIME]
    if count == OWN:
        decisions(y, n, size, jj.m)
        decisions(z, n, size, jj.around)
        count = define_jj(rule.family, jj.m, jj.around, n, jj)
    for k in range(count + 1):
        jj.delta[k] = change_for(scratch, sums, n, jj, k, 0.0)
    stats[INVALID] += is_invalid(jj, count, weigh(jj, count, rule))
    for k in range(count + 1):
        if jj.gamma[k] > 0:
            change_for(scratch, sums, n, jj, k, jj.gamma[k])
