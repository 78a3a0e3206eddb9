"""The maximum-entropy tagger that Collins (2002), section 2.3, compares with: the same features, trained locally.

    P(y | h) = exp(w · φ(h, y)) / Z(h)        h = the sentence, the position and the two labels before

Training looks at all positions with their gold histories: by generalised iterative scaling, as in the paper, or by
L-BFGS. The weights are rows of an ordinary chain model, searched exactly with the normalisers in place
(search/chain/local.py).
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from structron.experiments.collins2002.features import ORDER, contexts, feature_counts
from structron.experiments.frame import need
from structron.features.names import Names
from structron.kernels.memory import aligned_zeros
from structron.learn.chain import ChainLearner
from structron.model.chain import ChainModel
from structron.search.chain.local import decode_local
from structron.weights.dense import row_stride

TOLERANCE = 1e-9
"""So small that the number of iterations decides, as it does in the paper."""


class LocalModel(ChainModel):
    """A chain model whose scores are normalised at each token, so that a sentence's is a log probability."""

    def _search(self, chains, lo, hi, kind, out, scores, sure, behind):
        decode_local(chains, self.weights, len(self.labels), self.work(chains), out, scores)


class MaxEnt:
    """The training data of a chain learner as one sparse matrix: a row per token, a column per context.

    Features are pairs of a context and a label that were seen `cutoff` times at least, and once.
    """

    def __init__(self, learner: ChainLearner, cutoff: int = 0):
        self.learner, counts = learner, feature_counts(learner)
        ptr, numbers = contexts(learner)
        shape = (len(learner.gold), len(counts))
        self.matrix = need("scipy.sparse", "sklearn").csr_matrix(
            (np.ones(len(numbers), np.float32), numbers, ptr), shape
        )
        self.shape, self.features = counts.shape, np.flatnonzero(counts.ravel() >= max(1, cutoff))
        self.counts = counts.ravel()[self.features].astype(float)

    def train(self, method: str, milestones: Sequence[int]) -> Iterator[tuple[int, LocalModel]]:
        """(iterations, the model after them) for rising numbers of iterations, until nothing is left to gain.

        method: "gis", "lbfgs", or "prior": L-BFGS with a Gaussian prior of variance 1.
        """
        if method == "gis":
            yield from self._scale(milestones)
        else:
            yield from self._descend(1.0 if method == "prior" else math.inf, milestones)

    def _scale(self, milestones: Sequence[int]) -> Iterator[tuple[int, LocalModel]]:
        """w += log(E~ / E) / C, where no token has more than C features with a label. There is no feature that fills up
        to C: scaling converges without it (Curran & Clark 2003)."""
        w, ones = np.zeros(len(self.features)), np.ones(len(self.features))
        most = float((self.matrix @ self._dense(ones)).max())
        for iteration in range(1, max(milestones) + 1):
            w += np.log(self.counts / self._expected(w)[1]) / most
            if iteration in milestones:
                yield iteration, self._model(w)

    def _descend(self, variance: float, milestones: Sequence[int]) -> Iterator[tuple[int, LocalModel]]:
        kept: dict[int, np.ndarray] = {}
        iterations = 0

        def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
            loss, expected = self._expected(w)
            return loss + float(w @ w) / (2 * variance), expected - self.counts + w / variance

        def note(w: np.ndarray) -> None:
            nonlocal iterations
            iterations += 1
            if iterations in milestones:
                kept[iterations] = w.copy()

        limits: dict[str, Any] = {"maxiter": max(milestones), "maxfun": 2 * max(milestones), "ftol": TOLERANCE}
        start = np.zeros(len(self.features))
        minimize = need("scipy.optimize", "sklearn").minimize
        found = minimize(objective, start, jac=True, method="L-BFGS-B", callback=note, options=limits)
        kept[int(found.nit)] = found.x
        for number, w in kept.items():
            yield number, self._model(w)

    def _dense(self, w: np.ndarray) -> np.ndarray:
        dense = np.zeros(self.shape, np.float32)
        dense.reshape(-1)[self.features] = w
        return dense

    def _expected(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """-log P of the training labels, and how often the model expects each feature."""
        gold = self.learner.gold
        p = self.matrix @ self._dense(w)
        p -= p.max(axis=1, keepdims=True)
        own = p[np.arange(len(gold)), gold]
        np.exp(p, out=p)
        total = p.sum(axis=1, keepdims=True)
        p /= total
        loss = np.log(total).sum(dtype=float) - own.sum(dtype=float)
        return float(loss), (self.matrix.T @ p).reshape(-1)[self.features].astype(float)

    def _model(self, w: np.ndarray) -> LocalModel:
        """Weights as a chain model without constraints."""
        learner, count = self.learner, len(self.learner.labels)
        rows = aligned_zeros((self.shape[0], row_stride(count)), np.float32)
        rows[:, :count] = self._dense(w)
        allowed = np.ones((count + 1, count), bool)
        no_keys, no_rows, no_names = np.empty(0, np.uint64), np.empty((0, count + 1), np.int32), Names.of([])
        blocks = (no_keys, no_rows, allowed, learner.chain.dictionary, no_names, no_names)
        return LocalModel(learner.labels, ORDER, rows, learner.plain.keys, *blocks)
