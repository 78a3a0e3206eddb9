"""What a training run leaves to be compared, and a report of tables and targets: shared by the papers' experiments."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from structron.experiments.common import Rows, Table, say

LATE = 3
"""Late passes are the last of so many equal parts."""


@dataclass(slots=True)
class Run:
    """One training: a method at a beam (None: exact search), its record after every pass, its test score if asked."""

    method: str
    beam: int | None
    merge: bool
    history: list[dict[str, Any]] = field(repr=False)
    test: float | None = None

    @property
    def best(self) -> float:
        return max(record["dev"] for record in self.history)

    @property
    def best_pass(self) -> int:
        return self.first_pass(self.best) or 0

    def first_pass(self, level: float) -> int | None:
        """The pass after which dev first was at that level, from 1; None: never."""
        return next((number for number, record in enumerate(self.history, 1) if record["dev"] >= level), None)

    def seconds(self, passes: int) -> float:
        """Learning time of the first passes; scoring dev data is not in it."""
        return sum(record["seconds"] for record in self.history[:passes])

    def seconds_to(self, level: float) -> float | None:
        number = self.first_pass(level)
        return None if number is None else self.seconds(number)

    @property
    def best_seconds(self) -> float:
        return self.seconds(self.best_pass)

    @property
    def progress(self) -> tuple[list[float], list[float]]:
        """Learning time and dev score after every pass."""
        return [self.seconds(number) for number in range(1, len(self.history) + 1)], [r["dev"] for r in self.history]

    @property
    def invalid(self) -> list[float]:
        """The share of updates that were no violations, per pass, in per cent."""
        return [share([record]) for record in self.history]

    @property
    def late_invalid(self) -> float:
        return share(self.history[-max(1, len(self.history) // LATE) :])

    def as_dict(self) -> dict[str, Any]:
        kept = ("dev", "seconds", "updates", "invalid", "fell_off", "search_errors")
        return {
            "method": self.method,
            "beam": shown_beam(self.beam),
            "merge": self.merge,
            "best_pass": self.best_pass,
            "seconds": round(self.best_seconds, 2),
            "dev": self.best,
            "test": self.test,
            "passes": {name: [record.get(name) for record in self.history] for name in kept},
        }


def share(records: Sequence[dict[str, Any]]) -> float:
    """Invalid updates of all updates, in per cent; exact search does not count them: it makes none."""
    updates = sum(record["updates"] for record in records)
    return 100 * sum(record.get("invalid", 0) for record in records) / updates if updates else 0.0


def shown_beam(beam: int | None) -> int | str:
    return "inf" if beam is None else beam


def learn(what: str, estimator: Any, train: Rows, dev: Rows, method: str | None = None) -> Run:
    """Fit and keep the record, under the update's name or another; `estimator` then holds the best pass on dev data."""
    estimator.fit(train, dev=dev)
    beam = None if estimator.beam is None else int(estimator.beam)
    run = Run(method or str(estimator.update), beam, estimator.merge, estimator.history_)
    merging = "" if run.merge else ", not merging"
    figures = f"dev {run.best:.2f} after {run.best_pass} of {len(run.history)} passes, {run.best_seconds:.1f} s"
    say(f"{what}: {run.method}, beam {shown_beam(run.beam)}{merging}: {figures}")
    return run


@dataclass(slots=True)
class Report:
    """The tables of a run, printed as they come, and the targets with what was measured."""

    tables: list[Table] = field(default_factory=list)
    targets: list[dict[str, Any]] = field(default_factory=list)

    def show(self, table: Table) -> None:
        self.tables.append(table)
        table.show()

    def target(self, what: str, measured: str, met: bool) -> None:
        self.targets.append({"target": what, "measured": measured, "met": met})

    def target_lines(self) -> list[str]:
        return [
            f"target {t['target']}: measured {t['measured']}: {'met' if t['met'] else 'not met'}" for t in self.targets
        ]

    def text(self) -> str:
        return "\n\n".join([*(table.plain() for table in self.tables), "\n".join(self.target_lines())]) + "\n"
