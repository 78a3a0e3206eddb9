"""Parts at work: sentences of tokens become sentences of words with tags, lemmas, trees and entities."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from structron.analysis import Sentence, Word
from structron.doc import Doc
from structron.tasks.pipeline.parts import Part, entity_rows, rows_of, split_rows
from structron.tasks.scripts import BETWEEN_WORDS

NARROW = 2
"""The beam of a parser that is to be fast and was not trained for it; one that was is greedy."""


class Annotator:
    """Trained parts, and what each reads and writes."""

    def __init__(self, parts: dict[str, Part], trained: dict[str, Any]):
        self.parts, self.trained = parts, trained

    def annotate(self, docs: Sequence[Doc], jobs: int, known: str = "", fast: bool = False) -> None:
        """Fill documents in place. known: what stands in them already: "tokens" (and words), or "tags" as well."""
        sentences = [sentence for doc in docs for sentence in doc.sentences]
        if known == "":
            self.split(sentences, jobs)
        if known != "tags":
            self.tag(sentences, jobs)
        self.parse(sentences, jobs, fast)
        self.name(docs, jobs)

    def split(self, sentences: Sequence[Sentence], jobs: int) -> None:
        """Make words of tokens."""
        if "splitter" not in self.trained:
            return
        found = self.trained["splitter"].predict([split_rows(sentence, False) for sentence in sentences], jobs=jobs)
        for sentence, labels in zip(sentences, found, strict=True):
            if any(BETWEEN_WORDS in label for label in labels):
                _split(sentence, labels)

    def tag(self, sentences: Sequence[Sentence], jobs: int) -> None:
        """Fill tags, features and lemmas."""
        words = [sentence.words for sentence in sentences]
        flat = [word for own in words for word in own]
        bounds = [0, *accumulate(map(len, words))]
        for name in ("tagger", "morphology", "lemmatizer"):
            if name in self.trained:
                part = self.parts[name]
                rows = rows_of(flat, part.reads)
                found = self.trained[name].predict([rows[lo:hi] for lo, hi in pairwise(bounds)], jobs=jobs)
                part.write(flat, [label for own in found for label in own])

    def narrowed(self, fast: bool) -> dict[str, int]:
        """What a parser is told that is to be fast: a narrow beam, if it searches with one."""
        parser: Any = self.trained.get("parser")
        return {"beam": min(NARROW, parser.search().beam or NARROW)} if fast and hasattr(parser, "beam") else {}

    def parse(self, sentences: Sequence[Sentence], jobs: int, fast: bool) -> None:
        """Fill heads and relations."""
        if "parser" not in self.trained:
            return
        words: list[list[Word]] = [sentence.words for sentence in sentences]
        reads = self.parts["parser"].reads
        rows = [[(*row, "0", "_") for row in rows_of(own, reads)] for own in words]
        trees = self.trained["parser"].predict(rows, jobs=jobs, **self.narrowed(fast))
        for own, tree in zip(words, trees, strict=True):
            for word, (head, relation) in zip(own, tree, strict=True):
                word.head, word.deprel = head, relation or "_"

    def name(self, docs: Sequence[Doc], jobs: int) -> None:
        """Find entities."""
        if "entities" not in self.trained:
            return
        part = self.parts["entities"]
        found = self.trained["entities"].predict([entity_rows(part, doc, False) for doc in docs], jobs=jobs)
        for doc, labels in zip(docs, found, strict=True):
            for sentence, own in zip(doc.sentences, labels, strict=True):
                sentence.set_entities(own)


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
