"""Numbering the features of a training set: count, cut off, rank by frequency.

Frequent features get low numbers, so that the rows of hot features lie close together; row numbers of a training
set are found once here and reused in every pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from structron.features.encode import UNWEIGHTED, Hashes
from structron.features.names import Names
from structron.kernels.jit import kernel
from structron.kernels.table import ABSENT, empty_table, table_find, table_insert, table_number
from structron.runtime.threads import for_each

BATCH_SENTENCES = 500
"""Sentences whose hashes are in memory at one time."""
TOGETHER = 64
"""Features that are looked up together."""
LEAST_FEATURES = 1 << 14
"""Features that a table has room for at least."""
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

    @classmethod
    def none(cls, tokens: int) -> "Numbered":
        """No features at all."""
        nothing = np.empty(0, np.int64)
        return cls(
            np.zeros(tokens + 1, np.int64), nothing.astype(np.int32), UNWEIGHTED, nothing.astype(np.uint64), nothing
        )

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


@kernel
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


@kernel(allocates=True)
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
    """The growing table behind `number_features`: numbers, keys, counts and first places of features."""

    def __init__(self, known: np.ndarray, expected: int):
        self.size = np.array([len(known)], np.int64)
        self.counts = np.zeros(max(LEAST_FEATURES, expected + 2 * len(known)), np.int64)
        self.first = np.full(len(self.counts), -1, np.int64)
        self.key = np.empty(len(self.counts), np.uint64)
        self.key[: len(known)] = known
        self.table = empty_table(len(self.counts))
        table_insert(self.table, known, 0)

    @property
    def keys(self) -> np.ndarray:
        """The hash of every feature, by its number."""
        return self.key[: int(self.size[0])]

    def grow(self) -> None:
        """Double the capacity."""
        more = np.zeros(len(self.counts), np.int64)
        self.counts = np.concatenate([self.counts, more])
        self.first = np.concatenate([self.first, more - 1])
        self.key = np.concatenate([self.key, more.view(np.uint64)])
        self.table = empty_table(len(self.counts))
        table_insert(self.table, self.keys, 0)

    def number(self, hashes: np.ndarray, offset: int, out: np.ndarray) -> None:
        """out[j] = the number of hashes[j]; offset: how many features came before these."""
        done = 0
        while True:
            before = int(self.size[0])
            args = (hashes[done:], self.size, self.counts, self.first, offset + done, out[done:])
            done += table_number(self.table, *args)
            new = slice(before, int(self.size[0]))
            self.key[new] = hashes[self.first[new] - offset]
            if done == len(hashes):
                return
            self.grow()

    def take_over(self, other: "_Counter", offset: int) -> np.ndarray:
        """Count another's features as well, which were seen after `offset` others; their numbers here."""
        keys, before = other.keys, int(self.size[0])
        numbers = np.empty(len(keys), np.int32)
        self.number(keys, 0, numbers)
        new = numbers >= before
        self.first[numbers[new]] = other.first[: len(keys)][new] + offset
        self.counts[numbers] += other.counts[: len(keys)] - 1
        return numbers


