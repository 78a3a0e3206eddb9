"""What one learner has changed, so that another can take it over: the weights of shards are mixed by it.

A pass of a shard begins with the common weights and no sums. What it changes is named alike in every store of the same
data, whatever the order in which rows were made:

    store       row                                           column
    dense       the row's own, a feature's, a paired one's    label
    sparse      a numbered feature's number + 1, or its key   action
    cells       the cell's key                                0
    hashed      the place in the vector                       0

Let T_s be the steps of shard s, d_s and u_s the change and the sum of one weight (update/perceptron.py), μ_s its share,
and T the steps of all shards in all passes so far. With w ← w + Σ μ_s·d_s the mean over all steps of all shards stays
w - u / T if u ← u + T·Σ μ_s·d_s - Σ (T_s·d_s - u_s). So a weight that no shard has changed need not be looked at.

A weight that one of eight shards has changed would move by an eighth of what it has learned, since seven had no reason
to. Let c shards have changed it. With k_s = S / c and w ← w + Σ μ_s·k_s·d_s it moves by the mean of those that had, and
the mean over all steps takes their steps for those of the others: u ← u + T·Σ μ_s·k_s·d_s - Σ k_s·(T_s·d_s - u_s).
One learner would have learned more from c shards than from one, though not c times as much: k_s = S / c^AGREE.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structron.io.tensors import number_kind
from structron.kernels.jit import helper, kernel, prefetch_at
from structron.kernels.reference import Doubles, Floats, Keys, Numbers, by_reference
from structron.kernels.table import ABSENT, AHEAD, ONE, SEED, SHIFT, mix
from structron.runtime.threads import for_each

MAX_COUNTED_PLACES = 1 << 26
"""Places that are counted without a table."""
AGREE = 0.75
"""1: what several shards have learned of a weight counts as its mean; 0: as its sum. Chosen on the dev data of EWT."""
LOW = np.uint64(0xFFFFFFFF)
MIN_VALUES_PER_THREAD = 1 << 16
"""Values that are worth a thread."""
DIGIT = 11
"""Bits by which rows are sorted at a time."""


@by_reference
class Changes(NamedTuple):
    """The weights that differ from earlier ones; none stands twice."""

    row: Keys  # uint64[changes]
    column: Numbers  # int32[changes]
    w: Floats  # float32[changes]: the weights now
    change: Floats  # float32[changes]: by how much they have changed
    u: Doubles  # float64[changes]: the sums for the mean


@by_reference
class Share(NamedTuple):
    """How the changes of a shard count."""

    changes: Changes
    weight: float  # μ
    steps: int  # T_s
    scale: Doubles  # float64[changes]: k_s


def make_changes(count: int) -> Changes:
    """Capacity for so many changes."""
    single, double = (np.empty(count, kind) for kind in (np.float32, np.float64))
    return Changes(np.empty(count, np.uint64), np.empty(count, np.int32), single, single.copy(), double)


def plain_scales(changes: Sequence[Changes]) -> list[np.ndarray]:
    """k = 1: a shard that has not changed a weight counts like the others."""
    return [np.ones(len(each.row)) for each in changes]


def scales_by_change(changes: Sequence[Changes], jobs: int = 1) -> list[np.ndarray]:
    """k for weights that some shards have changed."""
    places = _places(changes, jobs)
    counts = np.zeros(1 + max(int(own.max(initial=0)) for own in places), number_kind(len(changes) + 1))
    for own in places:
        counts[own] += 1
    scale = len(changes) / np.arange(1, len(changes) + 1, dtype=np.float64) ** AGREE
    return [scale[counts[own] - 1] for own in places]


def cut(values: np.ndarray, jobs: int) -> list[tuple[int, int]]:
    """An array in slices, (first, end), one for each thread, or in one if they would be short."""
    count = max(1, min(jobs, len(values) // MIN_VALUES_PER_THREAD))
    return [(len(values) * k // count, len(values) * (k + 1) // count) for k in range(count)]


def _places(changes: Sequence[Changes], jobs: int) -> list[np.ndarray]:
    """A number for each weight, the same in all changes: where rows are few their own, else a place in a table."""
    width = 1 + max(int(each.column.max(initial=0)) for each in changes)
    if width * max(int(each.row.max(initial=0)) for each in changes) < MAX_COUNTED_PLACES:
        return [each.row.astype(np.int64) * width + each.column for each in changes]
    most = sum(len(each.row) for each in changes)
    keys = np.zeros(1 << int(3 * most // 2).bit_length(), np.uint64)
    places = [np.empty(len(each.row), np.int64) for each in changes]

    def place(part: tuple[int, int]) -> None:
        for each, own in zip(changes, places, strict=True):
            place_names(keys, each.row, each.column, own, *part)

    for_each(place, cut(keys, jobs), jobs)
    return places


@helper(inline=True)
def name_of(row, column, j):
    """A hash of a weight, never 0."""
    return mix(mix(SEED, np.uint64(column[j])), row[j]) | ONE


@helper(inline=True)
def home_of(keys, name):
    """Where a name is looked for first."""
    return np.int64(((name & LOW) * np.uint64(keys.shape[0])) >> SHIFT)


@kernel
def place_names(keys, row, column, out, first, end):
    """Where each weight stands in a table of keys, to which it is added; at most two thirds of it are filled. Those
    alone whose place is looked for from first … end - 1 on: several threads may fill one table."""
    for j in range(row.shape[0]):
        if j + AHEAD < row.shape[0]:
            k = home_of(keys, name_of(row, column, j + AHEAD))
            if first <= k < end:
                prefetch_at(keys, k)
        name = name_of(row, column, j)
        k = home_of(keys, name)
        if first <= k < end:
            while keys[k] != name and keys[k] != ABSENT:
                k = k + 1 if k + 1 < end else first
            keys[k] = name
            out[j] = k


def by_row(row: np.ndarray) -> np.ndarray:
    """int64: the changes in the order of their rows; those of one row stay as they stand."""
    ours, theirs = (row.copy(), np.arange(len(row))), (np.empty_like(row), np.empty(len(row), np.int64))
    varies = int(np.bitwise_or.reduce(row ^ row[:1])) if len(row) else 0
    count = np.empty(1 << DIGIT, np.int64)
    for shift in range(0, varies.bit_length(), DIGIT):
        if varies >> shift & (len(count) - 1):
            sort_by_digit(*ours, *theirs, np.uint64(shift), count)
            ours, theirs = theirs, ours
    return ours[1]


@kernel
def sort_by_digit(key, order, sorted_key, sorted_order, shift, count):
    """A step of a radix sort: keys with their places, by one digit, and else as they were."""
    mask = np.uint64(count.shape[0] - 1)
    for d in range(count.shape[0]):
        count[d] = 0
    for j in range(key.shape[0]):
        count[(key[j] >> shift) & mask] += 1
    place = 0
    for d in range(count.shape[0]):
        own = count[d]
        count[d] = place
        place += own
    for j in range(key.shape[0]):
        d = (key[j] >> shift) & mask
        sorted_key[count[d]], sorted_order[count[d]] = key[j], order[j]
        count[d] += 1


def mix_at(w: np.ndarray, u: np.ndarray, place: np.ndarray, share: Share, time: int, jobs: int = 1) -> None:
    """Take over what a shard has changed, in the vectors w and u at these places, all different. time: T."""
    changes, weight, steps, scale = share
    given = (w, u, place, changes.change, changes.u, scale, float(weight), float(steps), float(time))
    for_each(lambda part: mix_places(*given, *part), cut(place, jobs), jobs)


@kernel
def mix_places(w, u, place, change, sums, scale, weight, steps, time, first, end):
    """`mix_at` for the changes first … end - 1."""
    for j in range(first, end):
        if j + AHEAD < place.shape[0]:
            prefetch_at(w, place[j + AHEAD])
            prefetch_at(u, place[j + AHEAD])
        d, k, before = np.float64(change[j]), scale[j], np.float64(w[place[j]])
        w[place[j]] = np.float32(before + weight * k * d)
        u[place[j]] += time * (np.float64(w[place[j]]) - before) - k * (steps * d - sums[j])
