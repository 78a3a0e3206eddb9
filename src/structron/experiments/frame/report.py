"""What an experiment leaves behind: tables with the paper's figures beside ours, and targets with what was measured.

Tables are printed as they come, and files written anew each time: an interrupt loses nothing that was done.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structron.errors import StructronError
from structron.experiments.frame.tools import say
from structron.io import atomic_write_bytes


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

    def __str__(self) -> str:
        """Aligned columns: on a terminal as in files and pipes."""
        lines = [list(self.columns), *([_cell(value) for value in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = []
        for first, *others in lines:
            figures = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
            texts.append("  ".join([first.ljust(widths[0]), *figures]).rstrip())
        return "\n".join([self.title, *(f"  {text}" for text in texts), *(f"  {note}" for note in self.notes)])


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def write_json(path: Path, results: Mapping[str, Any]) -> None:
    atomic_write_bytes(path, (json.dumps(results, indent=2, ensure_ascii=False) + "\n").encode())


@dataclass(slots=True)
class Report:
    """folder: where files go (None: nowhere).   content: what `results.json` holds."""

    folder: Path | None = None
    content: dict[str, Any] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    targets: list[dict[str, Any]] = field(default_factory=list)
    files: list[str] = field(default_factory=lambda: ["results.json", "tables.txt"])

    def show(self, table: Table) -> None:
        self.tables.append(table)
        print(table, end="\n\n", flush=True)
        self.write()

    def target(self, what: str, measured: str, met: bool, **names: Any) -> None:
        """What was aimed at; names: what {name} stands for in it."""
        self.targets.append({"target": what.format(**names), "measured": measured, "met": met})

    def target_lines(self) -> list[str]:
        return [
            f"target {t['target']}: measured {t['measured']}: {'met' if t['met'] else 'not met'}" for t in self.targets
        ]

    def text(self) -> str:
        return "\n\n".join([*map(str, self.tables), "\n".join(self.target_lines())]) + "\n"

    def write(self, finished: bool = False) -> None:
        """Bring `results.json` and `tables.txt` up to date."""
        self.content |= {"finished": finished, "targets": self.targets}
        if self.folder is not None:
            write_json(self.folder / "results.json", self.content)
            atomic_write_bytes(self.folder / "tables.txt", self.text().encode())

    def figure(self, name: str, draw: Callable[..., None], *given: Any) -> None:
        """Draw into a file; where nothing can be drawn there are the tables, and a line that says why."""
        assert self.folder is not None
        try:
            draw(self.folder / name, *given)
            self.files.append(name)
        except StructronError as error:
            say(f"no figure {name}: {error}")


@contextmanager
def reporting(paper: str, folder: Path, quick: bool, less: str) -> Iterator[Report]:
    """A report that is finished when the work is. less: what a quick run does less of."""
    try:  # before hours of work and not after them
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StructronError(f"{folder}: cannot make the folder for results: {error.strerror}") from None
    report = Report(folder, {"paper": paper, "quick": quick})
    if quick:
        say(f"quick: {less}")
    try:
        yield report
    except KeyboardInterrupt:
        say(f"interrupted: what was done is in {folder}")
        raise
    report.write(finished=True)
    say(f"written to {folder}: {', '.join(report.files)}")
    if not report.targets:
        return
    if quick:
        say("quick: the targets are meant for the whole run; less data and fewer passes change what is measured")
    print("\n".join(report.target_lines()), flush=True)
