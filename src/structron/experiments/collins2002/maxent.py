"""The maximum-entropy tagger that Collins (2002), section 2.3, compares with: the same features, trained locally.

    P(y | h) = exp(w · φ(h, y)) / Z(h)        h = the sentence, the position and the two labels before

Training is a multinomial logistic regression over all positions with their gold histories, by scikit-learn; its weights
are rows of an ordinary chain model, searched exactly with the normalisers in place (search/local.py).
"""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from structron.experiments.frame import need
from structron.features.extract import PreparedTemplates
from structron.features.index import number_features
from structron.features.names import Names
from structron.kernels.table import aligned_zeros
from structron.model.chain import ChainModel, fixed_rows
from structron.search.chain.local import decode_local
from structron.sentences import spell
from structron.tasks.chain.constraints import make_dictionary
from structron.threads import stretches
from structron.weights.dense import row_stride

ORDER = 2
TOLERANCE = 1e-8
"""So small that the number of iterations decides, as it does in the paper."""


class MaxEnt:
    """Training data as one sparse matrix: a row per token, a column per row of a chain model's weights."""

    def __init__(self, prepared: PreparedTemplates, cutoff: int = 0):
        sparse = need("scipy.sparse", "sklearn")
        self.labels = sorted(prepared.label_types)
        index = {label: y for y, label in enumerate(self.labels)}
        self.gold = np.array([index[label] for label in prepared.label_types], np.int64)[prepared.label_ids]
        self.dictionary = make_dictionary(prepared, self.gold, len(self.labels), 0)
        numbered = number_features(prepared.hashes, prepared.starts, cutoff)
        self.keys = numbered.keys
        fixed = fixed_rows(len(self.labels), ORDER)
        before, pair = history_rows(self.gold, prepared.starts, len(self.labels))
        ptr = numbered.ptr + 2 * np.arange(len(numbered.ptr))
        columns = np.insert(
            numbered.numbers + fixed, np.repeat(numbered.ptr[:-1], 2), np.stack([before, pair], 1).ravel()
        )
        shape = (len(self.gold), fixed + len(self.keys))
        self.matrix = sparse.csr_matrix((np.ones(len(columns)), columns.astype(np.int32), ptr), shape)

    def train(self, prior: float, milestones: Sequence[int]) -> Iterator[tuple[int, ChainModel]]:
        """(iterations, the model after them) for rising numbers of L-BFGS iterations, each going on from the last.

        prior: scikit-learn's C, the variance of a Gaussian prior; infinite for maximum likelihood.
        """
        linear = need("sklearn.linear_model", "sklearn")
        limits = need("threadpoolctl", "sklearn").threadpool_limits
        learner = linear.LogisticRegression(C=prior, tol=TOLERANCE, fit_intercept=False, warm_start=True)
        done = 0
        for milestone in milestones:
            learner.set_params(max_iter=milestone - done)
            with warnings.catch_warnings(), limits(1):
                warnings.simplefilter("ignore", need("sklearn.exceptions", "sklearn").ConvergenceWarning)
                learner.fit(self.matrix, self.gold)
            iterations = int(learner.n_iter_[0])
            yield done + iterations, self._model(learner.coef_)
            if iterations < milestone - done:
                return
            done = milestone

    def _model(self, coefficients: np.ndarray) -> ChainModel:
        """Weights as a chain model without constraints; of two labels scikit-learn gives the second's weights only."""
        count = len(self.labels)
        w = aligned_zeros((coefficients.shape[1], row_stride(count)), np.float32)
        w[:, count - len(coefficients) : count] = coefficients.T
        allowed = np.ones((count + 1, count), bool)
        no_keys, no_rows, no_names = np.empty(0, np.uint64), np.empty((0, count + 1), np.int32), Names.of([])
        blocks = (no_keys, no_rows, allowed, self.dictionary, no_names, no_names)
        return ChainModel(self.labels, ORDER, w, self.keys, *blocks)


def history_rows(gold: np.ndarray, starts: np.ndarray, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of T1 and T2 that the labels before each token choose; 0 stands for the start of the sentence."""
    place = np.arange(len(gold)) - np.repeat(starts[:-1], np.diff(starts))
    before = np.where(place > 0, np.roll(gold, 1) + 1, 0)
    before2 = np.where(place > 1, np.roll(gold, 2) + 1, 0)
    contexts = labels + 1
    return before, contexts + before2 * contexts + before


def decode(model: ChainModel, prepared: PreparedTemplates) -> tuple[list[list[str]], np.ndarray]:
    """The most probable labels of each sentence, and their log probabilities."""
    starts = prepared.starts
    out = np.zeros(int(starts[-1]), np.int64)
    scores = np.zeros(len(starts) - 1, np.float32)
    for lo, hi in stretches(starts):
        chains = model.chains(prepared, lo, hi)
        tokens = slice(int(starts[lo]), int(starts[hi]))
        decode_local(chains, model.weights, len(model.labels), model.work(chains), out[tokens], scores[lo:hi])
    return spell(out, model.labels, starts), scores