@dataclass(slots=True)
class _Part:
    """Sentences whose features one thread has found, by numbers of its own."""

    ptr: np.ndarray
    numbers: np.ndarray
    values: np.ndarray
    counter: _Counter

    @classmethod
    def of(
        cls,
        hashes: Callable[[int, int], Hashes],
        starts: np.ndarray,
        place: tuple[int, int],
        known: np.ndarray,
        parts: int,
    ) -> "_Part":
        """Sentences begin … end-1 of a place; parts: how many of this size will be counted in its table."""
        begin, end = place
        counter, origin, tokens = None, int(starts[begin]), int(starts[end] - starts[begin])
        ptr = np.zeros(tokens + 1, np.int64)
        numbers, values, total = np.empty(0, np.int32), UNWEIGHTED, 0
        for lo in range(begin, end, BATCH_SENTENCES):
            hi = min(lo + BATCH_SENTENCES, end)
            part_ptr, part, part_values = hashes(lo, hi)
            ptr[starts[lo] - origin + 1 : starts[hi] - origin + 1] = part_ptr[1:] + total
            expected = int((total + len(part)) * tokens / max(1, int(starts[hi]) - origin))
            counter = counter or _Counter(known, expected * parts // NEW_SHARE)
            if total + len(part) > len(numbers):
                capacity = expected + expected // 20 + 1024
                numbers = _resized(numbers, total, capacity)
                values = _resized(values, total, capacity) if len(part_values) else values
            counter.number(part, total, numbers[total : total + len(part)])
            values[total : total + len(part_values)] = part_values
            total += len(part)
        return cls(ptr, numbers[:total], values[:total], counter or _Counter(known, 0))

    def renumber(self, rank: np.ndarray) -> None:
        """Have ranks in place of numbers, and features without a rank left out."""
        ptr = np.zeros_like(self.ptr)
        kept = renumber(self.ptr, self.numbers, self.values, rank, ptr)
        self.ptr, self.numbers, self.values = ptr, self.numbers[:kept], self.values[:kept]


def number_features(
    hashes: Callable[[int, int], Hashes],
    starts: np.ndarray,
    cutoff: int,
    known: np.ndarray | None = None,
    jobs: int = 1,
) -> Numbered:
    """Number the features of all sentences; those seen less than `cutoff` times are left out, known ones never.

    On several threads if wanted, each with a part of the sentences; their numbers are those of one thread.
    """
    known = np.empty(0, np.uint64) if known is None else known
    cuts = np.linspace(0, int(starts[-1]), jobs + 1)[1:-1] if len(starts) > BATCH_SENTENCES else np.empty(0)
    places = list(pairwise([0, *np.searchsorted(starts, cuts).tolist(), len(starts) - 1]))

    def find(k: int) -> _Part:
        return _Part.of(hashes, starts, places[k], known[:0] if k else known, 1 if k else len(places))

    parts = [find(0)] if len(places) == 1 else for_each(find, range(len(places)), jobs)
    ptr = _joined_ptr([part.ptr for part in parts])
    counter = parts[0].counter
    offsets = ptr[starts[[begin for begin, _ in places]]]
    own = [counter.take_over(part.counter, int(at)) for part, at in zip(parts[1:], offsets[1:], strict=True)]
    size = int(counter.size[0])
    counts, keys = counter.counts[:size], counter.keys
    counts[: len(known)] = np.iinfo(np.int64).max
    order = _by_count(counts)
    order = order[counts[order] >= cutoff]
    rank = np.full(size, -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    first = counter.first[:size]
    seen_at = np.where(first < 0, -1, np.searchsorted(ptr, first, "right") - 1)[order]
    ranks = [rank, *(rank[numbers] for numbers in own)]
    if len(parts) == 1:
        parts[0].renumber(rank)
    else:
        for_each(lambda k: parts[k].renumber(ranks[k]), range(len(parts)), jobs)
    ptr = _joined_ptr([part.ptr for part in parts])
    numbers, values = (_joined([getattr(part, what) for part in parts]) for what in ("numbers", "values"))
    return Numbered(ptr, numbers, values, keys[order], seen_at)


def _by_count(counts: np.ndarray) -> np.ndarray:
    """Numbers by falling counts, equal ones as they are; most counts fit in 16 bits, which NumPy sorts fastest."""
    most = np.iinfo(np.uint16).max
    order = np.argsort((most - np.minimum(counts, most)).astype(np.uint16), kind="stable")
    many = order[: np.count_nonzero(counts >= most)]
    many[:] = many[np.argsort(-counts[many], kind="stable")]
    return order


def _joined_ptr(every: Sequence[np.ndarray]) -> np.ndarray:
    """The bounds of lists, those of one part after those of the other."""
    if len(every) == 1:
        return every[0]
    before = np.cumsum([0, *(int(ptr[-1]) for ptr in every)])
    return np.concatenate([[0], *(ptr[1:] + at for ptr, at in zip(every, before, strict=False))])


def _joined(every: Sequence[np.ndarray]) -> np.ndarray:
    return every[0] if len(every) == 1 else np.concatenate(every)


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
