"""`structron capabilities`: the table of tasks and options, on the screen or in the guide."""

from pathlib import Path

from structron.errors import StructronError
from structron.io import atomic_write_bytes
from structron.tasks.capabilities import BEGIN, END, table


def run(write: Path | None = None) -> None:
    """Print the table, or put it between the marks of a file."""
    if write is None:
        print(table())
        return
    try:
        text = write.read_text(encoding="utf-8")
    except OSError as error:
        raise StructronError(f"{write}: cannot be read: {error.strerror}") from None
    atomic_write_bytes(write, renewed(text, str(write)).encode())


def renewed(text: str, name: str) -> str:
    """A text with the table of today between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise StructronError(f"{name}: no place for the table; expected the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"
