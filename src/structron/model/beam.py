"""A learned model of a search problem: keys of features, sparse rows of weights, and the search that uses them.

Features are of two kinds. Most are keys that the templates of the problem make in a state (search/beam/states.py).
Chains also have features that were hashed per token before the search (`anchored`); they come first.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from structron.features.index import look_up
from structron.io.tensors import Tensor, Tensors, crowded
from structron.kernels.table import build_table
from structron.runtime.threads import BATCH_TOKENS, batches, for_each, give_back
from structron.search.beam.engine import NO_ANCHORS, Engine, actions_of, is_cold
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.nbest import Derivation
from structron.search.beam.problem import SearchProblem
from structron.search.beam.scores import CLOCK
from structron.search.beam.states import TOP
from structron.weights.dense import cell_tensors, declared_cells
from structron.weights.packed import homes, pack, spread_of
from structron.weights.sparse import Row, Sparse, counts_of, regions_of
from structron.weights.store import declared_rows, rows_of

LARGE_TABLE = 1 << 24
"""Bytes of a table from which on it is worth the time to give memory back that was needed to fill it."""
WIDE = 64
"""The beam that gives the n-best of a search without one."""


def joined(values: np.ndarray, first: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Lists that stand apart in one array, one after the other."""
    return values[np.repeat(first - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))]


def column_order(problem: SearchProblem, column: np.ndarray) -> np.ndarray | None:
    """int64[columns]: where columns are to stand, so that those that count together do. None: anywhere.

    column: that of each weight.

    Where actions share columns, what is an action's own stands with the first of its parts, what others share in front.
    """
    parts, columns = problem.parts, problem.columns
    if parts.shape[1] == 1:
        return None
    weights = counts_of(column, columns)
    leader = np.full(columns, -1, np.int64)
    shared = np.bincount(parts[parts >= 0], minlength=columns) > 1
    for k in range(1, parts.shape[1]):
        given = (parts[:, k] >= 0) & (parts[:, 0] >= 0)
        leader[parts[given, k]] = np.where(shared[parts[given, k]], -1, parts[given, 0])
    leads = parts[parts[:, 0] >= 0, 0]
    leader[leads] = leads
    together = np.bincount(leader[leader >= 0], weights[leader >= 0], minlength=columns)
    order = np.empty(columns, np.int64)
    rank = np.where(leader < 0, np.inf, together[leader])
    order[np.lexsort((-weights, leader, -rank))] = np.arange(columns)
    return order


