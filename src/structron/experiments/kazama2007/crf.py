"""Kazama & Torisawa (2007): the local features as matrices, and the conditional random field that has them too.

python-crfsuite takes any features of a token and pairs them with its label; with the label before it pairs none. So it
has the node features of Table 1 and bare label bigrams, but no edge features. Its sequences are sentences: with local
features alone documents make no difference to the labels that are best (the same F1 with them, and slower).
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments.frame import need
from structron.experiments.kazama2007 import paper
from structron.experiments.kazama2007.corpora import Corpus, gold_of, templates_of
from structron.features.extract import TemplateExtractor
from structron.features.index import look_up, number_features
from structron.features.templates import load_templates
from structron.kernels.table import build_table
from structron.sentences import Document, regroup, sentences_of


class LocalFeatures:
    """The features of a corpus that are kept: seen twice in its training part. Node features, or edge features.

    A matrix has a row per token and a column per feature.   templates: a preset; by default those of Table 1.
    """

    def __init__(self, corpus: Corpus, edge: bool = False, templates: str | None = None):
        chosen = load_templates(templates_of(corpus.columns) if templates is None else templates)
        self.extractor = TemplateExtractor(corpus.columns, corpus.columns[-1], chosen)
        self.edge = edge
        prepared = self.extractor.prepare(sentences_of(corpus.train))
        found = number_features(prepared.pair_hashes if edge else prepared.hashes, prepared.starts, paper.CUTOFF)
        self.keys, self.table = found.keys, build_table(found.keys)
        self.train = self._matrix(found.ptr, found.numbers)

    def of(self, documents: Sequence[Document]) -> Any:
        """The features of other documents, as far as they are known."""
        prepared = self.extractor.prepare(sentences_of(documents))
        hashes = prepared.pair_hashes if self.edge else prepared.hashes
        return self._matrix(*look_up(self.table, hashes(0, len(prepared.starts) - 1))[:2])

    def _matrix(self, ptr: np.ndarray, numbers: np.ndarray) -> Any:
        sparse = need("scipy.sparse", "bench")
        return sparse.csr_matrix((np.ones(len(numbers), np.float32), numbers, ptr), (len(ptr) - 1, len(self.keys)))


class Crf:
    """L-BFGS training of one corpus, for any weight of the quadratic penalty."""

    def __init__(self, corpus: Corpus, features: LocalFeatures | None = None):
        self.features = features or LocalFeatures(corpus)
        self.names = np.array([f"{number:x}" for number in range(len(self.features.keys))], object)
        self.trainer = need("pycrfsuite", "bench").Trainer(algorithm="lbfgs", verbose=False)
        for tokens, labels in zip(self.tokens(self.features.train, corpus.train), gold_of(corpus.train), strict=True):
            self.trainer.append(tokens, labels)

    def tokens(self, matrix: Any, documents: Sequence[Document]) -> list[list[list[str]]]:
        """For each sentence its tokens as lists of features."""
        flat = self.names[matrix.indices].tolist()
        tokens = [flat[lo:hi] for lo, hi in pairwise(matrix.indptr.tolist())]
        ends = np.cumsum([0, *map(len, sentences_of(documents))]).tolist()
        return [tokens[lo:hi] for lo, hi in pairwise(ends)]

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
        tokens = self.crf.tokens(self.crf.features.of(documents), documents)
        return regroup(documents, [tagger.tag(sentence) for sentence in tokens])
