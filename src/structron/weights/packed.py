"""Rows of weights as searches read them: a lean store without sums, filled in one pass over the rows.

Rows with many weights are those that fire often: they stand together, as do the columns that most rows have.
"""

import numpy as np

from structron.io.tensors import Tensors
from structron.kernels.jit import helper, kernel, prefetch
from structron.kernels.table import ABSENT
from structron.weights.sparse import (
    AHEAD,
    COUNT,
    FREE,
    LINE,
    REGION,
    REGIONS,
    SINGLE,
    START,
    WEIGHT,
    Sparse,
    after,
    counts_of,
    dense_at,
    dense_head,
    home,
    make_sparse,
    regions_of,
)


def pack(
    columns: int, keys: np.ndarray, given: Tensors, first: int = 0, order: np.ndarray | None = None
) -> tuple[np.ndarray, Sparse]:
    """The heads of the first rows, and the others by key in the store's table.

    given: the weights of all rows as a file holds them (dense.cell_tensors).   order: where each column is to stand,
    and else those that most rows have come first.
    """
    column, weight = given["weight_label"].astype(np.uint16, copy=False), given["weight"]
    if order is None:
        order = np.empty(columns, np.int64)
        order[np.argsort(-counts_of(column, columns), kind="stable")] = np.arange(columns)
    begin, start = np.zeros(first + len(keys) + 1, np.int64), np.empty(first + len(keys), np.int64)
    np.cumsum(given["weight_count"], out=begin[1:])
    cells, dense = place_rows(begin, columns, start)
    sparse = make_sparse(columns, 1, cells, dense, sums=False)
    sparse.used[:FREE] = len(keys), cells, dense
    region = regions_of(keys)
    sparse = sparse._replace(table=np.zeros((int(region[-1].sum()), 2), np.uint64), region=region, order=order)
    heads = np.empty(first, np.uint64)
    fill(sparse, columns, column, weight, begin, start, keys, heads)
    return heads, sparse


def spread_of(columns: int, keys: np.ndarray, count: np.ndarray, weight: np.ndarray, first: int = 0) -> float:
    """By how much the scores of one state's actions differ, as a standard deviation.

    Each template adds the weights of one of its features. How often it is which one is not known; but the more often,
    the more weights it has learned, so a feature is taken to be there in proportion to their number. The first rows,
    which have no key, are taken for one template.
    """
    squares, places = np.zeros(REGIONS), np.zeros(REGIONS)
    add_squares(keys, count, weight, first, squares, places)
    return float(np.sqrt((squares / np.maximum(places * columns, 1)).sum()))


@kernel
def add_squares(keys, count, weight, first, squares, places):
    """For the features of each template, each as often as it has weights: the sums of their weights' squares, and how
    many there are."""
    end, template, square, place = np.int64(0), np.uint64(0), 0.0, np.int64(0)
    for row in range(count.shape[0]):
        own, begin = np.int64(count[row]), end
        end += own
        if row >= first and keys[row - first] >> REGION != template:
            squares[template] += square
            places[template] += place
            template, square, place = keys[row - first] >> REGION, 0.0, np.int64(0)
        for k in range(begin, end):
            square += own * weight[k] * np.float64(weight[k])
        place += own
    squares[template] += square
    places[template] += place


@kernel(allocates=True)
def homes(region, keys):
    """Where the search for each key begins."""
    found = np.empty(keys.shape[0], np.uint64)
    for k in range(keys.shape[0]):
        found[k] = np.uint64(home(region, keys[k]))
    return found


@kernel(allocates=True)
def place_rows(begin, columns, start):
    """Where each row is to begin in the store, and how many cells and vectors all of them take.

    begin: where the weights of each row begin in the list of all.

    Rows stand by falling number of weights, those with as many in their order. Vectors are numbered apart, and a row of
    one weight has no place: its head is all there is.
    """
    rows, most = start.shape[0], 1
    for row in range(rows):
        most = max(most, begin[row + 1] - begin[row])
    alike = np.zeros(most + 1, np.int64)
    for row in range(rows):
        alike[begin[row + 1] - begin[row]] += 1
    cells, dense, many = 0, 0, dense_at(columns)
    place_of = np.zeros(most + 1, np.int64)
    for count in range(most, 1, -1):
        if count >= many:
            place_of[count] = dense
            dense += alike[count]
        else:
            place_of[count] = cells
            cells += alike[count] * count
    for row in range(rows):
        count = begin[row + 1] - begin[row]
        start[row] = place_of[count]
        if count > 1:
            place_of[count] += 1 if count >= many else count
    return cells, dense


@helper
def fill_row(sparse, columns, column, weight, lo, hi, start):
    """Put the weights of a row where it begins; its head."""
    order = sparse.order
    if hi - lo == 1:
        bits = np.float32(weight[lo]).view(np.uint32)
        return (np.uint64(bits) << WEIGHT) | (np.uint64(order[column[lo]]) << COUNT) | SINGLE
    if hi - lo >= dense_at(columns):
        longest = 0
        for k in range(lo, hi):
            place = order[column[k]]
            sparse.dense[start, place] = weight[k]
            longest = max(longest, place + 1)
        return dense_head(start, -(-longest // LINE) * LINE)
    for k in range(lo, hi):
        sparse.column[start + k - lo, 0] = order[column[k]]
        sparse.w[start + k - lo, 1] = weight[k]
    return (np.uint64(start) << START) | (np.uint64(hi - lo) << COUNT)


@kernel
def fill(sparse, columns, column, weight, begin, start, keys, heads):
    """Fill the store with the rows: the first have their heads apart, the others in the table, whose places are asked
    for before they are needed."""
    first, table, region = heads.shape[0], sparse.table, sparse.region
    for row in range(first):
        heads[row] = fill_row(sparse, columns, column, weight, begin[row], begin[row + 1], start[row])
    for j in range(keys.shape[0]):
        if j + AHEAD < keys.shape[0]:
            prefetch(table, home(region, keys[j + AHEAD]), 0)
        row = first + j
        k = home(region, keys[j])
        while table[k, 0] != ABSENT:
            k = after(table, k)
        table[k, 0] = keys[j]
        table[k, 1] = fill_row(sparse, columns, column, weight, begin[row], begin[row + 1], start[row])
