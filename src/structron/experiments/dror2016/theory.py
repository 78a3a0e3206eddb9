"""Dror & Reichart (2016), Theorems 1 and 2, executed on sentences so short that every output can be gone through.

Theorem 1: on separable data SWVP makes at most (R^JJ/δ^JJ)² updates until it is done. Any u will do: the bound is that
of one that separates the data. Both need the conditions on γ: aggressive variants and enforced balanced ones have them.
"""

from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments.dror2016 import bound
from structron.experiments.frame import learn_once
from structron.experiments.frame.tiny import longest
from structron.tasks.chain.labeler import Tagger

MOST = 1000


def theorem1(data: Path | None, *, variant: str, enforce: bool, seed: int, sentences: int = 200) -> dict[str, Any]:
    """A job: pass after pass until one has no update. Where the whole output was an update, [L] is in JJ."""
    drawn = bound.make_sentences(sentences, 0.0, seed)
    rows = [[[f"w{word}", f"L{label}"] for word, label in zip(*example, strict=True)] for example in drawn]
    own: dict[str, Any] = {"templates": ["w[0]"], "order": 1, "average": "none", "runs": 1, "passes": 1}
    learner = Tagger(swvp=variant, enforce=enforce, **own).fit(rows).learner_.fresh_copy()
    found, passes, new = {"updates": 0, "invalid": 0, "whole": 0}, 0, True
    while new and passes < MOST:
        passes, new = passes + 1, False
        for s in range(learner.examples):
            counts = learn_once(learner, np.array([s]))
            new |= counts["updates"] > 0
            found["updates"] += counts["updates"]
            found["invalid"] += counts["invalid"]
            found["whole"] += int(counts["updates"] and learner.update.mixed.gamma[counts["wrong_tokens"]] > 0)
    every = [pair for example in drawn for pair in bound.differences(*example)]
    u = bound.separator_of(sentences, 0.0, seed)
    mixed = np.stack([d for wrong, d in every if found["whole"] or wrong == 1])
    radius, delta = longest(mixed), float((mixed @ u).min())
    return {**found, "passes": passes, "done": not new, "R": radius, "delta": delta, "bound": (radius / delta) ** 2}


def theorem2(data: Path | None, *, variant: str, noise: float, seed: int, sentences: int = 400) -> dict[str, Any]:
    """A job: the mistakes of the first pass."""
    return bound.check(sentences, variant, noise=noise, seed=seed)
