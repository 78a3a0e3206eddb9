"""Cells: weights by (row, label), where labels are so many that rows would be mostly empty (search/chain/choices.py).

Stores of the same data number rows and labels alike, so a cell has the same key in all of them: that is how the mean of
several runs and the start from one-pass runs are made. A finished model has its weights row by row (`Rows`): a row is
one place in memory, whatever the number of labels that are asked for.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structron.io.tensors import Tensors
from structron.kernels.jit import helper, kernel
from structron.kernels.reference import Doubles, Floats, Ints, Keys, Numbers, by_reference
from structron.kernels.table import MULTIPLIER, SHIFT
from structron.weights.mixing import Changes, Share, mix_at

NONE = np.uint64(0)
FIRST = 1 << 16
RANGE, SAMPLE = 1 << 20, 64
"""Cells of which a mean is made at a time; of how many keys one is looked at to find such ranges."""


@by_reference
class Cells(NamedTuple):
    """Weights by row and label; capacity is a power of two, at most half of it used."""

    key: Keys  # uint64[capacity]: 1 + row · labels + label; 0: free
    w: Floats  # float32[capacity]
    u: Doubles  # float64[capacity] while learning: the sum for the mean (update/perceptron.py)
    used: Ints  # int64[1]


@by_reference
class Rows(NamedTuple):
    """Finished weights, one row after the other."""

    begin: Ints  # int64[rows + 1]
    label: Numbers  # int32[weights]: rising within a row
    w: Floats  # float32[weights]


@helper
def weight_in(rows, row, label):
    """The weight of a label in a row; 0 where there is none."""
    lo, end = rows.begin[row], rows.begin[row + 1]
    hi = end
    while lo < hi:
        middle = (lo + hi) >> 1
        if rows.label[middle] < label:
            lo = middle + 1
        else:
            hi = middle
    return rows.w[lo] if lo < end and rows.label[lo] == label else np.float32(0)


@helper
def home(cells, row, label, labels):
    """Where the search for a cell begins."""
    h = np.uint64(row * labels + label + 1) * MULTIPLIER
    return np.int64((h ^ (h >> SHIFT)) & np.uint64(cells.key.shape[0] - 1))


@helper
def cell_of(cells, row, label, labels):
    """The place of a cell, or of the free place where it would stand."""
    key = np.uint64(row * labels + label + 1)
    mask = cells.key.shape[0] - 1
    k = home(cells, row, label, labels)
    while cells.key[k] != key and cells.key[k] != NONE:
        k = (k + 1) & mask
    return k


@helper
def weight_of(cells, row, label, labels):
    """The weight of a cell; 0 where there is none."""
    k = cell_of(cells, row, label, labels)
    return cells.w[k] if cells.key[k] != NONE else np.float32(0)


@kernel
def insert(cells, row, label, weight, labels):
    """Store the weights of cells that are not there yet; the caller leaves room."""
    for j in range(row.shape[0]):
        k = cell_of(cells, row[j], label[j], labels)
        cells.key[k] = np.uint64(row[j] * labels + label[j] + 1)
        cells.w[k] = weight[j]
    cells.used[0] += row.shape[0]


def make_cells(count: int, learning: bool = False) -> Cells:
    """An empty table that so many cells fill at most half."""
    capacity = 1 << max(6, int(2 * max(count, 1) - 1).bit_length())
    u = np.zeros(capacity if learning else 0)
    return Cells(np.zeros(capacity, np.uint64), np.zeros(capacity, np.float32), u, np.zeros(1, np.int64))


class CellStore:
    """Weights w and sums u; capacity grows by doubling."""

    def __init__(self, labels: int):
        self.labels = labels
        self.cells = make_cells(FIRST, learning=True)

    def reserve(self, count: int) -> None:
        """Make room for so many further cells, and for many more."""
        key, w, u = self._filled()
        self._fill(key, w, u, max(2 * len(key), len(key) + count))

    def _filled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        used = np.flatnonzero(self.cells.key)
        return self.cells.key[used], self.cells.w[used], self.cells.u[used]

    def _fill(self, key: np.ndarray, w: np.ndarray, u: np.ndarray, capacity: int) -> None:
        self.cells = make_cells(max(capacity, FIRST), learning=True)
        row, label = np.divmod(key.astype(np.int64) - 1, self.labels)
        insert(self.cells, row, label, w.astype(np.float32), self.labels)
        places, order = np.flatnonzero(self.cells.key), np.argsort(key)
        self.cells.u[places] = u[order[np.searchsorted(key, self.cells.key[places], sorter=order)]]

    def add(self, other: "CellStore", share: float) -> None:
        """w += share · w of another store of the same data."""
        key, w = _united([self.present(0), other.present(0)], [1.0, share])
        own, _, u = self._filled()
        sums = np.zeros(len(key))
        sums[np.searchsorted(key, own)] = u
        self._fill(key, w, sums, 2 * len(key))

    def present(self, time: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys and weights: means over `time` examples, 0: as they are."""
        key, w, u = self._filled()
        return key, w - u / time if time else w.astype(np.float64)

    def state(self) -> Tensors:
        """Everything that later passes depend on."""
        return dict(zip(("key", "w", "u"), self._filled(), strict=True))

    def restore(self, state: Tensors) -> None:
        """Take up the state of a store of the same data."""
        self._fill(state["key"], state["w"], state["u"], 2 * len(state["key"]))

    # -- shards (mixing.py) --------------------------------------------------------------------------------------------

    def copy_weights_from(self, other: "CellStore") -> None:
        """The weights of another store of the same data, and no sums."""
        theirs = other.cells
        self.cells = Cells(theirs.key.copy(), theirs.w.copy(), np.zeros_like(theirs.u), theirs.used.copy())

    def changes(self, before: "CellStore") -> Changes:
        """What differs from another store of the same data, and all sums."""
        key, w, u = self._filled()
        change = w - before._weights_of(key)
        changed = (change != 0) | (u != 0)
        columns = np.zeros(int(changed.sum()), np.int32)
        return Changes(key[changed], columns, w[changed], change[changed], u[changed])

    def _weights_of(self, keys: np.ndarray) -> np.ndarray:
        """float32: the weights of cells, 0 where there are none."""
        key, w, _ = self._filled()
        if not len(key):
            return np.zeros(len(keys), np.float32)
        order = np.argsort(key)
        place = order[np.minimum(np.searchsorted(key, keys, sorter=order), len(key) - 1)]
        return np.where(key[place] == keys, w[place], np.float32(0))

    def mix(self, shares: Sequence[Share], time: int, jobs: int = 1) -> None:
        """Take over what shards have changed; time: the steps of all of them so far."""
        key, w, u = self._with(np.concatenate([share.changes.row for share in shares]))
        for share in shares:
            mix_at(w, u, np.searchsorted(key, share.changes.row), share, time, jobs)
        self._fill(key, w, u, 2 * len(key))

    def put(self, broadcast: Changes) -> None:
        """Set weights to what they are in another store."""
        key, w, u = self._with(broadcast.row)
        w[np.searchsorted(key, broadcast.row)] = broadcast.w
        self._fill(key, w, u, 2 * len(key))

    def _with(self, more: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sorted keys of these cells and of further ones, their weights and sums."""
        key, w, u = self._filled()
        every = np.union1d(key, more)
        weights, sums, place = np.zeros(len(every), np.float32), np.zeros(len(every)), np.searchsorted(every, key)
        weights[place], sums[place] = w, u
        return every, weights, sums


def mean_cells(stores: Sequence[tuple[CellStore, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Sorted keys and weights: the mean of several stores, each with its time, without what is zero. Keys are gone
    through in ranges: sorting all of them at once took more memory than learning."""
    found = [store.present(time) for store, time in stores]
    ranges = 1 + sum(len(key) for key, _ in found) // RANGE
    some = np.sort(np.concatenate([key[::SAMPLE] for key, _ in found]))
    bounds = [NONE, *some[len(some) * np.arange(1, ranges) // ranges], ~NONE]
    made = [_mean_in(found, lo, hi) for lo, hi in pairwise(bounds)]
    key, w = (np.concatenate(own) for own in zip(*made, strict=True))
    return key, w


def _mean_in(found: Sequence[tuple[np.ndarray, np.ndarray]], lo: int, hi: int) -> tuple[np.ndarray, np.ndarray]:
    """Those of the keys lo … hi-1."""
    places = [np.flatnonzero((key >= lo) & (key < hi)) for key, _ in found]
    own = [(key[place], w[place]) for place, (key, w) in zip(places, found, strict=True)]
    key, w = _united(own, [1 / len(found)] * len(found))
    kept = w.astype(np.float32) != 0
    return key[kept], w[kept].astype(np.float32)


def _united(found: Sequence[tuple[np.ndarray, np.ndarray]], shares: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Sorted keys of all, and the sums of shares of their weights."""
    key, place = np.unique(np.concatenate([key for key, _ in found]), return_inverse=True)
    weighted = [share * w for share, (_, w) in zip(shares, found, strict=True)]
    return key, np.bincount(place, np.concatenate(weighted), len(key)) if len(key) else np.zeros(0)


def cells_from(row: np.ndarray, label: np.ndarray, weight: np.ndarray, labels: int) -> Cells:
    """A table of given weights."""
    cells = make_cells(len(row))
    insert(cells, row.astype(np.int64), label.astype(np.int64), weight, labels)
    return cells


def rows_from(row: np.ndarray, label: np.ndarray, weight: np.ndarray, rows: int) -> Rows:
    """Given weights row by row; they are sorted by row."""
    begin, label = np.zeros(rows + 1, np.int64), label.astype(np.int32)
    np.cumsum(np.bincount(row, minlength=rows), out=begin[1:])
    if ((np.diff(row) == 0) & (np.diff(label) < 0)).any():
        order = np.lexsort((label, row))
        label, weight = label[order], weight[order]
    return Rows(begin, label, weight)
