"""A training with its record after every pass: what is read off it, and compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structron.experiments.frame.tools import Rows, say
from structron.learn.loop import Learner

LATE = 3
"""Late passes are the last of so many equal parts."""


def shown_beam(beam: int | None) -> int | str:
    return "inf" if beam is None else beam


def invalid_share(records: Sequence[dict[str, Any]]) -> float:
    """Invalid updates of all updates, in per cent; exact search does not count them: it makes none."""
    updates = sum(record["updates"] for record in records)
    return 100 * sum(record.get("invalid", 0) for record in records) / updates if updates else 0.0


@dataclass(slots=True)
class Trial:
    """A method at a beam (None: exact search): the record of every pass, and if it was tested what came of it."""

    method: str
    beam: int | None
    history: list[dict[str, Any]] = field(repr=False)
    merge: bool = True
    test: float | None = None
    scores: Any = None
    test_seconds: float | None = None
    model: Any = field(default=None, repr=False)

    @property
    def best(self) -> float:
        return max(record["dev"] for record in self.history)

    @property
    def best_pass(self) -> int:
        return self.first_pass(self.best) or 0

    def first_pass(self, level: float) -> int | None:
        """The pass after which dev first was at that level, from 1; None: never."""
        return next((number for number, record in enumerate(self.history, 1) if record["dev"] >= level), None)

    def seconds(self, passes: int | None = None) -> float:
        """Learning time of the first passes, or of all; scoring dev data is not in it."""
        return sum(record["seconds"] for record in self.history[:passes])

    @property
    def best_seconds(self) -> float:
        return self.seconds(self.best_pass)

    @property
    def reached(self) -> tuple[float, float]:
        """Scores on dev and test data."""
        return self.best, self.test or 0.0

    @property
    def late_invalid(self) -> float:
        return invalid_share(self.history[-max(1, len(self.history) // LATE) :])

    def as_dict(self) -> dict[str, Any]:
        kept = ("dev", "seconds", "updates", "invalid", "fell_off", "search_errors")
        found = {
            "method": self.method,
            "beam": shown_beam(self.beam),
            "merge": self.merge,
            "best_pass": self.best_pass,
            "seconds": round(self.best_seconds, 2),
            "dev": self.best,
            "test": self.test,
            "passes": {name: [record.get(name) for record in self.history] for name in kept},
        }
        return found if self.test_seconds is None else found | {"test_seconds": round(self.test_seconds, 2)}


def learn(what: str, estimator: Any, train: Rows, dev: Rows, method: str | None = None) -> Trial:
    """Fit and keep the record, under the update's name or another; `estimator` then holds the best pass on dev data."""
    estimator.fit(train, dev=dev)
    search = estimator.search()
    trial = Trial(method or search.update_name, search.beam, estimator.history_, search.merge)
    merging = "" if trial.merge else ", not merging"
    figures = f"dev {trial.best:.2f} after {trial.best_pass} of {len(trial.history)} passes, {trial.best_seconds:.1f} s"
    say(f"{what}: {trial.method}, beam {shown_beam(trial.beam)}{merging}: {figures}")
    return trial


def learn_once(learner: Learner, examples: np.ndarray | None = None) -> dict[str, Any]:
    """A pass over some examples of a learner in a given order, or all in theirs; gives its figures."""
    order, place = np.arange(learner.examples) if examples is None else examples, 0
    learner.begin_pass()
    while place < len(order):
        place = learner.learn(order, place)
    return learner.counts()
