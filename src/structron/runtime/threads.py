"""Work in batches, on one thread or several, without the garbage collector where it would find nothing; memory given
back to the system."""

import contextlib
import ctypes
import gc
import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import cache
from typing import Any, Self, TypeVar

import numpy as np

from structron.errors import StructronError
from structron.runtime.interrupts import Held, first_done, outcome

BATCH_TOKENS = 20_000
LEAST_TOKENS = 500
LEAST_SENTENCES, MOST_SENTENCES = 50, 4000
CHUNKS_PER_THREAD = 16
"""Batches for each thread, so that none waits long for the last."""
Work = TypeVar("Work")
Found = TypeVar("Found")


def cores() -> int:
    """How many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def batches(starts: np.ndarray, jobs: int = 1) -> list[tuple[int, int]]:
    """Cut sentences into batches (lo, hi) of about BATCH_TOKENS tokens, or less to keep all threads busy."""
    size = BATCH_TOKENS
    if jobs > 1:
        size = min(size, max(LEAST_TOKENS, int(starts[-1]) // (jobs * CHUNKS_PER_THREAD)))
    found, lo = [], 0
    while lo < len(starts) - 1:
        hi = int(np.searchsorted(starts, starts[lo] + size, "right")) - 1
        hi = min(max(hi, lo + 1), len(starts) - 1)
        found.append((lo, hi))
        lo = hi
    return found


def slices(count: int, jobs: int, chunks_per_thread: int = CHUNKS_PER_THREAD) -> list[slice]:
    """Cut so many sentences into slices of which each thread takes a few."""
    size = min(MOST_SENTENCES, max(LEAST_SENTENCES, -(-count // (jobs * chunks_per_thread))))
    return [slice(lo, min(lo + size, count)) for lo in range(0, count, size)]


class Busy(Exception):
    """More work than a pool can do or keep waiting."""


class ThreadPool:
    """Threads that do what they are given, in the order in which it comes; leaving the pool waits for all of it.

    A kernel cannot be stopped. Work that takes too long still runs to completion after its caller has given up;
    another thread takes its place, unless more than `spare` are at work that nobody waits for.
    """

    interrupted = threading.Event()
    """Whether the main thread, which alone hears Ctrl-C, was interrupted while it waited for a pool: calls that may
    never end are to be left behind (`search/beam/compiling.py`)."""

    def __init__(self, size: int, waiting: float = math.inf, spare: float = 0):
        """waiting: how much work may wait for a thread; `submit` refuses more."""
        self.size, self.waiting, self.spare = size, waiting, spare
        self._threads: set[threading.Thread] = set()
        self._queue: deque[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = deque()
        self._running: set[Future[Any]] = set()
        self._abandoned: set[Future[Any]] = set()
        self._change = threading.Condition()
        self._closed = False

    @property
    def busy(self) -> int:
        """How many threads are at work."""
        return len(self._running)

    @property
    def abandoned(self) -> int:
        """How many of them are at work that nobody waits for."""
        return len(self._abandoned)

    def submit(self, run: Callable[..., Found], *given: Any) -> "Future[Found]":
        """Have a thread call `run`; raises Busy at once when too much waits already."""
        future: Future[Found] = Future()
        with Held(), self._change:
            free = max(self.size - self.busy + self.abandoned, 0)
            if self._closed or len(self._queue) >= free + self.waiting:
                raise Busy
            self._queue.append((future, run, given))
            self._grow()
            self._change.notify()
        return future

    def map(self, run: Callable[[Work], Found], work: Iterable[Work]) -> list[Found]:
        """What `run` makes of every piece of work, in order; after an error nothing more is begun."""
        futures = [self.submit(run, piece) for piece in work]
        try:
            return [outcome(future) for future in futures]
        finally:
            with Held():
                for future in futures:
                    future.cancel()

    def abandon(self, future: "Future[Any]") -> None:
        """Nobody waits for this any more: what has not begun is not done."""
        with Held(), self._change:
            if future in self._running:
                self._abandoned.add(future)
                self._grow()
            else:
                future.cancel()
                self._queue = deque(waiting for waiting in self._queue if waiting[0] is not future)

    def close(self) -> None:
        """Let the threads end when they have done what they were given."""
        with Held(), self._change:
            self._closed = True
            self._change.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> None:
        with Held():
            if kind is KeyboardInterrupt:
                self.interrupted.set()
            self.close()
        try:
            for thread in list(self._threads):
                thread.join()
        finally:
            with Held():
                self.interrupted.clear()

    def _grow(self) -> None:
        """Have a thread for what waits, unless there are as many as there may be."""
        idle, own = len(self._threads) - self.busy, len(self._threads) - self.abandoned
        if len(self._queue) > idle and own < self.size and len(self._threads) < self.size + self.spare:
            thread = threading.Thread(target=self._work, name="structron", daemon=True)
            self._threads.add(thread)
            thread.start()

    def _work(self) -> None:
        while (taken := self._next()) is not None:
            future, run, given = taken
            found, failure = None, None
            try:
                found = run(*given)
            except BaseException as error:
                failure = error
            del taken, run, given
            with self._change:
                self._running.discard(future)
                self._abandoned.discard(future)
            if failure is None:
                future.set_result(found)
            else:
                future.set_exception(failure)
            del future, found, failure

    def _next(self) -> tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]] | None:
        """What to do next; None: the thread is not needed any more."""
        with self._change:
            while True:
                if len(self._threads) - self.abandoned > self.size or (self._closed and not self._queue):
                    self._threads.discard(threading.current_thread())
                    self._change.notify()
                    return None
                if not self._queue:
                    self._change.wait()
                    continue
                taken = self._queue.popleft()
                if taken[0].set_running_or_notify_cancel():
                    self._running.add(taken[0])
                    return taken


def for_each(run: Callable[[Work], Found], work: Sequence[Work], jobs: int) -> list[Found]:
    """What `run` makes of every piece of work, on one thread or several: kernels release the lock."""
    if jobs < 1:
        raise StructronError(f"jobs: {jobs}; expected at least 1")
    if jobs == 1 or len(work) < 2:
        return [run(piece) for piece in work]
    with ThreadPool(min(jobs, len(work))) as pool:
        return pool.map(run, work)


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
    with ThreadPool(jobs) as pool:
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
                while waiting and (len(waiting) > jobs or first_done([waiting[0]], 0)):
                    yield outcome(waiting.popleft())
            while waiting:
                yield outcome(waiting.popleft())
            if failure is not None:
                raise failure
        finally:
            with Held():
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
