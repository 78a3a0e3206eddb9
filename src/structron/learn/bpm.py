"""BPM initialisation (Kazama & Torisawa 2007, section 4.3): training starts from the mean of several one-pass runs.

What a perceptron learns first depends on the order of its examples; the mean of the weights after one pass over
differently shuffled examples depends on it less (Herbrich & Graepel's Bayes point machines).
"""

import numpy as np

from structron.learn.chain import ChainLearner
from structron.model.chain import fixed_rows


def bpm_start(learner: ChainLearner, runs: int, seed: int) -> None:
    """Give a learner that has seen nothing the mean of the weights after so many runs."""
    for run in range(runs):
        member = learner.twin()
        sequence = np.random.default_rng([seed, 0, run]).permutation(member.examples)
        member.begin_pass()
        place = 0
        while place < len(sequence):
            place = member.learn(sequence, place)
        add_weights(learner, member, 1 / runs)


def add_weights(learner: ChainLearner, member: ChainLearner, share: float) -> None:
    """learner's weights += share * member's; the two number their features alike."""
    fixed = fixed_rows(len(learner.labels), learner.order)
    learner.rows.w[:fixed] += share * member.rows.w[:fixed]
    numbers = np.flatnonzero(member.row_of >= 0)
    fresh = numbers[learner.row_of[numbers] < 0]
    learner.row_of[fresh] = _claim(learner, len(fresh))
    learner.rows.w[learner.row_of[numbers]] += share * member.rows.w[member.row_of[numbers]]
    _add_pairs(learner, member, share)
    learner.add_non_local(member, share)


def _add_pairs(learner: ChainLearner, member: ChainLearner, share: float) -> None:
    numbers = np.flatnonzero(member.block_of >= 0)
    fresh = numbers[learner.block_of[numbers] < 0]
    used = int(learner.rows.size[1])
    more = used + len(fresh) - len(learner.block_rows)
    if more > 0:
        empty = np.full((more + len(learner.block_rows), learner.block_rows.shape[1]), -1, np.int32)
        learner.block_rows = np.concatenate([learner.block_rows, empty])
    learner.block_of[fresh] = np.arange(used, used + len(fresh))
    learner.rows.size[1] += len(fresh)
    theirs = member.block_rows[member.block_of[numbers]]
    block, context = np.nonzero(theirs >= 0)
    ours = learner.block_of[numbers][block]
    missing = learner.block_rows[ours, context] < 0
    learner.block_rows[ours[missing], context[missing]] = _claim(learner, int(missing.sum()))
    rows = learner.block_rows[ours, context]
    learner.rows.w[rows] += share * member.rows.w[theirs[block, context]]


def _claim(learner: ChainLearner, count: int) -> np.ndarray:
    """Numbers of fresh rows."""
    learner.rows.reserve(count)
    first = int(learner.rows.size[0])
    learner.rows.size[0] += count
    return np.arange(first, first + count, dtype=np.int32)
