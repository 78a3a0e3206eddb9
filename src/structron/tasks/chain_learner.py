"""Learning a chain model: numbers the features, runs passes of the compiled learner, gives the model of the moment.

The state of a learner is a few arrays, so that a checkpoint is exact and training can go on with new data, new
features and new labels.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from structron.errors import StructronError
from structron.features.index import Numbered, number_features
from structron.features.names import Names
from structron.kernels import aligned_zeros, hash_list, is_cold
from structron.model import Rows
from structron.search.chain import FORBIDDEN, Chains, Weights, make_work
from structron.tasks.chain_model import NO_INTS, NO_NUMBERS, ChainModel, Dictionary, Prepared, Votes, fixed_rows
from structron.update.perceptron import TIME, TOKENS, UPDATES, WRONG_TOKENS, learn

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

    @classmethod
    def of_model(cls, model: ChainModel) -> "Start":
        """Go on from a finished model: its weights are the first vector of a new mean."""
        rows = np.arange(model.fixed, model.fixed + len(model.keys), dtype=np.int32)
        blocks = (model.block_keys, model.block_rows, model.pair_names)
        return cls(model.labels, model.w, None, 0, model.keys, rows, model.names, *blocks)


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
    ):
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
        count, contexts = len(labels), len(labels) + 1
        self.rows = Rows(count, fixed_rows(count, order))
        self.row_of = np.full(len(self.plain.keys), -1, np.int32)
        self.block_of = np.full(len(self.pairs.keys), -1, np.int32)
        self.block_rows = np.full((256 if has_pairs else 0, contexts), -1, np.int32)
        self.penalty = np.zeros((contexts, self.rows.stride), np.float32)
        self.penalty[:, :count][~allowed_learning] = FORBIDDEN
        self.masks = np.zeros((len(dictionary.masks), self.rows.stride), np.float32)
        self.masks[:, :count][~dictionary.masks] = FORBIDDEN
        self.stats = np.zeros(4, np.int64)
        if start is not None:
            self._load_start(start)
        longest = int(np.diff(prepared.starts).max(initial=1))
        self.work = make_work(longest, count, self.rows.stride, order)
        self.ballots = _Ballots(self.rows) if average == "voted" else None

    @property
    def examples(self) -> int:
        return len(self.prepared.starts) - 1

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
        return is_cold(learn)

    def warm_up(self) -> None:
        """Load or compile the kernels, so that the time of a pass is that of a pass."""
        args = (self.order, np.zeros(0, np.int64), 0, 0, len(self.labels), self.work, self.stats)
        learn(self.chains, self.gold, self.weights(), *args)

    def begin_pass(self) -> None:
        self.stats[UPDATES:] = 0

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        """Learn from some sentences of the sequence from place lo on; returns the place to go on from."""
        hi = lo + 1
        if self.ballots is None:
            tokens = np.cumsum(np.diff(self.prepared.starts)[sequence[lo : lo + CALL_TOKENS]])
            hi = lo + max(1, int(np.searchsorted(tokens, CALL_TOKENS, "right")))
        args = (self.order, sequence, lo, hi, len(self.labels), self.work, self.stats)
        done = learn(self.chains, self.gold, self.weights(), *args)
        if done == lo:
            self._grow(int(sequence[lo]))
        elif self.ballots is not None:
            self.ballots.cast(self.rows)
        return done

    def _grow(self, s: int) -> None:
        """Make room for all that one sentence can touch, and for many more."""
        start, stop = self.chains.starts[s], self.chains.starts[s + 1]
        pairs = 0
        if len(self.chains.pair_ptr):
            pairs = int(self.chains.pair_ptr[stop] - self.chains.pair_ptr[start])
            more = max(pairs, len(self.block_rows))
            self.block_rows = np.concatenate([self.block_rows, np.full((more, self.block_rows.shape[1]), -1, np.int32)])
        self.rows.reserve(int(self.chains.ptr[stop] - self.chains.ptr[start]) + 2 * pairs)

    def counts(self) -> dict[str, int]:
        """This pass's figures for the progress line and the log."""
        return {
            "updates": int(self.stats[UPDATES]),
            "wrong_tokens": int(self.stats[WRONG_TOKENS]),
            "tokens": int(self.stats[TOKENS]),
        }

    def fingerprint(self) -> str:
        """Tells whether a checkpoint was made from the same data and options."""
        digest = hashlib.sha256(f"{self.labels} {self.order} {self.average}".encode())
        for array in (
            self.gold,
            self.plain.numbers,
            self.plain.values,
            self.plain.keys,
            self.pairs.numbers,
            self.pairs.keys,
        ):
            digest.update(np.ascontiguousarray(array).data if array.size else b"-")
        for array in (self.penalty, self.masks, *((self.start.w,) if self.start else ())):
            digest.update(array.tobytes())
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
        if len(state["row_of"]) != len(self.row_of) or state["w"].shape[1:] != (self.rows.stride,):
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
        """The model that the weights of this moment make, features without weight left out."""
        if self.average == "mean":
            w = self.rows.mean(int(self.stats[TIME]))
        else:
            w = self.rows.w[: int(self.rows.size[0])].copy()
        keep = (w != 0).any(axis=1) if self.ballots is None else np.ones(len(w), bool)
        fixed = fixed_rows(len(self.labels), self.order)
        numbers = np.flatnonzero(self.row_of >= 0)
        numbers = numbers[keep[self.row_of[numbers]]]
        pair_numbers = np.flatnonzero(self.block_of >= 0)
        block_rows = self.block_rows[self.block_of[pair_numbers]]
        block_rows = np.where((block_rows >= 0) & keep[block_rows], block_rows, -1)
        alive = (block_rows >= 0).any(axis=1)
        pair_numbers, block_rows = pair_numbers[alive], block_rows[alive]
        used = block_rows >= 0
        order = np.concatenate([np.arange(fixed), self.row_of[numbers], block_rows[used]]).astype(np.int64)
        packed = aligned_zeros((len(order), self.rows.stride), np.float32)
        packed[:] = w[order]
        block_rows[used] = np.arange(fixed + len(numbers), len(order))
        return ChainModel(
            self.labels,
            self.order,
            packed,
            self.plain.keys[numbers],
            self.pairs.keys[pair_numbers],
            block_rows.astype(np.int32),
            self.allowed,
            self.dictionary,
            LazyNames(self, self.plain, numbers, False),  # type: ignore[arg-type]
            LazyNames(self, self.pairs, pair_numbers, True),  # type: ignore[arg-type]
            self.ballots.votes(order, self.rows.stride) if self.ballots else None,
        )

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


