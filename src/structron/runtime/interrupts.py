"""Ctrl-C, heard where nothing is cut in two.

Python raises KeyboardInterrupt in the main thread between any two steps: also when a lock has just been taken and its
block not been entered yet. The lock then stays taken, and a thread that needs it waits for ever. Where the main thread
shares locks with others it therefore holds Ctrl-C back, and hears it where it waits.
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
    """Whether it waits just now."""
    heard: int | None = None
    before: Callable[[int, FrameType | None], Any] | None = None
    """Who is to hear it."""


def _note(number: int, frame: FrameType | None) -> None:
    _State.heard = number
    if _State.hearing:
        _tell()


def _tell() -> None:
    """Pass on what has been heard."""
    number, _State.heard = _State.heard, None
    if number is not None and _State.before is not None:
        _State.before(number, None)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


class Held:
    """Steps of the main thread that are done to their end, or to where it waits, before Ctrl-C is heard; on other
    threads, and where Ctrl-C is ignored, nothing. Blocks within a block cost nothing."""

    def __enter__(self) -> Self:
        if _is_main():
            if not _State.depth:
                before = signal.getsignal(signal.SIGINT)
                _State.hearing, _State.before = False, before if callable(before) else None
                if callable(before):
                    signal.signal(signal.SIGINT, _note)
            _State.depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        if _is_main():
            _State.depth -= 1
            if not _State.depth and _State.before is not None:
                signal.signal(signal.SIGINT, _State.before)
                _tell()


def _waited(wait: Callable[[], Found]) -> Found:
    if not _is_main():
        return wait()
    _State.hearing = True
    try:
        if _State.depth:
            _tell()
        return wait()
    finally:
        _State.hearing = False


def first_done(futures: Collection["Future[Any]"], timeout: float | None = None) -> set["Future[Any]"]:
    """Wait until one of these is done, or so many seconds; which are. Here Ctrl-C is heard."""
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
    """What a future gives, or its error. Here Ctrl-C is heard."""
    first_done([future])
    with Held():
        return future.result()
