"""Standard streams and signals as a command finds them: closed, full, broken; SIGTERM and a lost terminal as Ctrl-C."""

import atexit
import contextlib
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

SIGNALS = ("SIGTERM", "SIGHUP")


class OutputError(OSError):
    """Standard output does not take any more."""


class Output(io.TextIOBase):
    """Standard output whose errors can be told from others; None: it was closed before the command began."""

    def __init__(self, stream: Any):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        if self._stream is None:
            raise AttributeError(name)
        return getattr(self._stream, name)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "encoding", None) or "utf-8"

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        with contextlib.suppress(ValueError):  # closed, when the process ends
            return self._stream is not None and self._stream.isatty()
        return False

    def fileno(self) -> int:
        return 1 if self._stream is None else self._stream.fileno()

    def write(self, text: str) -> int:
        if self._stream is None and text:
            raise OutputError(errno.EBADF, "it is closed")
        return self._told(lambda: self._stream.write(text)) if self._stream is not None else 0

    def flush(self) -> None:
        if self._stream is not None:
            self._told(self._stream.flush)

    @staticmethod
    def _told(act: Callable[[], Any]) -> Any:
        try:
            return act()
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from None
        except ValueError as error:
            raise OutputError(errno.EBADF, f"{error}") from None


@contextlib.contextmanager
def secured() -> Iterator[None]:
    """Fill the places of closed streams: the next file that is opened would take them, and get what is meant for them.

    Python itself would print what is meant for a closed standard error on standard output.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    before = sys.stdout
    if isinstance(before, io.TextIOWrapper):
        before.reconfigure(errors="backslashreplace")
    sys.stdout = Output(before)
    try:
        yield
    finally:
        sys.stdout = before


def _unless_ignored(number: int, frame: FrameType | None) -> None:
    """Where Ctrl-C is ignored, as in the background of a script: only other signals interrupt."""
    if number != signal.SIGINT:
        raise KeyboardInterrupt


class Signals:
    """SIGTERM, and SIGHUP of a terminal that closes, as Ctrl-C: a model that was begun is saved, nothing is left over.

    A signal that is ignored (`nohup`) or handled by somebody else stays so.
    """

    def __init__(self) -> None:
        self.received = signal.SIGINT.value

    @property
    def status(self) -> int:
        """The exit status of a command that was interrupted."""
        return 128 + self.received

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Do what Ctrl-C would do now (`runtime/interrupts.py`)."""
        self.received = number
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(number, frame)

    @contextlib.contextmanager
    def handled(self) -> Iterator[None]:
        before: dict[Any, Any] = {}
        with contextlib.suppress(ValueError):  # not the main thread: signals are somebody else's
            for found in (getattr(signal, name, None) for name in SIGNALS):
                if found is not None and signal.getsignal(found) == signal.SIG_DFL:
                    before[found] = signal.signal(found, self._interrupt)
            if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
                before[signal.SIGINT] = signal.signal(signal.SIGINT, _unless_ignored)
        try:
            yield
        finally:
            for found, handler in before.items():
                signal.signal(found, handler)


def leave_signals() -> None:
    """In a process that works for another: Ctrl-C is for whoever asked, other signals end it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for found in (getattr(signal, name, None) for name in SIGNALS):
        if found is not None:
            signal.signal(found, signal.SIG_DFL)


def leave(status: int) -> NoReturn:
    """End the process without taking the interpreter apart, which takes a quarter of a second and helps nobody.

    What was registered for the end is called, what was written is flushed. Where threads or processes are still there,
    Python waits for them as ever.
    """
    alone = threading.active_count() == 1 and "multiprocessing" not in sys.modules
    if not alone:
        sys.exit(status)
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
