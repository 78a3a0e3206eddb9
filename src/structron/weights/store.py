"""Stores of weights: what learners change and models are made of.

Three kinds, for three shapes of problem: dense rows (dense.py: few labels, every feature has a row), sparse rows (here:
many actions, most features count for one or two) and one hashed vector (hashed.py: too many features to tell apart).
All can be told to add, to give their state and take it back, and stores of the same kind have a mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from structron.errors import StructronError
from structron.io.tensors import Tensor, Tensors
from structron.kernels.memory import pieces
from structron.kernels.table import ABSENT
from structron.runtime.threads import for_each
from structron.weights.changes import compare, make_scratch, missing, mix_known, mix_rows, put_rows
from structron.weights.dense import cell_tensors, cells_in, declared_cells
from structron.weights.mixing import Changes, Share, cut, make_changes
from structron.weights.sparse import (
    CELLS,
    CLASSES,
    COUNT,
    DENSE,
    DENSE_ROWS,
    FREE,
    GROWING,
    KEYS,
    START,
    Row,
    Sparse,
    cells_of,
    dense_at,
    dense_heads,
    make_sparse,
    reinsert,
)

FIRST_CELLS, FIRST_DENSE = 1 << 22, 1 << 14
NO_KEYS = np.zeros(0, np.uint64)
NO_WEIGHTS = Row(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))

MEAN_BLOCK = 1 << 17
"""Weights or rows that are gone through at a time when means are made."""
LOOK, RANGE, SAMPLE = 1 << 15, 16, 1 << 12
"""Rows that a model is filled with at a time, how many times as many are sorted, and keys that the bounds between these
are guessed from."""
BY_ROW = ("keys", "weight_count")
"""Arrays of a file that have a place for each row; the others have one for each weight."""


class SparseStore:
    """Sparse rows of features that are made in states, and of features that were numbered before (`anchored`).

    sparse: rows by key.   table: uint64[numbered features, 2], their keys and heads.
    """

    def __init__(self, columns: int, anchored_keys: np.ndarray):
        self.columns = columns
        self.table = np.stack([anchored_keys, np.zeros_like(anchored_keys)], axis=1)
        self.sparse: Sparse = make_sparse(columns, FIRST_CELLS >> 4, FIRST_CELLS, FIRST_DENSE)

    def grow(self, keys: int, cells: int, dense: int) -> None:
        """Make room for that many further keys, cells and dense rows."""
        for larger in GROWING:
            self.sparse = larger(self.sparse, keys, cells, dense)

    def state(self) -> Tensors:
        """Everything that later passes depend on."""
        sparse = self.sparse
        cells, dense = int(sparse.used[CELLS]), int(sparse.used[DENSE_ROWS])
        return {
            "table": sparse.table[sparse.table[:, 0] != 0],
            "column": sparse.column[:cells],
            "u": sparse.u[:cells],
            "dense": sparse.dense[:dense],
            "dense_u": sparse.dense_u[:dense],
            "used": sparse.used,
            "anchored": np.ascontiguousarray(self.table[:, 1]),
        }

    def restore(self, state: Tensors) -> None:
        """Take up the state of a store of the same features."""
        if len(state["anchored"]) != len(self.table):
            raise StructronError(
                "the checkpoint was made from other data or options; remove it or train without --resume"
            )
        cells, dense = len(state["column"]), len(state["dense"])
        sparse = self._make(len(state["table"]), cells, dense)
        sparse.dense[:dense], sparse.dense_u[:dense] = state["dense"], state["dense_u"]
        table = np.array(state["table"])
        self.table[:, 1] = state["anchored"]
        for heads in (table[:, 1], self.table[:, 1]):  # states of earlier versions have no lengths of vectors
            heads[heads & CLASSES == DENSE] |= np.uint64(sparse.dense.shape[1]) << COUNT
        reinsert(table, sparse.table, sparse.region)
        sparse.column[:cells], sparse.u[:cells], sparse.used[:] = state["column"], state["u"], state["used"]

    def _make(self, keys: int, cells: int, dense: int) -> Sparse:
        sizes = (max(FIRST_CELLS >> 4, 2 * keys), max(FIRST_CELLS, 2 * cells), max(FIRST_DENSE, 2 * dense))
        self.sparse = make_sparse(self.columns, *sizes)
        return self.sparse

    def present(self, time: int, scale: float) -> tuple[np.ndarray, Row]:
        """Keys and rows, numbered features first: means over `time` examples, 0: as they are; times the scale."""
        found = self.sparse.table[self.sparse.table[:, 0] != 0]
        both = np.concatenate([self.table, found])
        heads, found = both[:, 1].copy(), both[:0]
        some = [
            (lo, cells_of(self.sparse, heads[lo : lo + MEAN_BLOCK], time, scale))
            for lo in range(0, len(heads), MEAN_BLOCK)
        ]
        some = some or [(0, cells_of(self.sparse, heads, time, scale))]
        place = np.concatenate([rows.place + lo for lo, rows in some])
        column, weight = (np.concatenate([getattr(rows, name) for _, rows in some]) for name in ("column", "weight"))
        return both[:, 0].copy(), Row(place, column, weight)

    def lean(
        self, time: int, scale: float, least: float, *others: tuple["SparseStore", int, float]
    ) -> tuple[np.ndarray, Tensors, int]:
        """What `mean_rows` makes of `present`, as a file holds it, and how many keys are those of numbered features; in
        blocks from the start, since all of it at once would take more memory than learning.

        others: stores of the same features, each with its time and scale, which are part of the mean.
        """
        members = [(self, time, scale), *others]
        empty = {"keys": NO_KEYS} | cell_tensors(*NO_WEIGHTS, 0, self.columns)
        rows = len(self.table) + sum(int(store.sparse.used[KEYS]) for store, _, _ in members)
        weights = sum(
            int(store.sparse.used[CELLS]) + int(store.sparse.used[DENSE_ROWS]) * self.columns for store, _, _ in members
        )
        pile = AppendBuffer({name: (array.dtype, rows if name in BY_ROW else weights) for name, array in empty.items()})
        numbered = 0
        for tables in ([store.table for store, _, _ in members], [store.sparse.table for store, _, _ in members]):
            numbered = pile.height("keys")
            for orders in by_key([table[:, 0] for table in tables]):
                own = [table[order] for table, order in zip(tables, orders, strict=True)]
                found = [cells_of(m[0].sparse, rows[:, 1], m[1], m[2]) for m, rows in zip(members, own, strict=True)]
                keys, mean = _mean_of(list(zip((rows[:, 0] for rows in own), found, strict=True)), self.columns, least)
                pile.put(cell_tensors(*mean, len(keys), self.columns))
                pile.put({"keys": keys})
        arrays = pile.arrays()
        return arrays.pop("keys"), arrays, numbered

    def fold(self, scale: float, total: float) -> None:
        """v ← scale·v, u ← u - total·v: what is present stays the same, counted from a sum of 0 (update/alma.py)."""
        sparse, cells, rows = self.sparse, int(self.sparse.used[CELLS]), int(self.sparse.used[DENSE_ROWS])
        for v, u in ((sparse.w[:cells, 1], sparse.u[:cells]), (sparse.dense[:rows], sparse.dense_u[:rows])):
            u -= total * v.astype(np.float64)
            v *= np.float32(scale)

    def keep_mean(self, time: int, scale: float) -> None:
        """v ← what `present` makes of it. There are no sums then, and nothing can be added any more."""
        sparse, cells, rows = self.sparse, int(self.sparse.used[CELLS]), int(self.sparse.used[DENSE_ROWS])
        for v, u, used in ((sparse.w, sparse.u[:, None], cells), (sparse.dense, sparse.dense_u, rows)):
            for lo, hi in pieces(u, used):
                weight = scale * v[lo:hi, -u.shape[1] :].astype(np.float64)
                v[lo:hi, -u.shape[1] :] = weight - u[lo:hi] / time if time > 0 else weight
        self.sparse = sparse._replace(u=np.zeros(0), dense_u=np.zeros((0, 0)))

    def load(self, keys: np.ndarray, rows: Row, first: int) -> None:
        """Fill an empty store with rows, those of the first numbered features and of the keys, ready to grow."""
        count = np.bincount(rows.place, minlength=first + len(keys))
        dense = count >= dense_at(self.columns)
        size = np.ceil(np.log2(np.maximum(count, 1))).astype(np.int64)
        capacity = np.where(dense | (count == 0), 0, 1 << size)
        begin, number = np.cumsum(capacity) - capacity, np.cumsum(dense) - dense
        used = (len(keys), int(capacity.sum()), int(dense.sum()))
        sparse = self._make(*used)
        inner = np.arange(len(rows.place)) - np.repeat(np.cumsum(count) - count, count)
        whole = dense[rows.place]
        cell = (begin[rows.place] + inner)[~whole]
        sparse.column[cell, 0], sparse.w[cell, 1] = rows.column[~whole], rows.weight[~whole]
        sparse.dense[number[rows.place[whole]], rows.column[whole]] = rows.weight[whole]
        kept = (begin.astype(np.uint64) << START) | (count.astype(np.uint64) << COUNT) | size.astype(np.uint64)
        vectors = dense_heads(number, np.full(len(number), sparse.dense.shape[1]))
        heads = np.where(dense, vectors, np.where(count > 0, kept, ABSENT))
        reinsert(np.stack([keys, heads[first:]], axis=1), sparse.table, sparse.region)
        sparse.used[:FREE] = used
        self.table[:first, 1] = heads[:first]

    def add(self, other: "SparseStore", share: float) -> None:
        """w += share · w of another store of the same features."""
        ours, theirs = self.present(0, 1.0), other.present(0, share)
        keys, rows = mean_rows([ours, theirs], self.table[:, 0], total=1)
        count = int(np.isin(keys, self.table[:, 0]).sum()) if len(self.table) else 0
        order = np.argsort(self.table[:, 0], kind="stable")
        place = order[np.searchsorted(self.table[:, 0], keys[:count], sorter=order)] if count else order[:0]
        rank = np.concatenate([place, len(self.table) + np.arange(len(keys) - count)])
        sort = np.argsort(rank[rows.place], kind="stable")
        moved = Row(rank[rows.place][sort], rows.column[sort], rows.weight[sort])
        self.load(keys[count:], moved, len(self.table))

    # -- shards (mixing.py) ----------------------------------------------------------------------------------------

    def copy_weights_from(self, other: "SparseStore") -> None:
        """The weights of another store of the same data, and no sums."""
        theirs, cells, dense = other.sparse, int(other.sparse.used[CELLS]), int(other.sparse.used[DENSE_ROWS])
        own = self.sparse
        if len(own.table) != len(theirs.table) or len(own.column) < cells or len(own.dense) < dense:
            made = make_sparse(self.columns, 1, len(theirs.column), len(theirs.dense))
            self.sparse = own = made._replace(table=np.empty_like(theirs.table), region=theirs.region)
        used = max(dense, int(own.used[DENSE_ROWS]))
        own.table[:], own.column[:cells], own.u[:cells] = theirs.table, theirs.column[:cells], 0
        own.dense[:dense], own.dense[dense:used], own.dense_u[:used] = theirs.dense[:dense], 0, 0
        own.used[:] = theirs.used
        self.table[:, 1] = other.table[:, 1]

    def changes(self, before: "SparseStore") -> Changes:
        """What differs from another store of the same data, and all sums."""
        sparse, old = self.sparse, before.sparse
        found = make_changes(int(sparse.used[CELLS]) + int(sparse.used[DENSE_ROWS]) * sparse.dense.shape[1])
        given = (sparse, sparse.u[:, None], self.table, old, old.u[:, None], before.table)
        count = compare(*given, make_scratch(int(sparse.used[CELLS])), found)
        return Changes(*(array[:count].copy() for array in found))

    def mix(self, shares: Sequence[Share], time: int, jobs: int = 1) -> None:
        """Take over what shards have changed; time: the steps of all of them so far."""
        for share in shares:
            left = self._mix_known(share, time, jobs)
            changes, scale, done = Changes(*(array[left] for array in share.changes)), share.scale[left], 0
            while done < len(left):
                given = (self.sparse, self.sparse.u[:, None], self.table, changes)
                done = mix_rows(*given, share.weight, scale, float(time), float(share.steps), done)
                self._reserve(len(left) - done)

    def _mix_known(self, share: Share, time: int, jobs: int) -> np.ndarray:
        """Mix what has its place, on several threads, and make room for the other rows. Returns the changes left: their
        places are made one after the other, the same whatever the number of threads."""
        changes, weight, steps, scale = share
        known = np.empty(len(changes.row), np.bool_)

        def mix(part: tuple[int, int]) -> int:
            given = (self.sparse, self.sparse.u[:, None], self.table, changes)
            return int(mix_known(*given, weight, scale, float(time), float(steps), *part, known))

        self._expect(sum(for_each(mix, cut(known, jobs), jobs)))
        return np.flatnonzero(~known)

    def put(self, broadcast: Changes) -> None:
        """Set weights to what they are in another store."""
        self._expect(int(missing(self.sparse, self.table, broadcast.row)))
        done = 0
        while done < len(broadcast.row):
            done = put_rows(self.sparse, self.table, broadcast, done)
            self._reserve(len(broadcast.row) - done)

    def _expect(self, new: int) -> None:
        """Capacity for all rows that are new: they come in the order of their hashes, so that those of a smaller table
        would all begin at its front, one behind the other."""
        self.grow(new + 2, 0, 0)

    def _reserve(self, left: int) -> None:
        """Twice the capacity, if weights are left that have none."""
        if left:
            self.grow(2, 4 * dense_at(self.sparse.dense.shape[1]) + 1, 2)


class AppendBuffer:
    """Arrays that are filled from the front. They have room for all that may come: what is not touched takes none."""

    def __init__(self, kinds: Mapping[str, tuple[np.dtype, int]]):
        """kinds: the type of each array, and how long it may become."""
        self._arrays = {name: np.empty(most, kind) for name, (kind, most) in kinds.items()}
        self._heights = dict.fromkeys(kinds, 0)

    def height(self, name: str) -> int:
        """How far an array is filled."""
        return self._heights[name]

    def put(self, values: Tensors) -> None:
        """Add to some of the arrays."""
        for name, own in values.items():
            lo = self._heights[name]
            self._heights[name] = lo + len(own)
            self._arrays[name][lo : lo + len(own)] = own

    def arrays(self) -> Tensors:
        """What was put; the rest of the capacity is given back, and nothing can be added any more."""
        for name, array in self._arrays.items():
            array.resize(self._heights[name], refcheck=False)
        return self._arrays


def by_key(tables: Sequence[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """Where the keys of some tables stand that are not 0, in their order: block by block, the same keys of each table,
    about LOOK of all.

    The bounds between blocks are guessed from a few keys, so that never all of them are sorted at once.
    """
    every = sum(map(len, tables))
    some = np.concatenate([keys[:: max(1, len(keys) // SAMPLE)] for keys in tables])
    some = np.sort(some[some > 0])
    ranges = 1 + every // (RANGE * LOOK) if len(some) else 1
    bounds = np.unique([np.uint64(1), *some[len(some) * np.arange(1, ranges) // ranges]])
    for k, lo in enumerate(bounds):
        orders, sorted_keys = [], []
        for keys in tables:
            own = keys >= lo
            if k + 1 < len(bounds):
                own &= keys < bounds[k + 1]
            order = np.flatnonzero(own)
            orders.append(order[np.argsort(keys[order])])
            sorted_keys.append(keys[orders[-1]])
        cuts = np.sort(np.concatenate(sorted_keys))[LOOK::LOOK]
        ends = [[0, *np.searchsorted(own, cuts).tolist(), len(own)] for own in sorted_keys]
        for j in range(len(cuts) + 1):
            yield [order[own[j] : own[j + 1]] for order, own in zip(orders, ends, strict=True)]


def _mean_of(members: Sequence[tuple[np.ndarray, Row]], columns: int, least: float) -> tuple[np.ndarray, Row]:
    """The mean of sets of rows by sorted keys, without weights of at most `least`, and without empty rows."""
    keys = members[0][0] if len(members) == 1 else np.unique(np.concatenate([keys for keys, _ in members]))
    cells = [np.searchsorted(keys, own)[rows.place] * columns + rows.column for own, rows in members]
    weight = np.concatenate([rows.weight for _, rows in members]).astype(np.float64)
    found, inverse = np.unique(np.concatenate(cells), return_inverse=True)
    mean = (np.bincount(inverse, weight, minlength=len(found)) / len(members)).astype(np.float32)
    kept = np.abs(mean) > least
    place, column = np.divmod(found[kept], columns)
    used, place = np.unique(place, return_inverse=True)
    return keys[used], Row(place, column.astype(np.int32), mean[kept])


def _means(
    members: Sequence[tuple[np.ndarray, Row]],
    places: Sequence[np.ndarray],
    lo: int,
    hi: int,
    width: int,
    total: int,
    least: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The mean weights of keys lo … hi-1 that are to be kept, sorted; a weight is known by key · width + column."""
    own = [(place >= lo) & (place < hi) for place in places]
    cells = [
        place[some].astype(np.int64) * width + rows.column[some]
        for place, some, (_, rows) in zip(places, own, members, strict=True)
    ]
    weight = np.concatenate([rows.weight[some] for some, (_, rows) in zip(own, members, strict=True)])
    found, inverse = np.unique(np.concatenate(cells), return_inverse=True)
    mean = (np.bincount(inverse, weight.astype(np.float64), minlength=len(found)) / total).astype(np.float32)
    kept = np.abs(mean) > least
    return found[kept], mean[kept]


