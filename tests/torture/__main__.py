"""`PYTHONPATH=tests python -m torture [PART …]`: a line for each part, status 1: something failed.

Every job that is done is written down in a ledger: a run that was interrupted goes on where it was, and what failed is
tried again. --report FILE.md adds a line for each part to FILE.jsonl, and makes a table of all that stands there.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import import_module
from pathlib import Path

from structron.runtime.threads import cores
from torture.frame import Found, Job
from torture.ledger import Ledger, listed, merged, read_lines, report

PARTS = ("mistakes", "faults", "guided", "server", "models", "inputs", "writes", "kills")
"""Modules of this folder; what takes longest comes last."""
FOLDER = Path(__file__).parents[2] / "build" / "torture"
"""Of the ledger, and of kernels that check every index: no tracked files."""


def jobs_of(name: str, trials: int | None, seed: int, folder: Path) -> list[Job]:
    """The jobs of a part."""
    part = import_module(f"torture.{name}")
    return list(part.jobs(trials or part.FULL, seed, folder))


def run(name: str, jobs: Iterable[Job], ledger: Ledger, threads: int, seed: int) -> Found:
    """Do the jobs that the ledger does not have; returns what all of them found."""
    every, found = list(jobs), Found()
    waiting = [job for job in every if not ledger.has(job.name)]

    def timed(job: Job) -> tuple[Job, Found, float]:
        begin = time.monotonic()
        return job, job.run(), time.monotonic() - begin

    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(timed, job) for job in waiting]
        try:
            for done in as_completed(running):
                job, own, seconds = done.result()
                ledger.add(name, job.name, own, seconds, seed)
                for failure in own.failures:
                    print(f"  {failure}", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    for job in every:
        found += ledger.entries[job.name].found
    return found


def main(argv: list[str] | None = None) -> int:
    """Run all parts, or some."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--trials", type=int, help="as many of each part, not the full number")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=cores(), help="processes at a time; as many as cores by default")
    parser.add_argument("--ledger", type=Path, default=FOLDER / "ledger.jsonl", help=f"{FOLDER}/ledger.jsonl")
    parser.add_argument("--fresh", action="store_true", help="begin anew: forget the ledger")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a report here, run nothing")
    given = parser.parse_args(argv)
    if strange := set(given.parts) - set(PARTS):
        parser.error(f"unknown part {min(strange)!r}; expected some of: {', '.join(PARTS)}")
    if given.fresh:
        given.ledger.unlink(missing_ok=True)
    ledger, failed = Ledger(given.ledger), 0
    if given.report:
        kept = given.report.with_suffix(".jsonl")
        lines = merged(read_lines(kept), ledger.lines())
        kept.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        given.report.write_text(report(lines), "utf-8")
        return 0
    os.environ.setdefault("CHECKED_KERNELS", str(given.ledger.parent / "kernels"))
    for name in given.parts or PARTS:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"torture-{name}-") as folder:
            found = run(name, jobs_of(name, given.trials, given.seed, Path(folder)), ledger, given.jobs, given.seed)
        print(
            f"{name}: {found.trials} tried: {listed(found.counts, found.compared)}; {time.monotonic() - begin:.0f} s",
            flush=True,
        )
        failed += len(found.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
