"""What the parts of the torture share: what was found, and commands in processes of their own."""

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import structron

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
MOST_SECONDS, MOST_BYTES = 5.0, 1 << 30
"""Of processor time and memory, for a trial."""
SOURCE = str(Path(structron.__file__).parent.parent)


@dataclass(slots=True)
class Found:
    """What became of the trials of a part: how many ended in which way, and each that should not have."""

    counts: Counter = field(default_factory=Counter)
    compared: Counter = field(default_factory=Counter)  # what else was looked at, beside the trials
    failures: list[str] = field(default_factory=list)

    def add(self, outcome: str, failure: str | None = None) -> None:
        """One more trial; `failure`: what was wrong with it."""
        self.counts[outcome if failure is None else "failed"] += 1
        if failure is not None:
            self.failures.append(failure)

    @classmethod
    def of(cls, outcomes: Iterable[str]) -> "Found":
        """Outcomes as texts: what became of it, before a colon; those that begin with "failed" should not be."""
        found = cls()
        for outcome in outcomes:
            found.add(outcome.partition(":")[0], outcome if outcome.startswith("failed") else None)
        return found

    def __iadd__(self, other: "Found") -> "Found":
        self.counts += other.counts
        self.compared += other.compared
        self.failures += other.failures
        return self

    @property
    def trials(self) -> int:
        return sum(self.counts.values())

    def to_json(self) -> dict:
        return {"counts": self.counts, "compared": self.compared, "failures": self.failures}

    @classmethod
    def from_json(cls, known: dict) -> "Found":
        return cls(Counter(known["counts"]), Counter(known["compared"]), list(known["failures"]))


@dataclass(frozen=True, slots=True)
class Job:
    """Some trials of a part; its name says which, so that the ledger knows them again."""

    name: str
    run: Callable[[], Found]


def chunks(first: int, count: int, size: int) -> Iterator[tuple[int, int]]:
    """The numbers first … first + count - 1 in ranges of so many: (first, last + 1)."""
    for begin in range(first, first + count, size):
        yield begin, min(begin + size, first + count)


def tried(module: str, *given: object, first: int, last: int, patience: float) -> list[str]:
    """What became of trials first … last - 1 in processes of their own: `python -m torture.<module> <given> <first>
    <last>` prints [number, ""] before a trial and [number, outcome] after it. One that dies goes on behind its last."""
    outcomes: list[str] = []
    while first < last:
        argv = [sys.executable, "-m", f"torture.{module}", *map(str, given), str(first), str(last)]
        try:
            done = subprocess.run(
                argv, env=environment(), capture_output=True, text=True, check=False, timeout=patience
            )
            out, status, errors = done.stdout, done.returncode, done.stderr
        except subprocess.TimeoutExpired as hung:
            out, status, errors = (hung.stdout or b"").decode(), -1, "it hung"
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("[")]
        outcomes += [outcome for _, outcome in lines if outcome]
        if status == 0:
            break
        first = max((number for number, _ in lines), default=first)
        outcomes.append(f"failed: {' '.join(argv[3:])}: {first}: the process ended with {status}: {errors[-400:]}")
        first += 1
    return outcomes


def found_by(module: str, *given: object, patience: float) -> Found:
    """What a process of its own found: `python -m torture.<module> <given>`, which says so with `print_found`."""
    argv = [sys.executable, "-m", f"torture.{module}", *map(str, given)]
    found = Found()
    try:
        done = subprocess.run(argv, env=environment(), capture_output=True, text=True, check=False, timeout=patience)
        out, status, errors = done.stdout, done.returncode, done.stderr
    except subprocess.TimeoutExpired as hung:
        out, status, errors = (hung.stdout or b"").decode(), -1, "it hung"
    for line in out.splitlines():
        if line.startswith("{"):
            found += Found.from_json(json.loads(line))
    if status:
        found.add("", f"failed: {' '.join(argv[3:])}: the process ended with {status}: {errors[-400:]}")
    return found


def print_found(found: Found) -> None:
    """In a child: tell all at once."""
    print(json.dumps(found.to_json()), flush=True)


def print_trials(numbers: Iterable[int], attempt: Callable[[int], str]) -> None:
    """In a child: try, and tell."""
    for number in numbers:
        print(json.dumps([number, ""]), flush=True)
        print(json.dumps([number, attempt(number)]), flush=True)


def limited(name: str, attempt: Callable[[int], str], number: int) -> str:
    """An attempt within time and memory; the largest that a process ever was is all that the system tells.

    One that takes too long is tried again: the first time may be the compiler's, or that of a machine that stood.
    """
    before, seconds, tries, found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, MOST_SECONDS + 1, 0, ""
    while seconds > MOST_SECONDS and tries < 3:
        begin, tries = time.process_time(), tries + 1
        found = attempt(number)
        seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if peak > before and peak * 1024 > MOST_BYTES:
        return f"failed: {name}: seed {number}: {peak // 1024} MB ({found})"
    if seconds > MOST_SECONDS and not found.startswith("failed"):
        return f"failed: {name}: seed {number}: {seconds:.1f} s ({found})"
    return found


def environment(**more: str) -> dict[str, str]:
    """Variables of a process that imports the structron of these tests."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, str(Path(__file__).parent.parent)]), **more}


def command(*argv: object) -> list[str]:
    """A command line of structron."""
    return [sys.executable, "-m", "structron", *map(str, argv)]


def start(*argv: object, **options) -> subprocess.Popen:
    """A command of structron, under way; its streams are pipes unless options say otherwise."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command(*argv), **{"env": environment(), **streams, **options})


def without_privileges() -> None:
    """Let permissions hold for this process, though it may be root's: to be called before a program begins."""
    if os.getuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
