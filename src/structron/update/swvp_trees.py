"""Weighted violations (Dror & Reichart 2016, Algorithm 2; see swvp.py) for trees: their Figure 1.

A decision is a word's head and relation. Features are defined for any heads, so a mixture of two trees has them too,
tree or not. What tells it from the gold tree is around the words that were exchanged, and only that is looked at.
"""

import numpy as np

from structron.kernels.jit import compiled
from structron.search.graph.features import look_at
from structron.update.swvp import define_jj, is_invalid, weigh
from structron.update.trees import INVALID, TIME, Sums, difference, make_tree, take_tree

OWN = -1


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
    delta,
    jj,
    count,
    rule,
    stats,
):
    """The update where `correct` has found a mistake, with an amount of 0.

    delta: IN_PLACE. count: sub-structures in jj, or OWN: those of the rule's family.
    """
    look, time = look_at(templates, x, start, n, w, shift), stats[TIME]
    y, z = take_tree(heads, relation, start, n), take_tree(found, named, start, n)
    if count == OWN:
        count = define_jj(rule.family, decisions(y, n, relations.size), decisions(z, n, relations.size), n, jj)
    for k in range(count + 1):
        m = mix_trees(y, z, n, jj, k)
        jj.delta[k] = difference(look, Sums(u, 0.0, time, delta), n, setting, relations, y, m)
    stats[INVALID] += is_invalid(jj, count, weigh(jj, count, rule))
    for k in range(count + 1):
        if jj.gamma[k] > 0:
            m = mix_trees(y, z, n, jj, k)
            difference(look, Sums(u, jj.gamma[k], time, delta), n, setting, relations, y, m)
