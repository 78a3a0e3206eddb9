"""Whether a mean difference over the same data sets is more than chance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

MOST_EXACT = 16
"""Differences up to which all assignments of signs are gone through: 2^16."""
DRAWS = 100_000


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


def comparison(gains: Sequence[float], digits: int | None = None) -> dict[str, Any]:
    """A mean difference, whether it is more than chance, and how often it is one; rounded if `digits` are given."""
    gain, p = mean(gains), sign_flip_test(gains)
    if digits is not None:
        gain, p = round(gain, digits), round(p, digits)
    return {"gain": gain, "p": p, "wins": sum(gain > 0 for gain in gains), "of": len(gains)}
