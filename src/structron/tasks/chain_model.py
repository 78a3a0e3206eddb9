"""A trained chain model: labels, rows of weights and the features they belong to. Decodes; learns nothing.

rows 0 … fixed-1      label bigrams (and trigrams at order 2), see search/chain.py
then                  the row of plain feature j is fixed + j
then                  rows of paired features, found through block_rows
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from structron.features.extract import Hashes
from structron.features.index import look_up
from structron.features.names import Names
from structron.kernels import aligned_zeros, build_table, hash_list
from structron.model import dense_rows, row_stride, sparse_rows
from structron.search.chain import FORBIDDEN, FORCED_OUT, Chains, Weights, Work, make_work
from structron.search.margins import decode_with_margins
from structron.search.viterbi import decode

BATCH_TOKENS = 20_000
"""Tokens decoded in one compiled call: enough to forget the call, few enough to stay in cache and share out."""
NO_INTS = np.empty(0, np.int64)
NO_NUMBERS = np.empty(0, np.int32)
NO_SUMS = np.empty((0, 0), np.float64)


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
        return self.with_weights(self.w)

    def with_weights(self, w: np.ndarray) -> Weights:
        """What the kernels read, with the given rows in place of the model's own."""
        stride, labels = w.shape[1], len(self.labels)
        penalty = np.zeros((labels + 1, stride), np.float32)
        penalty[:, :labels][~self.allowed] = FORBIDDEN
        forced = ~np.eye(labels, dtype=bool)
        masks = np.zeros((len(self.dictionary.masks) + labels, stride), np.float32)
        masks[: len(self.dictionary.masks), :labels][~self.dictionary.masks] = FORBIDDEN
        masks[len(self.dictionary.masks) :, :labels][forced] = FORCED_OUT
        return Weights(
            w=w,
            u=NO_SUMS,
            row_of=np.arange(self.fixed, self.fixed + len(self.keys), dtype=np.int32),
            block_of=np.arange(len(self.block_keys), dtype=np.int32),
            block_rows=self.block_rows,
            size=np.array([len(w), len(self.block_keys)], np.int64),
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
        starts = prepared.starts
        out = np.zeros(int(starts[-1]), np.int64)
        scores = np.zeros(len(starts) - 1, np.float32)
        sure = np.zeros(len(out) if margins else 0, np.float32)
        weights = self.weights

        def run(stretch: tuple[int, int]) -> None:
            lo, hi = stretch
            chains = self.chains(prepared, lo, hi, forced)
            work = self.work(chains)
            tokens = slice(int(starts[lo]), int(starts[hi]))
            args = (chains, weights, self.order, 0, hi - lo, len(self.labels), work, out[tokens], scores[lo:hi])
            if margins:
                decode_with_margins(*args, sure[tokens])
            elif self.votes is not None:
                self.votes.decode(self, chains, work, out[tokens], scores[lo:hi])
            else:
                decode(*args)

        for_each(run, stretches(starts), jobs)
        return out, scores, sure

    def work(self, chains: Chains) -> Work:
        longest = int(np.diff(chains.starts).max(initial=1))
        return make_work(longest, len(self.labels), self.w.shape[1], self.order)

    def tensors(self) -> dict[str, np.ndarray]:
        tensors = sparse_rows(self.w, len(self.labels))
        tensors |= {"keys": self.keys, "block_keys": self.block_keys, "block_rows": self.block_rows}
        tensors |= {"allowed": self.allowed, "words": self.dictionary.words}
        tensors |= {"word_mask": self.dictionary.mask, "masks": self.dictionary.masks}
        tensors |= self.names.tensors() | {f"pair_{k}": v for k, v in self.pair_names.tensors().items()}
        return tensors | (self.votes.tensors() if self.votes is not None else {})

    def header(self) -> dict[str, Any]:
        return {
            "labels": self.labels,
            "order": self.order,
            "name_heads": self.names.heads,
            "pair_name_heads": self.pair_names.heads,
        }

    @classmethod
    def from_file(cls, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> "ChainModel":
        """Rebuild a model; raises KeyError or ValueError when the parts do not fit together."""
        labels, order = list(header["labels"]), int(header["order"])
        w = dense_rows(tensors, len(labels))
        contexts, features = len(labels) + 1, len(tensors["keys"])
        block_rows = tensors["block_rows"]
        dictionary = Dictionary(tensors["words"], tensors["word_mask"], tensors["masks"])
        fits = (
            len(w) >= fixed_rows(len(labels), order) + features
            and block_rows.shape == (len(tensors["block_keys"]), contexts)
            and block_rows.max(initial=-1) < len(w)
            and tensors["allowed"].shape == (contexts, len(labels))
            and dictionary.masks.shape[1:] == (len(labels),)
            and len(dictionary.mask) == len(dictionary.words)
            and 0 <= dictionary.mask.min(initial=0) <= dictionary.mask.max(initial=0) < len(dictionary.masks)
        )
        if not fits:
            raise ValueError("parts do not fit together")
        pair = {k.removeprefix("pair_"): v for k, v in tensors.items() if k.startswith("pair_name")}
        return cls(
            labels,
            order,
            w,
            tensors["keys"],
            tensors["block_keys"],
            np.ascontiguousarray(block_rows),
            tensors["allowed"],
            dictionary,
            Names.from_tensors(header["name_heads"], tensors),
            Names.from_tensors(header["pair_name_heads"], pair),
            Votes.from_tensors(tensors, w.size),
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

    def decode(self, model: ChainModel, chains: Chains, work: Work, out: np.ndarray, scores: np.ndarray) -> None:
        """The labelling of each sentence that most votes fall on; ties go to the one found first."""
        flat = aligned_zeros(model.w.shape, np.float32)
        cells = flat.reshape(-1)
        cells[:] = self.start
        weights = model.with_weights(flat)
        sentences = len(chains.starts) - 1
        ballots: list[dict[bytes, int]] = [{} for _ in range(sentences)]
        for k in range(len(self.count)):
            if k > 0:
                change = slice(int(self.ptr[k - 1]), int(self.ptr[k]))
                np.add.at(cells, self.cell[change], self.amount[change])
            if self.count[k] == 0:
                continue
            decode(chains, weights, model.order, 0, sentences, len(model.labels), work, out, scores)
            for s, ballot in enumerate(ballots):
                vote = out[chains.starts[s] : chains.starts[s + 1]].tobytes()
                ballot[vote] = ballot.get(vote, 0) + int(self.count[k])
        for s, ballot in enumerate(ballots):
            if ballot:
                out[chains.starts[s] : chains.starts[s + 1]] = np.frombuffer(
                    max(ballot, key=ballot.__getitem__), np.int64
                )

    def tensors(self) -> dict[str, np.ndarray]:
        return {f"vote_{name}": getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], cells: int) -> "Votes | None":
        if "vote_count" not in tensors:
            return None
        votes = cls(*(tensors[f"vote_{name}"] for name in cls.__slots__))
        if len(votes.start) != cells or not 0 <= votes.cell.min(initial=0) <= votes.cell.max(initial=0) < cells:
            raise ValueError("votes do not fit the weights")
        return votes


def stretches(starts: np.ndarray) -> list[tuple[int, int]]:
    """Cut sentences into stretches of about BATCH_TOKENS tokens."""
    found, lo = [], 0
    while lo < len(starts) - 1:
        hi = int(np.searchsorted(starts, starts[lo] + BATCH_TOKENS, "right")) - 1
        hi = min(max(hi, lo + 1), len(starts) - 1)
        found.append((lo, hi))
        lo = hi
    return found


def for_each(run: Callable[[tuple[int, int]], None], work: Sequence[tuple[int, int]], jobs: int) -> None:
    """Run on one thread or several; kernels release the lock. The first error is raised."""
    if jobs == 1 or len(work) < 2:
        for stretch in work:
            run(stretch)
        return
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(run, work):
            pass


__all__ = ["ChainModel", "Dictionary", "Prepared", "Votes", "fixed_rows", "row_stride"]
