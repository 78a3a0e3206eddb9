"""One tree of several for the same words (Sagae & Lavie 2006): the tree whose arcs have most votes, and for each of its
arcs the relation that has most votes.

    trees of several parsers ──▶ votes of arcs ──arborescence──▶ heads ──▶ votes of relations

Arcs may cross, and the root has one child where arcs allow it. No arc is there that nobody voted for.
"""

import numpy as np

from structron.kernels.jit import kernel
from structron.search.trees.arborescence import arborescence, make_contraction


@kernel
def elect(starts, heads, weights, c, scores, tree, out):
    """Write the heads that have most votes: heads int64[voters, words], out int64[words]."""
    for s in range(starts.shape[0] - 1):
        first, n = starts[s], starts[s + 1] - starts[s]
        for h in range(n + 1):
            for m in range(n + 1):
                scores[h, m] = -np.inf
        for k in range(heads.shape[0]):
            for m in range(n):
                h = heads[k, first + m]
                scores[h, m + 1] = weights[k] + max(scores[h, m + 1], 0.0)
        arborescence(scores, n, 1, c, tree)
        for m in range(n):
            out[first + m] = tree[m + 1]


def combined(
    starts: np.ndarray, heads: np.ndarray, relations: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(heads, relations) that have most votes, of trees int64[voters, words]; weights: what the vote of each counts."""
    words = int(np.diff(starts).max(initial=0))
    scores, tree, out = (
        np.empty((words + 1, words + 1)),
        np.empty(words + 1, np.int64),
        np.empty(heads.shape[1], np.int64),
    )
    elect(starts, heads, weights.astype(np.float64), make_contraction(words), scores, tree, out)
    agrees = heads == out
    support = np.array([((relations == own) & agrees).T @ weights for own in relations])
    best = np.where(agrees, support, -1.0).argmax(axis=0)
    return out, np.take_along_axis(relations, best[None], axis=0)[0]
