"""Dror & Reichart (2016), Appendix B: how many mistakes the first pass makes on any data, separable or not.

    mistakes ≤ (R^JJ + D)² / (δ + r^diff)²       for every u of length 1 and every δ > 0     (Theorem 2)

    r^i    = min_z u·ΔΦ(x_i, y_i, z)             over all z ≠ y_i
    r^iJJ  = min_{z, J} u·ΔΦ(x_i, y_i, m^J)      over all J ∈ JJ with m^J ≠ y_i
    D      = √(Σ_i max(0, δ - r^i)²)             r^diff = min_i (r^iJJ - r^i) ≥ 0
    R^JJ   = max ‖ΔΦ(x_i, y_i, m^J)‖

With all z for m^J it is the bound of Collins (2002, Theorem 2). The proof is for updates that meet both conditions on
γ. Balanced ones need not meet the second: those that do not are counted as `invalid`. Aggressive ones do, but where no
m^J is a violation they take the whole output (section 4.2, property 3): if there was one, [L] is in JJ.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from structron.experiments.frame.tiny import Labelling, labellings, longest, phi, separator
from structron.tasks.chain.labeler import Tagger

LABELS, WORDS = 3, 6


def bound(radius: float, margins: np.ndarray, mixed: np.ndarray, delta: float) -> float:
    """Theorem 2 for one u and one δ; margins: r^i, mixed: r^iJJ, of the examples."""
    missing = float(np.sqrt((np.maximum(0.0, delta - margins) ** 2).sum()))
    return (radius + missing) ** 2 / (delta + float((mixed - margins).min())) ** 2


def least_bound(radius: float, margins: np.ndarray, mixed: np.ndarray, tried: Sequence[float]) -> tuple[float, float]:
    """The least of the bounds for several δ, and its δ."""
    return min((bound(radius, margins, mixed, delta), delta) for delta in tried)


@cache
def make_sentences(count: int, noise: float, seed: int) -> list[tuple[Labelling, Labelling]]:
    """Words and labels. Without noise what the label of a word is depends on the word."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        words = rng.integers(WORDS, size=int(rng.integers(2, 5)))
        odd = rng.random(len(words)) < noise
        labels = np.where(odd, rng.integers(LABELS, size=len(words)), words % LABELS)
        found.append((tuple(words.tolist()), tuple(labels.tolist())))
    return found


@cache
def differences(words: Labelling, gold: Labelling) -> list[tuple[int, np.ndarray]]:
    """For every wrong z: at how many positions it is wrong, and ΔΦ(x, y, z)."""
    right, found = phi(words, gold, WORDS, LABELS), []
    for z in labellings(len(words), LABELS):
        wrong = sum(a != b for a, b in zip(gold, z, strict=True))
        if wrong:
            found.append((wrong, right - phi(words, z, WORDS, LABELS)))
    return found


@cache
def separator_of(count: int, noise: float, seed: int) -> np.ndarray:
    """A separator of the rule behind generated sentences, which is theirs where there is no noise."""
    data = make_sentences(count, noise, seed)
    ideal = [d for words, _ in data for _, d in differences(words, tuple(word % LABELS for word in words))]
    return separator(np.unique(np.stack(ideal), axis=0), 2000)


def learn_first_pass(tagger: Tagger) -> dict[str, int]:
    """The first pass again, sentence by sentence: mistakes, updates that are no violations, and by the whole output."""
    learner = tagger.learner_.fresh_copy()
    found = {"updates": 0, "invalid": 0, "whole": 0}
    for s in range(learner.examples):
        learner.begin_pass()
        while not learner.learn(np.array([s]), 0):
            pass
        counts = learner.counts()
        found["updates"] += counts["updates"]
        found["invalid"] += counts["invalid"]
        found["whole"] += int(counts["updates"] and learner.update.mixed.gamma[counts["wrong_tokens"]] > 0)
    return found


def check(
    sentences: int = 400, variant: str = "a-wm", beta: float = 1.0, noise: float = 0.01, seed: int = 1
) -> dict[str, Any]:
    """One pass over generated sentences with JJ = all single positions; the figures of the bound by enumeration.

    For one u: a separator of the rule behind the data. applies: all updates met the conditions of the theorem.
    """
    data = make_sentences(sentences, noise, seed)
    rows = [[[f"w{word}", f"L{label}"] for word, label in zip(*example, strict=True)] for example in data]
    own: dict[str, Any] = {"templates": ["w[0]"], "order": 1, "average": "none", "runs": 1, "shuffle": False}
    learned = learn_first_pass(Tagger(passes=1, swvp=variant, beta=beta, **own).fit(rows))
    every, u = [differences(*example) for example in data], separator_of(sentences, noise, seed)
    all_z = [np.stack([d for _, d in own]) for own in every]
    mixed = all_z if learned["whole"] else [np.stack([d for wrong, d in own if wrong == 1]) for own in every]
    margins, mixed_margins = (np.array([float((rows @ u).min()) for rows in each]) for each in (all_z, mixed))
    radius, tried = max(map(longest, mixed)), np.geomspace(1e-2, 10, 200).tolist()
    least, delta = least_bound(radius, margins, mixed_margins, tried)
    return {
        **learned,
        "sentences": sentences,
        "separable": bool(margins.min() > 0),
        "R": radius,
        "delta": delta,
        "r_diff": float((mixed_margins - margins).min()),
        "bound": least,
        "plain_bound": least_bound(max(map(longest, all_z)), margins, margins, tried)[0],
        "applies": not learned["invalid"],
        "holds": bool(learned["updates"] <= least),
    }
