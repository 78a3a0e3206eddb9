"""Rows of weights as searches read them: a lean store without sums, filled a block of rows at a time.

All rows at once would take several times the memory of the store, which a process then keeps.
"""

import numpy as np

from structron.weights.sparse import (
    COUNT,
    FREE,
    START,
    Row,
    Sparse,
    dense_at,
    dense_heads,
    make_sparse,
    regions_of,
    reinsert,
    single_heads,
    stride_of,
)

BLOCK = 1 << 16
"""Rows of a block."""


def pack(
    columns: int, keys: np.ndarray, rows: Row, first: int = 0, order: np.ndarray | None = None
) -> tuple[np.ndarray, Sparse]:
    """The heads of the first rows, and the others by key in the store's table.

    Rows with many weights are those that fire often: they stand together, as do the columns that most rows have, unless
    an order is given.
    """
    count = np.bincount(rows.place, minlength=first + len(keys)).astype(np.int32)
    if order is None:
        order = np.empty(columns, np.int64)
        order[np.argsort(-np.bincount(rows.column, minlength=columns), kind="stable")] = np.arange(columns)
    heads, cells, dense = _places(columns, count)
    sparse = make_sparse(columns, 1, cells, dense, sums=False)
    begin = 0
    for lo in range(0, len(count), BLOCK):
        own, end = slice(lo, lo + BLOCK), begin + int(count[lo : lo + BLOCK].sum())
        some = Row(rows.place[begin:end] - lo, order[rows.column[begin:end]], rows.weight[begin:end])
        _fill(sparse, heads[own], count[own], some, dense_at(columns))
        begin = end
    sparse.used[:FREE] = len(keys), cells, dense
    region = regions_of(keys)
    table = np.zeros((int(region[-1].sum()), 2), np.uint64)
    for lo in range(0, len(keys), BLOCK):
        reinsert(np.stack([keys[lo : lo + BLOCK], heads[first + lo :][:BLOCK]], axis=1), table, region)
    return heads[:first].copy(), sparse._replace(table=table, region=region, order=order)


def _places(columns: int, count: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Where each row begins, as a head with its number of weights; how many cells and vectors there are.

    Vectors are numbered apart; a row of one weight has no place: `_fill` gives these two their own heads.
    """
    sort = np.argsort(-count, kind="stable").astype(np.int32)
    falling = count[sort]
    dense = int((falling >= dense_at(columns)).sum())
    falling[:dense] = 0
    falling[falling == 1] = 0
    start = np.cumsum(falling, dtype=np.uint64)
    cells = int(start[-1]) if len(start) else 0
    start -= falling.astype(np.uint64)
    start[:dense] = np.arange(dense)
    heads = np.empty(len(count), np.uint64)
    heads[sort] = start << START
    heads |= count.astype(np.uint64) << COUNT
    return heads, cells, dense


def _fill(sparse: Sparse, heads: np.ndarray, count: np.ndarray, rows: Row, many: int) -> None:
    """Put the weights of a block of rows where they belong, and settle the heads of vectors and of single weights."""
    start, dense, single = (heads >> START).astype(np.int64), count >= many, count == 1
    whole, alone = dense[rows.place], single[rows.place]
    kept = ~(whole | alone)
    cell = (np.arange(len(rows.place)) + (start - np.cumsum(count) + count)[rows.place])[kept]
    sparse.column[cell, 0], sparse.w[cell, 1] = rows.column[kept], rows.weight[kept]
    sparse.dense[start[rows.place[whole]], rows.column[whole]] = rows.weight[whole]
    longest = np.zeros(len(count), np.int64)
    np.maximum.at(longest, rows.place[whole], stride_of(rows.column[whole] + 1))
    heads[dense] = dense_heads(start[dense], longest[dense])
    heads[single] = single_heads(rows.column[alone], rows.weight[alone])
