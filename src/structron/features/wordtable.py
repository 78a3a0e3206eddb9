"""Tables of words: for each word one of some texts, which a model keeps and its templates look at.

Words are kept as 48 bits of their hashes, so a table of a million of them is read in a moment and takes few bytes in a
model file. A word that is not in the table has no such atom: templates that ask for one do not fire.
"""

import hashlib
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from structron.features.atoms import WHOLE, Atom, values_of
from structron.features.encode import Column
from structron.io.packing import byte_planes, of_planes
from structron.io.tensors import Tensors, check_expansion, inflated, pack, taken, texts, unpack, whole
from structron.kernels.table import hash_strings, pack_strings

BITS = 48
"""Bits of a word's hash: two words out of a million share them with a probability of one in 500."""
MOST_WORDS = 1 << 28


class WordTable(ABC):
    """Words, each with one of some classes."""

    kind: ClassVar[str]
    """What it is called in headers, options and the names of arrays."""
    array: ClassVar[str]
    """The array of the classes."""
    facts: ClassVar[Mapping[str, type]]
    """What a header says of it, beside its name, its size and its digest."""
    usual: ClassVar[tuple[str, ...]]
    """Atoms that are asked for where templates do not name any."""
    meaning: ClassVar[str]
    """What a column may not be called like, and why."""

    def __init__(self, keys: np.ndarray, numbers: np.ndarray, classes: Sequence[str], about: dict[str, Any]):
        self.keys, self.numbers = keys, numbers  # uint64[words], ascending; int32[words], of the words' classes
        self.classes, self.about = list(classes), about

    @classmethod
    def _made(cls, table: Mapping[str, str], name: str, **facts: Any) -> Self:
        """From words and their classes."""
        classes = sorted(set(table.values()))
        number = {own: k for k, own in enumerate(classes)}
        keys, first = np.unique(_keys(list(table)), return_index=True)
        numbers = np.array([number[own] for own in table.values()], np.int32)[first]
        text = "\n".join(classes).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(text + keys.tobytes() + numbers.tobytes()).hexdigest()[:16]
        about = {"name": name, "words": len(keys), "classes": len(classes), **facts, "digest": digest}
        return cls(keys, numbers, classes, about)

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary})"

    @property
    def label(self) -> str:
        """Its name and what tells it from others, for signatures."""
        return f"{self.about['name']} {self.about['digest']}"

    @property
    @abstractmethod
    def summary(self) -> str:
        """What it is, in a line."""

    # -- looking up ------------------------------------------------------------------------------------------------

    @staticmethod
    @abstractmethod
    def knows(name: str) -> bool:
        """Whether this is the name of one of its atoms."""

    @abstractmethod
    def columns(self, words: Column, names: Iterable[str]) -> dict[str, Column]:
        """Atoms of words as columns, in which words that it says nothing of have no value."""

    def of_words(self, words: list[str]) -> np.ndarray:
        """The number of each word's class, -1 for those that have none."""
        wanted = _keys(words)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.numbers[place], -1)

    # -- files -----------------------------------------------------------------------------------------------------

    @cached_property
    def tensors(self) -> Tensors:
        """The arrays of a model file, compressed."""
        return {
            f"{self.kind}_keys": _packed(np.diff(self.keys, prepend=np.uint64(0))),
            f"{self.kind}_numbers": _packed(self.numbers),
            f"{self.kind}_{self.array}": pack("\n".join(self.classes)),
        }

    @classmethod
    def take(cls, about: Any, tensors: Tensors) -> Self:
        """The table of a model file, taken out of its arrays; ValueError: they do not fit."""
        if not isinstance(about, dict) or set(about) != {"name", "words", "classes", *cls.facts, "digest"}:
            raise ValueError(f"{cls.kind}: the header does not fit")
        count = whole(about["words"], cls.kind, 1, MOST_WORDS)
        classes = texts(unpack(taken(tensors, f"{cls.kind}_{cls.array}")).split("\n"), cls.kind, 1)
        keys = cls._unpacked(taken(tensors, f"{cls.kind}_keys"), count, "uint64")
        keys = np.cumsum(keys, dtype=np.uint64)
        numbers = cls._unpacked(taken(tensors, f"{cls.kind}_numbers"), count, "int32")
        fits = all(isinstance(about[name], kind) for name, kind in cls.facts.items())
        fits = fits and len(classes) == whole(about["classes"], cls.kind, 1)
        fits = fits and all(isinstance(about[name], str) for name in ("name", "digest"))
        if not fits or not ((keys[1:] > keys[:-1]).all() and numbers.min() >= 0 and numbers.max() < len(classes)):
            raise ValueError(f"{cls.kind}: the arrays do not fit")
        return cls(keys, numbers, classes, about)

    @classmethod
    def _unpacked(cls, array: np.ndarray, count: int, kind: str) -> np.ndarray:
        size = np.dtype(kind).itemsize * count
        check_expansion(size, array.size, cls.kind)
        data = inflated(array.tobytes(), size, cls.kind)
        if len(data) != size:
            raise ValueError(f"{cls.kind}: the arrays do not fit")
        return of_planes(np.frombuffer(data, np.uint8).reshape(-1, count), kind)


def take_table(
    kind: type[WordTable], learned: Mapping[str, Any], tensors: Tensors, shared: WordTable | None = None
) -> Any:
    """The table of a kind that a model was trained with, if any; shared: that of a pipeline, for all of its parts."""
    if kind.kind not in learned:
        return None
    return shared or kind.take(learned[kind.kind], tensors)


def with_tables(
    learned: dict[str, Any], tensors: Tensors, tables: Mapping[str, WordTable]
) -> tuple[dict[str, Any], Tensors]:
    """What a file says of a model, and its arrays, with those of its tables of words."""
    for name, table in tables.items():
        learned, tensors = learned | {name: table.about}, tensors | table.tensors
    return learned, tensors


def values_with_none(types: list[str]) -> np.ndarray:
    """The values of texts as atoms; the last, "", has none."""
    values = values_of([Atom("c", WHOLE)], {"c": types})[0].copy()
    values[-1] = 0
    return values


def column_of(types: list[str], ids: np.ndarray, values: np.ndarray) -> Column:
    """A column of texts whose values are known."""
    return Column(types, ids, {(WHOLE, 0): values})


def _keys(words: list[str]) -> np.ndarray:
    out = np.empty(len(words), np.uint64)
    hash_strings(*pack_strings(words), out)
    return out >> np.uint64(64 - BITS)


def _packed(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(zlib.compress(byte_planes(array).tobytes(), 9), np.uint8)
