"""Daumé & Marcu (2005): tables and the heat map, from the ledger alone."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from structron.experiments.daume2005.tasks import (
    LASO,
    LASO_A,
    METHODS,
    OUR_LASO,
    OURS,
    PAPER,
    PART,
    PRINTED,
    TASKS,
    THEIRS,
)
from structron.experiments.daume2005.theorem import STEPS, bound_of
from structron.experiments.frame import (
    Drawing,
    Ledger,
    Picture,
    Sample,
    Table,
    Trial,
    ahead,
    draw_grid,
    late_invalid,
    mean,
    shown_beam,
    spent,
)
from structron.experiments.frame.verdict import interval_of

TRAIN, CONVERGE = "daume2005.tasks:train", "daume2005.theorem:converge"
FIELD, GOALS = "daume2005.semicrf:train", "daume2005.goals:train"
SEMICRF = "SEMICRF"
RIVALS: tuple[tuple[str, int | None], ...] = (("LaSO-P", 1), ("LaSO-A", 1), ("perceptron", None))
"""What the paper compares with the likelihood-trained model."""
FEATURES = {THEIRS: "features like the paper's, no lists", OURS: "our default templates"}


def of(
    ledger: Ledger,
    task: str,
    method: str,
    beam: int | None,
    features: str = "",
    merged: bool = True,
    average: str | None = None,
    sentences: float | None = None,
) -> list[Trial]:
    """The trials of a method in the order of their seeds; sweeps are not among them. Segments: the paper's features.
    merged: equivalent states are; without a queue of several, or without bounds, that is no question.   sentences: of
    training data; None: of the paper's tables."""
    features = features or (THEIRS if task == "segments" else OURS)
    given = {"task": task, "method": method, "beam": beam, "features": features, "constants": None, "average": average}
    given |= {"merge": None if merged or beam in (1, None) else False}
    size = main_size(ledger) if sentences is None else sentences
    found = [one for one in ledger.of(TRAIN, **given) if size_of(one) == size]
    by_seed = {one["seed"]: one for one in sorted(found, key=lambda trial: len(trial.options))}
    return [by_seed[seed] for seed in sorted(by_seed)]


def size_of(trial: Trial) -> float:
    """Sentences of training data."""
    return trial.options.get("sentences") or math.inf


def sizes_of(ledger: Ledger) -> list[float]:
    return sorted({size_of(trial) for trial in ledger.of(TRAIN, constants=None)})


def main_size(ledger: Ledger) -> float:
    """Sentences that the tables of the paper are learned from."""
    return max(sizes_of(ledger), default=0)


def part_size(ledger: Ledger) -> float:
    """Sentences of what is learned from a part of them; 0: nothing was."""
    sizes = sizes_of(ledger)
    return sizes[0] if len(sizes) > 1 else 0


def beams_of(ledger: Ledger, task: str, method: str = LASO_A, features: str = "") -> list[int | None]:
    """The beams that a method was trained with, merging or not, exact search last."""
    found = {trial.options.get("beam") for trial in ledger.of(TRAIN, task=task, method=method, constants=None)}
    there = [b for b in found if any(of(ledger, task, method, b, features, merged) for merged in (True, False))]
    return sorted(there, key=lambda b: (b is None, b))


def as_printed(ledger: Ledger, wanted: Sequence[Sequence[Any]]) -> tuple[list[list[Trial]], bool]:
    """The trials of several (task, method, beam) without merging, as the paper searches, if all have been trained so;
    else with it. And which of the two."""
    specs = [(task, method, None if beam == "inf" else beam) for task, method, beam in wanted]
    for merged in (False, True):
        found = [of(ledger, *one, merged=merged) for one in specs]
        if all(found):
            break
    return found, merged and any(beam not in (1, None) for _, _, beam in specs)


def paired(a: Sequence[Trial], b: Sequence[Trial], part: str) -> tuple[Sample, Sample]:
    """Samples of two methods over the seeds that both have."""
    seeds = {trial["seed"] for trial in a} & {trial["seed"] for trial in b}
    x, y = (Sample.of([trial for trial in own if trial["seed"] in seeds], part) for own in (a, b))
    return x, y


# -- tables --------------------------------------------------------------------------------------------------------


def tables(ledger: Ledger) -> Iterator[Table]:
    made = [scores_table(ledger, "segments", THEIRS), scores_table(ledger, "segments", OURS)]
    made += [scores_table(ledger, "joint", OURS), *(grid_table(ledger, merged) for merged in (False, True))]
    made += [equation_table(ledger), merging_table(ledger), part_table(ledger), goals_table(ledger)]
    made += [sweep_table(ledger), theorem_table(ledger)]
    yield from (table for table in made if table.rows)


