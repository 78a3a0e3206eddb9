"""Why a search ends as it does: every action of a derivation against the best other one.

An action's score in a state is a sum of weights, one for each feature of the state. So what decides between two actions
are the features whose weights for them differ. Search looks further than one state: an action may win although
another scores more where they part, for what comes after it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from structron.errors import shown
from structron.model.beam import BeamModel
from structron.search.beam.engine import NO_ANCHORS
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.problem import Walk
from structron.search.beam.scores import unit_of, units_of
from structron.text.numbers import ShortFloats

Contributions = dict[int, float]
"""What each feature, by its place, gives to an action's score."""


@dataclass(frozen=True, slots=True, repr=False)
class Reason(ShortFloats):
    """How much a feature favours an action; negative: the runner-up."""

    feature: str
    weight: float


@dataclass(frozen=True, slots=True, repr=False)
class Step(ShortFloats):
    """An action, the state in which it was taken, and why; without a runner-up, no other action was possible.

    Examples:
        >>> from structron.model.explain import Reason, Step
        >>> print(Step("shift", "dogs | bark", 3.0, "left", 2.5, [Reason("s0.t=NOUN", 2.5)]))
        shift  [dogs | bark]  by 2.5 before left
             +2.5000  s0.t=NOUN
    """

    action: str
    state: str
    score: float
    runner_up: str | None
    margin: float | None
    because: list[Reason]

    def __str__(self) -> str:
        line = f"{self.action}  [{self.state}]" if self.state else self.action
        if self.runner_up is None or self.margin is None:
            line += "  (no other action is possible)"
        elif self.margin >= 0:
            line += f"  by {self.margin:.4g} before {self.runner_up}"
        else:
            line += f"  because of later actions: here {self.runner_up} scores {-self.margin:.4g} more"
        return "\n".join([shown(line), *(f"{own.weight:+12.4f}  {shown(own.feature)}" for own in self.because)])


class Explainer:
    """Explains the derivations of one example."""

    def __init__(
        self,
        model: BeamModel,
        inputs: Inputs,
        name: Callable[[int], str],
        state: Callable[[Walk, int], str],
        anchored: Anchored = NO_ANCHORS,
    ):
        """name: of a feature by its place, numbered ones first.   state: a state in words."""
        self.model, self.problem, self.anchored = model, model.problem, anchored
        self.name, self.state = name, state
        self.walk = Walk(model.problem, inputs.x, 0, inputs.table)
        self.order = np.argsort(model.keys)

    def steps(self, actions: Sequence[int], top: int) -> list[Step]:
        """Every action of a derivation, with the features that decided."""
        row, found = self.walk.begin(), []
        for action in actions:
            legal = self.walk.legal(row) or []
            gains = self._contributions(row, legal)
            scores = {other: sum(parts.values()) for other, parts in gains.items()}
            second = max((other for other in legal if other != action), key=lambda other: scores[other], default=None)
            runner_up, margin, because = None, None, []
            if second is not None:
                runner_up, margin = self.problem.actions[second], scores[action] - scores[second]
                because = self._reasons(gains[action], gains[second], top)
            here = (self.problem.actions[action], self.state(self.walk, row), scores[action])
            found.append(Step(*here, runner_up, margin, because))
            row = self.walk.step(row, action)
        return found

    def difference(self, ours: Sequence[int], theirs: Sequence[int] = (), *, top: int) -> dict[str, float]:
        """The features that one derivation has more weight from than another one has, those that matter most."""
        sums = [Contributions(), Contributions()]
        for total, actions in zip(sums, (ours, theirs), strict=True):
            row = self.walk.begin()
            for action in actions:
                for place, weight in self._contributions(row, [action])[action].items():
                    total[place] = total.get(place, 0.0) + weight
                row = self.walk.step(row, action)
        return {reason.feature: reason.weight for reason in self._reasons(sums[0], sums[1], top)}

    def _reasons(self, ours: Contributions, theirs: Contributions, top: int) -> list[Reason]:
        """The features that prefer one action to another by most."""
        gains = {place: ours.get(place, 0.0) - theirs.get(place, 0.0) for place in [*ours, *theirs]}
        best = sorted((place for place in gains if gains[place]), key=lambda place: -abs(gains[place]))
        return [Reason(self.name(place), gains[place]) for place in best[:top]]

    def _contributions(self, row: int, actions: Sequence[int]) -> dict[int, Contributions]:
        """What the features of a state give to actions."""
        problem, found = self.problem, dict[int, Contributions]()
        view_of = {action: int(problem.views[action]) for action in actions}
        for view in dict.fromkeys(view_of.values()):
            places, table = self._weights(row, view)
            for action in actions:
                if view_of[action] != view:
                    continue
                columns = [column for column in problem.parts[action].tolist() if column >= 0]
                weights = table[:, columns].sum(axis=1).tolist()
                found[action] = own = Contributions()
                for place, weight in zip(places, weights, strict=True):
                    if weight:
                        own[place] = own.get(place, 0.0) + weight
        return found

    def _weights(self, row: int, view: int) -> tuple[list[int], np.ndarray]:
        """The features of a state, and their weights in every column."""
        rows, places = self.model.rows, list(self._places(row, view))
        table = np.zeros((len(places), self.problem.columns), rows.weight.dtype)
        begin, end = np.searchsorted(rows.place, places), np.searchsorted(rows.place, places, "right")
        for k, (lo, hi) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
            table[k, rows.column[lo:hi]] = rows.weight[lo:hi]
        return places, table

    def _places(self, row: int, view: int) -> Iterator[int]:
        """The features of a state, as actions of one view see it, that the model knows."""
        problem, walk, anchored = self.problem, self.walk, self.anchored
        values, first = np.zeros(len(problem.composition.atoms), np.int64), len(self.model.anchored_keys)
        if problem.view >= 0:
            walk.states[row, problem.view] = view
        walk.call("atoms", row, values)
        if problem.view >= 0:
            walk.states[row, problem.view] = 0
        for template in range(len(problem.composition.texts)):
            key = np.uint64(problem.composition.key(template, values.tolist()))
            k = int(np.searchsorted(self.model.keys, key, sorter=self.order))
            if key and k < len(self.order) and self.model.keys[self.order[k]] == key:
                yield first + int(self.order[k])
        token = int(walk.states[row, problem.where]) if problem.where >= 0 else len(walk.x)
        if token < len(walk.x) and len(anchored.numbers):
            units = [unit_of(anchored, token, view, j) for j in range(units_of(anchored, view))]
            for a in units if anchored.kinds else [token]:
                yield from anchored.numbers[anchored.ptr[a] : anchored.ptr[a + 1]].tolist()
