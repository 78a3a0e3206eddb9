"""Daumé & Marcu (2005), Tables 1 to 3: chunks as whole segments, tags and chunks together, other beams in testing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from structron.experiments.frame import Report, Rows, Table, Trial, draw_grid, learn, paper_of, say, shown_beam, timed
from structron.tasks.joint.tagger import JointTagger
from structron.tasks.segments.chunker import SegmentChunker

PAPER = paper_of("daume2005")
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
    """What is learned, and what is reported of it."""

    name: str
    estimator: type[SegmentChunker] | type[JointTagger]
    figures: tuple[str, ...]
    """The scores in its table."""
    beam: int
    """At which all methods are compared."""
    metric: str
    least: dict[int, float]
    """By beam, the F1 that LaSO with ALMA should reach."""
    minutes: int


ACCURACIES = ("accuracy", "chunk_accuracy", "joint_accuracy")
SEGMENTS = Task("segments", SegmentChunker, ("precision", "recall", "f1"), 5, "F1", {5: 93.9, 25: 94.0}, minutes=3)
JOINT = Task("joint", JointTagger, (*ACCURACIES, "f1"), 10, "chunk F1", {10: 93.8}, minutes=5)


def compare(
    task: Task, beams: Sequence[int | None], passes: tuple[int, int], parts: Sequence[Rows], report: Report
) -> Found:
    """Every method at every beam, the best pass of each tested. passes: perceptron, ALMA.   parts: train, dev, test."""
    train, dev, test = parts
    wanted: list[tuple[str, int | None]] = [(PERCEPTRON, None)] if task is SEGMENTS else []
    wanted += [(method, beam) for method in (LASO_P, LASO_A) for beam in beams]
    wanted += [(method, task.beam) for method in (EARLY, STANDARD)]
    found: Found = {}
    for method, beam in wanted:
        update, alma = UPDATES[method]
        options: dict[str, Any] = {"update": update, "alma": alma, "beam": beam, "passes": passes[alma is not None]}
        model = task.estimator(columns=COLUMNS, **options)
        trial = found[method, beam] = learn(task.name, model, train, dev, method)
        guess, trial.test_seconds = timed(model.predict, test)
        trial.model, trial.scores = model, model.evaluate(test, guess=guess)
        trial.test = trial.scores.f1
        report.content[task.name] = [trial.as_dict() for trial in found.values()]
        report.write()
    report.show(table_of(task, found))
    targets(task, found, report)
    return found


def table_of(task: Task, found: Found) -> Table:
    table = Table.of(PAPER[task.name])
    for (method, beam), trial in found.items():
        times = (trial.best_seconds, trial.best_pass, trial.test_seconds, trial.best)
        scores = (getattr(trial.scores, name) for name in task.figures)
        table.add(f"{method} {shown_beam(beam)}", *times, *scores)
    return table


def targets(task: Task, found: Found, report: Report) -> None:
    """How well ALMA does and in what time, and at one beam LaSO-ALMA ≥ LaSO-perceptron ≥ early ≥ standard."""
    wanted, names = PAPER["targets"], {"task": task.name, "metric": task.metric, "minutes": task.minutes}
    for beam, least in task.least.items():
        if (LASO_A, beam) in found:
            score = found[LASO_A, beam].scores.f1
            report.target(wanted["least"], f"{score:.2f}", score >= least, beam=beam, least=least, **names)
    if (LASO_A, task.beam) in found:
        trial = found[LASO_A, task.beam]
        minutes, seconds = divmod(int(trial.seconds()), 60)
        names |= {"beam": task.beam, "passes": len(trial.history)}
        report.target(wanted["minutes"], f"{minutes}:{seconds:02d}", minutes < task.minutes, **names)
    methods = (LASO_A, LASO_P, EARLY, STANDARD)
    if all((method, task.beam) in found for method in methods):
        ordered = {method: found[method, task.beam].scores.f1 for method in methods}
        shown = ", ".join(f"{method} {score:.2f}" for method, score in ordered.items())
        report.target(wanted["order"], shown, list(ordered.values()) == sorted(ordered.values(), reverse=True), **names)


def cross(found: Found, beams: Sequence[int], test: Rows, report: Report) -> None:
    """Chunk F on test data of every ALMA model with every beam: grid[i][j] is trained with beams[i]."""
    table, grid = Table.of(PAPER["grid"]), []
    whole = len(beams) == len(table.paper)
    table.columns = ("trained with", *(f"b {beam}" for beam in beams))
    table.columns += tuple(f"paper's {beam}" for beam in beams) if whole else ()
    for beam in beams:
        model = found[LASO_A, beam].model
        grid.append([model.set_params(beam=other).evaluate(test).f1 for other in beams])
        say(f"joint: trained with beam {beam}: {', '.join(f'{score:.2f}' for score in grid[-1])}")
        table.add(str(beam), *grid[-1], paper=None if whole else ())
    report.content["grid"] = grid
    report.show(table)
    title = "Chunk F by beam, LaSO with ALMA (Table 3)"
    report.figure("table3.png", draw_grid, title, "testing beam", "training beam", beams, grid, "F1/% on test data")
    diagonal_target(beams, grid, report)


def diagonal_target(beams: Sequence[int], grid: Sequence[Sequence[float]], report: Report) -> None:
    wide = [place for place, beam in enumerate(beams) if beam >= 5]
    if 1 in beams and wide:
        one = beams.index(1)
        up = max(grid[one][place] for place in wide) - grid[one][one]
        down = max(grid[place][one] - grid[place][place] for place in wide)
        shown = f"trained with 1, tested wider {up:+.2f} at best; trained wider, tested with 1 {down:+.2f} at best"
        report.target(PAPER["targets"]["diagonal"], shown, up < 0 and down < 0)
