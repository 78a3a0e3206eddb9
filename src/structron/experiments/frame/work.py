"""Doing the jobs of a paper, on all cores, those that are not in its ledger yet.

A plan is a function of the ledger: which jobs are wanted, given what has been found. It is asked again after each job,
so that it can go on from what it sees (another C beside the best one, a test of what dev data chose). When it wants
nothing new, the work is done. Every job is a process's own, on one core; results do not depend on their number.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Any

from structron.experiments.frame.ledger import Figures, Job, Ledger
from structron.runtime.processes import ProcessPool, WorkerPool, as_done
from structron.runtime.progress import say

Plan = Callable[[], Iterable[Job]]


def do(data: Path | None, job: Job) -> tuple[Figures, float]:
    """Do a job; returns its figures and the processor's seconds."""
    module, _, name = job.work.partition(":")
    function, begin = getattr(import_module(f"structron.experiments.{module}"), name), time.process_time()
    return function(data, **dict(job.options)), time.process_time() - begin


def worker(data: Path | None) -> Callable[[Job], tuple[Figures, float]]:
    """What does jobs, wherever it is."""
    return partial(do, data)


class Here:
    """A worker that is this process (see `WorkerPool`): does a job at once."""

    size = 1

    def __init__(self, work: Callable[[Job], Any]):
        self.work = work

    def call(self, worker: int, *given: Any) -> Future:
        future: Future = Future()
        future.set_result(self.work(*given))
        return future

    def close(self) -> None:
        return


def work_off(plan: Plan, ledger: Ledger, data: Path | None, jobs: int | None = None) -> None:
    """Do what the plan wants and the ledger lacks; each trial is in the file as soon as it is finished."""
    jobs = jobs or os.cpu_count() or 1
    waiting = deque(_missing(plan, ledger, []))
    wanted = list(waiting)  # also those that are being done
    done, all_of_them = 0, len(waiting)
    if waiting and ledger.trials:
        say(f"going on: {len(ledger.trials)} trials are in {ledger.path}")
    pool: WorkerPool = Here(worker(data)) if jobs == 1 else ProcessPool(partial(worker, data), jobs)
    with closing(pool):
        for job, future in as_done(pool, waiting):
            trial = ledger.enter(job, *future.result())
            done += 1
            running = [job for job in wanted if job not in waiting and job not in ledger]
            waiting.clear()
            waiting.extend(_missing(plan, ledger, running))
            wanted = [*running, *waiting]
            all_of_them = max(all_of_them, done + len(wanted))
            seconds = time_left(wanted, ledger) / jobs
            shown = "".join(f", {name} {trial[name]:.2f}" for name in ("dev", "test") if _is_score(trial.figures, name))
            say(f"[{done} of {all_of_them}, about {_minutes(seconds)} left] {job}{shown} ({trial.seconds:.0f} s)")


def _missing(plan: Plan, ledger: Ledger, running: Iterable[Job]) -> list[Job]:
    busy = {job.key for job in running}
    wanted = {job.key: job for job in plan() if job not in ledger and job.key not in busy}
    return list(wanted.values())


def time_left(jobs: Iterable[Job], ledger: Ledger) -> float:
    """Seconds of a processor: what trials of the same work took in the mean, or what the plan says of them."""
    known: dict[str, list[float]] = {}
    for trial in ledger:
        known.setdefault(trial.work, []).append(trial.seconds)
    return sum(mean(known[job.work]) if job.work in known else job.cost for job in jobs)


def _is_score(figures: Figures, name: str) -> bool:
    return isinstance(figures.get(name), int | float)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
