"""The features of Collins (2002): a context with a label, both as they were seen together in training.

Section 2.2 defines features for pairs seen in training data, and a cut-off of 5 keeps those seen five times or more.
The toolkit cuts off by the context alone, and has a weight for it with every label. The perceptron here and the
maximum-entropy models (maxent.py) have the paper's features only.
"""

from dataclasses import dataclass

import numpy as np

from structron.learn.chain import ChainLearner, Perceptron
from structron.model.chain import fixed_rows
from structron.update.perceptron import UPDATES

ORDER = 2


def history_rows(labels_of: np.ndarray, starts: np.ndarray, labels: int) -> np.ndarray:
    """int[tokens, 2]: the rows of T1 and T2 that the labels before each token choose; 0: before the sentence."""
    place = np.arange(len(labels_of)) - np.repeat(starts[:-1], np.diff(starts))
    before = np.where(place > 0, np.roll(labels_of, 1) + 1, 0)
    before2 = np.where(place > 1, np.roll(labels_of, 2) + 1, 0)
    contexts = labels + 1
    return np.stack([before, contexts + before2 * contexts + before], 1)


def contexts(learner: ChainLearner) -> tuple[np.ndarray, np.ndarray]:
    """(ptr, numbers) of the contexts of every token: the gold histories, then what the templates see.

    Numbered as the rows of a chain model.
    """
    numbered, labels = learner.plain, len(learner.labels)
    history = history_rows(learner.gold, learner.prepared.starts, labels)
    numbers = np.insert(numbered.numbers + fixed_rows(labels, ORDER), np.repeat(numbered.ptr[:-1], 2), history.ravel())
    return numbered.ptr + 2 * np.arange(len(numbered.ptr)), numbers


def feature_counts(learner: ChainLearner) -> np.ndarray:
    """int[contexts, labels]: how often each context has each label in training."""
    labels, (ptr, numbers) = len(learner.labels), contexts(learner)
    rows = fixed_rows(labels, ORDER) + len(learner.plain.keys)
    cells = numbers.astype(np.int64) * labels + np.repeat(learner.gold, np.diff(ptr))
    return np.bincount(cells, minlength=rows * labels).reshape(rows, labels)


def is_seen(learner: ChainLearner, cutoff: int) -> np.ndarray:
    """bool[contexts, labels]: which of them are features."""
    return feature_counts(learner) >= max(1, cutoff)


@dataclass(frozen=True)
class SeenFeatures(Perceptron):
    """Collins' perceptron, in which only features have weights: after an update all others are 0 again."""

    seen: np.ndarray | None = None

    def learn(self, learner: ChainLearner, sequence: np.ndarray, lo: int, hi: int) -> int:
        for place in range(lo, hi):
            before = learner.stats[UPDATES]
            if super().learn(learner, sequence, place, place + 1) == place:
                return place
            if learner.stats[UPDATES] > before:
                self._forget(learner, int(sequence[place]))
        return hi

    def _forget(self, learner: ChainLearner, sentence: int) -> None:
        assert self.seen is not None
        numbered, store, labels = learner.plain, learner.store, len(learner.labels)
        start, stop = learner.prepared.starts[sentence : sentence + 2].tolist()
        y, z = learner.gold[start:stop], learner.found[: stop - start]
        wrong = (start + np.flatnonzero(y != z)).tolist()
        numbers = np.concatenate([numbered.numbers[numbered.ptr[t] : numbered.ptr[t + 1]] for t in wrong])
        whole = np.array([0, len(y)])
        histories = np.concatenate([history_rows(path, whole, labels).ravel() for path in (y, z)])
        rows = np.concatenate([histories, store.row_of[numbers]])
        unseen = ~self.seen[np.concatenate([histories, numbers + store.fixed])]
        for weights in (store.w, store.u):
            touched = weights[rows, :labels]
            touched[unseen] = 0
            weights[rows, :labels] = touched
