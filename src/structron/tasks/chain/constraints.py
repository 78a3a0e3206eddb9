"""What labels may follow each other and which a word may have: from the chunk scheme, the user and the training data.

While learning, all that the training labels do is allowed too: a gold labelling that search could never find would be
updated towards for ever.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structron.errors import OneLabelError, StructronError, unknown
from structron.features.extract import Prepared
from structron.kernels.table import hash_list
from structron.model.dictionary import UNSEEN, Dictionary
from structron.text import schemes

if TYPE_CHECKING:
    from structron.features.wordforms import LexiconTags

CLOSED_TOKENS = 100
"""Tokens that a label needs to count as a closed class."""
CLOSED_SHARE = 0.01
"""Share of its tokens whose words were seen with it only once, which estimates how often a word is new with it."""


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
        seen = np.zeros((len(self.labels) + 1, len(self.labels)), np.int64)
        np.add.at(seen, (self.previous, self.current), 1)
        names = [None, *self.labels]
        pairs = {(names[p], self.labels[y]): int(seen[p, y]) for p, y in np.argwhere(seen)}
        pairs |= {(self.labels[y], self.labels[y]): 1 for y in self.alone.tolist()}
        return (known or schemes.detect_pairs(pairs)) if schemes.detect([self.labels]) else None

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


def make_dictionary(
    prepared: Prepared,
    gold: np.ndarray,
    labels: int,
    at_least: int,
    closed_classes: bool = False,
    lexicon: "LexiconTags | None" = None,
) -> Dictionary:
    """The words of the training data; with at_least > 0, those seen that often keep to the labels they had.

    closed_classes: all words keep to labels of closed classes that they had, in lower or upper case. lexicon: what it
    has for a word counts as seen with it.
    """
    hashes = hash_list(prepared.word_types)
    order = np.argsort(hashes)
    if at_least == 0 and not closed_classes:  # there may be no words: attributes
        return Dictionary(hashes[order], np.zeros(len(order), np.int32), np.ones((1, labels), bool))
    closed = np.zeros(labels, bool)
    known = gold >= 0
    words, own = prepared.word_ids[known], gold[known]
    if closed_classes:
        lower: dict[str, int] = {}
        word_of = np.array([lower.setdefault(word.lower(), len(lower)) for word in prepared.word_types], np.int64)
        pairs, counts = np.unique(word_of[words] * labels + own, return_counts=True)
        closed = _closed(labels, own, pairs[counts == 1] % labels)
    if at_least == 0 and not closed.any():
        return Dictionary(hashes[order], np.zeros(len(order), np.int32), np.ones((1, labels), bool))
    allowed = np.ones((len(hashes), labels), bool)
    if at_least > 0:
        allowed = np.zeros((len(hashes), labels), bool)
        allowed[words, own] = True
        allowed[np.bincount(words, minlength=len(hashes)) < at_least] = True
    also = np.zeros((1, labels), bool) if lexicon is None else lexicon.allowed(prepared.word_types)
    allowed |= also
    if closed.any():
        seen = np.zeros((len(lower), labels), bool)
        seen[np.divmod(pairs, labels)] = True
        allowed &= seen[word_of] | also | ~closed
        hashes, allowed = np.append(hashes, hash_list([UNSEEN])), np.append(allowed, ~closed[None], axis=0)
        order = np.argsort(hashes)
    return Dictionary.of(hashes[order], allowed[order]).with_lexicon(lexicon)


def _closed(labels: int, gold: np.ndarray, new: np.ndarray) -> np.ndarray:
    """bool[labels]: the closed classes: labels of many tokens with which hardly any word was seen for the first and
    last time. gold: the labels of all tokens; new: those of words that were seen with them once."""
    tokens, once = (np.bincount(own, minlength=labels) for own in (gold, new))
    closed = (tokens >= CLOSED_TOKENS) & (once <= CLOSED_SHARE * tokens)
    return closed if not closed.all() else np.zeros(labels, bool)
