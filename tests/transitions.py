"""From one tree to arc-standard actions and back: the oracle of whole corpora for a single sentence."""

from collections.abc import Sequence

import numpy as np

from structron.tasks.shift_reduce.building import trees_of
from structron.tasks.shift_reduce.oracle import oracle_all


def oracle(heads: Sequence[int], relations: Sequence[int] | None = None, labels: int = 1) -> list[int]:
    """The actions that build one tree; without relations, those of an unlabelled parser."""
    numbers = None if relations is None else np.array(relations, np.int64)
    starts = np.array([0, len(heads)], np.int64)
    return oracle_all(starts, np.array(heads, np.int64), numbers, labels).tolist()


def tree_of(actions: Sequence[int], n: int, labels: int = 1) -> tuple[list[int], list[int]]:
    """The heads and relations that the actions of one sentence of n words build."""
    heads, relations = trees_of(np.array([0, n], np.int64), np.array(actions, np.int64), labels)
    return heads.tolist(), relations.tolist()
