"""Parts at work: sentences of tokens become sentences of words with tags, lemmas, trees and entities.

words ──a column each, encoded once──▶ Words ──table of what a part reads──▶ part
                                         └──────◀── what it writes, as columns
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np

from structron.features.encode import Column, Numbering, TokenTable
from structron.io.doc import Doc
from structron.tasks.pipeline.election import elected
from structron.tasks.pipeline.parts import BETWEEN, VOTES, Part
from structron.tasks.scripts import BETWEEN_WORDS
from structron.text.analysis import Sentence, Token, Word

NARROW = 2
"""The beam of a parser that is to be fast and was not trained for it; one that was is greedy."""
OUTSIDE = "O"


class Words:
    """The words (or tokens) of sentences, and the columns of them that parts read and write: each is encoded once."""

    def __init__(self, sentences: Sequence[Sequence[Word] | Sequence[Token]]):
        self.flat: list[Any] = [word for own in sentences for word in own]
        self.starts = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
        self.columns: dict[str, Column] = {}

    def column(self, name: str) -> Column:
        """A column, as a part has found it or as it stands in the words."""
        if name not in self.columns:
            numbering = Numbering([name])
            numbering.add({name: list(map(attrgetter(name), self.flat))})
            self.columns |= numbering.columns()
        return self.columns[name]

    def table(self, reads: Iterable[str], called: Iterable[str], units: Sequence[int] | None = None) -> TokenTable:
        """Some columns, by the names that a part has for them. units: how many sentences each document has."""
        bounds = np.arange(len(self.starts)) if units is None else np.cumsum([0, *units], dtype=np.int64)
        columns = {own: self.column(name) for name, own in zip(reads, called, strict=True)}
        return TokenTable(self.starts, bounds, columns)

    def write(self, names: Sequence[str], found: Column) -> None:
        """Put what a part has found into the words; several columns are one label, to be split."""
        columns = [found] if len(names) == 1 else found.split(BETWEEN, len(names))
        for name, own in zip(names, columns, strict=True):
            self.columns[name] = own
            for word, text in zip(self.flat, own.texts(), strict=True):
                setattr(word, name, text)


def words_of(sentences: Iterable[Sentence]) -> Words:
    """The words of sentences."""
    return Words([[word for token in sentence.tokens for word in token.words] for sentence in sentences])


class Annotator:
    """Trained parts, and what each reads and writes."""

    def __init__(self, parts: dict[str, Part], trained: dict[str, Any]):
        self.parts, self.trained = parts, trained
        self.called = {name: own.roles_.inputs for name, own in trained.items() if name != "tokenizer"}

    def annotate(self, docs: Sequence[Doc], jobs: int, known: str = "", fast: bool = False) -> None:
        """Fill documents in place. known: what stands in them already: "tokens" (and words), or "tags" as well."""
        sentences = [sentence for doc in docs for sentence in doc.sentences]
        if known == "":
            self.split(sentences, jobs)
        words = words_of(sentences)
        if known != "tags":
            self.tag(words, jobs)
        self.parse(words, jobs, fast)
        self.name(sentences, words, [len(doc.sentences) for doc in docs], jobs)

    def split(self, sentences: Sequence[Sentence], jobs: int) -> None:
        """Make words of tokens."""
        if "splitter" not in self.trained:
            return
        tokens = Words([sentence.tokens for sentence in sentences])
        found = self._found("splitter", tokens, ["form"], jobs).texts()
        for sentence, (lo, hi) in zip(sentences, pairwise(tokens.starts.tolist()), strict=True):
            if any(BETWEEN_WORDS in label for label in found[lo:hi]):
                _split(sentence, found[lo:hi])

    def tag(self, words: Words, jobs: int) -> None:
        """Fill tags, features and lemmas."""
        for name in ("tagger", "morphology", "lemmatizer"):
            if name in self.trained:
                part = self.parts[name]
                words.write(part.writes, self._found(name, words, part.reads, jobs))

    def _found(
        self, name: str, words: Words, reads: Sequence[str], jobs: int, units: Sequence[int] | None = None
    ) -> Column:
        """What a part labels words with."""
        return self.trained[name].predict_column(words.table(reads, self.called[name], units), jobs)

    def narrowed(self, fast: bool) -> dict[str, int]:
        """What the first parser is told that is to be fast: a narrow beam, if it searches with one."""
        parser: Any = self.trained.get("parser")
        return {"beam": min(NARROW, parser.options.resolved.beam or NARROW)} if fast and hasattr(parser, "beam") else {}

    def parse(self, words: Words, jobs: int, fast: bool) -> None:
        """Fill heads and relations, by the votes of all parsers, or by the first alone where it is to be fast."""
        parsers = [name for name in VOTES if name in self.trained][: 1 if fast else None]
        if not parsers:
            return
        reads, narrow = self.parts[parsers[0]].reads, self.narrowed(fast)
        table = words.table(reads, reads)
        found = [self.trained[name].predict_arcs(table, jobs, **narrow) for name in parsers]
        weights = [VOTES[name] for name in parsers]
        arcs = found[0] if len(found) == 1 else elected(table, found, weights, self.trained[parsers[0]])
        for word, (head, relation) in zip(words.flat, arcs, strict=True):
            word.head, word.deprel = head, relation or "_"

    def name(self, sentences: Sequence[Sentence], words: Words, units: Sequence[int], jobs: int) -> None:
        """Find entities."""
        if "entities" not in self.trained:
            return
        found = self._found("entities", words, self.parts["entities"].reads, jobs, units).texts()
        for sentence, (lo, hi) in zip(sentences, pairwise(words.starts.tolist()), strict=True):
            labels = found[lo:hi]
            if labels.count(OUTSIDE) < len(labels):
                sentence.set_entities(labels)
            else:
                sentence.entities = []


def _split(sentence: Sentence, labels: Sequence[str]) -> None:
    number = 1
    for token, label in zip(sentence.tokens, labels, strict=True):
        forms = label.split(BETWEEN_WORDS)
        if len(forms) > 1:
            token.words = [Word(number + k, form) for k, form in enumerate(forms)]
            token.place_words()
        else:
            token.words[0].id = number
        number += len(forms)
