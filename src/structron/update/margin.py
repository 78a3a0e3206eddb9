"""The perceptron with a margin: Kazama & Torisawa (2007), Algorithm 3.1.

    until no more updates:
        for i = 1 … L:
            y' = argmax_y w·Φ(x_i, y),   y'' = 2nd-best_y w·Φ(x_i, y)
            if y' ≠ y_i:                                    w = w + Φ(x_i, y_i) - Φ(x_i, y')
            else if w·Φ(x_i, y_i) - w·Φ(x_i, y'') ≤ C:      w = w + Φ(x_i, y_i) - Φ(x_i, y'')

On separable data there are at most (2C + R²)/δ² updates, and the margin then is at least δ·C/(2C + R²).

The sentences of a document are independent chains: the second best labelling of the document changes one of them, the
one whose second best is nearest to its best.
"""

import numpy as np

from structron.kernels.jit import WithFunctionPointers, helper
from structron.search.chain.kbest import SECOND
from structron.search.chain.viterbi import SEARCH
from structron.update.perceptron import (
    CORRECT,
    NEAR,
    TIME,
    TOKENS,
    UPDATES,
    WRONG_TOKENS,
    count_wrong,
    has_capacity,
)


@helper
def learn_example(
    search, second, correct, chains, gold, weights, order, first, last, labels, work, near, z, stats, margin
):
    """Algorithm 3.1 for the example of sentences first … last-1. z: scratch memory for its labels, near: for those of a
    sentence."""
    origin, end = chains.starts[first], chains.starts[last]
    wrong, least, nearest, size = 0, np.inf, 0, 0
    for s in range(first, last):
        start, n = chains.starts[s], chains.starts[s + 1] - chains.starts[s]
        search(chains, weights, s, labels, work, margin)
        wrong += count_wrong(gold, start, n, work.z)
        for i in range(n):
            z[start - origin + i] = work.z[i]
        if wrong == 0 and n > 0:
            loss = second(chains, weights, start, n, near, work.z)
            if loss < least:
                least = loss
                for i in range(n):
                    near.z[i] = work.z[i]
                nearest, size = start - origin, n
    stats[TIME] += 1
    stats[TOKENS] += end - origin
    if wrong == 0 and least <= margin:
        for i in range(size):
            z[nearest + i] = near.z[i]
    if wrong > 0 or least <= margin:
        correct(chains, gold, weights, order, first, last, z, labels, work, stats[TIME])
        stats[UPDATES] += 1
        stats[WRONG_TOKENS] += wrong
        stats[NEAR] += wrong == 0


def learn_with_margin(
    search, second, correct, chains, units, gold, weights, order, sequence, lo, hi, labels, work, z, stats, near, margin
):
    """One batch of a pass, as `perceptron.learn`; near: scratch memory for the second best; margin: C."""
    for k in range(lo, hi):
        first, last = units[sequence[k]], units[sequence[k] + 1]
        if not has_capacity(chains, weights, chains.starts[first], chains.starts[last]):
            return k
        learn_example(
            search, second, correct, chains, gold, weights, order, first, last, labels, work, near, z, stats, margin
        )
    return hi


LEARN_WITH_MARGIN = WithFunctionPointers(learn_with_margin, SEARCH, SECOND, CORRECT)