class BeamModel:
    """Weights for a problem. `anchored_keys` and `keys` name the rows, in this order."""

    def __init__(
        self, problem: SearchProblem, keys: np.ndarray, rows: Row | Tensors, anchored_keys: np.ndarray | None = None
    ):
        """rows: the weights, or the arrays in which a file has them."""
        self.problem, self.keys = problem, keys
        self._rows: Row | None = rows if isinstance(rows, Row) else None
        self._kept: Tensors = {} if isinstance(rows, Row) else rows
        self.anchored_keys = np.zeros(0, np.uint64) if anchored_keys is None else anchored_keys
        self.number_of = build_table(self.anchored_keys) if len(self.anchored_keys) else None
        self.engines: dict[tuple[int | None, int, float], Engine] = {}

    @cached_property
    def _packed(self) -> tuple[np.ndarray, Sparse]:
        """The rows as searches read them, made for the first of these: a model that is only saved does without."""
        first, self._kept, self._rows = len(self.anchored_keys), self._kept or self._cells(self.rows), None
        order = column_order(self.problem, self._kept["weight_label"])
        heads, sparse = pack(self.problem.columns, self.keys, self._kept, first, order)
        if sparse.table.nbytes > LARGE_TABLE:
            give_back()
        return np.stack([self.anchored_keys, heads], axis=1) if first else NO_ANCHORS.table, sparse

    @property
    def rows(self) -> Row:
        """The weights of all rows. A model that searches has them packed, and else only as a file would."""
        if self._rows is None:
            self._rows = rows_of(self._kept)
        return self._rows

    def _cells(self, rows: Row) -> Tensors:
        return cell_tensors(*rows, len(self.anchored_keys) + len(self.keys), self.problem.columns)

    @cached_property
    def spread(self) -> float:
        """By how much the scores of one state's actions differ, as a standard deviation: the unit of slack."""
        self.warm_up()
        kept, first = self._kept, len(self.anchored_keys)
        return spread_of(self.problem.columns, self.keys, kept["weight_count"], kept["weight"], first)

    def reach(self, slack: float | None) -> float:
        """How far behind the best a state may be. slack: so many standard deviations; None: as the problem says."""
        times = self.problem.slack if slack is None else slack
        return np.inf if np.isinf(times) else times * self.spread

    def warm_up(self) -> None:
        """Pack the weights now."""
        _ = self._packed

    def free_search_buffers(self) -> None:
        """Free what was made for searches; the next one makes it again."""
        self.__dict__.pop("_packed", None)
        self.engines.clear()

    @property
    def sparse(self) -> Sparse:
        """The weights as kernels read them."""
        return self._packed[1]

    @property
    def anchored_table(self) -> np.ndarray:
        """Keys and heads of numbered features."""
        return self._packed[0]

    def is_cold(self) -> bool:
        """Whether the first search has to wait for the compiler."""
        return is_cold()

    def engine(self, beam: int | None, merge: int = True, slack: float | None = None) -> Engine:
        """slack: see `reach`; a beam of one has none to give up, and exact search gives up nothing."""
        reach = np.inf if beam in (1, None) else self.reach(slack)
        if (beam, merge, reach) not in self.engines:
            self.engines[beam, merge, reach] = Engine(self.problem, beam, merge, slack=reach)
        return self.engines[beam, merge, reach]

    def anchor(self, hashes: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Anchored:
        """Features of tokens (and kinds), hashed, as the numbers that the model knows them by."""
        if self.number_of is None:
            none = (np.zeros(len(hashes[0]), np.int64), NO_ANCHORS.numbers, NO_ANCHORS.table)
            return Anchored(*none, *self.problem.kinds)
        ptr, numbers, _ = look_up(self.number_of, hashes)
        return Anchored(ptr, numbers, self.anchored_table, *self.problem.kinds)

    def decode(
        self,
        inputs: Inputs,
        beam: int | None = 8,
        merge: int = True,
        anchored: Anchored = NO_ANCHORS,
        jobs: int = 1,
        slack: float | None = None,
    ) -> tuple[list[list[int]], list[float]]:
        """The best actions of every example and their scores. slack: see `reach`."""
        engine, sparse = self.engine(beam, merge, slack), self.sparse

        def run(batch: tuple[int, int]) -> tuple[list[list[int]], list[float]]:
            found = engine.decode(inputs, sparse, anchored, *batch)
            return actions_of(found, *batch), found[3][batch[0] : batch[1]].tolist()

        done = for_each(run, batches(inputs.starts, jobs), jobs)
        return [a for actions, _ in done for a in actions], [s for _, scores in done for s in scores]

    def decode_actions(
        self,
        inputs: Inputs,
        beam: int | None = 8,
        merge: int = True,
        anchored: Anchored = NO_ANCHORS,
        jobs: int = 1,
        slack: float | None = None,
    ) -> np.ndarray:
        """int64: the best actions of all examples, one after the other."""
        engine, sparse = self.engine(beam, merge, slack), self.sparse

        def run(batch: tuple[int, int]) -> np.ndarray:
            found, ptr, lengths, _ = engine.decode(inputs, sparse, anchored, *batch)
            return joined(found, ptr[slice(*batch)], lengths[slice(*batch)])

        if jobs == 1 and 0 < inputs.starts[-1] <= BATCH_TOKENS:
            return run((0, len(inputs.limit)))
        done = for_each(run, batches(inputs.starts, jobs), jobs)
        return np.concatenate(done) if done else np.zeros(0, np.int64)

    def nbest(
        self,
        inputs: Inputs,
        n: int,
        beam: int | None = 8,
        merge: int = True,
        anchored: Anchored = NO_ANCHORS,
        jobs: int = 1,
    ) -> list[list[Derivation]]:
        """Up to n derivations of every example, each with its score, best first; a narrower beam is widened to n.

        Merged states stand for their best derivation alone; `candidates` looks beyond them.
        """
        engine, sparse = self.engine(None if beam is None else max(beam, n), merge), self.sparse

        def run(batch: tuple[int, int]) -> list[list[Derivation]]:
            return engine.nbest(inputs, sparse, anchored, n, *batch)

        return [own for part in for_each(run, batches(inputs.starts, jobs), jobs) for own in part]

    def candidates(
        self,
        inputs: Inputs,
        n: int,
        beam: int | None = 8,
        merge: int = True,
        anchored: Anchored = NO_ANCHORS,
        jobs: int = 1,
        slack: float | None = None,
    ) -> list[list[Derivation]]:
        """The same from a beam without merging, so that all are different derivations. The best of the search itself,
        merging or not, comes first: what it has missed, though it would score more, is left out."""
        found = self.nbest(inputs, n, WIDE if beam is None else beam, False, anchored, jobs)
        best = zip(*self.decode(inputs, beam, merge, anchored, jobs, slack), strict=True)
        every = [
            [first, *(d for d in own if d[0] != first[0] and d[1] <= first[1])]
            for first, own in zip(best, found, strict=True)
        ]
        return [sorted(own, key=lambda d: -d[1])[:n] for own in every]

    def decode_tokens(
        self,
        starts: np.ndarray,
        look: Callable[[int, int], tuple[Inputs, Anchored]],
        beam: int | None,
        merge: int,
        jobs: int,
        spell: Callable[[np.ndarray], np.ndarray] = lambda actions: actions,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(a number for each token, a score for each sentence). look(lo, hi): sentences lo … hi - 1 for the search;
        spell: what actions that follow each other say of their tokens."""
        out, scores = np.zeros(int(starts[-1]), np.int64), np.zeros(len(starts) - 1, np.float32)
        engine, sparse = self.engine(beam, merge), self.sparse

        def run(batch: tuple[int, int]) -> None:
            lo, hi = batch
            inputs, anchored = look(lo, hi)
            engine.scratch(inputs).memory.clock[CLOCK] += 1  # its tokens are not those of the batch before
            found, ptr, lengths, sums = engine.decode(inputs, sparse, anchored)
            out[starts[lo] : starts[hi]] = spell(joined(found, ptr[:-1], lengths))
            scores[lo:hi] = sums

        for_each(run, batches(starts, jobs), jobs)
        return out, scores

    # -- files ---------------------------------------------------------------------------------------------------

    def tensors(self) -> Tensors:
        """The arrays of a model file."""
        rows = self._kept or self._cells(self.rows)
        return {"keys": self.keys, "anchored_keys": self.anchored_keys} | rows

    @staticmethod
    def declared(problem: SearchProblem) -> dict[str, Tensor]:
        """The arrays of a model of this problem."""
        return declared_rows(problem.columns)

    @classmethod
    def from_tensors(cls, problem: SearchProblem, tensors: Tensors) -> "BeamModel":
        """The inverse of `tensors`, of arrays that were checked; ValueError: keys that no template makes."""
        keys, anchored_keys = tensors["keys"], tensors["anchored_keys"]
        template = (keys >> TOP).astype(np.int64)
        if len(tensors["weight_count"]) != len(keys) + len(anchored_keys):
            raise ValueError("weights do not fit the features")
        if (template < 1).any() or (template > len(problem.composition.texts)).any():
            raise ValueError("features do not fit the templates")
        if crowded(anchored_keys) or crowded(homes(regions_of(keys), keys)):
            raise ValueError("features: too many keys are alike")
        return cls(problem, keys, {name: tensors[name] for name in declared_cells("", 0)}, anchored_keys)

    # -- looking in ----------------------------------------------------------------------------------------------

    def template_numbers(self) -> np.ndarray:
        """int64[keys]: the template of each feature that is made in states."""
        return (self.keys >> TOP).astype(np.int64) - 1

    def weights_of(self, columns: Sequence[int]) -> np.ndarray:
        """float64[features]: what each feature, numbered ones first, gives to the sum of some columns."""
        found = np.zeros(len(self.anchored_keys) + len(self.keys))
        places, sums = self.entries_of(columns)
        found[places] = sums
        return found

    def entries_of(self, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The features that have weights in some columns, in order, and the sums of these weights (float64)."""
        place, weight, ends = self._by_column
        parts = [slice(ends[column], ends[column + 1]) for column in sorted(set(columns)) if column >= 0]
        if not parts:
            return place[:0], np.zeros(0)
        places, which = np.unique(np.concatenate([place[part] for part in parts]), return_inverse=True)
        return places, np.bincount(which, np.concatenate([weight[part] for part in parts]), len(places))

    @cached_property
    def _by_column(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The features and weights column by column, and where each column begins."""
        rows = self.rows
        order = np.argsort(rows.column, kind="stable")
        ends = np.searchsorted(rows.column[order], np.arange(self.problem.columns + 1))
        return rows.place[order], rows.weight[order], ends
