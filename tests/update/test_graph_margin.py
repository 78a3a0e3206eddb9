"""Margins of trees against all trees there are; ALMA against eq. (3) of Daumé & Marcu (2005) on whole vectors."""

import math

import numpy as np
import pytest

from brute_trees import trees
from structron.kernels.jit import entry
from structron.update.alma import GENERATION, NORM, SCALE, TOTAL, lowering, make_alma
from structron.update.delta import make_delta, put
from structron.update.trees import take_step
from structron.weights.hashed import mean_vector
from tree_updates import bounds, features, learn_pass, make_learner, ranking_features

KINDS = {
    "arcs": {"order": 1, "keep_heads": 0, "labelled": False},
    "crossing": {"order": 1, "keep_heads": 0, "labelled": False, "projective": False},
    "grandparents": {"keep_heads": 0, "labelled": False},
    "ranked": {"order": 1, "keep_heads": 2, "labelled": False},
    "labelled": {"keep_heads": 2},
}
EXACT = ["arcs", "crossing", "grandparents"]
"""Every tree is looked at, and nothing is chosen afterwards."""


def gold_of(learner, e):
    start, n = bounds(learner, e)
    return learner.trees.heads[start : start + n], learner.trees.relations[start : start + n]


def found_of(learner, e):
    start, n = bounds(learner, e)
    return learner.found[start : start + n], learner.named[start : start + n], learner.ranked[start : start + n]


def project(vector):
    return vector / max(1.0, float(np.linalg.norm(vector)))


@pytest.mark.parametrize("alpha", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_those_of_the_whole_vector(kind, alpha):
    """After every example w = ℘(w + √2·k^(-1/2)·℘(Δ)), and in the end the mean; cells that features share included.

    Wrong trees are found with a cost of (1 - α)/α·k^(-1/2) for every wrong word.
    """
    learner = make_learner(alma=alpha, **KINDS[kind])
    w, k, seen = np.zeros(len(learner.store.w)), 1, []
    for _ in range(4):
        for e in range(learner.examples):
            low = (1 - alpha) / alpha / math.sqrt(k)
            learner.learn_from(np.arange(learner.examples), e, e + 1)
            (y, relation), (z, named, ranked) = gold_of(learner, e), found_of(learner, e)
            wrong, lost = int(((y != z) | (relation != named)).sum()), 0
            delta = features(learner, e, y, relation) - features(learner, e, z, named)
            if kind in EXACT:
                assert w @ delta - low * wrong == pytest.approx(least_lead(learner, e, w, low), abs=1e-4)
            if learner.setting.keep:
                lost = int((y != ranked).sum())
                rank = ranking_features(learner, e, y) - ranking_features(learner, e, ranked)
                assert w @ rank <= low * lost + 1e-4
                delta += rank
            if wrong + lost:
                w = project(w + math.sqrt(2 / k) * project(delta))
                k += 1
            assert np.abs(learner.pace[SCALE] * learner.store.w - w).max() < 1e-5
            seen.append(w)
    assert learner.pace[GENERATION] == k > 5
    assert learner.pace[SCALE] * math.sqrt(learner.pace[NORM]) == pytest.approx(float(np.linalg.norm(w)), abs=1e-5)
    assert np.abs(mean_vector([learner.present()], 0.0) - np.mean(seen, axis=0)).max() < 1e-5


def least_lead(learner, e, w, cost):
    """By how much the gold tree is ahead of the tree nearest to it, or ahead of it, with a cost for wrong heads."""
    y, n = gold_of(learner, e)[0], bounds(learner, e)[1]
    own = w @ features(learner, e, y)
    every = trees(n, learner.setting.projective, learner.setting.single_root)
    return min(own - w @ features(learner, e, t) - cost * int((t != y).sum()) for t in every)


@pytest.mark.parametrize("kind", EXACT)
def test_every_other_tree_loses_by_the_margin(kind):
    """Separable data: once there are no more updates, a tree with k wrong heads is behind by k·C; the perceptron's
    need not be."""
    for margin, holds in ((400.0, True), (None, False)):
        learner = make_learner(margin=margin, **KINDS[kind])
        assert any(learn_pass(learner) == 0 for _ in range(200))
        leads = [least_lead(learner, e, learner.store.w.astype(np.float64), 400.0) for e in range(learner.examples)]
        assert all(lead > -1e-3 for lead in leads) is holds


@pytest.mark.parametrize("kind", EXACT)
def test_the_margin_of_alma(kind):
    """The same for what ALMA asks for after its last update, which shrinks with their number."""
    learner = make_learner(alma=0.8, **KINDS[kind])
    assert any(learn_pass(learner) == 0 for _ in range(500))
    cost = 0.25 / math.sqrt(learner.pace[GENERATION])
    w = learner.pace[SCALE] * learner.store.w.astype(np.float64)
    assert np.linalg.norm(w) <= 1 + 1e-5
    assert all(least_lead(learner, e, w, cost) > -1e-5 for e in range(learner.examples))


def test_a_margin_of_nothing_is_the_perceptron():
    plain, none = make_learner(), make_learner(margin=0.0)
    for learner in (plain, none):
        learn_pass(learner)
    assert plain.store.w.any()
    assert np.array_equal(plain.store.w, none.store.w)
    assert np.array_equal(plain.store.u, none.store.u)


def test_a_step_by_hand():
    """Cells that were put several times add up: Δ = (3, -4), w = (0.6, 0), α = 0.5; see test_alma.py.

    Before it were examples whose scales sum to 2: u counts from there.
    """
    alma, delta = make_alma(0.5), make_delta(16)
    alma[NORM], alma[TOTAL] = 0.36, 2.0
    w, u = np.zeros(8, np.float32), np.zeros(8)
    w[2] = 0.6
    for cell, amount in ((2, 1.0), (5, -4.0), (2, 1.0), (7, 1.0), (2, 1.0), (7, -1.0)):
        entry(put)(delta, np.uint64(cell + 1), np.int64(0), amount)
    entry(take_step)(delta, w, u, alma)
    assert alma[SCALE] * w[[2, 5, 7]] == pytest.approx([0.7881, -0.6155, 0.0], abs=1e-4)
    assert u[[2, 5, 7]] == pytest.approx(2 * math.sqrt(2) * np.array([0.6, -0.8, 0.0]))
    assert alma[GENERATION] == 2
    assert entry(lowering)(alma) * alma[SCALE] == pytest.approx(math.sqrt(0.5))
