"""Threads that do the work of requests: so many at a time, so many waiting, none waited for longer than so long.

A kernel cannot be stopped. Work that takes too long is given up by whoever asked for it and goes on to its end; another
thread takes its place, as long as there are not too many of them.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from structron.runtime.threads import cores

Found = TypeVar("Found")
SPARE = 4
"""Threads beyond those of the crew that may be busy with work that nobody waits for any more."""
WAITING = 8
"""Requests that wait, for each thread."""


class Busy(Exception):
    """More requests than the crew can do or keep waiting."""


class Late(Exception):
    """Work that took too long."""


@dataclass(slots=True)
class _Job:
    work: Callable[[], Any]
    future: "Future[Any]" = field(default_factory=Future)
    running: bool = False
    given_up: bool = False


class Crew:
    """Does what it is given on threads of its own; `run` is for coroutines."""

    def __init__(self, workers: int | None = None, waiting: int | None = None, seconds: float = 30.0):
        self.workers = workers or max(2, cores())
        self.waiting = WAITING * self.workers if waiting is None else waiting
        self.seconds = seconds
        self.busy = 0  # threads at work
        self.given_up = 0  # those of them whose work nobody waits for
        self._threads = 0
        self._queue: deque[_Job] = deque()
        self._change = threading.Condition()
        self._closed = False

    async def run(self, work: Callable[[], Found]) -> Found:
        """What `work` gives; raises Busy at once, or Late when it takes too long."""
        job = self._accept(work)
        answer = asyncio.wrap_future(job.future)
        try:
            done, _ = await asyncio.wait([answer], timeout=self.seconds)
        except asyncio.CancelledError:
            self._give_up(job)
            raise
        if not done:
            self._give_up(job)
            answer.cancel()
            raise Late
        return answer.result()

    def close(self) -> None:
        """Let the threads end when they have done what they have."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def _accept(self, work: Callable[[], Any]) -> _Job:
        job = _Job(work)
        with self._change:
            free = max(self.workers - (self.busy - self.given_up), 0)
            if self._closed or len(self._queue) >= free + self.waiting:
                raise Busy
            self._queue.append(job)
            self._grow()
            self._change.notify()
        return job

    def _give_up(self, job: _Job) -> None:
        with self._change:
            if job.running and not job.given_up:
                job.given_up = True
                self.given_up += 1
                self._grow()
            elif job in self._queue:
                self._queue.remove(job)

    def _grow(self) -> None:
        """Have a thread for what waits, unless there are as many as there may be."""
        idle = self._threads - self.busy
        own = self._threads - self.given_up
        if len(self._queue) > idle and own < self.workers and self._threads < self.workers + SPARE:
            self._threads += 1
            threading.Thread(target=self._serve, name="structron", daemon=True).start()

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            found, failure = None, None
            try:
                found = job.work()
            except BaseException as error:
                failure = error
            self._finish(job)
            if failure is None:
                job.future.set_result(found)
            else:
                job.future.set_exception(failure)
            del job, found, failure

    def _next(self) -> _Job | None:
        """What to do next; None: the thread is not needed any more."""
        with self._change:
            while True:
                if self._threads - self.given_up > self.workers or (self._closed and not self._queue):
                    self._threads -= 1
                    self._change.notify()
                    return None
                if not self._queue:
                    self._change.wait()
                    continue
                job = self._queue.popleft()
                if job.future.set_running_or_notify_cancel():
                    job.running = True
                    self.busy += 1
                    return job

    def _finish(self, job: _Job) -> None:
        with self._change:
            job.running = False
            self.busy -= 1
            self.given_up -= job.given_up
