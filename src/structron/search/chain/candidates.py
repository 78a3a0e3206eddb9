"""The n best labellings of documents, under the weights of a learner or a model (see kbest.py)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structron.search.chain.kbest import make_trellis, n_best_of
from structron.search.chain.scores import Chains, Weights, make_work
from structron.threads import for_each, stretches


class Labellings(NamedTuple):
    """The labellings found for a document, best first."""

    rows: np.ndarray  # int16[found, tokens]: numbers of labels
    losses: np.ndarray  # float64[found]: by how much each scores less than the best
    score: float  # of the best


class Candidates:
    """Searches for n-best labellings, with room for the longest sentence and the longest document."""

    def __init__(self, chains: Chains, units: np.ndarray, labels: int, stride: int, order: int):
        self.chains, self.units, self.labels, self.order = chains, units, labels, order
        longest = int(np.diff(chains.starts).max(initial=1))
        tokens = int(np.diff(chains.starts[units]).max(initial=1))
        self.work = make_work(longest, labels, stride, order)
        self.trellis = make_trellis(tokens, labels, stride, order)

    def find(self, weights: Weights, unit: int, n: int) -> Labellings:
        """The n best labellings of a document, or all if there are fewer."""
        lo, hi = int(self.units[unit]), int(self.units[unit + 1])
        tokens = int(self.chains.starts[hi] - self.chains.starts[lo])
        rows, losses = np.empty((n, tokens), np.int16), np.empty(n)
        document: Any = (self.chains, weights, self.order, lo, hi, self.labels)
        count, score = n_best_of(*document, n, self.work, self.trellis, rows, losses)
        return Labellings(rows[:count], losses[:count], float(score))


def for_each_document(
    model: Any,
    prepared: Any,
    n: int,
    jobs: int,
    take: Callable[[int, np.ndarray, np.ndarray], None],
    forced: np.ndarray | None = None,
) -> None:
    """Call take(document, labellings, scores) with the n best of each document under the weights of a chain model."""
    units = prepared.units

    def run(stretch: tuple[int, int]) -> None:
        lo, hi = stretch
        chains = model.chains(prepared, int(units[lo]), int(units[hi]), forced)
        search = Candidates(chains, units[lo : hi + 1] - units[lo], len(model.labels), model.w.shape[1], model.order)
        for unit in range(lo, hi):
            found = search.find(model.weights, unit - lo, n)
            take(unit, found.rows, found.score - found.losses)

    for_each(run, stretches(prepared.starts[units]), jobs)
