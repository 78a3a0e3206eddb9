"""What trees of a treebank never have, or almost never: a parser's trees do not have it at all.

Two words of one head with the same relation (two subjects, two objects, …) and roots of some tags (punctuation, …).
Each treebank has its own: what it has often enough to tell.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from structron.text.trees import MARK

LEAST_HEADS, LEAST_SENTENCES = 100, 100
"""Heads with a relation, and sentences with a tag, that are needed to say what never is."""
EXCEPTIONS = 0.005
"""Share of heads, or of sentences, that counts as mistakes."""
SUBJECTS = frozenset(("nsubj", "csubj", "nsubjpass", "csubjpass"))


def group_of(relation: str) -> str | None:
    """What a relation is among those that a head may have once: without its subtype, all subjects alike; None for those
    of clauses around clauses, and of lifted words, which go elsewhere."""
    base, _, subtype = relation.partition(":")
    if MARK in relation or subtype == "outer":
        return None
    return "subject" if base in SUBJECTS else base


def groups_of(relations: Sequence[str], single: Sequence[str]) -> list[int]:
    """For each relation the number of its group, -1 for those that a head may have again."""
    return [single.index(own) if (own := group_of(relation)) in single else -1 for relation in relations]


def repeated(starts: np.ndarray, heads: np.ndarray, groups: np.ndarray) -> dict[int, tuple[int, np.ndarray]]:
    """For each group, how many heads have it, and the sentences in which one has it twice. groups: of words, or -1."""
    sentence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    words = np.flatnonzero((heads > 0) & (groups >= 0))
    parents = starts[:-1][sentence[words]] + heads[words] - 1
    found = {}
    for group in np.unique(groups[words]).tolist():
        at, counts = np.unique(parents[groups[words] == group], return_counts=True)
        found[group] = len(at), np.unique(sentence[at[counts > 1]])
    return found


def single_relations(starts: np.ndarray, heads: np.ndarray, relations: np.ndarray, names: Sequence[str]) -> list[str]:
    """The groups of relations that a head has at most once."""
    every = sorted({own for name in names if (own := group_of(name))})
    if not every:
        return []
    groups = np.array(groups_of(names, every))[relations]
    counted = repeated(starts, heads, groups)
    return [
        every[group]
        for group, (count, twice) in counted.items()
        if count >= LEAST_HEADS and len(twice) <= EXCEPTIONS * count
    ]


def rootless_tags(starts: np.ndarray, heads: np.ndarray, tags: np.ndarray, count: int) -> np.ndarray:
    """bool[count]: the tags that roots do not have, but where all words of a sentence have one of them."""
    present, root = Counter[int](), Counter[int]()
    for lo, hi in pairwise(starts.tolist()):
        own = set(tags[lo:hi].tolist())
        if len(own) > 1:
            present.update(own)
            root.update(tags[lo:hi][heads[lo:hi] == 0].tolist())
    found = np.zeros(count, np.bool_)
    for tag, sentences in present.items():
        found[tag] = sentences >= LEAST_SENTENCES and root[tag] <= EXCEPTIONS * sentences
    return found


def unusual(
    starts: np.ndarray, heads: np.ndarray, groups: np.ndarray, tags: np.ndarray, rootless: np.ndarray
) -> np.ndarray:
    """bool[sentences]: those whose trees have what others never have."""
    found = np.zeros(len(starts) - 1, np.bool_)
    for _, twice in repeated(starts, heads, groups).values():
        found[twice] = True
    never = rootless[tags]
    for k, (lo, hi) in enumerate(pairwise(starts.tolist())):
        found[k] |= bool(never[lo:hi][heads[lo:hi] == 0].any()) and not never[lo:hi].all()
    return found
