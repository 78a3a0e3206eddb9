"""Learning a problem of one's own in any search: queues instead of a beam (Daumé & Marcu 2005)."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError, unknown
from structron.learn.queue import Derivations, QueueTraining
from structron.model.beam import BeamModel
from structron.search.beam.engine import NO_ANCHORS
from structron.search.beam.frontier import Inputs
from structron.search.beam.problem import SearchProblem, Walk
from structron.search.queue.nodes import Heuristic, Space
from structron.search.queue.queue import QUEUES, queue_maker, search
from structron.tasks.own.beam import OPTIONS, WALKED, ActionScores, BeamLearner, Example, Names

STROLL = 200
"""Steps of a random walk through an example before training."""


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
