"""Model files that were tampered with and given valid checksums, of all tasks (tests/mutations.py): refused in a line,
or used, within 5 seconds of processor time and 1 GB. A tenth is tried in kernels that check every index.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutations import CHECKED, TASK_NAMES, UNCHECKED, make_model, outcomes
from structron.runtime.threads import cores
from torture.frame import Found

FULL = 10_000


def run(trials: int, seed: int, folder: Path) -> Found:
    """So many files, spread over all tasks."""
    share = max(1, trials // len(TASK_NAMES))
    checked = share // 10
    ways = ((UNCHECKED, share - checked, seed * 100_000), (CHECKED, checked, seed * 200_000))

    def of_task(task: str) -> list[str]:
        model, rows = make_model(task, folder)
        return [outcome for how, number, first in ways for outcome in outcomes(task, model, rows, number, first, how)]

    found = Found()
    with ThreadPoolExecutor(cores()) as pool:
        for task, listed in zip(TASK_NAMES, pool.map(of_task, TASK_NAMES), strict=True):
            for outcome in listed:
                failure = f"{task}: {outcome}" if outcome.startswith("failed") else None
                found.add(outcome.partition(":")[0], failure)
    return found
