"""Learning a problem of one's own in any search: queues instead of a beam (Daumé & Marcu 2005).

search/queue.py  Figures 1 and 2          search/expand.py  nodes, compiled
        │                                         │
        └──────▶ QueueTraining: Δ of eq. (2) ─────┴──▶ the weights, mean, ALMA and files of BeamTraining
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError, unknown
from structron.kernels.jit import Pointed
from structron.learn.beam import BeamTraining
from structron.model.beam import BeamModel
from structron.search.beam.engine import NO_ANCHORS
from structron.search.beam.frontier import Inputs
from structron.search.beam.problem import POINTERS, SearchProblem, Walk
from structron.search.beam.scores import CLOCK
from structron.search.queue.nodes import EXPANDER, Node, Space
from structron.search.queue.queue import QUEUES, learn, queue_maker, search, wrong_nodes
from structron.tasks.own.beam import OPTIONS, WALKED, ActionScores, BeamLearner, Example, Names
from structron.update.alma import ALPHA, SCALE, TOTAL, end_example, lowering, step
from structron.update.collect import collect
from structron.update.delta import FULL, apply, clear, fits, measure
from structron.update.fixing import (
    EXAMPLES,
    FELL,
    FELL_AT,
    INVALID,
    MORE_DELTA,
    MORE_WEIGHTS,
    NEEDED,
    STEPS,
    TIME,
    TOKENS,
    TROUBLE,
    UPDATES,
)

Heuristic = Callable[..., float]
Derivations = list[list[int]]
"""The correct derivations of an example: at least one."""
STROLL = 200
"""Steps of a random walk through an example before training."""


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


GATHER = Pointed(gather, POINTERS["atoms"])


class QueueTraining(BeamTraining):
    """The learner of a problem under a queue: Figure 2 for every example."""

    def __init__(
        self,
        problem: SearchProblem,
        inputs: Inputs,
        derivations: Sequence[Derivations],
        queue: str = "best-first",
        beam: int | None = 8,
        heuristic: Heuristic | None = None,
        limit: int = 100_000,
        average: str = "mean",
        check: bool | None = None,
        alma: float | tuple[float, float, float] | None = None,
        margin: float | None = None,
    ):
        self.derivations, self.queue, self.width = derivations, queue, beam
        self.heuristic, self.limit = heuristic, limit
        super().__init__(problem, inputs, 1, "laso", False, average, check=check, alma=alma, margin=margin)

    def _start_weights(self) -> None:
        super()._start_weights()
        self.space = Space(self.engine, self.inputs, self.anchored, self.limit, self.heuristic)

    def is_cold(self) -> bool:
        return EXPANDER.is_cold() or GATHER.is_cold()

    def warm_up(self) -> None:
        """Load or compile the kernels."""
        self.space.begin(0, self.sparse)
        self._gather([self.space.initial()], [])

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        """Learn from one example; returns the next place."""
        e = int(sequence[lo])
        self._begin_search(e)
        before = self.stats[UPDATES]

        def update(sibs: Sequence[Node], nodes: Sequence[Node], fell: bool) -> None:
            if fell and self.stats[UPDATES] == before:
                self.stats[FELL] += 1
                self.stats[FELL_AT] += nodes[0].depth / max(nodes[0].depth, *map(len, self.derivations[e]))
            self._update(sibs, nodes)

        learn(self.space, queue_maker(self.queue, self.width), update)
        end_example(self.pace)
        self.stats[TIME] += 1
        self.stats[EXAMPLES] += 1
        self.stats[TOKENS] += self.inputs.starts[e + 1] - self.inputs.starts[e]
        return lo + 1

    def _begin_search(self, e: int) -> None:
        self.space.begin(e, self.sparse, self.derivations[e])
        self._take_pace()

    def _take_pace(self) -> None:
        self.space.low, self.space.scale = float(lowering(self.pace)), float(self.pace[SCALE])
        self.space.use(self.sparse)

    def _gather(self, sibs: Sequence[Node], wrong: Sequence[Node]) -> None:
        space, rows = self.space, [np.array([node.row for node in nodes], np.int64) for nodes in (sibs, wrong)]
        atoms = self.problem.pointers[list(POINTERS).index("atoms")]
        given = (atoms, self.inputs, space.e, self.anchored, space.setting, space.ground, space.rows, *rows)
        GATHER(*given, self.delta)

    def _update(self, sibs: Sequence[Node], nodes: Sequence[Node]) -> None:
        """w ← w + Δ, or eq. (3), with Δ of eq. (2)."""
        wrong, stats = wrong_nodes(sibs, nodes), self.stats
        self._gather(sibs, wrong)
        while self.delta.used[FULL]:
            stats[TROUBLE] = MORE_DELTA
            self._settle(self.space.e)
            self._gather(sibs, wrong)
        needed = fits(self.delta, self.sparse, self.anchored)
        if needed:
            stats[TROUBLE], stats[STEPS], stats[NEEDED] = MORE_WEIGHTS, self.delta.used[0], needed
            self._settle(self.space.e)
        size, dot = measure(self.delta, self.sparse, self.anchored) if self.check or self.pace[ALPHA] else (0.0, 0.0)
        if self.check:
            self._verify(dot, sibs, wrong)
        apply(self.delta, self.sparse, self.anchored, step(self.pace, size, dot), self.pace[TOTAL])
        self.engine.room(self.inputs).memory.clock[CLOCK] += 1
        self._take_pace()
        stats[UPDATES] += 1
        stats[INVALID] += mean_of("rank", sibs) > mean_of("rank", wrong)

    def _verify(self, dot: float, sibs: Sequence[Node], wrong: Sequence[Node]) -> None:
        """Compare w·Δ, from the weights alone, with the scores of the search; in a beam it must be a violation."""
        margin, low = mean_of("g", sibs) - mean_of("g", wrong), self.space.low
        slack = 1e-3 * (1.0 + abs(margin))
        if abs(dot - margin) > slack or (self.queue in ("greedy", "beam") and len(sibs) == 1 and dot - low > slack):
            raise AssertionError(f"{self.queue}: example {self.space.e}: w·Δ is {dot}, by the search it is {margin}")

    def fingerprint(self) -> str:
        how = (self.queue, self.width, self.limit, self.heuristic is not None, self.derivations)
        return hashlib.sha256(f"{super().fingerprint()} {how}".encode()).hexdigest()


def mean_of(what: str, nodes: Sequence[Node]) -> float:
    return float(sum(getattr(node, what) for node in nodes) / len(nodes))


class Actions(list[int]):
    """A correct derivation, and with it all that are correct."""

    def __init__(self, every: Derivations):
        super().__init__(every[0])
        self.every = every


class QueueLearner(BeamLearner):
    """Learns a search problem in the search that is to solve it, whatever its queue (Daumé & Marcu 2005, LaSO).

    problem: a `SearchProblem`.   queue: best-first, a-star, greedy, beam or exhaustive; see search/queue.py.   beam:
    nodes that are kept of each depth (queue="beam").   heuristic(x, table, states, s): the most that may still be
    gained from row s on, as a number, for a-star and best-first.   limit: nodes that may be expanded for one example.
    alma, margin, passes, runs, average, seed, shuffle, patience, stop_change, verbose, check: as for `BeamLearner`.

    Spaces may have cycles. The actions of an example may be one derivation or a list of derivations that are all
    correct. Where a beam will do, `BeamLearner` (update="laso", merge=False) learns the same about ten times as fast.
    """

    task: ClassVar[str] = "queue problem"
    kept: ClassVar[tuple[str, ...]] = (*(name for name in OPTIONS if name not in ("update", "merge")), "queue", "limit")

    def __init__(
        self,
        problem: SearchProblem,
        *,
        queue: str = "best-first",
        beam: int | None = 8,
        heuristic: Heuristic | None = None,
        limit: int = 100_000,
        alma: float | None = None,
        margin: float | None = None,
        passes: int = 10,
        runs: int = 1,
        average: str = "mean",
        seed: int = 1,
        shuffle: bool = True,
        patience: int = 0,
        stop_change: float | None = None,
        verbose: bool = False,
        check: bool | None = None,
    ):
        self.queue, self.heuristic, self.limit = queue, heuristic, limit
        how = {"passes": passes, "runs": runs, "average": average, "seed": seed, "shuffle": shuffle, "alma": alma}
        more = {"margin": margin, "patience": patience, "stop_change": stop_change, "verbose": verbose, "check": check}
        super().__init__(problem, beam=beam, update="laso", merge=False, **how, **more)  # type: ignore[arg-type]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_queue()

    def _check_queue(self) -> None:
        if self.queue not in QUEUES:
            raise unknown("queue", self.queue, QUEUES)
        self._check_counts(limit=1)
        if self.queue == "a-star" and self.heuristic is None:
            raise StructronError("heuristic: none, for queue a-star; expected heuristic(x, table, states, s) -> float")
        if self.heuristic is not None and self.queue not in ("a-star", "best-first"):
            raise StructronError(f"heuristic: given for queue {self.queue}; expected queue a-star or best-first")
        if self.heuristic is not None and not callable(self.heuristic):
            raise StructronError(f"heuristic: {self.heuristic!r}; expected a function (x, table, states, s) -> float")

    # -- training ------------------------------------------------------------------------------------------------

    def _walk(self, xs: Sequence[np.ndarray], gold: Sequence[list[int]]) -> None:
        """Look at a few examples uncompiled: along what is correct, and at random; in a cycle that need not end."""
        for number, (x, own) in enumerate(zip(xs[:WALKED], gold, strict=False)):
            for actions in derivations_of(own):
                Walk(self.problem, x, number).run(actions)
            walk, random = Walk(self.problem, x, number), np.random.default_rng(number)
            row, steps = walk.begin(), 0
            while steps < min(walk.limit, STROLL) and (legal := walk.legal(row)):
                row, steps = walk.step(row, int(random.choice(legal))), steps + 1
                walk.look(row)

    def _make_learner(self, inputs: Inputs, gold: Sequence[list[int]]) -> QueueTraining:
        how = (self.queue, self.beam, self.heuristic, self.limit, self.average, self.check, self.alma, self.margin)
        return QueueTraining(self.problem, inputs, [derivations_of(own) for own in gold], *how)

    # -- examples: several derivations may be correct --------------------------------------------------------------

    def _read(self, examples: Iterable[Example], what: str) -> tuple[list[np.ndarray], list[list[int]]]:
        xs, gold = super()._read(examples, what)
        for number, own in enumerate(gold):
            if len({isinstance(action, list) for action in own}) > 1:
                where = f"{what}: example {number}"
                raise StructronError(f"{where}: actions beside lists of actions; expected one list, or a list of lists")
        return xs, [Actions(own) if own and isinstance(own[0], list) else own for own in gold]

    def _number(self, action: Any, where: str = "") -> Any:
        """The number of an action, or those of a derivation."""
        if isinstance(action, list | tuple | np.ndarray):
            return [self._number(own, where) for own in action]
        return super()._number(action, where)

    def _correct(self, gold: Sequence[list[int]], guess: Names) -> Names:
        """Of the correct derivations of each example the one that has most in common with what was found."""
        found = []
        for own, actions in zip(gold, guess, strict=True):
            every = self._names(derivations_of(own))
            found.append(max(every, key=lambda names: ActionScores.of([names], [actions]).accuracy))
        return found

    # -- using and keeping ---------------------------------------------------------------------------------------

    def _decode(self, model: BeamModel, inputs: Inputs, jobs: int) -> tuple[list[list[int]], list[float]]:
        """Figure 1 for every example, on one thread; `expanded_` says how many nodes were expanded."""
        self._check_queue()
        space, found = Space(model.engine(1, False), inputs, NO_ANCHORS, self.limit, self.heuristic), []
        self.expanded_, make_queue = 0, queue_maker(self.queue, self.beam)
        for e in range(len(inputs.starts) - 1):
            space.begin(e, model.sparse)
            found.append(search(space, make_queue))
            self.expanded_ += space.expanded
        return [node.actions() for node in found], [node.g for node in found]

    def _signature(self) -> str:
        width = "" if self.queue != "beam" else "-inf" if self.beam is None else f"-{self.beam}"
        parts = super()._signature().split(" | ")
        return " | ".join(f"search {self.queue}{width}" if part.startswith("search ") else part for part in parts)

    def _load_model(self, path: Path) -> BeamModel:
        return self.load(path, self.problem, self.heuristic).model_

    @classmethod
    def load(
        cls,
        path: str | Path,
        problem: SearchProblem | Callable[[Any], SearchProblem],
        heuristic: Heuristic | None = None,
        **options: Any,
    ) -> "BeamLearner":
        """Read a model file, as `BeamLearner.load` does; the heuristic is given again, as the problem is."""
        learner = super().load(path, problem, heuristic=heuristic, **options)
        learner._check_parameters()
        return learner


def derivations_of(own: list[int]) -> Derivations:
    """All correct derivations of an example that `_read` gave."""
    return own.every if isinstance(own, Actions) else [own]
