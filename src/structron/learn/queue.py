"""Learning in any search: queues instead of a beam (Daumé & Marcu 2005).

search/queue/queue.py  Figures 1 and 2     search/queue/nodes.py  nodes, compiled
        │                                          │
        └──────▶ QueueTraining: Δ of eq. (2) ──────┴──▶ the weights, mean, ALMA and files of BeamTraining
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structron.kernels.jit import WithFunctionPointers, plain
from structron.learn.beam import BeamTraining, Beginning
from structron.learn.checkpoint import digest
from structron.options import Search
from structron.search.beam.engine import NO_ANCHORS
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.problem import SearchProblem
from structron.search.beam.scores import CLOCK
from structron.search.beam.signatures import POINTERS
from structron.search.queue.nodes import Heuristic, SearchNode, Space
from structron.search.queue.queue import learn, queue_maker, wrong_nodes
from structron.update import alma, fixing
from structron.update.alma import ALPHA, SCALE, TOTAL
from structron.update.collect import collect
from structron.update.delta import APPLY, FITS, FULL, MEASURE, clear

Derivations = list[list[int]]
"""The correct derivations of an example: at least one."""
Queue = tuple[str, int | None, Heuristic | None, int]
"""Its name, the width of a beam, a heuristic, and how many nodes may be expanded for one example."""


def gather(atoms, inputs, e, anchored, setting, ground, rows, sibs, wrong, delta):
    """Eq. (2): Δ = the mean of Φ over the rows `sibs` - the mean over the rows `wrong`; what they share cancels.

    Every row hands its counts on to the row it was made from, so that each action is looked at once.
    """
    clear(delta)
    counts = np.zeros((rows, 2), np.int64)
    for row in sibs:
        counts[row, 0] += 1
    for row in wrong:
        counts[row, 1] += 1
    for row in range(rows - 1, -1, -1):
        back = ground.back[row]
        if back >= 0 and (counts[row, 0] > 0 or counts[row, 1] > 0):
            counts[back, 0] += counts[row, 0]
            counts[back, 1] += counts[row, 1]
            amount = counts[row, 0] / sibs.shape[0] - counts[row, 1] / wrong.shape[0]
            if amount != 0.0:
                collect(atoms, inputs, e, anchored, setting, ground, back, ground.action[row], amount, delta)


end_example, is_small, lowering, step = map(plain, (alma.end_example, alma.is_small, alma.lowering, alma.step))
GATHER = WithFunctionPointers(gather, POINTERS["atoms"], allocates=True)


class QueueTraining(BeamTraining):
    """The learner of a problem under a queue: Figure 2 for every example."""

    working = (*BeamTraining.working, "space")

    def __init__(
        self,
        problem: SearchProblem,
        inputs: Inputs,
        derivations: Sequence[Derivations],
        queue: Queue,
        search: Search,
        average: str = "mean",
        start: Beginning | None = None,
        anchored: Anchored = NO_ANCHORS,
    ):
        """derivations: the correct ones of each example.   search: alma, margin and check count."""
        self.derivations, (self.queue, self.width, self.heuristic, self.limit) = derivations, queue
        super().__init__(problem, inputs, search, average, anchored, start=start)

    def _begin(self) -> None:
        super()._begin()
        self.space = Space(self.engine, self.inputs, self.anchored, self.limit, self.heuristic)

    def part(self, examples: np.ndarray) -> Any:
        other = super().part(examples)
        other.derivations = [self.derivations[e] for e in examples.tolist()]
        return other

    def warm_up(self) -> None:
        self.space.begin(0, self.sparse)
        self._gather([self.space.initial()], [])

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        """Learn from one example; returns the next place."""
        e = int(sequence[lo])
        self._begin_search(e)
        before = self.stats[fixing.UPDATES]

        def update(sibs: Sequence[SearchNode], nodes: Sequence[SearchNode], fell: bool) -> None:
            if fell and self.stats[fixing.UPDATES] == before:
                self.stats[fixing.FELL] += 1
                self.stats[fixing.FELL_AT] += nodes[0].depth / max(nodes[0].depth, *map(len, self.derivations[e]))
            self._update(sibs, nodes)

        learn(self.space, queue_maker(self.queue, self.width), update)
        end_example(self.pace)
        self.stats[fixing.TIME] += 1
        self.stats[fixing.EXAMPLES] += 1
        self.stats[fixing.TOKENS] += self.inputs.starts[e + 1] - self.inputs.starts[e]
        if is_small(self.pace):
            self._fold()
        return lo + 1

    def _begin_search(self, e: int) -> None:
        self.space.begin(e, self.sparse, self.derivations[e])
        self._take_pace()

    def _take_pace(self) -> None:
        self.space.low, self.space.scale = float(lowering(self.pace)), float(self.pace[SCALE])
        self.space.use(self.sparse)

    def _gather(self, sibs: Sequence[SearchNode], wrong: Sequence[SearchNode]) -> None:
        space, rows = self.space, [np.array([node.row for node in nodes], np.int64) for nodes in (sibs, wrong)]
        atoms = self.problem.pointers[list(POINTERS).index("atoms")]
        given = (atoms, self.inputs, space.e, self.anchored, space.setting, space.ground, space.rows, *rows)
        space.engine.watched(lambda: GATHER(*given, self.delta), self.inputs, space.remains)

    def _update(self, sibs: Sequence[SearchNode], nodes: Sequence[SearchNode]) -> None:
        """w ← w + Δ, or eq. (3), with Δ of eq. (2)."""
        wrong, stats = nodes if self.rule.literal else wrong_nodes(sibs, nodes), self.stats
        self._gather(sibs, wrong)
        while self.delta.used[FULL]:
            stats[fixing.TROUBLE] = fixing.MORE_DELTA
            self._fit_columns(self.space.e)
            self._gather(sibs, wrong)
        needed = FITS(self.delta, self.sparse, self.anchored)
        if needed:
            stats[fixing.TROUBLE], stats[fixing.STEPS], stats[fixing.NEEDED] = (
                fixing.MORE_WEIGHTS,
                self.delta.used[0],
                needed,
            )
            self._fit_columns(self.space.e)
        size, dot = MEASURE(self.delta, self.sparse, self.anchored) if self.check or self.pace[ALPHA] else (0.0, 0.0)
        if self.check:
            self._verify(dot, sibs, wrong)
        lowered = self.space.low * sum(node.good > 0 for node in wrong) / len(wrong)
        margin = mean_of("rank", sibs) - mean_of("rank", wrong) - lowered
        APPLY(self.delta, self.sparse, self.anchored, step(self.pace, size, dot), self.pace[TOTAL])
        self.engine.scratch(self.inputs).memory.clock[CLOCK] += 1
        self._take_pace()
        stats[fixing.UPDATES] += 1
        stats[fixing.INVALID] += margin > 0

    def _verify(self, dot: float, sibs: Sequence[SearchNode], wrong: Sequence[SearchNode]) -> None:
        """Compare w·Δ, from the weights alone, with the scores of the search; in a beam it must be a violation."""
        margin, low = mean_of("g", sibs) - mean_of("g", wrong), self.space.low
        tolerance = 1e-3 * (1.0 + abs(margin))
        valid = self.rule.valid and self.queue in ("greedy", "beam") and len(sibs) == 1
        if abs(dot - margin) > tolerance or (valid and dot - low > tolerance):
            raise AssertionError(f"{self.queue}: example {self.space.e}: w·Δ is {dot}, by the search it is {margin}")

    def fingerprint(self) -> str:
        how = (self.queue, self.width, self.limit, self.heuristic is not None, self.derivations)
        return digest((super().fingerprint(), *how), ())


def mean_of(what: str, nodes: Sequence[SearchNode]) -> float:
    return float(sum(getattr(node, what) for node in nodes) / len(nodes))
