"""Dror & Reichart (2016): the treebanks that parsers learn from, and how much of them.

Where a treebank has no dev data, sentences drawn from its training data are, as in the paper: B-WM and the control
learn from the others, CSP from all.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structron.data.corpora import find
from structron.experiments.dror2016.choice import SEED
from structron.experiments.frame import Rows, has
from structron.io import read

HELD_OUT, LEAST_LEFT = 1000, 2
"""Sentences drawn for dev data where there are none (the paper's number), and how many times as many must be left."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A treebank: the column with the tags, how it is written, whether sentences have one root, whether its crossing
    arcs are worth a search that allows them."""

    name: str
    language: str
    pos: str = "upos"
    encoding: str = "utf-8"
    single_root: bool = True
    crossing: bool = False


CORPORA = (
    Corpus("ud-english-ewt", "English", pos="xpos"),
    Corpus("wsj-sample-dep", "English", pos="pos"),
    Corpus("ud-chinese-gsd", "Chinese"),
    Corpus("ud-greek-gdt", "Greek", crossing=True),
    Corpus("ud-italian-partut", "Italian"),
    Corpus("ud-turkish-imst", "Turkish"),
    Corpus("ud-basque-bdt", "Basque", crossing=True),
    Corpus("conll2007-basque", "Basque", pos="xpos", encoding="iso-8859-1", single_root=False, crossing=True),
    Corpus("ud-hungarian-szeged", "Hungarian", crossing=True),
    Corpus("conll2007-spanish", "Spanish", pos="xpos"),
)


@dataclass(frozen=True, slots=True)
class ParsingScale:
    """How much is done: tokens of each split (None: all), the β tried at each order, passes; and the same for
    projective beside non-projective search, which need no β and have time for more data."""

    train: int | None
    dev: int | None
    test: int | None
    betas: dict[int, Sequence[float]]
    passes: int
    crossing_train: int | None = None
    crossing_test: int | None = None
    crossing_passes: int = 6


def usable(data: Path | None) -> tuple[list[Corpus], list[str]]:
    """The treebanks that are there, and the names of those that are not."""
    there = [corpus for corpus in CORPORA if data and all(has(data, corpus.name, part) for part in ("train", "test"))]
    return there, [corpus.name for corpus in CORPORA if corpus not in there]


def front(sentences: Iterable[list[list[str]]], tokens: int | None) -> Rows:
    """Whole sentences from the front, as long as they have no more tokens than that."""
    found: Rows = []
    count = 0
    for sentence in sentences:
        count += len(sentence)
        if tokens is not None and count > tokens:
            break
        found.append(sentence)
    return found


def hold_out(sentences: Rows, seed: int = SEED) -> tuple[Rows, Rows]:
    """Sentences drawn at random, and the others, both in their order."""
    count = min(HELD_OUT, len(sentences) // (1 + LEAST_LEFT))
    drawn = set(np.random.default_rng(seed).choice(len(sentences), count, replace=False).tolist())
    held = [sentence for k, sentence in enumerate(sentences) if k in drawn]
    return held, [sentence for k, sentence in enumerate(sentences) if k not in drawn]


@dataclass(frozen=True, slots=True)
class Bank:
    """A treebank in memory. whole: what CSP learns from; rest: without what was drawn for dev data."""

    corpus: Corpus
    whole: Rows
    rest: Rows
    dev: Rows
    test: Rows

    @classmethod
    def load(cls, data: Path, corpus: Corpus, scale: ParsingScale) -> "Bank":
        def rows(split: str) -> Iterator[list[list[str]]]:
            return (sentence.rows for sentence in read(find(data, corpus.name, split), encoding=corpus.encoding))

        test = front(rows("test"), scale.test)
        if has(data, corpus.name, "dev"):
            whole = front(rows("train"), scale.train)
            return cls(corpus, whole, whole, front(rows("dev"), scale.dev), test)
        everything = list(rows("train"))
        dev, others = hold_out(everything)
        return cls(corpus, front(everything, scale.train), front(others, scale.train), front(dev, scale.dev), test)

    @property
    def own_dev(self) -> bool:
        return self.whole is self.rest

    def sizes(self) -> dict[str, Any]:
        parts = {"train": self.whole, "train without dev": self.rest, "dev": self.dev, "test": self.test}
        return {name: {"sentences": len(part), "tokens": sum(map(len, part))} for name, part in parts.items()}
