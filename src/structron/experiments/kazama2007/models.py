"""Kazama & Torisawa (2007): the methods as models, and the conditional random field beside them.

The field is python-crfsuite's. It takes any features of a token and pairs them with its label; with the label before it
pairs none. So it has the node features of Table 1 and bare label bigrams, but no edge features. Its sequences are
sentences: with local features alone documents make no difference to the labels that are best.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from structron.eval.scores import chunk_scores
from structron.experiments.frame import need
from structron.experiments.frame.ledger import Figures
from structron.experiments.frame.statistics import BLOCKS, count
from structron.experiments.kazama2007.corpora import EntityCorpus, gold_of, templates_of
from structron.features.extract import TemplateExtractor
from structron.features.index import look_up, number_features
from structron.features.phrases import FAMILIES
from structron.features.templates import load_templates
from structron.kernels.table import build_table
from structron.tasks.chain.labeler import Chunker
from structron.text.sentences import Document, sentences_of, split

CRF, PERCEPTRON, AVERAGED, MARGIN = "CRF", "perceptron", "averaged perceptron", "margin perceptron"
EDGE_CRF = "CRF, edge features"
CANDIDATE, PROPOSED, CONSERVATIVE = "candidate", "proposed", "proposed, conservative"
AVERAGED_MARGIN = "averaged margin perceptron (ours)"
NODES = "margin perceptron, node features (ours)"
"""With the features that the conditional random field here has."""
SENTENCES, SENTENCES_C = "sentence by sentence (ours)", 50
"""Local features learned from sentences (update/nbest.py), with the C that `train entities` has."""

N, N_TEST = 20, 100
"""n, candidates in training, and n', candidates in testing while C is tuned."""
STOP = 1e-4
CUTOFF = 2

OPTIONS: dict[str, dict[str, Any]] = {
    PERCEPTRON: {},
    AVERAGED: {"average": "mean"},
    MARGIN: {},
    AVERAGED_MARGIN: {"average": "mean"},
    CANDIDATE: {"local_update": "none"},
    PROPOSED: {"local_update": "aggressive"},
    CONSERVATIVE: {"local_update": "conservative"},
    NODES: {},
    SENTENCES: {"local_update": "sentences", "average": "mean"},
}
"""What makes a method; without an average the last weights count, as in the paper."""


def make_model(corpus: EntityCorpus, method: str, c: float | None, bpm: int, passes: int, seed: int = 1) -> Chunker:
    options: dict[str, Any] = {"order": 1, "runs": 1, "average": "none", "passes": passes, "margin": c, "bpm": bpm}
    templates = [text for text in templates_of(corpus.columns) if method != NODES or not text.endswith("&y")]
    options |= {"templates": templates, "columns": corpus.columns, "cutoff": CUTOFF}
    if "local_update" in OPTIONS[method]:
        options |= {"non_local": FAMILIES, "candidates": N, "test_candidates": N_TEST}
    return Chunker(stop_change=STOP, seed=seed, jobs=1, **(options | OPTIONS[method]))


def next_values(tried: Mapping[float, float], start: Sequence[float], least: float) -> list[float]:
    """The values of C to try next, given the dev scores of those that were tried; none: the best one is found.

    First those of the start. Then, while the best one is the smallest, half of it (but not less than `least`), and
    while it is the largest, twice as much: it ends up with a worse one on each side. Of equal scores the smaller C
    wins.
    """
    if missing := [c for c in start if c not in tried]:
        return missing
    best = best_value(tried)
    below = [best / 2] if best == min(tried) and best / 2 >= least else []
    above = [best * 2] if best == max(tried) else []
    return [*below, *above]


def best_value(tried: Mapping[float, float]) -> float:
    return max(sorted(tried), key=lambda c: tried[c])


def search(start: Sequence[float], least: float, at: Callable[[float], Any]) -> tuple[float, Any, list]:
    """Try values of C until the best one is found: (it, what was made with it, all of them with their dev scores).

    at: makes something with a C; the last part of it is the dev score.
    """
    made: dict[float, Any] = {}
    while more := next_values({c: one[-1] for c, one in made.items()}, start, least):
        made |= {c: at(c) for c in more}
    best = best_value({c: one[-1] for c, one in made.items()})
    return best, made[best], sorted((c, one[-1]) for c, one in made.items())


def equal_edges(sizes: Sequence[int], blocks: int) -> list[int]:
    """Where blocks of whole documents begin and end, as equal in words as can be; each has a document at least."""
    blocks, ends = min(blocks, len(sizes)), np.cumsum([0, *sizes])
    edges = [int(np.abs(ends - share).argmin()) for share in np.linspace(0, ends[-1], blocks + 1)]
    for k in range(1, blocks + 1):
        edges[k] = max(edges[k], edges[k - 1] + 1)
    edges[-1] = len(sizes)
    for k in range(blocks - 1, 0, -1):
        edges[k] = min(edges[k], edges[k + 1] - 1)
    return edges


def scored(part: str, documents: Sequence[Document], guess: Sequence[Any]) -> Figures:
    """F1 of labels, and the counts behind it by block of documents: figures `<part>` and `<part>_blocks`.

    guess: for each document the labels of its sentences.
    """
    edges = equal_edges([sum(map(len, document)) for document in documents], BLOCKS)
    flat = [[labels for document in guess[a:b] for labels in document] for a, b in pairwise(edges)]
    found = [chunk_scores(gold_of(documents[a:b]), own) for (a, b), own in zip(pairwise(edges), flat, strict=True)]
    blocks = [count(scores) for scores in found]
    right, guessed, gold = np.sum(blocks, axis=0)
    return {part: 200 * int(right) / max(1, int(guessed + gold)), f"{part}_blocks": blocks}


class Crf:
    """L-BFGS training of one corpus, for any weight of the quadratic penalty, with features seen twice in it.

    templates: a preset; by default those of Table 1.
    """

    def __init__(self, corpus: EntityCorpus, templates: str | None = None):
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

    def predict(self, documents: Sequence[Document]) -> list[list[list[str]]]:
        """For each document the labels of its sentences."""
        tagger = need("pycrfsuite", "bench").Tagger()
        tagger.open_inmemory(self.content)
        found = iter([tagger.tag(sentence) for sentence in self.crf.tokens(documents)])
        return [[next(found) for _ in document] for document in documents]

    def score(self, documents: Sequence[Document]) -> float:
        return scored("dev", documents, self.predict(documents))["dev"]
