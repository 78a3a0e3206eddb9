"""A trained chain model: labels, rows of weights and the features they belong to. Decodes; learns nothing.

rows 0 … fixed-1      label bigrams (and trigrams at order 2), see search/chain/scores.py
then                  the row of plain feature j is fixed + j
then                  rows of paired features, found through block_rows
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.features.extract import Prepared
from structron.features.index import look_up
from structron.features.names import Names
from structron.io.tensors import Sizes, Tensor, Tensors, check_expansion, texts, under, whole
from structron.kernels.table import build_table
from structron.model.dictionary import Dictionary, allowed_of
from structron.runtime.threads import BATCH_TOKENS, batches, for_each
from structron.search.chain.margins import decode_with_margins
from structron.search.chain.scores import (
    FORBIDDEN,
    FORCED_OUT,
    NO_INTS,
    NO_NUMBERS,
    EncodedChains,
    Weights,
    Work,
    in_double,
    load_all,
    make_work,
)
from structron.search.chain.viterbi import DECODE, decode, decode_loaded
from structron.weights.dense import declared_cells, dense_rows, sparse_rows

if TYPE_CHECKING:
    from structron.model.votes import Votes

NO_TABLE = np.empty((0, 0), np.float32)


def fixed_rows(labels: int, order: int) -> int:
    """How many rows the label n-grams take."""
    return labels + 1 + ((labels + 1) ** 2 if order == 2 else 0)


def penalties(allowed: np.ndarray, stride: int, amount: np.float32 = FORBIDDEN) -> np.ndarray:
    """float32[rows, stride]: what a label costs; allowed: bool[rows, labels]."""
    found = np.zeros((len(allowed), stride), np.float32)
    found[:, : allowed.shape[1]][~allowed] = amount
    return found


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
    bits: int = 64  # of the hashes that keys are

    kind: ClassVar[str] = "chain"

    @property
    def size(self) -> int:
        """How many features have weights."""
        return len(self.keys) + len(self.block_keys)

    def is_cold(self) -> bool:
        """Whether the first search has to wait for the compiler."""
        return DECODE.is_cold()

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
        stride, alone = self.w.shape[1], np.eye(len(self.labels), dtype=bool)
        masks = [penalties(self.dictionary.masks, stride), penalties(alone, stride, FORCED_OUT)]
        return Weights(
            w=self.w,
            u=np.empty((0, 0), np.float64),
            row_of=np.arange(self.fixed, self.fixed + len(self.keys), dtype=np.int32),
            block_of=np.arange(len(self.block_keys), dtype=np.int32),
            block_rows=self.block_rows,
            size=np.array([len(self.w), len(self.block_keys)], np.int64),
            penalty=penalties(self.allowed, stride),
            masks=np.concatenate(masks),
        )

    def chains(self, prepared: Prepared, lo: int, hi: int, forced: np.ndarray | None = None) -> EncodedChains:
        """Sentences lo … hi-1 as the kernels read them. forced: int[tokens of all sentences], -1 = free."""
        starts = prepared.starts[lo : hi + 1] - prepared.starts[lo]
        ptr, numbers, values = look_up(self.table, prepared.hashes(lo, hi), self.bits)
        pair_ptr, pair_numbers = NO_INTS, NO_NUMBERS
        if prepared.has_pairs:
            pair_ptr, pair_numbers, _ = look_up(self.block_table, prepared.pair_hashes(lo, hi))
        tokens = slice(int(prepared.starts[lo]), int(prepared.starts[hi]))
        mask_of = NO_NUMBERS
        if self.dictionary.mask.any() or forced is not None:
            mask_of = self.dictionary.masks_of(prepared, tokens)
        if forced is not None:
            mask_of = np.where(forced[tokens] < 0, mask_of, forced[tokens] + len(self.dictionary.masks))
        return EncodedChains(starts, ptr, numbers, values, pair_ptr, pair_numbers, mask_of.astype(np.int32))

    def decode(
        self, prepared: Prepared, jobs: int = 1, forced: np.ndarray | None = None, margins: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(label per token, score per sentence, margin per token if asked for), on several threads if wanted."""
        return self._decode(prepared, jobs, forced, margins, NO_TABLE)

    def max_marginals(self, prepared: Prepared, jobs: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """The best labels, and float32[tokens, labels]: how far the best labelling with each label is behind."""
        behind = np.zeros((int(prepared.starts[-1]), len(self.labels)), np.float32)
        out, _, _ = self._decode(prepared, jobs, None, True, behind)
        return out, behind

    def _decode(
        self, prepared: Prepared, jobs: int, forced: np.ndarray | None, margins: bool, behind: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if margins and self.votes is not None:
            raise StructronError("a voted model has no margins, because many vectors vote; train with average mean")
        starts = prepared.starts
        out = np.zeros(int(starts[-1]), np.int64)
        scores = np.zeros(len(starts) - 1, np.float32)
        sure = np.zeros(len(out) if margins else 0, np.float32)

        def run(batch: tuple[int, int]) -> None:
            lo, hi = batch
            chains = self.chains(prepared, lo, hi, forced)
            tokens = slice(int(starts[lo]), int(starts[hi]))
            results = (out[tokens], scores[lo:hi], sure[tokens], behind[tokens] if len(behind) else behind)
            self._search(chains, 0, hi - lo, np.float32, *results)
            for s in np.flatnonzero(scores[lo:hi] < FORBIDDEN / 2).tolist():
                self._search(chains, s, s + 1, np.float64, *results)

        if jobs == 1 and 0 < len(out) <= BATCH_TOKENS:
            run((0, len(scores)))
        else:
            for_each(run, batches(starts, jobs), jobs)
        sure[sure > -FORBIDDEN / 2] = np.inf
        return out, scores, sure

    def nbest(self, prepared: Prepared, n: int, jobs: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
        """(labellings int16[found, tokens], scores) of each document or sentence, best first."""
        from structron.search.chain.candidates import for_each_document

        if self.votes is not None:
            raise StructronError("a voted model has no n best, because many vectors vote; train with average mean")
        found: dict[int, tuple[np.ndarray, np.ndarray]] = {}

        def take(unit: int, rows: np.ndarray, scores: np.ndarray) -> None:
            found[unit] = (rows, scores)

        for_each_document(self, prepared, n, jobs, take)
        return [found[unit] for unit in range(len(found))]

    def _search(
        self,
        chains: EncodedChains,
        lo: int,
        hi: int,
        kind: type,
        out: np.ndarray,
        scores: np.ndarray,
        sure: np.ndarray,
        behind: np.ndarray,
    ) -> None:
        """Decode sentences lo … hi-1 of the chains, in single or double precision (see `FORBIDDEN`)."""
        weights: Any = self.weights if kind is np.float32 else in_double(self.weights)
        plain = self.votes is None and not len(sure) and kind is np.float32
        work = self.work(chains, kind, self.loaded if plain else None)
        args = (chains, weights, self.order, lo, hi, len(self.labels), work, out, scores)
        if plain:
            decode_loaded(*args)
        elif self.votes is not None:
            self.votes.decode(*args)
        elif len(sure):
            decode_with_margins(*args, sure, behind)
        else:
            decode(*args)

    def weight_at(self, row: int, label: int) -> float:
        """A weight."""
        return float(self.w[row, label])

    def runners_up(self, prepared: Prepared, chosen: np.ndarray) -> Iterator[tuple[list[int], float]]:
        """For each token of the only sentence, the best labelling without the chosen label there, and its score."""
        chains, weights = self.chains(prepared, 0, 1), self.weights
        n, work = len(chosen), self.work(chains, loaded=self.loaded)
        usual = chains.mask_of if len(chains.mask_of) else np.zeros(n, np.int32)
        without = weights.masks[usual].copy()
        without[np.arange(n), chosen] = FORCED_OUT
        weights = weights._replace(masks=np.concatenate([weights.masks, without]))
        out, scores = np.zeros(n, np.int64), np.zeros(1, np.float32)
        for i in range(n):
            mask_of = usual.copy()
            mask_of[i] = len(weights.masks) - n + i
            args = (self.order, 0, 1, len(self.labels), work, out, scores)
            decode_loaded(chains._replace(mask_of=mask_of), weights, *args)
            yield out.tolist(), float(scores[0])

    @cached_property
    def loaded(self) -> Work:
        """The transitions as searches read them: nothing is written there any more."""
        work = make_work(1, len(self.labels), self.w.shape[1], self.order)
        load_all(self.weights, self.order, len(self.labels), work)
        return work

    def work(self, chains: EncodedChains, kind: type = np.float32, loaded: Work | None = None) -> Any:
        """Scratch memory for a search. loaded: has the transitions, which all searches share that do not load any."""
        longest = int(np.diff(chains.starts).max(initial=1))
        return make_work(longest, len(self.labels), self.w.shape[1], self.order, kind, loaded)

    def tensors(self) -> Tensors:
        """The arrays of a model file."""
        tensors = sparse_rows(self.w, len(self.labels)) | self.dictionary.tensors() | self.names.tensors()
        tensors |= {"keys": self.keys, "block_keys": self.block_keys, "block_rows": self.block_rows}
        tensors |= {"allowed": self.allowed} | under("pair_", self.pair_names.tensors())
        return tensors | (self.votes.tensors(len(self.labels)) if self.votes is not None else {})

    def header(self) -> dict[str, Any]:
        """What a model file's header says of them."""
        return {
            "kind": self.kind,
            "labels": self.labels,
            "order": self.order,
            "rows": len(self.w),
            "voted": self.votes is not None,
            "bits": self.bits,
            "name_heads": self.names.heads,
            "pair_name_heads": self.pair_names.heads,
        }

    @classmethod
    def declared(cls, header: dict[str, Any]) -> tuple[dict[str, Tensor], Sizes]:
        """The arrays that go with a header, and the sizes that it settles."""
        labels, rows = len(texts(header["labels"], "labels", 2)), whole(header["rows"], "rows")
        declared = declared_cells("rows", "labels") | Dictionary.declared()
        if header["voted"]:
            from structron.model.votes import Votes

            declared |= Votes.declared()
        declared |= Names.declared("features", texts(header["name_heads"], "names"))
        declared |= Names.declared("blocks", texts(header["pair_name_heads"], "names"), "pair_")
        declared |= {
            "keys": Tensor("uint64", "features", least=1, spread=True),
            "block_keys": Tensor("uint64", "blocks", least=1, spread=True),
            "block_rows": Tensor("int32", "blocks", "contexts", least=-1, below="rows"),
            "allowed": Tensor("bool", "contexts", "labels"),
        }
        return declared, {"labels": labels, "contexts": labels + 1, "rows": rows, "row cells": rows * labels}

    @classmethod
    def from_file(cls, header: dict[str, Any], tensors: Tensors, **more: Any) -> "ChainModel":
        """Rebuild a model from arrays that were checked; ValueError: the parts do not fit together."""
        labels, order, block_rows = header["labels"], whole(header["order"], "order", 1, 2), tensors["block_rows"]
        features, rows = len(tensors["keys"]), header["rows"]
        check_expansion(4 * rows * (len(labels) + 8), sum(array.nbytes for array in tensors.values()), "weights")
        if rows != fixed_rows(len(labels), order) + features + np.count_nonzero(block_rows >= 0):
            raise ValueError("rows do not fit the features")
        votes = None
        if header["voted"]:
            from structron.model.votes import Votes

            votes = Votes.from_tensors(tensors, rows, len(labels))
        return cls(
            labels,
            order,
            dense_rows(tensors, len(labels)),
            tensors["keys"],
            tensors["block_keys"],
            np.ascontiguousarray(block_rows),
            allowed_of(tensors),
            Dictionary.from_tensors(tensors),
            Names.from_tensors(header["name_heads"], tensors),
            Names.from_tensors(header["pair_name_heads"], tensors, "pair_"),
            votes,
            whole(header.get("bits", 64), "bits", 1, 64),
            **more,
        )
