"""The n best labellings of documents, under the weights of a learner or a model (see kbest.py)."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from structron.errors import StructronError
from structron.features.phrases import FEATURES, Counts, Phrases, Scheme, is_silent, make_counts, non_local_features
from structron.kernels.jit import WithFunctionPointers
from structron.kernels.reference import Doubles, Doubles2, by_reference
from structron.runtime.threads import batches, for_each
from structron.search.chain.kbest import (
    N_BEST,
    NO_CAPACITY,
    GrowingScratch,
    change,
    fill_trellis,
    make_trellis,
    n_best,
    n_best_of,
)
from structron.search.chain.scores import EncodedChains, Weights, Work, make_work
from structron.search.chain.viterbi import SEARCH, SEARCHES, search_for

MOST_LABELS = 1 << 15
"""Their numbers have 16 bits in labellings."""
TOGETHER = 1 << 22
"""Labels of all labellings that are written out together."""


def check_labels(labels: int) -> None:
    """Refuse labels whose numbers labellings cannot hold."""
    if labels > MOST_LABELS:
        raise StructronError(f"labels: {labels}; expected at most {MOST_LABELS} for n-best labellings")


class NBestLabellings(NamedTuple):
    """The labellings found for a document, best first."""

    rows: np.ndarray  # int16[found, tokens]: numbers of labels
    losses: np.ndarray  # float64[found]: by how much each scores less than the best
    score: float  # of the best


@by_reference
class Reranking(NamedTuple):
    """What chooses among the n best labellings of documents."""

    scheme: Scheme
    phrases: Phrases
    first: int  # the number of the first document among the phrases
    g: Doubles  # float64[features]: their weights
    kinds: int  # classes of entities, and none
    counts: Counts  # scratch
    values: Doubles2  # float64[n, features]: scratch


class Candidates:
    """Searches for n-best labellings, with room for the longest sentence and the longest document."""

    def __init__(
        self, chains: EncodedChains, units: np.ndarray, labels: int, stride: int, order: int, work: Work | None = None
    ):
        """work: room for the longest sentence that others use as well."""
        check_labels(labels)
        self.chains, self.units, self.labels, self.order = chains, units, labels, order
        longest, tokens = (int(np.diff(ends).max(initial=1)) for ends in (chains.starts, chains.starts[units]))
        self.work = make_work(longest, labels, stride, order) if work is None else work
        self.growing = GrowingScratch(make_trellis(tokens, labels, stride, order), self.work, labels, order)

    def find(self, weights: Weights, lo: int, hi: int, n: int) -> Iterator[NBestLabellings]:
        """The n best labellings of documents lo … hi-1, or all that one has if there are fewer."""
        cells = n * (self.chains.starts[self.units] - self.chains.starts[self.units[lo]])
        while lo < hi:
            stop = min(hi, max(lo + 1, int(np.searchsorted(cells, cells[lo] + TOGETHER, "right")) - 1))
            for found in n_best_of(self.chains, weights, self.units[lo : stop + 1], n, self.growing):
                yield NBestLabellings(*found)
            lo = stop

    def choose(self, weights: Weights, n: int, features: tuple[Any, ...], out: np.ndarray, scores: np.ndarray) -> None:
        """out, scores: of each document the labelling that is best under all features, of the n best under the local
        ones; the transitions have been loaded. features: scheme, phrases, first, g and kinds of `Reranking`."""
        chains, order, labels, work, growing = self.chains, self.order, self.labels, self.work, self.growing
        call = CHOOSERS[search_for(chains, order, work)].call
        scheme, phrases, first, g, kinds = features
        scratch = make_counts(phrases, kinds), np.empty((n, len(g)))
        reranking = Reranking(scheme, phrases, first, g, kinds, *scratch)
        given, done = (chains, weights, order, self.units, labels, n, work, growing.trellis), 0
        while True:
            done = call(*given, growing.of(n), reranking, done, out, scores)
            if done == len(self.units) - 1:
                return
            growing.grow()


def choose_labels(
    search, n_best, features, chains, weights, order, units, labels, n, work, trellis, scratch, given, done, out, scores
):
    """`Candidates.choose` from document `done` on; returns the document at which the capacity ran
    out, or how many there are.

    Where no labelling has document features, the best is best.
    """
    differences, z, g, values = scratch.differences, trellis.z, given.g, given.values
    for unit in range(done, units.shape[0] - 1):
        lo, hi = units[unit], units[unit + 1]
        origin, tokens = chains.starts[lo], chains.starts[hi] - chains.starts[lo]
        d = given.first + unit
        wanted = np.int64(1) if is_silent(given.phrases, d) else n
        score = fill_trellis(search, chains, weights, order, lo, hi, labels, work, trellis)
        count = n_best(chains, weights, lo, hi, wanted, score, trellis, scratch)
        if count == NO_CAPACITY:
            return unit
        best, top = 0, score
        if wanted > 1:
            ptr, at, label = differences.ptr, differences.at, differences.label
            features(given.scheme, given.phrases, d, z, ptr, at, label, count, given.kinds, given.counts, values)
            for k in range(count):
                added = 0.0
                for f in range(g.shape[0]):
                    added += values[k, f] * g[f]
                total = score - scratch.losses[k] + added
                if k == 0 or total > top:
                    best, top = k, total
        change(z, differences, np.int64(best))
        for i in range(tokens):
            out[origin + i] = z[i]
        scores[unit] = top
    return units.shape[0] - 1


CHOOSE = WithFunctionPointers(choose_labels, SEARCH, N_BEST, FEATURES)
CHOOSERS = {search: CHOOSE.of(search, n_best, non_local_features) for search in SEARCHES}
"""`choose_labels` with each search."""


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

    def run(batch: tuple[int, int]) -> None:
        lo, hi = batch
        chains = model.chains(prepared, int(units[lo]), int(units[hi]), forced)
        search = Candidates(chains, units[lo : hi + 1] - units[lo], len(model.labels), model.w.shape[1], model.order)
        for unit, found in enumerate(search.find(model.weights, 0, hi - lo, n), lo):
            take(unit, found.rows, found.score - found.losses)

    for_each(run, batches(prepared.starts[units], jobs), jobs)
