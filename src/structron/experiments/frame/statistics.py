"""Whether a difference is more than chance: over data sets, and over blocks of one data set."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from structron.eval.bootstrap import count, score_of

MOST_EXACT = 16
"""Differences up to which all assignments of signs are gone through: 2^16."""
DRAWS = 100_000
BLOCKS = 25
"""Into which scored data are cut, in their order."""
SWAPS = 10_000
SAMPLES = 2_000
HALVINGS = 30
T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""Student's t, two-sided 95 %, for 1, 2, … degrees of freedom; the last for all above, a little too wide."""


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def sign_flip_test(differences: Sequence[float], seed: int = 1) -> float:
    """Two-sided p of a paired permutation test: if two methods were alike, every difference could as well have the
    opposite sign; p is the share of the assignments of signs whose mean is at least as far from 0 as the one found.

    All assignments for up to 16 differences, else random ones, the one found among them.
    """
    found = np.asarray(differences, float)
    n = len(found)
    if n == 0:
        return 1.0
    if n <= MOST_EXACT:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.random.default_rng(seed).choice([-1, 1], size=(DRAWS, n))
        signs[0] = 1
    sums = np.abs(signs @ found)
    return float((sums >= abs(found.sum()) - 1e-9 * np.abs(found).sum()).mean())


def sign_flip_interval(differences: Sequence[float], level: float) -> tuple[float, float]:
    """The mean differences that the sign-flip test does not reject at a level, by bisection from the mean outwards."""
    found = np.asarray(differences, float)
    ends, reach = [], float(np.ptp(found)) + float(found.std()) + 1e-9
    for sign in (-1, 1):
        kept, out = 0.0, reach
        for _ in range(HALVINGS):
            middle = (kept + out) / 2
            fits = sign_flip_test(found - (found.mean() + sign * middle)) > level
            kept, out = (middle, out) if fits else (kept, middle)
        ends.append(float(found.mean()) + sign * kept)
    return ends[0], ends[1]


def comparison(gains: Sequence[float], digits: int | None = None) -> dict[str, Any]:
    """A mean difference, whether it is more than chance, and how often it is one; rounded if `digits` are given."""
    gain, p = mean(gains), sign_flip_test(gains)
    if digits is not None:
        gain, p = round(gain, digits), round(p, digits)
    return {"gain": gain, "p": p, "wins": sum(gain > 0 for gain in gains), "of": len(gains)}


def block_counts(estimator: Any, rows: Sequence[Any], guess: Sequence[Any], blocks: int = BLOCKS) -> list[list[int]]:
    """What an estimator got right, by block: [right, all], of chunks [right, found, gold].

    From them the score of any union of blocks follows: see `score_of`.
    """
    edges = np.linspace(0, len(rows), min(blocks, len(rows)) + 1).round().astype(int).tolist()
    return [count(estimator.evaluate(rows[a:b], guess=guess[a:b])) for a, b in pairwise(edges)]


def block_test(a: np.ndarray, b: np.ndarray, seed: int = 1) -> float:
    """Two-sided p of a randomisation test (Noreen 1989): if two methods were alike, what they did on a block could be
    exchanged; p is the share of exchanges with a difference of scores at least as large as the one found."""
    swap = np.random.default_rng(seed).integers(0, 2, (SWAPS, len(a)))
    swap[0] = 0
    difference = np.asarray(a, float) - b
    total = np.asarray(a, float).sum(axis=0)
    moved = swap @ difference
    found = np.abs(score_of(total - moved) - score_of(np.sum(b, axis=0) + moved))
    return float((found >= found[0] - 1e-9).mean())


def block_error(a: np.ndarray, b: np.ndarray, seed: int = 1) -> float:
    """The standard error of the difference of two scores: the deviation over samples of blocks with replacement."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    picks = np.random.default_rng(seed).multinomial(len(a), np.full(len(a), 1 / len(a)), SAMPLES)
    return float(np.std(score_of(picks @ a) - score_of(picks @ b)))


def student_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of a mean by Student's t; None: there is one value, or none."""
    n = len(values)
    if n < 2:
        return None
    half = T_95[min(n - 2, len(T_95) - 1)] * float(np.std(values, ddof=1)) / np.sqrt(n)
    return mean(values) - half, mean(values) + half


def sampled(figure: Callable[[np.ndarray], float], n: int, seed: int = 1) -> tuple[float, tuple[float, float]]:
    """A figure of n things, and its 95 % interval from samples of them with replacement (percentiles). figure: of the
    indices of those that are taken."""
    rng, whole = np.random.default_rng(seed), np.arange(n)
    picks = (rng.choice(whole, n) for _ in range(SAMPLES))
    found = [figure(own) for own in picks if n < 2 or len(np.unique(own)) > 1]
    low, high = np.percentile(found, (2.5, 97.5)).tolist()
    return figure(whole), (low, high)


def share_interval(found: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share in per cent (Wilson 1927)."""
    z, p = 1.959964, found / of
    centre, half = p + z * z / (2 * of), z * float(np.sqrt(p * (1 - p) / of + z * z / (4 * of * of)))
    low, high = ((centre + sign * half) / (1 + z * z / of) for sign in (-1, 1))
    return 100 * max(0.0, low), 100 * min(1.0, high)
