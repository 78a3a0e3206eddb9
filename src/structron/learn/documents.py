"""Learning local and non-local features together from n-best candidates (update/nbest.py says how)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structron.features.documents import NonLocal, NonLocalFeatures, Opened
from structron.features.phrases import make_counts, non_local_features
from structron.io.tensors import Tensors
from structron.kernels.jit import entry
from structron.learn.chain import CALL_TOKENS, Chain, ChainLearner, Perceptron, Start
from structron.learn.loop import ShardUpdate, batch_end
from structron.learn.partial import Knowledge
from structron.learn.parts import Bounds
from structron.model.documents import DocumentModel
from structron.search.chain.candidates import Candidates, check_labels
from structron.search.chain.kbest import n_best, second_best
from structron.search.chain.scores import load_all, score_difference
from structron.update.nbest import (
    LEARN_DOCUMENTS,
    LEARN_SENTENCES,
    LOCAL_UPDATES,
    SENTENCES,
    DocumentExamples,
    find_update,
)
from structron.update.perceptron import NEAR, TIME, TOKENS, UPDATES, WRONG_TOKENS, correct, has_capacity


@dataclass(frozen=True, slots=True)
class NBest:
    """The parameters of Algorithms 4.1 and 4.2."""

    sources: tuple[NonLocal, ...] = ()
    candidates: int = 20
    test_candidates: int = 100
    local_update: str = "aggressive"
    local_margin: float | None = None


class DocumentLearner(ChainLearner):
    """The learner that `train.train` drives: one document after the other."""

    working = (*ChainLearner.working, "opened", "search", "agreeing", "features", "g", "local_updates")

    def __init__(
        self,
        prepared: Any,
        gold: np.ndarray,
        chain: Chain,
        margin: float | None,
        nbest: NBest,
        start: Start | None,
        knowledge: Knowledge | None = None,
    ):
        check_labels(len(chain.labels))
        self.nbest, self.margin = nbest, margin
        super().__init__(prepared, gold, chain, Perceptron(margin), start, knowledge)

    def _begin(self) -> None:
        super()._begin()
        self.opened = Opened(self.prepared)
        sizes = (len(self.labels), self.store.stride, self.order)
        self.search = Candidates(self.chains, self.units, *sizes, self.work)
        if self.partial is not None:
            self.agreeing = Candidates(self.partial.agreeing, self.units, *sizes, self.work)
        self.features = NonLocalFeatures(self.labels, self.nbest.sources)
        self.g = np.zeros((2, len(self.features)))  # weights, and their sums for the mean
        self.local_updates = np.zeros(1, np.int64)
        known = self.start.documents if self.start is not None else None
        for name, values in (known or {}).items():
            self._number(name)
            self.g[:, self.features.names.index(name)] = values

    def _bounds(self, starts: np.ndarray, units: np.ndarray, tokens: np.ndarray) -> Bounds:
        prepared = self.prepared
        return Bounds(starts, units, prepared.word_types, np.asarray(prepared.word_ids)[tokens])

    def _number(self, name: str) -> None:
        """Make sure that a feature has a number and a weight."""
        if name not in self.features.inventory.names:
            self.features.number.setdefault(name, len(self.features))
        self._grow_weights()

    def _grow_weights(self) -> None:
        more = len(self.features) - self.g.shape[1]
        if more:
            self.g = np.concatenate([self.g, np.zeros((2, more))], axis=1)

    def warm_up(self) -> None:
        self._learn_documents(np.zeros(0, np.int64), 0, 0)

    def begin_pass(self) -> None:
        super().begin_pass()
        self.local_updates[0] = 0

    def _correct(self, example: int, z: np.ndarray) -> None:
        """w += Φˡ(x, y) - Φˡ(x, z)."""
        first, last = self.units[example], self.units[example + 1]
        self.found[: len(z)] = z
        where = (self.chains, self.gold, self.weights(), self.order, first, last, self.found)
        correct(*where, len(self.labels), self.work, int(self.stats[TIME]))

    @property
    def margins(self) -> tuple[float, float]:
        """Cᵃ and Cˡ."""
        margin = 0.0 if self.margin is None else float(self.margin)
        return margin, margin if self.nbest.local_margin is None else float(self.nbest.local_margin)

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        """Learn from documents from place lo of the sequence on; returns the place to go on from."""
        starts, partial = self.prepared.starts[self.units], self.partial
        hi = batch_end(starts, sequence, lo, CALL_TOKENS)
        if partial is not None and partial.open[sequence[lo]]:
            done = self._learn_partial(int(sequence[lo]), lo)
        elif self.features.functions:
            return self._learn_with_functions(sequence, lo)
        else:
            hi = hi if partial is None else partial.closed_until(sequence, lo, hi)
            done = self._learn_documents(sequence, lo, hi)
        if done == lo:
            self._grow(int(sequence[lo]))
        return done

    def _learn_partial(self, example: int, place: int) -> int:
        """Algorithm 4.1 or 4.2 for a document with open labels: see learn/partial.py. Returns the place to go on from.

        The best candidate that agrees with what is known is learned; of the others, the best that does not.
        """
        partial, how = self.partial, self.nbest.local_update
        first, last = int(self.units[example]), int(self.units[example + 1])
        assert partial is not None
        if not partial.fits(example):
            return place
        margin, local_margin = self.margins
        start, stop = int(self.chains.starts[first]), int(self.chains.starts[last])
        weights, may = self.weights(), partial.known.masks[partial.known.mask_of[start:stop]]
        load_all(weights, self.order, len(self.labels), self.work)
        rows, losses, score = next(self.search.find(weights, example, example + 1, self.nbest.candidates))
        wrong = ~may[np.arange(stop - start), rows].all(axis=1)
        agreeing, behind, best = next(self.agreeing.find(weights, example, example + 1, self.nbest.candidates))
        values = self.features.of(self.opened, example, np.concatenate([rows, agreeing]), learning=True)
        self._grow_weights()
        total = values @ self.g[0] + np.concatenate([-losses, best - score - behind])
        y, z = len(rows) + int(total[len(rows) :].argmax()), int(np.where(wrong, total[: len(rows)], -np.inf).argmax())
        nonlocally = bool(wrong[z]) and total[y] - total[z] <= margin
        if how == SENTENCES or not nonlocally:
            self._learn_locally(first, last, wrong, local_margin)
        if how != SENTENCES and nonlocally:
            self.stats[TIME] += 1
            self.stats[TOKENS] += stop - start
            self.gold[start:stop] = agreeing[y - len(rows)]
            self._correct(example, rows[z])
            self.stats[UPDATES] += 1
        if nonlocally:
            self.stats[WRONG_TOKENS] += int(np.count_nonzero(~may[np.arange(stop - start), rows[z]]))
            change = values[y] - values[z]
            self.g += np.stack([change, change * (int(self.stats[TIME]) - 1)])
        return place + 1

    def _learn_locally(self, first: int, last: int, wrong: np.ndarray, margin: float) -> None:
        """(B) of the algorithms, or Algorithm 3.1 sentence by sentence. wrong: which candidates do not agree."""
        how, partial, before = self.nbest.local_update, self.partial, int(self.stats[UPDATES])
        assert partial is not None
        if how == SENTENCES:
            for s in range(first, last):
                partial.step(s, s + 1, margin)
        elif how == "aggressive" or (how == "conservative" and wrong.all()):
            partial.step(first, last, margin)
        else:
            self.stats[TIME] += 1
            self.stats[TOKENS] += int(self.chains.starts[last] - self.chains.starts[first])
        self.local_updates[0] += int(self.stats[UPDATES]) - before

    def _learn_documents(self, sequence: np.ndarray, lo: int, hi: int) -> int:
        """A batch of a pass where all features are built-in ones."""
        load_all(self.weights(), self.order, len(self.labels), self.work)
        pointers = (self.viterbi, n_best, non_local_features)
        while True:
            given = self._given()
            where: Any = (self.units, sequence, lo, hi, given)
            lo = LEARN_DOCUMENTS(*pointers, score_difference, second_best, correct, *where)
            if not given.full[0]:
                return lo
            self.search.growing.grow()

    def _given(self) -> DocumentExamples:
        """What kernels need."""
        features, nbest, most = self.features, self.nbest, self.nbest.candidates
        scheme, phrases, kinds, wanted = features.inventory.scheme, self.opened.phrases, features.kinds, features.wanted
        return DocumentExamples(
            self.chains,
            self.gold,
            self.weights(),
            self.order,
            len(self.labels),
            self.work,
            self.search.growing.trellis,
            self.found,
            self.stats,
            scheme,
            phrases,
            wanted,
            int(wanted.any()),
            self.g,
            kinds,
            most,
            *self.margins,
            LOCAL_UPDATES.index(nbest.local_update),
            self.local_updates,
            make_counts(phrases, kinds),
            np.empty((most + 1, len(features))),
            np.empty(most + 1),
            np.zeros_like(self.stats),
            self.search.growing.of(most),
            self.near,
            np.zeros(1, np.int64),
        )

    def _learn_with_functions(self, sequence: np.ndarray, lo: int) -> int:
        """The same for the document at place lo, where a user's functions have to be asked."""
        example = int(sequence[lo])
        first, last = int(self.units[example]), int(self.units[example + 1])
        start, stop = int(self.chains.starts[first]), int(self.chains.starts[last])
        if not entry(has_capacity)(self.chains, self.weights(), start, stop):
            self._grow(example)
            return lo
        self._learn_document(example, self.gold[start:stop].astype(np.int16))
        if self.nbest.local_update == SENTENCES:
            own, pointers = np.zeros_like(self.stats), (self.viterbi, second_best)
            data: Any = (self.chains, self.gold, self.weights(), self.order, first, last, len(self.labels), self.work)
            LEARN_SENTENCES(*pointers, correct, *data, self.near, self.found, self.stats, own, self.margins[1])
            self.local_updates[0] += own[UPDATES]
        return lo + 1

    def _learn_document(self, example: int, y: np.ndarray) -> None:
        """Algorithm 4.1 or 4.2 for one document, as `update.nbest.learn_document`."""
        weights = self.weights()
        load_all(weights, self.order, len(self.labels), self.work)
        rows, losses, _ = next(self.search.find(weights, example, example + 1, self.nbest.candidates))
        place = np.flatnonzero((rows == y).all(axis=1))
        gold = int(place[0]) if len(place) else -1
        labels = (y.astype(np.int64), rows[0].astype(np.int64), len(self.labels))
        between = (self.order, self.units[example], self.units[example + 1], *labels)
        gold_local = -losses[gold] if gold >= 0 else score_difference(self.chains, weights, *between)
        values = self.features.of(self.opened, example, np.concatenate([rows, y[None]]), learning=True)
        self._grow_weights()
        added = values @ self.g[0]
        total = added[:-1] - losses
        right = (gold, gold_local, gold_local + added[-1])
        step = find_update(-losses, total, right, *self.margins, self.nbest.local_update)
        wrong = int(np.count_nonzero(rows[int(np.argmax(total))] != y))
        self.stats[TIME] += 1
        self.stats[TOKENS] += len(y)
        self.stats[WRONG_TOKENS] += wrong
        if step is None:
            return
        if self.nbest.local_update != SENTENCES:
            self._correct(example, rows[step.candidate])
        if not step.local:
            change = values[-1] - values[step.candidate]
            self.g += np.stack([change, change * (int(self.stats[TIME]) - 1)])
        self.stats[UPDATES] += 1
        self.stats[NEAR] += wrong == 0
        self.local_updates[0] += step.local

    def add(self, other: Any, share: float) -> None:
        super().add(other, share)
        for name, weight in zip(other.features.names, other.g[0].tolist(), strict=True):
            self._number(name)
            self.g[0, self.features.names.index(name)] += share * weight

    def copy_weights_from(self, common: Any) -> None:
        super().copy_weights_from(common)
        self.features.number = dict(common.features.number)
        self.g = np.stack([common.g[0], np.zeros_like(common.g[0])])

    def shard_update(self, common: Any) -> ShardUpdate:
        return super().shard_update(common)._replace(more=self._document_state())

    def mix(
        self, shard_updates: Sequence[ShardUpdate], shares: Sequence[float], by_change: bool = False, jobs: int = 1
    ) -> None:
        super().mix(shard_updates, shares, by_change, jobs)
        before, time = self.g[0].copy(), int(self.stats[TIME])
        for update, share in zip(shard_updates, shares, strict=True):
            (w, u), places = update.more["g"], self._places(update.more)
            change = w - np.pad(before, (0, len(self.features) - len(before)))[places]
            self.g[0, places] += share * change
            self.g[1, places] += time * share * change - update.steps * change + u

    def take(self, broadcast: ShardUpdate) -> None:
        super().take(broadcast)
        places = self._places(broadcast.more)
        self.g[0, places] = broadcast.more["g"][0]

    def _places(self, state: Tensors) -> np.ndarray:
        """Where the weights of another learner's features stand here; those that are new get numbers."""
        own = list(filter(None, state["g_names"].tobytes().decode().split("\n")))
        for name in own:
            self._number(name)
        numbers = [self.features.number[name] for name in own]
        return np.concatenate([np.arange(len(self.features.wanted)), np.array(numbers, np.int64)])

    def present_documents(self) -> np.ndarray:
        """The weights of non-local features as they count now, averaged or not."""
        time = int(self.stats[TIME])
        averaged = self.chain.average == "mean" and time
        return self.g[0] - self.g[1] / time if averaged else self.g[0].copy()

    def counts(self) -> dict[str, int]:
        return super().counts() | {"local_updates": int(self.local_updates[0])}

    def fingerprint(self) -> str:
        names = [*self.features.inventory.families, *self.features.functions]
        return f"{super().fingerprint()} {replace(self.nbest, sources=())} {' '.join(names)}"

    def _document_state(self) -> Tensors:
        names = "\n".join(self.features.number).encode()
        return {"g": self.g, "g_names": np.frombuffer(names, np.uint8)}

    def state(self) -> Tensors:
        return super().state() | self._document_state()

    def restore(self, state: Tensors) -> None:
        super().restore(state)
        self._places(state)
        self.g = state["g"].copy()

    @staticmethod
    def assemble(members: Any) -> DocumentModel:
        base, first = ChainLearner.assemble(members), members[0]
        own = list(dict.fromkeys(name for member in members for name in member.features.number))
        weights = dict.fromkeys([*first.features.inventory.names, *own], 0.0)
        for member in members:
            for name, weight in zip(member.features.names, member.present_documents().tolist(), strict=True):
                weights[name] += weight / len(members)
        return DocumentModel.of(base, first.nbest.sources, weights, first.nbest.test_candidates)

    def as_start(self) -> Start:
        names = self.features.names
        known = {name: (float(self.g[0, k]), float(self.g[1, k])) for k, name in enumerate(names)}
        return replace(super().as_start(), documents=known)
