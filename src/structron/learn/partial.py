"""Learning from sentences of which only some labels are known (Yu, Huang, Mi & Zhao 2013, without a beam).

    Y(x)  all labellings that agree with what is known
    z = argmax_u w·Φ(x, u)
    if z ∉ Y(x):   ŷ = argmax_{u ∈ Y(x)} w·Φ(x, u);   w = w + Φ(x, ŷ) - Φ(x, z)

It is a violation, for w·Φ(x, ŷ) ≤ w·Φ(x, z). With a margin C the best of Y(x) must beat the best labelling outside of
it by more than C; labellings within Y(x) do not compete. Where all labels are known these are the updates of
update/perceptron.py and update/margin.py. Those run compiled for batches; here Python goes from sentence to sentence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from structron.kernels.jit import entry
from structron.search.chain.margins import decode_with_margins
from structron.search.chain.scores import EncodedChains
from structron.search.chain.viterbi import decode
from structron.update.perceptron import NEAR, TIME, TOKENS, UPDATES, WRONG_TOKENS, correct, has_capacity

NO_SETS: Mapping[int, Sequence[int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known of every token: a set of labels, one of which it has."""

    masks: np.ndarray  # bool[sets, labels]; row 0: all labels, row y + 1: label y alone
    mask_of: np.ndarray  # int32[tokens]

    @classmethod
    def of(cls, gold: np.ndarray, labels: int, sets: Mapping[int, Sequence[int]] = NO_SETS) -> Self:
        """gold: the label of every token, -1 for an open one; sets: the labels that some of these tokens may have."""
        masks, mask_of = [np.ones((1, labels), bool), np.eye(labels, dtype=bool)], (gold + 1).astype(np.int32)
        place = {(*own,): labels + 1 + k for k, own in enumerate(dict.fromkeys(map(tuple, sets.values())))}
        more = np.zeros((len(place), labels), bool)
        for own, row in place.items():
            more[row - labels - 1, list(own)] = True
        for token, several in sets.items():
            mask_of[token] = place[*several,]
        return cls(np.concatenate([*masks, more]), mask_of)

    def take(self, tokens: np.ndarray) -> Self:
        """What is known of some tokens."""
        return replace(self, mask_of=self.mask_of[tokens])

    def open_units(self, bounds: np.ndarray) -> np.ndarray:
        """bool[units]: whether a sentence or document has a token with several labels. bounds: of units, in tokens."""
        several = (self.masks.sum(axis=1) > 1)[self.mask_of]
        before = np.concatenate([[0], np.cumsum(several)])
        return before[bounds[1:]] > before[bounds[:-1]]

    def contradiction(
        self, allowed: np.ndarray, starts: np.ndarray, among: np.ndarray | None = None
    ) -> tuple[int, int] | None:
        """The first sentence with no labelling that is allowed and agrees, and its first token that none reaches.

        allowed: bool[P, labels], which label may follow which.   among: bool[sentences], those to be looked at; by
        default those with open tokens.
        """
        for s in np.flatnonzero(self.open_units(starts) if among is None else among).tolist():
            reached = allowed[0]
            for i in range(int(starts[s]), int(starts[s + 1])):
                here = reached & self.masks[self.mask_of[i]]
                if not here.any():
                    return s, i - int(starts[s])
                reached = allowed[1:][here].any(axis=0)
        return None


