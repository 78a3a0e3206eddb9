"""Dror & Reichart (2016), dependency parsing: every training on the treebanks that stand in for those of CoNLL 2007.

The paper trains TurboParser, whose search is not projective, with CSP and with B-WM. Here it is the graph-based parser,
unlabelled, with projective search, which is exact at both orders; on treebanks with many crossing arcs there is a
non-projective CSP too. Every training is scored twice, with its last weights and with the mean of all.

The paper does not impose its condition 2, that what an update adds up is a violation: its models converge without it.
At second order B-WM breaks it often: there is a B-WM with the condition enforced, too. (A word's features depend there
on the heads of others, and single differences do not add up to the whole one.)

Where a treebank has no dev data, sentences drawn from its training data are, as in the paper: B-WM and the control
learn from the others, CSP from all.
"""

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from structron.experiments.dror2016.choice import CONTROL, CSP, MEAN, SEED, Scores, Trials
from structron.experiments.frame import Rows, has, invalid_share, load_rows
from structron.progress import Progress
from structron.tasks.graph.parser import GraphParser

B_WM, ENFORCED, CROSSING = "b-wm", "b-wm enforced", "CSP non-projective"
BITS = 22
"""2^22 weights: enough for what is learned here, and a thread of its own for every training needs little memory."""
HELD_OUT, LEAST_LEFT = 1000, 2
"""Sentences drawn for dev data where there are none (the paper's number), and how many times as many must be left."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A treebank: the column with the tags, how it is written, whether sentences have one root, whether its crossing
    arcs are worth a search that allows them."""

    name: str
    language: str
    pos: str = "upos"
    encoding: str = "utf-8"
    single_root: bool = True
    crossing: bool = False


CORPORA = (
    Corpus("ud-english-ewt", "English", pos="xpos"),
    Corpus("wsj-sample-dep", "English", pos="pos"),
    Corpus("ud-chinese-gsd", "Chinese"),
    Corpus("ud-greek-gdt", "Greek", crossing=True),
    Corpus("ud-italian-partut", "Italian"),
    Corpus("ud-turkish-imst", "Turkish"),
    Corpus("ud-basque-bdt", "Basque", crossing=True),
    Corpus("conll2007-basque", "Basque", pos="xpos", encoding="iso-8859-1", single_root=False, crossing=True),
    Corpus("ud-hungarian-szeged", "Hungarian", crossing=True),
    Corpus("conll2007-spanish", "Spanish", pos="xpos"),
)
LANGUAGES = {corpus.name: corpus.language for corpus in CORPORA}


@dataclass(frozen=True, slots=True)
class ParsingScale:
    """How much is done: tokens of each split (None: all), the β tried at each order, passes; and the same for
    projective beside non-projective search, which need no β and have time for more data."""

    train: int | None
    dev: int | None
    test: int | None
    betas: dict[int, Sequence[float]]
    passes: int
    crossing_train: int | None = None
    crossing_test: int | None = None
    crossing_passes: int = 6


def usable(data: Path | None) -> tuple[list[Corpus], list[str]]:
    """The treebanks that are there, and the names of those that are not."""
    there = [corpus for corpus in CORPORA if data and all(has(data, corpus.name, part) for part in ("train", "test"))]
    return there, [corpus.name for corpus in CORPORA if corpus not in there]


def front(sentences: Rows, tokens: int | None) -> Rows:
    """Whole sentences from the front, as long as they have no more tokens than that."""
    ends = accumulate(map(len, sentences))
    return [one for one, end in zip(sentences, ends, strict=True) if tokens is None or end <= tokens]


