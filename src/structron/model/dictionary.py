"""Which labels a known word may have, and which labels may follow each other: constraints that a model keeps."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from structron.features.extract import Prepared
from structron.io.tensors import Tensor, Tensors
from structron.kernels.table import hash_list

if TYPE_CHECKING:
    from structron.features.wordforms import LexiconTags

UNSEEN = "\0unseen"
"""Stands for words that training did not see, where they too may have only some labels."""


@dataclass(slots=True)
class Dictionary:
    """Which labels a known word may have: an optional constraint, and the words that training saw."""

    words: np.ndarray  # uint64[words], sorted: hashes of the words of the training data
    mask: np.ndarray  # int32[words]: row of `masks`; 0 = any label
    masks: np.ndarray  # bool[masks, labels]; row 0 all true
    lexicon: "LexiconTags | None" = None  # what words that training did not see may have too; not in a file
    own: int | None = None  # masks that a file has, None: all; those for classes of a lexicon come after them
    row: np.ndarray = field(default_factory=partial(np.empty, 0, np.int64))  # of the mask of each such class

    def with_lexicon(self, lexicon: "LexiconTags | None") -> "Dictionary":
        """The same where words that training did not see may also have the labels that a lexicon has for them."""
        found = Dictionary(self.words, self.mask, self.masks[: self.own])
        unseen = int(self.find([UNSEEN])[0])
        if lexicon is not None and unseen >= 0:
            base = self.masks[self.mask[unseen]]
            sets, place = lexicon.sets(~base)
            found.own = len(found.masks)
            found.lexicon, found.row = lexicon, found.own + place
            found.masks = np.concatenate([found.masks, base | sets])
        return found

    def find(self, types: list[str]) -> np.ndarray:
        """int64[types]: the place of each type among the words, -1 for unknown ones."""
        if not types or not len(self.words):
            return np.full(len(types), -1)
        hashes = hash_list(types)
        place = np.minimum(np.searchsorted(self.words, hashes), len(self.words) - 1)
        return np.where(self.words[place] == hashes, place, -1)

    def merged(self, other: "Dictionary", labels: int) -> "Dictionary":
        """Both dictionaries' words, each with the labels that either allows it; labels are numbered as in `other`."""
        words = np.union1d(self.words, other.words)
        allowed = np.zeros((len(words), labels), bool)
        for source in (self, other):
            masks = source.masks[: source.own]
            wide = np.full((len(masks), labels), source.find([UNSEEN])[0] >= 0)
            wide[:, : masks.shape[1]] = masks
            wide[masks.all(axis=1)] = True
            allowed[np.searchsorted(words, source.words)] |= wide[source.mask]
        return Dictionary.of(words, allowed)

    @classmethod
    def of(cls, words: np.ndarray, allowed: np.ndarray) -> "Dictionary":
        """From sorted words and bool[words, labels]: equal rows are stored once, row 0 allows everything."""
        everything = np.ones((1, allowed.shape[1]), bool)
        masks, mask = np.unique(np.concatenate([everything, allowed]), axis=0, return_inverse=True)
        mask = mask.reshape(-1)
        swap = np.arange(len(masks))
        swap[[0, mask[0]]] = swap[[mask[0], 0]]
        return cls(words, swap[mask[1:]].astype(np.int32), masks[swap])

    def masks_of(self, prepared: Prepared, tokens: slice) -> np.ndarray:
        """int64[tokens]: the row of `masks` for each token. Words that are not known, in lower case or capitalised
        neither, may have any label, or those of UNSEEN."""
        if not self.mask.any():
            return np.zeros(tokens.stop - tokens.start, np.int64)
        found = self.find([UNSEEN, *prepared.word_types])
        unseen, place = found[0], found[1:]
        if unseen >= 0:
            new = np.flatnonzero(place < 0)
            words = [prepared.word_types[k] for k in new.tolist()]
            lower, capital = self.find([*map(str.lower, words), *map(str.capitalize, words)]).reshape(2, -1)
            place[new] = np.where(lower >= 0, lower, np.where(capital >= 0, capital, unseen))
        rows = np.where(place < 0, 0, self.mask[place]).astype(np.int64)
        if self.lexicon is not None:
            new = np.flatnonzero(place == unseen)
            classes = self.lexicon.forms.class_of([prepared.word_types[k] for k in new.tolist()])
            rows[new] = np.where(classes < 0, rows[new], self.row[classes])
        return rows[prepared.word_ids[tokens]]

    def tensors(self) -> Tensors:
        """For a model file."""
        return {"words": self.words, "word_mask": self.mask, "masks": self.masks[: self.own]}

    @staticmethod
    def declared(labels: str = "labels") -> dict[str, Tensor]:
        """The arrays of a dictionary of so many labels."""
        return {
            "words": Tensor("uint64", "words"),
            "word_mask": Tensor("int32", "words", least=0, below="masks"),
            "masks": Tensor("bool", "masks", labels),
        }

    @classmethod
    def from_tensors(cls, tensors: Tensors) -> "Dictionary":
        """The inverse of `tensors`, of arrays that were checked; ValueError: a word has no label left."""
        found = cls(tensors["words"], tensors["word_mask"], tensors["masks"])
        if not len(found.masks) or not found.masks.any(axis=1).all():
            raise ValueError("masks do not fit")
        return found


def allowed_of(tensors: Tensors) -> np.ndarray:
    """bool[labels + 1, labels]: what may follow what; ValueError: nothing may follow some label."""
    if not tensors["allowed"].any(axis=1).all():
        raise ValueError("allowed transitions do not fit")
    return tensors["allowed"]
