"""Daumé & Marcu (2005), Tables 1 and 2: chunks as whole segments, and tags and chunks together."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from structron import JointTagger, SegmentChunker
from structron.experiments.frame import Report, Rows, Table, Trial, learn, shown_beam

ALPHA = 0.9
COLUMNS = ("word", "pos", "chunk")
PERCEPTRON, LASO_P, LASO_A, EARLY, STANDARD = "perceptron", "LaSO-P", "LaSO-A", "early", "standard"
UPDATES: dict[str, tuple[str, float | None]] = {
    PERCEPTRON: ("standard", None),
    LASO_P: ("laso", None),
    LASO_A: ("laso", ALPHA),
    EARLY: ("early", None),
    STANDARD: ("standard", None),
}
"""The rule and the step of every method; `perceptron` is that of exact search, `standard` the same rule with a beam."""

Found = dict[tuple[str, int | None], Trial]
"""Trials by method and beam."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is learned, what is reported of it, and what the paper has."""

    name: str
    estimator: type[SegmentChunker] | type[JointTagger]
    title: str
    figures: dict[str, str]
    """By column, the name of the score in it."""
    paper: dict[tuple[str, int | None], tuple[Any, ...]]
    """Time to train (h:m), then the same figures."""
    notes: list[str]
    beam: int
    """At which all methods are compared."""
    metric: str
    least: dict[int, float]
    """By beam, the F1 that LaSO with ALMA should reach."""
    minutes: int


SEGMENTS = Task(
    name="segments",
    estimator=SegmentChunker,
    title="Syntactic chunking by segments, CoNLL-2000 test (Table 1)",
    figures={"P": "precision", "R": "recall", "F": "f1"},
    paper={
        (PERCEPTRON, None): ("18:05", 93.4, 93.5, 93.4),
        (LASO_P, 1): (":55", 92.5, 92.3, 92.4),
        (LASO_P, 5): ("1:49", 93.7, 92.6, 93.1),
        (LASO_P, 25): ("6:32", 94.2, 94.1, 94.1),
        (LASO_P, None): ("21:43", 94.3, 94.1, 94.2),
        (LASO_A, 1): (":51", 93.6, 92.5, 93.0),
        (LASO_A, 5): ("2:04", 93.8, 94.4, 94.3),
        (LASO_A, 25): ("5:59", 93.9, 94.6, 94.4),
        (LASO_A, None): ("20:12", 94.0, 94.8, 94.4),
    },
    notes=[
        "train/s: learning up to the pass that was best on dev data; the paper's times are hours and minutes.",
        "The paper's other systems: ZDJ02 94.1, SEMICRF 92.2, 53:56 h.",
        "The paper has lists of names, places, abbreviations and stop words from elsewhere; we have none.",
    ],
    beam=5,
    metric="F1",
    least={5: 93.9, 25: 94.0},
    minutes=3,
)
JOINT = Task(
    name="joint",
    estimator=JointTagger,
    title="Joint tagging and chunking, CoNLL-2000 test (Table 2)",
    figures={"tag": "accuracy", "chunk": "chunk_accuracy", "both": "joint_accuracy", "F": "f1"},
    paper={
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
    },
    notes=[
        "Accuracies/%: of tags, of chunk labels, of both. SUTTON (factorial CRF): 98.9, 97.4, 96.5, F 93.9.",
        "The paper has lists of names and other words from elsewhere; we have none.",
    ],
    beam=10,
    metric="chunk F1",
    least={10: 93.8},
    minutes=5,
)


def compare(
    task: Task, beams: Sequence[int | None], passes: tuple[int, int], parts: Sequence[Rows], report: Report
) -> Found:
    """Every method at every beam, the best pass of each tested. passes: perceptron, ALMA.   parts: train, dev, test."""
    train, dev, test = parts
    wanted: list[tuple[str, int | None]] = [(PERCEPTRON, None)] if (PERCEPTRON, None) in task.paper else []
    wanted += [(method, beam) for method in (LASO_P, LASO_A) for beam in beams]
    wanted += [(method, task.beam) for method in (EARLY, STANDARD)]
    found: Found = {}
    for method, beam in wanted:
        update, alma = UPDATES[method]
        options: dict[str, Any] = {"update": update, "alma": alma, "beam": beam, "passes": passes[alma is not None]}
        model = task.estimator(columns=COLUMNS, **options)
        trial = found[method, beam] = learn(task.name, model, train, dev, method)
        begin = time.perf_counter()
        guess = model.predict(test)
        trial.test_seconds = time.perf_counter() - begin
        trial.model, trial.scores = model, model.evaluate(test, guess=guess)
        trial.test = trial.scores.f1
        report.content[task.name] = [trial.as_dict() for trial in found.values()]
        report.write()
    report.show(table_of(task, found))
    targets(task, found, report)
    return found


def table_of(task: Task, found: Found) -> Table:
    columns = ("method, beam", "train/s", "pass", "test/s", "dev F", *task.figures, "paper's train", *task.figures)
    table = Table(task.title, columns, notes=task.notes)
    for (method, beam), trial in found.items():
        times = (trial.best_seconds, trial.best_pass, trial.test_seconds, trial.best)
        scores = (getattr(trial.scores, name) for name in task.figures.values())
        table.add(f"{method} {shown_beam(beam)}", *times, *scores, paper=task.paper.get((method, beam)))
    return table


def targets(task: Task, found: Found, report: Report) -> None:
    """How well ALMA does and in what time, and at one beam LaSO-ALMA ≥ LaSO-perceptron ≥ early ≥ standard."""
    for beam, least in task.least.items():
        if (LASO_A, beam) in found:
            score = found[LASO_A, beam].scores.f1
            what = f"{task.name}, ALMA, beam {beam}: {task.metric} at least {least}"
            report.target(what, f"{score:.2f}", score >= least)
    if (LASO_A, task.beam) in found:
        trial = found[LASO_A, task.beam]
        what = f"{task.name}, ALMA, beam {task.beam}: all {len(trial.history)} passes under {task.minutes} minutes"
        minutes, seconds = divmod(int(trial.seconds()), 60)
        report.target(what, f"{minutes}:{seconds:02d}", minutes < task.minutes)
    methods = (LASO_A, LASO_P, EARLY, STANDARD)
    if all((method, task.beam) in found for method in methods):
        ordered = {method: found[method, task.beam].scores.f1 for method in methods}
        shown = ", ".join(f"{method} {score:.2f}" for method, score in ordered.items())
        what = f"{task.name}, beam {task.beam}: F1 in the paper's order"
        report.target(what, shown, list(ordered.values()) == sorted(ordered.values(), reverse=True))
