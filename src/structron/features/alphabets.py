"""Sentences of a treebank as numbers: words, tags and what else the file has, each column with its own alphabet.

    0 no such word   1 unknown   2 … the values seen in training

Columns that only templates for rare words ask for (suffixes, shapes) are computed once per word type.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from operator import itemgetter

import numpy as np

from structron.errors import StructronError, quoted
from structron.features.atoms import Atom, parse_atom, texts_of
from structron.features.clusters import Clusters, prefix_length
from structron.features.encode import Column, check_strings
from structron.io.columns import EMPTY
from structron.io.tensors import Tensors, pack_json, taken, texts, unpack_json
from structron.text.sentences import is_row

UNKNOWN = 1
FIRST = 2
CLUSTER = -1
"""Kind of atoms that are looked up in word clusters."""

Sentence = Sequence[Sequence[str]]


class Alphabet:
    """Numbers strings, from 2 on: 0 is reserved for "nothing there", 1 for unknown strings.

    Examples:
        >>> from structron import Alphabet
        >>> alphabet = Alphabet.of(["b", "a", "b"])
        >>> alphabet.encode(["a", "b", "c"])
        array([3, 2, 1])
    """

    def __init__(self, texts: Iterable[str]):
        self.texts = list(texts)
        self.numbers = {text: k for k, text in enumerate(self.texts, FIRST)}

    @classmethod
    def of(cls, values: Iterable[str] | Mapping[str, int], cutoff: int = 1) -> "Alphabet":
        """An alphabet of the distinct values, the most frequent first.

        Args:
            values: Strings, or their counts.
            cutoff: Leave out strings seen fewer times.
        """
        counts = Counter(values)
        kept = sorted((text for text, count in counts.items() if count >= cutoff), key=lambda t: (-counts[t], t))
        return cls(kept)

    def extended(self, values: Iterable[str] | Mapping[str, int], cutoff: int = 1) -> "Alphabet":
        """An alphabet with further values after the known ones, which keep their numbers.

        Args:
            values: Strings, or their counts.
            cutoff: Leave out strings seen fewer times.
        """
        return Alphabet(
            [*self.texts, *(text for text in Alphabet.of(values, cutoff).texts if text not in self.numbers)]
        )

    @property
    def size(self) -> int:
        """How many numbers there are, those for "no such word" and "unknown" included."""
        return FIRST + len(self.texts)

    def encode(self, values: Sequence[str]) -> np.ndarray:
        """The number of each value, as int64."""
        return np.fromiter(map(self.numbers.get, values, repeat(UNKNOWN)), np.int64, len(values))

    def names(self) -> list[str]:
        """The string that each number stands for."""
        return ["<none>", "<unknown>", *self.texts]


def parse_input(name: str, columns: Sequence[str], word: str, clusters: bool) -> Atom:
    """The atom that has a name; with clusters classes of words have some."""
    length = prefix_length(name) if clusters else None
    return parse_atom(name, columns, word) if length is None else Atom(word, CLUSTER, length)


class ParserInput:
    """The columns of x: word, tag, and others by the names that templates use.

    `columns` are those of a row; those that are predicted, `outputs`, may be missing in it.
    """

    def __init__(
        self,
        columns: Sequence[str],
        word: str,
        tag: str,
        extra: Sequence[str],
        outputs: Sequence[str] = (),
        clusters: Clusters | None = None,
    ):
        self.columns, self.word, self.tag = list(columns), word, tag
        self.extra = list(extra)
        self.names = ["w", "t", *extra]
        self.clusters = clusters
        self.atoms = [parse_atom(name, self.columns, word) for name in (word, tag)]
        self.atoms += [parse_input(name, self.columns, word, clusters is not None) for name in extra]
        self.outputs = list(outputs)
        self.alphabets: list[Alphabet] = []

    @property
    def read(self) -> list[str]:
        """The columns that are looked at, in the order of a row."""
        return [name for name in self.columns if name in {atom.column for atom in self.atoms}]

    @staticmethod
    def possible(columns: Sequence[str], word: str, names: Iterable[str], clusters: bool = False) -> list[str]:
        """The names that are one of the columns or a function of one; clusters: or a class of the word."""
        found = []
        for name in names:
            try:
                atom = parse_input(name, columns, word, clusters)
            except StructronError:
                continue
            if atom.column in columns:
                found.append(name)
        return found

    def _order(self, width: int) -> list[str] | None:
        """What the columns of a row of this width are; None when the width fits nothing."""
        without = [name for name in self.columns if name not in self.outputs]
        heads_only = [name for name in self.columns if name not in self.outputs[1:]]
        known = (self.columns, without, heads_only, self.columns[:width])
        return next((names for names in known if len(names) == width and set(self.read) <= set(names)), None)

    def columns_of(self, sentences: Sequence[Sentence]) -> dict[str, list[str]]:
        """The texts of all words in the columns that are looked at."""
        flat = list(chain.from_iterable(sentences))
        if not all(map(is_row, set(map(type, flat)))):
            raise self._refusal(sentences)
        orders = {width: self._order(width) for width in set(map(len, flat))}
        if any(order is None for order in orders.values()):
            raise self._refusal(sentences)
        found = {}
        for name in self.read:
            places = {width: order.index(name) for width, order in orders.items() if order}
            if len(set(places.values())) == 1:
                found[name] = list(map(itemgetter(*set(places.values())), flat))
            else:
                found[name] = [row[places[len(row)]] for row in flat]
            check_strings(found[name], name)
        return found

    def _refusal(self, sentences: Sequence[Sentence]) -> StructronError:
        """Say which token is no row, or one without a column that is needed."""
        for number, sentence in enumerate(sentences, 1):
            for k, row in enumerate(sentence, 1):
                if not is_row(type(row)) or self._order(len(row)) is None:
                    may = f" ({' and '.join(self.outputs)} may be missing)" if self.outputs else ""
                    expected = f"expected a row of {', '.join(self.columns)}{may}"
                    return StructronError(f"sentence {number}: word {k} is {quoted(row)}; {expected}")
        raise AssertionError("all rows are as they should be")

    def encoded(self, sentences: Sequence[Sentence]) -> dict[str, Column]:
        """The columns that are looked at, encoded."""
        return {name: Column.of(texts) for name, texts in self.columns_of(sentences).items()}

    def learn(self, columns: Mapping[str, Column], cutoff: int) -> np.ndarray:
        """Settle the alphabets on training data and give their x; words seen less often than `cutoff` are unknown.

        Where alphabets are known already, they are extended.
        """
        known = self.alphabets or [Alphabet([]) for _ in self.atoms]
        self.alphabets = []
        for k, (alphabet, atom, said) in enumerate(zip(known, self.atoms, self._said(columns), strict=True)):
            column, counts = columns[atom.column], Counter[str]()
            times = np.bincount(column.ids, minlength=len(column.types)).tolist()
            for text, count in zip(said, times, strict=True):
                counts[text] += count
            self.alphabets.append(alphabet.extended(counts, 1 if k else cutoff))
        return self.encode(columns)

    def encode(self, columns: Mapping[str, Column]) -> np.ndarray:
        """int64[words, columns of x], by the alphabets that training settled; what is asked of a word is found out once
        for all of its kind."""
        x = np.empty((len(columns[self.word].ids), len(self.atoms)), np.int64)
        for k, (alphabet, atom, said) in enumerate(zip(self.alphabets, self.atoms, self._said(columns), strict=True)):
            x[:, k] = alphabet.encode(said)[columns[atom.column].ids]
        return x

    def _said(self, columns: Mapping[str, Column]) -> list[list[str]]:
        """What each atom says of each text of its column."""
        types = {name: column.types for name, column in columns.items()}
        found = texts_of([atom for atom in self.atoms if atom.kind != CLUSTER], types, EMPTY)
        lengths = {k: atom.length for k, atom in enumerate(self.atoms) if atom.kind == CLUSTER}
        if lengths and self.clusters is not None:
            for k, said in zip(lengths, self.clusters.texts(types[self.word], lengths.values()), strict=True):
                found.insert(k, [text or EMPTY for text in said])
        return found

    def tensors(self) -> Tensors:
        """The alphabets, for a model file."""
        return {f"alphabet_{k}": pack_json(alphabet.texts) for k, alphabet in enumerate(self.alphabets)}

    def take(self, tensors: Tensors) -> None:
        """Take the alphabets of a model file out of its arrays; ValueError: they do not fit."""
        packed = [taken(tensors, f"alphabet_{k}") for k in range(len(self.names))]
        self.alphabets = [Alphabet(texts(unpack_json(own), "alphabets")) for own in packed]

    def sizes(self) -> dict[str, int]:
        """The size of every column's alphabet."""
        return {name: alphabet.size for name, alphabet in zip(self.names, self.alphabets, strict=True)}

    def spell(self, atoms: Iterable[str], relations: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Names for the values of atoms: s0.w by words, s0l.l by relations."""
        columns = {name: alphabet.names() for name, alphabet in zip(self.names, self.alphabets, strict=True)}
        columns["l"] = ["<none>", "<none>", *relations]
        return {atom: columns[kind] for atom in atoms if (kind := atom.partition(".")[2]) in columns}
