"""`structron capabilities`: the table of tasks and options, on the screen or in the guide."""

import sys
from pathlib import Path

from structron.errors import StructronError
from structron.io import atomic_write_bytes
from structron.tasks.capabilities import BEGIN, END, ROWS, rows, table
from structron.tasks.options import TASKS


def run(write: Path | None = None) -> None:
    """Print the table, or put it between the marks of a file."""
    if write is None:
        print_for_people() if sys.stdout.isatty() else print(table())
        return
    try:
        text = write.read_text(encoding="utf-8")
    except OSError as error:
        raise StructronError(f"{write}: cannot be read: {error.strerror}") from None
    atomic_write_bytes(write, renewed(text, str(write)).encode())


def print_for_people() -> None:
    """The table on a terminal; where it has no room, a line for each option, with the tasks that take it."""
    from rich.console import Console
    from rich.table import Table

    found, notes = rows()
    console = Console(highlight=False, markup=False)
    narrow = console.width < len(max(ROWS, key=len)) + sum(max(len(task), len("no (10)")) + 2 for task in TASKS)
    columns = Table("", *(["tasks"] if narrow else TASKS), box=None, pad_edge=False, header_style="bold")
    for title, *cells in found:
        takes = ", ".join(task for task, cell in zip(TASKS, cells, strict=True) if cell == "yes")
        columns.add_row(title, *([takes] if narrow else cells))
    console.print(columns)
    for note in [] if narrow else ["", *notes]:
        console.print(note)


def renewed(text: str, name: str) -> str:
    """A text with the table of today between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise StructronError(f"{name}: nowhere to put the table; expected the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"
