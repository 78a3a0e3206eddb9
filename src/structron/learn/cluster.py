"""Shards on a Ray cluster: a worker holds its shard, encoded, and a learner; the driver holds the common weights.

    driver: common ──news: weights that the last mix has changed──▶ worker s: common' ──follow──▶ member ──learn──┐
              ▲                                                                                                  │
              └──mix, in the order of the shards ◀── lesson: what it has changed ◀───────────────────────────────┘

A worker that dies is replaced: the new one gets its shard and all common weights, and repeats the pass, so that the
result is the same to the bit. Ray is imported when it is asked for.
"""

import time
from collections.abc import Sequence
from threading import Event
from typing import Any

import numpy as np

from structron._version import __version__
from structron.errors import StructronError
from structron.io.tensors import Tensors
from structron.learn.committee import Lesson
from structron.learn.shards import Crew, learn_part
from structron.learn.wire import Parcel, moved, pack_lesson, pack_news, unpack
from structron.runtime.cluster import connect
from structron.runtime.threads import cores, for_each

PAUSE = 2.0
"""Seconds before a worker is hired again that could not start."""
LIVES = 5
"""Workers that a shard may lose in one pass."""
PATIENCE = 120.0
"""Seconds that a worker may take to start."""


FIGURES = ("changed", "changed_in_all", "bytes_to_workers", "bytes_from_workers")
"""Of a pass: weights that shards have changed, one by one and all together, added up over its mixes; bytes that went
over the wire."""


class Worker:
    """What runs on the cluster: one shard and its learner."""

    def __init__(self, sent: bytes):
        import ray

        self.member = ray.cloudpickle.loads(sent)
        self.common = self.member.twin()

    def version(self) -> str:
        """That of the package."""
        return __version__

    def learn(self, sequence: np.ndarray, state: Tensors | None, news: Parcel | None) -> Parcel:
        """One pass over the shard from the common weights: all of them, or those that have changed, or as they are."""
        if state is not None:
            self.common.restore({name: array.copy() for name, array in state.items()})
        if news is not None:
            self.common.take(unpack(news))
        return pack_lesson(learn_part(self.member, self.common, sequence.copy(), Event()))


