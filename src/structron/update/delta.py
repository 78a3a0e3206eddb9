"""The difference of feature vectors that an update adds to the weights, gathered before it is added.

What the correct and the wrong derivations share cancels here, in a small table that stays in the cache, and not in the
weights. Its length is known before the step is taken (ALMA), w·Δ can be checked (every update of a valid rule is a
violation), and how much room the weights need is known exactly.

A feature is its key; features that were numbered per token are their number + 1: keys of templates are far above.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from structron.kernels.jit import helper, kernel, plain, prefetch
from structron.kernels.reference import Doubles, Ints, Keys, by_reference, reference
from structron.kernels.table import ABSENT, MULTIPLIER
from structron.search.beam.frontier import Anchored
from structron.weights.sparse import (
    AHEAD,
    CELLS,
    CLASSES,
    COUNT,
    COUNTS,
    DENSE,
    DENSE_ROWS,
    KEYS,
    START,
    Sparse,
    add,
    cell_of,
    claim,
    dense_at,
    find,
    home,
    most_keys,
    weight_of,
)

NUMBERED = np.uint64(1 << 40)
"""Features below are numbers + 1."""
FULL = 1
"""Place in `used` of a flag: there was no room for something. The first place counts the entries."""


@by_reference
class Delta(NamedTuple):
    """An open table (feature, column) -> amount, and which places of it are taken."""

    feature: Keys  # uint64[capacity], 0: free
    column: Ints  # int64[capacity]
    amount: Doubles  # float64[capacity]
    place: Ints  # int64[capacity]
    used: Ints  # int64[2]


def make_delta(capacity: int = 1 << 14) -> Delta:
    """An empty table; capacity: a power of two."""
    feature, column, place = np.zeros(capacity, np.uint64), np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    return Delta(feature, column, np.zeros(capacity), place, np.zeros(2, np.int64))


@helper(inline=True)
def clear(delta):
    """Forget all entries."""
    for j in range(delta.used[0]):
        delta.feature[delta.place[j]] = ABSENT
    delta.used[0], delta.used[FULL] = 0, 0


@helper(inline=True)
def put(delta, feature, column, amount):
    """Add to the amount of a feature under a column."""
    mask = delta.feature.shape[0] - 1
    h = (feature ^ (np.uint64(column) << np.uint64(48))) * MULTIPLIER
    k = np.int64((h ^ (h >> np.uint64(29))) & np.uint64(mask))
    while delta.feature[k] != ABSENT and (delta.feature[k] != feature or delta.column[k] != column):
        k = (k + 1) & mask
    if delta.feature[k] == ABSENT:
        if 2 * delta.used[0] >= mask:
            delta.used[FULL] = 1
            return
        delta.feature[k], delta.column[k], delta.amount[k] = feature, column, 0.0
        delta.place[delta.used[0]] = k
        delta.used[0] += 1
    delta.amount[k] += amount


@helper(inline=True)
def head_of(feature, sparse, anchored):
    """The head of a feature's row; ABSENT if it has none yet."""
    if feature < NUMBERED:
        return anchored.table[np.int64(feature) - 1, 1]
    spot = find(sparse.table, feature, home(sparse.region, feature))
    return sparse.table[spot, 1] if spot >= 0 else ABSENT


@helper(inline=True)
def prefetch_weight(sparse, sums, head, column):
    """Have a weight and its sum loaded, as far as its place is known."""
    start = np.int64(head >> START)
    if head & CLASSES == DENSE:
        prefetch(sparse.dense, start, column)
        prefetch(sparse.dense_u, start, column)
    elif head != ABSENT:
        prefetch(sparse.column, start, 0)
        prefetch(sums, start, 0)


