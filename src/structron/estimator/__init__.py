"""What every estimator does, once: fit, partial_fit, predict, nbest, score, evaluate, inspect, explain, save and load.

A task says how its sentences become numbers and back; the rest stands here:

    sentences ──_learner──▶ learner ──learn/loop──▶ model_ ──_decode──▶ predictions ──_scores──▶ scores
                                                      │
                              file ◀──save, load──────┘

An estimator has options (tasks/options.py), which are attributes of it too (attributes.py); what was learned has a
trailing underscore. Shards and runs are wrapped around the learner in learn/several.py, and files.py has what a model
file holds. A training that fails leaves everything as it was; files are written atomically. Everything but the data is
given by keyword. Scores are per cent.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from structron._version import __version__
from structron.errors import StructronError, unknown
from structron.estimator.attributes import OptionsSignature, declare_options
from structron.estimator.files import DAMAGE, contents, given_of, plain, restored
from structron.fields import default_of, documented, options_of, same_value
from structron.io import modelfile
from structron.io.columns import EMPTY, Columns
from structron.io.foreign import as_rows
from structron.io.tensors import Tensors
from structron.kernels.listed import SHARDS
from structron.kernels.progress import prepare, shown
from structron.learn.loop import Learner, Schedule, train
from structron.options import TaskOptions
from structron.runtime.progress import Progress
from structron.runtime.threads import CHUNKS_PER_THREAD, Found, for_each, slices, uncollected
from structron.text.numbers import ShortFloat

if TYPE_CHECKING:
    from structron.features.clusters import Clusters
    from structron.features.wordforms import WordForms
    from structron.features.wordtable import WordTable

Sentences = Iterable[Any]
PASSES = ("passes", "seed", "shuffle", "patience", "stop_change")
"""Options that say how long and in which order to train, as `Schedule` has them."""
MOST_FEATURES_LISTED = 300_000
"""Features of a model of which a notebook lists none."""
MOST_LISTED = 10_000
"""Predictions for a sentence in a list of the best."""


class Estimator(ABC):
    """A task that can be learned. It has the options of its task, an instance of `options_class`:

    class Chunker(ChainLabeler):
        options_class = ChunkerOptions

    They are read and set as attributes of the estimator: `chunker.beam = 4` is `chunker.options.beam = 4`.
    """

    options_class: ClassVar[type[TaskOptions]]
    options: Any  # an instance of options_class
    task: ClassVar[str]
    lacks: ClassVar[Mapping[str, str]]
    flagless: ClassVar[Mapping[str, str]]
    texts: ClassVar[bool]

    # what `fit` leaves
    model_: Any
    learner_: Any
    roles_: Columns
    needed_: set[str]  # columns that it cannot do without
    history_: list[dict[str, Any]]
    best_pass_: int
    stopped_: str
    signature_: str
    source_: dict[str, str]  # what the command line knows of the training data: their format
    notes_: list[str]  # what a user should know of the training data
    clusters_: "Clusters | None" = None  # word clusters, if it was trained with any
    lexicon_: "WordForms | None" = None  # a user's lexicon, if it was trained with one
    keep_learner_: bool = True  # whether to keep the learner after training; without it less memory is taken

    metric: ClassVar[str]
    documents: ClassVar[bool] = False
    """Whether files are read as documents, whose sentences are labelled together."""

    closed: ClassVar[bool] = True
    """Whether it predicts only labels that it has seen."""

    python_only: ClassVar[str] = ""
    """Why the command line can neither apply nor score it, if it cannot."""

    usual_columns: ClassVar[tuple[str, ...]] = ()
    """What it takes of the tokens of other libraries (io/foreign.py), the label last; (): its data are no tokens."""

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if "options_class" in vars(cls):
            options = cls.options_class
            cls.task, cls.texts, cls.lacks, cls.flagless = options.task, options.texts, options.lacks, options.flagless
            declare_options(cls)
        if hasattr(cls, "options_class"):
            cls.__doc__ = documented(cls)

    # -- options -------------------------------------------------------------------------------------------------

    def __init__(self, *given: Any, **options: Any) -> None:
        kind = self.options_class
        try:
            self.options = kind(*given, **options)
        except TypeError as error:
            raise TypeError(str(error).replace(kind.__name__, type(self).__name__, 1)) from None

    __signature__ = OptionsSignature(__init__)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The options are attributes of it too (attributes.py)."""

        def __setattr__(self, name: str, value: Any) -> None: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The current value of every parameter."""
        return self.options.get_params()

    def set_params(self, **given: Any) -> Self:
        """Change parameters. They take effect with the next call of `fit`, the beam with the next prediction.

        Returns:
            The estimator itself.
        """
        known = options_of(self.options_class)
        for name, value in given.items():
            if name not in known:
                raise unknown(f"parameter of {type(self).__name__}", name, known)
            setattr(self.options, name, value)
        return self

    def check_options(self) -> None:
        """Refuse values that the task lacks, with the reason, and values that are out of range."""
        self.options.check_options()

    def __repr__(self) -> str:
        """The parameters that differ from their defaults."""
        values, kind = self.get_params(), self.options_class
        shown = [f"{name}={value!r}" for name, value in values.items() if not same_value(value, default_of(kind, name))]
        return f"{type(self).__name__}({', '.join(shown)})"

    # -- what a task says ----------------------------------------------------------------------------------------

    @abstractmethod
    def _learner(self, sentences: Sentences, start: Any) -> Learner:
        """Settle columns, features and labels on training data, and give a learner at its start.

        start: None, or the model that training goes on from.
        """

    @abstractmethod
    def _encode(self, sentences: Sentences, what: str = "data") -> Any:
        """Sentences as `_decode` takes them."""

    @abstractmethod
    def _decode(self, model: Any, ready: Any, jobs: int) -> list:
        """What a model predicts."""

    @abstractmethod
    def _gold(self, sentences: Sentences, what: str = "data") -> list:
        """What stands in labelled sentences, in the form of predictions."""

    @abstractmethod
    def _scores(self, gold: list, guess: list, sentences: Any = None) -> Any:
        """All scores; sentences: as they were given, where a score depends on their words."""

    @abstractmethod
    def _summary(self) -> dict[str, Any]:
        """How it was searched and learned, and what was found: the parts of the signature that differ by task."""

    @abstractmethod
    def _state(self, model: Any) -> tuple[dict[str, Any], Tensors]:
        """What a model file holds of the task, beside its options: what JSON can hold, and arrays."""

    @abstractmethod
    def _load_state(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        """Take up what `_state` gave, checked; raises ValueError or the like where the parts do not fit together."""

    def _nbest(self, model: Any, ready: Any, n: int, jobs: int) -> list[list[tuple[Any, float]]]:
        """The n best predictions of each sentence with their scores, best first."""
        raise self._refusal("nbest")

    @abstractmethod
    def _check(self) -> None:
        """Refuse options that do not go together."""

    # -- training ------------------------------------------------------------------------------------------------

    def fit(
        self,
        sentences: Sentences,
        *,
        dev: Sentences | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Train on gold sentences.

        Args:
            sentences: Sentences whose tokens are rows with all columns, or those of another library.
            dev: Labelled sentences that are not trained on; the pass with the best score on them is kept.
            checkpoint: A folder in which the state of training is saved after every pass.
            resume: Continue from the checkpoint.
            progress: Receives the figures of each pass and messages; by default they are shown if `verbose` is set.

        Returns:
            The estimator itself.
        """
        self._guarded(lambda: self._train(sentences, dev, checkpoint, resume, progress, None))
        return self

    def partial_fit(
        self,
        sentences: Sentences,
        *,
        dev: Sentences | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Continue training with more sentences, which may bring new features and new labels.

        Args:
            sentences: As for `fit`.
            dev: As for `fit`.
            checkpoint: As for `fit`.
            resume: As for `fit`.
            progress: As for `fit`.

        Returns:
            The estimator itself.
        """
        self._check_has("partial_fit")
        start = self._start() if hasattr(self, "model_") else None
        self._guarded(lambda: self._train(sentences, dev, checkpoint, resume, progress, start))
        return self

    def _learned_from(self, sentences: Any, dev: Any) -> tuple[Any, Any]:
        """Training and dev data as rows, whatever library they come from."""
        if not self.usual_columns:
            return sentences, dev
        names = self._meanings(list(getattr(self, "columns", None) or self.usual_columns))
        rows = as_rows(sentences, names, "training data", labelled=True)
        return rows, None if dev is None else as_rows(dev, names, "dev data", labelled=True)

    def _rows(self, sentences: Any) -> Any:
        """Sentences as rows with the model's columns."""
        if not self.usual_columns or not hasattr(self, "roles_"):
            return sentences
        return as_rows(
            sentences, self._meanings(self.roles_.names), "data", wide=bool(self.needed_ - {self.roles_.word, "w"})
        )

    def _meanings(self, names: list[str]) -> list[str]:
        """The columns by what they hold: the label is called so where nobody named it."""
        return [self.usual_columns[-1] if name == "label" else name for name in names]

    def _start(self) -> Any:
        """What training goes on from."""
        return self.model_

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
        if self.options.ray is not None:
            from structron.learn.several import connect_cluster

            connect_cluster(self.options.ray, self.options.shards)
        kept = {name: getattr(self.options, name) for name in PASSES if hasattr(self.options, name)}
        sentences, dev = self._learned_from(sentences, dev)
        schedule = Schedule(**kept, checkpoint=Path(checkpoint) if checkpoint else None, resume=resume)
        self.notes_ = []
        if progress is None and self.options.verbose:
            progress = Progress(show=True)
        self._learn(sentences, dev, schedule, progress, start)
        self.signature_ = self._signature()

    def _learn(self, sentences: Any, dev: Any, schedule: Schedule, progress: Progress | None, start: Any) -> None:
        """Learn, with options that are checked; progress: None: nobody watches."""
        options, show = self.options, progress is not None and progress.show
        prepare(f"train {self.kernels_of(vars(options))}", *[SHARDS] * (options.shards > 1), show=show)
        with shown(show):
            learner = self._learner(sentences, start)
            several = self._wrap_runs_and_shards(learner)
            judge = None if dev is None else self._judge(dev)
            if progress:
                for note in self.notes_:
                    progress.note(note)
            if options.bpm and start is None and not schedule.resume:
                from structron.learn.several import start_from_runs

                if progress:
                    progress.note(f"starting from the mean of {options.bpm} runs of one pass")
                start_from_runs(several, options.bpm, options.seed)
            try:
                result = train(
                    several, schedule, judge, progress, self._save_model, self._load_model, self.keep_learner_
                )
            finally:
                several.close()
        self.model_, self.history_, self.best_pass_ = result.model, result.history, result.best_pass
        self.stopped_ = result.stopped
        if self.keep_learner_:
            self.learner_ = several
        if progress and result.history and not any(record.get("dev", 1) for record in result.history):
            progress.note(f"warning: dev {self.metric} is 0 in every pass; expected labels as in the training data")

    def _wrap_runs_and_shards(self, learner: Any) -> Any:
        """What trains: the learner itself where there is one run over all of the data."""
        runs = self._members()
        if runs == self.options.shards == 1:
            return learner
        from structron.learn.several import wrap

        return wrap(learner, self.options, runs)

    def _members(self) -> int:
        """How many runs the model is the mean of."""
        return self.options.runs

    def _judge(self, dev: Sentences) -> Callable[[Any], float]:
        """The function that scores a model on dev data, which are read and encoded once."""
        sentences = dev if isinstance(dev, list) else list(dev)
        gold, ready = self._gold(sentences, "dev data"), self._encode(sentences, "dev data")
        return lambda model: getattr(self._scores(gold, self._decode(model, ready, self.options.jobs)), self.metric)

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do something; if it fails, everything is left as it was."""
        before = [(own, dict(own)) for own in (vars(self), vars(self.options))]
        try:
            work()
        except BaseException:
            for own, values in before:
                own.clear()
                own.update(values)
            raise

    # -- using ---------------------------------------------------------------------------------------------------

    def labels_known(self) -> set[str]:
        """The labels of the last column that a model may predict; none: any could be."""
        return set()

    def is_cold(self) -> bool:
        """Whether the first prediction has to wait for the compiler."""
        return self._check_fitted().is_cold()

    def predict(self, sentences: Sentences, *, jobs: int | None = None) -> list:
        """Predict the output for each sentence.

        Args:
            sentences: Sentences whose tokens are strings or rows; output columns may be missing.
            jobs: Number of threads; by default that of the estimator.

        Returns:
            A prediction for each sentence, such as a list of labels.
        """
        model = self._check_fitted()
        return self._decode(model, self._encode(self._rows(sentences)), self._jobs(jobs))

    chunks_per_thread: ClassVar[int] = CHUNKS_PER_THREAD
    """Slices of the sentences that each thread takes: with more of them it waits less, and more is done twice."""

    def _by_slices(
        self, look: Callable[[list], Any], search: Callable[[slice, Any], Found], items: list, jobs: int
    ) -> list[Found]:
        """What `search` finds in slices of the sentences that `look` has looked at, on several threads.

        Strings are looked at under Python's lock, kernels run outside of it: one thread at a time looks, so that the
        others search meanwhile and do not wait for the lock as well.
        """
        turn = Lock()

        def run(own: slice) -> Found:
            with turn:
                ready = look(items[own])
            return search(own, ready)

        try:
            with uncollected():
                return for_each(run, slices(len(items), jobs, self.chunks_per_thread), jobs)
        except StructronError:
            look(items)  # the same error, with sentences counted from the first
            raise

    def predict_columns(self, sentences: Sentences, *, jobs: int | None = None) -> list[list[list]]:
        """The predicted columns of each sentence; of a Document each column is a list per sentence."""
        return [self._columns_of(found) for found in self.predict(sentences, jobs=jobs)]

    def _columns_of(self, prediction: Any) -> list[list]:
        """A prediction as columns of a file."""
        return [prediction]

    def nbest(self, sentences: Sentences, n: int, *, jobs: int | None = None) -> list[list[tuple[Any, float]]]:
        """The n best predictions for each sentence.

        Args:
            sentences: As for `predict`.
            n: How many predictions; fewer if there are not as many.
            jobs: Number of threads; by default that of the estimator.

        Returns:
            For each sentence a list of pairs of a prediction and its score, best first.
        """
        model = self._check_fitted()
        self._check_has("nbest")
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= MOST_LISTED:
            raise StructronError(f"n-best: {n!r}; expected a whole number from 1 to {MOST_LISTED:,}")
        found = self._nbest(model, self._encode(self._rows(sentences)), int(n), self._jobs(jobs))
        return [[(prediction, ShortFloat(score)) for prediction, score in own] for own in found]

    def evaluate(self, sentences: Sentences, *, jobs: int | None = None, guess: list | None = None) -> Any:
        """All scores on labelled sentences, in per cent.

        Args:
            sentences: Labelled sentences, as for `fit`.
            jobs: Number of threads; by default that of the estimator.
            guess: Score these predictions instead of the model's.

        Returns:
            The scores of the task; their `report()` is a table.
        """
        self._check_fitted()
        rows = self._rows(sentences)
        given = rows if isinstance(rows, list) else list(rows)
        gold = self._gold(given)
        return self._scores(gold, self.predict(given, jobs=jobs) if guess is None else guess, given)

    def score(self, sentences: Sentences, *, jobs: int | None = None) -> float:
        """The main score of the task on labelled sentences, in per cent.

        Args:
            sentences: Labelled sentences, as for `fit`.
            jobs: Number of threads; by default that of the estimator.
        """
        return ShortFloat(getattr(self.evaluate(sentences, jobs=jobs), self.metric))

    def inspect(self, label: str | None = None, *, top: int = 20) -> Any:
        """The features with the largest weights.

        Args:
            label: Only those of this label; by default of every label.
            top: How many of each.
        """
        self._check_fitted()
        raise self._refusal("inspect")

    def explain(self, sentence: Any, *, top: int = 8) -> Any:
        """Why the model decides as it does: for each decision the runner-up, and the features that made the difference.

        Args:
            sentence: A sentence, as for `predict`.
            top: How many features for each decision.
        """
        self._check_fitted()
        raise self._refusal("explain")

    def trace(self, sentence: Any, gold: Any = None, *, beam: Any = None) -> Any:
        """The beam search for one sentence, step by step.

        Args:
            sentence: A sentence, as for `predict`.
            gold: The correct analysis in the form that `predict` returns, or True if the rows of the sentence contain
                it. The trace then also shows where it falls off the beam, and what each update rule would learn.
            beam: Another width than the model's, inf for no limit.

        Returns:
            A `BeamTrace` with the states of every beam.
        """
        from structron.learn.trace import beam_trace

        self._check_fitted()
        other = copy.copy(self)
        other._look_with(beam)
        return beam_trace(other._scene(sentence, gold))

    def _look_with(self, beam: Any) -> None:
        """Settle the beam of a trace, in a copy that nobody else sees; no state is given up before it is shown."""
        known = options_of(type(self))
        if "slack" in known:
            self.options.slack = None
        if beam is not None and "beam" in known:
            self.options.beam = None if beam in ("inf", math.inf) else beam
            known["beam"].check("beam", self.options.beam)

    def _scene(self, sentence: Any, gold: Any) -> Any:
        """A sentence in the beam engine (learn/trace.py: Scene)."""
        raise StructronError(f"trace: the {self.task} does not use beam search; expected a model that does")

    def has_beam(self) -> bool:
        """Whether its search is one that `trace` shows."""
        return "beam" in options_of(type(self)) and "trace" not in self.lacks

    def show_beam(self, sentence: Any, gold: Any = None, *, beam: Any = None) -> Any:
        """Like `trace`, for a notebook: draws the scores, the choice of every update rule, and the beams step by step.

        Args:
            sentence: As for `trace`.
            gold: As for `trace`.
            beam: As for `trace`.
        """
        return self.trace(sentence, gold, beam=beam)

    def _repr_html_(self) -> str:
        """What a notebook shows of a trained model: signature, heaviest features, history; before, the options."""
        from structron.show.charts import model_html

        if not hasattr(self, "model_"):
            return model_html(f"{self!r}: not trained yet", {}, [])
        return model_html(self.signature_, self._listed(), self.history_)

    def _listed(self) -> dict[str, list[tuple[str, float]]]:
        """The heaviest features by label; of a large model, which takes seconds to look through, none."""
        if "inspect" in self.lacks or self._summary()["features"] > MOST_FEATURES_LISTED:
            return {}
        found = self.inspect(top=10).labels
        return {label: [(w.feature, w.weight) for w in weights] for label, weights in found.items()}

    def _annotated(self, sentence: Any, gold: Any) -> list[list[str]]:
        """Rows with all columns: those of a sentence, with the correct analysis in them."""
        roles = self.roles_
        if gold is True:
            return [list(token) for token in sentence]
        tokens = [[token] if isinstance(token, str) else token for token in sentence]
        whole = any(len(token) == len(roles.names) for token in tokens)
        given = [dict(zip(roles.names if whole else roles.inputs, token, strict=False)) for token in tokens]
        try:
            columns = self._columns_of(gold)
        except (TypeError, ValueError):
            raise StructronError(
                f"gold: {gold!r}; expected an analysis in the form that predict returns, or True"
            ) from None
        if any(len(column) != len(given) for column in columns):
            raise StructronError(f"gold: {len(columns[0])} for {len(given)} words; expected one for each")
        for row, values in zip(given, zip(*columns, strict=True), strict=True):
            row.update(zip(roles.outputs, values, strict=True))
        return [[str(row.get(name, EMPTY)) for name in roles.names] for row in given]

    def _jobs(self, jobs: int | None) -> int:
        """The threads asked for, here or when the estimator was made."""
        wanted = self.options.jobs if jobs is None else jobs
        if type(wanted) is not int or wanted < 1:
            options_of(type(self))["jobs"].check("jobs", wanted)
        return wanted

    def _check_fitted(self) -> Any:
        if not hasattr(self, "model_"):
            raise StructronError(f"this {type(self).__name__} is not trained yet; call fit first, or load a model")
        return self.model_

    def _check_has(self, what: str) -> None:
        """Refuse what the task lacks."""
        if what in self.lacks:
            raise self._refusal(what)

    def _refusal(self, what: str) -> StructronError:
        return StructronError(f"{self.task}: no {what}: {self.lacks.get(what, 'not available')}")

    # -- files ---------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Pickles and copies hold the model, not the training data; a copy has options of its own."""
        state = {name: value for name, value in vars(self).items() if name != "learner_"}
        return state | {"options": copy.copy(self.options)}

    def save(self, path: str | Path) -> None:
        """Write the model file, atomically. It contains no code, so functions have to be passed again to `load`.

        Args:
            path: The file to write.
        """
        self._save_model(self._check_fitted(), Path(path))

    def _save_model(self, model: Any, path: Path) -> None:
        modelfile.save(path, *contents(self, model))

    def contents(self) -> tuple[dict[str, Any], Tensors]:
        """What a file holds of a trained estimator: one of its own, or that of a pipeline."""
        return contents(self, self._check_fitted())

    @classmethod
    def kernels_of(cls, options: Mapping[str, Any]) -> str:
        """Under which name the list of kernels has those of a model with these options (kernels/listed.py)."""
        return cls.task

    def _stored(self) -> dict[str, Any]:
        """The options as a file keeps them; a user's function goes by its name."""
        names = [name for name, option in options_of(type(self)).items() if option.stored]
        return {name: plain(getattr(self, name)) for name in names} | self._resolved_options()

    def _resolved_options(self) -> dict[str, Any]:
        """Options that training has settled: a model that is loaded and trained again reads the same columns."""
        return {}

    def _load_model(self, path: Path) -> Any:
        return self._read(path, *modelfile.load(path), **self._code()).model_

    def _code(self) -> dict[str, Any]:
        """The functions that a file does not hold and `load` has to be given again."""
        return {}

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model file of this task.

        Args:
            path: The model file.
        """
        return cls._load(path)

    @classmethod
    def _load(cls, path: str | Path, expected: str | None = None, **code: Any) -> Self:
        """A model file of this task; code: functions that are not in it, and None for those that are not given."""
        header, tensors = modelfile.load(path)
        if header.get("task") != cls.task:
            wanted = expected or f"a {cls.task} model"
            raise StructronError(f"{path}: a {header.get('task')} model; expected {wanted}")
        return cls._read(path, header, tensors, **given_of(code))

    @classmethod
    def _read(cls, path: str | Path, header: dict[str, Any], tensors: Tensors, **code: Any) -> Self:
        """An estimator like the one that was saved; every defect of the file is one line."""
        cls._ask_for(path, header, code)
        try:
            return cls.from_contents(header, tensors, code)
        except DAMAGE as error:
            raise StructronError(f"{path}: damaged model file ({error})") from None

    @classmethod
    def from_contents(
        cls, header: dict[str, Any], tensors: Tensors, code: Mapping[str, Any] = MappingProxyType({})
    ) -> Self:
        """The inverse of `contents`; raises one of DAMAGE where the parts do not fit together."""
        return restored(cls, header, tensors, code)

    @classmethod
    def _needs(cls, header: dict[str, Any]) -> list[str]:
        """What such a model needs of the list of kernels, to be used."""
        return [f"use {cls.kernels_of(header['options'])}"]

    @classmethod
    def _make(cls, header: dict[str, Any], code: dict[str, Any]) -> Self:
        """An estimator with the options of a file."""
        return cls(**header["options"])

    @classmethod  # noqa: B027
    def _ask_for(cls, path: str | Path, header: dict[str, Any], code: dict[str, Any]) -> None:
        """Refuse to read a file without the functions that it needs."""

    @property
    def tables_(self) -> "dict[str, WordTable]":
        """The tables of words that it was trained with."""
        given: dict[str, Any] = {"clusters": self.clusters_, "lexicon": self.lexicon_}
        return {name: table for name, table in given.items() if table is not None}

    def _signature(self) -> str:
        """What a score needs to be reproduced, in a line."""
        options = self.options
        found = self._summary()
        parts = [f"structron {__version__}", self.task, f"update {found['update']}", f"search {found['search']}"]
        parts += [
            f"average {options.average}",
            f"passes {self.best_pass_}/{options.passes}",
            f"runs {self._members()}",
        ]
        parts += [f"shards {options.shards} {options.mix}"] if options.shards > 1 else []
        parts += [f"cutoff {found['cutoff']}"] if "cutoff" in found else []
        parts += [f"{name} {table.label}" for name, table in self.tables_.items()]
        return " | ".join([*parts, f"seed {options.seed}", f"features {found['features']}", found["size"]])
