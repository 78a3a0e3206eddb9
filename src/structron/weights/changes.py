"""Changes of sparse rows: found, mixed and taken over (mixing.py says what becomes of a weight).

Rows stand in the table in the order of their hashes, their cells anywhere: cells are asked for some rows ahead, so that
the trips to memory do not wait for each other. sums: a store's u as a matrix of one column, for that.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import helper, kernel, prefetch
from structron.kernels.reference import Ints, Keys, by_reference
from structron.kernels.table import ABSENT
from structron.weights.sparse import (
    CELLS,
    CLASSES,
    COUNT,
    COUNTS,
    DENSE,
    DENSE_ROWS,
    KEYS,
    START,
    add,
    cell_of,
    claim,
    dense_at,
    find,
    home,
    most_keys,
    weight_of,
)

AHEAD = 32
"""Rows that are asked for before they are needed."""


@by_reference
class MixScratch(NamedTuple):
    """What `compare` works with."""

    heads: Keys  # uint64[AHEAD]
    places: Ints  # int64[AHEAD]
    marks: Keys  # uint64: a bit for each cell


def make_scratch(cells: int) -> MixScratch:
    """For so many cells."""
    return MixScratch(np.zeros(AHEAD, np.uint64), np.zeros(AHEAD, np.int64), np.empty(-(-cells // 64), np.uint64))


@helper(inline=True)
def prefetch_cells(sparse, sums, head):
    """Have the first cells of a row loaded, without waiting for them."""
    if head & CLASSES != DENSE:
        prefetch(sparse.column, np.int64(head >> START), 0)
        prefetch(sums, np.int64(head >> START), 0)


@helper(inline=True)
def note(found, n, name, column, w, before, u):
    """Write down a weight if it has changed; returns how many there are."""
    if np.float64(w) == before and u == 0.0:
        return n
    found.row[n], found.column[n], found.w[n], found.u[n] = name, column, w, u
    found.change[n] = np.float32(np.float64(w) - before)
    return n + 1


@helper
def compare_row(now, head, before, old, name, found, n):
    """The changes of a row: its head now, and before."""
    start = np.int64(head >> START)
    if head & CLASSES == DENSE:
        for c in range(now.dense.shape[1]):
            n = note(found, n, name, c, now.dense[start, c], weight_of(before, old, c), now.dense_u[start, c])
    else:
        for k in range(start, start + np.int64((head >> COUNT) & COUNTS)):
            column = np.int64(now.column[k, 0])
            n = note(found, n, name, column, now.w[k, 1], weight_of(before, old, column), now.u[k])
    return n


@helper(inline=True)
def head_before(before, key, k):
    """The head that a row has in another table, where its place is mostly the same."""
    spot = np.int64(k)
    if k >= before.table.shape[0] or before.table[k, 0] != key:
        spot = find(before.table, key, home(before.region, key))
    return before.table[spot, 1] if spot >= 0 else ABSENT


@helper
def mark_cells(now, before, marks):
    """Mark the cells, a bit each, that do not stand as they stood in another store, or have a sum; the others are of no
    interest, if their rows stand where they stood. One look at all cells in turn is cheaper than one at every row."""
    cells, old = now.used[CELLS], before.used[CELLS]
    for j in range(marks.shape[0]):
        word = np.uint64(0)
        for k in range(64 * j, min(64 * j + 64, cells)):
            same = k < old and now.column[k, 0] == before.column[k, 0] and now.column[k, 1] == before.column[k, 1]
            word |= np.uint64(not same or now.u[k] != 0.0) << np.uint64(k & 63)
        marks[j] = word


@helper(inline=True)
def is_as_before(head, old, marks):
    """Whether a row has not changed, as its head and the marks of its cells tell."""
    same, start = head == old and head & CLASSES != DENSE, np.int64(head >> START)
    if same:
        for k in range(start, start + np.int64((head >> COUNT) & COUNTS)):
            same = same and (marks[k >> 6] >> np.uint64(k & 63)) & np.uint64(1) == 0
    return same


@kernel
def compare(now, sums, anchored, before, before_sums, known, scratch, found):
    """All changes of sparse rows; anchored, known: the heads of numbered features now and before. Returns how many.

    scratch: to work with.
    """
    n, heads, places, marks = np.int64(0), scratch.heads, scratch.places, scratch.marks
    mark_cells(now, before, marks)
    for j in range(anchored.shape[0]):
        if anchored[j, 1] != ABSENT and not is_as_before(anchored[j, 1], known[j, 1], marks):
            n = compare_row(now, anchored[j, 1], before, known[j, 1], np.uint64(j + 1), found, n)
    for lo in range(0, now.table.shape[0], AHEAD):
        count = 0
        for k in range(lo, min(lo + AHEAD, now.table.shape[0])):
            if now.table[k, 0] != ABSENT:
                old = head_before(before, now.table[k, 0], k)
                if not is_as_before(now.table[k, 1], old, marks):
                    places[count], heads[count] = k, old
                    count += 1
                    prefetch_cells(now, sums, now.table[k, 1])
                    prefetch_cells(before, before_sums, old)
        for j in range(count):
            k = places[j]
            n = compare_row(now, now.table[k, 1], before, heads[j], now.table[k, 0], found, n)
    return n


@helper(inline=True)
def has_capacity(sparse):
    """Whether there is room for one more weight, wherever it belongs."""
    return (
        sparse.used[KEYS] + 1 < most_keys(sparse.table)
        and sparse.used[DENSE_ROWS] + 1 < sparse.dense.shape[0]
        and sparse.used[CELLS] + 4 * dense_at(sparse.dense.shape[1]) < sparse.column.shape[0]
    )


@kernel
def missing(sparse, anchored, row):
    """How many rows, those of one key together, have no place yet."""
    count = np.int64(0)
    for j in range(row.shape[0]):
        if j + AHEAD < row.shape[0]:
            prefetch(sparse.table, home(sparse.region, row[j + AHEAD]), 0)
        if row[j] > np.uint64(anchored.shape[0]) and (j == 0 or row[j] != row[j - 1]):
            count += find(sparse.table, row[j], home(sparse.region, row[j])) < 0
    return count


@helper(inline=True)
def mixed(before, share, k, change, time, steps, u):
    """`mix_at` (mixing.py), for one weight: what it becomes, and what its sum gets."""
    d = np.float64(change)
    new = np.float32(before + share * k * d)
    return new, time * (np.float64(new) - before) - k * (steps * d - u)


@helper
def mix_row(sparse, table, spot, column, share, k, change, time, steps, u):
    """For a weight of the row at table[spot] that may not have its place yet."""
    new, sums = mixed(weight_of(sparse, table[spot, 1], column), share, k, change, time, steps, u)
    add(sparse, table, spot, column, 0.0, sums)
    put(sparse, table[spot, 1], column, new)


@helper(inline=True)
def mix_in_place(sparse, head, column, share, k, change, time, steps, u):
    """For a weight of the row under this head; False if it has no place there."""
    start = np.int64(head >> START)
    if head & CLASSES == DENSE:
        before = np.float64(sparse.dense[start, column])
        sparse.dense[start, column], sums = mixed(before, share, k, change, time, steps, u)
        sparse.dense_u[start, column] += sums
        return True
    cell = cell_of(sparse, head, column) if head != ABSENT else np.int64(-1)
    if cell >= 0:
        sparse.w[cell, 1], sums = mixed(np.float64(sparse.w[cell, 1]), share, k, change, time, steps, u)
        sparse.u[cell] += sums
    return cell >= 0


@helper(inline=True)
def put(sparse, head, column, w):
    """Set a weight that has its place."""
    if head & CLASSES == DENSE:
        sparse.dense[np.int64(head >> START), column] = w
    else:
        sparse.w[cell_of(sparse, head, column), 1] = w


@helper(inline=True)
def prefetch_entry(sparse, sums, anchored, row, j):
    """Have a row loaded that is needed soon, and the place in the table of one that is needed later."""
    if j + 2 * AHEAD < row.shape[0] and row[j + 2 * AHEAD] > np.uint64(anchored.shape[0]):
        prefetch(sparse.table, home(sparse.region, row[j + 2 * AHEAD]), 0)
    if j + AHEAD < row.shape[0]:
        name = row[j + AHEAD]
        if name <= np.uint64(anchored.shape[0]):
            prefetch_cells(sparse, sums, anchored[np.int64(name) - 1, 1])
        else:
            spot = home(sparse.region, name)
            if sparse.table[spot, 0] == name:
                prefetch_cells(sparse, sums, sparse.table[spot, 1])


@kernel
def mix_known(sparse, sums, anchored, changes, share, scale, time, steps, first, end, known):
    """Mix those of the changes first … end - 1 whose weights have their places: nothing moves, so that several threads
    may do so at once. known: which these are. Returns how many rows are missing."""
    table, new = sparse.table, np.int64(0)
    for j in range(first, end):
        prefetch_entry(sparse, sums, anchored, changes.row, j)
        row, column, change, u = changes.row[j], changes.column[j], changes.change[j], changes.u[j]
        if row <= np.uint64(anchored.shape[0]):
            head = anchored[np.int64(row) - 1, 1]
        else:
            spot = find(table, row, home(sparse.region, row))
            head = table[spot, 1] if spot >= 0 else ABSENT
            new += spot < 0 and (j == 0 or changes.row[j - 1] != row)
        known[j] = mix_in_place(sparse, head, column, share, scale[j], change, time, steps, u)
    return new


@kernel
def mix_rows(sparse, sums, anchored, changes, share, scale, time, steps, first):
    """Mix the changes from `first` on; returns the number of changes, or where the capacity ended."""
    for j in range(first, changes.row.shape[0]):
        if not has_capacity(sparse):
            return np.int64(j)
        prefetch_entry(sparse, sums, anchored, changes.row, j)
        row, column, change, u = changes.row[j], changes.column[j], changes.change[j], changes.u[j]
        if row <= np.uint64(anchored.shape[0]):
            mix_row(sparse, anchored, np.int64(row) - 1, column, share, scale[j], change, time, steps, u)
        else:
            mix_row(sparse, sparse.table, claim(sparse, row), column, share, scale[j], change, time, steps, u)
    return np.int64(changes.row.shape[0])


@helper
def put_row(sparse, table, k, column, w):
    """Set one weight of the row at table[k]."""
    add(sparse, table, k, column, 0.0, 0.0)
    put(sparse, table[k, 1], column, w)


@kernel
def put_rows(sparse, anchored, changes, first):
    """Set the weights from `first` on; returns the number of weights, or where the capacity ended."""
    for j in range(first, changes.row.shape[0]):
        if not has_capacity(sparse):
            return np.int64(j)
        row, column, w = changes.row[j], changes.column[j], changes.w[j]
        if row <= np.uint64(anchored.shape[0]):
            put_row(sparse, anchored, np.int64(row) - 1, column, w)
        else:
            put_row(sparse, sparse.table, claim(sparse, row), column, w)
    return np.int64(changes.row.shape[0])