@helper(inline=True)
def prefetch_entry(delta, sparse, anchored, sums, j):
    """Ask for the place of entry j in the table, and for the weight of an earlier one that stands there: entry
    j - 2 * AHEAD then need not be waited for."""
    entries = delta.used[0]
    if j < entries:
        feature = delta.feature[delta.place[j]]
        if feature < NUMBERED:
            prefetch(anchored.table, np.int64(feature) - 1, 0)
        else:
            prefetch(sparse.table, home(sparse.region, feature), 0)
    if AHEAD <= j < entries + AHEAD:
        k = delta.place[j - AHEAD]
        prefetch_weight(sparse, sums, head_of(delta.feature[k], sparse, anchored), delta.column[k])


@helper
def measure(delta, sparse, anchored):
    """‖Δ‖² and w·Δ."""
    length, dot, sums = 0.0, 0.0, sparse.u.reshape((-1, 1))
    for j in range(delta.used[0] + 2 * AHEAD):
        prefetch_entry(delta, sparse, anchored, sums, j)
        if j < 2 * AHEAD:
            continue
        k = delta.place[j - 2 * AHEAD]
        amount = delta.amount[k]
        if amount != 0.0:
            length += amount * amount
            dot += amount * weight_of(sparse, head_of(delta.feature[k], sparse, anchored), delta.column[k])
    return length, dot


@kernel
def weigh(delta, sparse, anchored, out):
    """The weight that each entry of Δ has now, in the order of the entries."""
    for j in range(delta.used[0]):
        k = delta.place[j]
        out[j] = weight_of(sparse, head_of(delta.feature[k], sparse, anchored), delta.column[k])


@helper
def cells_needed(delta, sparse, anchored):
    """How many cells the new weights of Δ can take at most; full rows double, or become vectors."""
    need = np.int64(0)
    for j in range(delta.used[0]):
        k = delta.place[j]
        head = head_of(delta.feature[k], sparse, anchored)
        if head == ABSENT:
            need += 4
        elif head & CLASSES != DENSE and cell_of(sparse, head, delta.column[k]) < 0:
            need += 4 * np.int64((head >> COUNT) & COUNTS) + 2
    return need


@helper
def fits(delta, sparse, anchored):
    """0 if there is room for all of Δ in the weights, else how many cells it may take."""
    entries = delta.used[0]
    if entries == 0:
        return np.int64(0)
    enough = (
        sparse.used[KEYS] + entries < most_keys(sparse.table)
        and sparse.used[DENSE_ROWS] + entries < sparse.dense.shape[0]
    )
    loose = entries * 2 * dense_at(sparse.dense.shape[1])
    if enough and sparse.used[CELLS] + loose < sparse.column.shape[0]:
        return np.int64(0)
    need = cells_needed(delta, sparse, anchored)
    enough = enough and sparse.used[CELLS] + need < sparse.column.shape[0]
    return np.int64(0) if enough else max(need, np.int64(1))


@helper
def apply(delta, sparse, anchored, factor, before):
    """w += factor·Δ; before: the sum of scales so far, which the sums for the mean count from (update/alma.py)."""
    table, sums, entries = sparse.table, sparse.u.reshape((-1, 1)), delta.used[0]
    for j in range(entries + 2 * AHEAD):
        prefetch_entry(delta, sparse, anchored, sums, j)
        if j < 2 * AHEAD:
            continue
        k = delta.place[j - 2 * AHEAD]
        feature, column, amount = delta.feature[k], delta.column[k], factor * delta.amount[k]
        if amount == 0.0:
            continue
        if feature < NUMBERED:
            add(sparse, anchored.table, np.int64(feature) - 1, column, amount, amount * before)
        else:
            add(sparse, table, claim(sparse, feature), column, amount, amount * before)


_ARGUMENTS = (reference(Delta), reference(Sparse), reference(Anchored))
UPDATING = (
    types.UniTuple(types.float64, 2)(*_ARGUMENTS),
    types.int64(*_ARGUMENTS),
    types.void(*_ARGUMENTS, types.float64, types.float64),
)
"""The signatures of `measure`, `fits` and `apply`."""
MEASURE, FITS, APPLY = (
    kernel(plain(function), signature=own) for function, own in zip((measure, fits, apply), UPDATING, strict=True)
)
"""The same as pointers, for learners."""
