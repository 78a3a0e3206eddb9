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
from structron.errors import OneLabelError, StructronError, quoted, unknown
from structron.estimator import Estimator, Sentences
from structron.estimator.files import contents
from structron.eval.conll18 import UDScores, ud_scores
from structron.features.clusters import Clusters, make_clusters
from structron.features.gazetteer import make_gazetteers
from structron.features.wordforms import WordForms, make_lexicon
from structron.features.wordtable import take_table, with_tables
from structron.io import modelfile
from structron.io.doc import Doc
from structron.io.tensors import Tensors, beginning, texts, under
from structron.kernels.progress import prepare
from structron.learn.loop import History, Learner, Schedule
from structron.model.beam import BeamModel
from structron.model.compact import LEVELS, compacted
from structron.runtime.progress import Progress
from structron.runtime.threads import cores, for_each, uncollected
from structron.tasks.options import PipelineOptions
from structron.tasks.pipeline.annotate import Annotator
from structron.tasks.pipeline.checkpoint import KeptParts
from structron.tasks.pipeline.parts import KINDS, PARTS, VOTES, Contents, Part, check_part, make_parts, tree_rows
from structron.tasks.pipeline.training import as_read, data_for, jackknifed, make_estimator, predicted
from structron.tasks.registry import TASKS
from structron.tasks.tokenizer import documents_in

BATCH_CHARACTERS = 100_000
"""Characters of text that are annotated at a time."""
GOLD = ("", "tokens", "tags")
READERS = ("morphology", "lemmatizer")
"""Parts that learn from gold columns and from those that others predict."""
LATER = (*VOTES, "entities")
"""Parts that learn from what others predict."""
LEAST_WEIGHTS = {"parser": 0.7, "tagger": 0.3, "morphology": 0.3, "lemmatizer": 0.2, "tokenizer": 0.3, "entities": 0.3}
LEAST_WEIGHTS["parser-backward"] = LEAST_WEIGHTS["parser"]
"""Weights of at most this size are left out of small files, by part."""
SIZES = {"parser": 31, "parser-backward": 31}
"""How many sizes weights have there, by part."""
USE = ("compact", "lines")
"""Options that training does not depend on."""


