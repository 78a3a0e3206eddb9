"""The maximum-entropy tagger that Collins (2002), section 2.3, compares with: the same features, trained locally.

    P(y | h) = exp(w · φ(h, y)) / Z(h)        h = the sentence, the position and the two labels before

Training is a multinomial logistic regression over all positions with their gold histories, by scikit-learn; its weights
are rows of an ordinary chain model, searched exactly with the normalisers in place (search/local.py).
"""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from structron.experiments.frame import need
from structron.features.names import Names
from structron.kernels.table import aligned_zeros
from structron.learn.chain import ChainLearner
from structron.model.chain import ChainModel, fixed_rows
from structron.search.chain.local import decode_local
from structron.weights.dense import row_stride

ORDER = 2
TOLERANCE = 1e-8
"""So small that the number of iterations decides, as it does in the paper."""


class LocalModel(ChainModel):
    """A chain model whose scores are normalised at each token, so that a sentence's is a log probability."""

    def _search(self, chains, lo, hi, kind, out, scores, sure):
        decode_local(chains, self.weights, len(self.labels), self.work(chains), out, scores)


class MaxEnt:
    """The training data of a chain learner as one sparse matrix: a row per token, a column per row of weights."""

    def __init__(self, learner: ChainLearner):
        sparse = need("scipy.sparse", "sklearn")
        self.learner, numbered = learner, learner.plain
        fixed = fixed_rows(len(learner.labels), ORDER)
        history = np.stack(history_rows(learner.gold, learner.prepared.starts, len(learner.labels)), 1)
        ptr = numbered.ptr + 2 * np.arange(len(numbered.ptr))
        columns = np.insert(numbered.numbers + fixed, np.repeat(numbered.ptr[:-1], 2), history.ravel())
        shape = (len(learner.gold), fixed + len(numbered.keys))
        self.matrix = sparse.csr_matrix((np.ones(len(columns)), columns.astype(np.int32), ptr), shape)

    def train(self, prior: float, milestones: Sequence[int]) -> Iterator[tuple[int, LocalModel]]:
        """(iterations, the model after them) for rising numbers of L-BFGS iterations, each going on from the last.

        prior: scikit-learn's C, the variance of a Gaussian prior; infinite for maximum likelihood.
        """
        linear = need("sklearn.linear_model", "sklearn")
        limits = need("threadpoolctl", "sklearn").threadpool_limits
        logistic = linear.LogisticRegression(C=prior, tol=TOLERANCE, fit_intercept=False, warm_start=True)
        done = 0
        for milestone in milestones:
            logistic.set_params(max_iter=milestone - done)
            with warnings.catch_warnings(), limits(1):
                warnings.simplefilter("ignore", need("sklearn.exceptions", "sklearn").ConvergenceWarning)
                logistic.fit(self.matrix, self.learner.gold)
            iterations = int(logistic.n_iter_[0])
            yield done + iterations, self._model(logistic.coef_)
            if iterations < milestone - done:
                return
            done = milestone

    def _model(self, coefficients: np.ndarray) -> LocalModel:
        """Weights as a chain model without constraints; of two labels scikit-learn gives the second's weights only."""
        learner, count = self.learner, len(self.learner.labels)
        w = aligned_zeros((coefficients.shape[1], row_stride(count)), np.float32)
        w[:, count - len(coefficients) : count] = coefficients.T
        allowed = np.ones((count + 1, count), bool)
        no_keys, no_rows, no_names = np.empty(0, np.uint64), np.empty((0, count + 1), np.int32), Names.of([])
        blocks = (no_keys, no_rows, allowed, learner.chain.dictionary, no_names, no_names)
        return LocalModel(learner.labels, ORDER, w, learner.plain.keys, *blocks)


def history_rows(gold: np.ndarray, starts: np.ndarray, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of T1 and T2 that the labels before each token choose; 0 stands for the start of the sentence."""
    place = np.arange(len(gold)) - np.repeat(starts[:-1], np.diff(starts))
    before = np.where(place > 0, np.roll(gold, 1) + 1, 0)
    before2 = np.where(place > 1, np.roll(gold, 2) + 1, 0)
    contexts = labels + 1
    return before, contexts + before2 * contexts + before
