"""Processes that are timed one by one, and what becomes of their numbers.

The driver that calls this must stay small: Linux counts a parent's memory at the fork as the child's, so a driver that
imported numpy would hide the peak of a small child.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
UNCHECKED = {"STRUCTRON_CHECK": "0"}
"""Checking that every update is a violation is for tests; it would be timed with the rest."""
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
MEGABYTE = 1e6


class Failed(Exception):
    """A child process that did not do its work."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one whole process cost, and what it printed."""

    wall: float
    cpu: float
    peak_mb: float
    output: str
    errors: str

    def cost(self) -> dict[str, float]:
        return {"wall": round(self.wall, 4), "cpu": round(self.cpu, 4), "peak_mb": round(self.peak_mb, 1)}


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def pinned(wanted: bool) -> Iterator[None]:
    """Keep what is started meanwhile on one core, so that neither side gains from a second one."""
    if not wanted or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run(command: Sequence[str | Path], pin: bool = True, **environment: str) -> Run:
    """Run a command to its end in a process of its own, with further variables of the environment."""
    arguments = [str(part) for part in command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, pinned(pin):
        begin = time.perf_counter()
        variables = os.environ | ONE_THREAD | UNCHECKED | environment
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=ROOT, env=variables)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        printed, errors = out.read().decode(), err.read().decode(errors="replace")
    if process.returncode != 0:
        raise Failed(f"{' '.join(arguments)}: exit status {process.returncode}\n{errors.strip()}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * MAXRSS_BYTES / MEGABYTE, printed, errors)


def our_command(arguments: Sequence[str | Path]) -> list[str | Path]:
    """Our command, the one that belongs to this Python."""
    script = shutil.which("structron", path=str(Path(sys.executable).parent))
    return [*([script] if script else [sys.executable, "-m", "structron"]), *arguments]


def compiled(done: Run) -> bool:
    """Whether a command of ours says that it had to compile."""
    return "compiling" in done.errors


def structron(*arguments: str | Path) -> Run:
    """Run our command; once more if it had to compile, since kernels are warm."""
    command = our_command(arguments)
    done = run(command)
    return run(command) if compiled(done) else done


def cold(cache: Path, *arguments: str | Path) -> Run:
    """Run our command with an empty cache of kernels: what a user waits for the first time."""
    return run(our_command(arguments), NUMBA_CACHE_DIR=str(cache))


def numba_alone() -> Run:
    """What every start of ours has to wait for."""
    return run([sys.executable, "-c", "import numba"])


def run_python(*arguments: str | Path, pin: bool = True, source: Path | None = None) -> Run:
    """Run this Python; source: the tree of another release of ours, whose package is imported instead."""
    paths = {} if source is None else {"PYTHONPATH": str(source / "src")}
    return run([sys.executable, *arguments], pin, **paths)


def child(
    name: str, pin: bool = True, module: str = "child", source: Path | None = None, **options: Any
) -> tuple[dict[str, Any], Run]:
    """Run a function of `child.py`, or of another module, in a process of its own: its result, and what it cost."""
    given = json.dumps(options, default=str)
    done = run_python("-m", f"benchmarks.{module}", name, given, pin=pin, source=source)
    return json.loads(done.output), done


def alternate(sides: dict[str, Callable[[], Any]], repeat: int, say: Callable[[str], None]) -> dict[str, list]:
    """Run every side in turn, so many times: what slows the machine down for a while slows down all of them."""
    results: dict[str, list] = {name: [] for name in sides}
    for number in range(1, repeat + 1):
        for name, work in sides.items():
            say(f"{name}, {number} of {repeat}")
            results[name].append(work())
    return results


def mid(values: Sequence[float]) -> float:
    return float(median(values))


LESS, MORE, SHARE, BEYOND = "peer ÷ ours", "ours ÷ peer", "ours ÷ peer, at most", "ours - peer"
"""How a ratio is formed: of costs and of gains so that more is better for us, or ours as a share of the peer's; of
scores that are to be equal within a margin, the difference."""
FORMED: dict[str, Callable[[float, float], float]] = {
    LESS: lambda theirs, ours: theirs / ours,
    MORE: lambda theirs, ours: ours / theirs,
    SHARE: lambda theirs, ours: ours / theirs,
    BEYOND: lambda theirs, ours: ours - theirs,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: one quantity on both sides, repetition by repetition.

    The ratio is the median of the ratios of neighbours in time, not the ratio of the medians: a machine that is slow
    for a while then spoils a few pairs instead of one side. required: of the ratio; None where a row only informs.
    """

    key: str
    title: str
    unit: str
    peer: str
    theirs: Sequence[float]
    ours: Sequence[float]
    ratio_is: str
    required: float | None = None

    @property
    def ratios(self) -> list[float]:
        form = FORMED[self.ratio_is]
        return [form(theirs, ours) for theirs, ours in zip(self.theirs, self.ours, strict=True)]

    @property
    def ratio(self) -> float:
        return mid(self.ratios)

    @property
    def met(self) -> bool | None:
        if self.required is None:
            return None
        return self.ratio <= self.required if self.ratio_is == SHARE else self.ratio >= self.required

    @property
    def demand(self) -> str:
        if self.required is None:
            return ""
        return f"{'≤' if self.ratio_is == SHARE else '≥'} {self.required:g}"

    @property
    def spread(self) -> str:
        return f"{min(self.ratios):.2f} … {max(self.ratios):.2f}" if len(self.ratios) > 1 else ""

    @property
    def ratio_text(self) -> str:
        return f"{self.ratio:{'+' if self.ratio_is == BEYOND else ''}.2f}"

    def as_dict(self) -> dict[str, Any]:
        """With medians in place of the repetitions, which are kept beside them."""
        single = {"all_theirs": list(self.theirs), "all_ours": list(self.ours), "ratios": self.ratios}
        found = {"theirs": mid(self.theirs), "ours": mid(self.ours), "ratio": self.ratio, "met": self.met}
        return asdict(self) | found | single


def number(value: float) -> str:
    """Four digits that count, and never an exponent."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def table(rows: Sequence[Row]) -> str:
    """The rows in columns, for a terminal or a file."""
    words = {None: "", True: "yes", False: "NO"}
    lines = [("measure", "unit", "peer", "peer's", "ours", "ratio", "from … to", "required", "met")]
    for row in rows:
        figures = (number(mid(row.theirs)), number(mid(row.ours)), row.ratio_text, row.spread)
        lines.append((row.title, row.unit, row.peer, *figures, row.demand, words[row.met]))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join(_line(cells, widths) for cells in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Words to the left, figures to the right."""
    words = [cell.ljust(width) for cell, width in zip(cells[:3], widths[:3], strict=True)]
    figures = [cell.rjust(width) for cell, width in zip(cells[3:], widths[3:], strict=True)]
    return "  ".join([*words, *figures]).rstrip()
