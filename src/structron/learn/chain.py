"""Learning a chain model: numbers the features, runs passes of the compiled learner, gives the model of the moment.

The state of a learner is a few arrays, so that a checkpoint is exact and training can go on with new data, new
features and new labels.
"""

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structron.errors import StructronError
from structron.features.index import Numbered, number_features
from structron.features.names import Names
from structron.kernels.jit import is_cold
from structron.learn.snapshot import LazyNames, assemble
from structron.learn.votes import Ballots
from structron.model.chain import NO_INTS, NO_NUMBERS, ChainModel, Dictionary, Prepared, fixed_rows
from structron.search.chain.scores import FORBIDDEN, Chains, Weights, make_work
from structron.update.margin import learn_with_margin
from structron.update.perceptron import INVALID, NEAR, STATS, TIME, TOKENS, UPDATES, WRONG_TOKENS, learn
from structron.weights.dense import Rows

if TYPE_CHECKING:
    from structron.update.swvp import Swvp

CALL_TOKENS = 50_000
"""Tokens learned from in one compiled call; between calls Python shows progress and hears Ctrl-C."""


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
    non_local: dict[str, tuple[float, float]] | None = None  # weights and sums of non-local features

    @classmethod
    def of_model(cls, model: ChainModel) -> "Start":
        """Go on from a finished model: its weights are the first vector of a new mean."""
        rows = np.arange(model.fixed, model.fixed + len(model.keys), dtype=np.int32)
        blocks = (model.block_keys, model.block_rows, model.pair_names)
        return cls(model.labels, model.w, None, 0, model.keys, rows, model.names, *blocks, model.non_local_start())


