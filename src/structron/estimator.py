"""What every estimator does the same way: training that fails leaves everything as it was, and files are atomic."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from structron._version import __version__
from structron.errors import StructronError, unknown
from structron.learn.loop import Learner, Options, train
from structron.progress import Progress

AVERAGES = ("mean", "none")


class Estimator(ABC):
    """Parameters stand in `__init__` under their own names; what was learned has a trailing underscore."""

    task: ClassVar[str]
    passes: int
    seed: int
    shuffle: bool
    patience: int
    stop_change: float | None = None
    average: str
    verbose: bool
    model_: Any
    history_: list[dict[str, Any]]
    best_pass_: int
    stopped_: str
    signature_: str

    @abstractmethod
    def _train(self, *given: Any) -> None:
        """Learn from what `fit` was given, in its order."""

    @abstractmethod
    def _save_model(self, model: Any, path: Path) -> None:
        """Write the model file of a model, which need not be the final one."""

    @abstractmethod
    def _load_model(self, path: Path) -> Any:
        """Read the model of a file that `_save_model` wrote."""

    @abstractmethod
    def _signature(self) -> str:
        """What a score needs to be reproduced, in a line."""

    def fit(
        self,
        sentences: Iterable[Sequence],
        dev: Iterable[Sequence] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from gold sentences, whose tokens are rows with all columns; with `dev` the best pass on it is kept."""
        self._guarded(lambda: self._train(sentences, dev, checkpoint, resume, progress))
        return self

    def _learn(
        self,
        learner: Learner,
        options: Options,
        score: Callable[[Any], float] | None,
        progress: Progress | None,
        notes: Sequence[str] = (),
    ) -> None:
        """Run the training loop and keep what it leaves."""
        progress = progress or Progress(show=self.verbose)
        for note in notes:
            progress.note(note)
        result = train(learner, options, score, progress, self._save_model, self._load_model)
        self.model_, self.history_, self.best_pass_ = result.model, result.history, result.best_pass
        self.stopped_ = result.stopped
        self.signature_ = self._signature()

    def save(self, path: str | Path) -> None:
        """Write the model file, atomically."""
        self._check_fitted()
        self._save_model(self.model_, Path(path))

    def _signed(self, rule: str, search: Any, runs: int | None, cutoff: int, features: int, size: str) -> str:
        """What a score needs to be reproduced: how it was searched and learned, and what was found. runs: None: one."""
        parts = [f"structron {__version__}", self.task, f"update {rule}", f"search {search}", f"average {self.average}"]
        parts += [f"passes {self.best_pass_}/{self.passes}", *([] if runs is None else [f"runs {runs}"])]
        return " | ".join([*parts, f"cutoff {cutoff}", f"seed {self.seed}", f"features {features}", size])

    def _guarded(self, train: Callable[[], None]) -> None:
        """Train; a training that fails leaves everything as it was."""
        before = dict(vars(self))
        try:
            train()
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _options(self, checkpoint: str | Path | None, resume: bool) -> Options:
        return Options(
            passes=self.passes,
            seed=self.seed,
            shuffle=self.shuffle,
            patience=self.patience,
            stop_change=self.stop_change,
            checkpoint=Path(checkpoint) if checkpoint else None,
            resume=resume,
        )

    def _check_fitted(self) -> Any:
        if not hasattr(self, "model_"):
            raise StructronError(f"this {type(self).__name__} is not trained yet; call fit first or load a model")
        return self.model_

    def _check_counts(self, **least: int) -> None:
        """Parameters that are counts, with the least value of each."""
        for name, value in least.items():
            if getattr(self, name) < value:
                raise StructronError(f"{name}: {getattr(self, name)}; expected at least {value}")

    def _check_average(self) -> None:
        if self.average not in AVERAGES:
            raise unknown("average", self.average, AVERAGES)