@dataclass(slots=True)
class LazyNames:
    """Names to be written only for the model that is kept."""

    learner: ChainLearner
    numbered: Numbered
    numbers: np.ndarray
    paired: bool


class _Ballots:
    """The voted perceptron's list of vectors: the difference that each update made, and how long each survived."""

    def __init__(self, rows: Rows):
        self.first = rows.w[: int(rows.size[0])].copy()
        self.before = self.first.copy()
        self.counts = [0]
        self.cells: list[np.ndarray] = []
        self.amounts: list[np.ndarray] = []

    def cast(self, rows: Rows) -> None:
        """After one example: one more vote for the present vector, a new one if it was updated."""
        now = rows.w[: int(rows.size[0])]
        before = np.zeros_like(now)
        before[: len(self.before)] = self.before
        change = now - before
        if change.any():
            cells = np.flatnonzero(change)
            self.cells.append(cells)
            self.amounts.append(change.reshape(-1)[cells])
            self.counts.append(0)
            self.before = now.copy()
        self.counts[-1] += 1

    def votes(self, order: np.ndarray, stride: int) -> Votes:
        """The list in terms of the rows of a finished model."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        start = np.zeros((len(order), stride), np.float32)
        start[place[: len(self.first)]] = self.first
        ptr = np.cumsum([0] + [len(c) for c in self.cells]).astype(np.int64)
        cells = np.concatenate(self.cells) if self.cells else np.empty(0, np.int64)
        amounts = np.concatenate(self.amounts) if self.amounts else np.empty(0, np.float32)
        cells = place[cells // stride] * stride + cells % stride
        return Votes(np.array(self.counts, np.int64), ptr, cells, amounts, start.reshape(-1))

    def state(self) -> dict[str, np.ndarray]:
        lengths = np.array([len(c) for c in self.cells], np.int64)
        state = {"vote_first": self.first, "vote_counts": np.array(self.counts, np.int64), "vote_lengths": lengths}
        state["vote_cells"] = np.concatenate([NO_INTS, *self.cells])
        state["vote_amounts"] = np.concatenate([np.empty(0, np.float32), *self.amounts])
        return state

    def restore(self, state: dict[str, np.ndarray], rows: Rows) -> None:
        ends = np.cumsum(state["vote_lengths"])
        self.first, self.counts = state["vote_first"], state["vote_counts"].tolist()
        self.cells = np.split(state["vote_cells"], ends[:-1]) if len(ends) else []
        self.amounts = np.split(state["vote_amounts"], ends[:-1]) if len(ends) else []
        self.before = rows.w[: int(rows.size[0])].copy()


def make_dictionary(prepared: Prepared, gold: np.ndarray, labels: int, at_least: int) -> Dictionary:
    """The words of the training data; with at_least > 0, those seen that often keep to the labels they were seen with."""
    hashes = hash_list(prepared.word_types)
    order = np.argsort(hashes)
    if at_least == 0:
        return Dictionary(hashes[order], np.zeros(len(order), np.int32), np.ones((1, labels), bool))
    seen = np.zeros((len(hashes), labels), bool)
    seen[prepared.word_ids, gold] = True
    seen[np.bincount(prepared.word_ids, minlength=len(hashes)) < at_least] = True
    return Dictionary.of(hashes[order], seen[order])
