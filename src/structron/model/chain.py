"""A trained chain model: labels, rows of weights and the features they belong to. Decodes; learns nothing.

rows 0 … fixed-1      label bigrams (and trigrams at order 2), see search/chain.py
then                  the row of plain feature j is fixed + j
then                  rows of paired features, found through block_rows
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from structron.errors import StructronError
from structron.features.extract import Hashes
from structron.features.index import look_up
from structron.features.names import Names
from structron.kernels.table import aligned_zeros, build_table, hash_list
from structron.search.chain.margins import decode_with_margins
from structron.search.chain.scores import FORBIDDEN, FORCED_OUT, Chains, Weights, Work, in_double, make_work
from structron.search.chain.viterbi import decode
from structron.threads import for_each, stretches
from structron.weights.dense import dense_rows, row_stride, sparse_rows

"""Tokens decoded in one compiled call: enough to forget the call, few enough to stay in cache and share out."""
NO_INTS = np.empty(0, np.int64)
NO_NUMBERS = np.empty(0, np.int32)
NO_SUMS = np.empty((0, 0), np.float64)
TENSORS = {
    "keys": (np.uint64, 1),
    "block_keys": (np.uint64, 1),
    "block_rows": (np.int32, 2),
    "allowed": (np.bool_, 2),
    "words": (np.uint64, 1),
    "word_mask": (np.int32, 1),
    "masks": (np.bool_, 2),
}
VOTE_TENSORS = {
    "vote_count": (np.int64, 1),
    "vote_ptr": (np.int64, 1),
    "vote_cell": (np.int64, 1),
    "vote_amount": (np.float32, 1),
    "vote_start": (np.float32, 1),
}
"""What a model file holds beside weights and names: kind and dimensions of each array."""


class Prepared(Protocol):
    """What an extractor makes of sentences (features/extract.py, features/attributes.py)."""

    starts: np.ndarray
    has_pairs: bool
    word_types: list[str]
    word_ids: np.ndarray

    def hashes(self, lo: int, hi: int) -> Hashes: ...
    def pair_hashes(self, lo: int, hi: int) -> Hashes: ...
    def names(self, keys: np.ndarray, tokens: np.ndarray, paired: bool) -> Names: ...
    def describe(self, s: int, token: int, paired: bool) -> Iterator[tuple[int, str, float]]: ...


def fixed_rows(labels: int, order: int) -> int:
    """How many rows the label n-grams take."""
    return labels + 1 + ((labels + 1) ** 2 if order == 2 else 0)


@dataclass(slots=True)
class Dictionary:
    """Which labels a known word may have: an optional constraint, and the words that training saw."""

    words: np.ndarray  # uint64[words], sorted: hashes of the words of the training data
    mask: np.ndarray  # int32[words]: row of `masks`; 0 = any label
    masks: np.ndarray  # bool[masks, labels]; row 0 all true

    def find(self, types: list[str]) -> np.ndarray:
        """int64[types]: the place of each type among the words, -1 for unknown ones."""
        hashes = hash_list(types)
        place = np.minimum(np.searchsorted(self.words, hashes), max(len(self.words) - 1, 0))
        if not len(self.words):
            return np.full(len(types), -1)
        return np.where(self.words[place] == hashes, place, -1)

    def merged(self, other: "Dictionary", labels: int) -> "Dictionary":
        """Both dictionaries' words, each with the labels that either allows it; labels are numbered as in `other`."""
        words = np.union1d(self.words, other.words)
        allowed = np.zeros((len(words), labels), bool)
        for source in (self, other):
            wide = np.zeros((len(source.masks), labels), bool)
            wide[:, : source.masks.shape[1]] = source.masks
            wide[source.masks.all(axis=1)] = True
            allowed[np.searchsorted(words, source.words)] |= wide[source.mask]
        return Dictionary.of(words, allowed)

    @classmethod
    def of(cls, words: np.ndarray, allowed: np.ndarray) -> "Dictionary":
        """From sorted words and bool[words, labels]: equal rows are stored once, row 0 allows everything."""
        everything = np.ones((1, allowed.shape[1]), bool)
        masks, mask = np.unique(np.concatenate([everything, allowed]), axis=0, return_inverse=True)
        mask = mask.reshape(-1)
        swap = np.arange(len(masks))
        swap[[0, mask[0]]] = swap[[mask[0], 0]]
        return cls(words, swap[mask[1:]].astype(np.int32), masks[swap])


