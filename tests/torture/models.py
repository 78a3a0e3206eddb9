"""Model files that were tampered with and given valid checksums, of all tasks (tests/mutations.py): refused in a line,
or used, within 5 seconds of processor time and 1 GB. A tenth is tried in kernels that check every index.
"""

from pathlib import Path

from mutations import CHECKED, TASK_NAMES, UNCHECKED, make_model, outcomes
from torture.frame import Found

FULL = 10_000


def run(trials: int, seed: int, folder: Path) -> Found:
    """So many files, spread over all tasks."""
    found = Found()
    for task in TASK_NAMES:
        share = max(1, trials // len(TASK_NAMES))
        model, rows = make_model(task, folder)
        checked = share // 10
        for how, number, first in ((UNCHECKED, share - checked, seed * 100_000), (CHECKED, checked, seed * 200_000)):
            for outcome in outcomes(task, model, rows, number, first, how):
                failure = f"{task}: {outcome}" if outcome.startswith("failed") else None
                found.add(outcome.partition(":")[0], failure)
    return found
