"""A conditional random field with edge features, for a part of a corpus: those of the perceptrons (Table 1), which
python-crfsuite cannot have.

    score(x, y) = Σ node(x, t)·w[y_t] + Σ edge(x, t)·v[y_t-1, y_t] + Σ u[y_t-1, y_t]

Features that were seen twice stand with every label, and with every pair of labels. Sentences of similar length are
gone through together, as arrays; L-BFGS finds the weights, with a Gaussian prior.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from structron.experiments.frame import need
from structron.experiments.frame.padded import Group, groups_of
from structron.experiments.kazama2007.corpora import EntityCorpus, gold_of, templates_of
from structron.experiments.kazama2007.models import CUTOFF
from structron.features.extract import TemplateExtractor
from structron.features.index import look_up, number_features
from structron.features.templates import parse_templates
from structron.kernels.table import build_table
from structron.text.sentences import sentences_of

TOGETHER = 4000
"""Words of the sentences that are gone through together, padding included."""
REMEMBERED = 3
"""Steps that L-BFGS remembers: every one is two vectors of all weights."""
PAIR = "&y"


class CorpusFeatures:
    """Some templates over a corpus: which features there are, and where they fire."""

    def __init__(self, corpus: EntityCorpus, templates: Sequence[str]):
        self.extractor = TemplateExtractor(corpus.columns, corpus.columns[-1], parse_templates(templates))
        prepared = self.extractor.prepare(sentences_of(corpus.train))
        keys = number_features(prepared.hashes, prepared.starts, CUTOFF).keys
        self.table, self.size = build_table(keys), len(keys)

    def matrix(self, rows: Sequence[Any]) -> Any:
        """A row per token, a column per feature."""
        prepared = self.extractor.prepare(rows)
        ptr, numbers, _ = look_up(self.table, prepared.hashes(0, len(prepared.starts) - 1))
        shape = (len(ptr) - 1, self.size)
        return need("scipy.sparse", "sklearn").csr_matrix((np.ones(len(numbers)), numbers, ptr), shape)


class EdgeCrf:
    """The likelihood of a corpus. Weights are one vector: w, v, u; of u the first row is for the first word."""

    def __init__(self, corpus: EntityCorpus):
        templates = templates_of(corpus.columns)
        self.nodes = CorpusFeatures(corpus, [text for text in templates if not text.endswith(PAIR)])
        self.edges = CorpusFeatures(corpus, [text.removesuffix(PAIR) for text in templates if text.endswith(PAIR)])
        self.labels = corpus.labels()
        y, rows = len(self.labels), sentences_of(corpus.train)
        self.shapes = [(self.nodes.size, y), (self.edges.size, y * y), (y + 1, y)]
        self.size = sum(a * b for a, b in self.shapes)
        self.matrices, self.starts = (self.nodes.matrix(rows), self.edges.matrix(rows)), starts_of(rows)
        number = {label: k for k, label in enumerate(self.labels)}
        self.gold = np.array([number[label] for labels in gold_of(corpus.train) for label in labels], np.int64)
        self.observed = self._observed()

    def split(self, w: np.ndarray) -> list[np.ndarray]:
        """The parts of a vector of weights."""
        ends = np.cumsum([0, *(a * b for a, b in self.shapes)])
        return [w[a:b].reshape(shape) for a, b, shape in zip(ends[:-1], ends[1:], self.shapes, strict=True)]

    def _observed(self) -> np.ndarray:
        """Φ of the training data."""
        y, gold, first = len(self.labels), self.gold, np.zeros(len(self.gold), bool)
        first[self.starts[:-1][np.diff(self.starts) > 0]] = True
        before = np.where(first, -1, np.roll(gold, 1))
        node, edge, gradient = np.eye(y)[gold], np.eye(y * y)[np.maximum(before, 0) * y + gold], np.zeros(self.size)
        own, pairs, bare = self.split(gradient)
        own[:], pairs[:] = self.matrices[0].T @ node, self.matrices[1].T @ (edge * ~first[:, None])
        np.add.at(bare, (before + 1, gold), 1)
        return gradient

    def scores(self, w: np.ndarray, matrices: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of all tokens: float[tokens, labels], float[tokens, labels before, labels], and of first words."""
        own, pairs, bare = self.split(w)
        y = len(self.labels)
        return matrices[0] @ own, (matrices[1] @ pairs).reshape(-1, y, y) + bare[1:], bare[0]

    def likelihood(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """log p of the training data, and its gradient."""
        node, edge, first = self.scores(w, self.matrices)
        node_share, edge_share, gradient, total = np.zeros_like(node), np.zeros_like(edge), np.zeros(self.size), 0.0
        own, pairs, bare = self.split(gradient)
        for group in groups_of(self.starts, TOGETHER):
            logs, nodes, edges = forward_backward(node[group.tokens], edge[group.tokens], first, group)
            total -= float(logs.sum())
            known = group.tokens[group.known]
            node_share[known], edge_share[known] = nodes[group.known], edges[group.known]
            bare[0] += nodes[:, 0].sum(axis=0)
            bare[1:] += edges.sum(axis=(0, 1))
        own[:] = self.matrices[0].T @ node_share
        pairs[:] = self.matrices[1].T @ edge_share.reshape(len(edge), -1)
        return total + float(self.observed @ w), self.observed - gradient

    def train(self, variance: float, iterations: int) -> "EdgeCrfModel":
        """The weights of the highest posterior."""

        def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.likelihood(w)
            return float(w @ w) / (2 * variance) - value, w / variance - gradient

        limits = {"maxiter": iterations, "maxcor": REMEMBERED}
        minimize = need("scipy.optimize", "sklearn").minimize
        found = minimize(objective, np.zeros(self.size), jac=True, method="L-BFGS-B", options=limits)
        return EdgeCrfModel(self, found.x, int(found.nit))


class EdgeCrfModel:
    """What was learned, with the same way in and out as our own models."""

    def __init__(self, crf: EdgeCrf, w: np.ndarray, iterations: int = 0):
        self.crf, self.w, self.iterations = crf, w, iterations

    def predict(self, documents: Sequence[Any]) -> list[list[list[str]]]:
        """For each document the labels of its sentences."""
        rows, crf = sentences_of(documents), self.crf
        node, edge, first = crf.scores(self.w, (crf.nodes.matrix(rows), crf.edges.matrix(rows)))
        starts, out = starts_of(rows), np.zeros(len(node), np.int64)
        for group in groups_of(starts, TOGETHER):
            found = best_labels(node[group.tokens], edge[group.tokens], first, group)
            out[group.tokens[group.known]] = found[group.known]
        labels = [crf.labels[k] for k in out.tolist()]
        lines = iter([labels[a:b] for a, b in pairwise(starts.tolist())])
        return [[next(lines) for _ in document] for document in documents]


def starts_of(rows: Sequence[Any]) -> np.ndarray:
    return np.cumsum([0, *map(len, rows)]).astype(np.int64)


def forward_backward(
    node: np.ndarray, edge: np.ndarray, first: np.ndarray, group: Group
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log Z of every sentence, and the probabilities of labels, float[B, words, labels], and of pairs, 0 at the first
    word. Scores are those of the words of a group."""
    ahead, rest = np.zeros_like(node), np.zeros_like(node)
    ahead[:, 0] = node[:, 0] + first
    for t in range(1, group.words):
        ahead[:, t] = node[:, t] + log_sum(ahead[:, t - 1, :, None] + edge[:, t], 1)
    logs = log_sum(ahead[group.last()], 1)
    for t in range(group.words - 1, 0, -1):
        more = log_sum(edge[:, t] + (node[:, t] + rest[:, t])[:, None, :], 2)
        rest[:, t - 1] = np.where((t < group.lengths)[:, None], more, 0.0)
    known = group.known[..., None]
    nodes = np.where(known, np.exp(np.minimum(ahead + rest - logs[:, None, None], 0.0)), 0.0)
    pairs = np.zeros_like(edge)
    into = ahead[:, :-1, :, None] + edge[:, 1:] + (node + rest)[:, 1:, None, :] - logs[:, None, None, None]
    pairs[:, 1:] = np.where(known[:, 1:, None], np.exp(np.minimum(into, 0.0)), 0.0)
    return logs, nodes, pairs


def log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    most = values.max(axis=axis, keepdims=True)
    return np.log(np.exp(values - most).sum(axis=axis)) + most.squeeze(axis)


def best_labels(node: np.ndarray, edge: np.ndarray, first: np.ndarray, group: Group) -> np.ndarray:
    """int[B, words]: Viterbi's."""
    best, back = node[:, 0] + first, np.zeros(node.shape, np.int64)
    ends = np.where((group.lengths == 1)[:, None], best, 0.0)
    for t in range(1, group.words):
        ways = best[:, :, None] + edge[:, t]
        back[:, t] = ways.argmax(axis=1)
        best = ways.max(axis=1) + node[:, t]
        ends = np.where((group.lengths == t + 1)[:, None], best, ends)
    found, label = np.zeros(group.tokens.shape, np.int64), ends.argmax(axis=1)
    for t in range(group.words - 1, -1, -1):
        found[:, t] = label
        label = np.where(t < group.lengths, np.take_along_axis(back[:, t], label[:, None], 1)[:, 0], label)
    return found
