"""Doing the jobs of a paper, on all cores, those that are not in its ledger yet.

A plan is a function of the ledger: which jobs are wanted, given what has been found. It is asked again after each job,
so that it can go on from what it sees (another C beside the best one, a test of what dev data chose). When it wants
nothing new, the work is done. Every job is a process's own, on one core; results do not depend on their number.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

from structron.experiments.frame.ledger import Figures, Job, Ledger
from structron.runtime.progress import say

Plan = Callable[[], Iterable[Job]]


def do(work: str, data: Path | None, options: dict[str, Any]) -> tuple[Figures, float]:
    """Do a job; returns its figures and the processor's seconds."""
    module, _, name = work.partition(":")
    function, begin = getattr(import_module(f"structron.experiments.{module}"), name), time.process_time()
    return function(data, **options), time.process_time() - begin


class Here(Executor):
    """Does a job at once, in this process."""

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def workers(jobs: int) -> Iterator[Executor]:
    """Processes that work side by side. What is left undone when something goes wrong is not waited for."""
    if jobs == 1:
        yield Here()
        return
    pool = ProcessPoolExecutor(jobs, get_context("spawn"))
    try:
        yield pool
    except BaseException:
        for process in list(pool._processes.values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def work_off(plan: Plan, ledger: Ledger, data: Path | None, jobs: int | None = None) -> None:
    """Do what the plan wants and the ledger lacks; each trial is in the file as soon as it is finished."""
    jobs = jobs or os.cpu_count() or 1
    running: dict[Future, Job] = {}
    waiting = _missing(plan, ledger, running)
    done, all_of_them = 0, len(waiting)
    if waiting and ledger.trials:
        say(f"going on: {len(ledger.trials)} trials are in {ledger.path}")
    with workers(jobs) as pool:
        while waiting or running:
            while waiting and len(running) < jobs:
                job = waiting.pop(0)
                running[pool.submit(do, job.work, data, dict(job.options))] = job
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                trial = ledger.enter(job, *future.result())
                done += 1
                waiting = _missing(plan, ledger, running)
                all_of_them = max(all_of_them, done + len(running) + len(waiting))
                left = time_left([*running.values(), *waiting], ledger) / jobs
                shown = "".join(
                    f", {name} {trial[name]:.2f}" for name in ("dev", "test") if _is_score(trial.figures, name)
                )
                say(f"[{done} of {all_of_them}, about {_minutes(left)} left] {job}{shown} ({trial.seconds:.0f} s)")


def _missing(plan: Plan, ledger: Ledger, running: dict[Future, Job]) -> list[Job]:
    busy = {job.key for job in running.values()}
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
