"""Several learners of the same data in different orders, whose mean is the model.

What a perceptron learns depends on the order of its examples; the mean of a few runs depends on it much less and is
nearly always better than any of them (Herbrich, Graepel & Campbell's Bayes point machine for the perceptron).
"""

import copy
from collections.abc import Sequence
from threading import Event
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from structron.io.tensors import Tensors, beginning, under
from structron.learn.loop import Learner
from structron.runtime.interrupts import outcome
from structron.runtime.threads import ThreadPool
from structron.weights.mixing import Changes, Share, plain_scales, scales_by_change


class ShardUpdate(NamedTuple):
    """What a learner has made of common weights in its part of a pass (learn/shards.py)."""

    changes: Changes
    steps: int
    counts: dict[str, Any]
    more: Tensors
    """What a learner has besides a store of weights."""


class Member(Learner):
    """A learner that can be one of several: it can start anew, and its weights can be added."""

    store: Any  # its weights (weights/)
    stats: np.ndarray  # the examples learned from so far, then figures of the pass
    working: ClassVar[tuple[str, ...]] = ("store", "stats")
    """What `_begin` makes: pickles are without it, and begin anew."""

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in self.working}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def part(self, examples: np.ndarray) -> Any:
        """A learner of some of the examples, to be pickled: it cannot learn here, nor make a model anywhere."""

    def _sent(self, **changed: Any) -> Any:
        """Itself without what it works with, but for some changes."""
        other = object.__new__(type(self))
        vars(other).update(self.__getstate__() | changed)
        return other

    def _begin(self) -> None:
        """Weights before the first example: none, or those that training goes on from."""

    def fresh_copy(self) -> Self:
        """Another learner of the same data and options, at its start."""
        other = copy.copy(self)
        other._begin()
        return other

    def begin_pass(self) -> None:
        self.stats[1:] = 0

    def add(self, other: Any, share: float) -> None:
        """Add a share of the weights of another learner of the same data."""

    def copy_weights_from(self, common: Any) -> None:
        """Begin a part of a pass with the weights of another learner of the same data."""
        self.store.copy_weights_from(common.store)
        self.stats[0] = 0
        self.begin_pass()

    def shard_update(self, common: Any) -> ShardUpdate:
        """What has changed since `copy_weights_from`."""
        return ShardUpdate(self.store.changes(common.store), int(self.stats[0]), self.counts(), {})

    def mix(
        self, shard_updates: Sequence[ShardUpdate], shares: Sequence[float], by_change: bool = False, jobs: int = 1
    ) -> None:
        """Take over so much of each update; the mean runs over the steps of all.

        by_change: a weight counts only those that have changed it.
        """
        time = int(self.stats[0]) + sum(update.steps for update in shard_updates)
        changes = [update.changes for update in shard_updates]
        scales = scales_by_change(changes, jobs) if by_change else plain_scales(changes)
        given = zip(changes, shares, [update.steps for update in shard_updates], scales, strict=True)
        self.store.mix([Share(*each) for each in given], time, jobs)
        self.stats[0] = time

    def take(self, broadcast: ShardUpdate) -> None:
        """Have the weights of another learner of the same data, of which this one has an earlier state."""
        self.store.put(broadcast.changes)

    @staticmethod
    def assemble(members: Sequence[Any]) -> Any:
        """The model that the mean of the members' weights makes."""

    @staticmethod
    def assemble_last(members: Sequence[Any]) -> Any:
        """The same of members that will learn no more: they may give up what they would need for that."""
        return members[0].assemble(members)

    def snapshot(self) -> Any:
        return self.assemble([self])

    def last_snapshot(self) -> Any:
        return self.assemble_last([self])

    def free_search_buffers(self, model: Any) -> None:
        return None

    def finish(self, model: Any) -> Any:
        return model

    def close(self) -> None:
        return None


class Committee(Learner):
    """Members as one learner. Example e is sentence e mod n of member e div n, so any order mixes all orders.

    Members know nothing of each other: on several threads they learn the same as one after the other.
    """

    def __init__(self, first: Any, runs: int, jobs: int = 1):
        self.members = [first, *(first.fresh_copy() for _ in range(runs - 1))]
        self.jobs = min(jobs, runs)
        self.sequence = np.empty(0, np.int64)
        self.parts: list[np.ndarray] = []

    @property
    def examples(self) -> int:
        return len(self.members) * self.members[0].examples

    def warm_up(self) -> None:
        self.members[0].warm_up()

    def begin_pass(self) -> None:
        for member in self.members:
            member.begin_pass()

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        """One member after the other, each in the order in which its sentences stand in the sequence."""
        if sequence is not self.sequence:
            member_of, sentence = np.divmod(sequence, self.members[0].examples)
            self.parts = [sentence[member_of == m] for m in range(len(self.members))]
            self.sequence = sequence
        if self.jobs > 1:
            self._learn_together()
            return len(sequence)
        m, place = divmod(lo, self.members[0].examples)
        return lo - place + self.members[m].learn(self.parts[m], place)

    def _learn_together(self) -> None:
        """A pass of every member, each on a thread; an interruption ends all of them."""
        stopped = Event()

        def learn(m: int) -> None:
            place, part = 0, self.parts[m]
            while place < len(part) and not stopped.is_set():
                place = self.members[m].learn(part, place)

        with ThreadPool(self.jobs) as pool:
            try:
                for future in [pool.submit(learn, m) for m in range(len(self.members))]:
                    outcome(future)
            except BaseException:
                stopped.set()
                raise

    def counts(self) -> dict[str, Any]:
        return total([member.counts() for member in self.members])

    def fingerprint(self) -> str:
        return f"{len(self.members)} x {self.members[0].fingerprint()}"

    def state(self) -> Tensors:
        every = [under(f"{m}.", member.state()) for m, member in enumerate(self.members)]
        return {name: array for own in every for name, array in own.items()}

    def restore(self, state: Tensors) -> None:
        for m, member in enumerate(self.members):
            member.restore(beginning(f"{m}.", state))

    def snapshot(self) -> Any:
        return self.members[0].assemble(self.members)

    def last_snapshot(self) -> Any:
        return self.members[0].assemble_last(self.members)

    def free_search_buffers(self, model: Any) -> None:
        self.members[0].free_search_buffers(model)

    def finish(self, model: Any) -> Any:
        return self.members[0].finish(model)

    def close(self) -> None:
        for member in self.members:
            member.close()


def total(every: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The figures of several learners as one's. All are sums, but `fell_at` is a mean over the examples that fell."""
    found = {name: sum(counts[name] for counts in every) for name in every[0] if name != "fell_at"}
    if "fell_at" in every[0]:
        places = sum(counts["fell_off"] * (counts["fell_at"] or 0.0) for counts in every)
        found["fell_at"] = round(places / found["fell_off"], 4) if found["fell_off"] else None
    return {name: found[name] for name in every[0]}
