"""Mistakes in a problem of one's own (planted.py), as it is compiled by default and under `debug=True`: each ends with
a message that names function, line and cause, never with a crash or a hang. A trial is a mistake in one of the two
ways; all are tried, or the first so many.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from structron.errors import StructronError
from torture.frame import Found, Job, chunks, environment
from torture.planted import MISTAKES

DEBUG = ", debug"
"""At the end of a trial's name."""
TRIALS = [f"{name}{way}" for way in ("", DEBUG) for name in MISTAKES]
FULL = len(TRIALS)
PART = 10
PATIENCE = 300
"""Seconds for a mistake, compiling included."""


def jobs(trials: int, seed: int, folder: Path) -> Iterator[Job]:
    """The first so many mistakes."""
    names = TRIALS[:trials]
    for begin, end in chunks(0, len(names), PART):
        yield Job(f"mistakes {begin}–{end - 1} of {FULL}", partial(run, names[begin:end], folder))


def run(names: list[str], folder: Path) -> Found:
    """Some mistakes, in processes that may crash."""
    found = Found()
    while names:
        done = 0
        for name, said in _tried(names, folder):
            found.add("named", wrong(name, said))
            done += 1
        if done < len(names):
            found.add("failed", f"{names[done]}: the process crashed or hung")
            done += 1
        names = names[done:]
    return found


def _tried(names: list[str], folder: Path) -> Iterator[tuple[str, str]]:
    """What was said to each mistake, as long as the process lives."""
    process = subprocess.Popen(
        [sys.executable, "-m", "torture.mistakes", *names],
        env=environment(NUMBA_CACHE_DIR=str(folder)) if folder.name == "own-cache" else environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        out, _ = process.communicate(timeout=PATIENCE * len(names))
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
    for line in out.splitlines():
        if line.startswith("["):
            name, said = json.loads(line)
            yield name, said


def message(name: str) -> str:
    """What a mistake ends with."""
    try:
        MISTAKES[name.removesuffix(DEBUG)].make(debug=name.endswith(DEBUG))
    except StructronError as error:
        return str(error)
    except BaseException as error:
        return f"! {type(error).__name__}: {error}"
    return "! nothing"


def wrong(name: str, said: str) -> str | None:
    """What is wrong with a message, if anything."""
    mistake = MISTAKES[name.removesuffix(DEBUG)]
    placed = mistake.plant is None or re.search(r"line \d+", said)
    if said.startswith("!") or mistake.what not in said or mistake.says not in said or "\n" in said or not placed:
        return f"{name}: {said}"
    return None


if __name__ == "__main__":
    for own in sys.argv[1:]:
        print(json.dumps([own, message(own)]), flush=True)
