"""From plain text to trees: one estimator whose model is several (see parts.py).

    nlp = structron.Pipeline().fit(read_docs("train.conllu"), dev=read_docs("dev.conllu"))
    doc = nlp("Dr. Smith didn't sleep.")

One file holds all parts. What training data lack is left out, and said.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from structron._version import __version__
from structron.conll18 import UDScores, ud_scores
from structron.doc import Doc
from structron.errors import StructronError, unknown
from structron.estimator import Estimator, Sentences
from structron.io import modelfile
from structron.io.tensors import Tensors, beginning, under
from structron.learn.loop import Learner
from structron.options import Pipelines, options
from structron.progress import Progress
from structron.tasks.pipeline.annotate import Annotator
from structron.tasks.pipeline.compact import compacted
from structron.tasks.pipeline.parts import KINDS, PARTS, Contents, Part, make_parts
from structron.tasks.pipeline.training import data_for, jackknifed, make_estimator, predicted
from structron.threads import uncollected

BATCH = 100_000
"""Characters of text that are annotated at a time."""
NARROW = 2
"""The beam of a fast parser."""
OWN = "every part has settings of its own"
GOLD = ("", "tokens", "tags")


@options()
class Pipeline(Pipelines, Estimator):
    """Tokens, multiword tokens, tags, features, lemmas, trees and entities of plain text."""

    task: ClassVar[str] = "pipeline"
    metric: ClassVar[str] = "las"
    texts: ClassVar[bool] = True
    lacks: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("passes", "runs", "average voted", "bpm", "patience", "stop_change", "nbest", "confidence", "forced"), OWN
    ) | {"partial_fit": "parts learn from what others predict: train all of them anew", "inspect": OWN, "explain": OWN}

    # -- training --------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        for name in self.without:
            if name not in PARTS:
                raise unknown("part", name, PARTS)

    def _train(
        self,
        sentences: Sentences,
        dev: Sentences | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
        start: Any,
    ) -> None:
        self.check_options()
        self._check()
        progress = progress or Progress(show=self.verbose)
        docs, devs = list(sentences), None if dev is None else list(dev)
        contents = Contents.of(docs)
        if not contents.tokens:
            raise StructronError("training data: no sentences; expected documents with words")
        self.parts_ = make_parts(contents, self.without)
        self.notes_ = contents.missing()
        for note in self.notes_:
            progress.note(note)
        trained: dict[str, Any] = {}
        self.history_, self.stopped_, self.best_pass_ = [], "passes", 1
        seen: list[Doc] | None = None
        dev_seen: list[Doc] | None = None
        for name, part in self.parts_.items():
            if name in ("parser", "entities") and seen is None:
                seen = jackknifed(self.parts_, docs, self.folds, self.seed, self.jobs, progress)
                if devs is not None:
                    dev_seen = predicted(Annotator(self.parts_, trained), devs, self.jobs)
            known, judged = (seen or docs, dev_seen) if name in ("parser", "entities") else (docs, devs)
            estimator = make_estimator(name, part, self.seed, self.jobs, **self._changed(name))
            progress.note(f"{name}:")
            judged_data = None if judged is None else data_for(name, part, judged)
            estimator.fit(data_for(name, part, known), dev=judged_data, progress=progress)
            trained[name] = estimator
            self.history_.append({"part": name, "passes": estimator.history_})
            if estimator.stopped_ == "interrupted":
                self.stopped_ = "interrupted"
                break
        self.model_ = Annotator({name: self.parts_[name] for name in trained}, trained)
        self.signature_ = self._signature()

    def _changed(self, name: str) -> dict[str, Any]:
        return {"beam": NARROW} if name == "parser" and self.fast else {}

    # -- using -----------------------------------------------------------------------------------------------------

    def __call__(self, text: str) -> Doc:
        """The analysis of a text."""
        return self.predict([text])[0]

    def predict(self, sentences: Iterable[str], *, jobs: int | None = None) -> list[Doc]:
        """The analysis of each text."""
        return list(self.pipe(sentences, jobs=jobs))

    def pipe(self, texts: Iterable[str], *, jobs: int | None = None) -> Iterator[Doc]:
        """The analyses of any number of texts, one by one, in constant memory."""
        for batch in _batches(texts):
            yield from self._decode(self._check_fitted(), batch, self._jobs(jobs))

    def annotate(self, docs: Sequence[Doc], *, known: str, jobs: int | None = None) -> None:
        """Fill documents in place whose tokens ("tokens"), or tags too ("tags"), are known."""
        if known not in GOLD[1:]:
            raise unknown("what is known", known, GOLD[1:])
        model = self._check_fitted()
        self._set_up(model)
        model.annotate(docs, self._jobs(jobs), known)

    def _set_up(self, model: Annotator) -> None:
        """Let the parts work as the options of this moment say."""
        if "tokenizer" in model.trained:
            model.trained["tokenizer"].lines = self.lines
        parser = model.trained.get("parser")
        if parser is not None and hasattr(parser, "beam"):
            self.beam_ = getattr(self, "beam_", parser.beam)
            parser.beam = min(NARROW, self.beam_ or NARROW) if self.fast else self.beam_

    def _decode(self, model: Any, ready: Any, jobs: int) -> list:
        if "tokenizer" not in model.trained:
            raise StructronError("this pipeline has no tokenizer; give it documents with tokens (annotate)")
        self._set_up(model)
        with uncollected():
            docs = model.trained["tokenizer"].predict(ready, jobs=jobs)
            model.annotate(docs, jobs)
        return docs

    @staticmethod
    def bare(docs: Sequence[Doc], gold: str) -> list[Doc]:
        """Copies of documents with nothing but tokens and words, or with their tags, features and lemmas as well."""
        copies = copy.deepcopy(list(docs))
        for doc in copies:
            for sentence in doc.sentences:
                sentence.entities = []
                for word in sentence.words:
                    word.head, word.deprel, word.deps = None, "_", "_"
                    if gold == "tokens":
                        word.lemma = word.upos = word.xpos = word.feats = "_"
        return copies

    def evaluate(
        self, sentences: Sentences, *, jobs: int | None = None, guess: list | None = None, gold: str = ""
    ) -> UDScores:
        """The scores of the CoNLL 2018 shared task on documents; gold: "tokens" or "tags" that are given."""
        docs = list(sentences)
        if guess is None and gold:
            guess = self.bare(docs, gold)
            self.annotate(guess, known=gold, jobs=jobs)
        elif guess is None:
            guess = self.predict([doc.text for doc in docs], jobs=jobs)
        return self._scores(docs, guess)

    def is_cold(self) -> bool:
        """Whether the first annotation has to wait for the compiler."""
        return any(part.is_cold() for part in self._check_fitted().trained.values())

    def _ready(self, sentences: Sentences, what: str = "data") -> list[str]:
        return [doc.text for doc in sentences]

    def _gold(self, sentences: Sentences, what: str = "data") -> list[Doc]:
        return list(sentences)

    def _scores(self, gold: list, guess: list, sentences: Any = None) -> UDScores:
        return ud_scores([s for doc in gold for s in doc.sentences], [s for doc in guess for s in doc.sentences])

    def _learner(self, sentences: Sentences, start: Any) -> Learner:
        raise self._refusal("partial_fit")

    # -- files -----------------------------------------------------------------------------------------------------

    def _summary(self) -> dict[str, Any]:
        raise NotImplementedError

    def _signature(self) -> str:
        return " | ".join([f"structron {__version__}", self.task, *self.model_.trained, f"seed {self.seed}"])

    def _save_model(self, model: Any, path: Path) -> None:
        modelfile.save(path, *self._contents(model), packed=self.compact)

    def _learned(self, model: Any) -> tuple[dict[str, Any], Tensors]:
        parts: dict[str, Any] = {}
        tensors: Tensors = {}
        for name, estimator in model.trained.items():
            header, arrays = estimator.contents()
            if self.compact:
                header, arrays = compacted(name, header, arrays)
            part = model.parts[name]
            parts[name] = {"reads": list(part.reads), "writes": list(part.writes), "model": header}
            tensors |= under(f"{name}.", arrays)
        return {"parts": parts}, tensors

    def _take(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        parts: dict[str, Part] = {}
        trained = {}
        for name, known in learned["parts"].items():
            kinds = {kind.task: kind for kind in KINDS[name]}
            parts[name] = Part(tuple(known["reads"]), tuple(known["writes"]))
            trained[name] = kinds[known["model"]["task"]].from_contents(known["model"], beginning(f"{name}.", tensors))
        self.parts_, self.model_ = parts, Annotator(parts, trained)


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
