"""How long every kernel takes to compile, for the estimates that users see: `python -m benchmarks.kernels [TASK …]`.

Every task is trained and used in a process of its own, whose cache is empty. All of them take some minutes; what is
known of other tasks stays.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from structron import compiling
from structron.cli import precompile
from structron.cli.show.kernels import FILE
from structron.tasks.registry import TRAINABLE

LEAST = 0.05
"""Seconds below which a kernel is not worth a line."""


class Stopwatch(compiling.Compiling):
    """Notes how long every kernel takes by itself, and shows nothing."""

    clock = staticmethod(time.thread_time)

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, float] = {}

    def end(self) -> None:
        kernel, before = self.stack[-1][0], self.estimate.spent
        super().end()
        self.found[kernel] = self.found.get(kernel, 0.0) + self.estimate.spent - before

    def _appear(self) -> None:
        pass


def _measure(task: str) -> dict[str, float]:
    """What this process compiles to train a tiny model and to use it; processor time, since others may be at work."""
    with Stopwatch() as watch:
        precompile.run([task])
    return {name: round(value, 2) for name, value in sorted(watch.found.items()) if value >= LEAST}


def _apart(task: str) -> dict[str, float]:
    """The same in a process whose cache is empty."""
    with tempfile.TemporaryDirectory() as empty:
        command = [sys.executable, "-m", "benchmarks.kernels", "--child", task]
        environment = {**os.environ, "NUMBA_CACHE_DIR": empty}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(tasks: list[str]) -> None:
    """Measure tasks and write what was found beside what is known of the others."""
    known = dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.exists() else {}
    for task in tasks or TRAINABLE:
        known[task] = _apart(task)
        print(task, round(sum(known[task].values())), "s", flush=True)
        FILE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(_measure(sys.argv[2])))
    else:
        main(sys.argv[1:])