class PartialSteps:
    """The steps of a chain learner for examples with open labels."""

    def __init__(self, learner: Any):
        known, chains = learner.knowledge, learner.chains
        self.learner, self.known = learner, known
        self.first_mask = len(learner.masks) - len(known.masks)
        own = chains.mask_of if len(chains.mask_of) else np.zeros(len(known.mask_of), np.int32)
        self.usual = own
        self.mask_of = np.where(known.mask_of == 0, own, known.mask_of + self.first_mask).astype(np.int32)
        self.open = known.open_units(chains.starts[learner.units])

    @property
    def agreeing(self) -> EncodedChains:
        """The sentences with what is known of them: a search finds nothing else."""
        return self.learner.chains._replace(mask_of=self.mask_of)

    def closed_until(self, sequence: np.ndarray, lo: int, hi: int) -> int:
        """The first place from lo on, before hi, with an example that has open labels; hi if there is none."""
        places = np.flatnonzero(self.open[sequence[lo:hi]])
        return lo + int(places[0]) if len(places) else hi

    def learn(self, sequence: np.ndarray, lo: int, hi: int, margin: float | None) -> int:
        """Learn from the examples with open labels from place lo on; returns the place of the first one without, or
        that of the one for which rows may run out."""
        units = self.learner.units
        while lo < hi and self.open[sequence[lo]]:
            example = int(sequence[lo])
            if not self.fits(example):
                return lo
            self.step(int(units[example]), int(units[example + 1]), margin)
            lo += 1
        return lo

    def fits(self, example: int) -> bool:
        """Whether there are rows for all that an update may need."""
        learner = self.learner
        start, stop = learner.chains.starts[learner.units[example : example + 2]].tolist()
        return bool(entry(has_capacity)(learner.chains, learner.weights(), start, stop))

    def step(self, first: int, last: int, margin: float | None) -> None:
        """Learn from sentences first … last - 1 as one example."""
        learner = self.learner
        start, stop = int(learner.chains.starts[first]), int(learner.chains.starts[last])
        stats, gold, known = learner.stats, learner.gold[start:stop], self.known
        stats[TIME] += 1
        stats[TOKENS] += stop - start
        z, behind = self._best(first, last, margin is not None)
        may = known.masks[known.mask_of[start:stop]]
        wrong = ~may[np.arange(stop - start), z]
        if wrong.any():
            self._complete(first, last, z, wrong)
        else:
            other = None if margin is None else self._nearest(first, last, z, np.where(may, -np.inf, behind), margin)
            if other is None:
                return
            gold[:], z = z, other
        learner.found[: stop - start] = z
        where = (learner.chains, learner.gold, learner.weights(), learner.order, first, last, learner.found)
        correct(*where, len(learner.labels), learner.work, int(stats[TIME]))
        stats[UPDATES] += 1
        stats[WRONG_TOKENS] += int(wrong.sum())
        stats[NEAR] += not wrong.any()

    def _best(self, first: int, last: int, margins: bool) -> tuple[np.ndarray, np.ndarray]:
        """The best labels of all, and how far the best labelling with each label is behind, if that is wanted."""
        chains = sentences_of(self.learner.chains, first, last)
        tokens, labels = int(chains.starts[-1]), len(self.learner.labels)
        out, scores = np.zeros(tokens, np.int64), np.zeros(last - first, np.float32)
        learner = self.learner
        given = (chains, learner.weights(), learner.order, 0, last - first, labels, learner.work, out, scores)
        behind = np.zeros((tokens if margins else 0, labels), np.float32)
        if margins and tokens:
            decode_with_margins(*given, np.zeros(tokens, np.float32), behind)
        else:
            decode(*given)
        return out, behind

    def _decode(self, first: int, last: int, mask_of: np.ndarray) -> np.ndarray:
        """The best labels of some sentences that the masks of their tokens leave."""
        learner, chains = self.learner, sentences_of(self.learner.chains, first, last)
        out, scores = np.zeros(int(chains.starts[-1]), np.int64), np.zeros(last - first, np.float32)
        given = (chains._replace(mask_of=mask_of), learner.weights(), learner.order, 0, last - first)
        decode(*given, len(learner.labels), learner.work, out, scores)
        return out

    def _complete(self, first: int, last: int, z: np.ndarray, wrong: np.ndarray) -> None:
        """gold = the best labels that agree, for the sentences whose best labels do not; else these."""
        learner = self.learner
        bounds, gold = learner.chains.starts[first : last + 1].tolist(), learner.gold
        for s, (lo, hi) in enumerate(pairwise(bounds), first):
            own = slice(lo - bounds[0], hi - bounds[0])
            gold[lo:hi] = self._decode(s, s + 1, self.mask_of[lo:hi]) if wrong[own].any() else z[own]

    def _nearest(self, first: int, last: int, z: np.ndarray, behind: np.ndarray, margin: float) -> np.ndarray | None:
        """The best labels that do not agree, where z agrees; None: they are behind by more than the margin.

        They have a label y at some token i that it is known not to have: the best such labelling of all.
        """
        if not behind.size:
            return None
        i, y = divmod(int(behind.argmax()), behind.shape[1])
        if -behind[i, y] > margin:
            return None
        starts = self.learner.chains.starts
        token = int(starts[first]) + i
        s = int(np.searchsorted(starts, token, "right")) - 1
        lo, hi, origin = int(starts[s]), int(starts[s + 1]), int(starts[first])
        mask_of, found = self.usual[lo:hi].copy(), z.copy()
        mask_of[token - lo] = self.first_mask + 1 + y
        found[lo - origin : hi - origin] = self._decode(s, s + 1, mask_of)
        return found


def sentences_of(chains: EncodedChains, first: int, last: int) -> EncodedChains:
    """Sentences first … last - 1, as if there were no others."""
    starts = chains.starts[first : last + 1]
    lo, hi = int(starts[0]), int(starts[-1])
    pair_ptr = chains.pair_ptr[lo : hi + 1] if len(chains.pair_ptr) else chains.pair_ptr
    mask_of = chains.mask_of[lo:hi] if len(chains.mask_of) else chains.mask_of
    return chains._replace(starts=starts - lo, ptr=chains.ptr[lo : hi + 1], pair_ptr=pair_ptr, mask_of=mask_of)
