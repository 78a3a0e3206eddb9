"""Kazama & Torisawa (2007): the conditional random field that the paper compares with.

python-crfsuite takes any features of a token and pairs them with its label; with the label before it pairs none. So it
has the node features of Table 1 and bare label bigrams, but no edge features. Its sequences are sentences: with local
features alone documents make no difference to the labels that are best (the same F1 with them, and slower).
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from structron import Document
from structron.experiments.frame import need
from structron.experiments.kazama2007 import paper
from structron.experiments.kazama2007.corpora import Corpus, gold_of, templates_of
from structron.features.extract import TemplateExtractor
from structron.features.index import look_up, number_features
from structron.features.templates import load_templates
from structron.kernels.table import build_table
from structron.sentences import regroup, sentences_of, split


class Crf:
    """L-BFGS training of one corpus, for any weight of the quadratic penalty, with features seen twice in it.

    templates: a preset; by default those of Table 1.
    """

    def __init__(self, corpus: Corpus, templates: str | None = None):
        chosen = load_templates(templates_of(corpus.columns) if templates is None else templates)
        self.extractor = TemplateExtractor(corpus.columns, corpus.columns[-1], chosen)
        prepared = self.extractor.prepare(sentences_of(corpus.train))
        keys = number_features(prepared.hashes, prepared.starts, paper.CUTOFF).keys
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
        return regroup(documents, [tagger.tag(sentence) for sentence in self.crf.tokens(documents)])
