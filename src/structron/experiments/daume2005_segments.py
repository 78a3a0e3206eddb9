"""Daumé & Marcu (2005), Table 1: chunks as whole segments."""

from dataclasses import dataclass, field
from functools import partial

from structron.experiments.common import Rows, Table
from structron.experiments.daume2005_trials import (
    EARLY,
    LASO_A,
    LASO_P,
    PERCEPTRON,
    STANDARD,
    Trial,
    attempt,
    clock,
)
from structron.experiments.runs import Report
from structron.tasks.segments.chunker import SegmentChunker

COLUMNS = ("word", "pos", "chunk")
BEAM = 5
PAPER = {
    (PERCEPTRON, None): ("18:05", ":22", 93.4, 93.5, 93.4),
    (LASO_P, 1): (":55", ":01", 92.5, 92.3, 92.4),
    (LASO_P, 5): ("1:49", ":04", 93.7, 92.6, 93.1),
    (LASO_P, 25): ("6:32", ":11", 94.2, 94.1, 94.1),
    (LASO_P, None): ("21:43", ":24", 94.3, 94.1, 94.2),
    (LASO_A, 1): (":51", ":01", 93.6, 92.5, 93.0),
    (LASO_A, 5): ("2:04", ":04", 93.8, 94.4, 94.3),
    (LASO_A, 25): ("5:59", ":10", 93.9, 94.6, 94.4),
    (LASO_A, None): ("20:12", ":25", 94.0, 94.8, 94.4),
}
"""Train and test time (h:m), precision, recall and F."""
OTHERS = (("ZDJ02", "94.1"), ("SEMICRF", "92.2, 53:56 h"))
TARGETS = {5: 93.9, 25: 94.0}
MINUTES = 3


@dataclass(slots=True)
class Segments:
    """All trainings of the segment chunker."""

    train: Rows
    dev: Rows
    test: Rows
    passes: tuple[int, int]
    trials: list[Trial] = field(default_factory=list)

    def run_all(self, beams: tuple[int | None, ...], report: Report) -> None:
        wanted = [(PERCEPTRON, None)] + [(method, beam) for method in (LASO_P, LASO_A) for beam in beams]
        wanted += [(method, BEAM) for method in (EARLY, STANDARD)]
        make = partial(SegmentChunker, columns=COLUMNS)
        for method, beam in wanted:
            data = (self.train, self.dev, self.test)
            self.trials.append(attempt("segments", make, method, beam, self.passes, data))
        report.show(self.table())
        self.targets(report)

    def table(self) -> Table:
        columns = ("method, beam", "train/s", "pass", "test/s", "dev F", "P", "R", "F", "paper's train", "P", "R", "F")
        table = Table("Syntactic chunking by segments, CoNLL-2000 test (Table 1)", columns)
        for trial in self.trials:
            run, scores = trial.run, trial.scores
            time, _, *paper = PAPER.get(trial.key, (None,) * 5)
            ours = (run.best_seconds, run.best_pass, trial.test_seconds, run.best)
            table.rows.append((trial.name, *ours, scores.precision, scores.recall, scores.f1, time, *paper))
        table.notes = [
            "train/s: learning up to the pass that was best on dev data; the paper's times are hours and minutes.",
            f"The paper's other systems: {', '.join(f'{name} {score}' for name, score in OTHERS)}.",
            "The paper has lists of names, places, abbreviations and stop words from elsewhere; we have none.",
        ]
        return table

    def targets(self, report: Report) -> None:
        found = {trial.key: trial for trial in self.trials}
        for beam, least in TARGETS.items():
            if (LASO_A, beam) in found:
                score = found[LASO_A, beam].scores.f1
                report.target(f"segments, ALMA, beam {beam}: F1 at least {least}", f"{score:.2f}", score >= least)
        if (LASO_A, BEAM) in found:
            run = found[LASO_A, BEAM].run
            seconds = run.seconds(len(run.history))
            what = f"segments, ALMA, beam {BEAM}: all {len(run.history)} passes under {MINUTES} minutes"
            report.target(what, clock(seconds), seconds < 60 * MINUTES)
        order_target(report, "segments", found, BEAM)


def order_target(report: Report, what: str, found: dict[tuple[str, int | None], Trial], beam: int) -> None:
    """LaSO-ALMA ≥ LaSO-perceptron ≥ early ≥ standard at one beam."""
    methods = (LASO_A, LASO_P, EARLY, STANDARD)
    if all((method, beam) in found for method in methods):
        scores = [found[method, beam].scores.f1 for method in methods]
        shown = ", ".join(f"{method} {score:.2f}" for method, score in zip(methods, scores, strict=True))
        report.target(f"{what}, beam {beam}: F1 in the paper's order", shown, scores == sorted(scores, reverse=True))
