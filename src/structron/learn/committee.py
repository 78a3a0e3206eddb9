"""Several learners of the same data in different orders, whose mean is the model.

What a perceptron learns depends on the order of its examples; the mean of a few runs depends on it much less and is
nearly always better than any of them (Herbrich, Graepel & Campbell's Bayes point machine for the perceptron).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


class Committee:
    """Learners as one learner. Example e is sentence e mod n of member e div n, so any order mixes all orders.

    A member is a learner of `learn.loop` with `twin()`, another one at its start, and `assemble(members)`, the model
    of the mean.
    """

    def __init__(self, first: Any, runs: int):
        self.members = [first, *(first.twin() for _ in range(runs - 1))]
        self.sequence = np.empty(0, np.int64)
        self.parts: list[np.ndarray] = []

    @property
    def examples(self) -> int:
        return len(self.members) * self.members[0].examples

    def is_cold(self) -> bool:
        return self.members[0].is_cold()

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
        m, place = divmod(lo, self.members[0].examples)
        return lo - place + self.members[m].learn(self.parts[m], place)

    def counts(self) -> dict[str, Any]:
        return total([member.counts() for member in self.members])

    def fingerprint(self) -> str:
        return f"{len(self.members)} x {self.members[0].fingerprint()}"

    def state(self) -> dict[str, np.ndarray]:
        return {f"{m}.{name}": array for m, name, array in self._states()}

    def _states(self) -> Iterator[tuple[int, str, np.ndarray]]:
        for m, member in enumerate(self.members):
            for name, array in member.state().items():
                yield m, name, array

    def restore(self, state: dict[str, np.ndarray]) -> None:
        for m, member in enumerate(self.members):
            start = f"{m}."
            member.restore({name.removeprefix(start): a for name, a in state.items() if name.startswith(start)})

    def snapshot(self) -> Any:
        return self.members[0].assemble(self.members)

    def finish(self, model: Any) -> Any:
        return self.members[0].finish(model)


def total(every: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The figures of several learners as one's. All are sums, but `fell_at` is a mean over the examples that fell."""
    found = {name: sum(counts[name] for counts in every) for name in every[0] if name != "fell_at"}
    if "fell_at" in every[0]:
        places = sum(counts["fell_off"] * (counts["fell_at"] or 0.0) for counts in every)
        found["fell_at"] = round(places / found["fell_off"], 4) if found["fell_off"] else None
    return {name: found[name] for name in every[0]}
