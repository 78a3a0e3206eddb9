"""Kazama & Torisawa (2007): the methods as models, a trained model with its dev score, the search for the best C.

The conditional random field is python-crfsuite's. It takes any features of a token and pairs them with its label; with
the label before it pairs none. So it has the node features of Table 1 and bare label bigrams, but no edge features. Its
sequences are sentences: with local features alone documents make no difference to the labels that are best.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from structron.evaluate import chunk_scores
from structron.experiments.frame import need, timed
from structron.experiments.kazama2007.corpora import Corpus, gold_of, templates_of
from structron.features.extract import TemplateExtractor
from structron.features.index import look_up, number_features
from structron.features.phrases import FAMILIES
from structron.features.templates import load_templates
from structron.kernels.table import build_table
from structron.sentences import Document, sentences_of, split
from structron.tasks.chain.labeler import Chunker

CRF, PERCEPTRON, AVERAGED, MARGIN = "CRF", "perceptron", "averaged perceptron", "margin perceptron"
CANDIDATE, PROPOSED = "candidate", "proposed"
AVERAGED_MARGIN, AVERAGED_PROPOSED = "averaged margin perceptron", "averaged proposed"
SENTENCES, SENTENCES_C = "sentence by sentence (ours)", 50
"""Local features learned from sentences (update/nbest.py), with the C that `train entities` has."""
RERANKING_1, RERANKING_2 = "re-ranking 1", "re-ranking 2"

GRID = (500, 1000, 1414, 2000, 2828, 4000, 5657, 8000, 11313, 16000, 32000)
"""The values of C that the paper tries."""
N, N_TEST = 20, 100
"""n, candidates in training, and n', candidates in testing while C is tuned."""
N_LARGE = 800
"""The larger n' of re-ranking 2 in Table 6."""
BPM = 10
STOP = 1e-4
FOLDS = 5
CUTOFF = 2

NO_BPM, SAME_C = "{}, no BPM".format, "{}, same C".format
"""Names of methods without the BPM start, and with the margin perceptron's C."""

HALVINGS = 4
"""How often the least value of C is halved when it is the best one."""
OPTIONS: dict[str, dict[str, Any]] = {
    PERCEPTRON: {},
    AVERAGED: {"average": "mean"},
    MARGIN: {},
    AVERAGED_MARGIN: {"average": "mean"},
    CANDIDATE: {"local_update": "none"},
    PROPOSED: {"local_update": "aggressive"},
    AVERAGED_PROPOSED: {"local_update": "aggressive", "average": "mean"},
    SENTENCES: {"local_update": "sentences", "average": "mean"},
}
"""What makes a method; without an average the last weights count, as in the """


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
    options |= {"templates": templates_of(corpus.columns), "columns": corpus.columns, "cutoff": CUTOFF}
    if "local_update" in OPTIONS[method]:
        options |= {"non_local": FAMILIES, "candidates": N, "test_candidates": N_TEST}
    return Chunker(stop_change=STOP, **(options | OPTIONS[method]))


def attempt(corpus: Corpus, method: str, c: float | None, bpm: int, passes: int) -> Trial:
    """Train to the end, as the stopping rule says; dev data see the final weights only, as in the"""
    model = make_model(corpus, method, c, bpm, passes)
    _, seconds = timed(model.fit, corpus.train)
    vars(model).pop("learner_", None)  # the encoded training data
    spent = [record["seconds"] for record in model.history_]
    mean = round(sum(spent) / len(spent), 3)
    return Trial(method, c, model.score(corpus.dev), seconds, len(spent), model.stopped_, mean, bpm, model=model)


def tune(values: Sequence[float], at: Callable[[float], Trial], refine: bool = True) -> Trial:
    """The best on dev data: of these values, then of their neighbours among the paper's as long as one is better.

    Where the least of all is the best, halves of it are tried too. Of equal scores the smaller C wins.
    """
    tried = {c: at(c) for c in values}
    while True:
        best = max(sorted(tried), key=lambda c: tried[c].dev)
        known = sorted({*GRID, *tried})
        place = known.index(best)
        more = [c for c in known[max(place - 1, 0) : place + 2] if c not in tried]
        if place == 0 and best > GRID[0] / 2**HALVINGS:
            more.append(best / 2)
        if not refine or not more:
            return tried[best]
        tried |= {c: at(c) for c in more}


class Crf:
    """L-BFGS training of one corpus, for any weight of the quadratic penalty, with features seen twice in it.

    templates: a preset; by default those of Table 1.
    """

    def __init__(self, corpus: Corpus, templates: str | None = None):
        chosen = load_templates(templates_of(corpus.columns) if templates is None else templates)
        self.extractor = TemplateExtractor(corpus.columns, corpus.columns[-1], chosen)
        prepared = self.extractor.prepare(sentences_of(corpus.train))
        keys = number_features(prepared.hashes, prepared.starts, CUTOFF).keys
        self.table, self.names = build_table(keys), np.array([f"{number:x}" for number in range(len(keys))], object)
        self.trainer = need("pycrfsuite", "bench").Trainer(algorithm="lbfgs", verbose=False)
        for tokens, labels in zip(self.tokens(corpus.train), gold_of(corpus.train), strict=True):
            self.trainer.append(tokens, labels)

    def tokens(self, documents: Sequence[Document]) -> list[list[list[str]]]:
        """For each sentence its tokens as lists of features, as far as they are known."""
        prepared = self.extractor.prepare(sentences_of(documents))
        ptr, numbers, _ = look_up(self.table, prepared.hashes(0, len(prepared.starts) - 1))
        tokens = split(self.names[numbers], ptr)
        return [tokens[lo:hi] for lo, hi in pairwise(prepared.starts.tolist())]

    def train(self, c2: float, iterations: int) -> "CrfModel":
        self.trainer.set_params({"c2": c2, "max_iterations": iterations})
        with tempfile.TemporaryDirectory(prefix="structron-crf-") as folder:
            path = Path(folder) / "model.crfsuite"
            self.trainer.train(str(path))
            return CrfModel(self, path.read_bytes(), len(self.trainer.logparser.iterations))


@dataclass(frozen=True, slots=True)
class CrfModel:
    """What python-crfsuite learned, with the same way in and out as our own models."""

    crf: Crf
    content: bytes
    iterations: int

    def predict(self, documents: Sequence[Document]) -> list[list[str]]:
        """The labels of all sentences."""
        tagger = need("pycrfsuite", "bench").Tagger()
        tagger.open_inmemory(self.content)
        return [tagger.tag(sentence) for sentence in self.crf.tokens(documents)]

    def score(self, documents: Sequence[Document]) -> float:
        return chunk_scores(gold_of(documents), self.predict(documents)).f1
