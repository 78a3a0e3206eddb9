"""What every paper's experiment does: read corpora, set our figures beside the paper's, draw curves, write JSON."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from structron.data.corpora import find
from structron.errors import StructronError
from structron.io import CONLLU_COLUMNS, atomic_write_bytes, detect_format, read

Rows = list[list[list[str]]]
"""Sentences of tokens of columns."""

COLOURS = ("#1f5fa8", "#7fb2e5", "#c4501b", "#f0a878", "#3c7d3c", "#a3cf9b")
"""In pairs of a dark and a light shade, for methods in two variants each."""


def need(module: str, extra: str) -> Any:
    """A module that only an extra installs."""
    try:
        return import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise StructronError(f"this needs {name}, which is not installed: pip install 'structron[{extra}]'") from None


def say(text: str) -> None:
    """How far the experiment has come: a line out of the way of the tables."""
    print(text, file=sys.stderr, flush=True)


def load_rows(data: Path, corpus: str, split: str, columns: Sequence[str] = ()) -> Rows:
    """The sentences of a split; of a CoNLL-U file only the named columns."""
    path = find(data, corpus, split)
    if detect_format(path) == "conll":
        return [sentence.rows for sentence in read(path)]
    places = [CONLLU_COLUMNS.index(column) for column in columns]
    return [[[row[place] for place in places] for row in sentence.rows] for sentence in read(path)]


def make_folder(path: Path) -> Path:
    """The folder for results, made before hours of work and not after them."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StructronError(f"{path}: cannot make the folder for results: {error.strerror}") from None
    return path


def write_json(path: Path, results: Mapping[str, Any]) -> None:
    atomic_write_bytes(path, (json.dumps(results, indent=2, ensure_ascii=False) + "\n").encode())


# -- tables --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Table:
    """Rows of cells, the first of each a name and the others figures; None is what the paper (or we) do not have."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def cells(self) -> list[list[str]]:
        return [[_cell(value) for value in row] for row in self.rows]

    def plain(self) -> str:
        """Aligned columns, for files and pipes."""
        lines = [list(self.columns), *self.cells()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = []
        for first, *others in lines:
            figures = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
            texts.append("  ".join([first.ljust(widths[0]), *figures]).rstrip())
        return "\n".join([self.title, *(f"  {text}" for text in texts), *(f"  {note}" for note in self.notes)])

    def show(self) -> None:
        """Print on standard output, drawn if that is a terminal."""
        if not sys.stdout.isatty():
            print(self.plain(), end="\n\n", flush=True)
            return
        from rich.console import Console
        from rich.table import Table as Drawn
        from rich.text import Text

        drawn = Drawn(title=self.title, title_justify="left", title_style="bold")
        for place, column in enumerate(self.columns):
            drawn.add_column(column, justify="right" if place else "left")
        for cells in self.cells():
            drawn.add_row(*map(Text, cells))
        console = Console(highlight=False)
        console.print(drawn)
        for note in self.notes:
            console.print(Text(note, "dim"))
        console.print()


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


# -- figures -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Curve:
    """One method's figure after each pass, and the paper's best as a dashed line of the same colour."""

    label: str
    values: Sequence[float]
    paper: float | None = None


def plot_curves(path: Path, title: str, x: str, y: str, curves: Sequence[Curve], lower_is_better: bool = False) -> None:
    """Draw learning curves into a PNG file; the best point of each has a larger mark."""
    need("matplotlib", "plot")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 4.8), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    best = min if lower_is_better else max
    for curve, colour in zip(curves, COLOURS, strict=False):
        passes = range(1, len(curve.values) + 1)
        axes.plot(passes, curve.values, color=colour, marker="o", markersize=3, linewidth=1.6, label=curve.label)
        top = best(curve.values)
        axes.plot(curve.values.index(top) + 1, top, color=colour, marker="o", markersize=8)
        if curve.paper is not None:
            axes.axhline(curve.paper, color=colour, linestyle="--", linewidth=1)
    axes.plot([], [], color="grey", marker="o", markersize=8, linestyle="", label="best pass")
    if any(curve.paper is not None for curve in curves):
        axes.plot([], [], color="grey", linestyle="--", linewidth=1, label="the paper's best,\nin the method's colour")
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=9, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path)
