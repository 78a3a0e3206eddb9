"""Tokens and sentences of plain text: a label for every piece of it (text/pieces.py).

    I  inside a token        T  a token ends        S  a token ends, and with it a sentence

Training data are documents (doc.Doc) whose text, tokens and sentences are known; what is found is a Doc of the text, to
the last byte. A paragraph is a sequence of its own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, chain, cycle, pairwise
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError, quoted
from structron.estimator import Estimator, Sentences
from structron.eval.scores import SegmentationScores, segmentation_scores
from structron.features.encode import Column, TokenTable
from structron.io.columns import Columns
from structron.io.doc import Doc
from structron.io.tensors import Tensors
from structron.runtime.threads import uncollected
from structron.tasks.chain.labeler import ChainLabeler
from structron.tasks.options import TokenizerOptions
from structron.text.analysis import LINE_BREAK
from structron.text.pieces import COLUMNS, EARLIER, INSIDE, SENTENCE, TOKEN, Pieces, pieces_of, rows_of

UNITS = (1, 4, 10)
"""Sentences, in turn, that are learned from as a paragraph where paragraphs are longer, or the data know of none."""
DIVIDED = 0.002
"""Share of tokens that may end inside a piece; where more do, pieces are single letters."""
MOST_TOKENS = 1000
"""After which a sentence ends in any case: tables and lists without an end would otherwise fill the memory."""


class Tokenizer(ChainLabeler):
    """Splits text into sentences and tokens. The margin is 200 unless `alma` or `swvp` is given.

    Examples:
        >>> import structron
        >>> tokenizer = structron.load("english").part("tokenizer")
        >>> [doc] = tokenizer.predict(["She didn't sleep. He did."])
        >>> [[token.form for token in sentence.tokens] for sentence in doc]
        [['She', "didn't", 'sleep', '.'], ['He', 'did', '.']]
    """

    options_class = TokenizerOptions
    metric: ClassVar[str] = "f1"

    def _chunks(self) -> bool:
        return False

    def _scene(self, sentence: Any, gold: Any) -> Any:
        return Estimator._scene(self, sentence, gold)

    def _fit_columns(self, sentences: Sentences) -> list[Doc]:
        docs = documents_in(sentences, "training data", least=1)
        self.roles_ = Columns(list(COLUMNS), "piece", ["label"])
        self.extractor_ = self._make_extractor(self._templates())
        self.scheme_ = None
        tokens = [token for doc in docs for token in doc.tokens]
        self.spaces_ = any(" " in token.form for token in tokens)
        divided = sum(_divided(doc) for doc in docs)
        self.fine_ = divided > DIVIDED * len(tokens)
        if divided and not self.fine_:
            self.notes_.append(
                f"{divided} of {len(tokens)} tokens end inside a run of letters or digits, which cannot be learned"
            )
        return docs

    def _prepare(
        self, sentences: Sentences, labelled: bool = False, what: str = "data", lines: bool | None = None
    ) -> Any:
        items = documents_in(sentences, what) if labelled else list(sentences)
        rows: list[list[tuple[str, ...]]] = []
        found = []
        for number, item in enumerate(items, 1):
            text = item.text if isinstance(item, Doc) else item
            if not isinstance(text, str):
                raise StructronError(f"{what}: text {number} is {quoted(item)}; expected a string or a Doc")
            pieces = pieces_of(text, self.fine_, self.options.lines if lines is None else lines)
            found.append(pieces)
            rows += _labelled(pieces, item) if labelled else rows_of(pieces, self.roles_.names)
        if labelled or self.options.atoms:
            prepared = super()._prepare(rows, labelled, what)
        else:
            prepared = self.extractor_.prepared(self._table(rows))
        prepared.pieces = found
        return prepared

    def _table(self, rows: list[list[tuple[str, ...]]]) -> TokenTable:
        """The rows of paragraphs as columns."""
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(list(map(len, rows)), out=starts[1:])
        columns = dict(zip(self.roles_.names, zip(*chain.from_iterable(rows), strict=True), strict=False))
        encoded = {name: Column.of(columns.get(name, ())) for name in self.extractor_.needed}
        return TokenTable(starts, np.arange(len(starts)), encoded)

    def _decode_labels(self, out: np.ndarray, model: Any, prepared: Any, bounds: np.ndarray) -> list:
        number = {label: k for k, label in enumerate(model.labels)}
        inside, ends = (out == number.get(label, -1) for label in (INSIDE, SENTENCE))
        stops = accumulate((len(pieces.start) for pieces in prepared.pieces), initial=0)
        own = zip(prepared.pieces, pairwise(stops), strict=True)
        return [self._document(pieces, inside[lo:hi], ends[lo:hi]) for pieces, (lo, hi) in own]

    def _document(self, pieces: Pieces, inside: np.ndarray, ends: np.ndarray) -> Doc:
        """The text of pieces, of which some stand inside a token and some end a sentence; a paragraph and MOST_TOKENS
        end a sentence too, a space a token."""
        start, end = (np.array(own, np.int64) for own in (pieces.start, pieces.end))
        last = np.array(pieces.last, bool)
        gap = np.append(start[1:], 0) - end
        joined = inside & ~last & (gap == 0)
        if self.spaces_:
            for k in np.flatnonzero(inside & ~last & (gap > 0)).tolist():
                between = pieces.text[end[k] : start[k + 1]]
                joined[k] = between == " " or LINE_BREAK.fullmatch(between) is not None
        close = np.flatnonzero(~joined)  # the last piece of each token
        tokens = list(zip(start[np.append(0, close + 1)[:-1]].tolist(), end[close].tolist(), strict=True))
        sentences: list[list[tuple[int, int]]] = []
        paragraphs = {0}
        bounds = np.flatnonzero((ends | last)[close]) + 1
        for lo, hi in pairwise([0, *bounds.tolist()]):
            sentences += [tokens[at : min(at + MOST_TOKENS, hi)] for at in range(lo, hi, MOST_TOKENS)]
            if last[close[hi - 1]]:
                paragraphs.add(len(sentences))
        doc = Doc.from_spans(pieces.text, sentences)
        for number in paragraphs & set(range(len(doc.sentences))):
            doc.sentences[number].new_paragraph = True
        return doc

    def predict(  # type: ignore[override]
        self, sentences: Iterable[Any], *, jobs: int | None = None, lines: bool | None = None
    ) -> list:
        """The sentences and tokens of each text, as a Doc.

        Args:
            sentences: The texts.
            jobs: Number of threads; by default that of the estimator.
            lines: Whether every line ends a sentence; by default the option of this name.
        """
        self._check_fitted()
        with uncollected():
            return self.tokenized(sentences, self._jobs(jobs), lines)

    def tokenized(self, texts: Iterable[Any], jobs: int, lines: bool | None) -> list:
        """What `predict` returns, where everything has been checked.

        Args:
            texts: The texts.
            jobs: Number of threads.
            lines: As for `predict`.
        """
        return self._decode(self.model_, self._prepare(texts, lines=lines), jobs)

    def evaluate(self, sentences: Sentences, *, jobs: int | None = None, guess: list | None = None) -> Any:
        """F1 of tokens and sentences.

        Args:
            sentences: Documents with the correct tokens and sentences.
            jobs: Number of threads; by default that of the estimator.
            guess: Score these documents instead of the model's.
        """
        docs = self._gold(sentences)
        return self._scores(docs, self.predict([doc.text for doc in docs], jobs=jobs) if guess is None else guess)

    def _encode(self, sentences: Sentences, what: str = "data") -> Any:
        return self._prepare([doc.text for doc in documents_in(sentences, what)], False, what)

    def _gold(self, sentences: Sentences, what: str = "data") -> list:
        return documents_in(sentences, what)

    def _scores(self, gold: list, guess: list, sentences: Any = None) -> SegmentationScores:
        return segmentation_scores([_spans(doc) for doc in gold], [_spans(doc) for doc in guess])

    def _state(self, model: Any) -> tuple[dict[str, Any], Tensors]:
        learned, tensors = super()._state(model)
        return learned | {"fine": self.fine_, "spaces": self.spaces_}, tensors

    def _resolved_options(self) -> dict[str, Any]:
        return {}

    def _load_state(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        self.fine_, self.spaces_ = bool(learned["fine"]), bool(learned["spaces"])
        super()._load_state(learned, tensors, **code)
        known = self.roles_.names in (COLUMNS, *EARLIER)
        if not known or not {*self.model_.labels} <= {INSIDE, TOKEN, SENTENCE}:
            raise ValueError("labels of pieces do not fit")


def documents_in(items: Iterable[Any], what: str, least: int = 0) -> list[Doc]:
    """The documents of labelled data, checked; least: of the sentences that are needed."""
    docs = list(items)
    for number, doc in enumerate(docs, 1):
        if not isinstance(doc, Doc):
            raise StructronError(f"{what}: document {number} is {quoted(doc)}; expected a Doc with sentences")
    if sum(map(len, docs)) < least:
        raise StructronError(f"{what}: no sentences; expected at least one with words")
    return docs


def _divided(doc: Doc) -> int:
    """How many tokens end inside a piece."""
    ends = set(pieces_of(doc.text).end)
    return sum(token.end not in ends for token in doc.tokens)


def _labelled(pieces: Pieces, doc: Doc) -> Iterator[list[tuple[str, ...]]]:
    """The rows of a document's paragraphs with gold labels; long ones are cut."""
    tokens, sentences = {token.end for token in doc.tokens}, {sentence.end for sentence in doc.sentences}
    labels = [SENTENCE if end in sentences else TOKEN if end in tokens else INSIDE for end in pieces.end]
    ends, longest, lengths = iter(labels), max(UNITS), cycle(UNITS)
    last, count, length = list(pieces.last), 0, longest
    for k, label in enumerate(labels):
        count += label == SENTENCE
        if count == length and label == SENTENCE:
            last[k] = True
            length = next(lengths)
        if last[k]:
            count, length = 0, length if pieces.last[k] is False else longest
    for paragraph in rows_of(replace(pieces, last=last)):
        yield [(*row, label) for row, label in zip(paragraph, ends, strict=False)]


def _spans(doc: Doc) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The spans of a document's tokens and sentences."""
    return [(token.start, token.end) for token in doc.tokens], [(s.start, s.end) for s in doc.sentences]
