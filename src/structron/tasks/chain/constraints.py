"""What labels may follow each other and which a word may have: from the chunk scheme, the user and the training data.

While learning, all that the training labels do is allowed too: a gold labelling that search could never find would be
updated towards for ever.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from structron.errors import OneLabelError, StructronError, unknown
from structron.features.extract import Prepared
from structron.kernels.table import hash_list
from structron.model.dictionary import Dictionary
from structron.text import schemes


def number_labels(prepared: Any, old: Sequence[str] = ()) -> tuple[list[str], np.ndarray]:
    """The labels, old ones first, and the number of each token's, -1 where it is open."""
    labels = [*old, *sorted(set(prepared.label_types) - set(old))]
    if len(labels) < 2:
        raise OneLabelError(f"training data: only one label ({labels[0]}); expected two or more")
    index = {label: y for y, label in enumerate(labels)}
    numbers = np.array([*(index[label] for label in prepared.label_types), -1], np.int64)
    return labels, numbers[prepared.label_ids]


class Neighbours:
    """The pairs of labels that stand side by side in the training data; 0 before the first label of a sentence.

    Open labels (-1) have no neighbours.
    """

    def __init__(self, labels: list[str], gold: np.ndarray, starts: np.ndarray):
        previous, first = np.zeros(len(gold), np.int64), starts[:-1][np.diff(starts) > 0]
        previous[1:] = gold[:-1] + 1
        known = (gold >= 0) & (previous > 0)
        known[first] = gold[first] >= 0
        previous[first] = 0
        self.labels, self.current, self.previous = labels, gold[known], previous[known]
        self.alone = np.setdiff1d(np.arange(len(labels) * (not known.all())), self.current)
        """Labels without a known neighbour."""

    def scheme(self, known: str | None) -> str | None:
        """The chunk scheme; a model to go on from keeps its own while all labels, old and new, are chunk labels."""
        if not schemes.detect([self.labels]):
            return None
        seen = np.zeros((len(self.labels) + 1, len(self.labels)), np.int64)
        np.add.at(seen, (self.previous, self.current), 1)
        names = [None, *self.labels]
        pairs = {(names[p], self.labels[y]): int(seen[p, y]) for p, y in np.argwhere(seen)}
        pairs |= {(self.labels[y], self.labels[y]): 1 for y in self.alone.tolist()}
        return known or schemes.detect_pairs(pairs)

    def illegal(self, allowed: np.ndarray) -> int:
        """How often the training data do what is not allowed."""
        return int((~allowed[self.previous, self.current]).sum())

    def seen(self, allowed: np.ndarray) -> np.ndarray:
        """What is allowed, and all that the training data do."""
        learning = allowed.copy()
        learning[self.previous, self.current] = True
        return learning


def legal_transitions(labels: list[str], scheme: str | None, forbid: Iterable[tuple[str, str]]) -> np.ndarray:
    """bool[P, L]: whether a label may follow another (row 0: begin a sentence), by the scheme and the user."""
    allowed = np.ones((len(labels) + 1, len(labels)), bool)
    if scheme:
        allowed[:] = schemes.allowed_pairs(labels, scheme)
        allowed[~allowed.any(axis=1)] = True  # a label that the data never show continued, such as a lone B-X
    for pair in forbid:
        for label in pair:
            if label not in labels:
                raise unknown("label in a forbidden transition", label, labels)
        allowed[labels.index(pair[0]) + 1, labels.index(pair[1])] = False
    for p in np.flatnonzero(~allowed.any(axis=1)).tolist():
        name = "the start of a sentence" if p == 0 else repr(labels[p - 1])
        raise StructronError(f"forbidden transitions: nothing may follow {name}")
    return allowed


def make_dictionary(prepared: Prepared, gold: np.ndarray, labels: int, at_least: int) -> Dictionary:
    """The words of the training data; with at_least > 0, those seen that often keep to the labels they had."""
    hashes = hash_list(prepared.word_types)
    order = np.argsort(hashes)
    if at_least == 0:
        return Dictionary(hashes[order], np.zeros(len(order), np.int32), np.ones((1, labels), bool))
    seen, known = np.zeros((len(hashes), labels), bool), gold >= 0
    words = prepared.word_ids[known]
    seen[words, gold[known]] = True
    seen[np.bincount(words, minlength=len(hashes)) < at_least] = True
    return Dictionary.of(hashes[order], seen[order])
