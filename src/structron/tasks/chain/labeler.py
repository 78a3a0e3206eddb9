"""The estimator behind every chain task: fit, predict, score, save, with scikit-learn's conventions.

Parameters stand in `__init__` under their own names; what was learned has a trailing underscore.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.estimator import Estimator
from structron.features.documents import NonLocal
from structron.features.extract import ComputedAtom, TemplateExtractor
from structron.learn.chain import Start
from structron.model.chain import ChainModel, Prepared
from structron.model.documents import NonLocalModel
from structron.progress import Progress
from structron.sentences import Document, regroup, sentences_of, spell, split
from structron.tasks.chain import setup as chain_setup
from structron.tasks.chain.beam import BeamChainModel
from structron.tasks.chain.beam_learner import Search
from structron.tasks.chain.setup import WORD_COLUMNS, default_columns
from structron.update.swvp import Family

PART = 1000
"""Sentences that a thread labels at a time."""

Model = ChainModel | BeamChainModel
Sentences = Iterable[Sequence]
"""Sentences, or Documents: sentences that are one sequence."""


class ChainLabeler(Estimator):
    """Learns one label per token with the averaged structured perceptron and exact search (Collins 2002).

    With a beam, or a rule other than the standard one, updates fix violations (Huang, Fayong & Guo 2012).

    order: 1 or 2, how many labels before a label can count.   passes: over the training data.
    runs: the model is the mean of so many runs that see the data in different orders (voted: one).
    average: mean (of all weights after every example), none, or voted (exact, for small data).
    templates: a preset's name, a file, or a list of texts.   columns, label: names of a token's columns.
    cutoff: features seen less often are left out.   patience: stop after that many passes without gain on dev.
    tag_dictionary: words seen that often only get labels they were seen with (0 = off).
    constrain: never give chunk labels in an illegal order.   forbid: further (label, next label) pairs to rule out.
    gazetteers: {TYPE: file, files or Gazetteer}.   atoms: {name: function(sentence, position) -> text}.
    update: the rule: standard, early, max-violation, latest, hybrid or laso; None: standard, or max-violation if there
    is a beam.   beam: labellings kept at each token, None: all of them; default: all with standard updates, else 8.
    merge: labellings that look alike to the templates are one.   check: verify that updates are violations.
    alma: α of approximate large margin updates (Daumé & Marcu 2005), for instance 0.9; with them the rule is laso.
    margin: C of the margin perceptron (Kazama & Torisawa 2007): right labels must win by more than that.
    swvp: a-wm, b-wm, a-wmr or b-wmr: weighted violations (Dror & Reichart 2016) with their beta; jj: errors, spans,
    prefixes, whole or a function(y, z) that gives lists of positions; enforce their condition 2 (update/swvp.py).
    bpm: start from the mean of so many one-pass runs.   stop_change: stop when the error changes by a smaller share.
    non_local: features of whole documents, by name (phrase, phrase-majority, sub-phrase, sub-phrase-majority,
    conjunction; for chunk labels) or functions of (document, labels); learned from n-best `candidates`, used on
    `test_candidates`.   local_update: aggressive, conservative, none or sentences, and local_margin (default: the
    margin): how the features of single words are learned beside them (update/nbest.py).
    """

    task: ClassVar[str] = "labeler"
    metric: ClassVar[str] = "accuracy"
    default_templates: ClassVar[dict[str, str]] = {}
    notes_: list[str]
    scheme_: str | None
    learner_: Any
    source_: dict[str, str]  # what the command line knows of the training data: their format

    def __init__(
        self,
        *,
        order: int = 1,
        passes: int = 10,
        runs: int = 1,
        average: str = "mean",
        templates: Any = "default",
        columns: Sequence[str] | None = None,
        label: str | None = None,
        cutoff: int = 0,
        seed: int = 1,
        shuffle: bool = True,
        patience: int = 0,
        tag_dictionary: int = 0,
        constrain: bool = True,
        forbid: Iterable[tuple[str, str]] = (),
        gazetteers: Mapping[str, Any] | None = None,
        atoms: Mapping[str, ComputedAtom] | None = None,
        jobs: int = 1,
        verbose: bool = False,
        beam: int | str | None = "default",
        update: str | None = None,
        merge: bool = True,
        check: bool | None = None,
        alma: float | None = None,
        margin: float | None = None,
        bpm: int = 0,
        stop_change: float | None = None,
        non_local: Sequence[NonLocal] = (),
        candidates: int = 20,
        test_candidates: int = 100,
        local_update: str = "aggressive",
        local_margin: float | None = None,
        swvp: str | None = None,
        beta: float = 1.0,
        jj: str | Family = "errors",
        enforce: bool = False,
    ):
        self.order, self.passes, self.runs, self.average, self.templates = order, passes, runs, average, templates
        self.columns, self.label, self.cutoff, self.seed, self.shuffle = columns, label, cutoff, seed, shuffle
        self.patience, self.tag_dictionary, self.constrain, self.forbid = patience, tag_dictionary, constrain, forbid
        self.gazetteers, self.atoms, self.jobs, self.verbose = gazetteers, atoms, jobs, verbose
        self.beam, self.update, self.merge, self.check, self.alma = beam, update, merge, check, alma
        self.margin, self.bpm, self.stop_change, self.non_local = margin, bpm, stop_change, non_local
        self.candidates, self.test_candidates = candidates, test_candidates
        self.local_update, self.local_margin = local_update, local_margin
        self.swvp, self.beta, self.jj, self.enforce = swvp, beta, jj, enforce

    # -- training ------------------------------------------------------------------------------------------------

    def partial_fit(
        self,
        sentences: Sentences,
        dev: Sentences | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> "ChainLabeler":
        """Go on learning with more sentences, which may bring new features and new labels."""
        start: Start | BeamChainModel | None = None
        if hasattr(self, "model_") and self.order != self.model_.order:
            raise StructronError(f"order: {self.order}; expected {self.model_.order}, that of the model to go on from")
        if hasattr(self, "model_") and isinstance(self.model_, BeamChainModel):
            start = self.model_
        elif hasattr(self, "learner_"):
            start = self.learner_.as_start()
        elif hasattr(self, "model_"):
            start = Start.of_model(self.model_)
        self._guarded(lambda: self._train(sentences, dev, checkpoint, resume, progress, start))
        return self

    def _train(
        self,
        sentences: Sentences,
        dev: Sentences | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
        start: Start | BeamChainModel | None = None,
    ) -> None:
        chain_setup.check_parameters(self)
        options = self._options(checkpoint, resume)
        if start is None:
            sentences, self.extractor_ = self._make_extractor(iter(sentences))
        prepared = self._prepare(sentences, True, "training data")
        if not len(prepared.label_ids):
            raise StructronError("training data: no sentences; expected at least one with words")
        progress = progress or Progress(show=self.verbose)
        learner = chain_setup.make_learner(self, prepared, start)
        chain_setup.start_weights(self, learner, progress, fresh=start is None and not resume)
        score = None
        if dev is not None:
            ready = self._prepare(dev, True, "dev data")
            gold = self._gold(ready)

            def score(model: Model) -> float:
                return self._metric(gold, self._labels(model, ready))

        self._learn(learner, options, score, progress, self.notes_)
        self.learner_ = learner

    def _make_extractor(self, sentences: Iterator[Sequence]) -> tuple[Iterator[Sequence], TemplateExtractor]:
        """An extractor for tokens like the first one, and the sentences again from the first on."""
        return chain_setup.make_extractor(self, sentences)

    def _prepare(self, sentences: Sentences, labelled: bool = False, what: str = "data") -> Any:
        """Look at the strings of sentences; a task may turn their labels into others that it learns better."""
        return self.extractor_.prepare(sentences, labelled=labelled, what=what)

    def _gold(self, prepared: Any) -> list[list[str]]:
        """The labels that stand in prepared sentences, as the user writes them."""
        return spell(prepared.label_ids, prepared.label_types, prepared.starts)

    def _spell(self, out: np.ndarray, model: Model, prepared: Prepared) -> list[list[str]]:
        """Label numbers as the user's labels, sentence by sentence."""
        return spell(out, model.labels, prepared.starts)

    def _search(self) -> Search:
        """How to search, with what the defaults stand for."""
        return chain_setup.settle_search(self.beam, self.update, self.merge, self.check, self.alma, self.margin)

    def _runs(self) -> int:
        """Votes are the vectors of one run."""
        return 1 if self.average == "voted" else self.runs

    def _chunks(self) -> bool:
        """Whether the labels are chunk labels, to be kept in a legal order."""
        return self.metric == "f1"

    # -- columns, as the command line asks every task for them ---------------------------------------------------

    @property
    def columns_(self) -> list[str]:
        return self.extractor_.columns

    @property
    def outputs_(self) -> list[str]:
        return [self.extractor_.label]

    @property
    def word_(self) -> str:
        return self.extractor_.word

    @property
    def needed_(self) -> set[str]:
        """Columns that it cannot do without."""
        return self.extractor_.needed - self.extractor_.gazetteers.keys() - self.extractor_.atoms.keys()

    def predict_columns(self, sentences: Sentences, jobs: int | None = None) -> list[list[list[str]]]:
        """For each sentence the column that `predict` gives."""
        return [[labels] for labels in self.predict(sentences, jobs=jobs)]

    # -- using ---------------------------------------------------------------------------------------------------

    def is_cold(self) -> bool:
        """Whether the first prediction has to compile."""
        from structron.kernels.jit import is_cold
        from structron.search.beam import engine
        from structron.search.chain import kbest, viterbi

        if isinstance(self.model_, BeamChainModel):
            return engine.is_cold()
        return is_cold(kbest.n_best_of if isinstance(self.model_, NonLocalModel) else viterbi.decode)

    def _decode(
        self, model: Model, prepared: Any, jobs: int, forced: np.ndarray | None = None, margins: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Label numbers, scores and margins: a model says how, a labeller how wide to search."""
        search = self._search()
        if isinstance(model, BeamChainModel):
            return model.decode(prepared, jobs, forced, margins, search.beam, search.merge)
        if search.beam is not None:
            raise StructronError(f"beam: {search.beam}; expected none: the model was trained with exact search")
        if isinstance(model, NonLocalModel):
            model.candidates = self.test_candidates
        return model.decode(prepared, jobs, forced, margins)

    def nbest(self, sentences: Sentences, n: int, jobs: int | None = None) -> list[list[tuple[list, float]]]:
        """The n best labellings of each sentence or Document (all, if there are fewer): (labels, score), best first."""
        model = self._check_fitted()
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise StructronError(f"n-best: {n!r}; expected a whole number of at least 1")
        if isinstance(model, BeamChainModel):
            raise StructronError("n-best: the model was trained with a beam; expected one with exact search")
        items = sentences if isinstance(sentences, list) else list(sentences)
        prepared = self._prepare(items)
        if isinstance(model, NonLocalModel):
            model.candidates = self.test_candidates
        found = model.nbest(prepared, int(n), self.jobs if jobs is None else jobs)
        return [self._spelled(item, prepared, unit, *found[unit]) for unit, item in enumerate(items)]

    def _spelled(self, item: Any, prepared: Any, unit: int, rows: np.ndarray, scores: np.ndarray) -> list:
        """Labellings of a document as lists of labels, with their scores."""
        bounds = prepared.starts[prepared.units[unit] : prepared.units[unit + 1] + 1]
        part = SimpleNamespace(starts=bounds - bounds[0], batch=SimpleNamespace(starts=bounds - bounds[0]))
        labels = [self._spell(row, self.model_, part) for row in rows]
        shaped = [found if isinstance(item, Document) else found[0] for found in labels]
        return list(zip(shaped, scores.tolist(), strict=True))

    def _labels(self, model: Model, prepared: Prepared, jobs: int | None = None) -> list[list[str]]:
        out, _, _ = self._decode(model, prepared, self.jobs if jobs is None else jobs)
        return self._spell(out, model, prepared)

    def predict(
        self,
        sentences: Sentences,
        forced: Sequence[Sequence[str | None]] | None = None,
        jobs: int | None = None,
    ) -> list[list[str]]:
        """The best labels. `forced` fixes the labels of given tokens (None = free)."""
        return self.predict_with_margins(sentences, forced, jobs, margins=False)[0]

    def predict_with_margins(
        self,
        sentences: Sentences,
        forced: Sequence[Sequence[str | None]] | None = None,
        jobs: int | None = None,
        margins: bool = True,
    ) -> tuple[list[list[str]], list[list[float]]]:
        """Labels, and for each token by how much they beat the best labelling with another label there."""
        model = self._check_fitted()
        sentences = sentences if isinstance(sentences, list) else list(sentences)
        jobs = self.jobs if jobs is None else jobs
        if any(isinstance(item, Document) for item in sentences):
            forced = None if forced is None else sentences_of(_as_documents(sentences, forced))
            numbers = self._numbers(model, sentences_of(sentences), forced)
            labels, sure = self._predict(model, sentences, numbers, jobs, margins)
            return regroup(sentences, labels), regroup(sentences, sure) if margins else []
        numbers = self._numbers(model, sentences, forced)
        if jobs <= 1 or len(sentences) <= PART:
            return self._predict(model, sentences, numbers, jobs, margins)
        places = range(0, len(sentences), PART)
        fixed = [None if numbers is None else numbers[lo : lo + PART] for lo in places]
        parts = [sentences[lo : lo + PART] for lo in places]
        try:
            with ThreadPoolExecutor(jobs) as pool:
                every = list(
                    pool.map(lambda part, forced: self._predict(model, part, forced, 1, margins), parts, fixed)
                )
        except StructronError:
            self.extractor_.prepare(sentences)  # the same error, with sentences counted from the first
            raise
        return [x for labels, _ in every for x in labels], [x for _, sure in every for x in sure]

    def _numbers(self, model: Model, sentences: list[Sequence], forced: Any) -> list[list[int]] | None:
        return None if forced is None else chain_setup.known_labels(model.labels, sentences, forced)

    def _predict(
        self, model: Model, sentences: list[Sequence], forced: list[list[int]] | None, jobs: int, margins: bool
    ) -> tuple[list[list[str]], list[list[float]]]:
        """From strings to labels: strings under Python's lock, kernels outside of it, so that threads take turns."""
        prepared = self._prepare(sentences)
        fixed = None if forced is None else np.array([y for labels in forced for y in labels], np.int64)
        out, _, sure = self._decode(model, prepared, jobs, fixed, margins)
        return self._spell(out, model, prepared), split(sure, prepared.starts) if margins else []

    def evaluate(self, sentences: Sentences, jobs: int | None = None, guess: list | None = None) -> Any:
        """All scores on labelled sentences, or of `guess` for them: `ChunkScores` or `AccuracyScores`."""
        from structron.evaluate import accuracy_scores, chunk_scores

        model = self._check_fitted()
        sentences = sentences if isinstance(sentences, list) else list(sentences)
        prepared = self._prepare(sentences, True)
        gold = self._gold(prepared)
        guess = sentences_of(_as_documents(sentences, guess)) if guess else self._labels(model, prepared, jobs)
        if self.metric == "f1":
            return chunk_scores(gold, guess)
        known = dict(zip(prepared.word_types, (model.dictionary.find(prepared.word_types) >= 0).tolist(), strict=True))
        words = spell(prepared.word_ids, prepared.word_types, prepared.starts)
        return accuracy_scores(words, gold, guess, known.__getitem__)

    def score(self, sentences: Sentences) -> float:
        """The task's main score on labelled sentences, in per cent."""
        return getattr(self.evaluate(sentences), self.metric)

    def _metric(self, gold: list[list[str]], guess: list[list[str]]) -> float:
        from structron.evaluate import chunk_scores

        if self.metric == "f1":
            return chunk_scores(gold, guess).f1
        right = sum(a == b for g, h in zip(gold, guess, strict=True) for a, b in zip(g, h, strict=True))
        return 100 * right / max(1, sum(map(len, gold)))

    # -- files ---------------------------------------------------------------------------------------------------

    def _signature(self) -> str:
        """What a score needs to be reproduced."""
        search = chain_setup.learning(self)
        how = str(search) if isinstance(self.model_, BeamChainModel) else f"viterbi-{self.order}"
        if isinstance(self.model_, NonLocalModel):
            how += f"-{self.candidates}-best-{self.local_update} test {self.test_candidates}"
        features, labels = len(self.model_.keys) + len(self.model_.block_keys), f"labels {len(self.model_.labels)}"
        return self._signed(search.rule, how, self._runs(), self.cutoff, features, labels)

    def _save_model(self, model: Model, path: Path) -> None:
        from structron.io import modelfile
        from structron.tasks.storage import header_of, tensors_of

        modelfile.save(path, header_of(self, model), tensors_of(self, model))

    def _load_model(self, path: Path) -> Model:
        from structron.tasks.storage import load

        return load(path, atoms=self.atoms, non_local=[f for f in self.non_local if callable(f)]).model_


def _as_documents(items: Sequence, found: Sequence) -> list:
    """What was found for documents, marked as such."""
    return [Document(x) if isinstance(item, Document) else x for item, x in zip(items, found, strict=True)]


__all__ = ["WORD_COLUMNS", "ChainLabeler", "Model", "default_columns"]
