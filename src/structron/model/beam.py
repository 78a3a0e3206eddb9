"""A learned model of a search problem: keys of features, sparse rows of weights, and the search that uses them.

Features are of two kinds. Most are keys that the templates of the problem make in a state (features/compose.py). Chains
also have features that were hashed per token before the search (`anchored`); they come first.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from structron.features.index import look_up
from structron.kernels.table import build_table
from structron.search.beam.engine import NO_ANCHORS, Engine, actions_of
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.nbest import Derivation
from structron.search.beam.problem import SearchProblem
from structron.search.beam.scores import CLOCK
from structron.threads import for_each, stretches
from structron.weights.sparse import Row, pack


class BeamModel:
    """Weights for a problem. `anchored_keys` and `keys` name the rows, in this order."""

    def __init__(self, problem: SearchProblem, keys: np.ndarray, rows: Row, anchored_keys: np.ndarray | None = None):
        self.problem, self.keys, self.rows = problem, keys, rows
        self.anchored_keys = np.zeros(0, np.uint64) if anchored_keys is None else anchored_keys
        first = len(self.anchored_keys)
        heads, self.sparse = pack(problem.columns, keys, rows, first)
        self.anchored_table = np.stack([self.anchored_keys, heads], axis=1) if first else NO_ANCHORS.table
        self.number_of = build_table(self.anchored_keys) if first else None
        self.engines: dict[tuple[int | None, bool], Engine] = {}

    def engine(self, beam: int | None, merge: bool = True) -> Engine:
        if (beam, merge) not in self.engines:
            self.engines[beam, merge] = Engine(self.problem, beam, merge)
        return self.engines[beam, merge]

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
        merge: bool = True,
        anchored: Anchored = NO_ANCHORS,
        jobs: int = 1,
    ) -> tuple[list[list[int]], list[float]]:
        """The best actions of every example and their scores."""
        engine = self.engine(beam, merge)

        parts: dict[int, tuple[list[list[int]], list[float]]] = {}

        def run(stretch: tuple[int, int]) -> None:
            found = engine.decode(inputs, self.sparse, anchored, *stretch)
            parts[stretch[0]] = actions_of(found, *stretch), found[3][stretch[0] : stretch[1]].tolist()

        for_each(run, stretches(inputs.starts), jobs)
        done = [parts[lo] for lo in sorted(parts)]
        return [a for actions, _ in done for a in actions], [s for _, scores in done for s in scores]

    def nbest(
        self,
        inputs: Inputs,
        n: int,
        beam: int | None = 8,
        merge: bool = True,
        anchored: Anchored = NO_ANCHORS,
        jobs: int = 1,
    ) -> list[list[Derivation]]:
        """Up to n derivations of every example, each with its score, best first; a narrower beam is widened to n."""
        engine = self.engine(None if beam is None else max(beam, n), merge)
        parts: dict[int, list[list[Derivation]]] = {}

        def run(stretch: tuple[int, int]) -> None:
            parts[stretch[0]] = engine.nbest(inputs, self.sparse, anchored, n, *stretch)

        for_each(run, stretches(inputs.starts), jobs)
        return [own for lo in sorted(parts) for own in parts[lo]]

    def decode_tokens(
        self,
        starts: np.ndarray,
        look: Callable[[int, int], tuple[Inputs, Anchored]],
        beam: int | None,
        merge: bool,
        jobs: int,
        spell: Callable[[np.ndarray], np.ndarray] = lambda actions: actions,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(a number for each token, a score for each sentence). look(lo, hi): sentences lo … hi - 1 for the search;
        spell: what actions that follow each other say of their tokens."""
        out, scores = np.zeros(int(starts[-1]), np.int64), np.zeros(len(starts) - 1, np.float32)
        engine = self.engine(beam, merge)

        def run(stretch: tuple[int, int]) -> None:
            lo, hi = stretch
            inputs, anchored = look(lo, hi)
            engine.room(inputs).memory.clock[CLOCK] += 1  # its tokens are not those of the stretch before
            found, ptr, lengths, sums = engine.decode(inputs, self.sparse, anchored)
            own = np.repeat(ptr[:-1] - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
            out[starts[lo] : starts[hi]] = spell(found[own])
            scores[lo:hi] = sums

        for_each(run, stretches(starts), jobs)
        return out, scores

    # -- files ---------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, np.ndarray]:
        count = np.bincount(self.rows.place, minlength=len(self.anchored_keys) + len(self.keys))
        kind = np.uint8 if self.problem.columns <= 256 else np.uint16
        return {
            "keys": self.keys,
            "anchored_keys": self.anchored_keys,
            "weight_count": count.astype(np.uint16),
            "weight_label": self.rows.column.astype(kind),
            "weight": self.rows.weight,
        }

    @classmethod
    def from_tensors(cls, problem: SearchProblem, tensors: dict[str, np.ndarray]) -> "BeamModel":
        """Raises ValueError when the parts do not fit together."""
        names = ("keys", "anchored_keys", "weight_count", "weight_label", "weight")
        keys, anchored_keys, counts, column, weight = (tensors[name] for name in names)
        kinds = [array.dtype.kind for array in (keys, anchored_keys, counts, column, weight)]
        fits = (
            kinds == ["u", "u", "u", "u", "f"]
            and all(array.ndim == 1 for array in (keys, anchored_keys, counts, column, weight))
            and len(counts) == len(keys) + len(anchored_keys)
            and int(counts.sum()) == len(column) == len(weight)
            and (not len(column) or int(column.max()) < problem.columns)
            and np.isfinite(weight).all()
            and (keys != 0).all()
        )
        if not fits:
            raise ValueError("weights do not fit together")
        place = np.repeat(np.arange(len(counts)), counts)
        rows = Row(place, column.astype(np.int32), weight.astype(np.float32))
        return cls(problem, keys.astype(np.uint64), rows, anchored_keys.astype(np.uint64))

    # -- looking in ----------------------------------------------------------------------------------------------

    def heaviest(self, action: int, top: int, describe: Any) -> list[tuple[str, float]]:
        """The features with the largest weights, of either sign, for one action. `describe(place)` names a feature."""
        column = int(self.problem.parts[action].max())
        cells = np.flatnonzero(self.rows.column == column)
        size = np.abs(self.rows.weight[cells])
        best = cells[np.lexsort((cells, -size))[:top]]
        return [(describe(int(self.rows.place[k])), float(self.rows.weight[k])) for k in best if self.rows.weight[k]]


def mean_rows(parts: Sequence[tuple[np.ndarray, Row]], least: float = 0.0) -> tuple[np.ndarray, Row]:
    """The mean of several sets of rows under keys, without weights of at most `least`, and without empty rows."""
    keys, inverse = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    offsets = np.cumsum([0, *(len(keys) for keys, _ in parts)])
    place = np.concatenate([inverse[rows.place + lo] for (_, rows), lo in zip(parts, offsets, strict=False)])
    column = np.concatenate([rows.column for _, rows in parts])
    weight = np.concatenate([rows.weight for _, rows in parts]).astype(np.float64)
    width = int(column.max(initial=0)) + 1
    cells, inverse = np.unique(place * width + column, return_inverse=True)
    mean = (np.bincount(inverse, weight, minlength=len(cells)) / len(parts)).astype(np.float32)
    kept = np.abs(mean) > least
    cells, mean = cells[kept], mean[kept]
    used, place = np.unique(cells // width, return_inverse=True)
    return keys[used], Row(place, (cells % width).astype(np.int32), mean)
