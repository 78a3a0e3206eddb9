"""Sparse rows of weights: a feature's row holds only the columns (actions) that it was ever updated for.

    table  uint64[capacity, 2]   open addressing: key (0 = free), head; a `fixed` table is the same without probing
    head   start << 24 | count << 8 | class      the row is cells start … start + count - 1 of 2^class that are its own
    cells  column int32[cells, 2] and w float32[cells, 2] are two views of one matrix: (column, weight) side by side, so
           that a row is read from as few cache lines as it fills;  u float64[cells] are the sums for the mean

Rows come into being with their first update and double when full; what they leave is kept for others by size.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels import ABSENT, compiled, inlined

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
START, COUNT = np.uint64(24), np.uint64(8)
COUNTS, CLASSES = np.uint64(0xFFFF), np.uint64(0xFF)
KEYS, CELLS = 0, 1
"""Places in `used`: keys in the table, cells given out; the free rows of class c start at place FREE + c (0 = none)."""
FREE = 2
LARGEST = 17
MAX_COLUMNS = 1 << 16


class Sparse(NamedTuple):
    """Weights of features under columns; see the module."""

    table: np.ndarray
    column: np.ndarray
    w: np.ndarray
    u: np.ndarray
    used: np.ndarray  # int64[FREE + LARGEST + 1]


@inlined
def home(table, key):
    """Where the search for a key begins: packed keys differ in their low bits only, so they are stirred."""
    h = key * MULTIPLIER
    return np.int64((h ^ (h >> HALF)) & np.uint64(table.shape[0] - 1))


@inlined
def find(table, key, k):
    """The place of a key in the table from its home k on, or -1."""
    mask = table.shape[0] - 1
    while True:
        found = table[k, 0]
        if found == key:
            return k
        if found == ABSENT:
            return np.int64(-1)
        k = (k + 1) & mask


@inlined
def claim(sparse, key):
    """The place of a key, entered if it is new. The caller has made sure there is room."""
    table = sparse.table
    mask = table.shape[0] - 1
    k = home(table, key)
    while table[k, 0] != key:
        if table[k, 0] == ABSENT:
            table[k, 0] = key
            sparse.used[KEYS] += 1
            return k
        k = (k + 1) & mask
    return k


@inlined
def add_row(sparse, head, out, base):
    """out[base, column] += weight for every cell of a row."""
    start, count = np.int64(head >> START), np.int64((head >> COUNT) & COUNTS)
    for k in range(start, start + count):
        out[base, sparse.column[k, 0]] += sparse.w[k, 1]


@inlined
def cell_of(sparse, head, column):
    """The cell of a column in a row, or -1."""
    start, count = np.int64(head >> START), np.int64((head >> COUNT) & COUNTS)
    for k in range(start, start + count):
        if sparse.column[k, 0] == column:
            return np.int64(k)
    return np.int64(-1)


@compiled
def new_cell(sparse, table, k, column):
    """Append a cell of weight 0 to the row at table[k]; the row moves when it is full."""
    head = table[k, 1]
    start, count, size = np.int64(head >> START), np.int64((head >> COUNT) & COUNTS), np.int64(head & CLASSES)
    used = sparse.used
    if head == ABSENT or count == 1 << size:
        bigger = np.int64(0) if head == ABSENT else size + 1
        if used[FREE + bigger] > 0:
            place = used[FREE + bigger] - 1
            used[FREE + bigger] = sparse.column[place, 0]
        else:
            place = used[CELLS]
            used[CELLS] += 1 << bigger
        for j in range(count):
            sparse.column[place + j, 0] = sparse.column[start + j, 0]
            sparse.w[place + j, 1] = sparse.w[start + j, 1]
            sparse.u[place + j] = sparse.u[start + j]
        if head != ABSENT:
            sparse.column[start, 0] = used[FREE + size]
            used[FREE + size] = start + 1
        start, size = place, bigger
    cell = start + count
    sparse.column[cell, 0] = column
    sparse.w[cell, 1] = 0
    sparse.u[cell] = 0
    table[k, 1] = (np.uint64(start) << START) | (np.uint64(count + 1) << COUNT) | np.uint64(size)
    return cell


@inlined
def touch(sparse, table, k, column):
    """The cell of a column in the row at table[k], made if there is none."""
    cell = cell_of(sparse, table[k, 1], column)
    if cell < 0:
        cell = new_cell(sparse, table, k, column)
    return cell


@compiled
def reinsert(old, new):
    """Enter all keys and heads of one table in another, empty one."""
    mask = new.shape[0] - 1
    for j in range(old.shape[0]):
        if old[j, 0] != ABSENT:
            k = home(new, old[j, 0])
            while new[k, 0] != ABSENT:
                k = (k + 1) & mask
            new[k, 0] = old[j, 0]
            new[k, 1] = old[j, 1]


def _cells(capacity: int) -> tuple[np.ndarray, np.ndarray]:
    column = np.zeros((capacity, 2), np.int32)
    return column, column.view(np.float32)


def make_sparse(keys: int = 1 << 12, cells: int = 1 << 14, learning: bool = True) -> Sparse:
    """Empty rows with room for so many keys and cells; untouched memory costs nothing."""
    capacity = 1 << max(6, int(2 * keys - 1).bit_length())
    column, w = _cells(max(cells, 1))
    sums = np.zeros(max(cells, 1) if learning else 1)
    return Sparse(np.zeros((capacity, 2), np.uint64), column, w, sums, np.zeros(FREE + LARGEST + 1, np.int64))


def room(sparse: Sparse) -> tuple[int, int]:
    """How many keys and cells can be added; the table stays at most half full."""
    return len(sparse.table) // 2 - int(sparse.used[KEYS]), len(sparse.column) - int(sparse.used[CELLS])


def grown(sparse: Sparse, keys: int, cells: int) -> Sparse:
    """The same rows with room for at least so many keys and cells more."""
    have_keys, have_cells = room(sparse)
    table, column, w, u = sparse.table, sparse.column, sparse.w, sparse.u
    if have_keys < keys:
        capacity = len(table)
        while capacity // 2 - int(sparse.used[KEYS]) < keys:
            capacity *= 2
        table = np.zeros((capacity, 2), np.uint64)
        reinsert(sparse.table, table)
    if have_cells < cells:
        used = int(sparse.used[CELLS])
        capacity = max(2 * len(column), used + cells)
        column, w = _cells(capacity)
        column[:used] = sparse.column[:used]
        u = np.zeros(capacity)
        u[:used] = sparse.u[:used]
    return Sparse(table, column, w, u, sparse.used)


class Row(NamedTuple):
    """All cells of some rows, flat: of which row (its place in the tables it came from), column, weight."""

    place: np.ndarray
    column: np.ndarray
    weight: np.ndarray


def cells_of(sparse: Sparse, heads: np.ndarray, time: int) -> Row:
    """The cells of the rows under these heads; weights are means over `time` examples, 0: as they are."""
    start = (heads >> START).astype(np.int64)
    count = ((heads >> COUNT) & COUNTS).astype(np.int64)
    place = np.repeat(np.arange(len(heads)), count)
    inner = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
    cell = start[place] + inner
    weight = sparse.w[cell, 1].astype(np.float64)
    if time > 0:
        weight -= sparse.u[cell] / time
    return Row(place, sparse.column[cell, 0], weight.astype(np.float32))


def pack(keys: np.ndarray, rows: Row, first: int = 0) -> tuple[np.ndarray, Sparse]:
    """Rows, sorted by place, as a lean model without sums: heads of the first rows; those of the keys in a table."""
    count = np.bincount(rows.place, minlength=first + len(keys)).astype(np.uint64)
    start = np.cumsum(count) - count
    heads = (start << START) | (count << COUNT)
    sparse = make_sparse(max(1, len(keys)), len(rows.column), learning=False)
    sparse.column[: len(rows.column), 0] = rows.column
    sparse.w[: len(rows.column), 1] = rows.weight
    sparse.used[KEYS], sparse.used[CELLS] = len(keys), len(rows.column)
    reinsert(np.stack([keys, heads[first:]], axis=1), sparse.table)
    return heads[:first], sparse
