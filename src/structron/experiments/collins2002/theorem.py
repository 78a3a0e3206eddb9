"""Collins (2002), section 3: the theorems executed, and voting beside averaging.

R is any constant that no ‖Φ(x, y) - Φ(x, z)‖ exceeds. A bound holds for every direction U; we show the least over those
that were found by learning with margins of several sizes, and for each of them over δ.
"""

import copy
import math
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.experiments import frame
from structron.experiments.collins2002.comparison import TASKS, load
from structron.experiments.collins2002.features import ORDER, history_rows
from structron.experiments.frame.ledger import Figures
from structron.learn.chain import ChainLearner
from structron.learn.loop import Schedule, train
from structron.model.chain import ChainModel
from structron.tasks.chain.labeler import Tagger

HANDICAPS = (1, 10, 100, 1000)
"""Of right labels while a direction is sought; 1000 is large beside the changes that single updates make."""
STEPS = 2000
"""Values of δ that are tried for a direction."""

TaggedRows = list[list[tuple[str, str]]]


def make_tagger(templates: str | list[str], average: str = "none") -> Tagger:
    options: dict[str, Any] = {"order": ORDER, "runs": 1, "cutoff": 0, "average": average, "templates": templates}
    return Tagger(passes=1, shuffle=False, jobs=1, **options)


# -- jobs --------------------------------------------------------------------------------------------------------------


def theorem1(data: Path | None, *, toy: bool, sentences: int, seed: int = 2002) -> Figures:
    """Mistakes k ≤ R² / δ² for a separator that was found: short toy English, or a little language without noise."""
    rows = short_sentences(sentences, seed) if toy else little_language(sentences, 0, np.random.default_rng(seed))
    tagger = make_tagger("collins-pos" if toy else ["w[0]"]).set_params(passes=1000).fit(rows)
    learner = tagger.learner_
    model = learn_with_handicap(learner.fresh_copy(), HANDICAPS[-1], 10_000)
    radius, margin = max_difference(learner), float(margins_of(model, learner).min())
    if tagger.stopped_ != "converged" or margin <= 0:
        raise StructronError("Theorem 1: found no separator; expected data that can be separated")
    found: Figures = {"language": "toy English" if toy else "little language", "examples": len(rows)}
    mistakes = sum(record["updates"] for record in tagger.history_)
    return found | {"mistakes": mistakes, "R": radius, "delta": margin, "bound": (radius / margin) ** 2}


def theorem2(data: Path | None, *, sentences: int, noise: float, passes: int = 10, seed: int = 2002) -> Figures:
    """The mistakes of the first pass, and (R + D)² / δ²."""
    tagger = make_tagger(["w[0]"]).fit(little_language(sentences, noise, np.random.default_rng(seed)))
    mistakes = tagger.history_[0]["updates"]
    return named(noise, sentences) | {"mistakes": mistakes} | sharpest_bound(tagger.learner_, passes)


def theorem3(
    data: Path | None, *, sentences: int, noise: float, draws: int, passes: int = 10, seed: int = 2002
) -> Figures:
    """Draws of n + 1 examples: the share of mistakes of the voted perceptron on the last, and the mean of the bound.

    Each draw is tested on n further examples, any of which could have been the last.
    """
    wrong, bounds = [], []
    for draw in range(draws):
        rows = little_language(2 * sentences, noise, np.random.default_rng([seed, draw]))
        own, others = rows[:sentences], rows[sentences:]
        guess = make_tagger(["w[0]"], "voted").fit(own).predict(others)
        wrong += [[tag for _, tag in row] != z for row, z in zip(others, guess, strict=True)]
        learner = make_tagger(["w[0]"]).fit(rows[: sentences + 1]).learner_
        bounds.append(2 / (sentences + 1) * sharpest_bound(learner, passes)["bound"])
    return named(noise, sentences) | {"mistakes": frame.mean(wrong), "bound": frame.mean(bounds)}


def named(noise: float, sentences: int) -> Figures:
    return {"language": f"little language, {100 * noise:g} % wrong", "examples": sentences}


def voting(data: Path, *, task: str, sentences: int, test_sentences: int, mixed: bool = False) -> Figures:
    """Test figures of the vectors of one pass: voted, averaged, and the last alone. mixed: see `load`."""
    rows, _, test = load(data, task, sentences, mixed)
    labeler = TASKS[task].encode(rows, 0)
    learner: ChainLearner = labeler.learner_
    learner.chain = replace(learner.chain, average="voted")
    learner = learner.fresh_copy()
    updates = frame.learn_once(learner)["updates"]
    found: Figures = {"updates": updates, "examples": len(rows)}
    for average in ("voted", "mean", "none"):
        view = copy.copy(learner)
        view.chain = replace(learner.chain, average=average)
        view.ballots = learner.ballots if average == "voted" else None
        labeler.model_ = view.snapshot()
        found[average] = frame.tested(labeler, test[:test_sentences])
    return found


