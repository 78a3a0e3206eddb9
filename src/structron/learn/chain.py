"""Learning label sequences with exact search: the perceptron of Collins (2002), or one of its relatives.

    sentences ──features/index──▶ numbers ──search/chain──▶ z ──update──▶ rows of weights ──mean──▶ ChainModel

How a batch of a pass is learned from is the affair of an update: `Perceptron` here, `WeightedViolations` in
learn/weighted.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from structron.features.extract import Prepared
from structron.features.index import Numbered, number_features
from structron.features.names import Names
from structron.io.tensors import Tensors
from structron.learn.checkpoint import digest
from structron.learn.loop import Member, batch_end
from structron.learn.partial import Knowledge, PartialSteps
from structron.learn.parts import Bounds, lists_of, without_tokens
from structron.model.chain import ChainModel, Dictionary, fixed_rows, penalties
from structron.runtime.threads import for_each
from structron.search.chain.kbest import Near, make_near, second_best
from structron.search.chain.scores import (
    FORCED_OUT,
    NO_INTS,
    NO_NUMBERS,
    EncodedChains,
    Weights,
    load_all,
    make_work,
)
from structron.search.chain.viterbi import search_for
from structron.update.margin import LEARN_WITH_MARGIN
from structron.update.perceptron import LEARNERS, NEAR, STATS, TIME, TOKENS, UPDATES, WRONG_TOKENS, correct
from structron.weights.dense import DenseStore, pack_mean, row_stride

if TYPE_CHECKING:
    from structron.learn.votes import Ballots

CALL_TOKENS = 50_000
"""Tokens learned from in one compiled call; between calls Python shows progress and hears Ctrl-C."""


class Update(Protocol):
    """How to learn from a batch of a pass."""

    @property
    def figures(self) -> dict[str, int]:
        """What to report of a pass: names, and places in `stats`."""

    @property
    def whole_documents(self) -> bool:
        """Whether the sentences of a document are one example."""

    def learn(self, learner: "ChainLearner", sequence: np.ndarray, lo: int, hi: int) -> int: ...


@dataclass(frozen=True)
class Perceptron:
    """Collins' perceptron; with a margin C, that of Kazama & Torisawa (2007)."""

    margin: float | None = None
    whole_documents: ClassVar[bool] = True

    @property
    def figures(self) -> dict[str, int]:
        """near: examples that were right, but not by the margin."""
        return {} if self.margin is None else {"near": NEAR}

    def learn(self, learner: "ChainLearner", sequence: np.ndarray, lo: int, hi: int) -> int:
        """Learn from the examples sequence[lo:hi]; returns the place where it had to stop for want of rows."""
        chains, weights, order, labels = learner.chains, learner.weights(), learner.order, len(learner.labels)
        load_all(weights, order, labels, learner.work)
        data = (chains, learner.units, learner.gold, weights, order, sequence, lo, hi)
        scratch = (labels, learner.work, learner.found, learner.stats)
        if self.margin is None:
            return LEARNERS[learner.viterbi].call(*data, *scratch)
        return LEARN_WITH_MARGIN(
            learner.viterbi, second_best, correct, *data, *scratch, learner.near, float(self.margin)
        )


@dataclass(slots=True)
class Start:
    """What training goes on from: rows of weights under an older set of labels and features."""

    labels: list[str]
    w: np.ndarray
    u: np.ndarray | None
    time: int
    keys: np.ndarray  # plain features with their rows
    rows: np.ndarray
    names: Names
    block_keys: np.ndarray
    block_rows: np.ndarray
    pair_names: Names
    documents: dict[str, tuple[float, float]] | None = None  # weights and sums of features of documents

    @classmethod
    def of_model(cls, model: ChainModel) -> "Start":
        """Go on from a finished model: its weights are the first vector of a new mean."""
        rows = np.arange(model.fixed, model.fixed + len(model.keys), dtype=np.int32)
        blocks = (model.block_keys, model.block_rows, model.pair_names)
        return cls(model.labels, model.w, None, 0, model.keys, rows, model.names, *blocks)


@dataclass(frozen=True)
class Chain:
    """What is settled before learning: labels, constraints and how features are numbered."""

    labels: list[str]
    order: int
    allowed: np.ndarray  # bool[labels + 1, labels]: what may follow what when predicting …
    allowed_learning: np.ndarray  # … and while learning: all that the training data do as well
    dictionary: Dictionary
    cutoff: int = 0
    average: str = "mean"


