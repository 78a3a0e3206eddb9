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


class Held:
    """Steps of the main thread that are done to their end before Ctrl-C is heard; on other threads, and where Ctrl-C
    is ignored, nothing."""

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], Any] | None = None
        self._heard: int | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._before = before
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            if self._heard is not None:
                self._before(self._heard, None)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._heard = number


def first_done(futures: Collection["Future[Any]"], timeout: float | None = None) -> set["Future[Any]"]:
    """Wait until one of these is done, or so many seconds; which are. Here Ctrl-C is heard."""
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    with Held():
        for future in futures:
            future.add_done_callback(done.put)
    try:
        first = done.get(timeout=timeout)
    except Empty:
        return set()
    with Held():
        return {future for future in futures if future is first or future.done()}


def outcome(future: "Future[Found]") -> Found:
    """What a future gives, or its error. Here Ctrl-C is heard."""
    first_done([future])
    with Held():
        return future.result()
