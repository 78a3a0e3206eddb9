"""Rows of weights, one per feature: few columns (actions) are kept one by one, many as a whole vector.

    table  uint64[capacity, 2]   open addressing: key (0 = free), head; a `fixed` table is the same without probing
    region int64[512, 2]         where in the table the keys of a template begin to be looked for: first place, places.
                                 A model has its own region for each, so that what is asked for often stands together
    head   start << 24 | count << 8 | class      the row is cells start … start + count - 1 of 2^class that are its own;
                                                 class DENSE: it is dense[start], and 0 from column `count` on
           weight << 32 | column << 8 | SINGLE   in a model: the row is this one weight
    order  int64[columns]        where each column stands in a row; in a model those with most weights come first
    cells  column int32[cells, 2] and w float32[cells, 2] are two views of one matrix: (column, weight) side by side, so
           that a row is read from as few cache lines as it fills;  u float64[cells] are the sums for the mean
    dense  float32[rows, columns] and dense_u float64[rows, columns]

Rows come into being with their first update and double when full; what they leave is kept for others by size. Most
features are updated for one or two actions; the few that are updated for many fire nearly always, and adding up whole
vectors is then many times faster than adding cells.
"""

from typing import Any, NamedTuple

import numpy as np

from structron.errors import StructronError
from structron.kernels.jit import helper, kernel, prefetch
from structron.kernels.memory import aligned_zeros, forget, move, pieces
from structron.kernels.reference import Doubles, Doubles2, Floats2, Ints, Ints2, Keys2, Numbers2, by_reference
from structron.kernels.table import ABSENT, MULTIPLIER, SHIFT

SECOND = np.uint64(0xD6E8FEB86659FD93)
START, COUNT, WEIGHT = np.uint64(24), np.uint64(8), np.uint64(32)
COUNTS, CLASSES, COLUMNS = np.uint64(0xFFFF), np.uint64(0xFF), np.uint64(0xFFFFFF)
DENSE, SINGLE = np.uint64(0xFF), np.uint64(0xFE)
LINE = 16
"""Weights in a cache line."""
MOST_COLUMNS = 0xFFFF // LINE * LINE
"""The longest vector whose length a head can tell."""
REGION = np.uint64(55)
REGIONS = 512
"""The bits of a key from here on are its template's number (search/beam/states.py)."""
KEYS, CELLS, DENSE_ROWS, FREE = 0, 1, 2, 3
"""Places in `used`: keys in the table, cells and dense rows given out; the free rows of class c start at FREE + c."""
LARGEST = 17
KEPT, PLACES, SPARE_CAPACITY = 2, 3, 1.75
"""While learning a table has at most so many keys for so many places; a model, ROOMY places for every key."""
GROWTH = 1.125
"""By so much tables, cells and vectors grow. All of a table is in memory, used or not."""
COUNTED_BLOCK = 1 << 18
"""Values that are counted at a time."""
AHEAD = 16
"""Keys that are on their way from memory while a table is filled."""


@by_reference
class Sparse(NamedTuple):
    """Weights of features under columns; see the module."""

    table: Keys2
    column: Numbers2
    w: Floats2
    u: Doubles
    dense: Floats2
    dense_u: Doubles2
    used: Ints  # int64[FREE + LARGEST + 1]
    region: Ints2
    order: Ints


@helper(inline=True)
def home(region, key):
    """Where the search for a key begins. Packed keys follow patterns and must be stirred well.

    With one multiplication less, frequent keys formed clusters of 28.
    """
    h = key * MULTIPLIER
    h = (h ^ (h >> SHIFT)) * SECOND
    t = key >> REGION
    return region[t, 0] + np.int64(((h >> SHIFT) * np.uint64(region[t, 1])) >> SHIFT)


def counts_of(values: np.ndarray, size: int, shift: np.uint64 | None = None) -> np.ndarray:
    """int64[size]: how often each number is found among values, of which only the bits from `shift` on count. In
    blocks: counting takes 8 bytes for each of them."""
    found = np.zeros(size, np.int64)
    for lo in range(0, len(values), COUNTED_BLOCK):
        own = values[lo : lo + COUNTED_BLOCK]
        found += np.bincount(own if shift is None else (own >> shift).astype(np.int64), minlength=size)
    return found


