"""Dense rows: a growing matrix with one weight per label in each row, and the sums for their exact mean.

float32 weights, float64 sums: perceptron updates are whole numbers, which both hold exactly. The first rows are fixed
(label n-grams). A feature gets a row when an update first touches it; a paired feature gets a block of rows, one for
each previous label, filled one by one. Stores of the same data number their features alike, so stores are added row by
row: that is how the mean of several runs and the start from one-pass runs are made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.io.tensors import NUMBERS, Tensor, Tensors, number_kind
from structron.kernels.memory import aligned_zeros, move
from structron.runtime.threads import for_each
from structron.weights.mixing import Changes, Share, mix_at

FIRST_ROWS = 4096
FIRST_BLOCKS = 256
STEP = 1 << 14
"""Rows that are looked at together."""


def row_stride(columns: int) -> int:
    """Rows are padded to whole vectors of eight: denser in cache than whole cache lines, and measured faster."""
    return 4 if columns <= 4 else -(-columns // 8) * 8


@dataclass(slots=True)
class MeanRows:
    """The rows of a finished model: features without weight are left out."""

    w: np.ndarray  # float32[rows, stride]: the fixed rows, a row for each feature, then those of paired features
    numbers: np.ndarray  # of the features
    pair_numbers: np.ndarray  # of the paired features
    block_rows: np.ndarray  # int32[paired features, labels + 1]: rows of w, -1: none


class DenseStore:
    """Weights w and sums u of `size[0]` rows and `size[1]` blocks; capacity grows by doubling."""

    def __init__(self, labels: int, fixed: int, features: int, pairs: int, paired: bool):
        """paired: whether there are paired features at all."""
        self.labels, self.fixed, self.features, self.pairs, self.paired = labels, fixed, features, pairs, paired
        self.stride = row_stride(labels)
        capacity = fixed + max(FIRST_ROWS, features // 2)
        self.w = aligned_zeros((capacity, self.stride), np.float32)
        self.u = aligned_zeros((capacity, self.stride), np.float64)
        self.size = np.array([fixed, 0], np.int64)
        self.row_of = np.full(features, -1, np.int32)
        self.block_of = np.full(pairs, -1, np.int32)
        self.block_rows = np.full((FIRST_BLOCKS if paired else 0, labels + 1), -1, np.int32)

    def reserve(self, rows: int, blocks: int = 0) -> None:
        """Make room for that many further rows and blocks."""
        used = int(self.size[0])
        if used + rows > len(self.w):
            capacity = max(used + rows, 2 * len(self.w))
            self.w, self.u = _grown(self.w, capacity, used), _grown(self.u, capacity, used)
        if int(self.size[1]) + blocks > len(self.block_rows):
            more = np.full((max(blocks, len(self.block_rows)), self.labels + 1), -1, np.int32)
            self.block_rows = np.concatenate([self.block_rows, more])

    def claim(self, count: int) -> np.ndarray:
        """The numbers of fresh rows."""
        self.reserve(count)
        first = int(self.size[0])
        self.size[0] += count
        return np.arange(first, first + count, dtype=np.int32)

    def mean(self, time: int) -> np.ndarray:
        """float32[rows, stride]: the mean of w over `time` examples (see update/perceptron.py); 0: w as it is."""
        used = int(self.size[0])
        if time == 0:
            return self.w[:used].copy()
        mean = np.empty_like(self.w[:used])
        for lo in range(0, used, STEP):
            part = slice(lo, min(used, lo + STEP))
            mean[part] = self.w[part] - self.u[part] / time
        return mean

    def add(self, other: "DenseStore", share: float) -> None:
        """w += share · w of another store of the same features."""
        self.w[: self.fixed] += share * other.w[: self.fixed]
        numbers = np.flatnonzero(other.row_of >= 0)
        fresh = numbers[self.row_of[numbers] < 0]
        self.row_of[fresh] = self.claim(len(fresh))
        self.w[self.row_of[numbers]] += share * other.w[other.row_of[numbers]]
        numbers = np.flatnonzero(other.block_of >= 0)
        fresh = numbers[self.block_of[numbers] < 0]
        self.reserve(0, len(fresh))
        self.block_of[fresh] = np.arange(self.size[1], self.size[1] + len(fresh))
        self.size[1] += len(fresh)
        theirs = other.block_rows[other.block_of[numbers]]
        block, context = np.nonzero(theirs >= 0)
        ours = self.block_of[numbers][block]
        missing = self.block_rows[ours, context] < 0
        self.block_rows[ours[missing], context[missing]] = self.claim(int(missing.sum()))
        self.w[self.block_rows[ours, context]] += share * other.w[theirs[block, context]]

    def state(self) -> Tensors:
        """Everything that later passes depend on."""
        used, blocks = self.size
        rows = {"w": self.w[:used], "u": self.u[:used], "size": self.size, "row_of": self.row_of}
        return rows | {"block_of": self.block_of, "block_rows": self.block_rows[:blocks]}

    def restore(self, state: Tensors) -> None:
        """Take up the state of a store of the same features."""
        if len(state["row_of"]) != len(self.row_of) or state["w"].shape[1:] != (self.stride,):
            raise StructronError(
                "the checkpoint was made from other data or options; remove it or train without --resume"
            )
        used, blocks = (int(n) for n in state["size"])
        self.reserve(max(0, used - int(self.size[0])))
        self.w[:used], self.u[:used], self.size[:] = state["w"], state["u"], state["size"]
        self.row_of[:], self.block_of[:] = state["row_of"], state["block_of"]
        spare = max(FIRST_BLOCKS, blocks) if blocks else len(self.block_rows)
        spare_rows = np.full((spare, self.labels + 1), -1, np.int32)
        self.block_rows = np.concatenate([state["block_rows"], spare_rows])

    def rows_of(self, packed: MeanRows) -> np.ndarray:
        """For each row of a packed store this one's, -1 where it has none."""
        used = packed.block_rows >= 0
        block_of = self.block_of[packed.pair_numbers]
        rows = np.where(block_of[:, None] >= 0, self.block_rows[block_of], -1) if len(block_of) else used
        return np.concatenate([np.arange(self.fixed), self.row_of[packed.numbers], rows[used]]).astype(np.int64)

    # -- shards (mixing.py) --------------------------------------------------------------------------------------------

    def copy_weights_from(self, other: "DenseStore") -> None:
        """The weights of another store of the same data, and no sums."""
        used, old = int(other.size[0]), int(self.size[0])
        if len(self.w) < used:
            self.w, self.u = (aligned_zeros(other.w.shape, kind) for kind in (np.float32, np.float64))
        self.w[:used], self.w[used:old], self.u[: max(used, old)] = other.w[:used], 0, 0
        self.row_of[:], self.block_of[:], self.size[:] = other.row_of, other.block_of, other.size
        self.block_rows = other.block_rows.copy()

    def changes(self, before: "DenseStore") -> Changes:
        """What differs from the store whose weights this one has copied, and all sums."""
        used, known = int(self.size[0]), int(before.size[0])
        names, found = self._names(), []
        for lo in range(0, used, STEP):
            w, u = self.w[lo : min(used, lo + STEP)], self.u[lo : min(used, lo + STEP)]
            old = np.zeros_like(w)
            old[: max(0, known - lo)] = before.w[lo : min(known, lo + len(w))]
            row, column = np.nonzero((w != old) | (u != 0))
            now = w[row, column]
            found.append((names[lo + row], column.astype(np.int32), now, now - old[row, column], u[row, column]))
        return Changes(*map(np.concatenate, zip(*found, strict=True)))

    def _names(self) -> np.ndarray:
        """uint64[rows]: what each row is called in every store of the same data."""
        names = np.arange(int(self.size[0]), dtype=np.uint64)
        numbers, pairs = np.flatnonzero(self.row_of >= 0), np.flatnonzero(self.block_of >= 0)
        names[self.row_of[numbers]] = self.fixed + numbers
        rows = self.block_rows[self.block_of[pairs]]
        pair, context = np.nonzero(rows >= 0)
        names[rows[pair, context]] = self.fixed + self.features + pairs[pair] * (self.labels + 1) + context
        return names

    def _named(self, names: np.ndarray) -> np.ndarray:
        """int64: the rows of that name; those that are missing are made."""
        every, inverse = np.unique(names.astype(np.int64), return_inverse=True)
        rows, number, paired = every.copy(), every - self.fixed, every >= self.fixed + self.features
        plain = number[(number >= 0) & ~paired]
        fresh = plain[self.row_of[plain] < 0]
        self.row_of[fresh] = self.claim(len(fresh))
        rows[(number >= 0) & ~paired] = self.row_of[plain]
        pair, context = np.divmod(number[paired] - self.features, self.labels + 1)
        fresh = np.unique(pair[self.block_of[pair] < 0])
        self.reserve(0, len(fresh))
        self.block_of[fresh] = np.arange(self.size[1], self.size[1] + len(fresh))
        self.size[1] += len(fresh)
        block = self.block_of[pair]
        missing = self.block_rows[block, context] < 0
        self.block_rows[block[missing], context[missing]] = self.claim(int(missing.sum()))
        rows[paired] = self.block_rows[block, context]
        return rows[inverse]

    def mix(self, shares: Sequence[Share], time: int, jobs: int = 1) -> None:
        """Take over what shards have changed; time: the steps of all of them so far."""
        for share in shares:
            place = self._named(share.changes.row) * self.w.shape[1] + share.changes.column
            mix_at(self.w.reshape(-1), self.u.reshape(-1), place, share, time, jobs)

    def put(self, broadcast: Changes) -> None:
        """Set weights to what they are in another store."""
        self.w[self._named(broadcast.row), broadcast.column] = broadcast.w


