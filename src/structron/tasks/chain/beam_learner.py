"""Learning a chain model under a beam with any of the update rules (see update/violation.py).

From a finished model training goes on with its weights as the first vector of a new mean; new labels and features make
the keys of features wider, so they are written anew.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structron.features.extract import PreparedTemplates
from structron.features.index import Numbered, number_features
from structron.features.names import Names
from structron.kernels.table import ABSENT
from structron.learn.beam import FIRST_CELLS, FIRST_DENSE, BeamTraining
from structron.model.chain import Dictionary
from structron.search.beam.frontier import Anchored
from structron.tasks.chain.beam import BeamChainModel, as_column, encoded
from structron.tasks.chain.problem import make_problem, rekeyed
from structron.update.alma import NORM, named
from structron.update.swvp import Swvp
from structron.weights.sparse import COUNT, DENSE, FREE, START, dense_at, make_sparse, reinsert


@dataclass(frozen=True, slots=True)
class Search:
    """How a labeller searches and learns."""

    beam: int | None
    update: str
    merge: bool = True
    check: bool | None = None
    alma: float | None = None
    margin: float | None = None
    swvp: Swvp | None = None

    @property
    def rule(self) -> str:
        """The update as signatures name it."""
        return named(self.update, self.alma, self.margin, self.swvp)

    def __str__(self) -> str:
        return f"beam-{'inf' if self.beam is None else self.beam}{'-dp' if self.merge else ''}"


class BeamChainLearner(BeamTraining):
    """The learner that `train.train` drives."""

    def __init__(
        self,
        prepared: PreparedTemplates,
        gold: np.ndarray,
        labels: list[str],
        order: int,
        templates: list[str],
        allowed: np.ndarray,
        allowed_learning: np.ndarray,
        dictionary: Dictionary,
        search: Search,
        cutoff: int = 0,
        average: str = "mean",
        start: BeamChainModel | None = None,
    ):
        self.prepared, self.labels, self.order, self.templates = (
            prepared,
            labels,
            order,
            templates,
        )
        self.allowed, self.dictionary, self.start = allowed, dictionary, start
        starts = prepared.starts
        self.plain = number_features(prepared.hashes, starts, cutoff, start.keys if start else None)
        self.extras = [self._number_extra(c, cutoff) for c in range(len(prepared.paired.templates))]
        sizes = [len(extra.keys) for extra in self.extras]
        self.model_problem = make_problem(labels, templates, sizes, allowed)
        mask_of = np.zeros(int(starts[-1]), np.int64)
        if dictionary.mask.any():
            mask_of = dictionary.mask[dictionary.find(prepared.word_types)].astype(np.int64)[prepared.word_ids]
        columns = [as_column((extra.ptr, extra.numbers, extra.values)) for extra in self.extras]
        problem = make_problem(labels, templates, sizes, allowed_learning)
        inputs = encoded(problem, starts, dictionary.masks, mask_of, columns, allowed_learning)
        table = np.stack([self.plain.keys, np.zeros_like(self.plain.keys)], axis=1)
        super().__init__(
            problem,
            inputs._replace(gold=gold, gold_ptr=starts),
            search.beam,
            search.update,
            search.merge,
            average,
            Anchored(self.plain.ptr, self.plain.numbers, table),
            search.check,
            alma=search.alma,
            margin=search.margin,
            swvp=search.swvp,
        )

    def _number_extra(self, c: int, cutoff: int) -> Numbered:
        """Number what a template says of tokens, to be combined with labels before."""
        prepared, known = (
            self.prepared,
            self.start.extra_keys[c] if self.start else None,
        )

        def hashes(lo: int, hi: int) -> Any:
            return prepared.pair_column(c, lo, hi)

        return number_features(hashes, prepared.starts, cutoff, known)

    def _start_weights(self) -> None:
        super()._start_weights()
        if self.start is not None:
            self._load_start(self.start)

    def _load_start(self, start: BeamChainModel) -> None:
        """Put a model's rows where learning can make them longer: in rooms of a power of two, or as vectors."""
        rows, first = start.base.rows, len(start.keys)
        count = np.bincount(rows.place, minlength=first + len(start.block_keys))
        dense = count >= dense_at(self.problem.columns)
        size = np.ceil(np.log2(np.maximum(count, 1))).astype(np.int64)
        room = np.where(dense | (count == 0), 0, 1 << size)
        begin, number = np.cumsum(room) - room, np.cumsum(dense) - dense
        keys = rekeyed(start.block_keys, start.base.problem.composition, self.problem.composition)
        used = (len(keys), int(room.sum()), int(dense.sum()))
        least = (FIRST_CELLS >> 4, FIRST_CELLS, FIRST_DENSE)
        keys_room, cells_room, dense_room = (max(2 * n, m) for n, m in zip(used, least, strict=True))
        sparse = make_sparse(self.problem.columns, keys_room, cells_room, dense_room)
        inner = np.arange(len(rows.place)) - np.repeat(np.cumsum(count) - count, count)
        whole = dense[rows.place]
        cell = (begin[rows.place] + inner)[~whole]
        sparse.column[cell, 0], sparse.w[cell, 1] = (
            rows.column[~whole],
            rows.weight[~whole],
        )
        sparse.dense[number[rows.place[whole]], rows.column[whole]] = rows.weight[whole]
        kept = (begin.astype(np.uint64) << START) | (count.astype(np.uint64) << COUNT) | size.astype(np.uint64)
        heads = np.where(
            dense,
            (number.astype(np.uint64) << START) | DENSE,
            np.where(count > 0, kept, ABSENT),
        )
        reinsert(np.stack([keys, heads[first:]], axis=1), sparse.table)
        sparse.used[:FREE] = used
        self.sparse = sparse
        self.anchored.table[:first, 1] = heads[:first]
        self.pace[NORM] = float(np.square(rows.weight, dtype=np.float64).sum())

    def fingerprint(self) -> str:
        """Tells whether a checkpoint was made from the same data and options."""
        digest = hashlib.sha256(f"{super().fingerprint()} {self.labels} {self.order}".encode())
        for array in (self.allowed, *(self.start.base.rows if self.start else ())):
            digest.update(np.ascontiguousarray(array).data if array.size else b"")
        return digest.hexdigest()

    @staticmethod
    def assemble(members: Sequence[BeamTraining]) -> Any:
        """The model that the mean of the members' weights makes; its names are left for `finish`."""
        first = members[0]
        assert isinstance(first, BeamChainLearner)
        base = BeamTraining.assemble(members)
        base.problem = first.model_problem
        keys = [extra.keys for extra in first.extras]
        given = (first.labels, first.order, first.templates, base, first.allowed, first.dictionary, keys)
        return first.make_model(*given, Names.of([]), [])

    def make_model(self, *given: Any) -> BeamChainModel:
        return BeamChainModel(*given)

    def finish(self, model: Any) -> Any:
        """Write the names that a snapshot left for later."""
        if len(model.names) < len(model.keys) or len(model.extra_names) < len(model.extra_keys):
            by_key = np.argsort(self.plain.keys)
            numbers = by_key[np.searchsorted(self.plain.keys, model.keys, sorter=by_key)]
            model.names = self._names(self.plain, numbers, self.start.names if self.start else None, False)
            before = self.start.extra_names if self.start else [None] * len(self.extras)
            model.extra_names = [
                self._names(extra, np.arange(len(extra.keys)), names, True)
                for extra, names in zip(self.extras, before, strict=True)
            ]
        return model

    def _names(self, numbered: Numbered, numbers: np.ndarray, known: Names | None, paired: bool) -> Names:
        """Names of features: those known before keep theirs, new ones are read off the training data."""
        tokens = numbered.tokens[numbers]
        new = tokens >= 0
        fresh = self.prepared.names(numbered.keys[numbers[new]], tokens[new], paired)
        if new.all() or known is None:
            return fresh
        old = known.take(numbers[~new])
        place = np.empty(len(numbers), np.int64)
        place[~new], place[new] = np.arange(len(old)), np.arange(len(old), len(numbers))
        return (old + fresh).take(place)


__all__ = ["BeamChainLearner", "Search"]
