"""What a user sees while training: a live bar on a terminal, one plain line a pass elsewhere, and a JSON-lines log."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeVar

from structron.errors import StructronError

fcntl = import_module("fcntl") if os.name == "posix" else None
Piece = TypeVar("Piece")
GONE = (OSError, ValueError)
"""What a stream raises that is full, broken or closed."""


def tell(text: str, stream: IO[str] | None = None) -> None:
    """A line for the user, on standard error unless told otherwise; where nobody can be told, work goes on without."""
    stream = stream or sys.stderr
    if stream is None:
        return
    try:
        print(text, file=stream, flush=True)
    except GONE:
        discard(stream)


def discard(stream: Any) -> None:
    """Let Python's last flush of a stream go nowhere instead of failing once more."""
    with contextlib.suppress(*GONE, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


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
        tell(text)


LINE_SECONDS = 10.0
"""Seconds between two lines of progress where there is no terminal."""


def on_terminal() -> bool:
    """Whether the user watches, and wants to see how far work is."""
    return not _quiet and sys.stderr is not None and sys.stderr.isatty()


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


SURE = 2.0
"""Seconds of work before the time that is left is told."""


class Tally:
    """What has been written to one file so far: shown while it grows, and once it is there."""

    def __init__(self, output: object, read: Callable[[], float] | None = None):
        """output: the name of the file, None: nothing is shown; read: the part of the input that has been read."""
        self.output, self.read = output, read
        self.counts: dict[str, int] = {}
        self.taken = self.given = 0
        self.begin = self.said = time.monotonic()
        self.bar: Any = None
        if output is not None and on_terminal():
            from rich.console import Console
            from rich.progress import Progress as Bar
            from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self.bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self.bar.start()
            self.bar.add_task(f"writing {output}")

    def __str__(self) -> str:
        counts = ((n, kind if n == 1 else f"{kind}s") for kind, n in self.counts.items())
        return ", ".join(f"{n:,} {kind}" for n, kind in counts)

    def take(self, pieces: Iterable[Piece], size: Callable[[Piece], int]) -> Iterator[Piece]:
        """Pieces of the input, on their way to be worked on."""
        for piece in pieces:
            self.taken += size(piece)
            yield piece

    def add(self, size: int, **counts: int) -> None:
        """So many more of each kind, named in the singular. size: of the pieces of input that they were made from."""
        self.given += size
        for kind, n in counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + n
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], description=f"{self}{self.left()}")
        elif self.output is not None and time.monotonic() - self.said >= LINE_SECONDS:
            self.said = time.monotonic()
            say(f"{self}, {duration(self.said - self.begin)}{self.left()}")

    def left(self) -> str:
        """About how long it will take to the end, as far as that can be told."""
        spent = time.monotonic() - self.begin
        done = self.read() * self.given / self.taken if self.read is not None and self.taken else 0.0
        return f", about {duration(spent / done - spent)} left" if 0.01 < done < 1 and spent >= SURE else ""

    def close(self, done: bool = True) -> None:
        """Remove the live line; done: say what the file has now."""
        if self.bar is not None:
            self.bar.stop()
        if done and self.output is not None:
            say(f"{self.output}: {str(self) or 'nothing'} written, {time.monotonic() - self.begin:.1f} s")


@contextlib.contextmanager
def tally(output: object, read: Callable[[], float] | None = None) -> Iterator[Tally]:
    """A `Tally` of a file that is written meanwhile."""
    counts = Tally(output, read)
    done = False
    try:
        yield counts
        done = True
    finally:
        counts.close(done)


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


def lock(descriptor: int) -> None:
    """Mark a log as being written, for as long as it is open; what cannot be locked is not marked."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH)


def is_written(path: str | Path) -> bool | None:
    """Whether a training writes to a log; None: it cannot be told here."""
    if fcntl is None:
        return None
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


class Progress:
    """Shows nothing unless told to; `log` gets a line of JSON as soon as a pass is done.

    What cannot be shown or logged any more costs no training: that is said once, where it can be.
    """

    def __init__(
        self, show: bool = False, log: str | Path | None = None, stream: IO[str] | None = None, append: bool = False
    ):
        self.show = show
        self.stream = stream or sys.stderr
        self.log: IO[str] | None = None
        self.warned: set[str] = set()
        if log is not None:
            try:
                self.log = open(log, "a" if append else "w", encoding="utf-8")  # noqa: SIM115
                lock(self.log.fileno())
            except OSError as error:
                raise StructronError(f"{log}: cannot write the log: {error.strerror}") from None
        self.bar: Any = None
        self.task: Any = None
        self.part = ""  # what is trained, where that is one part of several: lines and records name it

    def note(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        if self.show:
            self._print(f"{self.part}: {text}" if self.part else text)

    def warn(self, what: str, text: str) -> None:
        """Print a line that is an error, though not one to stop for; only the first of its kind."""
        if what not in self.warned:
            self.warned.add(what)
            self._print(f"structron: warning: {text}")

    def _print(self, text: str) -> None:
        if self.bar is None:
            tell(text, self.stream)
            return
        try:
            self.bar.console.print(text, markup=False, highlight=False)
        except GONE:
            self._remove_bar()
            self.show = False
            discard(self.stream)

    def _remove_bar(self) -> None:
        if self.bar is not None:
            with contextlib.suppress(*GONE):
                self.bar.stop()
            SHOWN.remove(self)
            self.bar = None

    def begin_pass(self, number: int, passes: int, examples: int) -> None:
        """Show an empty bar for a pass."""
        if not (self.show and self.stream is not None and self.stream.isatty()):
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
        if self.log is None:
            return
        try:
            print(json.dumps({"part": self.part, **record} if self.part else record), file=self.log, flush=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            self.warn("log", f"{self.log.name}: the log cannot be written ({reason}); training continues")
            self._close_log()

    def _close_log(self) -> None:
        if self.log is not None:
            with contextlib.suppress(OSError):
                self.log.close()
            self.log = None

    def close(self) -> None:
        """Remove the bar and close the log; after a part the log stays open for others."""
        self._remove_bar()
        if not self.part:
            self._close_log()
