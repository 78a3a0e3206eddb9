"""Work in stretches, on one thread or several, and without the garbage collector where it would find nothing."""

import contextlib
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from structron.errors import StructronError

BATCH_TOKENS = 20_000
Found = TypeVar("Found")


def cores() -> int:
    """How many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def stretches(starts: np.ndarray) -> list[tuple[int, int]]:
    """Cut sentences into stretches (lo, hi) of about BATCH_TOKENS tokens."""
    found, lo = [], 0
    while lo < len(starts) - 1:
        hi = int(np.searchsorted(starts, starts[lo] + BATCH_TOKENS, "right")) - 1
        hi = min(max(hi, lo + 1), len(starts) - 1)
        found.append((lo, hi))
        lo = hi
    return found


def for_each(run: Callable[[tuple[int, int]], Found], work: Sequence[tuple[int, int]], jobs: int) -> list[Found]:
    """What `run` makes of every stretch, on one thread or several: kernels release the lock. An error is raised."""
    if jobs < 1:
        raise StructronError(f"jobs: {jobs}; expected at least 1")
    if jobs == 1 or len(work) < 2:
        return [run(stretch) for stretch in work]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(run, work))


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
