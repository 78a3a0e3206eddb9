"""One hashed vector: features are places in 2^bits weights, not told apart where they meet (Ganchev & Dredze 2008).

For features too many to be kept by name. Rows of relations may reach beyond the last place.
"""

from collections.abc import Sequence

import numpy as np

from structron.io.tensors import Tensor, Tensors
from structron.kernels.memory import aligned_zeros, forget
from structron.weights.mixing import Changes, Share, mix_at

CELLS, LOG_CELLS = 16, 4
"""Weights of a row: a cache line."""
HASHED_BLOCK = 1 << 20


def vector_size(bits: int, relations: int) -> int:
    """Weights of a vector of 2^bits places: the rows of relations may reach beyond the last one."""
    return (1 << bits) + max(1 << LOG_CELLS, relations)


def shift_of(bits: int) -> np.uint64:
    """How far to shift a code to get the number of its row."""
    return np.uint64(64 - bits + LOG_CELLS)


def make_vector(bits: int, relations: int, kind: type) -> np.ndarray:
    """A vector of zeros."""
    return aligned_zeros((vector_size(bits, relations),), kind)


class HashedStore:
    """Weights w and sums u."""

    def __init__(self, bits: int, relations: int):
        self.bits, self.relations = bits, relations
        self.w = make_vector(bits, relations, np.float32)
        self.u = make_vector(bits, relations, np.float64)

    def add(self, other: "HashedStore", share: float) -> None:
        """w += share · w of another store."""
        self.w += np.float32(share) * other.w

    def load(self, w: np.ndarray) -> None:
        """Begin with the weights of a vector that may have had fewer relations."""
        self.w[: len(w)] = w

    def state(self) -> Tensors:
        """Everything that later passes depend on."""
        places = np.flatnonzero((self.w != 0) | (self.u != 0))
        return {"place": places, "w": self.w[places], "u": self.u[places]}

    def restore(self, state: Tensors) -> None:
        """Take up the state of a store of the same size."""
        self.w[:], self.u[:] = 0, 0
        self.w[state["place"]], self.u[state["place"]] = state["w"], state["u"]

    def fold(self, scale: float, total: float) -> None:
        """v ← scale·v, u ← u - total·v: what is present stays the same, counted from a sum of 0 (update/alma.py)."""
        for lo in range(0, len(self.w), HASHED_BLOCK):
            part = slice(lo, lo + HASHED_BLOCK)
            self.u[part] -= total * self.w[part].astype(np.float64)
        self.w *= np.float32(scale)

    # -- shards (mixing.py) --------------------------------------------------------------------------------------------

    def copy_weights_from(self, other: "HashedStore") -> None:
        """The weights of another store, and no sums."""
        self.w[:], self.u[:] = other.w, 0

    def changes(self, before: "HashedStore") -> Changes:
        """What differs from another store, and all sums."""
        found = []
        for lo in range(0, len(self.w), HASHED_BLOCK):
            part = slice(lo, lo + HASHED_BLOCK)
            found.append(lo + np.flatnonzero((self.w[part] != before.w[part]) | (self.u[part] != 0)))
        place = np.concatenate(found)
        w, column = self.w[place], np.zeros(len(place), np.int32)
        return Changes(place.astype(np.uint64), column, w, w - before.w[place], self.u[place])

    def mix(self, shares: Sequence[Share], time: int, jobs: int = 1) -> None:
        """Take over what shards have changed; time: the steps of all of them so far."""
        for share in shares:
            mix_at(self.w, self.u, share.changes.row.astype(np.int64), share, time, jobs)

    def put(self, broadcast: Changes) -> None:
        """Set weights to what they are in another store."""
        self.w[broadcast.row.astype(np.int64)] = broadcast.w

    def present(self, part: slice, time: int, scale: float) -> np.ndarray:
        """Some of the weights, times the scale: means over `time` examples, 0: as they are."""
        if time:
            return self.w[part].astype(np.float64) * scale - self.u[part] / time
        return self.w[part] * scale


def mean_vector(stores: Sequence[tuple[HashedStore, int, float]], least: float, last: bool = False) -> np.ndarray:
    """The mean of several stores with their times and scales, block by block, without weights of at most `least`. last:
    nobody needs the stores any more."""
    first = stores[0][0]
    w = make_vector(first.bits, first.relations, np.float32)
    for lo in range(0, len(w), HASHED_BLOCK):
        part = slice(lo, lo + HASHED_BLOCK)
        w[part] = sum(store.present(part, time, scale) for store, time, scale in stores) / len(stores)
        w[part][np.abs(w[part]) <= least] = 0
        for store, _, _ in stores if last else ():
            forget(store.w, lo, lo + len(w[part]))
            forget(store.u, lo, lo + len(w[part]))
    return w


# -- files -----------------------------------------------------------------------------------------------------------


def declared_vector(bits: int, relations: int) -> dict[str, Tensor]:
    """A vector as its non-zero weights in a model file."""
    return {
        "place": Tensor("uint32", "cells", below=vector_size(bits, relations), ascending=True),
        "weight": Tensor("float32", "cells"),
    }


def vector_tensors(w: np.ndarray) -> Tensors:
    """For a model file."""
    blocks = [w[lo : lo + HASHED_BLOCK] for lo in range(0, len(w), HASHED_BLOCK)]
    own = [np.flatnonzero(block).astype(np.uint32) for block in blocks]
    weight = np.concatenate([block[places] for block, places in zip(blocks, own, strict=True)])
    return {
        "place": np.concatenate([places + np.uint32(k * HASHED_BLOCK) for k, places in enumerate(own)]),
        "weight": weight,
    }


def vector_of(tensors: Tensors, bits: int, relations: int) -> np.ndarray:
    """The inverse of `vector_tensors`, of arrays that were checked."""
    w = make_vector(bits, relations, np.float32)
    w[tensors["place"]] = tensors["weight"]
    return w
