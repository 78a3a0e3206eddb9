"""From learners to a model: the mean of one or several learners' weights, features without weight left out.

Several learners of the same data in different orders (`Committee`) share the numbers of their features, so their mean
is a mean row by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structron.features.index import Numbered
from structron.kernels.table import aligned_zeros
from structron.model.chain import ChainModel, fixed_rows

if TYPE_CHECKING:
    from structron.learn.chain import ChainLearner


@dataclass(slots=True)
class LazyNames:
    """Names to be written only for the model that is kept."""

    numbered: Numbered
    numbers: np.ndarray
    paired: bool


def assemble(members: Sequence["ChainLearner"]) -> ChainModel:
    """The model that the mean of the members' present weights makes."""
    first = members[0]
    weights = [member.present() for member in members]
    everything = first.ballots is not None
    features = np.zeros(len(first.row_of), bool)
    blocks = np.zeros((len(first.block_of), len(first.labels) + 1), bool)
    for member, w in zip(members, weights, strict=True):
        counts = np.ones(len(w), bool) if everything else (w != 0).any(axis=1)
        touched = np.flatnonzero(member.row_of >= 0)
        features[touched] |= counts[member.row_of[touched]]
        paired = np.flatnonzero(member.block_of >= 0)
        rows = member.block_rows[member.block_of[paired]]
        blocks[paired] |= (rows >= 0) & counts[rows]
    numbers, pair_numbers = np.flatnonzero(features), np.flatnonzero(blocks.any(axis=1))
    used = blocks[pair_numbers]
    fixed = fixed_rows(len(first.labels), first.order)
    total = fixed + len(numbers) + int(used.sum())
    packed = aligned_zeros((total, first.rows.stride), np.float32)
    for member, w in zip(members, weights, strict=True):
        rows = member_rows(member, fixed, numbers, pair_numbers, used)
        if len(members) == 1:
            np.take(w, rows, axis=0, out=packed)
        else:
            has = np.flatnonzero(rows >= 0)
            packed[has] += w[rows[has]] / np.float32(len(members))
    block_rows = np.full(used.shape, -1, np.int32)
    block_rows[used] = np.arange(fixed + len(numbers), total)
    return ChainModel(
        first.labels,
        first.order,
        packed,
        first.plain.keys[numbers],
        first.pairs.keys[pair_numbers],
        block_rows,
        first.allowed,
        first.dictionary,
        LazyNames(first.plain, numbers, False),  # type: ignore[arg-type]
        LazyNames(first.pairs, pair_numbers, True),  # type: ignore[arg-type]
        first.ballots.votes(member_rows(first, fixed, numbers, pair_numbers, used), first.rows.stride)
        if first.ballots is not None
        else None,
    )


def member_rows(
    member: "ChainLearner", fixed: int, numbers: np.ndarray, pair_numbers: np.ndarray, used: np.ndarray
) -> np.ndarray:
    """For each row of the model the member's row, -1 where it has none."""
    block_of = member.block_of[pair_numbers]
    rows = np.where(block_of[:, None] >= 0, member.block_rows[block_of], -1) if len(block_of) else used.astype(np.int32)
    return np.concatenate([np.arange(fixed), member.row_of[numbers], rows[used]]).astype(np.int64)
