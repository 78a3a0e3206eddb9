"""Ctrl-C, held back while the main thread does what must not be cut in two.

Python raises KeyboardInterrupt in the main thread between any two steps, even when a lock has been acquired and its
block not yet entered. The lock is then never released, and a thread that needs it waits for ever. So where the main
thread shares locks with others it holds Ctrl-C back, and lets it through where it waits.
"""

import signal
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Self, TypeVar

Found = TypeVar("Found")


class _State:
    """What the main thread holds back; no other thread touches it."""

    depth = 0
    """Blocks that it is in."""
    hearing = False
    """Whether it is waiting now."""
    whole = 0
    """Blocks that let nothing through, even while it waits."""
    heard: tuple[int, FrameType | None] | None = None
    before: Callable[[int, FrameType | None], Any] | None = None
    """Who is to hear it."""


def _note(number: int, frame: FrameType | None) -> None:
    _State.heard = number, frame
    if _State.hearing:
        _tell()


def _tell() -> None:
    """Pass on what has been heard."""
    heard, _State.heard = _State.heard, None
    if heard is not None and _State.before is not None:
        _State.before(*heard)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


class Held:
    """A block of the main thread that Ctrl-C interrupts only where it waits (`first_done`, `outcome`).

    whole: not even there. Other threads never hear Ctrl-C, so for them it does nothing. Nested blocks cost nothing.
    """

    def __init__(self, whole: bool = False):
        self.whole = whole

    def __enter__(self) -> Self:
        if _is_main():
            if not _State.depth:
                before = signal.getsignal(signal.SIGINT)
                _State.hearing, _State.before = False, before if callable(before) else None
                if callable(before):
                    signal.signal(signal.SIGINT, _note)
            _State.depth += 1
            _State.whole += self.whole
        return self

    def __exit__(self, *error: object) -> None:
        if _is_main():
            _State.depth -= 1
            _State.whole -= self.whole
            if not _State.depth and _State.before is not None:
                signal.signal(signal.SIGINT, _State.before)
                _tell()


def _waited(wait: Callable[[], Found]) -> Found:
    if not _is_main() or _State.whole:
        return wait()
    _State.hearing = True
    try:
        if _State.depth:
            _tell()
        return wait()
    finally:
        _State.hearing = False


def first_done(futures: Collection["Future[Any]"], timeout: float | None = None) -> set["Future[Any]"]:
    """Wait until one of these is done, or so many seconds; returns those that are. Ctrl-C is heard here."""
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    with Held():
        for future in futures:
            future.add_done_callback(done.put)
    try:
        first = _waited(lambda: done.get(timeout=timeout))
    except Empty:
        return set()
    with Held():
        return {future for future in futures if future is first or future.done()}


def outcome(future: "Future[Found]") -> Found:
    """What a future gives, or its error. Ctrl-C is heard here."""
    first_done([future])
    with Held():
        return future.result()
