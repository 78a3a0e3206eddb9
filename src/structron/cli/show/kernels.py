"""Which kernels a command will compile if none is in the cache, and for how long: measured, in `kernels.json`.

    needs("train", "tagger")        seconds by kernel

`python -m benchmarks.kernels [TASK …]` measures again. This only makes estimates better: a kernel that is not in the
file is counted when it comes.
"""

import json
from functools import cache
from pathlib import Path

from structron import compiling

FILE = Path(__file__).with_suffix(".json")
LEARNING = ("structron.update.", "structron.weights.", "structron.learn.", "structron.features.names.")
"""Where the kernels are that a finished model does not need."""


@cache
def _measured() -> dict[str, dict[str, float]]:
    """Seconds by kernel, of training each task."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def needs(what: str, task: str) -> dict[str, float]:
    """Seconds by kernel, to `train` a task or to `use` a model of it."""
    found = _measured().get(task, {})
    return {name: cost for name, cost in found.items() if what == "train" or not name.startswith(LEARNING)}


def expect(what: str, task: str) -> None:
    """Tell the display what a command is going to need."""
    compiling.expect(needs(what, task))


def seconds(what: str, task: str) -> float:
    """About how long all of it takes to compile."""
    return sum(needs(what, task).values())
