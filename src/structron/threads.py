"""Work in stretches, on one thread or several."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from structron.errors import StructronError

BATCH_TOKENS = 20_000


def stretches(starts: np.ndarray) -> list[tuple[int, int]]:
    """Cut sentences into stretches (lo, hi) of about BATCH_TOKENS tokens."""
    found, lo = [], 0
    while lo < len(starts) - 1:
        hi = int(np.searchsorted(starts, starts[lo] + BATCH_TOKENS, "right")) - 1
        hi = min(max(hi, lo + 1), len(starts) - 1)
        found.append((lo, hi))
        lo = hi
    return found


def for_each(run: Callable[[tuple[int, int]], None], work: Sequence[tuple[int, int]], jobs: int) -> None:
    """Run `run` on every stretch, on one thread or several: kernels release the lock. The first error is raised."""
    if jobs < 1:
        raise StructronError(f"jobs: {jobs}; expected at least 1")
    if jobs == 1 or len(work) < 2:
        for stretch in work:
            run(stretch)
        return
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(run, work):
            pass
