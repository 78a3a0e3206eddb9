"""Kazama & Torisawa (2007): how much is done, one trained model with its dev score, and the search for the best C."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from structron.evaluate import chunk_scores
from structron.experiments.kazama2007_data import Corpus, gold_of, templates_of
from structron.experiments.kazama2007_paper import (
    AVERAGED,
    AVERAGED_MARGIN,
    AVERAGED_PROPOSED,
    CANDIDATE,
    CUTOFF,
    GRID,
    MARGIN,
    N_TEST,
    PERCEPTRON,
    PROPOSED,
    SENTENCES,
    STOP,
    N,
)
from structron.features.phrases import FAMILIES
from structron.sentences import Document
from structron.tasks.chain.chunker import Chunker

NON_LOCAL = FAMILIES
HALVINGS = 4
"""How often the least value of C is halved when it is the best one."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done: documents of each part (None: all), passes at most, runs of the BPM start, values of C that are
    tried at first, those of the candidate algorithm (beside the proposed one's), variances of the CRF's prior and its
    iterations, n' of Table 3, values of C and passes of the second models, whether C is refined, and processes (a
    corpus is the work of one).
    """

    documents: int | None
    passes: int
    bpm: int
    margins: tuple[float, ...]
    candidate_margins: tuple[float, ...]
    variances: tuple[float, ...]
    iterations: int
    test_candidates: tuple[int, ...]
    second_margins: tuple[float, ...]
    second_passes: int
    refine: bool = True
    processes: int = 2


OPTIONS: dict[str, dict[str, Any]] = {
    PERCEPTRON: {},
    AVERAGED: {"average": "mean"},
    MARGIN: {},
    AVERAGED_MARGIN: {"average": "mean"},
    CANDIDATE: {"non_local": NON_LOCAL, "local_update": "none"},
    PROPOSED: {"non_local": NON_LOCAL, "local_update": "aggressive"},
    AVERAGED_PROPOSED: {"non_local": NON_LOCAL, "local_update": "aggressive", "average": "mean"},
    SENTENCES: {"non_local": NON_LOCAL, "local_update": "sentences", "average": "mean"},
}
"""What makes a method; without an average the last weights count, as in the paper."""


@dataclass(slots=True)
class Trial:
    """A method with its C (of the CRF: the variance of its prior), and what came of it."""

    method: str
    c: float | None
    dev: float
    seconds: float
    passes: int
    stopped: str = ""
    pass_seconds: float | None = None
    bpm: int = 0
    test: float | None = None
    n: int | None = None
    model: Any = field(default=None, repr=False)

    def as_dict(self) -> dict[str, Any]:
        kept = ("method", "c", "n", "bpm", "dev", "test", "passes", "stopped")
        seconds = {"seconds": round(self.seconds, 2), "pass_seconds": self.pass_seconds}
        return {name: getattr(self, name) for name in kept} | seconds

    def __str__(self) -> str:
        c = "" if self.c is None else f", C = {self.c:g}"
        after = f"{self.passes} passes ({self.stopped})" if self.stopped else f"{self.passes} passes"
        return f"{self.method}{c}: dev {self.dev:.2f} after {after}, {self.seconds:.0f} s"


def make_model(corpus: Corpus, method: str, c: float | None, bpm: int, passes: int) -> Chunker:
    options: dict[str, Any] = {"average": "none"} | OPTIONS[method]
    if "non_local" in options:
        options |= {"candidates": N, "test_candidates": N_TEST}
    return Chunker(
        order=1,
        runs=1,
        passes=passes,
        templates=templates_of(corpus.columns),
        columns=corpus.columns,
        cutoff=CUTOFF,
        margin=c,
        bpm=bpm,
        stop_change=STOP,
        **options,
    )


def f1_of(model: Any, documents: Sequence[Document]) -> float:
    """F1 of a model that labels documents."""
    return f1(documents, model.predict(documents))


def f1(documents: Sequence[Document], guess: Sequence[list[list[str]]]) -> float:
    return chunk_scores(gold_of(list(documents)), [labels for document in guess for labels in document]).f1


def attempt(corpus: Corpus, method: str, c: float | None, bpm: int, passes: int) -> Trial:
    """Train to the end, as the stopping rule says; dev data see the final weights only, as in the paper."""
    model = make_model(corpus, method, c, bpm, passes)
    begin = time.perf_counter()
    model.fit(corpus.train)
    seconds = time.perf_counter() - begin
    del model.learner_  # the encoded training data
    spent = [record["seconds"] for record in model.history_]
    mean = round(sum(spent) / len(spent), 3)
    return Trial(method, c, f1_of(model, corpus.dev), seconds, len(spent), model.stopped_, mean, bpm, model=model)


def tune(values: Sequence[float], at: Callable[[float], Trial], refine: bool = True) -> Trial:
    """The best on dev data: of these values, then of their neighbours among the paper's as long as one is better.

    Where the least of all is the best, halves of it are tried too. Of equal scores the smaller C wins.
    """
    tried = {c: at(c) for c in values}
    while refine:
        best = best_c(tried)
        known = sorted({*GRID, *tried})
        place = known.index(best)
        more = [known[k] for k in (place - 1, place + 1) if 0 <= k < len(known) and known[k] not in tried]
        if place == 0 and best > GRID[0] / 2**HALVINGS:
            more.append(best / 2)
        if not more:
            break
        tried |= {c: at(c) for c in more}
    return tried[best_c(tried)]


def best_c(tried: dict[float, Trial]) -> float:
    return max(sorted(tried), key=lambda c: tried[c].dev)