def regions_of(keys: np.ndarray) -> np.ndarray:
    """A region for the keys of each template."""
    size = (counts_of(keys, REGIONS, REGION) * SPARE_CAPACITY).astype(np.int64) + 1
    return np.stack([np.cumsum(size) - size, size], axis=1)


def one_region(capacity: int) -> np.ndarray:
    """All keys anywhere in the table."""
    return np.stack([np.zeros(REGIONS, np.int64), np.full(REGIONS, capacity)], axis=1)


@helper(inline=True)
def most_keys(table):
    """How many keys a table takes."""
    return table.shape[0] * KEPT // PLACES


@helper(inline=True)
def find(table, key, k):
    """The place of a key in the table from its home k on, or -1."""
    while True:
        found = table[k, 0]
        if found == key:
            return k
        if found == ABSENT:
            return np.int64(-1)
        k = after(table, k)


@helper(inline=True)
def after(table, k):
    """The next place in a table."""
    return k + 1 if k + 1 < table.shape[0] else np.int64(0)


@helper(inline=True)
def claim(sparse, key):
    """The place of a key, entered if it is new. The caller has made sure there is room."""
    table = sparse.table
    k = home(sparse.region, key)
    while table[k, 0] != key:
        if table[k, 0] == ABSENT:
            table[k, 0] = key
            sparse.used[KEYS] += 1
            return k
        k = after(table, k)
    return k


@helper(inline=True)
def add_row(sparse, head, out, base, ranges, which, number):
    """out[base, column] += weight for every column of a row that stands in one of ranges[which, : number], which rise
    (first, after the last); what is added elsewhere does not count."""
    start = np.int64(head >> START)
    if head & CLASSES == DENSE:
        count = (head >> COUNT) & COUNTS
        for r in range(number):
            for c in range(ranges[which, r, 0], min(ranges[which, r, 1], count)):
                out[base, c] += sparse.dense[start, c]
    elif head & CLASSES == SINGLE:
        out[base, np.int64((head >> COUNT) & COLUMNS)] += np.uint32(head >> WEIGHT).view(np.float32)
    else:
        for k in range(start, start + np.int64((head >> COUNT) & COUNTS)):
            out[base, sparse.column[k, 0]] += sparse.w[k, 1]


@helper(inline=True)
def prefetch_row(sparse, head, ranges, which, number):
    """Have a row loaded that will be added."""
    start, count = np.int64(head >> START), np.int64((head >> COUNT) & COUNTS)
    if head & CLASSES == DENSE:
        for r in range(number):
            for c in range(np.int64(ranges[which, r, 0]), min(np.int64(ranges[which, r, 1]), count), LINE):
                prefetch(sparse.dense, start, c)
    elif head & CLASSES != SINGLE:
        prefetch(sparse.column, start, 0)
        prefetch(sparse.column, start + count - 1, 0)


@helper(inline=True)
def cell_of(sparse, head, column):
    """The cell of a column in a row that is not dense, or -1."""
    start = np.int64(head >> START)
    for k in range(start, start + np.int64((head >> COUNT) & COUNTS)):
        if sparse.column[k, 0] == column:
            return np.int64(k)
    return np.int64(-1)


@helper
def weight_of(sparse, head, column):
    """The weight of a column in a row; head 0: there is no row."""
    if head & CLASSES == DENSE:
        return np.float64(sparse.dense[np.int64(head >> START), column])
    cell = cell_of(sparse, head, column) if head != ABSENT else np.int64(-1)
    return np.float64(sparse.w[cell, 1]) if cell >= 0 else 0.0


@helper(inline=True)
def dense_head(row, count):
    """The head of a row that is a vector, 0 from column `count` on."""
    return (np.uint64(row) << START) | (np.uint64(count) << COUNT) | DENSE


