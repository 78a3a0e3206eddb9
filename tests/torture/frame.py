"""What the parts of the torture share: what was found, and commands in processes of their own."""

import ctypes
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import structron

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
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

    @property
    def trials(self) -> int:
        return sum(self.counts.values())


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
