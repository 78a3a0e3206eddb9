"""Collins (2002), Theorem 1: a perceptron makes at most R²/δ² mistakes on data that can be separated by δ."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.experiments.collins2002.maxent import history_rows
from structron.experiments.frame import Report, Rows, Table
from structron.learn.chain import ChainLearner
from structron.learn.loop import Schedule, train
from structron.tasks.chain.labeler import Tagger

HANDICAP = 1000
"""Of right labels while a separator is sought: large beside the changes that single updates make."""


def check_bound(report: Report, sentences: int = 100, longest: int = 8, seed: int = 2002) -> None:
    """Short sentences of toy English, each once: mistakes k ≤ R² / δ² for a separator that was found."""
    corpus = [s for s in toy_english(20 * sentences, seed) if len(s.words) <= longest]
    unique = list({tuple(s.words): s for s in corpus}.values())[:sentences]
    rows = [list(zip(s.words, s.pos, strict=True)) for s in unique]
    options: dict[str, Any] = {"order": 2, "runs": 1, "cutoff": 0, "average": "none", "templates": "collins-pos"}
    tagger = Tagger(passes=1000, shuffle=False, **options).fit(rows)
    mistakes, passes = sum(record["updates"] for record in tagger.history_), len(tagger.history_)
    widen_margin(tagger)
    radius, margin = max_difference(tagger.learner_), separation(tagger, rows, [s.pos for s in unique])
    if tagger.stopped_ != "converged" or margin <= 0:
        raise StructronError("Theorem 1: found no separator of the toy corpus; expected data that can be separated")
    bound = (radius / margin) ** 2
    report.content["bound"] = {"mistakes": mistakes, "passes": passes, "R": radius, "delta": margin, "bound": bound}
    table = Table("Theorem 1 on separable toy English: mistakes k ≤ R²/δ²", ("", "value"))
    table.add(f"mistakes k, in {passes} passes", mistakes)
    table.add("R, an upper bound", radius)
    table.add("δ, of the separator found", f"{margin:.4f}")
    table.add("R²/δ²", f"{bound:.0f}")
    table.add("k ≤ R²/δ²", "holds" if mistakes <= bound else "VIOLATED")
    report.show(table)


def widen_margin(tagger: Tagger) -> None:
    """Go on learning with a handicap for every right label, so that in the end y beats each z by that much at least.

    A larger δ, and with it a sharper bound, than the weights of a perceptron that stops at its last mistake.
    """
    learner = tagger.learner_
    assert isinstance(learner, ChainLearner)
    labels = len(learner.labels)
    learner.masks = np.zeros((labels + 1, learner.store.stride), np.float32)
    learner.masks[1:, :labels][np.eye(labels, dtype=bool)] = -HANDICAP
    learner.chains = learner.chains._replace(mask_of=(learner.gold + 1).astype(np.int32))
    result = train(learner, Schedule(passes=10_000, shuffle=False))
    tagger.model_, tagger.stopped_ = result.model, result.stopped


def separation(labeler: Tagger, rows: Rows | list, labels: list[list[str]]) -> float:
    """δ of equation 3 for U = w / ‖w‖; 0 if w does not separate.

    The best wrong labelling differs from the right one somewhere: its margin is the least of the tokens'.
    """
    guess, margins = labeler.predict_with_margins(rows)
    if guess != labels:
        return 0.0
    weights = labeler.model_.w[:, : len(labeler.model_.labels)].astype(float)
    return min(map(min, margins)) / float(np.linalg.norm(weights))


def max_difference(learner: ChainLearner) -> float:
    """R: no ‖Φ(x, y) - Φ(x, z)‖ is larger.

    Counts are not negative, so ‖Φ(y) - Φ(z)‖² ≤ ‖Φ(y)‖² + ‖Φ(z)‖², and no ‖Φ(z)‖ is larger than that of n equal labels
    with n equal transitions.
    """
    gold, starts, ptr = learner.gold, learner.prepared.starts, learner.plain.ptr
    history = np.stack(history_rows(gold, starts, len(learner.labels)), 1)
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
