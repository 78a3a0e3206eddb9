"""Kazama & Torisawa (2007): the methods as models, a trained model with its dev score, the search for the best C."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from structron import Chunker, Document
from structron.evaluate import chunk_scores
from structron.experiments.frame import timed
from structron.experiments.kazama2007 import paper
from structron.experiments.kazama2007.corpora import Corpus, gold_of, templates_of
from structron.features.phrases import FAMILIES

HALVINGS = 4
"""How often the least value of C is halved when it is the best one."""
OPTIONS: dict[str, dict[str, Any]] = {
    paper.PERCEPTRON: {},
    paper.AVERAGED: {"average": "mean"},
    paper.MARGIN: {},
    paper.AVERAGED_MARGIN: {"average": "mean"},
    paper.CANDIDATE: {"local_update": "none"},
    paper.PROPOSED: {"local_update": "aggressive"},
    paper.AVERAGED_PROPOSED: {"local_update": "aggressive", "average": "mean"},
    paper.SENTENCES: {"local_update": "sentences", "average": "mean"},
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
        kept = ("method", "c", "n", "bpm", "dev", "test", "passes", "stopped", "pass_seconds")
        return {name: getattr(self, name) for name in kept} | {"seconds": round(self.seconds, 2)}

    def __str__(self) -> str:
        c = "" if self.c is None else f", C = {self.c:g}"
        after = f"{self.passes} passes ({self.stopped})" if self.stopped else f"{self.passes} passes"
        return f"{self.method}{c}: dev {self.dev:.2f} after {after}, {self.seconds:.0f} s"


def make_model(corpus: Corpus, method: str, c: float | None, bpm: int, passes: int) -> Chunker:
    options: dict[str, Any] = {"order": 1, "runs": 1, "average": "none", "passes": passes, "margin": c, "bpm": bpm}
    options |= {"templates": templates_of(corpus.columns), "columns": corpus.columns, "cutoff": paper.CUTOFF}
    if "local_update" in OPTIONS[method]:
        options |= {"non_local": FAMILIES, "candidates": paper.N, "test_candidates": paper.N_TEST}
    return Chunker(stop_change=paper.STOP, **(options | OPTIONS[method]))


def f1_of(model: Any, documents: Sequence[Document]) -> float:
    """F1 of a model that labels documents."""
    return f1(documents, model.predict(documents))


def f1(documents: Sequence[Document], guess: Sequence[list[list[str]]]) -> float:
    return chunk_scores(gold_of(documents), [labels for document in guess for labels in document]).f1


def attempt(corpus: Corpus, method: str, c: float | None, bpm: int, passes: int) -> Trial:
    """Train to the end, as the stopping rule says; dev data see the final weights only, as in the paper."""
    model = make_model(corpus, method, c, bpm, passes)
    _, seconds = timed(model.fit, corpus.train)
    vars(model).pop("learner_", None)  # the encoded training data
    spent = [record["seconds"] for record in model.history_]
    mean = round(sum(spent) / len(spent), 3)
    return Trial(method, c, f1_of(model, corpus.dev), seconds, len(spent), model.stopped_, mean, bpm, model=model)


def tune(values: Sequence[float], at: Callable[[float], Trial], refine: bool = True) -> Trial:
    """The best on dev data: of these values, then of their neighbours among the paper's as long as one is better.

    Where the least of all is the best, halves of it are tried too. Of equal scores the smaller C wins.
    """
    tried = {c: at(c) for c in values}
    while True:
        best = max(sorted(tried), key=lambda c: tried[c].dev)
        known = sorted({*paper.GRID, *tried})
        place = known.index(best)
        more = [c for c in known[max(place - 1, 0) : place + 2] if c not in tried]
        if place == 0 and best > paper.GRID[0] / 2**HALVINGS:
            more.append(best / 2)
        if not refine or not more:
            return tried[best]
        tried |= {c: at(c) for c in more}
