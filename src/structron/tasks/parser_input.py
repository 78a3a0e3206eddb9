"""Sentences of a treebank as numbers: words, tags and what else the file has, each column with its own alphabet.

    0 no such word   1 unknown   2 … the values seen in training

Columns that only templates for rare words ask for (suffixes, shapes) are computed once per word type.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat

import numpy as np

from structron.errors import StructronError
from structron.features.atoms import atom_text, parse_atom

UNKNOWN = 1
FIRST = 2
EMPTY = "_"


class Alphabet:
    """Texts to numbers from FIRST on; what training has not shown is UNKNOWN."""

    def __init__(self, texts: Iterable[str]):
        self.texts = list(texts)
        self.numbers = {text: k for k, text in enumerate(self.texts, FIRST)}

    @classmethod
    def of(cls, values: Iterable[str], cutoff: int = 1) -> "Alphabet":
        """All values seen at least `cutoff` times, in a fixed order: the frequent ones first."""
        counts = Counter(values)
        kept = sorted((text for text, count in counts.items() if count >= cutoff), key=lambda t: (-counts[t], t))
        return cls(kept)

    @property
    def size(self) -> int:
        return FIRST + len(self.texts)

    def encode(self, values: Sequence[str]) -> np.ndarray:
        return np.fromiter(map(self.numbers.get, values, repeat(UNKNOWN)), np.int64, len(values))

    def names(self) -> list[str]:
        """What stands for each number."""
        return ["<none>", "<unknown>", *self.texts]


class ParserInput:
    """The columns of x: word, tag, and others by the names that templates use."""

    def __init__(self, columns: Sequence[str], word: str, tag: str, extra: Sequence[str]):
        self.columns, self.word, self.tag = list(columns), word, tag
        self.extra = list(extra)
        self.names = ["w", "t", *extra]
        self.alphabets: list[Alphabet] = []

    @staticmethod
    def possible(columns: Sequence[str], word: str, names: Iterable[str]) -> list[str]:
        """Those of the names that are a column of the file or a function of the word."""
        found = []
        for name in names:
            try:
                parse_atom(name, columns, word)
            except StructronError:
                continue
            found.append(name)
        return found

    def _texts(self, sentences: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
        """For every column of x the texts of all words."""
        place = {name: k for k, name in enumerate(self.columns)}
        flat = list(chain.from_iterable(sentences))
        texts = [[row[place[name]] for row in flat] for name in (self.word, self.tag)]
        for name in self.extra:
            if name in place:
                texts.append([row[place[name]] for row in flat])
                continue
            atom = parse_atom(name, self.columns, self.word)
            source = texts[0] if atom.column == self.word else [row[place[atom.column]] for row in flat]
            known = {text: atom_text(atom, text) or EMPTY for text in set(source)}
            texts.append([known[text] for text in source])
        return texts

    def learn(self, sentences: Sequence[Sequence[Sequence[str]]], cutoff: int) -> np.ndarray:
        """Settle the alphabets on training data and give their x; words seen less often than `cutoff` are unknown."""
        texts = self._texts(sentences)
        self.alphabets = [Alphabet.of(column, cutoff if k == 0 else 1) for k, column in enumerate(texts)]
        return self._encode(texts)

    def encode(self, sentences: Sequence[Sequence[Sequence[str]]]) -> np.ndarray:
        return self._encode(self._texts(sentences))

    def _encode(self, texts: list[list[str]]) -> np.ndarray:
        x = np.empty((len(texts[0]), len(texts)), np.int64)
        for k, (alphabet, column) in enumerate(zip(self.alphabets, texts, strict=True)):
            x[:, k] = alphabet.encode(column)
        return x

    def sizes(self) -> dict[str, int]:
        return {name: alphabet.size for name, alphabet in zip(self.names, self.alphabets, strict=True)}

    def spell(self, atoms: Iterable[str], relations: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Names for the values of atoms: s0.w by words, s0l.l by relations."""
        columns = {name: alphabet.names() for name, alphabet in zip(self.names, self.alphabets, strict=True)}
        columns["l"] = ["<none>", "<none>", *relations]
        return {atom: columns[kind] for atom in atoms if (kind := atom.partition(".")[2]) in columns}


def starts_of(sentences: Sequence[Sequence]) -> np.ndarray:
    starts = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, sentences), np.int64, len(sentences)), out=starts[1:])
    return starts
