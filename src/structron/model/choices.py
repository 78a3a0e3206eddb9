"""A trained chain whose tokens have a few labels to choose from, out of any number (search/chain/choices.py).

A lexicon says which (features/lexicon.py); weights of labels and features, and of label pairs, decide between them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from structron.features.index import look_up
from structron.features.lexicon import Demands, Lexicon
from structron.features.names import Names
from structron.io.tensors import Sizes, Tensor, Tensors, texts, whole
from structron.kernels.jit import entry, is_cold
from structron.kernels.table import build_table
from structron.model.dictionary import Dictionary
from structron.runtime.threads import BATCH_TOKENS, batches, for_each
from structron.search.chain.choices import (
    ChoiceWeights,
    Labels,
    Lattice,
    best,
    decode,
    decode_with_margins,
    make_labels,
    make_scratch,
    through,
)
from structron.weights.cells import cells_from, rows_from, weight_in, weight_of
from structron.weights.dense import cell_tensors, cells_in, declared_cells


def stands_twice(numbers: np.ndarray) -> bool:
    """Whether a number is there more than once; `np.unique` takes ten times as long."""
    ordered = np.sort(numbers)
    return bool((ordered[1:] == ordered[:-1]).any())


@dataclass
class ChoiceModel:
    """Labels, lexicon and weights: rows of label pairs, then one for each feature (search/chain/choices.py)."""

    labels: list[str]
    paired: bool  # whether label pairs have weights
    lexicon: Lexicon
    keys: np.ndarray  # uint64[features]
    row: np.ndarray  # int32[cells], sorted
    column: np.ndarray  # the label of each cell; in rows of features the piece of labels
    weight: np.ndarray  # float32[cells]
    dictionary: Dictionary  # the words of the training data
    names: Names
    bits: int = 64  # of the hashes that keys are
    split: bool = False  # whether labels consist of several pieces

    kind: ClassVar[str] = "choices"
    votes: ClassVar[None] = None

    @property
    def order(self) -> int:
        """Markov order of the labels."""
        return int(self.paired)

    @property
    def size(self) -> int:
        """How many features have weights."""
        return len(self.keys)

    @property
    def fixed(self) -> int:
        """Rows of label pairs."""
        return len(self.labels) + 1

    def is_cold(self) -> bool:
        """Whether the first search has to wait for the compiler."""
        return is_cold(decode)

    @cached_property
    def kinds(self) -> Labels:
        """What labels consist of."""
        return make_labels(self.labels, self.split)

    @cached_property
    def table(self) -> np.ndarray:
        return build_table(self.keys)

    @cached_property
    def weights(self) -> ChoiceWeights:
        """The weights as kernels read them."""
        n = int(np.searchsorted(self.row, self.fixed))
        pairs = cells_from(self.row[:n], self.column[:n], self.weight[:n], self.kinds.width)
        return ChoiceWeights(rows_from(self.row, self.column, self.weight, self.fixed + len(self.keys)), pairs)

    def lattice(self, prepared: Any, lo: int, hi: int, forced: np.ndarray | None = None) -> Lattice:
        """Sentences lo … hi-1 as the kernels read them. forced: int[tokens of all sentences], -1 = free."""
        starts = prepared.starts[lo : hi + 1] - prepared.starts[lo]
        tokens = slice(int(prepared.starts[lo]), int(prepared.starts[hi]))
        ptr, numbers, _ = look_up(self.table, prepared.hashes(lo, hi), self.bits)
        first, choice = self.lexicon.choices(prepared, tokens)
        if forced is not None:
            first, choice = only(first, choice, forced[tokens])
        return Lattice(starts, ptr, numbers, first, choice)

    def decode(
        self, prepared: Any, jobs: int = 1, forced: np.ndarray | None = None, margins: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(label per token, score per sentence, margin per token if asked for), on several threads if wanted."""
        starts = prepared.starts
        out, scores = np.zeros(int(starts[-1]), np.int64), np.zeros(len(starts) - 1, np.float32)
        sure = np.zeros(len(out) if margins else 0, np.float32)

        def run(batch: tuple[int, int]) -> None:
            lo, hi = batch
            lattice, tokens = self.lattice(prepared, lo, hi, forced), slice(int(starts[lo]), int(starts[hi]))
            given = (lattice, self.weights, self.kinds, self.fixed, self.paired, make_scratch(lattice, self.kinds))
            if margins:
                every = np.zeros(len(lattice.choice), np.float32)
                decode_with_margins(*given, out[tokens], scores[lo:hi], every, sure[tokens])
            else:
                decode(*given, out[tokens], scores[lo:hi])

        if jobs == 1 and 0 < len(out) <= BATCH_TOKENS:
            run((0, len(scores)))
        else:
            for_each(run, batches(starts, jobs), jobs)
        return out, scores, sure

    def nbest(self, prepared: Any, n: int, jobs: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
        """(labellings int32[found, tokens], scores) of each document or sentence, best first."""
        units, starts = prepared.units, prepared.starts

        def run(batch: tuple[int, int]) -> list[tuple[np.ndarray, np.ndarray]]:
            return [self._nbest(prepared, int(units[u]), int(units[u + 1]), n) for u in range(*batch)]

        return [found for part in for_each(run, batches(starts[units], jobs), jobs) for found in part]

    def _nbest(self, prepared: Any, lo: int, hi: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Best first from the right: the search has found the best prefixes, so a choice loses what it falls short of
        the best one there. Among equals the first is the one that the search takes."""
        lattice, labels, weight = self.lattice(prepared, lo, hi), self.kinds, entry(weight_of)
        first, choice, tokens = lattice.first.tolist(), lattice.choice.tolist(), int(lattice.starts[-1])
        scratch, reached, total = make_scratch(lattice, labels), np.zeros(len(choice), np.float32), 0.0
        for s in range(hi - lo):
            total += float(entry(best)(lattice, self.weights, labels, self.fixed, self.paired, s, scratch))
            own = slice(first[lattice.starts[s]], first[lattice.starts[s + 1]])
            reached[own] = scratch.best[: own.stop - own.start]
        ends = {int(stop) - 1 for stop in lattice.starts[1:]}

        def losses(i: int, path: tuple[int, ...]) -> list[float]:
            """What each choice of token i loses before a path."""
            scores = reached[first[i] : first[i + 1]]
            if self.paired and i not in ends:
                rows = (choice[c] + 1 for c in range(first[i], first[i + 1]))
                pairs = [weight(self.weights.pairs, row, choice[path[-1]], labels.width) for row in rows]
                scores = scores + np.array(pairs, np.float32)
            return (scores.max() - scores).tolist()

        queue: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]  # loss, choices from the last token on
        found: list[list[int]] = []
        scores: list[float] = []
        while queue and len(found) < n:
            loss, path = heappop(queue)
            i = tokens - 1 - len(path)
            if i < 0:
                found.append([choice[c] for c in reversed(path)])
                scores.append(total - loss)
                continue
            for c, more in enumerate(losses(i, path), first[i]):
                heappush(queue, (loss + more, (*path, c)))
        return np.array(found, np.int32).reshape(len(found), tokens), np.array(scores, np.float32)

    def runners_up(self, prepared: Any, chosen: np.ndarray) -> Iterator[tuple[list[int], float]]:
        """For each token of the only sentence, the best labelling with another label there, and its score.

        Where there is nothing else to choose, the score is -inf.
        """
        lattice, labels = self.lattice(prepared, 0, 1), self.kinds
        given, scratch = (self.weights, labels, self.fixed, self.paired), make_scratch(lattice, labels)
        every, z, score = np.zeros(len(lattice.choice), np.float32), chosen.copy(), np.zeros(1, np.float32)
        if len(chosen):
            entry(through)(lattice, *given, 0, scratch, every)
        for i, (lo, hi) in enumerate(pairwise(lattice.first.tolist())):
            others = np.where(lattice.choice[lo:hi] == chosen[i], np.float32(-np.inf), every[lo:hi])
            forced = np.full(len(chosen), -1)
            forced[i] = lattice.choice[lo + int(others.argmax())]
            first, choice = only(lattice.first, lattice.choice, forced)
            decode(lattice._replace(first=first, choice=choice), *given, scratch, z, score)
            yield z.tolist(), float(others.max())

    def weight_at(self, row: int, label: int) -> float:
        """The weight of a label pair, or of a feature with all pieces of a label."""
        rows, (begin, piece, _, _) = self.weights.rows, self.kinds
        columns = [label] if row < self.fixed else piece[begin[label] : begin[label + 1]].tolist()
        return sum(float(entry(weight_in)(rows, row, column)) for column in columns)

    def tensors(self) -> Tensors:
        """The arrays of a model file."""
        cells = cell_tensors(self.row, self.column, self.weight, self.fixed + len(self.keys), self.kinds.width)
        return cells | {"keys": self.keys} | self.lexicon.tensors() | self.dictionary.tensors() | self.names.tensors()

    def header(self) -> dict[str, Any]:
        """What a model file's header says of them."""
        given = {"kind": self.kind, "labels": self.labels, "paired": self.paired, "given": self.lexicon.given}
        given |= {name: True for name, own in (("split", self.split), ("common", self.lexicon.common)) if own}
        return given | {"features": len(self.keys), "bits": self.bits, "name_heads": self.names.heads}

    @classmethod
    def declared(cls, header: dict[str, Any]) -> tuple[dict[str, Tensor], Sizes]:
        """The arrays that go with a header, and the sizes that it settles."""
        labels, features = texts(header["labels"], "labels", 1), whole(header["features"], "features")
        width = make_labels(labels, bool(header.get("split"))).width
        declared = declared_cells("rows", "columns") | Dictionary.declared() | Lexicon.declared()
        declared |= Names.declared("features", texts(header["name_heads"], "names"))
        declared |= {"keys": Tensor("uint64", "features", least=1, spread=True)}
        rows = len(labels) + 1 + features
        sizes = {"labels": len(labels), "columns": width, "features": features, "rows": rows}
        return declared, sizes | {"row cells": rows * width}

    @classmethod
    def from_file(cls, header: dict[str, Any], tensors: Tensors, demands: Demands) -> "ChoiceModel":
        """Rebuild a model from arrays that were checked; ValueError: the parts do not fit together."""
        row, column, weight = cells_in(tensors)
        split = bool(header.get("split"))
        if stands_twice(row * make_labels(header["labels"], split).width + column):
            raise ValueError("a weight stands twice")
        if stands_twice(tensors["keys"]):
            raise ValueError("a feature stands twice")
        return cls(
            header["labels"],
            bool(header["paired"]),
            Lexicon.from_tensors(texts(header["given"], "columns"), tensors, demands, bool(header.get("common"))),
            tensors["keys"],
            row.astype(np.int32),
            column,
            weight,
            Dictionary.from_tensors(tensors),
            Names.from_tensors(header["name_heads"], tensors),
            whole(header.get("bits", 64), "bits", 1, 64),
            split,
        )


def only(first: np.ndarray, choice: np.ndarray, forced: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same choices, but one alone where a label is forced (not -1), whether it was among them or not."""
    count = np.where(forced < 0, np.diff(first), 1)
    ends = np.zeros(len(first), np.int64)
    np.cumsum(count, out=ends[1:])
    found = choice[np.repeat(first[:-1] - ends[:-1], count) + np.arange(ends[-1])]
    found[ends[:-1][forced >= 0]] = forced[forced >= 0]
    return ends, found


def with_gold(first: np.ndarray, choice: np.ndarray, gold: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same choices and, where it is not among them, the gold label after them: the truth can always be found."""
    token = np.repeat(np.arange(len(gold)), np.diff(first))
    has = np.zeros(len(gold), bool)
    has[token[choice == gold[token]]] = True
    places = first[1:][~has]
    ends = first.copy()
    ends[1:] += np.cumsum(~has)
    return ends, np.insert(choice, places, gold[~has]).astype(np.int32)