def copy_rows(into: np.ndarray, places: np.ndarray, columns: np.ndarray, rows: np.ndarray) -> None:
    """Copy rows to some places, and their first columns to these; quickly where columns stay what they are."""
    count = len(columns)
    if np.array_equal(columns, np.arange(count)):
        into[places, :count] = rows[:, :count]
    else:
        into[places[:, None], columns] = rows[:, :count]


@dataclass(slots=True)
class LazyNames:
    """Names to be written only for the model that is kept."""

    numbered: Numbered
    numbers: np.ndarray
    paired: bool


class ChainLearner(Member):
    """The learner that `learn.loop` drives."""

    working: ClassVar[tuple[str, ...]] = ("store", "stats", "work", "viterbi", "found", "ballots", "partial")
    ballots: "Ballots | None"  # of a voted perceptron

    def __init__(
        self,
        prepared: Prepared,
        gold: np.ndarray,
        chain: Chain,
        update: Update | None = None,
        start: Start | None = None,
        knowledge: Knowledge | None = None,
    ):
        """knowledge: of the labels, if some are open; gold has -1 there."""
        self.update: Update = update or Perceptron()
        self.prepared, self.gold, self.chain, self.start = prepared, gold, chain, start
        self.knowledge = knowledge
        self.labels, self.order, dictionary = chain.labels, chain.order, chain.dictionary
        sentences = np.arange(len(prepared.starts))
        self.units = getattr(prepared, "units", sentences) if self.update.whole_documents else sentences
        known, known_pairs = (start.keys, start.block_keys) if start else (None, None)
        self.plain = number_features(prepared.hashes, prepared.starts, chain.cutoff, known, prepared.jobs)
        has_pairs = prepared.has_pairs or (known_pairs is not None and len(known_pairs) > 0)
        if has_pairs:
            self.pairs = number_features(
                prepared.pair_hashes, prepared.starts, chain.cutoff, known_pairs, prepared.jobs
            )
        else:
            self.pairs = Numbered.none(int(prepared.starts[-1]))
        mask_of = NO_NUMBERS
        if dictionary.mask.any():
            mask_of = dictionary.masks_of(prepared, slice(0, len(prepared.word_ids))).astype(np.int32)
        features = (self.plain.ptr, self.plain.numbers, self.plain.values)
        pairs = (self.pairs.ptr if has_pairs else NO_INTS, self.pairs.numbers)
        self.chains = EncodedChains(prepared.starts, *features, *pairs, mask_of)
        stride = row_stride(len(self.labels))
        self.fixed = fixed_rows(len(self.labels), self.order)
        self.penalty, self.masks = penalties(chain.allowed_learning, stride), penalties(dictionary.masks, stride)
        if knowledge is not None:
            self.masks = np.concatenate([self.masks, penalties(knowledge.masks, stride, FORCED_OUT)])
        self._begin()

    def _begin(self) -> None:
        count, paired = len(self.labels), len(self.chains.pair_ptr) > 0
        sizes = (len(self.plain.keys), len(self.pairs.keys))
        self.store = DenseStore(count, self.fixed, *sizes, paired)
        self.stats = np.zeros(STATS, np.int64)
        self.found = np.zeros(int(self.sizes.max(initial=1)), np.int64)
        longest = int(np.diff(self.prepared.starts).max(initial=1))
        self.work = make_work(longest, count, self.store.stride, self.order)
        self.viterbi: Any = search_for(self.chains, self.order, self.work)
        if self.start is not None:
            self._load_start(self.start)
        self.partial = None
        if self.knowledge is not None:
            self.gold = self.gold.copy()  # where labels are open, those of the last update
            self.partial = PartialSteps(self)
        self.ballots = None
        if self.chain.average == "voted":
            from structron.learn.votes import Ballots

            self.ballots = Ballots(self.store)

    @property
    def near(self) -> Near:
        """Room for the second best labels of a sentence."""
        return make_near(self.work, len(self.labels), self.order)

    def fresh_copy(self) -> Self:
        other = super().fresh_copy()
        other.update = replace(self.update)  # type: ignore[type-var]  # its room is for one learner
        return other

    def part(self, examples: np.ndarray) -> Self:
        c = self.chains
        units, sentences = lists_of(self.units, examples, np.arange(len(c.starts) - 1))
        starts, tokens = lists_of(c.starts, sentences, np.arange(int(c.starts[-1])))
        ptr, numbers, values = lists_of(c.ptr, tokens, c.numbers, c.values)
        pair_ptr, pairs = lists_of(c.pair_ptr, tokens, c.pair_numbers) if len(c.pair_ptr) else (c.pair_ptr, NO_NUMBERS)
        mask_of = c.mask_of[tokens] if len(c.mask_of) else c.mask_of
        return self._sent(
            chains=EncodedChains(starts, ptr, numbers, values, pair_ptr, pairs, mask_of),
            gold=self.gold[tokens],
            knowledge=None if self.knowledge is None else self.knowledge.take(tokens),
            units=units,
            prepared=self._bounds(starts, units, tokens),
            plain=without_tokens(self.plain),
            pairs=without_tokens(self.pairs),
            start=None,
        )

    def _bounds(self, starts: np.ndarray, units: np.ndarray, tokens: np.ndarray) -> Bounds:
        """What learning needs of prepared sentences."""
        return Bounds(starts, units)

    @property
    def examples(self) -> int:
        return len(self.units) - 1

    @property
    def sizes(self) -> np.ndarray:
        """int64[examples]: the tokens of each."""
        return np.diff(self.prepared.starts[self.units])

    def _load_start(self, start: Start) -> None:
        """Copy an older model's rows to where they belong among the present labels and contexts."""
        store, index = self.store, {label: y for y, label in enumerate(self.labels)}
        column = np.array([index[label] for label in start.labels], np.int64)
        context = np.concatenate([[0], column + 1])
        old, new = len(start.labels) + 1, len(self.labels) + 1
        source, target = list(range(old)), list(context)
        if self.order == 2:
            pairs = [(a, b) for a in range(old) for b in range(old)]
            source += [old + a * old + b for a, b in pairs]
            target += [new + int(context[a]) * new + int(context[b]) for a, b in pairs]
        used = start.block_rows >= 0
        feature_rows = np.concatenate([start.rows, start.block_rows[used]]).astype(np.int64)
        fresh = store.claim(len(feature_rows))
        rows = np.concatenate([np.array(source, np.int64), feature_rows])
        places = np.concatenate([np.array(target, np.int64), fresh])
        copy_rows(store.w, places, column, start.w[rows])
        if start.u is not None:
            copy_rows(store.u, places, column, start.u[rows])
        store.row_of[: len(start.keys)] = fresh[: len(start.keys)]
        store.block_of[: len(start.block_keys)] = np.arange(len(start.block_keys))
        store.size[1] = len(start.block_keys)
        block_rows = np.full((len(start.block_keys), new), -1, np.int32)
        place = np.full(start.block_rows.shape, -1, np.int32)
        place[used] = fresh[len(start.keys) :]
        block_rows[:, context] = place
        store.block_rows = np.concatenate([block_rows, store.block_rows])
        self.stats[TIME] = start.time

    def weights(self) -> Weights:
        """The weights as kernels read them."""
        s = self.store
        return Weights(s.w, s.u, s.row_of, s.block_of, s.block_rows, s.size, self.penalty, self.masks)

    # -- the loop's side -------------------------------------------------------------------------------------------

    def warm_up(self) -> None:
        self.update.learn(self, np.zeros(0, np.int64), 0, 0)

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        starts = self.prepared.starts[self.units]
        if self.ballots:
            hi = lo + 1
        else:
            hi = len(sequence) if starts[-1] <= CALL_TOKENS else batch_end(starts, sequence, lo, CALL_TOKENS)
        done = self._learn_batch(sequence, lo, hi)
        if done == lo:
            self._grow(int(sequence[lo]))
        elif self.ballots is not None:
            self.ballots.cast(self.store)
        return done

    def _learn_batch(self, sequence: np.ndarray, lo: int, hi: int) -> int:
        """Learn from examples that have open labels, or from some that have none; returns the place to go on from."""
        if self.partial is None:
            return self.update.learn(self, sequence, lo, hi)
        if self.partial.open[sequence[lo]]:
            return self.partial.learn(sequence, lo, hi, getattr(self.update, "margin", None))
        return self.update.learn(self, sequence, lo, self.partial.closed_until(sequence, lo, hi))

    def _grow(self, example: int) -> None:
        """Make room for all that one example can touch, and for many more."""
        start, stop = self.chains.starts[self.units[example]], self.chains.starts[self.units[example + 1]]
        pairs = 0
        if len(self.chains.pair_ptr):
            pairs = int(self.chains.pair_ptr[stop] - self.chains.pair_ptr[start])
        self.store.reserve(int(self.chains.ptr[stop] - self.chains.ptr[start]) + 2 * pairs, pairs)

    def counts(self) -> dict[str, int]:
        places = {"updates": UPDATES, "wrong_tokens": WRONG_TOKENS, "tokens": TOKENS} | self.update.figures
        return {name: int(self.stats[place]) for name, place in places.items()}

    def fingerprint(self) -> str:
        start = self.start
        how = f"{self.labels} {self.order} {self.chain.average} {start.time if start else 0} {self.update}"
        arrays = (
            *((self.gold,) if self.knowledge is None else (self.knowledge.masks, self.knowledge.mask_of)),
            *(self.units, self.prepared.starts),
            *(self.plain.ptr, self.plain.numbers, self.plain.values, self.plain.keys),
            *(self.pairs.ptr, self.pairs.numbers, self.pairs.keys),
            *(self.penalty, self.masks, self.chain.allowed),
            *((start.w,) if start else ()),
        )
        return digest(how, arrays)

    def state(self) -> Tensors:
        return self.store.state() | {"stats": self.stats} | (self.ballots.state() if self.ballots else {})

    def restore(self, state: Tensors) -> None:
        self.store.restore(state)
        self.stats[:] = state["stats"]
        if self.ballots:
            self.ballots.restore(state, self.store)

    # -- from learners to a model ----------------------------------------------------------------------------------

    def add(self, other: Any, share: float) -> None:
        self.store.add(other.store, share)

    def present(self) -> np.ndarray:
        """float32[rows, stride]: the weights as they count now, averaged or not."""
        return self.store.mean(int(self.stats[TIME]) if self.chain.average == "mean" else 0)

    @staticmethod
    def assemble(members: Sequence["ChainLearner"]) -> ChainModel:
        first = members[0]
        stores, jobs = [member.store for member in members], first.prepared.jobs
        if len(members) == 1:
            weights = [first.present()]
        else:
            weights = for_each(lambda member: member.present(), members, jobs)
        packed = pack_mean(stores, weights, first.ballots is not None, jobs)
        votes = None if first.ballots is None else first.ballots.votes(first.store.rows_of(packed), first.store.stride)
        return ChainModel(
            first.labels,
            first.order,
            packed.w,
            first.plain.keys[packed.numbers],
            first.pairs.keys[packed.pair_numbers],
            packed.block_rows,
            first.chain.allowed,
            first.chain.dictionary,
            LazyNames(first.plain, packed.numbers, False),  # type: ignore[arg-type]
            LazyNames(first.pairs, packed.pair_numbers, True),  # type: ignore[arg-type]
            votes,
        )

    def names_of(self, numbered: Numbered, numbers: np.ndarray, paired: bool) -> Names:
        """Names of features: those known before keep theirs, new ones are read off the training data."""
        if self.start is None:
            return self.prepared.names(numbered.keys[numbers], numbered.tokens[numbers], paired)
        known = self.start.pair_names if paired else self.start.names
        return numbered.names(numbers, known, lambda keys, tokens: self.prepared.names(keys, tokens, paired))

    def finish(self, model: ChainModel) -> ChainModel:
        for name in ("names", "pair_names"):
            lazy = getattr(model, name)
            if isinstance(lazy, LazyNames):
                setattr(model, name, self.names_of(lazy.numbered, lazy.numbers, lazy.paired))
        return model

    def as_start(self) -> Start:
        """What a further learner goes on from, exactly."""
        store = self.store
        numbers, pair_numbers = np.flatnonzero(store.row_of >= 0), np.flatnonzero(store.block_of >= 0)
        return Start(
            self.labels,
            store.w,
            store.u,
            int(self.stats[TIME]),
            self.plain.keys[numbers],
            store.row_of[numbers],
            self.names_of(self.plain, numbers, False),
            self.pairs.keys[pair_numbers],
            store.block_rows[store.block_of[pair_numbers]],
            self.names_of(self.pairs, pair_numbers, True),
        )
