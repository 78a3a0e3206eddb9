"""Daumé & Marcu (2005), Theorems 1 and 4 and Corollaries 3, 5 and 6, on data that can be separated.

    perceptron   m ≤ R²/γ²
    ALMA         m ≤ 2/γ²·(2/α - 1)² + 8/α - 4                       with B = √8/α, C = √2
                 m ≤ ρ²/2 + ρ·(ρ²/4 + 1)^(1/2),  ρ = (C·γ)^-2        with C² + 2·(1 - α)·B·C = 1  (eq. (4), D = 0)
    any test example is wrong with p ≤ 2/(n + 1)·m                   n examples, m the bound

m counts corrections until none is left. γ is the largest number by which all y-good states can be lowered, with weights
of length 1, so that the search still makes no mistake: found by trying. Every bound holds for every separator, so the
widest margin that any of the learners found is the one to take. R is the length of the features of one step, as the
paper has it. The proofs want more: that of Theorem 1 an R that no difference Δ exceeds, and such a difference is one of
many steps; that of Theorem 4 a margin of the projected differences. With γ/R, R the longest Δ, one is on the safe side.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments.daume2005.tasks import ALPHA, COLUMNS, METHODS, parts
from structron.experiments.frame import Rows, learn_once
from structron.learn.encoded import EncodedLearner
from structron.tasks.joint.tagger import JointTagger
from structron.update.alma import ALPHA as SHARE
from structron.update.alma import GENERATION, LONGEST, NORM, SCALE, B, C

BEAM = 5
HALVINGS = 24
THEOREM_4 = (ALPHA, math.sqrt(8) / ALPHA, math.sqrt(2))
COROLLARY_5 = (ALPHA, 1 / ALPHA, math.sqrt(1 + (1 / ALPHA - 1) ** 2) - (1 / ALPHA - 1))
STEPS: dict[str, tuple[str, tuple[float, float, float] | None]] = {
    "perceptron": ("LaSO-P", None),
    "Theorem 4": ("LaSO-A", THEOREM_4),
    "Corollary 5": ("LaSO-A", COROLLARY_5),
    "our LaSO-A": ("our LaSO-A", THEOREM_4),
}
"""Method; α, B and C. Our LaSO-A is there for its margin."""


def perceptron_bound(margin: float, longest: float) -> float:
    return (longest / margin) ** 2


def alma_bound(margin: float, alpha: float = ALPHA) -> float:
    """Theorem 4."""
    return 2 / margin**2 * (2 / alpha - 1) ** 2 + 8 / alpha - 4


def other_bound(margin: float, c: float = COROLLARY_5[2]) -> float:
    """Corollary 5 where nothing falls short of the margin."""
    rho = (c * margin) ** -2
    return rho**2 / 2 + rho * math.sqrt(rho**2 / 4 + 1)


def bound_of(steps: str, margin: float, step: float) -> float:
    """That of one of `STEPS`."""
    if steps == "perceptron":
        return perceptron_bound(margin, step)
    return other_bound(margin) if steps == "Corollary 5" else alma_bound(margin)


def make_learner(train: Rows, steps: str) -> tuple[EncodedLearner, JointTagger]:
    """A learner at its start, and the tagger that encoded its data with a first pass."""
    method, constants = STEPS[steps]
    options: dict[str, Any] = {"cutoff": 0, "passes": 1, "runs": 1, "update": METHODS[method][0]}
    tagger = JointTagger(columns=COLUMNS, beam=BEAM, margin=None, **options).fit(train)
    return EncodedLearner(tagger.learner_.data, replace(tagger.options.search(), alma=constants)), tagger


def margin_of(learner: EncodedLearner) -> float:
    """The largest lowering without a mistake, for weights of length 1; steps of length 0 leave them as they are."""
    pace, low, high = learner.pace.copy(), 0.0, 1.0
    length = math.sqrt(np.square(learner.store.present(0, 1.0)[1].weight, dtype=float).sum())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        learner.pace[[SHARE, B, C, GENERATION, SCALE, NORM]] = 0.5, 2 * middle * length, 0.0, 1.0, 1.0, 0.0
        low, high = (low, middle) if learn_once(learner)["updates"] else (middle, high)
    learner.pace[:] = pace
    return low


def step_length(learner: EncodedLearner) -> float:
    """R of Theorem 1: no step has more features; each counts for the tag, the chunk label and the pair."""
    own = int(np.diff(learner.data.numbered.ptr).max())
    return math.sqrt(learner.problem.parts.shape[1] * (own + len(learner.problem.composition.texts)))


def converge(data: Path, *, steps: str, sentences: int, passes: int, scored: int | None = None) -> dict[str, Any]:
    """Learn until nothing is left to correct, then find the margin."""
    train, _, test = parts(data, sentences, scored)
    learner, tagger = make_learner(train, steps)
    corrections, done, left = 0, 0, 1
    while left and done < passes:
        left = learn_once(learner)["updates"]
        corrections, done = corrections + left, done + 1
    found: dict[str, Any] = {"sentences": len(train), "passes": done, "corrections": corrections, "left": left}
    tagger.model_ = learner.finish(learner.snapshot())
    gold = [[(tag, chunk) for _, tag, chunk in sentence] for sentence in test]
    wrong = sum(guess != own for guess, own in zip(tagger.predict(test), gold, strict=True))
    found |= {"test_error": wrong / len(test), "step": step_length(learner)}
    found["longest"] = math.sqrt(learner.pace[LONGEST])
    return found if left else found | {"margin": margin_of(learner)}
