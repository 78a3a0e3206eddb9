"""Data that can be separated, and how far: for the bounds of the theorems, all wrong outputs by enumeration."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from problems import CHAIN_1, Actions, Space, chain_problem, parser_problem
from structron.search.beam.problem import SearchProblem

Data = tuple[SearchProblem, list[np.ndarray], list[Actions]]


@cache
def separable(name: str) -> Data:
    """Data with a rule behind them: the label of a word; each word a child of the one before, unless its tag is 1."""
    rng = np.random.default_rng(3)
    if name == "chain":
        problem = chain_problem(3, 4, CHAIN_1)
        xs = [rng.integers(1, 4, (int(rng.integers(2, 5)), 1)) for _ in range(5)]
        return problem, xs, [tuple((x[:, 0] - 1).tolist()) for x in xs]
    problem = parser_problem(["s0.t|s1.t", "q0.t", "s0.t|s1.t|q0.t", "s0.w"])
    xs = [np.stack([rng.integers(1, 4, n), np.arange(1, n + 1) % 3 + 1], axis=1) for n in (2, 3, 3, 4, 4)]
    return problem, xs, [(0, *[0, 1] * (len(x) - 1)) for x in xs]


def confusion(space: Space, gold: Actions, whole: bool) -> list[dict]:
    """Φ(y') - Φ(z) for every wrong z as long as the prefix y' of the correct derivation; whole: whole ones only."""
    prefixes = [gold] if whole else [gold[:i] for i in range(1, len(gold) + 1)]
    return [space.difference(y, z) for y in prefixes for z in space.all(len(y)) if z != y]


def confusion_matrix(
    problem: SearchProblem, xs: Sequence[np.ndarray], golds: Sequence[Actions], whole: bool
) -> np.ndarray:
    """These differences of all examples, a row each."""
    return matrix_of(
        [d for x, gold in zip(xs, golds, strict=True) for d in confusion(Space(problem, x), tuple(gold), whole)]
    )


def matrix_of(every: Sequence[dict]) -> np.ndarray:
    """Differences as rows of a matrix."""
    index = {feature: k for k, feature in enumerate(sorted({f for delta in every for f in delta}))}
    matrix = np.zeros((len(every), len(index)))
    for row, delta in zip(matrix, every, strict=True):
        for feature, value in delta.items():
            row[index[feature]] = value
    return matrix


def margin_of(matrix: np.ndarray, rounds: int = 3000) -> float:
    """The least u·row, u being a unit vector that makes it large: the worst row is added again and again."""
    u = np.zeros(matrix.shape[1])
    for _ in range(rounds):
        u += matrix[int(np.argmin(matrix @ u / np.maximum(np.linalg.norm(matrix, axis=1), 1e-9)))]
    margin = float((matrix @ u).min() / np.linalg.norm(u))
    assert margin > 0, "the toy data are not separable"
    return margin


def bound_of(matrix: np.ndarray) -> float:
    """R²/δ²."""
    return float((matrix**2).sum(axis=1).max()) / margin_of(matrix) ** 2
