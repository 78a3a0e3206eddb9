"""Model files that were tampered with and given valid checksums, of all tasks (tests/mutations.py): refused in a line,
or used, within 5 seconds of processor time and 1 GB. A tenth is tried in kernels that check every index.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from mutations import CHECKED, PART, TASK_NAMES, UNCHECKED, make_model, outcomes
from torture.frame import Found, Job, chunks

FULL = 100_000


def jobs(trials: int, seed: int, folder: Path) -> Iterator[Job]:
    """So many files, spread over all tasks, a task after the other in turn."""
    made = Models(folder)
    share = -(-trials // len(TASK_NAMES))
    checked = share // 10
    for how, number, first in ((UNCHECKED, share - checked, seed * 1_000_000), (CHECKED, checked, seed * 2_000_000)):
        for begin, end in chunks(first, number, PART):
            for task in TASK_NAMES:
                name = f"models {task} {how} {begin}–{end - 1}"
                yield Job(name, partial(made.tried, task, how, begin, end))


class Models:
    """A small model of each task, made when it is first wanted."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self.made: dict[str, tuple[Path, list]] = {}

    def tried(self, task: str, how: str, first: int, last: int) -> Found:
        """Some crafted files of a task."""
        with self.locks[task]:
            if task not in self.made:
                self.made[task] = make_model(task, self.folder)
        model, rows = self.made[task]
        listed = outcomes(task, model, rows, last - first, first, how)
        return Found.of(
            f"failed: {task} {how}: {own[8:]}" if own.startswith("failed") else f"{task}/{own}" for own in listed
        )
