"""How long every kernel takes to compile, for the estimates that users see: `python -m benchmarks.kernels [TASK …]`.

    seconds   every task is trained and used in one process with an empty cache (processor time)
    needs     every task is trained with its defaults, and used, in a process of its own, uncompiled

What is known of tasks that are not named stays.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from structron import compiling
from structron.cli import precompile
from structron.cli.show.kernels import FILE
from structron.tasks.registry import TRAINABLE

PACKAGE = Path(compiling.__file__).parent
LEAST = 0.05
"""Seconds below which a kernel is not worth a line."""
FEW = 8
"""Sentences that are learned from without compiling; a pipeline learns in five folds."""


class Stopwatch(compiling.Compiling):
    """Notes how long every kernel takes by itself, on the average if it is compiled more than once; shows nothing."""

    clock = staticmethod(time.thread_time)

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[float]] = {}

    def end(self) -> None:
        kernel, before = self.stack[-1][0], self.estimate.spent
        super().end()
        self.found.setdefault(kernel, []).append(self.estimate.spent - before)

    def _appear(self) -> None:
        pass


def _seconds(tasks: list[str]) -> dict[str, float]:
    """Seconds by kernel of all that this process compiles to train tiny models of tasks and to use them."""
    with Stopwatch() as watch:
        for task in tasks:
            precompile.run([task])
    means = {name: sum(spent) / len(spent) for name, spent in sorted(watch.found.items())}
    return {name: round(value, 2) for name, value in means.items() if value >= LEAST}


def _called(task: str) -> list[str]:
    """The functions of the package that are called, uncompiled, to train a tiny model with defaults and to use it."""
    found: set[Any] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            found.add((frame.f_globals.get("__name__", ""), frame.f_code.co_qualname))

    precompile.OTHERS.clear()
    precompile.SENTENCES = FEW
    with tempfile.TemporaryDirectory() as folder:
        threading.setprofile(note)
        sys.setprofile(note)
        precompile.train(task, Path(folder))
        precompile.use_model(Path(folder) / f"{task}.structron")
        sys.setprofile(None)
    return sorted(f"{module}.{name}" for module, name in found if module.startswith(compiling.PACKAGE))


def _apart(what: str, tasks: list[str], **environment: str) -> Any:
    """One of the two in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.kernels", what, *tasks]
    done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(tasks: list[str]) -> None:
    """Measure tasks and write what was found beside what is known of the others."""
    known = dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.exists() else {}
    with tempfile.TemporaryDirectory() as empty:  # kernels beside the package would be taken from there
        shutil.copytree(PACKAGE, Path(empty) / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__", "*.nb[ic]"))
        seconds = _apart("--seconds", tasks, PYTHONPATH=empty, NUMBA_CACHE_DIR=f"{empty}/cache")
    print("all", round(sum(seconds.values())), "s", flush=True)
    for task in tasks:
        called = _apart("--called", [task], NUMBA_DISABLE_JIT="1")
        known[task] = {name: seconds[name] for name in called if name in seconds}
        print(task, round(sum(known[task].values())), "s", flush=True)
    FILE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--seconds", *tasks]:
            print(json.dumps(_seconds(tasks)))
        case ["--called", task]:
            print(json.dumps(_called(task)))
        case tasks:
            main(tasks or list(TRAINABLE))
