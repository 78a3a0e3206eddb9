"""An experiment, and what it leaves behind: tables with the paper's figures beside ours, claims with verdicts, figures.

All of it is made from the ledger, so that it can be made again at any time, from a part of the trials too.
"""

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structron.errors import StructronError
from structron.experiments.frame.ledger import Job, Ledger
from structron.experiments.frame.pictures import Curves, Picture
from structron.experiments.frame.tools import need
from structron.experiments.frame.verdict import Claim
from structron.experiments.frame.work import work_off
from structron.runtime.progress import say


@dataclass(slots=True)
class Table:
    """Rows of cells, the first of each a name and the others figures; None is what the paper (or we) do not have."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    paper: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """The paper's figures by the name of the row."""

    @classmethod
    def of(cls, entry: Mapping[str, Any], **names: Any) -> "Table":
        """An empty table that a `paper.toml` describes; names: what {name} stands for in its title and notes."""
        notes = [note.format(**names) for note in entry.get("notes", ())]
        return cls(entry["title"].format(**names), entry["columns"], notes=notes, paper=entry.get("figures", {}))

    def add(self, name: str, *cells: Any, paper: Sequence[Any] | None = None) -> None:
        """A row of our figures and then the paper's; what is missing to its end, nobody has."""
        row = (name, *cells, *(self.paper.get(name, ()) if paper is None else paper))
        self.rows.append(row + (None,) * (len(self.columns) - len(row)))

    def cells(self) -> list[list[str]]:
        return [list(self.columns), *([_cell(value) for value in row] for row in self.rows)]

    def __str__(self) -> str:
        """Aligned columns: on a terminal as in files and pipes."""
        lines = self.cells()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = []
        for first, *others in lines:
            figures = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
            texts.append("  ".join([first.ljust(widths[0]), *figures]).rstrip())
        return "\n".join([self.title, *(f"  {text}" for text in texts), *(f"  {note}" for note in self.notes)])

    def markdown(self, known: Container[str] = ()) -> str:
        """known: notes that stand below an earlier table."""
        notes = [f"{note}  " for note in self.notes if note not in known]
        return "\n".join([f"**{self.title}**", "", markdown_rows(self.cells()), "", *notes])


def markdown_rows(lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first line has the names of the columns."""
    head, *others = [f"| {' | '.join(cell.replace('|', '∣') for cell in line)} |" for line in lines]
    return "\n".join([head, f"|{' --- |' * len(lines[0])}", *others])


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure as a PNG file. draw: called with the path and then `given`."""

    name: str
    draw: Callable[..., None]
    given: Sequence[Any]


def _no_picture(ledger: Ledger) -> Picture | None:
    return None


def _no_drawings(ledger: Ledger) -> Iterator[Drawing]:
    yield from ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """A paper: which jobs, and what is made of their trials.

    plan: (ledger, scale, folder of corpora) → the jobs that are wanted, given what has been found; asked again after
    each. full, quick: the scales of the two runs. needs: modules with the extras that install them. code: where the
    paper's pseudo-code stands. picture: what the paper is known for, ours beside it, for the page of verdicts. page:
    what a person says there, `summary` and `reasons` of `paper.toml`.
    """

    name: str
    title: str
    plan: Callable[[Ledger, Any, Path | None], Iterable[Job]]
    tables: Callable[[Ledger], Iterable[Table]]
    claims: Callable[[Ledger], Iterable[Claim]]
    full: Any
    quick: Any
    code: str
    drawings: Callable[[Ledger], Iterable[Drawing]] = _no_drawings
    picture: Callable[[Ledger], Picture | Curves | None] = _no_picture
    page: Mapping[str, Any] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)
    needs_corpora: bool = True

    @property
    def command(self) -> str:
        return f"structron experiment {self.name} --data D"

    def ledger(self, folder: Path, quick: bool = False) -> Ledger:
        return Ledger(folder / f"{self.name}.json", self.title, quick)


def run(experiment: Experiment, data: Path | None, quick: bool, folder: Path, jobs: int | None = None) -> Ledger:
    """Do what is still to be done, then print tables and verdicts and draw the figures."""
    for module, extra in experiment.needs.items():
        need(module, extra)
    scale, begin = experiment.quick if quick else experiment.full, time.perf_counter()
    ledger = experiment.ledger(folder, quick)
    list(
        experiment.plan(ledger, scale, data)
    )  # corpora that are not there are found missing before anything is written
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StructronError(f"{folder}: cannot make the folder for results: {error.strerror}") from None
    try:
        work_off(lambda: experiment.plan(ledger, scale, data), ledger, data, jobs)
    except KeyboardInterrupt:
        say(f"interrupted: {len(ledger.trials)} trials are in {ledger.path}; the same command goes on from there")
        raise
    ledger.settle(experiment.plan(ledger, scale, data))
    for table in experiment.tables(ledger):
        print(table, end="\n\n", flush=True)
    for claim in experiment.claims(ledger):
        print(f"{claim.where}: {claim.text} Paper: {claim.known}. Here: {claim.here}. {claim.verdict}", flush=True)
    if quick:
        say("quick: verdicts are meant for the full run; less data and fewer passes change what is measured")
    files = [ledger.path.name, *draw_all(experiment, ledger, folder)]
    say(f"written to {folder}: {', '.join(files)} ({time.perf_counter() - begin:.0f} s)")
    return ledger


def draw_all(experiment: Experiment, ledger: Ledger, folder: Path) -> Iterator[str]:
    """Draw into files; where nothing can be drawn there are the tables, and a line that says why."""
    for drawing in experiment.drawings(ledger):
        name = f"{experiment.name}-{drawing.name}.png"
        try:
            drawing.draw(folder / name, *drawing.given)
            yield name
        except StructronError as error:
            say(f"no figure {name}: {error}")
