"""The estimator behind every chain task: fit, predict, score, save, with scikit-learn's conventions.

Parameters stand in `__init__` under their own names; what was learned has a trailing underscore.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron._version import __version__
from structron.errors import StructronError, unknown
from structron.features.extract import ComputedAtom, PreparedTemplates, TemplateExtractor, check_sentences, is_row
from structron.features.gazetteer import Gazetteer
from structron.features.templates import load_templates
from structron.progress import Progress
from structron.tasks.chain_learner import ChainLearner, Start
from structron.tasks.chain_model import ChainModel, Prepared
from structron.tasks.committee import Committee
from structron.tasks.constraints import Neighbours, legal_transitions, make_dictionary
from structron.train import Options, train

AVERAGES = ("mean", "none", "voted")
WORD_COLUMNS = ("word", "form", "w")
PART = 1000
"""Sentences that a thread labels at a time."""

Sentences = Iterable[Sequence]


def default_columns(width: int) -> list[str]:
    """Names for the columns of a file that nobody named: word, pos, …, label."""
    middle = ["pos", *(f"column{k}" for k in range(3, width))]
    return ["word", *middle[: max(width - 2, 0)], "label"][: max(width, 1)]


class ChainLabeler:
    """Learns one label per token with the averaged structured perceptron and exact search (Collins 2002).

    order: 1 or 2, how many labels before a label can count.   passes: over the training data.
    runs: the model is the mean of so many runs that see the data in different orders (voted: one).
    average: mean (of all weights after every example), none, or voted (exact, for small data).
    templates: a preset's name, a file, or a list of texts.   columns, label: names of a token's columns.
    cutoff: features seen less often are left out.   patience: stop after that many passes without gain on dev.
    tag_dictionary: words seen that often only get labels they were seen with (0 = off).
    constrain: never give chunk labels in an illegal order.   forbid: further (label, next label) pairs to rule out.
    gazetteers: {TYPE: file, files or Gazetteer}.   atoms: {name: function(sentence, position) -> text}.
    """

    task: ClassVar[str] = "labeler"
    metric: ClassVar[str] = "accuracy"
    default_templates: ClassVar[dict[str, str]] = {}
    notes_: list[str]
    scheme_: str | None
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
    ):
        self.order, self.passes, self.runs, self.average, self.templates = order, passes, runs, average, templates
        self.columns, self.label, self.cutoff, self.seed, self.shuffle = columns, label, cutoff, seed, shuffle
        self.patience, self.tag_dictionary, self.constrain, self.forbid = patience, tag_dictionary, constrain, forbid
        self.gazetteers, self.atoms, self.jobs, self.verbose = gazetteers, atoms, jobs, verbose

    # -- training ------------------------------------------------------------------------------------------------

    def fit(
        self,
        sentences: Sentences,
        dev: Sentences | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> "ChainLabeler":
        """Learn from labelled sentences; with `dev` the best pass on it is kept."""
        return self._fit(sentences, dev, None, checkpoint, resume, progress)

    def partial_fit(
        self,
        sentences: Sentences,
        dev: Sentences | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> "ChainLabeler":
        """Go on learning with more sentences, which may bring new features and new labels."""
        start = None
        if hasattr(self, "model_") and self.order != self.model_.order:
            raise StructronError(f"order: {self.order}; expected {self.model_.order}, that of the model to go on from")
        if hasattr(self, "learner_"):
            start = self.learner_.as_start()
        elif hasattr(self, "model_"):
            start = Start.of_model(self.model_)
        return self._fit(sentences, dev, start, checkpoint, resume, progress)

    def _fit(self, *given: Any) -> "ChainLabeler":
        """Train; a training that fails leaves everything as it was."""
        before = dict(vars(self))
        try:
            return self._train(*given)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _train(
        self,
        sentences: Sentences,
        dev: Sentences | None,
        start: Start | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
    ) -> "ChainLabeler":
        self._check_parameters()
        folder = Path(checkpoint) if checkpoint else None
        options = Options(self.passes, self.seed, self.shuffle, self.patience, folder, resume)
        if start is None:
            sentences, self.extractor_ = self._make_extractor(iter(sentences))
        prepared = self.extractor_.prepare(sentences, labelled=True, what="training data")
        if not len(prepared.label_ids):
            raise StructronError("training data: no sentences; expected at least one with words")
        learner = self._make_learner(prepared, start)
        progress = progress or Progress(show=self.verbose)
        for note in self.notes_:
            progress.note(note)
        score = None
        if dev is not None:
            ready = self.extractor_.prepare(dev, labelled=True, what="dev data")
            gold = spell(ready.label_ids, ready.label_types, ready.starts)

            def score(model: ChainModel) -> float:
                return self._metric(gold, self._labels(model, ready))

        result = train(learner, options, score, progress, self._save_model, self._load_model)
        self.model_, self.history_, self.best_pass_ = result.model, result.history, result.best_pass
        self.stopped_, self.learner_ = result.stopped, learner
        self.signature_ = self._signature()
        return self

    def _check_parameters(self) -> None:
        if self.order not in (1, 2):
            raise unknown("order", self.order, (1, 2))
        if self.average not in AVERAGES:
            raise unknown("average", self.average, AVERAGES)
        for name in ("cutoff", "tag_dictionary"):
            if getattr(self, name) < 0:
                raise StructronError(f"{name}: {getattr(self, name)}; expected 0 or more")
        for name in ("jobs", "runs"):
            if getattr(self, name) < 1:
                raise StructronError(f"{name}: {getattr(self, name)}; expected at least 1")

    def _make_extractor(self, sentences: Iterator[Sequence]) -> tuple[Iterator[Sequence], TemplateExtractor]:
        """An extractor for tokens like the first one, and the sentences again from the first on."""
        head: list[Sequence] = []
        for sentence in sentences:
            head.append(sentence)
            check_sentences([sentence], "training data", len(head) - 1)
            if len(sentence):
                break
        else:
            raise StructronError("training data: no sentences; expected at least one with words")
        first = head[-1][0]
        if not is_row(type(first)):
            raise StructronError(f"training data: a token is {first!r}; expected rows that end in the label")
        names = list(self.columns) if self.columns else default_columns(len(first))
        if len(set(names)) < len(names):
            raise StructronError(f"columns: {', '.join(names)}: a name stands twice")
        label = self.label or names[-1]
        if label not in names:
            raise unknown("label column", label, names)
        word = next((c for c in WORD_COLUMNS if c in names), names[0])
        if word == label:
            raise StructronError(f"columns: {', '.join(names)}: the label cannot be the word; expected word,…,label")
        source = self.templates
        if source == "default":
            source = self._default_templates(names)
        gazetteers = [_gazetteer(name, given) for name, given in (self.gazetteers or {}).items()]
        extractor = TemplateExtractor(names, label, load_templates(source), word, gazetteers, self.atoms)
        return chain(head, sentences), extractor

    def _default_templates(self, columns: list[str]) -> str:
        """The preset for these columns: richer where the file has more."""
        return next(preset for column, preset in self.default_templates.items() if column in (*columns, ""))

    def _make_learner(self, prepared: PreparedTemplates, start: Start | None) -> ChainLearner | Committee:
        """Number the labels, settle the constraints, number the features."""
        old = start.labels if start else []
        labels = [*old, *sorted(set(prepared.label_types) - set(old))]
        if len(labels) < 2:
            raise StructronError(f"training data: one label only ({labels[0]}); expected two or more")
        index = {label: y for y, label in enumerate(labels)}
        number = np.array([index[label] for label in prepared.label_types], np.int64)
        gold = number[prepared.label_ids]
        neighbours = Neighbours(labels, gold, prepared.starts)
        self.scheme_ = neighbours.scheme(self.scheme_ if start else None) if self._chunks() else None
        allowed = legal_transitions(labels, self.scheme_ if self.constrain else None, self.forbid)
        self.notes_ = []
        if illegal := neighbours.illegal(allowed):
            self.notes_.append(f"{illegal} forbidden transitions in the training labels, learned from as they are")
        dictionary = make_dictionary(prepared, gold, len(labels), self.tag_dictionary)
        if start is not None:
            dictionary = self.model_.dictionary.merged(dictionary, len(labels))
        seen = neighbours.seen(allowed)
        learner = ChainLearner(
            prepared, gold, labels, self.order, allowed, seen, dictionary, self.cutoff, self.average, start
        )
        return learner if self._runs() == 1 else Committee(learner, self.runs)

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

    def _check_fitted(self) -> ChainModel:
        if not hasattr(self, "model_"):
            raise StructronError(f"this {type(self).__name__} is not trained yet; call fit first or load a model")
        return self.model_

    def _labels(self, model: ChainModel, prepared: Prepared, jobs: int | None = None) -> list[list[str]]:
        out, _, _ = model.decode(prepared, self.jobs if jobs is None else jobs)
        return spell(out, model.labels, prepared.starts)

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
        numbers = None if forced is None else self._forced(model, sentences, forced)
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

    def _predict(
        self, model: ChainModel, sentences: list[Sequence], forced: list[list[int]] | None, jobs: int, margins: bool
    ) -> tuple[list[list[str]], list[list[float]]]:
        """From strings to labels: strings under Python's lock, kernels outside of it, so that threads take turns."""
        prepared = self.extractor_.prepare(sentences)
        fixed = None if forced is None else np.array([y for labels in forced for y in labels], np.int64)
        out, _, sure = model.decode(prepared, jobs, fixed, margins)
        return spell(out, model.labels, prepared.starts), split(sure, prepared.starts) if margins else []

    def _forced(
        self, model: ChainModel, sentences: list[Sequence], forced: Sequence[Sequence[str | None]]
    ) -> list[list[int]]:
        """The numbers of the forced labels, -1 for free."""
        index: dict[str | None, int] = {label: y for y, label in enumerate(model.labels)}
        index[None] = -1
        if [len(labels) for labels in forced] != [len(sentence) for sentence in sentences]:
            raise StructronError("forced labels: lengths differ from the sentences'; expected one (or None) per token")
        try:
            return [[index[label] for label in labels] for labels in forced]
        except KeyError as error:
            raise unknown("forced label", error.args[0], model.labels) from None

    def evaluate(self, sentences: Sentences, jobs: int | None = None, guess: list[list[str]] | None = None) -> Any:
        """All scores on labelled sentences, or of `guess` for them: `ChunkScores` or `AccuracyScores`."""
        from structron.evaluate import accuracy_scores, chunk_scores

        model = self._check_fitted()
        prepared = self.extractor_.prepare(sentences, labelled=True)
        gold = spell(prepared.label_ids, prepared.label_types, prepared.starts)
        guess = guess or self._labels(model, prepared, jobs)
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
        parts = [f"structron {__version__}", self.task, "update standard", f"search viterbi-{self.order}"]
        parts += [f"average {self.average}", f"passes {self.best_pass_}/{self.passes}", f"runs {self._runs()}"]
        features = len(self.model_.keys) + len(self.model_.block_keys)
        parts += [f"cutoff {self.cutoff}", f"seed {self.seed}", f"features {features}"]
        return " | ".join([*parts, f"labels {len(self.model_.labels)}"])

    def save(self, path: str | Path) -> None:
        """Write the model file, atomically."""
        self._check_fitted()
        self._save_model(self.model_, Path(path))

    def _save_model(self, model: ChainModel, path: Path) -> None:
        from structron import modelfile
        from structron.tasks.storage import header_of, tensors_of

        modelfile.save(path, header_of(self, model), tensors_of(self, model))

    def _load_model(self, path: Path) -> ChainModel:
        from structron.tasks.storage import load

        return load(path, atoms=self.atoms).model_


def spell(out: np.ndarray, labels: list[str], starts: np.ndarray) -> list[list[str]]:
    """Label numbers as lists of labels."""
    return split(np.array([*labels, None], dtype=object)[out], starts)


def split(flat: np.ndarray, starts: np.ndarray) -> list[list]:
    """Cut what tokens have into a list per sentence."""
    values = flat.tolist()
    return [values[lo:hi] for lo, hi in pairwise(starts.tolist())]


def _gazetteer(name: str, given: Any) -> Gazetteer:
    if isinstance(given, Gazetteer):
        return given
    return Gazetteer.from_files(name, [given] if isinstance(given, str | Path) else list(given))