@dataclass(frozen=True, slots=True)
class Bank:
    """A treebank in memory. whole: what CSP learns from; rest: without what was drawn for dev data."""

    corpus: Corpus
    whole: Rows
    rest: Rows
    dev: Rows
    test: Rows

    @classmethod
    def load(cls, data: Path, corpus: Corpus, scale: ParsingScale) -> "Bank":
        def rows(split: str) -> Rows:
            return load_rows(data, corpus.name, split, encoding=corpus.encoding)

        everything, test = rows("train"), front(rows("test"), scale.test)
        if has(data, corpus.name, "dev"):
            whole = front(everything, scale.train)
            return cls(corpus, whole, whole, front(rows("dev"), scale.dev), test)
        count = min(HELD_OUT, len(everything) // (1 + LEAST_LEFT))
        drawn = set(np.random.default_rng(SEED).choice(len(everything), count, replace=False).tolist())
        dev, rest = ([one for k, one in enumerate(everything) if (k in drawn) == held] for held in (True, False))
        return cls(corpus, front(everything, scale.train), front(rest, scale.train), front(dev, scale.dev), test)

    @property
    def own_dev(self) -> bool:
        return self.whole is self.rest

    def sizes(self) -> dict[str, Any]:
        parts = {"train": self.whole, "train without dev": self.rest, "dev": self.dev, "test": self.test}
        return {name: {"sentences": len(part), "tokens": sum(map(len, part))} for name, part in parts.items()}


class Training(NamedTuple):
    """A method at an order; value: its β, of CSP the seed."""

    order: int
    method: str
    value: float


def plan(bank: Bank, scale: ParsingScale) -> list[Training]:
    """All trainings on a treebank, order by order. CSP is itself the control's first order if both learn from the same
    sentences."""
    found = []
    for order, betas in scale.betas.items():
        found.append(Training(order, CSP, SEED))
        found += [Training(order, CONTROL, SEED + k) for k in range(bank.own_dev, len(betas))]
        found += [Training(order, method, beta) for method in (B_WM, ENFORCED) for beta in betas]
    return found


class Stoppable(Progress):
    """Ends a training on a thread that does not hear Ctrl-C."""

    def __init__(self, stop: Event):
        super().__init__()
        self.stop = stop

    def advance(self, done: int) -> None:
        if self.stop.is_set():
            raise KeyboardInterrupt


def train(bank: Bank, training: Training, passes: int, stop: Event) -> tuple[Scores, Scores]:
    """UAS of a parser with its last weights and with their mean."""
    order, method, value = training
    options: dict[str, Any] = {"labelled": False, "average": "none", "bits": BITS, "pos": bank.corpus.pos}
    options |= {"single_root": bank.corpus.single_root, "passes": passes, "runs": 1, "order": order}
    if method in (B_WM, ENFORCED):
        options |= {"seed": SEED, "swvp": B_WM, "beta": value, "enforce": method == ENFORCED}
    else:
        options |= {"seed": int(value), "projective": method != CROSSING}
    parser = GraphParser(**options)
    on_whole = method in (CSP, CROSSING)
    parser.fit(bank.whole if on_whole else bank.rest, progress=Stoppable(stop))
    if parser.stopped_ == "interrupted":
        raise KeyboardInterrupt

    def scores(model: Any) -> Scores:
        parser.model_ = model
        dev = parser.score(bank.dev) if bank.own_dev or not on_whole else math.nan
        return Scores(dev, parser.score(bank.test), invalid_share(parser.history_))

    last = scores(parser.model_)
    if method == CONTROL:
        return last, last
    parser.learner_.average = "mean"
    return last, scores(parser.learner_.snapshot())


def try_bank(bank: Bank, scale: ParsingScale) -> Iterator[tuple[int, Trials]]:
    """Train everything on a treebank, as many models at a time as there are cores; give every order when done."""
    jobs = plan(bank, scale)
    found, left = {order: Trials() for order in scale.betas}, [job.order for job in jobs]
    for (order, method, value), (last, mean) in train_all(bank, jobs, scale.passes):
        found[order].enter(method, value, last)
        if method != CONTROL:
            found[order].enter(method + MEAN, value, mean)
        if method == CSP and bank.own_dev:
            found[order].enter(CONTROL, value, last)
        left.remove(order)
        if order not in left:
            yield order, found[order]


def try_crossing(data: Path, corpus: Corpus, scale: ParsingScale) -> dict[int, tuple[float, float]]:
    """By order, the test UAS of projective and of non-projective search, averaged weights."""
    bank = Bank.load(data, corpus, replace(scale, train=scale.crossing_train, test=scale.crossing_test))
    jobs = [Training(order, method, SEED) for order in scale.betas for method in (CSP, CROSSING)]
    found = {job[:2]: mean.test for job, (_, mean) in train_all(bank, jobs, scale.crossing_passes)}
    return {order: (found[order, CSP], found[order, CROSSING]) for order in scale.betas}


def train_all(bank: Bank, jobs: Sequence[Training], passes: int) -> Iterator[tuple[Training, tuple[Scores, Scores]]]:
    """As many at a time as there are cores, in the order of the jobs; when one fails, all others stop."""
    stop = Event()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            yield from zip(jobs, pool.map(lambda job: train(bank, job, passes, stop), jobs), strict=True)
        except BaseException:
            stop.set()
            raise
