"""Numbering the features of a training set: count, cut off, rank by frequency.

Frequent features get low numbers, so that the rows of hot features lie close together; row numbers of a training
set are found once here and reused in every pass.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from structron.features.extract import NO_VALUES, Hashes
from structron.features.names import Names
from structron.kernels.jit import compiled
from structron.kernels.table import ABSENT, empty_table, table_find, table_insert, table_number
from structron.threads import in_order

STRETCH = 500
"""Sentences whose hashes are in memory at one time."""
TOGETHER = 64
"""Features that are looked up together."""
NEW_SHARE = 8
"""About one feature in eight is new: the table starts with room for that many and grows if need be."""


@dataclass(slots=True)
class Numbered:
    """The features of all tokens as numbers, and what the numbers stand for."""

    ptr: np.ndarray  # int64[tokens + 1]
    numbers: np.ndarray  # int32[features of all tokens]
    values: np.ndarray  # float32, or empty
    keys: np.ndarray  # uint64[numbers]: the hash of each feature
    tokens: np.ndarray  # int64[numbers]: a token where it fires; -1 for those known before

    def names(
        self, numbers: np.ndarray, known: Names | None, write: Callable[[np.ndarray, np.ndarray], Names]
    ) -> Names:
        """Names of features: those known before keep theirs, new ones are written from the tokens where they fire."""
        tokens = self.tokens[numbers]
        new = tokens >= 0
        fresh = write(self.keys[numbers[new]], tokens[new])
        if new.all() or known is None:
            return fresh
        old = known.take(numbers[~new])
        place = np.empty(len(numbers), np.int64)
        place[~new], place[new] = np.arange(len(old)), np.arange(len(old), len(numbers))
        return (old + fresh).take(place)

    def numbers_of(self, keys: np.ndarray) -> np.ndarray:
        """The numbers of features by their keys."""
        order = np.argsort(self.keys)
        return order[np.searchsorted(self.keys, keys, sorter=order)]


@compiled
def renumber(ptr, numbers, values, rank, out_ptr):
    """Replace numbers by ranks in place, leaving out those of rank -1; returns how many are left."""
    k = 0
    for i in range(ptr.shape[0] - 1):
        for j in range(ptr[i], ptr[i + 1]):
            number = rank[numbers[j]]
            if number >= 0:
                numbers[k] = number
                if values.shape[0] > 0:
                    values[k] = values[j]
                k += 1
        out_ptr[i + 1] = k
    return k


@compiled
def known_numbers(table, ptr, hashes, values, out_ptr, out, out_values):
    """The features that a table knows, as numbers; returns how many.

    Places of the table are far away in memory: some are read ahead, in a loop that does nothing else.
    """
    k, first, ahead, mask, there = 0, 0, 0, np.uint64(table.shape[0] - 1), np.empty(TOGETHER, np.uint64)
    for i in range(ptr.shape[0] - 1):
        for j in range(ptr[i], ptr[i + 1]):
            if j >= ahead:
                ahead = min(j + TOGETHER, hashes.shape[0])
                for m in range(j, ahead):
                    there[m - j] = table[np.int64(hashes[m] & mask), 0]
                first = j
            found, number = there[j - first], np.int64(-1)
            if found == hashes[j]:
                number = np.int64(table[np.int64(found & mask), 1])
            elif found != ABSENT:
                number = table_find(table, hashes[j])
            if number >= 0:
                out[k] = number
                if values.shape[0] > 0:
                    out_values[k] = values[j]
                k += 1
        out_ptr[i + 1] = k
    return k


class _Counter:
    """The growing table behind `number_features`: numbers, counts and first places of features."""

    def __init__(self, known: np.ndarray, expected: int):
        self.size = np.array([len(known)], np.int64)
        self.counts = np.zeros(max(1 << 12, expected + 2 * len(known)), np.int64)
        self.first = np.full(len(self.counts), -1, np.int64)
        self.table = empty_table(len(self.counts))
        table_insert(self.table, known, 0)

    def keys(self) -> np.ndarray:
        """The hash of every feature, by its number."""
        used = self.table[self.table[:, 0] != 0]
        keys = np.empty(int(self.size[0]), np.uint64)
        keys[used[:, 1].astype(np.int64)] = used[:, 0]
        return keys

    def grow(self) -> None:
        """Double the room."""
        keys = self.keys()
        more = np.zeros(len(self.counts), np.int64)
        self.counts = np.concatenate([self.counts, more])
        self.first = np.concatenate([self.first, more - 1])
        self.table = empty_table(len(self.counts))
        table_insert(self.table, keys, 0)

    def number(self, hashes: np.ndarray, offset: int, out: np.ndarray) -> None:
        """out[j] = the number of hashes[j]; offset: how many features came before these."""
        done = 0
        while True:
            args = (hashes[done:], self.size, self.counts, self.first, offset + done, out[done:])
            done += table_number(self.table, *args)
            if done == len(hashes):
                return
            self.grow()


def number_features(
    hashes: Callable[[int, int], Hashes],
    starts: np.ndarray,
    cutoff: int,
    known: np.ndarray | None = None,
    jobs: int = 1,
) -> Numbered:
    """Number the features of all sentences; those seen less than `cutoff` times are left out, known ones never.

    They are found on several threads if wanted, and numbered in the order of the sentences on this one.
    """
    known = np.empty(0, np.uint64) if known is None else known
    counter = None
    tokens = int(starts[-1])
    ptr = np.zeros(tokens + 1, np.int64)
    numbers, values, total = np.empty(0, np.int32), NO_VALUES, 0
    places = [(lo, min(lo + STRETCH, len(starts) - 1)) for lo in range(0, len(starts) - 1, STRETCH)]
    found = in_order(lambda place: hashes(*place), places, jobs if len(places) > 1 else 1)
    for (lo, hi), (part_ptr, part, part_values) in zip(places, found, strict=True):
        ptr[starts[lo] + 1 : starts[hi] + 1] = part_ptr[1:] + total
        expected = int((total + len(part)) * tokens / max(1, int(starts[hi])))
        counter = counter or _Counter(known, expected // NEW_SHARE)
        if total + len(part) > len(numbers):
            capacity = expected + expected // 20 + 1024
            numbers = _resized(numbers, total, capacity)
            values = _resized(values, total, capacity) if len(part_values) else values
        counter.number(part, total, numbers[total : total + len(part)])
        values[total : total + len(part_values)] = part_values
        total += len(part)
    counter = counter or _Counter(known, 0)
    size = int(counter.size[0])
    counts, keys = counter.counts[:size], counter.keys()
    counts[: len(known)] = np.iinfo(np.int64).max
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= cutoff]
    rank = np.full(size, -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    first = counter.first[:size][order]
    seen_at = np.where(first < 0, -1, np.searchsorted(ptr, first, "right") - 1)
    kept_ptr = np.zeros_like(ptr)
    kept = renumber(ptr, numbers, values, rank, kept_ptr)
    return Numbered(kept_ptr, numbers[:kept], values[:kept], keys[order], seen_at)


def _resized(old: np.ndarray, used: int, capacity: int) -> np.ndarray:
    new = np.empty(capacity, old.dtype)
    new[:used] = old[:used]
    return new


def look_up(table: np.ndarray, hashes: Hashes, bits: int = 64) -> Hashes:
    """(ptr, numbers int32, values) of the features that a model knows, by so many bits of their hashes."""
    ptr, keys, values = hashes
    if bits < 64:
        keys = keys & np.uint64((1 << bits) - 1)
    out_ptr = np.zeros_like(ptr)
    numbers = np.empty(len(keys), np.int32)
    out_values = np.empty_like(values)
    count = known_numbers(table, ptr, keys, values, out_ptr, numbers, out_values)
    return out_ptr, numbers[:count], out_values[:count]