def mean_rows(
    members: Sequence[tuple[np.ndarray, Row]], first: np.ndarray, least: float = 0.0, total: int | None = None
) -> tuple[np.ndarray, Row]:
    """The mean of several sets of rows by key, without weights of at most `least`, and without empty rows.

    first: keys that come before all others.   total: divide by this instead of the number of sets. Weights are gone
    through in blocks: sorting all of them at once took more memory than learning.
    """
    keys, inverse = np.unique(np.concatenate([keys for keys, _ in members]), return_inverse=True)
    offsets = np.cumsum([0, *(len(keys) for keys, _ in members)])
    places = [inverse[rows.place + lo].astype(np.int32) for (_, rows), lo in zip(members, offsets, strict=False)]
    width = 1 + max(int(rows.column.max(initial=0)) for _, rows in members)
    blocks = 1 + sum(map(len, places)) // MEAN_BLOCK
    bounds = [len(keys) * k // blocks for k in range(blocks + 1)]
    found = [_means(members, places, lo, hi, width, total or len(members), least) for lo, hi in pairwise(bounds)]
    cells, mean = (np.concatenate(own) for own in zip(*found, strict=True))
    used, place = np.unique(cells // width, return_inverse=True)
    keys, rows = keys[used], Row(place, (cells % width).astype(np.int32), mean)
    if not len(first):
        return keys, rows
    early = np.isin(keys, first)
    order = np.argsort(~early, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    sort = np.argsort(rank[rows.place], kind="stable")
    return keys[order], Row(rank[rows.place][sort], rows.column[sort], rows.weight[sort])


# -- files -----------------------------------------------------------------------------------------------------------


def declared_rows(columns: int) -> dict[str, Tensor]:
    """The arrays of sparse rows in a model file."""
    keys = {"keys": Tensor("uint64", "keys", least=1), "anchored_keys": Tensor("uint64", "anchored", least=1)}
    return keys | declared_cells("all keys", columns)


def rows_of(tensors: Tensors) -> Row:
    """The inverse of `cell_tensors`, of arrays that were checked."""
    place, column, weight = cells_in(tensors)
    return Row(place, column.astype(np.int32), weight)
