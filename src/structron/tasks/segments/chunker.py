"""Chunking by whole chunks: search adds a labelled chunk at a time, features see all of it (Daumé & Marcu 2005).

rows ──extract──▶ base features ──segments──▶ numbers ──problem──▶ beam engine ──▶ chunks ──▶ BIO labels
"""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError, unknown
from structron.estimator import Sentences
from structron.eval.scores import ChunkScores, chunk_scores
from structron.features.extract import PreparedTemplates
from structron.features.segments import Shape
from structron.io.tensors import Tensors
from structron.learn.encoded import EncodedLearner
from structron.model.encoded import EncodedModel
from structron.model.heaviest import Heaviest, heaviest_of
from structron.tasks.chain.encoder import columns_of
from structron.tasks.encoded import EncodedLabeler
from structron.tasks.options import SegmentOptions
from structron.tasks.partial import check_order
from structron.tasks.segments.encoder import SegmentEncoder, encode_segments
from structron.tasks.segments.partial import KnownWords, check_words, open_lengths
from structron.tasks.segments.problem import OUTSIDE, Segments, segments_of
from structron.text import schemes
from structron.text.sentences import decode_labels


class SegmentChunker(EncodedLabeler):
    """Splits sentences into labelled chunks, a whole chunk at each step of the search.

    Templates describe the tokens before, after and inside a chunk. Labels may follow any chunk scheme; predictions
    are BIO (IOB2). By default the beam is 4, with max-violation updates and a margin of 2; with `alma` updates are
    LaSO's.

    Examples:
        >>> from structron import SegmentChunker
        >>> from structron.data.toy_english import toy_english
        >>> train = [list(zip(s.words, s.pos, s.chunks)) for s in toy_english(100)]
        >>> chunker = SegmentChunker(columns=["word", "pos", "chunk"], runs=1).fit(train)
        >>> chunker.predict_segments([[("A", "DT"), ("dog", "NN"), ("barks", "VBZ")]])
        [[(0, 2, 'NP'), (2, 3, 'VP')]]
    """

    options_class = SegmentOptions
    usual_columns: ClassVar[tuple[str, ...]] = ("word", "pos", "chunk")
    metric: ClassVar[str] = "f1"

    def _make_learner(self, prepared: PreparedTemplates, start: EncodedModel | None) -> EncodedLearner:
        """Settle labels and lengths, and turn gold labels into the actions that build their chunks."""
        for template in self.extractor_.templates:
            if template.labels:
                raise StructronError(
                    f"templates: {template}: uses previous labels; expected templates only over tokens"
                )
        labels = decode_labels(prepared.label_ids, prepared.label_types, prepared.starts)
        partial = [s for s, own in enumerate(labels) if None in own]
        scheme = schemes.detect_partial(labels) if partial else schemes.detect(labels)
        if start is None:
            self.scheme_ = scheme
        if scheme is None and (start is None or not set(prepared.label_types) <= {OUTSIDE}):
            raise _no_chunks(prepared.label_types)
        words = self._known_words(prepared, labels, partial)
        sentences = [[] if s in words else segments_of(sentence) for s, sentence in enumerate(labels)]
        if any(kind == OUTSIDE for label in prepared.label_types for kind, _, _ in schemes.spans([label])):
            raise StructronError(
                f"training data: chunks of type {OUTSIDE}, the label of words outside chunks; expected another name"
            )
        longest, before = self.options.longest, start.encoder.segments if start else None
        more = open_lengths(words.values(), longest) if words else []
        segments = Segments.of([*sentences, *more], longest, before)
        most = dict(zip(segments.labels, segments.longest, strict=True))
        if cut := sum(length > most[label] for sentence in sentences for label, length in sentence):
            self.notes_.append(f"{cut} chunks of more than {self.options.longest} words, split for training")
        gold = [segments.encode(sentence) for sentence in sentences]
        options = self.options
        shape = Shape(options.positions, options.whole_chunks) if start is None else start.encoder.shape
        encoder = SegmentEncoder(segments, shape)
        data = encode_segments(prepared, gold, encoder, options.cutoff, start, options.unseen_chunks, words)
        if data.known is not None:
            self._check_agreement(prepared, data.known.inputs.x, labels, words, segments)
        columns = None if start is None else columns_of(start.encoder.segments.labels, segments.labels)
        return EncodedLearner(data, options.resolved, options.average, start, columns)

    def _known_words(self, prepared: Any, labels: list[list[Any]], partial: list[int]) -> dict[int, KnownWords]:
        """What is known of the words of these sentences, which have open labels."""
        if partial and self.options.swvp is not None:
            raise StructronError("swvp: cannot be combined with open labels in the training data; expected swvp none")
        scheme, found = self.scheme_ or "iob2", {}
        for s in partial:
            where = f"training data: sentence {prepared.sentence_numbers[s]}"
            check_order(labels[s], scheme, where)
            found[s] = KnownWords.of(labels[s], scheme)
        return found

    def _check_agreement(
        self, prepared: Any, x: np.ndarray, labels: list[list[Any]], words: dict[int, KnownWords], segments: Segments
    ) -> None:
        """Refuse sentences in which no chunks agree with what is known."""
        for s, own in words.items():
            tokens = slice(int(prepared.starts[s]), int(prepared.starts[s + 1]))
            where = f"training data: sentence {prepared.sentence_numbers[s]}"
            check_words(own, x[tokens], labels[s], segments, where)

    # -- using ---------------------------------------------------------------------------------------------------

    def predict_segments(self, sentences: Sentences, *, jobs: int | None = None) -> list[list[tuple[int, int, str]]]:
        """The chunks of each sentence.

        Args:
            sentences: Sentences whose tokens are strings or rows; the label column may be missing.
            jobs: Number of threads; by default that of the estimator.

        Returns:
            For each sentence a list of triples: the first token, the token after the last, and the label.
        """
        found = self.predict(sentences, jobs=jobs)
        return [[(begin, end, kind) for kind, begin, end in schemes.spans(labels)] for labels in found]

    def _size(self, model: EncodedModel) -> str:
        return f"labels {len(model.encoder.segments.labels)}"

    def _scores(self, gold: list, guess: list, sentences: Any = None) -> ChunkScores:
        return chunk_scores(gold, guess)

    def inspect(self, label: str | None = None, *, top: int = 20) -> Heaviest:
        """The features with the largest weights, for every label of chunks and, as O, for words outside of them.

        Args:
            label: Only those of this label; by default of every label.
            top: How many of each.
        """
        model = self._check_fitted()
        labels = model.encoder.segments.labels
        if label is not None and label not in labels:
            raise unknown("label", label, labels)
        columns = {name: [y] for y, name in enumerate(labels) if label in (None, name)}
        return heaviest_of(model.base, columns, top, model.name_of)

    # -- files ---------------------------------------------------------------------------------------------------

    def _read_model(self, header: dict[str, Any], tensors: Tensors, **code: Any) -> EncodedModel:
        return EncodedModel.read(SegmentEncoder, header, tensors)


def _no_chunks(labels: Iterable[str]) -> StructronError:
    odd = [label for label in labels if schemes.detect([[label, "B-X"]]) is None]
    if odd:
        return StructronError(
            f"training data: label {odd[0]!r} is not a chunk label; expected labels like O, B-NP, I-NP"
        )
    return StructronError(f"training data: only one label ({OUTSIDE}); expected chunks, for instance B-NP I-NP")
