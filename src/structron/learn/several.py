"""What is built around a learner: shards of its data, runs in different orders, a start from the mean of short runs.

    learner ──Shards──▶ ──Committee──▶ the learner that learn/loop drives

A single run over all of the data needs none of this, and does not import it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from structron.errors import StructronError
from structron.learn.bpm import bpm_start
from structron.learn.committee import Committee
from structron.learn.shards import ShardRunner, Shards, ThreadRunner


def wrap(learner: Any, options: Any, runs: int) -> Any:
    """The learner, its shards, or the runs of either; where shards fill all threads, runs follow one another."""
    shards, jobs = options.shards, options.jobs
    together = 1 if shards >= jobs else jobs
    if shards > 1:
        learner = Shards(learner, shards, options.mix, _runner(options, jobs // min(jobs, runs, together), runs))
    return learner if runs == 1 else Committee(learner, runs, together)


def _runner(options: Any, jobs: int, runs: int) -> Callable[[Any], ShardRunner]:
    """Who learns the shards: threads of this process, or workers of a cluster."""
    if options.ray is None:
        return partial(ThreadRunner, jobs=min(jobs, options.shards))
    from structron.learn.cluster import ClusterRunner

    return partial(ClusterRunner, shards=options.shards, address=options.ray, cpus=1 / runs)


def start_from_runs(learner: Any, runs: int, seed: int) -> None:
    """BPM initialisation of a learner, or of each in a committee."""
    for number, member in enumerate(getattr(learner, "members", [learner])):
        bpm_start(member, runs, seed + number)


def connect_cluster(address: Any, shards: int) -> None:
    """Connect to the cluster that is to learn the shards, before any data are looked at."""
    from structron.runtime.cluster import connect

    if not isinstance(address, str) or not address:
        raise StructronError(f"ray: {address!r}; expected auto, or the host:port of a running cluster")
    if shards == 1:
        raise StructronError(
            f"ray: {address} with shards 1; expected two or more shards, one for each worker (--shards N)"
        )
    connect(address)
