"""Walks along roads: a search problem whose states are places of a graph, which may have cycles."""

from typing import Any

import numpy as np

from problems import Weights
from structron.search.beam.problem import SearchProblem

HERE = 1


def walk_start(x, table, states, s):
    states[s, HERE] = 0


def walk_legal(x, table, states, s, out):
    """x is a matrix of roads: x[a, b] > 0 if there is one from a to b; the last place is the goal."""
    number = 0
    if states[s, HERE] < x.shape[0] - 1:
        for b in range(x.shape[0]):
            if x[states[s, HERE], b] > 0:
                out[number] = b
                number += 1
        if number == 0:
            number = -1
    return number


def walk_advance(x, table, states, s, action, t):
    states[t, HERE] = action


def walk_atoms(x, table, states, s, out):
    out[0] = states[s, HERE]


def walk_problem(places: int = 4, **more: Any) -> SearchProblem:
    """Every road has a weight of its own: the feature is the place, the action where to."""
    return SearchProblem(
        actions=[f"to {b}" for b in range(places)],
        width=2,
        start=walk_start,
        legal=walk_legal,
        advance=walk_advance,
        atoms=walk_atoms,
        atom_names={"at": places},
        templates=["at"],
        name="walk",
        **more,
    )


def roads(places: int, *given: tuple[int, int]) -> np.ndarray:
    found = np.zeros((places, places), np.int64)
    for a, b in given:
        found[a, b] = 1
    return found


def road_weights(weights: dict[tuple[int, int], float]) -> Weights:
    return {("at", (a,), b): weight for (a, b), weight in weights.items()}


CYCLE = roads(4, (0, 1), (1, 0), (1, 2), (2, 1), (1, 3), (2, 3))


COSTS = {(0, 1): -1.0, (1, 0): -1.0, (1, 2): -1.0, (2, 1): -1.0, (1, 3): -5.0, (2, 3): -2.0}
