"""Chunking by whole chunks: search adds a labelled chunk at a time, features see all of it (Daumé & Marcu 2005).

rows ──extract──▶ base features ──stretches──▶ numbers ──segment_problem──▶ beam engine ──▶ chunks ──▶ BIO labels
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from structron import schemes
from structron.errors import StructronError, unknown
from structron.features.extract import ComputedAtom, PreparedTemplates
from structron.learn.committee import Committee
from structron.search.beam import engine
from structron.sentences import spell
from structron.tasks.chain.labeler import ChainLabeler, Sentences
from structron.tasks.segments.model import SegmentLearner, SegmentModel
from structron.tasks.segments.problem import OUTSIDE, Segments, segments_of


class SegmentChunker(ChainLabeler):
    """Learns to cut sentences into labelled chunks, a whole chunk at each step of the search.

    beam: segmentations kept at each step, None: all of them.   update: the rule, for instance laso or max-violation.
    alma: α of large-margin updates (Gentile 2001), None: the perceptron's.   merge: equivalent segmentations are one.
    margin: the perceptron learns until the correct chunks win by more than this (Kazama & Torisawa 2007; alma must be
    None), None: until they win.
    passes: over the training data.   runs: the model is the mean of so many runs with the data in different orders.
    average: mean (of all weights after every example) or none.
    templates: what of tokens counts before, after and inside a chunk: a preset's name, a file, or a list of texts.
    columns, label: names of a token's columns; labels may be of any chunk scheme, those predicted are BIO (IOB2).
    cutoff: features seen less often are left out.   patience: stop after that many passes without gain on dev.
    stop_change: stop when the share of sentences with updates hardly changes any more, for instance 1e-4.
    gazetteers: {TYPE: file, files or Gazetteer}.   atoms: {name: function(sentence, position) -> text}.
    longest: no chunk is longer; None: than those of its label in the training data.
    jobs: threads when predicting.   check: verify that updates are violations.
    """

    task: ClassVar[str] = "segments"
    metric: ClassVar[str] = "f1"
    default_templates: ClassVar[dict[str, str]] = {"pos": "segments", "": "segments-words"}
    order = 1
    tag_dictionary = bpm = 0
    non_local, swvp = (), None
    candidates, test_candidates, local_update, local_margin = 20, 100, "none", None
    """What a segmentation has no use for; a labeller's checks look at them."""

    def __init__(
        self,
        *,
        beam: int | None = 5,
        update: str = "laso",
        alma: float | None = 0.9,
        merge: bool = True,
        passes: int = 10,
        runs: int = 1,
        average: str = "mean",
        templates: Any = "default",
        columns: Sequence[str] | None = None,
        label: str | None = None,
        cutoff: int = 2,
        gazetteers: Mapping[str, Any] | None = None,
        atoms: Mapping[str, ComputedAtom] | None = None,
        longest: int | None = None,
        seed: int = 1,
        shuffle: bool = True,
        patience: int = 0,
        jobs: int = 1,
        verbose: bool = False,
        check: bool | None = None,
        margin: float | None = None,
        stop_change: float | None = None,
    ):
        self.beam, self.update, self.alma, self.merge = beam, update, alma, merge
        self.passes, self.runs, self.average, self.templates = passes, runs, average, templates
        self.columns, self.label, self.cutoff, self.longest = columns, label, cutoff, longest
        self.gazetteers, self.atoms = gazetteers, atoms
        self.seed, self.shuffle, self.patience = seed, shuffle, patience
        self.jobs, self.verbose, self.check = jobs, verbose, check
        self.margin, self.stop_change = margin, stop_change

    # -- training ------------------------------------------------------------------------------------------------

    def _train(self, *given: Any) -> None:
        self._check_average()
        if self.longest is not None and self.longest < 1:
            raise StructronError(f"longest: {self.longest}; expected at least 1, or None: as in the training data")
        super()._train(*given)

    def partial_fit(self, *given: Any, **options: Any) -> "SegmentChunker":
        """Not to be had: lengths and sequences of chunks are those of the first training data."""
        raise StructronError("segments: a model cannot be trained further; expected fit on all sentences at once")

    def _own_learner(self, prepared: PreparedTemplates) -> SegmentLearner | Committee:
        """Settle labels and lengths, and turn gold labels into the actions that build their chunks."""
        for template in self.extractor_.templates:
            if template.labels:
                raise StructronError(f"templates: {template}: labels before; expected templates over tokens alone")
        labels = spell(prepared.label_ids, prepared.label_types, prepared.starts)
        self.scheme_ = schemes.detect(labels)
        if self.scheme_ is None:
            raise _no_chunks(prepared.label_types)
        sentences = [segments_of(sentence) for sentence in labels]
        if any(kind == OUTSIDE for sentence in labels for kind, _, _ in schemes.spans(sentence)):
            raise StructronError(f"training data: chunks of type {OUTSIDE}; expected another name: that is no chunk's")
        segments = Segments.of(sentences, self.longest)
        most = dict(zip(segments.labels, segments.longest, strict=True))
        cut = sum(length > most[label] for sentence in sentences for label, length in sentence)
        self.notes_ = [f"{cut} chunks of more than {self.longest} words, learned from in pieces"] if cut else []
        gold = [segments.encode(sentence) for sentence in sentences]
        learner = SegmentLearner(prepared, gold, segments, self._search(), self.cutoff, self.average)
        return learner if self.runs == 1 else Committee(learner, self.runs)

    # -- using ---------------------------------------------------------------------------------------------------

    def is_cold(self) -> bool:
        """Whether the first prediction has to compile."""
        return engine.is_cold()

    def _decode(self, model: Any, prepared: Any, jobs: int, forced: Any = None, margins: bool = False) -> Any:
        search = self._search()
        return model.decode(prepared, jobs, forced, margins, search.beam, search.merge)

    def predict_segments(self, sentences: Sentences, jobs: int | None = None) -> list[list[tuple[int, int, str]]]:
        """For every sentence its chunks: (first token, token after the last, label)."""
        found = self.predict(sentences, jobs=jobs)
        return [[(begin, end, kind) for kind, begin, end in schemes.spans(labels)] for labels in found]

    def nbest(self, *given: Any, **options: Any) -> Any:
        """Not to be had: the search keeps the best segmentation alone."""
        raise StructronError("segments: no n-best labellings; expected a chunker without a beam for that")

    def explain(self, sentence: Sequence, top: int = 8) -> Any:
        """Not to be had yet."""
        raise StructronError("segments: decisions are not explained; expected a chunker without a beam for that")

    def inspect_weights(self, label: str | None = None, top: int = 20) -> dict[str, list[tuple[str, float]]]:
        """The heaviest features of every label of chunks, or of one; O: of words outside."""
        model: SegmentModel = self._check_fitted()
        labels = model.segments.labels
        if label is not None and label not in labels:
            raise unknown("label", label, labels)
        return {name: model.heaviest(y, top) for y, name in enumerate(labels) if label in (None, name)}

    def _signature(self) -> str:
        """What a score needs to be reproduced."""
        search, model = self._search(), self.model_
        features, labels = len(model.keys) + len(model.block_keys), f"labels {len(model.segments.labels)}"
        return self._signed(search.rule, search, self.runs, self.cutoff, features, labels)


def _no_chunks(labels: Iterable[str]) -> StructronError:
    odd = [label for label in labels if schemes.detect([[label, "B-X"]]) is None]
    if odd:
        return StructronError(f"training data: label {odd[0]!r} is no chunk label; expected O, B-NP, I-NP or the like")
    return StructronError(f"training data: one label only ({OUTSIDE}); expected chunks, for instance B-NP I-NP")
