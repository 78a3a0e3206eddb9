"""Daumé & Marcu (2005), Tables 2 and 3: tags and chunks together, and beams that differ in training and testing."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from structron.evaluate import JointScores
from structron.experiments.common import Rows, Table, say
from structron.experiments.daume2005_segments import COLUMNS, order_target
from structron.experiments.daume2005_trials import EARLY, LASO_A, LASO_P, STANDARD, Trial, attempt, clock
from structron.experiments.runs import Report
from structron.tasks.joint.tagger import JointTagger

BEAM = 10
PAPER: dict[tuple[str, int | None], tuple[Any, ...]] = {
    (LASO_P, 1): ("1:29", 98.9, 95.5, 94.7, 93.1),
    (LASO_P, 5): ("3:24", 98.9, 95.8, 95.1, 93.5),
    (LASO_P, 10): ("4:47", 98.9, 95.9, 95.1, 93.5),
    (LASO_P, 25): ("4:59", 98.9, 95.9, 95.1, 93.7),
    (LASO_P, 50): ("5:53", 98.9, 95.8, 94.9, 93.4),
    (LASO_A, 1): (":41", 99.0, 96.5, 95.8, 93.9),
    (LASO_A, 5): ("1:43", 99.0, 96.8, 96.1, 94.2),
    (LASO_A, 10): ("2:21", 99.1, 97.3, 96.4, 94.4),
    (LASO_A, 25): ("3:38", 99.1, 97.4, 96.6, 94.3),
    (LASO_A, 50): ("3:15", 99.1, 97.4, 96.6, 94.4),
    (EARLY, 10): (None, None, None, None, 93.1),
    (STANDARD, 10): (None, None, None, None, 92.5),
}
"""Time to train (h:m), accuracy of tags, chunk labels and both, and F."""
GRID = (
    (93.9, 92.8, 91.9, 91.3, 90.9),
    (90.5, 94.3, 94.4, 94.1, 94.1),
    (89.6, 94.3, 94.4, 94.2, 94.2),
    (88.7, 94.2, 94.5, 94.3, 94.3),
    (88.4, 94.2, 94.4, 94.2, 94.4),
)
"""Table 3: rows are training beams 1, 5, 10, 25, 50, columns decoding beams."""
F1, MINUTES = 93.8, 5


@dataclass(slots=True)
class Joint:
    """All trainings of the joint tagger; grid[i][j]: F on test data, trained with beams[i], tested with beams[j]."""

    train: Rows
    dev: Rows
    test: Rows
    passes: tuple[int, int]
    trials: list[Trial] = field(default_factory=list)
    beams: tuple[int, ...] = ()
    grid: list[list[float]] = field(default_factory=list)

    def run_all(self, beams: tuple[int, ...], report: Report) -> None:
        self.beams = beams
        wanted = [(method, beam) for method in (LASO_P, LASO_A) for beam in beams]
        wanted += [(method, BEAM) for method in (EARLY, STANDARD)]
        make = partial(JointTagger, columns=COLUMNS)
        for method, beam in wanted:
            data = (self.train, self.dev, self.test)
            self.trials.append(attempt("joint", make, method, beam, self.passes, data))
        report.show(self.table())
        self.cross(report)
        self.targets(report)

    def table(self) -> Table:
        columns: tuple[str, ...] = ("method, beam", "train/s", "pass", "test/s", "dev F", "tag", "chunk", "both", "F")
        columns += ("paper's train", "tag", "chunk", "both", "F")
        table = Table("Joint tagging and chunking, CoNLL-2000 test (Table 2)", columns)
        for trial in self.trials:
            run, scores = trial.run, trial.scores
            ours = (run.best_seconds, run.best_pass, trial.test_seconds, run.best)
            found = (scores.accuracy, scores.chunk_accuracy, scores.joint_accuracy, scores.f1)
            table.rows.append((trial.name, *ours, *found, *PAPER.get(trial.key, (None,) * 5)))
        table.notes = [
            "Accuracies/%: of tags, of chunk labels, of both. SUTTON (factorial CRF): 98.9, 97.4, 96.5, F 93.9.",
            "The paper has lists of names and other words from elsewhere; we have none.",
        ]
        return table

    def cross(self, report: Report) -> None:
        """Table 3: every ALMA model with every beam."""
        own = {trial.run.beam: trial.model for trial in self.trials if trial.run.method == LASO_A}
        for beam in self.beams:
            model, scores = own[beam], []
            for other in self.beams:
                model.beam = other
                scores.append(chunk_f1(model.evaluate(self.test)))
            model.beam = beam
            self.grid.append(scores)
            say(f"joint: trained with beam {beam}: {', '.join(f'{score:.2f}' for score in scores)}")
        table = Table("Chunk F by training beam (rows) and testing beam (columns), LaSO-A (Table 3)", ("beam",))
        table.columns = ("trained with", *(f"b {beam}" for beam in self.beams))
        if len(self.beams) == len(GRID):
            table.columns += tuple(f"paper's {beam}" for beam in self.beams)
        for place, (beam, scores) in enumerate(zip(self.beams, self.grid, strict=True)):
            paper = GRID[place] if len(self.beams) == len(GRID) else ()
            table.rows.append((str(beam), *scores, *paper))
        table.notes = [
            "The paper's caption and text disagree on which side is training; here the figures stand as in the caption."
        ]
        report.show(table)

    def targets(self, report: Report) -> None:
        found = {trial.key: trial for trial in self.trials}
        if (LASO_A, BEAM) in found:
            trial = found[LASO_A, BEAM]
            seconds = trial.run.seconds(len(trial.run.history))
            score = trial.scores.f1
            report.target(f"joint, ALMA, beam {BEAM}: chunk F1 at least {F1}", f"{score:.2f}", score >= F1)
            what = f"joint, ALMA, beam {BEAM}: all {len(trial.run.history)} passes under {MINUTES} minutes"
            report.target(what, clock(seconds), seconds < 60 * MINUTES)
        order_target(report, "joint", found, BEAM)
        wide = [place for place, beam in enumerate(self.beams) if beam >= 5]
        if 1 in self.beams and wide:
            one = self.beams.index(1)
            up = max(self.grid[one][place] for place in wide) - self.grid[one][one]
            down = max(self.grid[place][one] - self.grid[place][place] for place in wide)
            shown = f"trained with 1, tested wider {up:+.2f} at best; trained wider, tested with 1 {down:+.2f} at best"
            report.target("Table 3: a beam of 1 does not go with others, either way", shown, up < 0 and down < 0)


def chunk_f1(scores: JointScores) -> float:
    return scores.f1