def scores_table(ledger: Ledger, task: str, features: str) -> Table:
    """Every method at every beam, without merging where that was trained."""
    table, late = Table.of(PAPER[task], features=FEATURES[features]), 0
    for method in METHODS:
        for beam in beams_of(ledger, task, method, features):
            trials = of(ledger, task, method, beam, features, merged=False)
            merged = not trials
            trials = trials or of(ledger, task, method, beam, features)
            times = [round(one, 1) for one in (spent(trials), mean([trial["test_seconds"] for trial in trials]))]
            passes = ", ".join(str(trial["best_pass"]) for trial in trials)
            scores = [mean([trial[name] for trial in trials]) for name in TASKS[task].scores]
            dev, test = (str(Sample.of(trials, part)) for part in ("dev", "test"))
            name = f"{method} {shown_beam(beam)}"
            paper = table.paper.get(name, ())
            table.add(f"{name}{', merged' * merged}", times[0], passes, times[1], dev, *scores, test, paper=paper)
            late += sum(trial["best_pass"] + trial["patience"] > trial.options["passes"] for trial in trials)
    table.notes.append(
        f"Trainings that ended at the maximum number of passes: {late}; all others ended when dev F no longer rose."
    )
    return table


def grid_of(ledger: Ledger, merged: bool = False) -> tuple[list[int], list[int], list[list[Sample]]]:
    """(training beams, testing beams, samples): samples[i][j] was trained with the i-th and tested with the j-th.
    merged: states are, in both; else in neither."""
    own = ledger.of(TRAIN, task="joint", method=LASO_A, features=OURS, merge=None if merged else False)
    size = main_size(ledger)
    found = {one["beam"]: one["grid"] for one in own if size_of(one) == size and one.figures.get("grid")}
    rows, columns = sorted(found), sorted(map(int, set.intersection(*map(set, found.values())))) if found else []
    samples = [[found[beam][str(other)] for other in columns] for beam in rows]
    return rows, columns, [[Sample([one["test"]], np.array(one["test_blocks"])) for one in row] for row in samples]


def grid_table(ledger: Ledger, merged: bool) -> Table:
    table, (rows, columns, grid) = Table.of(PAPER["grid"], how=", states merged" * merged), grid_of(ledger, merged)
    whole = len(columns) == len(table.paper)
    table.columns = ["trained with", *(f"b {beam}" for beam in columns)]
    table.columns += [f"paper's {beam}" for beam in columns] if whole else []
    for beam, row in zip(rows, grid, strict=True):
        table.add(str(beam), *(sample.mean for sample in row), paper=None if whole else ())
    return table


def equation_table(ledger: Ledger) -> Table:
    """Eq. (2) over the whole queue, and ours."""
    table = Table.of(PAPER["equation"])
    for task, features in (("segments", THEIRS), ("segments", OURS), ("joint", OURS)):
        for literal, ours in zip(LASO, OUR_LASO, strict=True):
            for beam in beams_of(ledger, task, ours, features):
                new, old = (of(ledger, task, method, beam, features) for method in (ours, literal))  # both merged
                (a, b), (c, d) = paired(new, old, "dev"), paired(new, old, "test")
                if a:
                    shown = f"{task}, {features}, {literal} {shown_beam(beam)}"
                    table.add(shown, str(b), str(a), ahead(a, b).why, str(d), str(c), ahead(c, d).why)
    return table


def merging_table(ledger: Ledger) -> Table:
    """What merging equivalent states changes."""
    table = Table.of(PAPER["merging"])
    for task in TASKS:
        for method in METHODS:
            known = PAPER[task]["figures"]
            beams = {trial.options["beam"] for trial in ledger.of(TRAIN, task=task, method=method, merge=False)}
            for beam in sorted(beams):
                new, old = (of(ledger, task, method, beam, merged=merged) for merged in (False, True))
                scores = [str(Sample.of(own, part)) if own else None for own in (new, old) for part in ("dev", "test")]
                figure = known.get(f"{method} {beam}", [None])[-1]
                if new:
                    table.add(f"{task}, {method} {beam}", len(new), *scores, paper=(figure,))
    return table


