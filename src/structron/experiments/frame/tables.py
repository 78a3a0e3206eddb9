"""Tables: our figures, the paper's beside them, and notes below."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Table:
    """Rows of cells, the first of each a name and the others figures; None is what the paper (or we) do not have."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: Any, paper: Sequence[Any] | None = None) -> None:
        """A row of our figures and then the paper's; what is missing to its end, nobody has."""
        row = (*cells, *(paper or ()))
        self.rows.append(row + (None,) * (len(self.columns) - len(row)))

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
