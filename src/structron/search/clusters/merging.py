"""A binary tree of classes: the two whose union loses least of the mutual information become one, again and again
(Brown et al. 1992). Classes that are alike are then beside each other in the tree, and share the first bits of a path.
"""

import numpy as np

from structron.kernels.jit import helper, kernel
from structron.search.clusters.exchange import Classes, phi_of


@helper
def lost_beside(classes, i, j, h):
    """What the union of classes i and j loses of the pairs with class h."""
    total = 0.0
    a, b = classes.pairs[i, h], classes.pairs[j, h]
    if a > 0 and b > 0:
        total += phi_of(classes, a) + phi_of(classes, b) - phi_of(classes, a + b)
    a, b = classes.turned[i, h], classes.turned[j, h]
    if a > 0 and b > 0:
        total += phi_of(classes, a) + phi_of(classes, b) - phi_of(classes, a + b)
    return total


@helper
def lost_within(classes, i, j):
    """What it loses, but for the pairs with other classes."""
    a, b, c, d = classes.pairs[i, i], classes.pairs[i, j], classes.pairs[j, i], classes.pairs[j, j]
    total = phi_of(classes, a) + phi_of(classes, b) + phi_of(classes, c) + phi_of(classes, d)
    total -= phi_of(classes, a + b + c + d)
    a, b = classes.first[i], classes.first[j]
    total += phi_of(classes, a + b) - phi_of(classes, a) - phi_of(classes, b)
    a, b = classes.second[i], classes.second[j]
    return total + phi_of(classes, a + b) - phi_of(classes, a) - phi_of(classes, b)


@helper
def loss_of(classes, i, j):
    """By how much F falls if classes i and j become one."""
    total = lost_within(classes, i, j)
    for h in range(classes.first.shape[0]):
        if h != i and h != j:
            total += lost_beside(classes, i, j, h)
    return total


@kernel
def losses(classes, lo, hi, many, out):
    """The losses of all pairs of the first so many classes, of which the earlier is one of lo … hi - 1."""
    for i in range(lo, hi):
        for j in range(i + 1, many):
            out[i, j] = loss_of(classes, i, j)


@helper
def unite(classes, a, b):
    """Let class b be part of class a."""
    for h in range(classes.first.shape[0]):
        classes.pairs[a, h] += classes.pairs[b, h]
        classes.pairs[b, h] = 0
    for h in range(classes.first.shape[0]):
        classes.pairs[h, a] += classes.pairs[h, b]
        classes.pairs[h, b] = 0
    for h in range(classes.first.shape[0]):
        classes.turned[a, h], classes.turned[b, h] = classes.pairs[h, a], 0
        classes.turned[h, a], classes.turned[h, b] = classes.pairs[a, h], 0
    classes.first[a] += classes.first[b]
    classes.second[a] += classes.second[b]
    classes.first[b], classes.second[b] = 0, 0


@kernel
def merge_all(classes, many, loss, alive, merged):
    """Unite two classes at a time until one is left: merged[k] = (a, b), in their order; loss: of all pairs."""
    for k in range(many - 1):
        a, b, least = -1, -1, np.inf
        for i in range(many):
            if alive[i]:
                for j in range(i + 1, many):
                    if alive[j] and loss[i, j] < least:
                        a, b, least = i, j, loss[i, j]
        merged[k, 0], merged[k, 1] = a, b
        for i in range(many):
            if alive[i] and i != a and i != b:
                for j in range(i + 1, many):
                    if alive[j] and j != a and j != b:
                        loss[i, j] -= lost_beside(classes, i, j, a) + lost_beside(classes, i, j, b)
        unite(classes, a, b)
        alive[b] = False
        for i in range(many):
            if alive[i] and i != a:
                for j in range(i + 1, many):
                    if alive[j] and j != a:
                        loss[i, j] += lost_beside(classes, i, j, a)
                loss[min(i, a), max(i, a)] = loss_of(classes, i, a)


def paths_of(merged: np.ndarray, many: int) -> list[str]:
    """The path from the root to each class: 0 to the earlier of two that were united, 1 to the other."""
    below: list[list[int]] = [[k] for k in range(many)]
    paths = [""] * many
    for a, b in merged.tolist():
        for bit, side in (("0", a), ("1", b)):
            for k in below[side]:
                paths[k] = bit + paths[k]
        below[a] = below[a] + below[b]
    return [path or "0" for path in paths]


def tree_of(classes: Classes, many: int, loss: np.ndarray) -> list[str]:
    """The paths of the first so many classes. loss: of all pairs; both arguments are used up."""
    merged = np.zeros((max(many - 1, 0), 2), np.int64)
    merge_all(classes, many, loss, np.ones(many, np.bool_), merged)
    return paths_of(merged, many)
