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
to. With k_s = S / (the shards that have changed it) and w ← w + Σ μ_s·k_s·d_s it moves by the mean of those that had,
and the mean over all steps takes their steps for those of the others: u ← u + T·Σ μ_s·k_s·d_s - Σ k_s·(T_s·d_s - u_s).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structron.kernels.table import MULTIPLIER, ONE, SEED, SHIFT, empty_table, table_number


class Changes(NamedTuple):
    """The weights that differ from earlier ones; none stands twice."""

    row: np.ndarray  # uint64[changes]
    column: np.ndarray  # int32[changes]
    w: np.ndarray  # float32[changes]: the weights now
    change: np.ndarray  # float32[changes]: by how much they have changed
    u: np.ndarray  # float64[changes]: the sums for the mean


class Share(NamedTuple):
    """How the changes of a shard count."""

    changes: Changes
    weight: float  # μ
    steps: int  # T_s
    scale: np.ndarray  # float64[changes]: k_s


def make_changes(count: int) -> Changes:
    """Room for so many changes."""
    single, double = (np.empty(count, kind) for kind in (np.float32, np.float64))
    return Changes(np.empty(count, np.uint64), np.empty(count, np.int32), single, single.copy(), double)


def plain_scales(changes: Sequence[Changes]) -> list[np.ndarray]:
    """k = 1: a shard that has not changed a weight counts like the others."""
    return [np.ones(len(each.row)) for each in changes]


def scales_by_change(changes: Sequence[Changes]) -> list[np.ndarray]:
    """k: the shards for each one of them that has changed a weight."""
    names = np.concatenate([_names(each) for each in changes])
    number, counts = np.empty(len(names), np.int64), np.zeros(len(names), np.int64)
    table_number(empty_table(len(names)), names, np.zeros(1, np.int64), counts, np.empty_like(number), 0, number)
    ends = np.cumsum([len(each.row) for each in changes])[:-1]
    return [len(changes) / counts[part] for part in np.split(number, ends)]


def _names(changes: Changes) -> np.ndarray:
    """uint64: a hash for each weight, never 0."""
    names = (changes.row ^ (changes.column.astype(np.uint64) + ONE) * SEED) * MULTIPLIER
    return (names ^ names >> SHIFT) | ONE


def mixed(w: np.ndarray, share: Share, time: int) -> tuple[np.ndarray, np.ndarray]:
    """What becomes of the weights w that a shard has changed, and what is added to their sums. time: T."""
    d, k = share.changes.change.astype(np.float64), share.scale
    new = (w + share.weight * k * d).astype(np.float32)
    return new, time * (new.astype(np.float64) - w) - k * (share.steps * d - share.changes.u)
