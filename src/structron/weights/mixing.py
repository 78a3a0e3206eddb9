"""Changes of sparse rows: found, mixed and taken over (changes.py says what becomes of a weight)."""

import numpy as np

from structron.kernels.jit import compiled, inlined
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
    weight_of,
)


@inlined
def note(found, n, name, column, w, before, u):
    """Write down a weight if it has changed; returns how many there are. Without room they are only counted."""
    if np.float64(w) == before and u == 0.0:
        return n
    if n < found.row.shape[0]:
        found.row[n], found.column[n], found.w[n], found.u[n] = name, column, w, u
        found.change[n] = np.float32(np.float64(w) - before)
    return n + 1


@compiled
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


@compiled
def compare(now, anchored, before, known, found):
    """All changes of sparse rows; anchored, known: the heads of numbered features now and before."""
    n, places = np.int64(0), before.table.shape[0]
    for j in range(anchored.shape[0]):
        if anchored[j, 1] != ABSENT:
            n = compare_row(now, anchored[j, 1], before, known[j, 1], np.uint64(j + 1), found, n)
    for k in range(now.table.shape[0]):
        key, old = now.table[k, 0], ABSENT
        if key != ABSENT:
            spot = np.int64(k)
            if k >= places or before.table[k, 0] != key:
                spot = find(before.table, key, home(before.table, key))
            if spot >= 0:
                old = before.table[spot, 1]
            n = compare_row(now, now.table[k, 1], before, old, key, found, n)
    return n


@inlined
def has_room(sparse):
    """Whether there is room for one more weight, wherever it belongs."""
    return (
        sparse.used[KEYS] + 1 < sparse.table.shape[0] // 2
        and sparse.used[DENSE_ROWS] + 1 < sparse.dense.shape[0]
        and sparse.used[CELLS] + 4 * dense_at(sparse.dense.shape[1]) < sparse.column.shape[0]
    )


@compiled
def mix_row(sparse, table, k, column, share, change, time, steps, u):
    """`mixed`, for one weight of the row at table[k]."""
    d, before = np.float64(change), weight_of(sparse, table[k, 1], column)
    new = np.float32(before + share * d)
    moved = np.float64(new) - before
    add(sparse, table, k, column, 0.0, time * moved - steps * d + u)
    put(sparse, table[k, 1], column, new)


@inlined
def put(sparse, head, column, w):
    """Set a weight that has its place."""
    if head & CLASSES == DENSE:
        sparse.dense[np.int64(head >> START), column] = w
    else:
        sparse.w[cell_of(sparse, head, column), 1] = w


@compiled
def mix_rows(sparse, anchored, changes, share, time, steps, first):
    """Mix the changes from `first` on; returns the number of changes, or where the room ended."""
    for j in range(first, changes.row.shape[0]):
        if not has_room(sparse):
            return np.int64(j)
        row, column, change, u = changes.row[j], changes.column[j], changes.change[j], changes.u[j]
        if row <= np.uint64(anchored.shape[0]):
            mix_row(sparse, anchored, np.int64(row) - 1, column, share, change, time, steps, u)
        else:
            mix_row(sparse, sparse.table, claim(sparse, row), column, share, change, time, steps, u)
    return np.int64(changes.row.shape[0])


@compiled
def put_row(sparse, table, k, column, w):
    """Set one weight of the row at table[k]."""
    add(sparse, table, k, column, 0.0, 0.0)
    put(sparse, table[k, 1], column, w)


@compiled
def put_rows(sparse, anchored, changes, first):
    """Set the weights from `first` on; returns the number of weights, or where the room ended."""
    for j in range(first, changes.row.shape[0]):
        if not has_room(sparse):
            return np.int64(j)
        row, column, w = changes.row[j], changes.column[j], changes.w[j]
        if row <= np.uint64(anchored.shape[0]):
            put_row(sparse, anchored, np.int64(row) - 1, column, w)
        else:
            put_row(sparse, sparse.table, claim(sparse, row), column, w)
    return np.int64(changes.row.shape[0])
