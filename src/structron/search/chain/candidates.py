"""The n best labellings of documents, under the weights of a learner or a model (search/kbest.py)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from structron.search.chain.kbest import make_trellis, n_best_of
from structron.search.chain.scores import Chains, Weights, make_work
from structron.threads import for_each, stretches


class Candidates:
    """Searches for n-best labellings, with room for the longest sentence and the longest document."""

    def __init__(self, chains: Chains, units: np.ndarray, labels: int, stride: int, order: int):
        self.chains, self.units, self.labels, self.order = chains, units, labels, order
        longest = int(np.diff(chains.starts).max(initial=1))
        self.longest = int(np.diff(chains.starts[units]).max(initial=1))
        self.work = make_work(longest, labels, stride, order)
        self.trellis = make_trellis(self.longest, labels, stride, order)

    def find(self, weights: Weights, unit: int, n: int) -> tuple[np.ndarray, np.ndarray, float]:
        """(rows int16[found, tokens], losses float64[found], score of the best) of a document, best first."""
        lo, hi = int(self.units[unit]), int(self.units[unit + 1])
        tokens = int(self.chains.starts[hi] - self.chains.starts[lo])
        rows, losses = np.empty((n, tokens), np.int16), np.empty(n)
        room: Any = (self.labels, n, self.work, self.trellis, rows, losses)
        count, score = n_best_of(self.chains, weights, self.order, lo, hi, *room)
        return rows[:count], losses[:count], float(score)


def for_each_document(
    model: Any,
    prepared: Any,
    n: int,
    jobs: int,
    take: Callable[[int, np.ndarray, np.ndarray], None],
    forced: np.ndarray | None = None,
) -> None:
    """Call take(document, labellings, scores) with the n best of each document under the weights of a chain model."""
    units = getattr(prepared, "units", np.arange(len(prepared.starts)))

    def run(stretch: tuple[int, int]) -> None:
        lo, hi = stretch
        chains = model.chains(prepared, int(units[lo]), int(units[hi]), forced)
        found = Candidates(chains, units[lo : hi + 1] - units[lo], len(model.labels), model.w.shape[1], model.order)
        for unit in range(lo, hi):
            rows, losses, score = found.find(model.weights, unit - lo, n)
            take(unit, rows, score - losses)

    for_each(run, stretches(prepared.starts[units]), jobs)
