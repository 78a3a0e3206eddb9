"""Collins (2002), section 4: the jobs. Two tasks, both methods with every setting of Figure 4, and their test figures.

As in the paper, examples come in corpus order (Figure 1), every label sequence is a candidate (GEN(x) = T^n, section 3)
and histories hold the two labels before (section 2.2), so both tasks have the label bigram and trigram beside the
features that Figure 3 and section 4.2 list. Perceptron and maximum entropy (ME) have the same features.
"""

import copy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments import frame
from structron.experiments.collins2002.features import ORDER, SeenFeatures, is_seen
from structron.experiments.collins2002.maxent import MaxEnt
from structron.experiments.frame import SPLITS, Rows, load_rows
from structron.experiments.frame.ledger import Figures
from structron.learn.chain import ChainLearner
from structron.tasks.chain.labeler import Chunker, Tagger

AVERAGES = {"avg": "mean", "noavg": "none"}
MILESTONES = 6
CLOSE = 60
MIXED_BY = 2002
"""Seed of the order of data that are mixed."""


@dataclass(frozen=True, slots=True)
class TaggingTask:
    """A corpus and the features of the paper. Without dev data the last tenth of train is held out, and test figures
    need a training of their own, on all of train."""

    corpus: str
    labeler: type[Chunker] | type[Tagger]
    templates: str
    columns: tuple[str, ...]
    splits: tuple[str, ...] = SPLITS

    def encode(self, rows: Rows, cutoff: int) -> Any:
        """A labeler that has learned for one pass: its learner has the data as numbers."""
        options: dict[str, Any] = {"templates": self.templates, "columns": self.columns, "label": self.columns[-1]}
        options |= {"order": ORDER, "runs": 1, "passes": 1, "cutoff": cutoff, "jobs": 1}
        return self.labeler(shuffle=False, constrain=False, **options).fit(rows)


TASKS = {
    "np": TaggingTask("ramshaw-marcus-np", Chunker, "collins-np", ("word", "pos", "chunk"), ("train", "test")),
    "pos": TaggingTask("ud-english-ewt", Tagger, "collins-pos", ("form", "xpos")),
}


@cache
def load(data: Path, task: str, sentences: int | None, mixed: bool = False) -> tuple[Rows, Rows, Rows]:
    """Train (so many sentences of it), dev and test. Base noun phrases are the paper's own data, and Penn tags those of
    the English Web Treebank, which is sorted by genre. mixed: training sentences are shuffled, once."""
    own = TASKS[task]
    found = {split: load_rows(data, own.corpus, split, own.columns) for split in own.splits}
    rows = found["train"]
    order = np.random.default_rng(MIXED_BY).permutation(len(rows)) if mixed else range(len(rows))
    train = [rows[k] for k in order][:sentences]
    return (train, found["dev"], found["test"]) if "dev" in found else (*frame.last_tenth(train), found["test"])


class Best:
    """Scores models on dev data as they come, and keeps the best."""

    def __init__(self, labeler: Any, dev: Rows):
        self.labeler, self.dev, self.judge = labeler, dev, labeler._judge(dev)
        self.curve: list[tuple[int, float]] = []
        self.best, self.model = (0, -1.0), None

    def see(self, number: int, model: Any) -> None:
        self.curve.append((number, round(self.judge(model), 4)))
        if self.curve[-1][1] > self.best[1]:
            self.best, self.model = self.curve[-1], model

    def figures(self, test: Rows | None) -> Figures:
        self.labeler.model_ = self.model
        blocks = frame.block_counts(self.labeler, self.dev, self.labeler.predict(self.dev))
        found: Figures = {"dev": self.best[1], "best": self.best[0], "curve": self.curve, "dev_blocks": blocks}
        return found if test is None else found | frame.tested(self.labeler, test)


def make_learner(labeler: Any, cutoff: int, features: str) -> ChainLearner:
    """Before its first example. features: "seen", as in the paper, or "all": every context with every label."""
    learner: ChainLearner = labeler.learner_.fresh_copy()
    if features == "seen":
        learner.update = SeenFeatures(seen=is_seen(learner, cutoff))
    return learner


def snapshot(learner: ChainLearner, average: str) -> Any:
    """The model of the moment, averaged or not: one training gives both."""
    view = copy.copy(learner)
    view.chain = replace(learner.chain, average=average)
    return view.snapshot()


def perceptron(
    data: Path,
    *,
    task: str,
    cutoff: int,
    features: str,
    passes: int,
    sentences: int | None = None,
    mixed: bool = False,
) -> Figures:
    """Dev scores after every pass, averaged and not; test figures of the best where dev is no part of train."""
    train, dev, test = load(data, task, sentences, mixed)
    labeler = TASKS[task].encode(train, cutoff)
    learner, judges = make_learner(labeler, cutoff, features), {name: Best(labeler, dev) for name in AVERAGES}
    updates: list[int] = []
    while len(updates) < passes and 0 not in updates:
        updates.append(frame.learn_once(learner)["updates"])
        for name, judge in judges.items():
            judge.see(len(updates), snapshot(learner, AVERAGES[name]))
    found = {name: judge.figures(test if "dev" in TASKS[task].splits else None) for name, judge in judges.items()}
    return {**found, "updates": updates, "sentences": [len(train), len(dev), len(test)]}


def perceptron_on_all(
    data: Path, *, task: str, cutoff: int, features: str, avg: int, noavg: int, sentences: int | None = None
) -> Figures:
    """Test figures of weights after so many passes over train and dev, averaged and not."""
    train, dev, test = load(data, task, sentences)
    labeler = TASKS[task].encode(train + dev, cutoff)
    learner, found = make_learner(labeler, cutoff, features), {}
    for number in range(1, max(avg, noavg) + 1):
        frame.learn_once(learner)
        for name, wanted in (("avg", avg), ("noavg", noavg)):
            if number == wanted:
                labeler.model_ = snapshot(learner, AVERAGES[name])
                found[name] = frame.tested(labeler, test)
    return found


def milestones(limit: int, close: bool = False) -> list[int]:
    """The numbers of iterations that are scored: the limit, its half, … down to 5. close: so many as the perceptron has
    passes, evenly from a quarter of the limit on."""
    if close:
        return sorted({round(x) for x in np.linspace(max(1, limit / 4), limit, CLOSE).tolist()})
    return sorted(limit >> k for k in range(MILESTONES) if limit >> k >= 5)


def maximum_entropy(
    data: Path,
    *,
    task: str,
    method: str,
    cutoff: int,
    limit: int,
    sentences: int | None = None,
    close: bool = False,
) -> Figures:
    """Dev scores after up to so many iterations; test figures of the best where dev is no part of train. close: around
    the best of doubled numbers, which is half of the limit."""
    train, dev, test = load(data, task, sentences)
    labeler = TASKS[task].encode(train, cutoff)
    judge = Best(labeler, dev)
    for iterations, model in MaxEnt(labeler.learner_, cutoff).train(method, milestones(limit, close)):
        judge.see(iterations, model)
    return judge.figures(test if "dev" in TASKS[task].splits else None)


def maximum_entropy_on_all(
    data: Path, *, task: str, method: str, cutoff: int, iterations: int, sentences: int | None = None
) -> Figures:
    """Test figures after so many iterations on train and dev."""
    train, dev, test = load(data, task, sentences)
    labeler = TASKS[task].encode(train + dev, cutoff)
    *_, (_, labeler.model_) = MaxEnt(labeler.learner_, cutoff).train(method, [iterations])
    return frame.tested(labeler, test)