def _grown(old: np.ndarray, capacity: int, used: int) -> np.ndarray:
    return move(old, aligned_zeros((capacity, old.shape[1]), old.dtype.type), used)


def pack_mean(
    stores: Sequence[DenseStore], weights: Sequence[np.ndarray], everything: bool = False, jobs: int = 1
) -> MeanRows:
    """The mean of several stores' weights, packed. weights: of each, as they count; everything: zero rows too."""
    first = stores[0]
    features = np.zeros(len(first.row_of), bool)
    blocks = np.zeros((len(first.block_of), first.labels + 1), bool)

    def over(run: Callable[[Any], Any], work: Sequence[Any]) -> list[Any]:
        return list(map(run, work)) if jobs == 1 else for_each(run, work, jobs)

    def used_by(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The features of a store that have a weight, and those that are paired, by their blocks."""
        store, w = stores[k], weights[k]
        counts = np.ones(len(w), bool) if everything else (w != 0).any(axis=1)
        touched = np.flatnonzero(store.row_of >= 0)
        paired = np.flatnonzero(store.block_of >= 0)
        rows = store.block_rows[store.block_of[paired]]
        return touched[counts[store.row_of[touched]]], paired, (rows >= 0) & counts[rows]

    for touched, paired, block in over(used_by, range(len(stores))):
        features[touched] = True
        blocks[paired] |= block
    numbers, pair_numbers = np.flatnonzero(features), np.flatnonzero(blocks.any(axis=1))
    used = blocks[pair_numbers]
    total = first.fixed + len(numbers) + int(used.sum())
    block_rows = np.full(used.shape, -1, np.int32)
    block_rows[used] = np.arange(first.fixed + len(numbers), total)
    packed = MeanRows(aligned_zeros((total, first.stride), np.float32), numbers, pair_numbers, block_rows)
    rows = over(lambda store: store.rows_of(packed), stores)

    def add_up(lo: int) -> None:
        """Rows lo and following, of one store after the other: however many threads there are, sums are the same."""
        for own, w in zip(rows, weights, strict=True):
            part = own[lo : lo + STEP]
            if len(stores) == 1:
                packed.w[lo : lo + STEP] = w[part]
            else:
                has = np.flatnonzero(part >= 0)
                packed.w[lo + has] += w[part[has]] / np.float32(len(stores))

    over(add_up, range(0, total, STEP))
    return packed


# -- files -----------------------------------------------------------------------------------------------------------


def declared_cells(rows: str, columns: str | int) -> dict[str, Tensor]:
    """Rows as their non-zero weights; their size by name, and the size or number that columns stay below."""
    return {
        "weight_count": Tensor(NUMBERS, rows, adds_up="cells"),
        "weight_label": Tensor(f"uint8|{NUMBERS}", "cells", below=columns),
        "weight": Tensor("float32", "cells"),
    }


def cell_tensors(row: np.ndarray, column: np.ndarray, weight: np.ndarray, rows: int, columns: int) -> Tensors:
    """Weights sorted by row, as a model file holds them; a row has up to `columns` of them."""
    kind = np.uint8 if columns <= 256 else number_kind(columns)
    counts = np.bincount(row, minlength=rows).astype(number_kind(columns + 1))
    return {"weight_count": counts, "weight_label": column.astype(kind), "weight": weight}


def cells_in(tensors: Tensors) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The inverse of `cell_tensors`, of arrays that were checked: row, column, weight."""
    counts = tensors["weight_count"]
    return np.repeat(np.arange(len(counts)), counts), tensors["weight_label"], tensors["weight"]


def sparse_rows(w: np.ndarray, columns: int) -> Tensors:
    """A matrix as its non-zero weights: what a model file holds."""
    row, column = np.divmod(np.flatnonzero(w), w.shape[1])  # far faster than np.nonzero
    if columns < w.shape[1] and w[:, columns:].any():
        row, column = row[column < columns], column[column < columns]
    return cell_tensors(row, column, w[row, column], len(w), columns)


def dense_rows(tensors: Tensors, columns: int) -> np.ndarray:
    """The inverse of `sparse_rows`, padded and aligned, of arrays that were checked."""
    row, column, weight = cells_in(tensors)
    w = aligned_zeros((len(tensors["weight_count"]), row_stride(columns)), np.float32)
    w[row, column] = weight
    return w
