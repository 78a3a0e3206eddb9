"""What every estimator does the same way: training that fails leaves everything as it was, and files are atomic."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from structron.errors import StructronError, unknown
from structron.train import Options

AVERAGES = ("mean", "none")


class Estimator:
    """Parameters stand in `__init__` under their own names; what was learned has a trailing underscore."""

    passes: int
    seed: int
    shuffle: bool
    patience: int
    average: str
    model_: Any
    history_: list[dict[str, Any]]
    best_pass_: int
    stopped_: str
    signature_: str

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