class Cluster(Crew):
    """Learns shards on the workers of a cluster: a crew of learn/shards.py."""

    def __init__(self, common: Any, shards: int, address: str, cpus: float = 1.0):
        """cpus: of a worker."""
        self.common, self.shards, self.cpus = common, shards, cpus
        self.ray = connect(address)
        have = int(self.ray.cluster_resources().get("CPU", 0))
        if have < shards:
            raise StructronError(
                f"ray: {shards} shards want a CPU each, and the cluster has {have}; expected shards {max(have, 1)}, "
                "or more machines"
            )
        self.workers: list[Any] = []
        self.mixes = 0
        self.known: list[int | None] = [None] * shards  # the mixes that each worker's common weights have seen
        self.news: Any = None
        self.news_size = 0
        self.figures = dict.fromkeys(FIGURES, 0)

    # -- workers -------------------------------------------------------------------------------------------------------

    def _hire_all(self) -> None:
        dumps, put = self.ray.cloudpickle.dumps, self.ray.put
        examples = np.arange(self.common.examples)
        self.sent = [put(dumps(self.common.part(examples[s :: self.shards]))) for s in range(self.shards)]
        self.kind = self.ray.remote(num_cpus=self.cpus, max_restarts=0)(Worker)
        self.workers = [self.kind.remote(sent) for sent in self.sent]
        begin = time.monotonic()
        for s in range(self.shards):
            self._greet(s, begin)

    def _hire(self, s: int) -> None:
        """A worker in place of one that has died; the cluster may not have noticed yet that a machine is gone."""
        begin = time.monotonic()
        for left in range(LIVES - 1, -1, -1):
            self.workers[s], self.known[s] = self.kind.remote(self.sent[s]), None
            try:
                self._greet(s, begin)
                return
            except StructronError:
                if not left or time.monotonic() > begin + PATIENCE:
                    raise
            time.sleep(PAUSE)

    def _greet(self, s: int, begin: float) -> None:
        """Wait for a worker to start."""
        answer = self.workers[s].version.remote()
        ready, _ = self.ray.wait([answer], timeout=max(1.0, begin + PATIENCE - time.monotonic()))
        if not ready:
            raise StructronError(
                f"ray: no worker for shard {s + 1} of {self.shards} after {PATIENCE:g} s; expected free CPUs: fewer "
                "shards, or other jobs ended"
            )
        try:
            version = self.ray.get(answer)
        except self.ray.exceptions.RayError as error:
            raise StructronError(
                f"ray: a worker cannot start ({_last_line(error)}); expected structron {__version__} on every machine "
                "of the cluster"
            ) from None
        if version != __version__:
            raise StructronError(f"ray: a worker has structron {version}; expected {__version__}, as here")

    def close(self) -> None:
        """Let the workers go."""
        for worker in self.workers:
            self.ray.kill(worker)
        self.workers = []

    # -- a pass --------------------------------------------------------------------------------------------------------

    def begin_pass(self) -> None:
        self.figures = dict.fromkeys(FIGURES, 0)

    def learn(self, parts: Sequence[np.ndarray], lessons: list[Lesson]) -> None:
        """Append the lessons of all shards."""
        if not self.workers:
            self._hire_all()
        errors = self.ray.exceptions
        deadly = (errors.RayActorError, errors.WorkerCrashedError, errors.ObjectLostError, errors.OutOfMemoryError)
        parcels: dict[int, Parcel] = {}
        lives, state = [LIVES] * self.shards, None
        running: dict[Any, int] = {}
        waiting = list(range(self.shards))
        while running or waiting:
            for s in waiting:
                if self.known[s] not in (self.mixes, self.mixes - 1) and state is None:
                    state = self.ray.put(self.common.state())
                running[self._submit(s, parts[s], state)] = s
            waiting = []
            done, _ = self.ray.wait(list(running), num_returns=1)
            s = running.pop(done[0])
            try:
                parcels[s] = self.ray.get(done[0])
            except deadly as error:
                lives[s] -= 1
                if not lives[s]:
                    raise StructronError(
                        f"ray: the worker of shard {s + 1} of {self.shards} died {LIVES} times in one pass "
                        f"({_last_line(error)}); expected machines with enough memory for a shard and all weights"
                    ) from None
                self._hire(s)
                waiting = [s]
            except errors.RayTaskError as error:
                raise StructronError(f"ray: shard {s + 1} of {self.shards}: {error.cause}") from None
        self.figures["bytes_from_workers"] += sum(parcel.size for parcel in parcels.values())
        self.figures["changed"] += sum(parcel.changed for parcel in parcels.values())
        lessons += for_each(unpack, [parcels[s] for s in range(self.shards)], cores())

    def _submit(self, s: int, part: np.ndarray, state: Any) -> Any:
        """Send a worker what it needs for the pass: all weights, the last news, or nothing."""
        behind = None if self.known[s] is None else self.mixes - int(self.known[s] or 0)
        self.known[s] = self.mixes
        sequence = part // self.shards
        if behind == 0:
            return self.workers[s].learn.remote(sequence, None, None)
        if behind == 1:
            self.figures["bytes_to_workers"] += self.news_size
            return self.workers[s].learn.remote(sequence, None, self.news)
        return self.workers[s].learn.remote(sequence, state, None)

    def mix(self, lessons: Sequence[Lesson], shares: Sequence[float], by_change: bool) -> None:
        """Mix on the driver, and prepare the news for the next pass."""
        before = self.common.twin()
        before.follow(self.common)
        self.common.mix(lessons, shares, by_change, cores())
        lesson = self.common.lesson(before)
        parcel = pack_news(lesson._replace(changes=moved(lesson.changes)), cores())
        self.news_size, self.news = parcel.size, self.ray.put(parcel)
        self.mixes += 1
        self.figures["changed_in_all"] += parcel.changed


def _last_line(error: Exception) -> str:
    """What an error of Ray comes down to."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if "Error:" in line]
    return (named or lines or [type(error).__name__])[-1][:200]
