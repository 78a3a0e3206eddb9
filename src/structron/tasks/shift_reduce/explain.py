"""Why a parser builds the tree that it builds: every action of its derivation against the best other one.

An action's score in a state is a sum of weights, one for each feature of the state. So what decides between two actions
are the features whose weights for them differ. Search looks further than one state: an action may win although
another scores more where they part, for what comes after it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structron.model.beam import BeamModel
from structron.search.beam.frontier import TAIL
from structron.search.beam.problem import Walk
from structron.tasks.shift_reduce.system import NEXT, TOP

Weights = dict[int, dict[int, float]]
"""Of features, by key and column."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What a feature gives to an action; negative: to the runner-up."""

    feature: str
    weight: float


@dataclass(frozen=True, slots=True)
class Step:
    """An action, the state that it was taken in, and why; without a runner-up no other action is possible there."""

    action: str
    stack: list[str]  # the top last
    next: str | None  # the first word of the buffer
    score: float
    runner_up: str | None
    margin: float | None
    because: list[Reason]

    def __str__(self) -> str:
        line = f"{self.action}  [{' '.join([*self.stack, '|', self.next or ''])}]"
        if self.runner_up is None or self.margin is None:
            line += "  (no other action is possible)"
        elif self.margin >= 0:
            line += f"  by {self.margin:.4g} before {self.runner_up}"
        else:
            line += f"  for what comes later: here {self.runner_up} scores {-self.margin:.4g} more"
        return "\n".join([line, *(f"{reason.weight:+12.4f}  {reason.feature}" for reason in self.because)])


def explain(
    model: BeamModel,
    x: np.ndarray,
    actions: Sequence[int],
    words: Sequence[str],
    spell: Mapping[str, Sequence[str]],
    top: int,
) -> list[Step]:
    """The steps of a derivation of one sentence; `spell` names the values of atoms."""
    problem = model.problem
    walk = Walk(problem, x, 0)
    walk.states[0, TAIL] = -1
    walk.call("start", 0)
    steps, row = [], 0
    for action in actions:
        weights = _weights(model, walk, row)
        legal = walk.legal(row) or []
        scores = {other: sum(_gain(model, cells, other) for cells in weights.values()) for other in legal}
        others = [other for other in scores if other != action]
        second = max(others, key=lambda other: scores[other], default=None)
        reasons = _reasons(model, weights, action, second) if second is not None else []
        steps.append(
            Step(
                problem.actions[action],
                _stack(walk, row, words),
                words[walk.states[row, NEXT]] if walk.states[row, NEXT] < len(words) else None,
                scores[action],
                None if second is None else problem.actions[second],
                None if second is None else scores[action] - scores[second],
                [Reason(problem.composition.describe(key, spell), gain) for gain, key in reasons[:top]],
            )
        )
        row = walk.step(row, action)
    return steps


def _reasons(model: BeamModel, weights: Weights, action: int, other: int) -> list[tuple[float, int]]:
    """By how much each feature prefers one action to another, and its key; the largest first."""
    gains = ((_gain(model, cells, action) - _gain(model, cells, other), key) for key, cells in weights.items())
    return sorted((gain for gain in gains if gain[0]), key=lambda gain: -abs(gain[0]))


def _stack(walk: Walk, row: int, words: Sequence[str]) -> list[str]:
    found = []
    while row >= 0 and walk.states[row, TOP] >= 0:
        found.append(words[walk.states[row, TOP]])
        row = int(walk.states[row, TAIL])
    return found[::-1]


def _weights(model: BeamModel, walk: Walk, row: int) -> Weights:
    """The features of a state that the model knows, by key, each with its weights by column."""
    composition = model.problem.composition
    values = np.zeros(len(composition.atoms), np.int64)
    walk.call("atoms", row, values)
    found = {}
    for template in range(len(composition.texts)):
        key = composition.key(template, values.tolist())
        place = int(np.searchsorted(model.keys, np.uint64(key)))
        if key and place < len(model.keys) and int(model.keys[place]) == key:
            lo, hi = np.searchsorted(model.rows.place, [place, place + 1])
            columns, weights = model.rows.column[lo:hi].tolist(), model.rows.weight[lo:hi].tolist()
            found[key] = dict(zip(columns, weights, strict=True))
    return found


def _gain(model: BeamModel, cells: Mapping[int, float], action: int) -> float:
    """A feature's part in an action's score."""
    return sum(cells.get(column, 0.0) for column in model.problem.parts[action].tolist() if column >= 0)
