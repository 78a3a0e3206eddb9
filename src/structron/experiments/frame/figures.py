"""Figures as PNG files: curves, and a grid of figures as a heat map."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structron.experiments.frame.tools import need

COLOURS = ("#1f5fa8", "#7fb2e5", "#c4501b", "#f0a878", "#3c7d3c", "#a3cf9b")
"""In pairs of a dark and a light shade, for methods in two variants each."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve. best: min or max, for a larger mark at its best pass.   paper: the paper's best, a dashed line."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    best: Callable[[Sequence[float]], float] | None = None
    paper: float | None = None


def _make_axes(size: tuple[float, float]) -> tuple[Any, Any]:
    need("matplotlib", "plot")
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=150, layout="constrained")
    return figure, figure.add_subplot()


def draw_lines(path: Path, title: str, x: str, y: str, lines: Sequence[Curve], floor: float | None = None) -> None:
    """Curves into a PNG file. floor: the least y that is shown."""
    figure, axes = _make_axes((8, 4.8))
    from matplotlib.ticker import MaxNLocator

    for line, colour in zip(lines, COLOURS, strict=False):
        axes.plot(line.x, line.y, color=colour, marker="o", markersize=3, linewidth=1.6, label=line.label)
        if line.best is not None:
            top = line.best(line.y)
            axes.plot(line.x[line.y.index(top)], top, color=colour, marker="o", markersize=8)
        if line.paper is not None:
            axes.axhline(line.paper, color=colour, linestyle="--", linewidth=1)
    if any(line.best is not None for line in lines):
        axes.plot([], [], color="grey", marker="o", markersize=8, linestyle="", label="best pass")
    if any(line.paper is not None for line in lines):
        axes.plot([], [], color="grey", linestyle="--", linewidth=1, label="the paper's best,\nin the method's colour")
    axes.set(title=title, xlabel=x, ylabel=y)
    if floor is not None:
        axes.set_ylim(bottom=floor)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=9, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path)


def draw_grid(
    path: Path, title: str, x: str, y: str, names: Sequence[Any], grid: Sequence[Sequence[float]], unit: str
) -> None:
    """A heat map with the figure in every field; rows and columns have the same names."""
    figure, axes = _make_axes((6, 5))
    image = axes.imshow(grid, cmap="Blues", aspect="equal")
    lowest, highest = min(map(min, grid)), max(map(max, grid))
    for row, scores in enumerate(grid):
        for column, score in enumerate(scores):
            light = score > (lowest + highest) / 2
            axes.text(column, row, f"{score:.2f}", ha="center", va="center", color="white" if light else "black")
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.set_xticks(range(len(names)), list(map(str, names)))
    axes.set_yticks(range(len(names)), list(map(str, names)))
    figure.colorbar(image, ax=axes, label=unit)
    figure.savefig(path)
