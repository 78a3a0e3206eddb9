"""Gazetteers: lists of names (places, people, firms) that mark where a sentence mentions one of them.

A list is a column like any other: each word gets `B-TYPE`, `I-TYPE` or `O`, and feature templates may use it.
"""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from structron.errors import StructronError
from structron.io.tensors import Tensors, pack, taken, unpack
from structron.io.text import read_lines


class Gazetteer:
    """Phrases of one type, matched against a sentence leftmost first and longest first."""

    def __init__(self, name: str, phrases: Iterable[Sequence[str]], lowercase: bool = False):
        """Take phrases as sequences of words; with `lowercase`, case does not matter.

        Phrases are filed under their first word, since most words of a text begin none. What follows that word is
        filed by length, the longest first, so that the first that fits is the longest.
        """
        if not name or name.split() != [name]:
            raise StructronError(f"gazetteer name {name!r}; expected one word, because it becomes part of labels")
        self.name = name
        self.lowercase = lowercase
        self._phrases = {tuple(map(str.lower, phrase) if lowercase else phrase) for phrase in phrases} - {()}
        by_first: dict[str, dict[int, set[tuple[str, ...]]]] = {}
        for first, *rest in self._phrases:
            by_first.setdefault(first, {}).setdefault(len(rest), set()).add(tuple(rest))
        self._by_first = {first: sorted(rests.items(), reverse=True) for first, rests in by_first.items()}

    @classmethod
    def from_phrases(cls, name: str, phrases: Iterable[str], lowercase: bool = False) -> "Gazetteer":
        """A gazetteer of phrases whose words are separated by white space."""
        return cls(name, (phrase.split() for phrase in phrases), lowercase)

    @classmethod
    def from_files(
        cls,
        name: str,
        paths: Iterable[str | PathLike[str]],
        encoding: str = "utf-8",
        lowercase: bool = False,
    ) -> "Gazetteer":
        """A gazetteer read from files with one phrase a line, plain or compressed by gzip."""
        phrases: list[str] = []
        for path in paths:
            text = "".join(read_lines(str(path), encoding)).removeprefix("\ufeff")
            lines = [line for line in text.split("\n") if line.strip()]
            if not lines:
                raise StructronError(f"{path}: no phrases; expected one phrase per line")
            phrases += lines
        return cls.from_phrases(name, phrases, lowercase)

    def __len__(self) -> int:
        return len(self._phrases)

    def phrases(self) -> list[str]:
        """The phrases, sorted, as a model file stores them and `from_phrases` takes them back."""
        return sorted(map(" ".join, self._phrases))

    def match(self, words: Sequence[str]) -> list[str]:
        """`B-TYPE`, `I-TYPE` or `O` for each word; matches do not overlap."""
        if self.lowercase:
            words = [word.lower() for word in words]
        labels = ["O"] * len(words)
        find = self._by_first.get
        free = 0
        for start, word in enumerate(words):
            candidates = find(word)
            if candidates is None or start < free:
                continue
            for length, rests in candidates:
                end = start + 1 + length
                if tuple(words[start + 1 : end]) in rests:
                    labels[start:end] = [f"B-{self.name}"] + [f"I-{self.name}"] * length
                    free = end
                    break
        return labels


def make_gazetteers(given: Mapping[str, Any] | None) -> list[Gazetteer]:
    """Gazetteers from {TYPE: file, files or Gazetteer}."""

    def make(name: str, source: Any) -> Gazetteer:
        if isinstance(source, Gazetteer):
            return source
        return Gazetteer.from_files(name, [source] if isinstance(source, str | Path) else list(source))

    return [make(name, source) for name, source in (given or {}).items()]


def gazetteer_tensors(gazetteers: Iterable[Gazetteer]) -> Tensors:
    """The phrases of each gazetteer, for a model file."""
    return {f"gazetteer_{k}": pack("\n".join(gazetteer.phrases())) for k, gazetteer in enumerate(gazetteers)}


def take_gazetteers(header: Any, tensors: Tensors) -> list[Gazetteer]:
    """The gazetteers of a model file, taken out of its arrays. header: (name, whether it is lower-case) of each."""
    found = []
    if not isinstance(header, list):
        raise ValueError("gazetteers do not fit")
    for k, (name, lowercase) in enumerate(header):
        if not isinstance(name, str) or not isinstance(lowercase, bool):
            raise ValueError("gazetteers do not fit")
        phrases = unpack(taken(tensors, f"gazetteer_{k}")).split("\n")
        found.append(Gazetteer.from_phrases(name, phrases, bool(lowercase)))
    return found
