"""The n best labellings of documents, under the weights of a learner or a model (see kbest.py)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structron.features.phrases import is_silent, non_local_features
from structron.kernels.jit import compiled
from structron.search.chain.kbest import (
    FIRST_ROOM,
    Trellis,
    change,
    make_differences,
    make_trellis,
    n_best,
    n_best_of,
)
from structron.search.chain.scores import Chains, Weights, Work, load_all, make_work
from structron.threads import for_each, stretches


class Labellings(NamedTuple):
    """The labellings found for a document, best first."""

    rows: np.ndarray  # int16[found, tokens]: numbers of labels
    losses: np.ndarray  # float64[found]: by how much each scores less than the best
    score: float  # of the best


def room_for_documents(chains: Chains, units: np.ndarray, labels: int, stride: int, order: int) -> tuple[Work, Trellis]:
    """Scratch memory for the longest sentence, and for the longest document."""
    longest = int(np.diff(chains.starts).max(initial=1))
    tokens = int(np.diff(chains.starts[units]).max(initial=1))
    return make_work(longest, labels, stride, order), make_trellis(tokens, labels, stride, order)


class Candidates:
    """Searches for n-best labellings, with room for the longest sentence and the longest document."""

    def __init__(self, chains: Chains, units: np.ndarray, labels: int, stride: int, order: int):
        self.chains, self.units, self.labels, self.order = chains, units, labels, order
        self.work, self.trellis = room_for_documents(chains, units, labels, stride, order)

    def find(self, weights: Weights, unit: int, n: int) -> Labellings:
        """The n best labellings of a document, or all if there are fewer."""
        lo, hi = int(self.units[unit]), int(self.units[unit + 1])
        tokens = int(self.chains.starts[hi] - self.chains.starts[lo])
        rows, losses = np.empty((n, tokens), np.int16), np.empty(n)
        document: Any = (self.chains, weights, self.order, lo, hi, self.labels)
        count, score = n_best_of(*document, n, self.work, self.trellis, rows, losses)
        return Labellings(rows[:count], losses[:count], float(score))


@compiled
def choose_labels(chains, weights, order, units, labels, n, work, trellis, scheme, phrases, d, g, kinds, out, scores):
    """out, scores: of each document the labelling that is best under all features, of the n best under the local ones.

    d: the number of the first document among the phrases. Where no labelling has document features, the best is best.
    """
    load_all(weights, order, labels, work)
    differences, losses = make_differences(n, FIRST_ROOM), np.empty(n)
    values = np.empty((n, g.shape[0]))
    for unit in range(units.shape[0] - 1):
        lo, hi = units[unit], units[unit + 1]
        origin, tokens = chains.starts[lo], chains.starts[hi] - chains.starts[lo]
        wanted = 1 if is_silent(phrases, d + unit) else n
        count, score, differences = n_best(
            chains, weights, order, lo, hi, labels, wanted, work, trellis, losses, differences
        )
        best, top, z = 0, score, trellis.z[:tokens]
        if wanted > 1:
            changes = (differences.ptr, differences.at, differences.label)
            non_local_features(scheme, phrases, d + unit, z, *changes, count, kinds, values)
            for k in range(count):
                added = 0.0
                for f in range(g.shape[0]):
                    added += values[k, f] * g[f]
                total = score - losses[k] + added
                if k == 0 or total > top:
                    best, top = k, total
        change(z, differences, best)
        for i in range(tokens):
            out[origin + i] = z[i]
        scores[unit] = top


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

    for_each(run, stretches(prepared.starts[units], jobs), jobs)
