"""A training as figures for the ledger: the record of every pass, and scores with their counts by block."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structron.experiments.frame.ledger import Figures, Trial
from structron.experiments.frame.statistics import block_counts, mean
from structron.experiments.frame.tools import Rows, timed
from structron.learn.loop import Learner

LATE = 3
"""Late passes are the last of so many equal parts."""
KEPT = ("dev", "updates", "invalid", "fell_off", "fell_at", "examples", "search_errors")


def shown_beam(beam: int | None) -> int | str:
    return "inf" if beam is None else beam


def learn(estimator: Any, train: Rows, dev: Rows, test: Rows | None = None) -> Figures:
    """Fit, the best pass on dev data kept. Figures: dev, best_pass, passes (what the record has of each pass), seconds
    (of the processor, learning up to the best pass, without scoring dev data), dev_blocks; of test data test,
    test_blocks, test_seconds."""
    estimator.set_params(jobs=1).fit(train, dev=dev)
    if estimator.stopped_ == "interrupted":  # training keeps what it has; a trial that is cut short is none
        raise KeyboardInterrupt
    history = estimator.history_
    best = max(record["dev"] for record in history)
    number = 1 + next(k for k, record in enumerate(history) if record["dev"] == best)
    figures: Figures = {"dev": best, "best_pass": number, "seconds": seconds_of(history[:number])}
    figures["passes"] = {
        name: [round(record[name] or 0, 4) for record in history]
        for name in KEPT
        if all(name in one for one in history)
    }
    figures["dev_blocks"] = block_counts(estimator, dev, estimator.predict(dev))
    return figures if test is None else figures | tested(estimator, test)


def tested(estimator: Any, test: Rows) -> Figures:
    """Scores on test data."""
    guess, seconds = timed(estimator.predict, test)
    scores = estimator.evaluate(test, guess=guess)
    found = {"test": getattr(scores, estimator.metric), "test_seconds": round(seconds, 3)}
    return found | {"test_blocks": block_counts(estimator, test, guess)}


def seconds_of(history: Sequence[dict[str, Any]]) -> float:
    return round(sum(record["cpu_seconds"] for record in history), 3)


def spent(trials: Sequence[Trial]) -> float:
    """Processor time up to the best pass, in seconds, scoring included, in the mean over trials: that of the whole job
    by its passes. (Some early trials have the time that went by as their figure `seconds`.)"""
    return mean([trial.seconds * trial["best_pass"] / len(trial["passes"]["dev"]) for trial in trials])


def first_pass(trial: Trial, level: float) -> int | None:
    """The pass after which dev first was at that level, from 1; None: never."""
    return next((k for k, score in enumerate(trial["passes"]["dev"], 1) if score >= level), None)


def searched(trial: Trial, passes: int) -> float:
    """Steps of search in the first passes, as a number of passes searched to their ends: an early update ends a search
    where the correct prefix falls off."""
    own = trial["passes"]
    if trial["update"] != "early" or "fell_at" not in own:
        return float(passes)
    figures = zip(own["fell_off"][:passes], own["fell_at"], own["examples"], strict=False)
    return sum(1 - fell * (1 - where) / count for fell, where, count in figures)


def invalid_counts(trial: Trial, first: int = 0, last: int | None = None) -> tuple[int, int]:
    """(invalid updates, all updates) of some passes; exact search does not count them: it makes none."""
    passes = trial["passes"]
    return int(sum(passes.get("invalid", [0])[first:last])), int(sum(passes["updates"][first:last]))


def invalid_share(trial: Trial, first: int = 0, last: int | None = None) -> float:
    """Invalid updates of all, in per cent."""
    invalid, updates = invalid_counts(trial, first, last)
    return 100 * invalid / updates if updates else 0.0


def late_counts(trial: Trial) -> tuple[int, int]:
    """The counts of late passes."""
    return invalid_counts(trial, first=-max(1, len(trial["passes"]["dev"]) // LATE))


def late_invalid(trial: Trial) -> float:
    """Invalid updates of late passes, in per cent."""
    return invalid_share(trial, first=-max(1, len(trial["passes"]["dev"]) // LATE))


def learn_once(learner: Learner, examples: np.ndarray | None = None) -> dict[str, Any]:
    """A pass over some examples of a learner in a given order, or all in theirs; gives its figures."""
    order, place = np.arange(learner.examples) if examples is None else examples, 0
    learner.begin_pass()
    while place < len(order):
        place = learner.learn(order, place)
    return learner.counts()
