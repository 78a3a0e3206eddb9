"""Word clusters: classes of words that raw text has taught, as atoms of templates.

    c          the whole class of a word        c4, c6, c10 …   the first bits of its path in the tree of classes

Words are kept as 48 bits of their hashes, so a table of a million of them is read in a moment and takes few bytes in a
model file. A word without a class has no such atom: templates that ask for one do not fire.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from structron.errors import StructronError, quoted
from structron.features.atoms import WHOLE, Atom, values_of
from structron.features.encode import Column
from structron.io.packing import byte_planes, of_planes
from structron.io.tensors import Tensors, check_expansion, inflated, pack, taken, texts, unpack, whole
from structron.io.text import read_lines
from structron.kernels.table import hash_strings, pack_strings

NAME = re.compile(r"c([1-9]\d?)?$")
DEFAULT_ATOMS = ("c4", "c6", "c10", "c")
"""What is asked of the classes by templates that do not name any."""
BITS = 48
"""Bits of a word's hash: two words out of a million share them with a probability of one in 500."""
MOST_BITS = 64
MOST_WORDS = 1 << 28


def prefix_length(name: str) -> int | None:
    """How many bits an atom looks at, 0 for all; None where a name is that of no such atom."""
    found = NAME.match(name)
    return int(found[1] or 0) if found else None


class Clusters:
    """Words and their classes: paths in a binary tree, or numbers, which have no prefixes."""

    def __init__(self, keys: np.ndarray, numbers: np.ndarray, paths: Sequence[str], tree: bool, about: dict[str, Any]):
        self.keys, self.numbers = keys, numbers  # uint64[words], ascending; int32[words], of the words' paths
        self.paths, self.tree, self.about = list(paths), tree, about
        self._known: dict[int, tuple[list[str], np.ndarray, np.ndarray]] = {}

    @classmethod
    def of(cls, classes: Mapping[str, str], name: str = "clusters", tree: bool = True) -> Self:
        """Clusters of words by their paths, such as 0110, or, without a tree, by any names."""
        paths = sorted(set(classes.values()))
        number = {path: k for k, path in enumerate(paths)}
        keys, first = np.unique(_keys(list(classes)), return_index=True)
        numbers = np.array([number[path] for path in classes.values()], np.int32)[first]
        digest = hashlib.sha256("\n".join(paths).encode() + keys.tobytes() + numbers.tobytes()).hexdigest()[:16]
        about = {"name": name, "words": len(keys), "classes": len(paths), "tree": tree, "digest": digest}
        return cls(keys, numbers, paths, tree, about)

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

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"Clusters({self.summary})"

    @property
    def label(self) -> str:
        """Their name and what tells them from others, for signatures."""
        return f"{self.about['name']} {self.about['digest']}"

    @property
    def summary(self) -> str:
        """What they are, in a line."""
        about = self.about
        kind = "classes in a tree" if self.tree else "classes"
        return f"{about['name']}: {about['words']} words, {about['classes']} {kind} ({about['digest']})"

    # -- looking up ------------------------------------------------------------------------------------------------

    def of_words(self, words: list[str]) -> np.ndarray:
        """The number of each word's class, -1 for those that have none."""
        wanted = _keys(words)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.numbers[place], -1)

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
            cut = [path[:length] if length else path for path in self.paths] if self.tree or not length else []
            names = sorted(set(cut))
            number = {name: k for k, name in enumerate(names)}
            place = np.full(len(self.paths) + 1, len(names), np.int32)
            place[: len(cut)] = [number[name] for name in cut]
            values = values_of([Atom("c", WHOLE)], {"c": [*names, ""]})[0].copy()
            values[-1] = 0
            self._known[length] = [*names, ""], place, values
        return self._known[length]

    # -- files -----------------------------------------------------------------------------------------------------

    @cached_property
    def tensors(self) -> Tensors:
        """The arrays of a model file, compressed."""
        return {
            "clusters_keys": _packed(np.diff(self.keys, prepend=np.uint64(0))),
            "clusters_numbers": _packed(self.numbers),
            "clusters_paths": pack("\n".join(self.paths)),
        }

    @classmethod
    def take(cls, about: Any, tensors: Tensors) -> Self:
        """The clusters of a model file, taken out of its arrays; ValueError: they do not fit."""
        if not isinstance(about, dict) or set(about) != {"name", "words", "classes", "tree", "digest"}:
            raise ValueError("clusters do not fit")
        count, tree = whole(about["words"], "clusters", 1, MOST_WORDS), about["tree"]
        paths = texts(unpack(taken(tensors, "clusters_paths")).split("\n"), "clusters", 1)
        keys = np.cumsum(_unpacked(taken(tensors, "clusters_keys"), count, "uint64"), dtype=np.uint64)
        numbers = _unpacked(taken(tensors, "clusters_numbers"), count, "int32")
        fits = isinstance(tree, bool) and len(paths) == whole(about["classes"], "clusters", 1)
        fits = fits and all(isinstance(about[name], str) for name in ("name", "digest"))
        if not fits or not ((keys[1:] > keys[:-1]).all() and numbers.min() >= 0 and numbers.max() < len(paths)):
            raise ValueError("clusters do not fit")
        return cls(keys, numbers, paths, tree, about)


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


def take_clusters(learned: dict[str, Any], tensors: Tensors, shared: Clusters | None = None) -> Clusters | None:
    """The clusters that a model was trained with, if any; shared: those that a pipeline has for all of its parts."""
    if "clusters" not in learned:
        return None
    return shared or Clusters.take(learned["clusters"], tensors)


def _keys(words: list[str]) -> np.ndarray:
    out = np.empty(len(words), np.uint64)
    hash_strings(*pack_strings(words), out)
    return out >> np.uint64(64 - BITS)


def _packed(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(zlib.compress(byte_planes(array).tobytes(), 9), np.uint8)


def _unpacked(array: np.ndarray, count: int, kind: str) -> np.ndarray:
    size = np.dtype(kind).itemsize * count
    check_expansion(size, array.size, "clusters")
    data = inflated(array.tobytes(), size, "a table of clusters")
    if len(data) != size:
        raise ValueError("clusters do not fit")
    return of_planes(np.frombuffer(data, np.uint8).reshape(-1, count), kind)


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
