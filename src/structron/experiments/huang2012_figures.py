"""Huang, Fayong & Guo (2012): Figures 4, 5 and 6 as PNG files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structron.experiments.common import COLOURS, need
from structron.experiments.huang2012_scale import STANDARD
from structron.experiments.runs import Run, shown_beam

SHOWN_POINTS = 12.0
"""Progress curves show so many points of UAS below the best: early passes would press the rest together."""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve; with `best` its highest point has a larger mark."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    best: bool = False


def draw(path: Path, title: str, x: str, y: str, lines: Sequence[Line], floor: float | None = None) -> None:
    """Curves into a PNG file. floor: the least y that is shown."""
    need("matplotlib", "plot")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 4.8), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for line, colour in zip(lines, COLOURS, strict=False):
        axes.plot(line.x, line.y, color=colour, marker="o", markersize=3, linewidth=1.6, label=line.label)
        if line.best:
            place = max(range(len(line.y)), key=line.y.__getitem__)
            axes.plot(line.x[place], line.y[place], color=colour, marker="o", markersize=8)
    axes.set(title=title, xlabel=x, ylabel=y)
    if floor is not None:
        axes.set_ylim(bottom=floor)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=9, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path)


def draw_beams(path: Path, runs: Sequence[Run]) -> None:
    """Figure 4: the best dev accuracy of each method at each beam."""
    methods = list(dict.fromkeys(run.method for run in runs if run.beam is not None))
    lines = []
    for method in methods:
        own = {run.beam: run.best for run in runs if run.method == method and run.beam is not None}
        lines.append(Line(method, list(own), list(own.values())))
    draw(path, "Tagging: beams and updates (Figure 4)", "beam", "best dev accuracy/%", lines)


def draw_invalid(path: Path, title: str, runs: Sequence[Run]) -> None:
    """Figure 5: the share of standard updates that are no violations, pass by pass."""
    own = [run for run in runs if run.method == STANDARD and run.beam is not None and run.merge]
    lines = [Line(f"beam {shown_beam(run.beam)}", range(1, len(run.history) + 1), run.invalid) for run in own]
    draw(path, title, "pass", "invalid standard updates/%", lines, floor=0.0)


def draw_progress(path: Path, title: str, runs: Sequence[Run]) -> None:
    """Figure 6: dev UAS against learning time."""
    lines = [Line(run.method, *run.progress, best=True) for run in runs]
    lowest = min(min(run.progress[1]) for run in runs)
    floor = max(run.best for run in runs) - SHOWN_POINTS
    draw(path, title, "learning time/s", "dev UAS/%", lines, floor if lowest < floor else None)