@dataclass
class ChainModel:
    """Weights, features and constraints of a chain labeller."""

    labels: list[str]
    order: int
    w: np.ndarray  # float32[rows, stride]
    keys: np.ndarray  # uint64[plain features]
    block_keys: np.ndarray  # uint64[paired features]
    block_rows: np.ndarray  # int32[paired features, P]
    allowed: np.ndarray  # bool[P, labels]
    dictionary: Dictionary
    names: Names
    pair_names: Names
    votes: "Votes | None" = None
    meta: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def table(self) -> np.ndarray:
        return build_table(self.keys)

    @cached_property
    def block_table(self) -> np.ndarray:
        return build_table(self.block_keys)

    @property
    def fixed(self) -> int:
        return fixed_rows(len(self.labels), self.order)

    @cached_property
    def weights(self) -> Weights:
        """What the kernels read."""
        stride, labels = self.w.shape[1], len(self.labels)
        penalty = np.zeros((labels + 1, stride), np.float32)
        penalty[:, :labels][~self.allowed] = FORBIDDEN
        forced = ~np.eye(labels, dtype=bool)
        masks = np.zeros((len(self.dictionary.masks) + labels, stride), np.float32)
        masks[: len(self.dictionary.masks), :labels][~self.dictionary.masks] = FORBIDDEN
        masks[len(self.dictionary.masks) :, :labels][forced] = FORCED_OUT
        return Weights(
            w=self.w,
            u=NO_SUMS,
            row_of=np.arange(self.fixed, self.fixed + len(self.keys), dtype=np.int32),
            block_of=np.arange(len(self.block_keys), dtype=np.int32),
            block_rows=self.block_rows,
            size=np.array([len(self.w), len(self.block_keys)], np.int64),
            penalty=penalty,
            masks=masks,
        )

    def chains(self, prepared: Prepared, lo: int, hi: int, forced: np.ndarray | None = None) -> Chains:
        """Sentences lo … hi-1 as the kernels read them. forced: int[tokens of all sentences], -1 = free."""
        starts = prepared.starts[lo : hi + 1] - prepared.starts[lo]
        ptr, numbers, values = look_up(self.table, prepared.hashes(lo, hi))
        pair_ptr, pair_numbers = NO_INTS, NO_NUMBERS
        if prepared.has_pairs:
            pair_ptr, pair_numbers, _ = look_up(self.block_table, prepared.pair_hashes(lo, hi))
        tokens = slice(int(prepared.starts[lo]), int(prepared.starts[hi]))
        mask_of = NO_NUMBERS
        if self.dictionary.mask.any() or forced is not None:
            mask_of = np.zeros(int(starts[-1]), np.int32)
        if self.dictionary.mask.any():
            place = self.dictionary.find(prepared.word_types)
            mask_of = np.where(place < 0, 0, self.dictionary.mask[place]).astype(np.int32)[prepared.word_ids[tokens]]
        if forced is not None:
            here = forced[tokens]
            mask_of = np.where(here < 0, mask_of, here + len(self.dictionary.masks)).astype(np.int32)
        return Chains(starts, ptr, numbers, values, pair_ptr, pair_numbers, mask_of)

    def decode(
        self, prepared: Prepared, jobs: int = 1, forced: np.ndarray | None = None, margins: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(label per token, score per sentence, margin per token if asked for), on several threads if wanted."""
        if margins and self.votes is not None:
            raise StructronError("a voted model has no margins: many vectors decide; train with average mean for them")
        starts = prepared.starts
        out = np.zeros(int(starts[-1]), np.int64)
        scores = np.zeros(len(starts) - 1, np.float32)
        sure = np.zeros(len(out) if margins else 0, np.float32)

        def run(stretch: tuple[int, int]) -> None:
            lo, hi = stretch
            chains = self.chains(prepared, lo, hi, forced)
            tokens = slice(int(starts[lo]), int(starts[hi]))
            results = (out[tokens], scores[lo:hi], sure[tokens])
            self._search(chains, 0, hi - lo, np.float32, *results)
            for s in np.flatnonzero(scores[lo:hi] < FORBIDDEN / 2).tolist():
                self._search(chains, s, s + 1, np.float64, *results)

        for_each(run, stretches(starts), jobs)
        sure[sure > -FORBIDDEN / 2] = np.inf
        return out, scores, sure

    def nbest(self, prepared: Prepared, n: int, jobs: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
        """(labellings int16[found, tokens], scores) of each document or sentence, best first."""
        from structron.search.chain.candidates import for_each_document

        if self.votes is not None:
            raise StructronError("a voted model has no n-best: many vectors decide; train with average mean for them")
        found: dict[int, tuple[np.ndarray, np.ndarray]] = {}

        def take(unit: int, rows: np.ndarray, scores: np.ndarray) -> None:
            found[unit] = (rows, scores)

        for_each_document(self, prepared, n, jobs, take)
        return [found[unit] for unit in range(len(found))]

    def _search(
        self, chains: Chains, lo: int, hi: int, kind: type, out: np.ndarray, scores: np.ndarray, sure: np.ndarray
    ) -> None:
        """Decode sentences lo … hi-1 of the chains, in single or double precision (see `FORBIDDEN`)."""
        weights = self.weights if kind is np.float32 else in_double(self.weights)
        args = (self.order, lo, hi, len(self.labels), self.work(chains, kind), out, scores)
        if self.votes is not None:
            self.votes.decode(chains, weights, *args)
        elif len(sure):
            decode_with_margins(chains, weights, *args, sure)
        else:
            decode(chains, weights, *args)

    def non_local_start(self) -> dict[str, tuple[float, float]] | None:
        """Weights of non-local features for training that goes on, with sums of 0; a chain model has none."""
        return None

    def work(self, chains: Chains, kind: type = np.float32) -> Work:
        longest = int(np.diff(chains.starts).max(initial=1))
        return make_work(longest, len(self.labels), self.w.shape[1], self.order, kind)

    def tensors(self) -> dict[str, np.ndarray]:
        tensors = sparse_rows(self.w, len(self.labels))
        tensors |= {"keys": self.keys, "block_keys": self.block_keys, "block_rows": self.block_rows}
        tensors |= {"allowed": self.allowed, "words": self.dictionary.words}
        tensors |= {"word_mask": self.dictionary.mask, "masks": self.dictionary.masks}
        tensors |= self.names.tensors() | {f"pair_{k}": v for k, v in self.pair_names.tensors().items()}
        return tensors | (self.votes.tensors(len(self.labels)) if self.votes is not None else {})

    def header(self) -> dict[str, Any]:
        return {
            "labels": self.labels,
            "order": self.order,
            "name_heads": self.names.heads,
            "pair_name_heads": self.pair_names.heads,
        }

    @classmethod
    def from_file(cls, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> "ChainModel":
        """Rebuild a model; raises KeyError or ValueError when the parts do not fit together.

        Kernels trust their arrays, so whatever indexes another is checked here, once.
        """
        labels, order = list(header["labels"]), header["order"]
        if order not in (1, 2) or not labels or len(set(labels)) < len(labels):
            raise ValueError("labels or order cannot be used")
        check_kinds(tensors, TENSORS)
        contexts, features, rows = len(labels) + 1, len(tensors["keys"]), len(tensors["weight_count"])
        block_rows = tensors["block_rows"]
        dictionary = Dictionary(tensors["words"], tensors["word_mask"], tensors["masks"])
        fits = (
            rows == fixed_rows(len(labels), order) + features + np.count_nonzero(block_rows >= 0)
            and block_rows.shape == (len(tensors["block_keys"]), contexts)
            and block_rows.max(initial=-1) < rows
            and tensors["allowed"].shape == (contexts, len(labels))
            and dictionary.masks.shape[1:] == (len(labels),)
            and len(dictionary.masks) > 0
            and len(dictionary.mask) == len(dictionary.words)
            and 0 <= dictionary.mask.min(initial=0) <= dictionary.mask.max(initial=0) < len(dictionary.masks)
        )
        if not fits:
            raise ValueError("parts do not fit together")
        pair = {k.removeprefix("pair_"): v for k, v in tensors.items() if k.startswith("pair_name")}
        names = Names.from_tensors(header["name_heads"], tensors)
        pair_names = Names.from_tensors(header["pair_name_heads"], pair)
        if len(names) != features or len(pair_names) != len(block_rows):
            raise ValueError("names do not fit the features")
        return cls(
            labels,
            order,
            dense_rows(tensors, len(labels)),
            tensors["keys"],
            tensors["block_keys"],
            np.ascontiguousarray(block_rows),
            tensors["allowed"],
            dictionary,
            names,
            pair_names,
            Votes.from_tensors(tensors, rows, len(labels)),
        )


@dataclass(slots=True)
class Votes:
    """Every intermediate weight vector of training, as the updates that lead from one to the next (Collins 3.2).

    Vector k is the sum of updates 0 … k-1 (from zero) and votes `count[k]` times: once for each example it survived.
    """

    count: np.ndarray  # int64[vectors]
    ptr: np.ndarray  # int64[vectors]: update k is cells ptr[k-1] … ptr[k]-1; ptr[0] = 0
    cell: np.ndarray  # int64: row * stride + label
    amount: np.ndarray  # float32
    start: np.ndarray  # float32[rows * stride]: vector 0

    def decode(
        self,
        chains: Chains,
        weights: Weights,
        order: int,
        lo: int,
        hi: int,
        labels: int,
        work: Work,
        out: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        """The labelling of each sentence that most votes fall on; ties go to the one found first."""
        weights = weights._replace(w=aligned_zeros(weights.w.shape, np.float32))
        cells = weights.w.reshape(-1)
        cells[:] = self.start
        places = [slice(int(chains.starts[s]), int(chains.starts[s + 1])) for s in range(lo, hi)]
        ballots: list[dict[bytes, int]] = [{} for _ in places]
        for k in range(len(self.count)):
            if k > 0:
                change = slice(int(self.ptr[k - 1]), int(self.ptr[k]))
                np.add.at(cells, self.cell[change], self.amount[change])
            if self.count[k] == 0:
                continue
            decode(chains, weights, order, lo, hi, labels, work, out, scores)
            for place, ballot in zip(places, ballots, strict=True):
                vote = out[place].tobytes()
                ballot[vote] = ballot.get(vote, 0) + int(self.count[k])
        for place, ballot in zip(places, ballots, strict=True):
            if ballot:
                out[place] = np.frombuffer(max(ballot, key=ballot.__getitem__), np.int64)

    def tensors(self, labels: int) -> dict[str, np.ndarray]:
        """As a file holds them: cells of a matrix without padding, which is the affair of the machine."""
        stride = row_stride(labels)
        cell = self.cell // stride * labels + self.cell % stride
        start = self.start.reshape(-1, stride)[:, :labels].reshape(-1)
        votes = {"count": self.count, "ptr": self.ptr, "cell": cell, "amount": self.amount, "start": start}
        return {f"vote_{name}": array for name, array in votes.items()}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], rows: int, labels: int) -> "Votes | None":
        if "vote_count" not in tensors:
            return None
        check_kinds(tensors, VOTE_TENSORS)
        count, ptr, cell, amount, given = (tensors[name] for name in VOTE_TENSORS)
        fits = (
            len(given) == rows * labels
            and 0 <= cell.min(initial=0) <= cell.max(initial=0) < rows * labels
            and len(ptr) == len(count) > 0
            and ptr[0] == 0
            and ptr[-1] == len(cell) == len(amount)
            and (np.diff(ptr) >= 0).all()
            and np.isfinite(amount).all()
            and np.isfinite(given).all()
        )
        if not fits:
            raise ValueError("votes do not fit the weights")
        start = np.zeros((rows, row_stride(labels)), np.float32)
        start[:, :labels] = given.reshape(rows, labels)
        cell = cell // labels * start.shape[1] + cell % labels
        return cls(count, ptr, cell, amount, start.reshape(-1))


def check_kinds(tensors: dict[str, np.ndarray], kinds: Mapping[str, tuple[type, int]]) -> None:
    """Raise ValueError where an array is not of the kind that kernels are compiled for."""
    for name, (kind, dimensions) in kinds.items():
        if tensors[name].dtype != kind or tensors[name].ndim != dimensions:
            raise ValueError(f"{name} is of the wrong kind")


__all__ = ["ChainModel", "Dictionary", "Prepared", "Votes", "fixed_rows", "row_stride"]
