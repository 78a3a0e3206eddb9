"""The learner of the graph-based parser that the training loop drives (see loop.py)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structron.io.tensors import Tensors
from structron.learn.checkpoint import digest
from structron.learn.loop import batch_end
from structron.learn.paced import Paced, squared_length
from structron.learn.parts import lists_of
from structron.model.graph import GraphModel
from structron.options import Search
from structron.search.graph.parse import steps_of
from structron.search.graph.relations import Relations
from structron.search.graph.scratch import ParseSettings, larger, make_scratch
from structron.search.graph.templates import Codes
from structron.update import trees as update
from structron.update.alma import NORM, SCALE, TOTAL, make_alma
from structron.update.delta import make_delta
from structron.update.parses import LEARN, LEARN_PARTIAL, NO_CAPACITY_TO_PARSE
from structron.update.swvp import Mixed, make_mixed, pack_substructures, substructures
from structron.update.swvp_trees import OWN, correct_mixed
from structron.weights.hashed import HashedStore, mean_vector, shift_of

CALL_TOKENS = 5_000
"""Tokens learned from before progress is shown."""


@dataclass(frozen=True, slots=True)
class EncodedTrees:
    """A treebank as numbers."""

    x: np.ndarray  # int64[words, columns]
    starts: np.ndarray  # int64[sentences + 1]
    heads: np.ndarray  # int64[words], -1: open
    relations: np.ndarray  # int64[words], -1: open

    @property
    def open(self) -> np.ndarray:
        """bool[sentences]: whether a head or a relation is open."""
        before = np.concatenate([[0], np.cumsum((self.heads < 0) | (self.relations < 0))])
        return before[self.starts[1:]] > before[self.starts[:-1]]


class GraphLearner(Paced):
    """Weights and their sums, and one pass after the other."""

    working = ("open", "store", "stats", "pace", "delta", "found", "named", "ranked", "mixed", "scratch", "learning")

    def __init__(
        self,
        templates: Codes,
        trees: EncodedTrees,
        relations: Relations,
        setting: ParseSettings,
        steps: Search,
        bits: int = 24,
        average: str = "mean",
        prune: float = 0.0,
        names: Sequence[str] = (),
        start: GraphModel | None = None,
    ):
        """steps: margin and alma, see update/trees.py; swvp, see update/swvp_trees.py.

        names: of relations, for a user's own function in swvp.   start: a model that training goes on from.
        """
        self.templates, self.trees, self.relations, self.setting = templates, trees, relations, setting
        self.steps, self.swvp, self.names, self.start = steps, steps.swvp, names, start
        self.bits, self.average, self.prune = bits, average, prune
        self._begin()

    def _begin(self) -> None:
        alma, trees = self.steps.alma, self.trees
        self.store = HashedStore(self.bits, self.relations.size)
        self.stats, self.pace = np.zeros(update.STATS), make_alma(alma, self.steps.margin)
        if self.start is not None:
            self.store.load(self.start.w)
            self.pace[NORM] = float(np.square(self.start.w, dtype=np.float64).sum())
        self.delta = update.IN_PLACE if alma is None else make_delta()
        self.found, self.named, self.ranked = (np.zeros(len(trees.x), np.int64) for _ in range(3))
        self.open = trees.open
        longest = int(np.diff(trees.starts).max(initial=0))
        self.mixed = make_mixed(longest)
        model = (self.templates, self.relations, self.setting, self.store.w, shift_of(self.bits))
        self.scratch = make_scratch(*model, longest)
        given = (trees.heads, trees.relations, self.found, self.named, self.ranked)
        self.learning = update.Learning(*given, update.make_sums(self.store.u, delta=self.delta), self.pace, self.stats)

    def part(self, examples: np.ndarray) -> Any:
        of = self.trees
        starts, *arrays = lists_of(of.starts, examples, of.x, of.heads, of.relations)
        return self._sent(trees=EncodedTrees(arrays[0], starts, *arrays[1:]), start=None)

    @property
    def examples(self) -> int:
        return len(self.trees.starts) - 1

    def warm_up(self) -> None:
        before = self.stats.copy(), self.pace.copy()
        self._learn(np.zeros(1, np.int64), 0, 0)
        if self.swvp is not None:
            self._correct_mixed(0, 0, self.mixed, OWN)
        self.stats[:], self.pace[:] = before

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        hi = batch_end(self.trees.starts, sequence, lo, CALL_TOKENS)
        self.learn_from(sequence, lo, hi)
        return hi

    def learn_from(self, sequence: np.ndarray, lo: int, hi: int) -> None:
        """Learn from the examples sequence[lo:hi]."""
        while lo < hi:
            partial = self.open[sequence[lo:hi]]
            stop = lo + int(np.argmin(np.append(partial == partial[0], False)))
            lo, wrong = (self._learn_partial if partial[0] else self._learn)(sequence, lo, stop)
            if wrong == NO_CAPACITY_TO_PARSE:
                self.scratch = larger(self.scratch)
            elif wrong == update.NO_CAPACITY:
                self.delta = make_delta(4 * len(self.delta.feature))
            elif wrong and self.swvp is not None:
                start, stop = self.trees.starts[sequence[lo - 1] :][:2]
                self._correct_mixed(start, stop - start, *self._substructures(start, stop - start))

    def _learn(self, sequence: np.ndarray, lo: int, hi: int) -> tuple[int, int]:
        steps, amount = (*steps_of(self.setting), update.CORRECT), 1.0 if self.swvp is None else 0.0
        t = self.trees
        return LEARN(*steps, self.scratch, self._resolved_options(), t.x, t.starts, sequence, lo, hi, amount)

    def _learn_partial(self, sequence: np.ndarray, lo: int, hi: int) -> tuple[int, int]:
        """The same for examples of which heads or relations are open."""
        steps, t = (*steps_of(self.setting), update.CORRECT), self.trees
        return LEARN_PARTIAL(*steps, self.scratch, self._resolved_options(), t.x, t.starts, sequence, lo, hi)

    def _resolved_options(self) -> update.Learning:
        """What kernels read and write, with the present room for Δ."""
        if self.learning.sums.delta is not self.delta:
            self.learning = self.learning._replace(sums=update.make_sums(self.store.u, delta=self.delta))
        return self.learning

    def _correct_mixed(self, start: int, n: int, jj: Mixed, count: int) -> None:
        assert self.swvp is not None
        correct_mixed(self.scratch, self._resolved_options(), self.trees.x, start, n, jj, count, self.swvp.rule)

    def _substructures(self, start: int, n: int) -> tuple[Mixed, int]:
        """Those of a user's function; the kernel makes those of a family itself."""
        if self.swvp is None or not callable(self.swvp.jj):
            return self.mixed, OWN
        y = self._decisions(start, n, self.trees.heads, self.trees.relations)
        z = self._decisions(start, n, self.found, self.named)
        wrong = {j for j in range(n) if y[j] != z[j]}
        lists, size = substructures(self.swvp.jj(y, z), wrong, n)
        return pack_substructures(lists, size, wrong, self.mixed), len(lists)

    def _decisions(self, start: int, n: int, heads: np.ndarray, relations: np.ndarray) -> list:
        """The heads of a sentence's words, with the names of their relations if there are any."""
        own = heads[start : start + n].tolist()
        if not self.names:
            return own
        return [(h, self.names[r]) for h, r in zip(own, relations[start : start + n].tolist(), strict=True)]

    def counts(self) -> dict[str, Any]:
        s = self.stats
        found = {
            "updates": int(s[update.UPDATES]),
            "wrong_tokens": int(s[update.WRONG_TOKENS]),
            "tokens": int(s[update.TOKENS]),
        }
        found |= {"invalid": int(s[update.INVALID])} if self.swvp is not None else {}
        return found | ({"ranked_wrong": int(s[update.LOST])} if self.setting.keep else {})

    def fingerprint(self) -> str:
        how = ((*self.setting, 0.0), self.bits, self.average, self.steps)
        start = () if self.start is None else (self.start.w,)
        t = self.trees
        templates = (self.templates.slots, self.templates.sum_of, self.templates.salt)
        return digest(how, (t.x, t.starts, t.heads, t.relations, *templates, *start))

    def state(self) -> Tensors:
        return self.store.state() | {"stats": self.stats, "pace": self.pace}

    def restore(self, state: Tensors) -> None:
        self.store.restore(state)
        self.stats[:], self.pace[:] = state["stats"], state["pace"]

    def add(self, other: Any, share: float) -> None:
        self.store.add(other.store, share * float(other.pace[SCALE]))
        self.pace[NORM] = self._length()

    def _length(self) -> float:
        return squared_length(self.store.w)

    def present(self) -> tuple[HashedStore, int, float]:
        """The weights with the time and the scale by which they count now, averaged or not."""
        time = int(self.stats[update.TIME]) if self.average == "mean" else 0
        return self.store, time, float(self.pace[TOTAL] / time if time else self.pace[SCALE])

    @staticmethod
    def assemble(members: Sequence["GraphLearner"]) -> GraphModel:
        return _model(members, last=False)

    @staticmethod
    def assemble_last(members: Sequence["GraphLearner"]) -> GraphModel:
        """The weights of the model come where those of the members have been."""
        model = _model(members, last=True)
        for member in members:
            del member.store, member.scratch, member.learning
        return model


def _model(members: Sequence[GraphLearner], last: bool) -> GraphModel:
    first = members[0]
    w = mean_vector([member.present() for member in members], first.prune, last)
    return GraphModel(first.templates, first.relations, first.bits, w)