@helper(inline=True)
def dense_at(columns):
    """How many cells make a row dense. A vector of few columns is one cache line, as a handful of cells are."""
    return max(16, columns // 8) if columns > LINE else 4


@helper(inline=True)
def give_back(sparse, start, size):
    """Keep the cells that a row has left for other rows of its size."""
    sparse.column[start, 0] = sparse.used[FREE + size]
    sparse.used[FREE + size] = start + 1


@helper
def make_dense(sparse, table, k):
    """Turn the row at table[k] into a vector."""
    head = table[k, 1]
    start, size = np.int64(head >> START), np.int64(head & CLASSES)
    row = sparse.used[DENSE_ROWS]
    sparse.used[DENSE_ROWS] += 1
    for j in range(start, start + np.int64((head >> COUNT) & COUNTS)):
        sparse.dense[row, sparse.column[j, 0]] = sparse.w[j, 1]
        sparse.dense_u[row, sparse.column[j, 0]] = sparse.u[j]
    give_back(sparse, start, size)
    table[k, 1] = dense_head(row, sparse.dense.shape[1])


@helper
def new_cell(sparse, table, k, column):
    """Append a cell of weight 0 to the row at table[k], which is not dense; the row moves when it is full."""
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
            give_back(sparse, start, size)
        start, size = place, bigger
    cell = start + count
    sparse.column[cell, 0] = column
    sparse.w[cell, 1] = 0
    sparse.u[cell] = 0
    table[k, 1] = (np.uint64(start) << START) | (np.uint64(count + 1) << COUNT) | np.uint64(size)
    return cell


@helper(inline=True)
def add(sparse, table, k, column, amount, sum_amount):
    """Add to the weight of a column in the row at table[k], and to the sum for the mean; 0, 0 only makes its place."""
    head = table[k, 1]
    if head & CLASSES == DENSE:
        row = np.int64(head >> START)
        sparse.dense[row, column] += np.float32(amount)
        sparse.dense_u[row, column] += sum_amount
    else:
        cell = cell_of(sparse, head, column)
        if cell < 0:
            cell = new_cell(sparse, table, k, column)
        sparse.w[cell, 1] += np.float32(amount)
        sparse.u[cell] += sum_amount
        if np.int64((table[k, 1] >> COUNT) & COUNTS) >= dense_at(sparse.dense.shape[1]):
            make_dense(sparse, table, k)


@kernel(allocates=True)
def reinsert(old, new, region):
    """Enter all keys and heads of one table in another, empty one; places are asked for before they are needed."""
    for j in range(old.shape[0]):
        if j + AHEAD < old.shape[0]:
            prefetch(new, home(region, old[j + AHEAD, 0]), 0)
        if old[j, 0] != ABSENT:
            k = home(region, old[j, 0])
            while new[k, 0] != ABSENT:
                k = after(new, k)
            new[k, 0] = old[j, 0]
            new[k, 1] = old[j, 1]


def _cells(capacity: int) -> tuple[np.ndarray, np.ndarray]:
    """Empty cells, as columns and as weights."""
    column = aligned_zeros((capacity, 2), np.int32)
    return column, column.view(np.float32)


def stride_of(columns: Any) -> Any:
    """The length of a vector, or lengths, padded to whole cache lines."""
    return -(-columns // LINE) * LINE


def capacity_for(keys: int) -> int:
    """The places of a table for so many keys."""
    return max(64, keys * PLACES // KEPT + PLACES)


def make_sparse(columns: int, keys: int = 1 << 12, cells: int = 1 << 14, dense: int = 64, sums: bool = True) -> Sparse:
    """A store with room for so many keys, cells and dense rows; untouched memory costs nothing."""
    if columns > MOST_COLUMNS:
        raise StructronError(
            f"{columns} columns of weights, one for each label or action; expected at most {MOST_COLUMNS} under a beam"
        )
    capacity = capacity_for(keys)
    column, w = _cells(max(cells, 1))
    vectors = aligned_zeros((max(dense, 1), stride_of(columns)), np.float32)
    return Sparse(
        aligned_zeros((capacity, 2), np.uint64),
        column,
        w,
        aligned_zeros((max(cells, 1) if sums else 1,), np.float64),
        vectors,
        aligned_zeros(vectors.shape if sums else (1, 1), np.float64),
        np.zeros(FREE + LARGEST + 1, np.int64),
        one_region(capacity),
        np.arange(columns),
    )


def capacities(sparse: Sparse) -> tuple[int, int, int]:
    """How many keys, cells and dense rows can be added."""
    have = (most_keys(sparse.table), len(sparse.column), len(sparse.dense))
    keys, cells, dense = (total - int(sparse.used[k]) for k, total in enumerate(have))
    return keys, cells, dense


def more_keys(sparse: Sparse, keys: int, cells: int, dense: int) -> Sparse:
    """The same rows with room for at least so many more keys."""
    if capacities(sparse)[KEYS] >= keys:
        return sparse
    capacity = max(int(GROWTH * len(sparse.table)), capacity_for(int(sparse.used[KEYS]) + keys))
    table, region = aligned_zeros((capacity, 2), np.uint64), one_region(capacity)
    for lo, hi in pieces(sparse.table, len(sparse.table)):  # both stand in the order of hashes
        reinsert(sparse.table[lo:hi], table, region)
        forget(sparse.table, lo, hi)
    return sparse._replace(table=table, region=region)


def more_cells(sparse: Sparse, keys: int, cells: int, dense: int) -> Sparse:
    """The same rows with room for at least so many more cells, whose sums come next."""
    if capacities(sparse)[CELLS] >= cells:
        return sparse
    used = int(sparse.used[CELLS])
    column, w = _cells(max(int(GROWTH * len(sparse.column)), used + cells))
    move(sparse.column, column, used)
    return sparse._replace(column=column, w=w)


def more_sums(sparse: Sparse, keys: int, cells: int, dense: int) -> Sparse:
    """The same rows with a sum for every cell."""
    if len(sparse.u) == len(sparse.column):
        return sparse
    u = aligned_zeros((len(sparse.column),), np.float64)
    return sparse._replace(u=move(sparse.u, u, int(sparse.used[CELLS])))


def more_dense(sparse: Sparse, keys: int, cells: int, dense: int) -> Sparse:
    """The same rows with room for at least so many more dense ones."""
    if capacities(sparse)[DENSE_ROWS] >= dense:
        return sparse
    used = int(sparse.used[DENSE_ROWS])
    shape = (max(int(GROWTH * len(sparse.dense)), used + dense), sparse.dense.shape[1])
    vectors = move(sparse.dense, aligned_zeros(shape, np.float32), used)
    return sparse._replace(dense=vectors, dense_u=move(sparse.dense_u, aligned_zeros(shape, np.float64), used))


GROWING = (more_keys, more_cells, more_sums, more_dense)
"""In turn. Each frees the array that it makes larger, piece by piece: the store before cannot be used any more."""


class Row(NamedTuple):
    """All weights of some rows, flat and sorted by row."""

    place: np.ndarray  # int64 or int32[weights]: of which row
    column: np.ndarray  # int32[weights]
    weight: np.ndarray  # float32[weights]


def cells_of(sparse: Sparse, heads: np.ndarray, time: int, scale: float = 1.0) -> Row:
    """The weights of the rows under these heads, scaled: means over `time` examples, 0: as they are."""
    dense = (heads & CLASSES) == DENSE
    start = (heads >> START).astype(np.int64)
    count = np.where(dense, 0, (heads >> COUNT) & COUNTS).astype(np.int64)
    place = np.repeat(np.arange(len(heads)), count)
    cell = start[place] + np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
    weight = scale * sparse.w[cell, 1].astype(np.float64)
    vectors = scale * sparse.dense[start[dense]].astype(np.float64)
    if time > 0:
        weight -= sparse.u[cell] / time
        vectors -= sparse.dense_u[start[dense]] / time
    row, column = np.nonzero(vectors)
    place = np.concatenate([place, np.flatnonzero(dense)[row]])
    order = np.argsort(place, kind="stable")
    columns = np.concatenate([sparse.column[cell, 0], column.astype(np.int32)])
    return Row(place[order], columns[order], np.concatenate([weight, vectors[row, column]])[order].astype(np.float32))


def dense_heads(row: np.ndarray, count: np.ndarray) -> np.ndarray:
    """`dense_head` of many rows."""
    return (row.astype(np.uint64) << START) | (count.astype(np.uint64) << COUNT) | DENSE
