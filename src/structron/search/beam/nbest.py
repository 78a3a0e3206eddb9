"""The n best derivations of every example of a batch: "beams give their list".

A kernel of its own, so that those who never ask for more than the best do not wait for it to be compiled.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import ZERO, ir_inline
from structron.kernels.reference import Doubles, Ints, by_reference
from structron.search.beam.frontier import BACK, DONE, FINISHED, MORE_BEAM, MORE_OUT, NOW, PREFIX, SIZE, Guide
from structron.search.beam.heap import offer, sort_best_first
from structron.search.beam.lattice import FINAL
from structron.search.beam.search import derive

Derivation = tuple[list[int], float]
"""Actions and their score."""


@by_reference
class Lists(NamedTuple):
    """Derivations one after the other, those of an example best first."""

    counts: Ints  # int64[examples]: how many each has
    lengths: Ints  # int64[derivations]
    scores: Doubles  # float64[derivations]
    actions: Ints  # int64: those of all derivations
    used: Ints  # int64[2]: derivations and actions so far

    def grown(self) -> "Lists":
        """Twice the capacity, with what was found so far."""
        lengths, scores, actions = (np.concatenate([array, np.zeros_like(array)]) for array in self[1:4])
        return Lists(self.counts, lengths, scores, actions, self.used)

    def of(self, lo: int, hi: int) -> list[list[Derivation]]:
        """The lists of examples lo … hi - 1, the first that were searched."""
        ends = np.cumsum(self.lengths[: self.used[0]]).tolist()
        actions, scores = self.actions[: self.used[1]].tolist(), self.scores.tolist()
        every = [(actions[lo:hi], score) for lo, hi, score in zip([0, *ends], ends, scores, strict=False)]
        last = np.cumsum(self.counts[lo:hi]).tolist()
        return [every[first:end] for first, end in zip([0, *last], last, strict=False)]


def make_lists(examples: int) -> Lists:
    """Capacity to begin with; it grows."""
    counts, lengths, actions = (np.zeros(size, np.int64) for size in (examples, 1 << 10, 1 << 14))
    return Lists(counts, lengths, np.zeros(1 << 10), actions, np.zeros(2, np.int64))


def nbest(search, score_view, start, legal, advance, atoms, given, lo, hi, n, lists, trouble):
    """The n best derivations into final states of the last beam, or final nodes of the lattice, of lo … hi - 1."""
    no = np.int64(0)
    f, setting, limit = given.frontier, given.setting, given.inputs.limit
    for e in range(lo, hi):
        end, step = search(score_view, start, legal, advance, atoms, given, e, Guide(no, no, no, 0.0))
        size = f.used[FINISHED]
        if end == DONE and setting.lattice >= 0:
            end, size = final_nodes(f, n)
        size = min(size, n)
        if end == DONE and not fits(lists, size, size * (limit[e] + 2)):
            end = MORE_OUT
        if end != DONE:
            trouble[0], trouble[1] = end, step
            return e
        sort_best_first(f, f.used[FINISHED])
        for c in range(size):
            row = f.heap[c, BACK] if setting.lattice >= 0 else f.beam[f.used[NOW], f.heap[c, BACK]]
            length = derive(setting, f, row)
            which, place = lists.used[0], lists.used[1]
            lists.lengths[which], lists.scores[which] = length, f.score[row, PREFIX]
            for j in range(length):
                lists.actions[place + j] = f.path[1, j]
            lists.used[0] += 1
            lists.used[1] += length
        lists.counts[e] = size
    return hi


@ir_inline
def fits(lists, derivations, actions):
    """Whether there is room for so many more."""
    enough = lists.used[0] + derivations <= lists.lengths.shape[0]
    return enough and lists.used[1] + actions <= lists.actions.shape[0]


@ir_inline
def final_nodes(f, n):
    """Put the n best final nodes of a lattice into the heap, used[FINISHED] of them."""
    size, made, scratch = ZERO, ZERO, min(n, f.rank.shape[0])
    for node in range(f.seen.shape[0]):
        row = f.seen[node] - 1
        if row >= 0 and f.link[row, SIZE] == FINAL:
            size = offer(f, size, scratch, f.score[row, PREFIX], 0.0, row, ZERO, ZERO, made)
            made += 1
    f.used[FINISHED] = size
    return MORE_BEAM if scratch < min(n, made) else DONE, size