def part_table(ledger: Ledger) -> Table:
    """What was trained from a part of the data."""
    table = Table.of(PAPER["part"])
    for trial in ledger.of(FIELD):
        table.add(f"segments, {SEMICRF}", *(str(Sample.of([trial], part)) for part in ("dev", "test")))
    for task, features, method, beam, more in PART:
        last = more.get("average")
        merged = "merge" not in more
        for trial in of(ledger, task, method, beam, features, merged, last, part_size(ledger)):
            name = f"{task}, {method} {shown_beam(beam)}{', last weights' if last else ''}"
            name += ", as printed" if features == PRINTED else ""
            table.add(name, *(str(Sample.of([trial], part)) for part in ("dev", "test")), late_invalid(trial))
    return table


def goals_table(ledger: Ledger) -> Table:
    """When a goal is tested."""
    table = Table.of(PAPER["goals"])
    for trial in ledger.of(GOALS):
        name, late = f"{trial['queue']} {trial['beam']}", late_invalid(trial)
        table.add(name, trial["sentences"], *(str(Sample.of([trial], part)) for part in ("dev", "test")), late)
    return table


def sweep_trials(ledger: Ledger, task: str) -> list[Trial]:
    return [trial for trial in ledger.of(TRAIN, task=task, method=LASO_A) if "constants" in trial.options]


def sweep_of(ledger: Ledger, task: str) -> dict[tuple[float, ...], Sample]:
    """Dev F by (α, B, C)."""
    trials = sweep_trials(ledger, task)
    keys = sorted({tuple(trial["constants"]) for trial in trials})
    return {key: Sample.of([t for t in trials if tuple(t["constants"]) == key], "dev") for key in keys}


def sweep_table(ledger: Ledger) -> Table:
    table, found = Table.of(PAPER["sweep"]), {task: sweep_of(ledger, task) for task in TASKS}
    for key in sorted({key for own in found.values() for key in own}):
        shown = (str(found[task][key]) if key in found[task] else None for task in TASKS)
        table.add(" ".join(f"{value:.2f}" for value in key), *shown)
    return table


def theorem_trials(ledger: Ledger) -> dict[str, Trial]:
    found = {trial["steps"]: trial for trial in ledger.of(CONVERGE)}
    return {steps: found[steps] for steps in STEPS if steps in found}


def theorem_table(ledger: Ledger) -> Table:
    """A column for each kind of step."""
    table, found = Table.of(PAPER["theorem"]), theorem_trials(ledger)
    table.columns = ["", *found, "paper's, Theorem 4"]
    for name in ("sentences", "passes", "corrections", "left") if found else ():
        table.add(name, *(one[name] for one in found.values()))
    if margin := widest_margin(found):
        longest = max(one["longest"] for one in found.values())
        table.add("margin γ", *(f"{one['margin']:.3e}" for one in found.values()))
        table.add("R, longest step", *(one["step"] for one in found.values()))
        table.add("longest Δ", *(one["longest"] or None for one in found.values()))
        table.add("bound", *(f"{bound_of(name, margin, one['step']):.4g}" for name, one in found.items()))
        if longest:
            table.add("bound with γ/longest Δ", *(f"{bound_of(name, margin / longest, 1):.4g}" for name in found))
    return table


def widest_margin(found: dict[str, Trial]) -> float | None:
    """Of any learner, if all of them have separated the data."""
    separated = found and not any(one["left"] for one in found.values())
    return max(one["margin"] for one in found.values()) if separated else None


def drawings(ledger: Ledger) -> Iterator[Drawing]:
    for merged in (False, True):
        rows, columns, grid = grid_of(ledger, merged)
        if rows == columns and rows:
            scores = [[sample.mean for sample in row] for row in grid]
            title = f"Chunk F by beam, LaSO with ALMA (Table 3){', states merged' * merged}"
            labels = ("testing beam", "training beam", rows, scores, "F1/% on test data")
            yield Drawing(f"table3{'-merged' * merged}", draw_grid, (title, *labels))


def picture(ledger: Ledger) -> Picture | None:
    """Tables 1 and 2."""
    drawn = Picture("Chunk F1 by method and beam (Tables 1 and 2)", "F1/%")
    for task, title in (("segments", "Chunks as segments"), ("joint", "Tags and chunks together")):
        drawn.add(title)
        for name, figures in PAPER[task]["figures"].items():
            method, _, beam = name.rpartition(" ")
            (trials,), merged = as_printed(ledger, [(task, method, beam if beam == "inf" else int(beam))])
            if own := Sample.of(trials):
                shown = "exact" if beam == "inf" else f"beam {beam}{', merged' * merged}"
                drawn.add(f"{method}, {shown}", figures[-1], own.mean, interval_of(own))
    return drawn if len(drawn.rows) > len(TASKS) else None
