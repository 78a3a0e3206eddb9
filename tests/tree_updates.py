"""Feature vectors of trees as whole arrays: what updates of the graph-based parser are compared with."""

import numpy as np

from graphs import add_features
from structron import GraphParser
from structron.kernels.jit import entry
from structron.learn.graph import GraphLearner
from structron.search.graph.features import sentence_codes
from structron.update.trees import make_sums, touch_rank
from structron.weights.hashed import shift_of

SENTENCES = [
    [("the", "DT", "2", "det"), ("dog", "NN", "3", "subj"), ("barks", "VB", "0", "root")],
    [("she", "PR", "2", "subj"), ("saw", "VB", "0", "root"), ("cats", "NN", "2", "obj"), ("today", "RB", "2", "mod")],
    [("saw", "NN", "2", "mod"), ("teeth", "NN", "3", "subj"), ("bite", "VB", "0", "root")],
    [("go", "VB", "0", "root"), ("home", "RB", "1", "mod")],
    [("old", "JJ", "3", "mod"), ("saw", "NN", "1", "mod"), ("she", "PR", "0", "root"), ("dog", "VB", "3", "obj")],
]
"""Short enough to look at all trees; the last makes the others harder."""


def make_learner(**options) -> GraphLearner:
    """The learner of a parser with such options."""
    parser = GraphParser(**{"bits": 14, "runs": 1} | options)
    return parser._learner(SENTENCES, None)


def learn_pass(learner: GraphLearner) -> int:
    """Every sentence once, in order; returns the updates."""
    learner.begin_pass()
    learner.learn(np.arange(learner.examples), 0)
    return learner.counts()["updates"]


def bounds(learner: GraphLearner, e: int) -> tuple[int, int]:
    """The first word of a sentence, and how many there are."""
    start, stop = learner.trees.starts[e : e + 2].tolist()
    return start, stop - start


def features(learner: GraphLearner, e: int, heads, relations=None) -> np.ndarray:
    """Φ(x, tree), every feature of the tree counted; float64[cells]."""
    start, n = bounds(learner, e)
    counts, u = np.zeros_like(learner.store.w), np.zeros_like(learner.store.u)
    sentence = sentence_codes(learner.templates, learner.trees.x, start, n, counts, shift_of(learner.bits))
    own = np.zeros(n, np.int64) if relations is None else relations
    add_features(sentence, u, n, learner.setting, learner.relations, heads, own)
    return counts.astype(np.float64)


def ranking_features(learner: GraphLearner, e: int, heads) -> np.ndarray:
    """The same in the fast model."""
    start, n = bounds(learner, e)
    counts, u = np.zeros_like(learner.store.w), np.zeros_like(learner.store.u)
    sentence = sentence_codes(learner.templates, learner.trees.x, start, n, counts, shift_of(learner.bits))
    for m in range(1, n + 1):
        entry(touch_rank)(sentence, make_sums(u, 1.0, 1.0), int(heads[m - 1]), m, 1.0)
    return counts.astype(np.float64)