# -- their parts -------------------------------------------------------------------------------------------------------


def short_sentences(sentences: int, seed: int, longest: int = 8) -> TaggedRows:
    """Short sentences of toy English, each once."""
    corpus = [s for s in toy_english(20 * sentences, seed) if len(s.words) <= longest]
    unique = list({tuple(s.words): s for s in corpus}.values())[:sentences]
    return [list(zip(s.words, s.pos, strict=True)) for s in unique]


def little_language(sentences: int, noise: float, rng: np.random.Generator, words: int = 4) -> TaggedRows:
    """One to three words, drawn alike, each with a tag of its own; a tag is wrong with the probability `noise`."""
    rows = []
    for _ in range(sentences):
        drawn = rng.integers(words, size=rng.integers(1, 4))
        wrong = rng.random(len(drawn)) < noise
        rows.append([(f"w{word}", "AB"[(word + flip) % 2]) for word, flip in zip(drawn, wrong, strict=True)])
    return rows


def learn_with_handicap(learner: ChainLearner, handicap: float, passes: int, average: str = "none") -> ChainModel:
    """Go on learning with a handicap for every right label, so that y comes to beat each z by that much, if it can.

    A larger margin, and with it a sharper bound, than the weights of a perceptron that stops at its last mistake.
    """
    labels = len(learner.labels)
    learner.chain = replace(learner.chain, average=average)
    learner.masks = np.zeros((labels + 1, learner.store.stride), np.float32)
    learner.masks[1:, :labels][np.eye(labels, dtype=bool)] = -handicap
    learner.chains = learner.chains._replace(mask_of=(learner.gold + 1).astype(np.int32))
    return train(learner, Schedule(passes=passes, shuffle=False)).model


def margins_of(model: ChainModel, learner: ChainLearner) -> np.ndarray:
    """m_i of Definition 2 for U = w / ‖w‖: by how much y beats the best z ≠ y, less than 0 if it does not.

    The best wrong labelling differs from y somewhere: where y is the best, its margin is the least of the tokens'.
    """
    prepared, gold = learner.prepared, learner.gold
    out, scores, sure = model.decode(prepared, margins=True)
    own = model.decode(prepared, forced=gold)[1].astype(float)
    found = own - scores
    for i, (lo, hi) in enumerate(pairwise(prepared.starts.tolist())):
        if (out[lo:hi] == gold[lo:hi]).all():
            found[i] = sure[lo:hi].min()
    return found / np.linalg.norm(model.w[:, : len(model.labels)].astype(float))


def bound_of(margins: np.ndarray, radius: float, delta: float) -> tuple[float, float]:
    """((R + D)² / δ², D) with D² = Σ max(0, δ - m_i)²."""
    distance = math.sqrt(float((np.maximum(0, delta - margins) ** 2).sum()))
    return ((radius + distance) / delta) ** 2, distance


def sharpest_bound(learner: ChainLearner, passes: int) -> Figures:
    """The least bound that was found, with its R, D and δ. As δ grows it tends to the number of examples, which bounds
    the mistakes of one pass anyway."""
    radius = max_difference(learner)
    found: list[tuple[float, float, float]] = []
    for handicap, average in product(HANDICAPS, ("mean", "none")):
        margins = margins_of(learn_with_handicap(learner.fresh_copy(), handicap, passes, average), learner)
        for delta in np.geomspace(1e-2, 1e2, STEPS) * float(np.abs(margins).max()):
            found.append((*bound_of(margins, radius, float(delta)), float(delta)))
    bound, distance, delta = min(found)
    return {"bound": bound, "D": distance, "delta": delta, "R": radius}


def max_difference(learner: ChainLearner) -> float:
    """R: no ‖Φ(x, y) - Φ(x, z)‖ is larger.

    Counts are not negative, so ‖Φ(y) - Φ(z)‖² ≤ ‖Φ(y)‖² + ‖Φ(z)‖², and no ‖Φ(z)‖ is larger than that of n equal labels
    with n equal transitions.
    """
    gold, starts, ptr = learner.gold, learner.prepared.starts, learner.plain.ptr
    history = history_rows(gold, starts, len(learner.labels))
    largest = 0
    for lo, hi in pairwise(starts.tolist()):
        y, numbers = gold[lo:hi], learner.plain.numbers[ptr[lo] : ptr[hi]]
        features = np.stack([numbers, np.repeat(y, np.diff(ptr[lo : hi + 1]))])
        transitions = np.stack([history[lo:hi].ravel(), np.repeat(y, 2)])
        own = squares(features) + squares(transitions)
        largest = max(largest, own + squares(numbers[None]) + 2 * (hi - lo) ** 2)
    return math.sqrt(largest)


def squares(columns: np.ndarray) -> int:
    """The sum of the squared counts of equal columns."""
    return int((np.unique(columns, axis=1, return_counts=True)[1] ** 2).sum())
