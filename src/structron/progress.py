"""What a user sees while training: a live bar on a terminal, one plain line a pass elsewhere, and a JSON-lines log."""

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from structron.errors import StructronError

_quiet = False


@contextlib.contextmanager
def quiet(wanted: bool = True) -> Iterator[None]:
    """Let `say` say nothing for a while."""
    global _quiet
    before, _quiet = _quiet, _quiet or wanted
    try:
        yield
    finally:
        _quiet = before


def is_quiet() -> bool:
    """Whether the user wants to see nothing but errors."""
    return _quiet


def say(text: str) -> None:
    """A line for the user, out of the way of results."""
    if not _quiet:
        print(text, file=sys.stderr, flush=True)


SHOWN: list["Progress"] = []
"""Whose bar is on the screen: there is room for one."""


def pass_line(record: dict[str, Any], passes: int, best: bool) -> str:
    """One pass in one line."""
    width = len(str(passes))
    parts = [f"pass {record['pass']:>{width}}/{passes}", f"updates {record['updates']:>6}"]
    if "wrong_tokens" in record:
        parts.append(f"wrong {100 * record['wrong_tokens'] / max(record['tokens'], 1):5.2f} %")
    parts += _search_parts(record)
    if "dev" in record:
        parts.append(f"dev {record['dev']:.2f}{' *' if best else '  '}")
    parts.append(f"{record['tokens_per_second'] / 1000:.0f}k tokens/s")
    return "  ".join(parts)


def _search_parts(record: dict[str, Any]) -> list[str]:
    """What an inexact search did: updates that were no violations, where gold fell off the beam, search errors."""
    parts = []
    if "invalid" in record:
        parts.append(f"invalid {100 * record['invalid'] / max(record['updates'], 1):3.0f} %")
    if "fell_off" in record:
        place = record.get("fell_at")
        where = "" if place is None else f" at {place:.2f}"
        parts.append(f"gold fell off {100 * record['fell_off'] / max(record['examples'], 1):3.0f} %{where}")
    if "search_errors" in record:
        parts.append(f"search errors {record['search_errors']}")
    return parts


class Progress:
    """Shows nothing unless told to; `log` gets a line of JSON as soon as a pass is done."""

    def __init__(
        self, show: bool = False, log: str | Path | None = None, stream: IO[str] | None = None, append: bool = False
    ):
        self.show = show
        self.stream = stream or sys.stderr
        self.log: IO[str] | None = None
        if log is not None:
            try:
                self.log = open(log, "a" if append else "w", encoding="utf-8")  # noqa: SIM115
            except OSError as error:
                raise StructronError(f"{log}: cannot write the log: {error.strerror}") from None
        self.bar: Any = None
        self.task: Any = None
        self.part = ""  # what is trained, where that is one part of several: lines and records name it

    def note(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        if self.show:
            text = f"{self.part}: {text}" if self.part else text
            if self.bar is not None:
                self.bar.console.print(text, markup=False, highlight=False)
            else:
                print(text, file=self.stream, flush=True)

    def begin_pass(self, number: int, passes: int, examples: int) -> None:
        """Show an empty bar for a pass."""
        if not (self.show and self.stream.isatty()):
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self.bar = Bar(*columns, console=Console(file=self.stream), transient=True)
            self.bar.start()
            SHOWN.append(self)
            self.task = self.bar.add_task("")
        self.bar.reset(self.task, total=examples, description=f"{self.part}: pass {number}/{passes}".lstrip(": "))

    def advance(self, done: int) -> None:
        """Move the bar to so many examples."""
        if self.bar is not None:
            self.bar.update(self.task, completed=done)

    def pass_done(self, record: dict[str, Any], passes: int, best: bool) -> None:
        """Show and log what a pass did."""
        self.note(pass_line(record, passes, best))
        if self.log is not None:
            print(json.dumps({"part": self.part, **record} if self.part else record), file=self.log, flush=True)

    def close(self) -> None:
        """Remove the bar and close the log; after a part the log stays open for others."""
        if self.bar is not None:
            self.bar.stop()
            SHOWN.remove(self)
            self.bar = None
        if self.log is not None and not self.part:
            self.log.close()
            self.log = None
