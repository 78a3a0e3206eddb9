"""Work in stretches, on one thread or several, without the garbage collector where it would find nothing; memory given
back to the system."""

import contextlib
import ctypes
import gc
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, TypeVar

import numpy as np

from structron.errors import StructronError

BATCH_TOKENS = 20_000
LEAST_TOKENS = 500
LEAST_SENTENCES, MOST_SENTENCES = 50, 4000
TURNS = 16
"""Stretches for each thread, so that none waits long for the last."""
Work = TypeVar("Work")
Found = TypeVar("Found")


def cores() -> int:
    """How many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def stretches(starts: np.ndarray, jobs: int = 1) -> list[tuple[int, int]]:
    """Cut sentences into stretches (lo, hi) of about BATCH_TOKENS tokens, or less to keep all threads busy."""
    size = BATCH_TOKENS
    if jobs > 1:
        size = min(size, max(LEAST_TOKENS, int(starts[-1]) // (jobs * TURNS)))
    found, lo = [], 0
    while lo < len(starts) - 1:
        hi = int(np.searchsorted(starts, starts[lo] + size, "right")) - 1
        hi = min(max(hi, lo + 1), len(starts) - 1)
        found.append((lo, hi))
        lo = hi
    return found


def parts(count: int, jobs: int, turns: int = TURNS) -> list[slice]:
    """Cut so many sentences into parts of which each thread takes a few."""
    size = min(MOST_SENTENCES, max(LEAST_SENTENCES, -(-count // (jobs * turns))))
    return [slice(lo, min(lo + size, count)) for lo in range(0, count, size)]


class Pool(ThreadPoolExecutor):
    """Threads that end when the main thread, which alone hears Ctrl-C, is interrupted in waiting for them."""

    interrupted = threading.Event()
    """Whether calls that may never end are to be left behind (`search/beam/compiling.py`)."""

    def interrupt(self) -> None:
        """Say that nobody waits for what the threads are doing."""
        self.interrupted.set()

    def __exit__(self, kind: type[BaseException] | None, *more: Any) -> None:
        if kind is KeyboardInterrupt:
            self.interrupt()
        try:
            super().__exit__(kind, *more)
        finally:
            self.interrupted.clear()


def for_each(run: Callable[[Work], Found], work: Sequence[Work], jobs: int) -> list[Found]:
    """What `run` makes of every piece of work, on one thread or several: kernels release the lock."""
    if jobs < 1:
        raise StructronError(f"jobs: {jobs}; expected at least 1")
    if jobs == 1 or len(work) < 2:
        return [run(piece) for piece in work]
    with Pool(jobs) as pool:
        return list(pool.map(run, work))


def unbroken(run: Callable[[], Found]) -> Found:
    """Do something to its end, on another thread: an interruption of this one is heard afterwards."""
    heard: KeyboardInterrupt | None = None
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(run)
        while not future.done():
            try:
                wait([future])
            except KeyboardInterrupt as interruption:
                heard = interruption
    found = future.result()
    if heard is not None:
        raise heard
    return found


def in_order(run: Callable[[Work], Found], work: Iterable[Work], jobs: int) -> Generator[Found, None, None]:
    """What `run` makes of each piece of endless work, in the order of the pieces, on one thread or several.

    Pieces are taken by the caller's thread, as many ahead as keep all threads busy and no more, so that memory does not
    depend on how many there are. An error is raised in its turn: what came before it is given first.
    """
    if jobs < 2:
        yield from map(run, work)
        return
    waiting: deque[Future[Found]] = deque()
    failure: Exception | None = None
    source = iter(work)
    with Pool(jobs) as pool:
        try:
            while True:
                try:
                    piece = next(source)
                except StopIteration:
                    break
                except Exception as error:
                    failure = error
                    break
                waiting.append(pool.submit(run, piece))
                while waiting and (waiting[0].done() or len(waiting) > jobs):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            if failure is not None:
                raise failure
        finally:
            for future in waiting:
                future.cancel()


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without the cyclic garbage collector, which would look at millions of strings again and again, for nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
def _trim() -> Any:
    """glibc's function, None where there is another C library."""
    try:
        return ctypes.CDLL(None).malloc_trim if sys.platform == "linux" else None
    except (AttributeError, OSError):
        return None


def give_back() -> bool:
    """Have what was freed go back to the system now; whether there is a way.

    After arrays of some megabytes have come and gone the C library keeps their room: with a large model more than the
    model itself takes.
    """
    trim = _trim()
    if trim is not None:
        trim(0)
    return trim is not None
