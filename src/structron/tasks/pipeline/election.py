"""Trees that several parsers elect. A tree may be a mixture that has what the first parser never builds, such as two
subjects of one head; of the parsers' own trees that do not have it, the one nearest to the elected tree is taken then.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structron.features.encode import Column, TokenTable
from structron.io.columns import EMPTY
from structron.search.trees.votes import combined
from structron.tasks.shift_reduce.habits import groups_of, unusual
from structron.tasks.treebank import Arc


def elected(table: TokenTable, found: Sequence[list[Arc]], weights: Sequence[float], first: Any) -> list[Arc]:
    """The arcs of all words that have most votes. first: the parser that knows what trees never have."""
    heads = np.array([[head for head, _ in arcs] for arcs in found], np.int64)
    names = Column.of(relation or EMPTY for arcs in found for _, relation in arcs)
    relations = names.ids.reshape(heads.shape).astype(np.int64)
    chosen = combined(table.starts, heads, relations, np.array(weights))
    heads, relations = _possible(table, names.types, heads, relations, chosen, first)
    kinds: list[str] = np.array(names.types, object)[relations].tolist()
    return list(zip(heads.tolist(), kinds, strict=True))


def _possible(
    table: TokenTable,
    names: Sequence[str],
    heads: np.ndarray,
    relations: np.ndarray,
    chosen: tuple[np.ndarray, np.ndarray],
    first: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """The chosen arcs, but where they have what trees never have and those of a voter do not."""
    single, rootless = getattr(first, "single_", []), getattr(first, "rootless_", np.zeros(0, np.bool_))
    if not single and not rootless.any():
        return chosen
    rootless = rootless if len(rootless) else np.zeros(first.input_.sizes()["t"], np.bool_)
    starts, groups = table.starts, np.array(groups_of(names, single))
    tags = first.input_.encode(table.columns)[:, 1]

    def odd(heads: np.ndarray, relations: np.ndarray) -> np.ndarray:
        """Whether the tree of each sentence has it."""
        return unusual(starts, heads, groups[relations], tags, rootless)

    wrong = odd(*chosen)
    if not wrong.any():
        return chosen
    agreed = np.array([(own == chosen[0]) & (kind == chosen[1]) for own, kind in zip(heads, relations, strict=True)])
    common = np.array([np.diff(np.append(0, np.cumsum(own))[starts]) for own in agreed])
    common[np.array([odd(*own) for own in zip(heads, relations, strict=True)])] = -1
    best = np.where(wrong & (common.max(axis=0) >= 0), common.argmax(axis=0), len(heads))
    voter = np.repeat(best, np.diff(starts))[None]
    every = (np.vstack([own, mine]) for own, mine in zip((heads, relations), chosen, strict=True))
    new_heads, new_relations = (np.take_along_axis(own, voter, axis=0)[0] for own in every)
    return new_heads, new_relations