class Pipeline(Estimator):
    """Analyses plain text: tokens, multiword tokens, tags, features, lemmas, trees and entities.

    Examples:
        >>> import structron
        >>> nlp = structron.load("english")
        >>> doc = nlp("He flew to Paris.")
        >>> [(word.form, word.upos, word.head) for word in doc.words]
        [('He', 'PRON', 2), ('flew', 'VERB', 0), ('to', 'ADP', 4), ('Paris', 'PROPN', 2), ('.', 'PUNCT', 2)]
        >>> [(entity.text, entity.label) for entity in doc.entities]
        [('Paris', 'LOC')]
    """

    options_class = PipelineOptions
    metric: ClassVar[str] = "las"

    # -- training --------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if isinstance(self.options.without, str):
            raise StructronError(f"without: {self.options.without!r}; expected a list of parts: {', '.join(PARTS)}")
        for name in self.options.without:
            if name not in PARTS:
                raise unknown("part", name, PARTS)
        if self.options.fast and self.options.best:
            raise StructronError("fast and best: cannot be combined; expected one of them")

    @classmethod
    def kernels_of(cls, options: Mapping[str, Any]) -> str:
        return f"{cls.task} best" if options.get("best") else cls.task

    def _learn(self, sentences: Any, dev: Any, schedule: Schedule, progress: Progress | None, start: Any) -> None:
        progress = progress or Progress()
        docs = documents_in(sentences, "training data", least=1)
        devs = None if dev is None else documents_in(dev, "dev data", least=1)
        contents, self.clusters_ = Contents.of(docs), make_clusters(self.options.clusters)
        self.lexicon_ = make_lexicon(self.options.lexicon)
        given = make_gazetteers(self.options.gazetteers)
        self.gazetteers_ = {gazetteer.name: gazetteer for gazetteer in given}
        planned = self._planned(contents, self.options.without)
        if given and "entities" not in planned:
            raise StructronError("gazetteers: no entities to train; expected training data with entities")
        if not planned:
            raise StructronError(f"without: {', '.join(self.options.without)}; expected at least one part to train")
        self.notes_ = contents.missing(self.options.without)
        how = {name: value for name, value in self._stored().items() if name not in USE}
        how |= {name: table.about for name, table in self.tables_.items()}
        how |= {f"gazetteer {name}": gazetteer.phrases() for name, gazetteer in self.gazetteers_.items()}
        kept = KeptParts(schedule.checkpoint, schedule.resume, how, [docs, devs or []], progress)
        self.history_, self.stopped_, self.best_pass_ = History(), "passes", 1
        prepare(f"train {self.kernels_of(self.get_params())}", show=progress.show)
        trained: dict[str, Any] = {}
        self.parts_: dict[str, Part] = {}
        for note in self.notes_:
            progress.note(note)
        try:
            self._train_parts(contents, docs, devs, trained, kept, progress)
        except KeyboardInterrupt:
            if not trained:
                raise
            self.stopped_ = "interrupted"
        finally:
            progress.part = ""
            progress.close()
        self.model_ = Annotator(self.parts_, trained)

    def _train_parts(
        self,
        contents: Contents,
        docs: list[Doc],
        devs: list[Doc] | None,
        trained: dict[str, Any],
        kept: KeptParts,
        progress: Progress,
    ) -> None:
        """Train one part after the other, and put it into `trained`."""
        dev_contents = None if devs is None else Contents.of(devs)
        seen = dev_seen = None
        skipped: list[str] = []
        for name in PARTS:
            planned = self._planned(contents, [*self.options.without, *skipped])
            part = planned.get(name)
            if part is None:
                continue
            estimator = make_estimator(name, part, self.options.seed, self.options.jobs, **self._changed(name))
            done = kept.done(name, type(estimator))
            if done is None:
                if name in (*READERS, *LATER) and seen is None:
                    seen = jackknifed(planned, docs, self.options.folds, self.options.seed, self.options.jobs, progress)
                if name in LATER and dev_seen is None:
                    dev_seen = devs and predicted(Annotator(self.parts_, trained), devs, self.options.jobs)
                data, judges = (seen or docs, dev_seen) if name in LATER else (docs, devs)
                progress.part = name
                if judges is not None and dev_contents is not None and not dev_contents.has(name, part):
                    self._note(progress, "not in the dev data: the last pass is kept")
                    judges = None
                judged = None if judges is None else data_for(name, part, judges)
                try:
                    rows = data_for(name, part, data)
                    if name in READERS and seen is not None and len(part.reads) > 1:
                        rows += as_read(part, seen, docs)
                    if name in VOTES and seen is not None:
                        rows += data_for(name, part, docs)
                    estimator.fit(rows, dev=judged, progress=progress, **kept.options(name))
                except OneLabelError:
                    self._note(progress, "not trained: the training data have only one label")
                    skipped.append(name)
                    continue
                finally:
                    progress.part = ""
                done = estimator
                if done.stopped_ != "interrupted":
                    kept.keep(name, done)
            trained[name], self.parts_[name] = done, part
            self.history_.append({"part": name, "passes": done.history_})
            if done.stopped_ == "interrupted":
                self.stopped_ = "interrupted"
                return
        if not trained:
            raise OneLabelError("training data: only one label for every part; expected two or more")

    def _planned(self, contents: Contents, without: Sequence[str]) -> dict[str, Part]:
        """The parts that are to be learned."""
        return make_parts(contents, without, self.tables_, self.options.best, self.gazetteers_)

    def _note(self, progress: Progress, text: str) -> None:
        """Say something of the part at work, and keep it."""
        self.notes_.append(f"{progress.part}: {text}")
        progress.note(text)

    def _changed(self, name: str) -> dict[str, Any]:
        """What a part is told beside its own settings."""
        narrow = {"beam": 1, "templates": "fast"} if name == "parser" and self.options.fast else {}
        return narrow | {"shards": self.options.shards, "mix": self.options.mix, "ray": self.options.ray}

    # -- using -----------------------------------------------------------------------------------------------------

    def __call__(self, text: str) -> Doc:
        """The analysis of a text."""
        return self.predict([text])[0]

    def predict(self, sentences: Iterable[str], *, jobs: int | None = None) -> list[Doc]:
        """The analysis of each text.

        Args:
            sentences: The texts.
            jobs: Number of threads; by default that of the estimator.
        """
        return list(self.pipe(sentences, jobs=jobs))

    def pipe(self, texts: Iterable[str], *, jobs: int | None = None) -> Iterator[Doc]:
        """Analyse any number of texts in constant memory.

        Args:
            texts: The texts.
            jobs: Number of threads; by default that of the estimator.

        Returns:
            An iterator over the documents, in the order of the texts.
        """
        for batch in _batches(texts):
            yield from self._decode(self._check_fitted(), batch, self._jobs(jobs))

    def annotate(self, docs: Sequence[Doc], *, known: str, jobs: int | None = None) -> None:
        """Annotate documents in place that already have tokens or tags.

        Args:
            docs: The documents.
            known: What they already have: "tokens", or "tags" as well.
            jobs: Number of threads; by default that of the estimator.
        """
        if known not in GOLD[1:]:
            raise StructronError(f"known: {quoted(known)}; expected {' or '.join(GOLD[1:])}")
        self._check_fitted().annotate(docs, self._jobs(jobs), known, self.options.fast)

    def _decode(self, model: Any, ready: Any, jobs: int) -> list:
        if "tokenizer" not in model.trained:
            raise StructronError("this pipeline has no tokenizer; give it documents with tokens (annotate)")
        with uncollected():
            docs = model.trained["tokenizer"].tokenized(ready, jobs, self.options.lines)
            model.annotate(docs, jobs, fast=self.options.fast)
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
        """The scores of the CoNLL 2018 shared task on documents.

        Args:
            sentences: The gold documents.
            jobs: Number of threads; by default that of the estimator.
            guess: Score these documents instead of the pipeline's.
            gold: Give the pipeline the gold "tokens", or also the gold "tags"; by default only the text.
        """
        docs = documents_in(sentences, "data")
        if guess is None and gold:
            guess = self.bare(docs, gold)
            self.annotate(guess, known=gold, jobs=jobs)
        elif guess is None:
            guess = self.predict([doc.text for doc in docs], jobs=jobs)
        return self._scores(docs, guess)

    @property
    def names_(self) -> list[str]:
        """Its parts, in the order in which they work."""
        return [name for name in PARTS if name in self._check_fitted().trained]

    def part(self, name: str) -> Any:
        """The estimator of a part.

        Args:
            name: The part, for instance parser.
        """
        trained = self._check_fitted().trained
        if name not in trained:
            raise unknown("part", name, self.names_)
        return trained[name]

    def trace(self, sentence: Any, gold: Any = None, *, beam: Any = None, part: str = "parser") -> Any:
        """The beam search of a part for one sentence, step by step.

        Args:
            sentence: A text of one sentence, or an analysed sentence.
            gold: The correct analysis, or True if the analysed sentence contains it.
            beam: Another width than the model's, inf for no limit.
            part: The part of the pipeline.
        """
        estimator, reads = self.part(part), self.parts_[part]
        if isinstance(sentence, str):
            found = self(sentence).sentences
            if len(found) != 1:
                raise StructronError(f"trace: {len(found)} sentences in {sentence!r}; expected one")
            sentence = found[0]
        if part in ("tokenizer", "splitter", "entities"):
            raise StructronError(f"trace: the {part} does not use beam search; expected a part that does")
        whole = tree_rows if part in VOTES else Part.gold
        rows = whole(reads, sentence) if gold is True else reads.rows(sentence)
        return estimator.trace(rows, gold, beam=beam)

    def show_beam(self, sentence: Any, gold: Any = None, *, beam: Any = None, part: str = "parser") -> Any:
        """Like `trace`, for a notebook: draws the beams.

        Args:
            sentence: As for `trace`.
            gold: As for `trace`.
            beam: As for `trace`.
            part: As for `trace`.
        """
        return self.trace(sentence, gold, beam=beam, part=part)

    def is_cold(self) -> bool:
        """Whether the first annotation has to wait for the compiler."""
        return any(part.is_cold() for part in self._check_fitted().trained.values())

    def _encode(self, sentences: Sentences, what: str = "data") -> list[str]:
        return [doc.text for doc in sentences]

    def _gold(self, sentences: Sentences, what: str = "data") -> list[Doc]:
        return list(sentences)

    def _scores(self, gold: list, guess: list, sentences: Any = None) -> UDScores:
        return ud_scores([s for doc in gold for s in doc.sentences], [s for doc in guess for s in doc.sentences])

    def _learner(self, sentences: Sentences, start: Any) -> Learner:
        raise self._refusal("partial_fit")

    # -- files -----------------------------------------------------------------------------------------------------

    def _summary(self) -> dict[str, Any]:
        return {"parts": self.names_}

    def _signature(self) -> str:
        parts = [f"structron {__version__}", self.task, *self._summary()["parts"], f"seed {self.options.seed}"]
        parts += [f"{name} {table.label}" for name, table in self.tables_.items()]
        return " | ".join(parts)

    def _save_model(self, model: Any, path: Path) -> None:
        header, tensors = contents(self, model)
        if self.options.compact:
            header["training"]["history"] = []  # a small file does without
        modelfile.save(path, header, tensors, packed=9 if self.options.compact else 1)

    def _state(self, model: Any) -> tuple[dict[str, Any], Tensors]:
        parts: dict[str, Any] = {}
        tensors: Tensors = {}
        for name, estimator in model.trained.items():
            header, arrays = estimator.contents()
            for table in estimator.tables_.values():  # each is there once for all parts
                arrays = {key: array for key, array in arrays.items() if key not in table.tensors}
            if self.options.compact:
                header, arrays = compacted(header, arrays, LEAST_WEIGHTS.get(name, 0.0), SIZES.get(name, LEVELS))
                header["training"] = header["training"] | {"history": []}
            part = model.parts[name]
            parts[name] = {"reads": list(part.reads), "writes": list(part.writes), "model": header}
            tensors |= under(f"{name}.", arrays)
        return with_tables({"parts": parts}, tensors, self.tables_)

    @classmethod
    def _needs(cls, header: dict[str, Any]) -> list[str]:
        """What all parts need, so that it is compiled at a time."""
        parts = [part["model"] for part in header["learned"]["parts"].values()]
        own = super()._needs(header) if header["options"].get("best") else []
        return own + [need for part in parts for need in TASKS[part["task"]]._needs(part)]

    def _load_state(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        parts, kinds = {}, {}
        self.clusters_ = self.options.clusters = take_table(Clusters, learned, tensors)
        self.lexicon_ = self.options.lexicon = take_table(WordForms, learned, tensors)
        shared = self.tables_
        for name, known in learned["parts"].items():
            task = known["model"]["task"]
            if task not in KINDS[name]:
                raise ValueError(f"{name} is a {task!r}")
            parts[name] = Part(tuple(texts(known["reads"], "reads")), tuple(texts(known["writes"], "writes")))
            kinds[name] = TASKS[task]

        def read(name: str) -> Any:
            own = beginning(f"{name}.", tensors)
            estimator = kinds[name].from_contents(learned["parts"][name]["model"], own, shared)
            if isinstance(estimator.model_, BeamModel):
                estimator.model_.warm_up()  # while the other parts are read
            return estimator

        largest_first = sorted(parts, key=lambda name: name not in VOTES)
        read_parts = dict(zip(largest_first, for_each(read, largest_first, cores()), strict=True))
        trained = {name: read_parts[name] for name in parts}
        for name, part in parts.items():
            check_part(name, part, trained[name])
        self.parts_, self.model_ = parts, Annotator(parts, trained)


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text) if isinstance(text, str) else 0
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
