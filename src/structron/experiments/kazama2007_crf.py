"""Kazama & Torisawa (2007): the local features as numbers, and the conditional random field that has them too.

python-crfsuite takes any features of a token and pairs them with its label; with the label before it pairs none. So it
has the node features of Table 1 and bare label bigrams, but no edge features. Its sequences are sentences: with local
features alone documents make no difference to the labels that are best (the same F1 with them, and slower).
"""

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structron.experiments.common import need
from structron.experiments.kazama2007_data import Corpus, gold_of, templates_of
from structron.experiments.kazama2007_paper import CUTOFF
from structron.features.extract import TemplateExtractor
from structron.features.index import look_up, number_features
from structron.features.templates import load_templates
from structron.kernels.table import build_table
from structron.sentences import Document, regroup, sentences_of


class Numbers(NamedTuple):
    """The features of token i of all documents: numbers[ptr[i]] … numbers[ptr[i + 1] - 1]."""

    ptr: np.ndarray
    numbers: np.ndarray


class LocalFeatures:
    """The features of a corpus that are kept: seen twice in its training part. Node features, or edge features."""

    def __init__(self, corpus: Corpus, edge: bool = False, templates: str | None = None):
        """templates: a preset's name; by default those of Table 1."""
        columns = corpus.columns
        chosen = load_templates(templates_of(columns) if templates is None else templates)
        self.extractor = TemplateExtractor(columns, columns[-1], chosen)
        self.edge = edge
        prepared = self.extractor.prepare(sentences_of(corpus.train))
        hashes = prepared.pair_hashes if edge else prepared.hashes
        found = number_features(hashes, prepared.starts, CUTOFF)
        self.train, self.keys = Numbers(found.ptr, found.numbers), found.keys
        self.table = build_table(self.keys)

    def of(self, documents: Sequence[Document]) -> Numbers:
        """The features of other documents, as far as they are known."""
        prepared = self.extractor.prepare(sentences_of(documents))
        hashes = prepared.pair_hashes if self.edge else prepared.hashes
        ptr, numbers, _ = look_up(self.table, hashes(0, len(prepared.starts) - 1))
        return Numbers(ptr, numbers)


class Crf:
    """L-BFGS training of one corpus, for any weight of the quadratic penalty."""

    def __init__(self, corpus: Corpus, features: LocalFeatures | None = None):
        self.features = features or LocalFeatures(corpus)
        self.names = np.array([f"{number:x}" for number in range(len(self.features.keys))], object)
        self.trainer = need("pycrfsuite", "bench").Trainer(algorithm="lbfgs", verbose=False)
        for tokens, labels in zip(self._tokens(self.features.train, corpus.train), gold_of(corpus.train), strict=True):
            self.trainer.append(tokens, labels)

    def _tokens(self, numbers: Numbers, documents: Sequence[Document]) -> list[list[list[str]]]:
        """For each sentence its tokens as lists of features."""
        flat, ptr = self.names[numbers.numbers].tolist(), numbers.ptr.tolist()
        tokens = [flat[lo:hi] for lo, hi in pairwise(ptr)]
        ends = np.cumsum([0, *map(len, sentences_of(documents))]).tolist()
        return [tokens[lo:hi] for lo, hi in pairwise(ends)]

    def train(self, c2: float, iterations: int) -> "CrfModel":
        self.trainer.set_params({"c2": c2, "max_iterations": iterations})
        with tempfile.TemporaryDirectory(prefix="structron-crf-") as folder:
            path = Path(folder) / "model.crfsuite"
            self.trainer.train(str(path))
            return CrfModel(self, path.read_bytes(), len(self.trainer.logparser.iterations))


class CrfModel:
    """What python-crfsuite learned, with the same way in and out as our own models."""

    def __init__(self, crf: Crf, content: bytes, iterations: int):
        self.crf, self.content, self.iterations = crf, content, iterations
        self.tagger = need("pycrfsuite", "bench").Tagger()
        self.tagger.open_inmemory(content)

    def predict(self, documents: Sequence[Document]) -> list[list[list[str]]]:
        """For each document the labels of its sentences."""
        numbers = self.crf.features.of(documents)
        return regroup(documents, [self.tagger.tag(tokens) for tokens in self.crf._tokens(numbers, documents)])
