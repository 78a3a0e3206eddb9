"""Several learners of the same data in different orders, whose mean is the model.

What a perceptron learns depends on the order of its examples; the mean of a few runs depends on it much less and is
nearly always better than any of them (Herbrich, Graepel & Campbell's Bayes point machine for the perceptron).
"""

from collections.abc import Sequence
from threading import Event
from typing import Any

import numpy as np

from structron.io.tensors import Tensors, beginning, under
from structron.learn.loop import Learner
from structron.runtime.interrupts import outcome
from structron.runtime.threads import ThreadPool


class Committee(Learner):
    """Members as one learner. Example e is sentence e mod n of member e div n, so any order mixes all orders.

    Members know nothing of each other: on several threads they learn the same as one after the other.
    """

    def __init__(self, first: Any, runs: int, jobs: int = 1):
        self.members = [first, *(first.fresh_copy() for _ in range(runs - 1))]
        self.jobs = min(jobs, runs)
        self.sequence = np.empty(0, np.int64)
        self.orders: list[np.ndarray] = []

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
            self.orders = [sentence[member_of == m] for m in range(len(self.members))]
            self.sequence = sequence
        if self.jobs > 1:
            self._learn_together()
            return len(sequence)
        m, place = divmod(lo, self.members[0].examples)
        return lo - place + self.members[m].learn(self.orders[m], place)

    def _learn_together(self) -> None:
        """A pass of every member, each on a thread; an interruption ends all of them."""
        stopped = Event()

        def learn(m: int) -> None:
            place, order = 0, self.orders[m]
            while place < len(order) and not stopped.is_set():
                place = self.members[m].learn(order, place)

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
