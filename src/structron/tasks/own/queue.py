"""A search problem of the user's own in any search: queues instead of a beam (Daumé & Marcu 2005)."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from structron.errors import StructronError
from structron.estimator import Estimator
from structron.learn.beam import Beginning
from structron.learn.queue import Derivations, QueueTraining
from structron.model.beam import BeamModel
from structron.search.beam.engine import NO_ANCHORS
from structron.search.beam.frontier import Inputs
from structron.search.beam.problem import SearchProblem, Walk
from structron.search.queue.nodes import Space
from structron.search.queue.queue import queue_maker, search, search_n
from structron.tasks.options import QueueLearnerOptions
from structron.tasks.own.beam import ActionScores, Example, Names, ProblemEstimator

NO_HEURISTIC = "heuristic: missing for queue a-star; expected heuristic(x, table, states, s) -> float"
STROLL = 200
"""Steps of a random walk through an example before training."""


class Actions(list[int]):
    """A correct derivation, and with it all that are correct."""

    def __init__(self, every: Derivations):
        super().__init__(every[0])
        self.every = every


class QueueLearner(ProblemEstimator):
    """Learns a search problem within the search that will solve it, with any queue (Daumé & Marcu 2005, LaSO).

    The search space may have cycles. The actions of an example may be one derivation or a list of derivations that
    are all correct. If a beam is enough, `BeamLearner` (update="laso", merge=False) learns the same about ten times
    as fast.

    Examples:
        >>> from structron import QueueLearner, SearchProblem
        >>> def start(x, table, states, s):
        ...     states[s, 1] = 0
        >>> def legal(x, table, states, s, out):
        ...     out[0], out[1] = 0, 1
        ...     return 2 if states[s, 1] < x.shape[0] else 0
        >>> def advance(x, table, states, s, action, t):
        ...     states[t, 1] = states[s, 1] + 1
        >>> def atoms(x, table, states, s, out):
        ...     out[0] = x[states[s, 1], 0] if states[s, 1] < x.shape[0] else -1
        >>> functions = {"start": start, "legal": legal, "advance": advance, "atoms": atoms}
        >>> options = {"atom_names": {"number": 10}, "templates": ["number"], "max_steps": lambda n: n}
        >>> problem = SearchProblem(name="parity", actions=["even", "odd"], width=2, **functions, **options)
        >>> examples = [([1, 2, 3], ["odd", "even", "odd"]), ([4, 5], ["even", "odd"])]
        >>> learner = QueueLearner(problem, queue="best-first", passes=3).fit(examples)
        >>> learner.predict([[5, 4, 1]])
        [['odd', 'even', 'odd']]
    """

    options_class = QueueLearnerOptions
    learns_open = False  # LaSO goes on from the correct nodes, so it has to know all of them
    all_known = "known actions, or a list of all correct derivations (BeamLearner learns from open ones)"

    def _scene(self, sentence: Any, gold: Any) -> Any:
        return Estimator._scene(self, sentence, gold)

    def _check(self) -> None:
        options = self.options
        super()._check()
        if options.queue == "a-star" and options.heuristic is None:
            raise StructronError(NO_HEURISTIC)
        if options.heuristic is not None and options.queue not in ("a-star", "best-first"):
            raise StructronError(f"heuristic: given for queue {options.queue}; expected queue a-star or best-first")
        if options.heuristic is not None and not callable(options.heuristic):
            raise StructronError(
                f"heuristic: {options.heuristic!r}; expected a function (x, table, states, s) -> float"
            )

    @classmethod
    def _ask_for(cls, path: Any, header: dict[str, Any], code: dict[str, Any]) -> None:
        super()._ask_for(path, header, code)
        options = header.get("options")
        asked = code.get("queue") or (options.get("queue") if isinstance(options, dict) else None)
        if asked == "a-star" and code.get("heuristic") is None:
            raise StructronError(f"{path}: {NO_HEURISTIC}")

    @classmethod
    def load(  # type: ignore[override]
        cls,
        path: str | Path,
        problem: SearchProblem | Callable[[Any], SearchProblem],
        *,
        heuristic: Callable | None = None,
        queue: str | None = None,
        beam: int | None = None,
        jobs: int | None = None,
    ) -> Self:
        """Read a model file for its problem.

        Args:
            path: The model file.
            problem: The problem, or a function that builds it from what was saved as `extra`.
            heuristic: The heuristic of A*, which is not in the file.
            queue: Another queue than that in the file.
            beam: Another beam than that in the file.
            jobs: Another number of threads than that in the file.
        """
        code = {"problem": problem, "heuristic": heuristic, "queue": queue, "beam": beam, "jobs": jobs}
        return cls._load(path, f"one written by {cls.__name__}.save", **code)

    # -- training ------------------------------------------------------------------------------------------------

    def _walk(self, xs: Sequence[np.ndarray], gold: Sequence[list[int]]) -> None:
        """Look at a few examples uncompiled: along what is correct, and at random; in a cycle that need not end."""
        for number, (x, own) in enumerate(zip(xs[: self._walked], gold, strict=False)):
            for actions in derivations_of(own):
                Walk(self.problem, x, number).run(actions)
            walk, random = Walk(self.problem, x, number), np.random.default_rng(number)
            row, steps = walk.begin(), 0
            while steps < min(walk.limit, STROLL) and (legal := walk.legal(row)):
                row, steps = walk.step(row, int(random.choice(legal))), steps + 1
                walk.compute_atoms(row)

    def _make_learner(self, inputs: Inputs, gold: Sequence[list[int]], start: Beginning | None) -> QueueTraining:
        queue = (self.options.queue, self.options.beam, self.options.heuristic, self.options.limit)
        derivations = [derivations_of(own) for own in gold]
        return QueueTraining(
            self._watched, inputs, derivations, queue, self.options.resolved, self.options.average, start
        )

    # -- examples: several derivations may be correct --------------------------------------------------------------

    def _read_examples(self, examples: Iterable[Example], what: str) -> tuple[list[np.ndarray], list[list[int]]]:
        xs, gold = super()._read_examples(examples, what)
        for number, own in enumerate(gold):
            if len({isinstance(action, list) for action in own}) > 1:
                where = f"{what}: example {number}"
                raise StructronError(
                    f"{where}: a mix of actions and lists of actions; expected one list, or a list of lists"
                )
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

    # -- using ---------------------------------------------------------------------------------------------------

    def _search(self, model: BeamModel, inputs: Inputs, jobs: int) -> tuple[list[list[int]], list[float]]:
        """Figure 1 for every example, on one thread; `expanded_` says how many nodes were expanded."""
        self._check()
        model = self._under_guard(model)
        space, found = Space(model.engine(1, False), inputs, NO_ANCHORS, self.options.limit, self.options.heuristic), []
        self.expanded_, make_queue = 0, queue_maker(self.options.queue, self.options.beam)
        for e in range(len(inputs.starts) - 1):
            space.begin(e, model.sparse)
            found.append(search(space, make_queue))
            self.expanded_ += space.expanded
        return [node.actions() for node in found], [node.g for node in found]

    def _search_nbest(self, model: BeamModel, inputs: Inputs, n: int, jobs: int) -> list[list[tuple[list[int], float]]]:
        """The first n goals that the search comes to, in this order."""
        self._check()
        model = self._under_guard(model)
        space, found = Space(model.engine(1, False), inputs, NO_ANCHORS, self.options.limit, self.options.heuristic), []
        for e in range(len(inputs.starts) - 1):
            space.begin(e, model.sparse)
            nodes = search_n(space, queue_maker(self.options.queue, self.options.beam, n=n), n)
            found.append([(node.actions(), node.g) for node in nodes])
        return found

    def _summary(self) -> dict[str, Any]:
        width = (
            ""
            if self.options.queue not in ("beam", "first-goal", "cut")
            else "-inf"
            if self.options.beam is None
            else f"-{self.options.beam}"
        )
        return super()._summary() | {"search": f"{self.options.queue}{width}"}


def derivations_of(own: list[int]) -> Derivations:
    """All correct derivations of an example that `_read_examples` gave."""
    return own.every if isinstance(own, Actions) else [own]
