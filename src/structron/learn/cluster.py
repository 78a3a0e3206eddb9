"""Shards on a Ray cluster: a worker holds its shard, encoded, and a learner; the driver holds the common weights.

    driver: common ──broadcast: weights that the last mix changed──▶ worker s: common' ──copy──▶ member ──learn──┐
              ▲                                                                                                  │
              └──mix, in the order of the shards ◀── update: what it has changed ◀───────────────────────────────┘

A worker that dies is replaced: the new one gets its shard and all common weights, and repeats the pass, so that the
result is the same to the bit. Ray is imported when it is asked for.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Event
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.io.tensors import Tensors
from structron.learn.loop import WIRE, ShardUpdate
from structron.learn.shards import ShardRunner, learn_part
from structron.learn.wire import Parcel, moved, pack_broadcast, pack_update, unpack
from structron.runtime.cluster import RayPool, connect
from structron.runtime.interrupts import first_done, outcome
from structron.runtime.processes import WorkerDied
from structron.runtime.threads import cores, for_each

LIVES = 5
"""Workers that a shard may lose in one pass."""


class ShardLearner:
    """What runs on the cluster: one shard and its learner."""

    def __init__(self, sent: bytes):
        import ray

        self.member = ray.cloudpickle.loads(sent)
        self.common = self.member.fresh_copy()

    def __call__(self, sequence: np.ndarray, state: Tensors | None, broadcast: Parcel | None) -> Parcel:
        """One pass over the shard from the common weights: all of them, or those that have changed, or as they are."""
        if state is not None:
            self.common.restore({name: array.copy() for name, array in state.items()})
        if broadcast is not None:
            self.common.take(unpack(broadcast))
        return pack_update(learn_part(self.member, self.common, sequence.copy(), Event()))


class ClusterRunner(ShardRunner):
    """Learns shards on the workers of a cluster (see learn/shards.py)."""

    def __init__(self, common: Any, shards: int, address: str, cpus: float = 1.0):
        """cpus: of a worker."""
        self.common, self.shards, self.cpus = common, shards, cpus
        self.ray = connect(address)
        have = int(self.ray.cluster_resources().get("CPU", 0))
        if have < shards:
            raise StructronError(
                f"ray: {shards} shards need a CPU each, but the cluster has {have}; expected shards "
                f"{max(have, 1)}, or more machines"
            )
        self.pool: RayPool | None = None
        self.mixes = 0
        self.known: list[int | None] = [None] * shards  # the mixes that each worker's common weights have seen
        self.broadcast: Any = None
        self.broadcast_size = 0
        self.figures = dict.fromkeys(WIRE, 0)

    def _begin(self) -> RayPool:
        """A worker for each shard, which is sent once."""
        dumps, put = self.ray.cloudpickle.dumps, self.ray.put
        examples = np.arange(self.common.examples)
        sent = [(put(dumps(self.common.part(examples[s :: self.shards]))),) for s in range(self.shards)]
        self.pool = RayPool(self.ray, ShardLearner, sent, self.cpus)
        self.pool.start(range(self.shards))
        return self.pool

    def close(self) -> None:
        """Let the workers go."""
        if self.pool is not None:
            self.pool.close()
            self.pool = None

    # -- a pass --------------------------------------------------------------------------------------------------------

    def begin_pass(self) -> None:
        self.figures = dict.fromkeys(WIRE, 0)

    def learn(self, parts: Sequence[np.ndarray], shard_updates: list[ShardUpdate]) -> None:
        """Append the updates of all shards."""
        pool = self.pool or self._begin()
        parcels: dict[int, Parcel] = {}
        lives, state = [LIVES] * self.shards, None
        running: dict[Future[Parcel], int] = {}
        waiting = list(range(self.shards))
        while running or waiting:
            for s in waiting:
                if self.known[s] not in (self.mixes, self.mixes - 1) and state is None:
                    state = self.ray.put(self.common.state())
                running[self._submit(pool, s, parts[s], state)] = s
            waiting = []
            for future in first_done(running):
                s = running.pop(future)
                try:
                    parcels[s] = outcome(future)
                except WorkerDied as death:
                    lives[s] -= 1
                    if not lives[s]:
                        raise StructronError(
                            f"ray: the worker of shard {s + 1} of {self.shards} died {LIVES} times in one pass "
                            f"({death}); expected machines with enough memory for a shard and all weights"
                        ) from None
                    self.known[s] = None
                    waiting.append(s)
                except StructronError:
                    raise
                except Exception as error:
                    raise StructronError(f"ray: shard {s + 1} of {self.shards}: {error}") from None
        self.figures["bytes_from_workers"] += sum(parcel.size for parcel in parcels.values())
        self.figures["changed"] += sum(parcel.changed for parcel in parcels.values())
        shard_updates += for_each(unpack, [parcels[s] for s in range(self.shards)], cores())

    def _submit(self, pool: RayPool, s: int, part: np.ndarray, state: Any) -> "Future[Parcel]":
        """Send a worker what it needs for the pass: all weights, the last broadcast, or nothing."""
        known, self.known[s] = self.known[s], self.mixes
        sequence = part // self.shards
        if known == self.mixes:
            return pool.call(s, sequence, None, None)
        if known == self.mixes - 1:
            self.figures["bytes_to_workers"] += self.broadcast_size
            return pool.call(s, sequence, None, self.broadcast)
        return pool.call(s, sequence, state, None)

    def mix(self, shard_updates: Sequence[ShardUpdate], shares: Sequence[float], by_change: bool) -> None:
        """Mix on the driver, and prepare the broadcast for the next pass."""
        before = self.common.fresh_copy()
        before.copy_weights_from(self.common)
        self.common.mix(shard_updates, shares, by_change, cores())
        update = self.common.shard_update(before)
        parcel = pack_broadcast(update._replace(changes=moved(update.changes)), cores())
        self.broadcast_size, self.broadcast = parcel.size, self.ray.put(parcel)
        self.mixes += 1
        self.figures["changed_in_all"] += parcel.changed
