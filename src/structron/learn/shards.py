"""Iterative parameter mixing (McDonald, Hall & Mann 2010, Figure 3): shards of the data as one learner.

    for each pass:
        for each shard s, side by side:     w_s ← one pass over the shard, from the common w on
        w ← Σ μ_s·w_s                       μ_s: the same for all, or by the shard's updates

Our own third way, `changes`, goes by those shards that have changed a weight (weights/mixing.py), and mixes more often
when most is learned: 2·S times in the first pass, half as often in every further one, until it is once. The paper's
proof covers neither, but many shards lose less (docs/scale.md): what one shard alone has met is not divided by all, and
none goes far on its own.

The weights for prediction are the mean over all steps of all shards. A shard is every S-th example, and learns them in
the order of the pass. So the result depends on the data, the seed and S, and not on where or when shards are learned.

    common ──copy_weights_from──▶ member ──learn──▶ ShardUpdate: what it has changed ──mix, in order──▶ common

There are as many members as threads, not as shards: each learns one shard after the other.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Event
from typing import Any, Protocol, Self

import numpy as np

from structron.errors import StructronError
from structron.io.tensors import Tensors
from structron.learn.committee import total
from structron.learn.loop import Learner, ShardUpdate
from structron.runtime.interrupts import Held, outcome
from structron.runtime.threads import ThreadPool

UNIFORM, ERRORS, CHANGES = "uniform", "errors", "changes"
TOGETHER = 8
"""Examples of a shard, at least, between two mixes of a pass."""
PASSES = "passes of shards"


def check_shards(shards: int, examples: int) -> None:
    """Refuse shards without an example."""
    if shards > examples:
        raise StructronError(f"shards: {shards}; the training data have {examples} examples; expected at most as many")


def deal(sequence: np.ndarray, shards: int) -> list[np.ndarray]:
    """The examples of each shard, in the order in which they stand in the sequence."""
    return [sequence[sequence % shards == s] for s in range(shards)]


def mixes_of(shards: int, number: int, examples: int) -> int:
    """How often weights are mixed in a pass (counted from 1) of `changes`."""
    return max(1, min(4 * shards >> number, examples // (shards * TOGETHER))) if shards > 1 else 1


def shares_of(shard_updates: Sequence[ShardUpdate], mix: str) -> list[float]:
    """μ: how much each shard counts."""
    updates = [update.counts["updates"] for update in shard_updates]
    if mix != ERRORS or not sum(updates):
        return [1 / len(shard_updates)] * len(shard_updates)
    return [count / sum(updates) for count in updates]


def learn_part(member: Any, common: Any, part: np.ndarray, stopped: Event) -> ShardUpdate:
    """One pass over a shard from the common weights on; an interruption ends it early."""
    member.copy_weights_from(common)
    place = 0
    while place < len(part) and not stopped.is_set():
        place = member.learn(part, place)
    return member.shard_update(common)


class ShardRunner(Protocol):
    """Those who learn the shards of a common learner."""

    figures: dict[str, int]
    """What a pass has cost, beside time."""

    def begin_pass(self) -> None:
        """A pass begins."""
        return

    def learn(self, parts: Sequence[np.ndarray], shard_updates: list[ShardUpdate]) -> None:
        """Append the updates of the next shards, of one at least."""

    def mix(self, shard_updates: Sequence[ShardUpdate], shares: Sequence[float], by_change: bool) -> None:
        """One common vector of weights."""

    def close(self) -> None:
        """Free everything but the common learner."""


class ThreadRunner(ShardRunner):
    """Learns shards on threads; kernels release the lock."""

    def __init__(self, common: Any, jobs: int = 1):
        self.common, self.jobs, self.figures = common, jobs, {}
        self.idle: list[Any] = []

    def learn(self, parts: Sequence[np.ndarray], shard_updates: list[ShardUpdate]) -> None:
        """Append the updates of one shard (one thread) or of all; after an interruption, of those that finished."""
        stopped, todo = Event(), parts[: 1 if self.jobs == 1 else None]
        running: list[Future[ShardUpdate]] = []
        try:
            with ThreadPool(self.jobs) as pool:
                try:
                    running += [pool.submit(self._learn, part, stopped) for part in todo]
                    for future in running:
                        outcome(future)
                except BaseException:
                    with Held():
                        stopped.set()
                        for future in running:
                            future.cancel()
                    raise
        finally:
            shard_updates += [outcome(f) for f in running if not f.cancelled() and f.exception() is None]

    def _learn(self, part: np.ndarray, stopped: Event) -> ShardUpdate:
        try:
            member = self.idle.pop()
        except IndexError:
            member = self.common.fresh_copy()
        try:
            return learn_part(member, self.common, part, stopped)
        finally:
            self.idle.append(member)

    def mix(self, shard_updates: Sequence[ShardUpdate], shares: Sequence[float], by_change: bool) -> None:
        self.common.mix(shard_updates, shares, by_change, self.jobs)

    def close(self) -> None:
        self.idle = []


class Shards(Learner):
    """Shards of the data as one learner, whose weights are the common ones."""

    def __init__(
        self, first: Any, shards: int, mix: str = CHANGES, make_runner: Callable[[Any], ShardRunner] = ThreadRunner
    ):
        """make_runner: for a common learner."""
        check_shards(shards, first.examples)
        self.common, self.shards, self.mix, self.make_runner = first, shards, mix, make_runner
        self.runner = make_runner(first)
        self.passes, self.begun = 0, 0  # passes so far, and where in this one the examples since the last mix begin
        self.parts: list[np.ndarray] = []
        self.shard_updates: list[ShardUpdate] = []
        self.learned: list[dict[str, Any]] = []

    def fresh_copy(self) -> Self:
        """The same shards of another learner at its start."""
        return type(self)(self.common.fresh_copy(), self.shards, self.mix, self.make_runner)

    @property
    def examples(self) -> int:
        return self.common.examples

    def warm_up(self) -> None:
        self.common.warm_up()

    def begin_pass(self) -> None:
        self.passes += 1
        self.shard_updates, self.learned = [], []
        self.runner.begin_pass()

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        if not self.shard_updates:
            mixes = mixes_of(self.shards, self.passes, len(sequence)) if self.mix == CHANGES else 1
            ends = [len(sequence) * k // mixes for k in range(1, mixes + 1)]
            self.begun, self.parts = lo, deal(sequence[lo : next(end for end in ends if end > lo)], self.shards)
        self.runner.learn(self.parts[len(self.shard_updates) :], self.shard_updates)
        while len(self.shard_updates) < self.shards and not any(map(len, self.parts[len(self.shard_updates) :])):
            self.runner.learn(
                self.parts[len(self.shard_updates) :], self.shard_updates
            )  # of no example: no reason to wait
        done = self.begun + sum(map(len, self.parts[: len(self.shard_updates)]))
        if len(self.shard_updates) == self.shards:
            self._mix()
        return done

    def _mix(self) -> None:
        """One common vector of weights from all updates; a shard may have had no example since the last mix. Each is
        mixed once and whole, whenever somebody interrupts."""
        shard_updates = [update for update in self.shard_updates if update.steps] or self.shard_updates
        self.learned += [update.counts for update in shard_updates]
        self.shard_updates = []
        with Held(whole=True):
            self.runner.mix(shard_updates, shares_of(shard_updates, self.mix), self.mix == CHANGES)

    def counts(self) -> dict[str, Any]:
        return total(self.learned) | self.runner.figures

    def fingerprint(self) -> str:
        return f"{self.shards} shards {self.mix} {TOGETHER} {self.common.fingerprint()}"

    def state(self) -> Tensors:
        return self.common.state() | {PASSES: np.array([self.passes])}

    def restore(self, state: Tensors) -> None:
        self.passes = int(state.pop(PASSES)[0])
        self.common.restore(state)

    def add(self, other: Any, share: float) -> None:
        self.common.add(other.common, share)

    def settled(self) -> Any:
        """The common learner; what shards have learned of a pass that was interrupted is mixed first."""
        if self.shard_updates:
            self._mix()
        return self.common

    @staticmethod
    def assemble(members: Sequence["Shards"]) -> Any:
        every = [member.settled() for member in members]
        return every[0].assemble(every)

    def snapshot(self) -> Any:
        return self.assemble([self])

    @staticmethod
    def assemble_last(members: Sequence["Shards"]) -> Any:
        every = [member.settled() for member in members]
        for member in members:
            member.runner.close()
        return every[0].assemble_last(every)

    def last_snapshot(self) -> Any:
        return self.assemble_last([self])

    def free_search_buffers(self, model: Any) -> None:
        self.common.free_search_buffers(model)

    def finish(self, model: Any) -> Any:
        return self.common.finish(model)

    def close(self) -> None:
        self.runner.close()
