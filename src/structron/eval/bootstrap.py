"""Whether two models differ by more than chance: counts behind scores, and the paired bootstrap over sentences."""

from typing import Any

import numpy as np

SAMPLES = 10_000
DRAWS_AT_A_TIME = 1 << 22
"""Draws of sentences that are made at a time."""


def count(scores: Any, metric: str = "") -> list[int]:
    """The counts behind scores: trees by their heads (or another metric), pairs by their chunks."""
    if hasattr(scores, "metrics"):
        found = next(own for name, own in scores.metrics.items() if name.lower() == metric)
        return [found.correct, found.found, found.gold]
    if hasattr(scores, "uas"):
        return [round(getattr(scores, metric or "uas") * scores.tokens / 100), scores.tokens]
    if hasattr(scores, "f1"):
        return [scores.correct, scores.found, scores.gold]
    return [scores.correct, scores.tokens]


def score_of(counts: np.ndarray) -> np.ndarray:
    """Per cent: accuracy of [right, all], F1 of [right, found, gold]; counts in the last axis."""
    counts = np.asarray(counts, float)
    right, all_of_them = counts[..., 0], counts[..., 1:].mean(axis=-1)
    return 100 * right / np.where(all_of_them > 0, all_of_them, 1)


def paired_bootstrap(a: np.ndarray, b: np.ndarray, seed: int = 1, samples: int = SAMPLES) -> float:
    """Two-sided p of the paired bootstrap (Efron & Tibshirani 1993; Berg-Kirkpatrick, Burkett & Klein 2012).

    a, b: the counts of two models, a row for each sentence. Test sets are drawn anew from the sentences; p is the share
    of them whose difference of scores is off the one found by at least as much as that is off 0. The data as they are
    count as one of the samples, so that p is never 0.
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    n, random = len(a), np.random.default_rng(seed)
    found = float(score_of(b.sum(axis=0)) - score_of(a.sum(axis=0)))
    if n == 0 or found == 0.0:
        return 1.0
    both, far, done = np.concatenate([a, b], axis=1), 0, 0
    while done < samples:
        some = min(samples - done, max(1, DRAWS_AT_A_TIME // n))
        drawn = random.integers(0, n, (some, n)) + np.arange(some)[:, None] * n
        times = np.bincount(drawn.reshape(-1), minlength=some * n).reshape(some, n)
        totals = times @ both
        differences = score_of(totals[:, a.shape[1] :]) - score_of(totals[:, : a.shape[1]])
        far += int((np.abs(differences - found) >= abs(found) - 1e-9).sum())
        done += some
    return (far + 1) / (samples + 1)
