"""The work of requests, on threads: so much at a time, so much waiting, none waited for longer than so long."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from structron.kernels.progress import compiled_since, seconds_left
from structron.runtime.threads import ThreadPool, cores

Found = TypeVar("Found")
SPARE = 4
"""Threads beyond the usual ones that may be busy with work that nobody waits for any more."""
WAITING = 8
"""Requests that wait, for each thread."""


class Late(Exception):
    """Work that took too long. compiling: seconds until kernels are compiled that it may have waited for; None: it is
    as long as that."""

    def __init__(self, compiling: float | None = None):
        super().__init__()
        self.compiling = compiling


class RequestThreads:
    """Does the work of requests on threads of its own."""

    def __init__(self, workers: int | None = None, waiting: int | None = None, seconds: float = 30.0):
        workers = workers or max(2, cores())
        self.pool = ThreadPool(workers, WAITING * workers if waiting is None else waiting, SPARE)
        self.seconds = seconds

    async def run(self, work: Callable[[], Found]) -> Found:
        """What `work` gives; raises Busy at once, or Late when it takes too long."""
        begin, future = time.monotonic(), self.pool.submit(work)
        answer = asyncio.wrap_future(future)
        try:
            done, _ = await asyncio.wait([answer], timeout=self.seconds)
        except asyncio.CancelledError:
            self.pool.abandon(future)
            raise
        try:
            if done:
                return answer.result()
            self.pool.abandon(future)
            answer.cancel()
            raise Late(1.0 if (left := seconds_left()) is None and compiled_since(begin) else left)
        finally:
            del answer, done, future  # an error refers to this frame: without a cycle the request is freed at once
