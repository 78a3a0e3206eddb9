"""Trees that several parsers elect. A tree may be a mixture that has what the first parser never builds, such as two
subjects of one head. Then, as long as that helps, a word that is too much goes where other parsers have it; where
nothing helps, the nearest tree of a parser that does not have it is taken.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structron.features.encode import Column, TokenTable
from structron.io.columns import EMPTY
from structron.search.trees.votes import combined
from structron.tasks.shift_reduce.habits import groups_of, unusual
from structron.tasks.treebank import Arc
from structron.text.trees import check_tree

Tree = list[tuple[int, int]]
"""A head and the number of a relation for each word."""


class Never(NamedTuple):
    """What trees never have, as the first parser knows it."""

    groups: np.ndarray  # of relations that a head has once, by their numbers; -1: others
    tags: np.ndarray  # of words
    rootless: np.ndarray  # bool: tags that roots do not have

    def odd(self, starts: np.ndarray, heads: np.ndarray, relations: np.ndarray) -> np.ndarray:
        """Whether the tree of each sentence has it."""
        return unusual(starts, heads, self.groups[relations], self.tags, self.rootless)


def elected(table: TokenTable, found: Sequence[list[Arc]], weights: Sequence[float], first: Any) -> list[Arc]:
    """The arcs of all words that have most votes. first: the parser that knows what trees never have."""
    heads = np.array([[head for head, _ in arcs] for arcs in found], np.int64)
    names = Column.of(relation or EMPTY for arcs in found for _, relation in arcs)
    relations = names.ids.reshape(heads.shape).astype(np.int64)
    chosen = combined(table.starts, heads, relations, np.array(weights))
    never = _never(table, names.types, first)
    if never is not None:
        for s in np.flatnonzero(never.odd(table.starts, *chosen)).tolist():
            own = slice(*table.starts[s : s + 2].tolist())
            trees = [
                list(zip(*(part.tolist() for part in both), strict=True))
                for both in zip(heads[:, own], relations[:, own], strict=True)
            ]
            tree = list(zip(*(part[own].tolist() for part in chosen), strict=True))
            own_never = never._replace(tags=never.tags[own])
            for part, values in zip(chosen, zip(*_possible(tree, trees, weights, own_never), strict=True), strict=True):
                part[own] = values
    kinds: list[str] = np.array(names.types, object)[chosen[1]].tolist()
    return list(zip(chosen[0].tolist(), kinds, strict=True))


def _never(table: TokenTable, names: Sequence[str], first: Any) -> Never | None:
    """What trees never have; None if the parser knows nothing of the kind."""
    single, rootless = getattr(first, "single_", []), getattr(first, "rootless_", np.zeros(0, np.bool_))
    if not single and not rootless.any():
        return None
    rootless = rootless if len(rootless) else np.zeros(first.input_.sizes()["t"], np.bool_)
    return Never(np.array(groups_of(names, single)), first.input_.encode(table.columns)[:, 1], rootless)


def _possible(chosen: Tree, trees: Sequence[Tree], weights: Sequence[float], never: Never) -> Tree:
    """A tree of one sentence without what trees never have, if there is one near the chosen one."""
    votes = Counter[tuple[int, int, int]]()
    for tree, weight in zip(trees, weights, strict=True):
        votes.update({(word, *arc): weight for word, arc in enumerate(tree)})
    arcs, tree = sorted(votes), list(chosen)
    while crowd := _crowd(tree, never.groups):
        moves = (
            (votes[word, head, relation] - votes[word, *tree[word]], moved)
            for word, head, relation in arcs
            if word in crowd and head > 0
            for moved in [[*tree[:word], (head, relation), *tree[word + 1 :]]]
            if len(_crowd(moved, never.groups)) < len(crowd) and check_tree([own for own, _ in moved]) is None
        )
        tree = max(moves, key=lambda move: move[0], default=(0.0, []))[1]
    if tree and not _odd(tree, never):
        return tree
    usual = [own for own in trees if not _odd(own, never)]
    return max(usual, key=lambda own: sum(a == b for a, b in zip(own, chosen, strict=True)), default=chosen)


def _crowd(tree: Tree, groups: np.ndarray) -> set[int]:
    """The words that share a relation of a head which it has once."""
    places: dict[tuple[int, int], list[int]] = {}
    for word, (head, relation) in enumerate(tree):
        if head > 0 and groups[relation] >= 0:
            places.setdefault((head, int(groups[relation])), []).append(word)
    return {word for words in places.values() if len(words) > 1 for word in words}


def _odd(tree: Tree, never: Never) -> bool:
    heads, relations = (np.array(part) for part in zip(*tree, strict=True))
    return bool(never.odd(np.array([0, len(tree)]), heads, relations)[0])
