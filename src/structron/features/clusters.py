"""Word clusters: classes of words that raw text has taught, as atoms of templates.

    c          the whole class of a word        c4, c6, c10 …   the first bits of its path in the tree of classes

A word without a class has no such atom: templates that ask for one do not fire.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from structron.errors import StructronError, quoted
from structron.features.atoms import WHOLE
from structron.features.encode import Column
from structron.features.wordtable import WordTable, values_with_none
from structron.io.text import read_lines

NAME = re.compile(r"c([1-9]\d?)?$")
MOST_BITS = 64


def prefix_length(name: str) -> int | None:
    """How many bits an atom looks at, 0 for all; None where a name is that of no such atom."""
    found = NAME.match(name)
    return int(found[1] or 0) if found else None


class Clusters(WordTable):
    """Words and their classes: paths in a binary tree, or numbers, which have no prefixes."""

    kind: ClassVar[str] = "clusters"
    array: ClassVar[str] = "paths"
    facts: ClassVar[Mapping[str, type]] = {"tree": bool}
    usual: ClassVar[tuple[str, ...]] = ("c4", "c6", "c10", "c")
    meaning: ClassVar[str] = "with clusters, templates use this name for classes of words"

    def __init__(self, keys: np.ndarray, numbers: np.ndarray, paths: Sequence[str], about: dict[str, Any]):
        super().__init__(keys, numbers, paths, about)
        self.tree = bool(about["tree"])
        self._known: dict[int, tuple[list[str], np.ndarray, np.ndarray]] = {}

    @classmethod
    def of(cls, classes: Mapping[str, str], name: str = "clusters", tree: bool = True) -> Self:
        """Clusters of words by their paths, such as 0110, or, without a tree, by any names."""
        return cls._made(classes, name, tree=tree)

    @classmethod
    def from_file(cls, path: str | Path, encoding: str = "utf-8") -> Self:
        """From a file, plain or packed, of lines `word⇥bits`, `bits⇥word⇥count` (Brown's) or `word⇥number`, or from
        spaCy's table of clusters in JSON."""
        lines = read_lines(str(path), encoding, plain=True)
        first = next(lines, "").removeprefix("\ufeff")
        if first.lstrip().startswith("{"):
            found, tree = _of_json("".join([first, *lines]), path), True
        else:
            found, tree = _of_lines(_chained(first, lines), path)
        if not found:
            raise StructronError(f"{path}: no words; expected lines of a word, a tab and its class")
        return cls.of(found, Path(path).name, tree)

    @property
    def summary(self) -> str:
        """What they are, in a line."""
        about = self.about
        kind = "classes in a tree" if self.tree else "classes"
        return f"{about['name']}: {about['words']} words, {about['classes']} {kind} ({about['digest']})"

    @staticmethod
    def knows(name: str) -> bool:
        return prefix_length(name) is not None

    # -- looking up ------------------------------------------------------------------------------------------------

    def texts(self, words: list[str], lengths: Iterable[int]) -> list[list[str]]:
        """For each length, the first bits of each word's class (0: all of it); "" for words without."""
        numbers = self.of_words(words)
        return [
            list(map(names.__getitem__, place[numbers].tolist())) for names, place, _ in map(self._prefixes, lengths)
        ]

    def columns(self, words: Column, names: Iterable[str]) -> dict[str, Column]:
        """Atoms of words as columns, in which words without a class have no value."""
        lengths = {name: prefix_length(name) for name in names}
        numbers = self.of_words(words.types) if lengths else None
        found = {}
        for name, length in lengths.items():
            assert length is not None
            types, place, values = self._prefixes(length)
            found[name] = Column(types, place[numbers][words.ids], {(WHOLE, 0): values})
        return found

    def _prefixes(self, length: int) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Different prefixes, "" last; for each class, and for none (-1), which it is; their values as atoms."""
        if length not in self._known:
            cut = [path[:length] if length else path for path in self.classes] if self.tree or not length else []
            names = sorted(set(cut))
            number = {name: k for k, name in enumerate(names)}
            place = np.full(len(self.classes) + 1, len(names), np.int32)
            place[: len(cut)] = [number[name] for name in cut]
            self._known[length] = [*names, ""], place, values_with_none([*names, ""])
        return self._known[length]


def make_clusters(given: Any) -> Clusters | None:
    """Clusters from a file, from {word: bits}, or as they are."""
    if given is None or isinstance(given, Clusters):
        return given
    if isinstance(given, Mapping):
        odd = next((pair for pair in given.items() if not all(isinstance(x, str) for x in pair)), None)
        bits = next((path for path in given.values() if odd is None and not _is_path(path)), None)
        if odd is not None or bits is not None or not given:
            raise StructronError(f"clusters: {quoted(odd or bits or {})}; expected words and bits, such as 0110")
        return Clusters.of(given)
    if not isinstance(given, str | Path):
        raise StructronError(f"clusters: {quoted(given)}; expected a file, or a mapping of words to bits")
    return Clusters.from_file(given)


# -- reading -----------------------------------------------------------------------------------------------------------


def _is_path(text: str) -> bool:
    return 0 < len(text) <= MOST_BITS and not text.strip("01")


def _chained(first: str, lines: Iterable[str]) -> Iterable[str]:
    yield first
    yield from lines


def _of_lines(lines: Iterable[str], path: str | Path) -> tuple[dict[str, str], bool]:
    """Words and classes; and whether these are paths. Of three columns the first is the path."""
    found: dict[str, str] = {}
    tree, width = True, 0
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if not line:
            continue
        parts = line.split("\t") if "\t" in line else line.rsplit(None, 1)
        if len(parts) == 3 and _is_path(parts[0]):
            parts, own = [parts[1], parts[0]], 3
        else:
            own = len(parts)
        width = width or own
        is_number = own == 2 and parts[1].isascii() and parts[1].isdigit()
        if own != width or not (own == 3 or is_number) or not parts[0]:
            expected = "a word, a tab and its class (bits such as 0110, or a number)"
            expected = "bits, word and count" if width == 3 else expected
            raise StructronError(f"{path}:{number}: {quoted(line)}; expected {expected}")
        found[parts[0]] = parts[1]
        tree = tree and _is_path(parts[1])
    return found, tree


def _of_json(text: str, path: str | Path) -> dict[str, str]:
    """spaCy's table: word to number, whose lowest bit comes first in the path; 0: no class."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StructronError(f"{path}: not JSON ({error}); expected a table of words and numbers") from None
    numbers = {word: k for word, k in table.items() if k != 0}
    for word, k in numbers.items():
        if isinstance(k, bool) or not isinstance(k, int) or not 0 < k < 1 << MOST_BITS:
            raise StructronError(f"{path}: {quoted(word)}: {quoted(k)}; expected a number")
    width = max(numbers.values(), default=0).bit_length()
    paths = {k: f"{k:0{width}b}"[::-1] for k in set(numbers.values())}
    return {word: paths[k] for word, k in numbers.items()}