class ChainLearner:
    """The learner that `train.train` drives."""

    def __init__(
        self,
        prepared: Prepared,
        gold: np.ndarray,
        labels: list[str],
        order: int,
        allowed: np.ndarray,
        allowed_learning: np.ndarray,
        dictionary: Dictionary,
        cutoff: int = 0,
        average: str = "mean",
        start: Start | None = None,
        margin: float | None = None,
        swvp: "Swvp | None" = None,
    ):
        """margin: C of Kazama & Torisawa's margin perceptron (update/margin.py); None: Collins' perceptron.

        swvp: weighted violations (update/swvp.py), of sentences also where they stand in documents.
        """
        self.margin, self.swvp = margin, swvp
        sentences = np.arange(len(prepared.starts))
        self.units = sentences if swvp else getattr(prepared, "units", sentences)
        self.prepared, self.gold, self.labels, self.order = prepared, gold, labels, order
        self.allowed, self.dictionary, self.average, self.start = allowed, dictionary, average, start
        self.plain = number_features(prepared.hashes, prepared.starts, cutoff, start.keys if start else None)
        known_pairs = start.block_keys if start else None
        self.pairs = number_features(prepared.pair_hashes, prepared.starts, cutoff, known_pairs)
        has_pairs = prepared.has_pairs or len(self.pairs.keys) > 0
        mask_of = NO_NUMBERS
        if dictionary.mask.any():
            place = dictionary.find(prepared.word_types)
            mask_of = dictionary.mask[place].astype(np.int32)[prepared.word_ids]
        self.chains = Chains(
            prepared.starts,
            self.plain.ptr,
            self.plain.numbers,
            self.plain.values,
            self.pairs.ptr if has_pairs else NO_INTS,
            self.pairs.numbers,
            mask_of,
        )
        self._start_weights()
        count, stride = len(labels), self.rows.stride
        self.penalty = np.zeros((count + 1, stride), np.float32)
        self.penalty[:, :count][~allowed_learning] = FORBIDDEN
        self.masks = np.zeros((len(dictionary.masks), stride), np.float32)
        self.masks[:, :count][~dictionary.masks] = FORBIDDEN
        longest = int(np.diff(prepared.starts).max(initial=1))
        self.work = make_work(longest, count, stride, order)
        self.found = np.zeros(int(self.sizes.max(initial=1)), np.int64)

    def _start_weights(self) -> None:
        """Weights before the first example: none, or those that training goes on from."""
        count, has_pairs = len(self.labels), len(self.chains.pair_ptr) > 0
        self.rows = Rows(count, fixed_rows(count, self.order), len(self.plain.keys) // 2)
        self.row_of = np.full(len(self.plain.keys), -1, np.int32)
        self.block_of = np.full(len(self.pairs.keys), -1, np.int32)
        self.block_rows = np.full((256 if has_pairs else 0, count + 1), -1, np.int32)
        self.stats = np.zeros(STATS, np.int64)
        if self.start is not None:
            self._load_start(self.start)
        self.ballots = Ballots(self.rows) if self.average == "voted" else None

    def twin(self) -> "ChainLearner":
        """Another learner of the same data and options, at its start."""
        other = copy.copy(self)
        other._start_weights()
        return other

    @property
    def examples(self) -> int:
        return len(self.units) - 1

    @property
    def sizes(self) -> np.ndarray:
        """int64[examples]: the tokens of each."""
        return np.diff(self.prepared.starts[self.units])

    def _load_start(self, start: Start) -> None:
        """Copy an older model's rows to where they belong among the present labels and contexts."""
        index = {label: y for y, label in enumerate(self.labels)}
        column = np.array([index[label] for label in start.labels], np.int64)
        context = np.concatenate([[0], column + 1])
        old, new = len(start.labels) + 1, len(self.labels) + 1
        source, target = list(range(old)), list(context)
        if self.order == 2:
            pairs = [(a, b) for a in range(old) for b in range(old)]
            source += [old + a * old + b for a, b in pairs]
            target += [new + int(context[a]) * new + int(context[b]) for a, b in pairs]
        first = int(self.rows.size[0])
        used = start.block_rows >= 0
        feature_rows = np.concatenate([start.rows, start.block_rows[used]]).astype(np.int64)
        self.rows.reserve(len(feature_rows))
        source += feature_rows.tolist()
        target += range(first, first + len(feature_rows))
        self.rows.w[np.array(target)[:, None], column] = start.w[np.array(source)][:, : len(column)]
        if start.u is not None:
            self.rows.u[np.array(target)[:, None], column] = start.u[np.array(source)][:, : len(column)]
        self.rows.size[:] = first + len(feature_rows), len(start.block_keys)
        self.row_of[: len(start.keys)] = np.arange(first, first + len(start.keys))
        self.block_of[: len(start.block_keys)] = np.arange(len(start.block_keys))
        block_rows = np.full((len(start.block_keys), new), -1, np.int32)
        place = np.full(start.block_rows.shape, -1, np.int32)
        place[used] = np.arange(first + len(start.keys), first + len(feature_rows))
        block_rows[:, context] = place
        self.block_rows = np.concatenate([block_rows, self.block_rows])
        self.stats[TIME] = start.time

    def weights(self) -> Weights:
        rows = self.rows
        return Weights(rows.w, rows.u, self.row_of, self.block_of, self.block_rows, rows.size, self.penalty, self.masks)

    def is_cold(self) -> bool:
        if self.swvp is not None:
            from structron.update.swvp_chain import learn_swvp

            return is_cold(learn_swvp)
        return is_cold(learn if self.margin is None else learn_with_margin)

    def warm_up(self) -> None:
        """Load or compile the kernels, so that the time of a pass is that of a pass."""
        self._call(np.zeros(0, np.int64), 0, 0)

    def _call(self, sequence: np.ndarray, lo: int, hi: int) -> int:
        """Learn from the examples sequence[lo:hi]; returns the place where it had to stop for want of rows."""
        if self.swvp is not None:
            return self._call_swvp(self.swvp, sequence, lo, hi)
        data = (self.chains, self.units, self.gold, self.weights(), self.order, sequence, lo, hi)
        room = (len(self.labels), self.work, self.found, self.stats)
        return learn(*data, *room) if self.margin is None else learn_with_margin(*data, *room, float(self.margin))

    def _call_swvp(self, swvp: "Swvp", sequence: np.ndarray, lo: int, hi: int) -> int:
        from structron.update.swvp import make_mixed
        from structron.update.swvp_chain import learn_swvp, learn_with_function

        data = (self.chains, self.gold, self.weights(), self.order, sequence, lo, hi)
        room = (self.work, self.stats, swvp.rule, make_mixed(len(self.work.z)))
        if callable(swvp.jj):
            return learn_with_function(*data, self.labels, *room, swvp.jj)
        return learn_swvp(*data, len(self.labels), *room)

    def begin_pass(self) -> None:
        self.stats[UPDATES:] = 0

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        """Learn from some examples of the sequence from place lo on; returns the place to go on from."""
        hi = lo + 1
        if self.ballots is None:
            tokens = np.cumsum(self.sizes[sequence[lo : lo + CALL_TOKENS]])
            hi = lo + max(1, int(np.searchsorted(tokens, CALL_TOKENS, "right")))
        done = self._call(sequence, lo, hi)
        if done == lo:
            self._grow(int(sequence[lo]))
        elif self.ballots is not None:
            self.ballots.cast(self.rows)
        return done

    def _grow(self, example: int) -> None:
        """Make room for all that one example can touch, and for many more."""
        start, stop = self.chains.starts[self.units[example]], self.chains.starts[self.units[example + 1]]
        pairs = 0
        if len(self.chains.pair_ptr):
            pairs = int(self.chains.pair_ptr[stop] - self.chains.pair_ptr[start])
            more = max(pairs, len(self.block_rows))
            self.block_rows = np.concatenate([self.block_rows, np.full((more, self.block_rows.shape[1]), -1, np.int32)])
        self.rows.reserve(int(self.chains.ptr[stop] - self.chains.ptr[start]) + 2 * pairs)

    def add_non_local(self, other: "ChainLearner", share: float) -> None:
        """Add a share of another learner's weights of non-local features; there are none here."""

    def present(self) -> np.ndarray:
        """float32[rows, stride]: the weights as they count now, averaged or not."""
        if self.average == "mean":
            return self.rows.mean(int(self.stats[TIME]))
        return self.rows.w[: int(self.rows.size[0])]

    def counts(self) -> dict[str, int]:
        """This pass's figures for the progress line and the log; near: right, but not by the margin; invalid: updates
        that were no violations."""
        places = {"updates": UPDATES, "wrong_tokens": WRONG_TOKENS, "tokens": TOKENS}
        if self.margin is not None:
            places["near"] = NEAR
        if self.swvp is not None:
            places["invalid"] = INVALID
        return {name: int(self.stats[place]) for name, place in places.items()}

    def fingerprint(self) -> str:
        """Tells whether a checkpoint was made from the same data and options."""
        start = self.start
        how = f"{self.labels} {self.order} {self.average} {start.time if start else 0} {self.margin} {self.swvp}"
        digest = hashlib.sha256(how.encode())
        for array in (
            self.gold,
            self.units,
            self.prepared.starts,
            *(self.plain.ptr, self.plain.numbers, self.plain.values, self.plain.keys),
            *(self.pairs.ptr, self.pairs.numbers, self.pairs.keys),
            *(self.penalty, self.masks, self.allowed),
            *((start.w,) if start else ()),
        ):
            digest.update(f"{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data if array.size else b"")
        return digest.hexdigest()

    def state(self) -> dict[str, np.ndarray]:
        """Everything that later passes depend on."""
        used, blocks = self.rows.size
        state = {
            "w": self.rows.w[:used],
            "u": self.rows.u[:used],
            "size": self.rows.size,
            "row_of": self.row_of,
            "block_of": self.block_of,
            "block_rows": self.block_rows[:blocks],
            "stats": self.stats,
        }
        return state | (self.ballots.state() if self.ballots else {})

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state` gave for the same data and options."""
        fits = len(state["row_of"]) == len(self.row_of) and len(state["stats"]) == len(self.stats)
        if not fits or state["w"].shape[1:] != (self.rows.stride,):
            raise StructronError(
                "the checkpoint was made from other data or options; remove it or train without --resume"
            )
        used, blocks = (int(n) for n in state["size"])
        self.rows.reserve(max(0, used - int(self.rows.size[0])))
        self.rows.w[:used], self.rows.u[:used] = state["w"], state["u"]
        self.rows.size[:] = state["size"]
        self.row_of[:], self.block_of[:], self.stats[:] = state["row_of"], state["block_of"], state["stats"]
        spare = np.full((max(256, blocks) if blocks else len(self.block_rows), self.block_rows.shape[1]), -1, np.int32)
        self.block_rows = np.concatenate([state["block_rows"], spare])
        if self.ballots:
            self.ballots.restore(state, self.rows)

    def snapshot(self) -> ChainModel:
        """The model that the weights of this moment make."""
        return self.assemble([self])

    @staticmethod
    def assemble(members: Sequence["ChainLearner"]) -> ChainModel:
        """The model that the mean of the members' weights makes."""
        return assemble(members)

    def names_of(self, numbered: Numbered, numbers: np.ndarray, paired: bool) -> Names:
        """Names of features: those known before keep theirs, new ones are read off the training data."""
        tokens = numbered.tokens[numbers]
        new = tokens >= 0
        fresh = self.prepared.names(numbered.keys[numbers[new]], tokens[new], paired)
        if new.all() or self.start is None:
            return fresh
        old = (self.start.pair_names if paired else self.start.names).take(numbers[~new])
        place = np.empty(len(numbers), np.int64)
        place[~new], place[new] = np.arange(len(old)), np.arange(len(old), len(numbers))
        return (old + fresh).take(place)

    def finish(self, model: ChainModel) -> ChainModel:
        """Write out the names that a snapshot left for later."""
        for name in ("names", "pair_names"):
            lazy = getattr(model, name)
            if isinstance(lazy, LazyNames):
                setattr(model, name, self.names_of(lazy.numbered, lazy.numbers, lazy.paired))
        return model

    def as_start(self) -> Start:
        """What a further learner goes on from, exactly."""
        numbers, pair_numbers = np.flatnonzero(self.row_of >= 0), np.flatnonzero(self.block_of >= 0)
        return Start(
            self.labels,
            self.rows.w,
            self.rows.u,
            int(self.stats[TIME]),
            self.plain.keys[numbers],
            self.row_of[numbers],
            self.names_of(self.plain, numbers, False),
            self.pairs.keys[pair_numbers],
            self.block_rows[self.block_of[pair_numbers]],
            self.names_of(self.pairs, pair_numbers, True),
        )
