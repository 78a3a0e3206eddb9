"""ALMA against eq. (3) of Daumé & Marcu (2005), computed on whole vectors, and numbers by hand; margins beside it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import (
    CHAIN_1,
    chain_problem,
    corpus_of,
    inputs_of,
    learn_pass,
    learner_of,
    random_corpus,
    training,
    uneven_weights,
)
from separable import confusion_matrix, margin_of, separable
from slow import SlowLearner, assert_learns_alike
from structron.update.alma import GENERATION, NORM, SCALE, SMALL, TOTAL, end_example, fold, lowering, make_alma, step
from structron.update.violation import RULES


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["chain1", "chain2", "parser", "labelled"])
def test_weights_are_those_of_the_whole_vector(name, rule):
    """Step by step for several α and beams: lowered nodes, both projections, the scale, and the mean."""
    rng, (problem, xs, golds) = np.random.default_rng(17), corpus_of(name)
    for alpha, beam, merge in ((0.9, 1, True), (0.5, 3, True), (1.0, 2, False), (0.8, None, True)):
        fast = learner_of(name, beam, rule, merge, alma=alpha)
        slow = SlowLearner(problem, xs, golds, rule, beam or math.inf, merge, alma=(alpha, 1 / alpha, math.sqrt(2)))
        assert_learns_alike(fast, slow, rng, uneven_weights(problem, rng), 2e-6)
        assert fast.pace[GENERATION] == slow.generation
        length = math.sqrt(sum(w * w for w in slow.weights.values()))
        assert fast.pace[SCALE] * math.sqrt(fast.pace[NORM]) == pytest.approx(length, rel=1e-5) or length < 1


def test_a_step_by_hand():
    """α = 0.5, B = 2, C = √2, first update: Δ = (3, -4), w = (0.6, 0).

    ℘(Δ) = (0.6, -0.8); w + √2·℘(Δ) = (0.6 + 0.8485, -1.1314) = (1.4485, -1.1314), of length 1.8380;
    w becomes (0.7881, -0.6155). Good nodes were lowered by 0.5·2 = 1, and are then by 1/√2.
    """
    alma = make_alma(0.5)
    alma[NORM] = 0.36
    assert lowering(alma) == pytest.approx(1.0)
    factor = step(alma, 25.0, 0.6 * 3)
    v = np.array([0.6, 0.0]) + factor * np.array([3.0, -4.0])
    assert alma[SCALE] * v == pytest.approx([0.7881, -0.6155], abs=1e-4)
    assert alma[NORM] == pytest.approx(float(v @ v))
    assert alma[GENERATION] == 2
    assert lowering(alma) * alma[SCALE] == pytest.approx(math.sqrt(0.5))
    end_example(alma)
    assert alma[TOTAL] == alma[SCALE]


@given(st.floats(0.05, 1.0), st.integers(0, 2**32 - 1))
def test_the_scale_and_the_mean_are_exact(alpha, seed):
    """Random updates: scale·v is the vector of eq. (3), and (v·S - u)/T the mean of those after each example; now and
    then the scale is taken into v."""
    rng = np.random.default_rng(seed)
    alma, size = make_alma(alpha), 4
    v, u, w, seen = np.zeros(size), np.zeros(size), np.zeros(size), []
    for k in range(1, 25):
        delta = rng.integers(-3, 4, size) * float(rng.choice([0.1, 1.0]))
        factor = step(alma, float(delta @ delta), float(v @ delta))
        v, u = v + factor * delta, u + factor * delta * alma[TOTAL]
        w = w + math.sqrt(2 / k) * delta / max(1.0, float(np.linalg.norm(delta)))
        w = w / max(1.0, float(np.linalg.norm(w)))
        assert alma[SCALE] * v == pytest.approx(w, abs=1e-9)
        if rng.random() < 0.6:
            end_example(alma)
            seen.append(w)
        if rng.random() < 0.2:
            scale, total = fold(alma)
            v, u = scale * v, u - total * v
    if seen:
        assert (v * alma[TOTAL] - u) / len(seen) == pytest.approx(np.mean(seen, axis=0), abs=1e-9)


@pytest.mark.parametrize("average", ["mean", "none"])
def test_taking_the_scale_into_the_weights_changes_nothing(average):
    problem, rng = chain_problem(3, 6, CHAIN_1), np.random.default_rng(2)
    xs, golds = random_corpus(rng, problem, 12, 4, [6])
    inputs = inputs_of(problem, xs, golds)
    plain, folded = (training(problem, inputs, 3, "laso", average=average, alma=0.9) for _ in range(2))
    for _ in range(4):
        learn_pass(plain, range(12))
        learn_pass(folded, range(12))
        folded._fold()
        assert folded.pace[SCALE] == 1 > plain.pace[SCALE]
        (keys, rows), (own_keys, own_rows) = plain.rows(), folded.rows()
        assert (keys == own_keys).all()
        assert own_rows.weight == pytest.approx(rows.weight, abs=1e-5)


def test_a_small_scale_is_taken_into_the_weights():
    """A learner whose weights are stretched, and its scale as much smaller, finds back and learns what another does."""
    problem, rng = chain_problem(3, 6, CHAIN_1), np.random.default_rng(2)
    xs, golds = random_corpus(rng, problem, 12, 4, [6])
    plain, stretched = (training(problem, inputs_of(problem, xs, golds), 3, "laso", alma=0.9) for _ in range(2))
    for learner in (plain, stretched):
        learn_pass(learner, range(12))
    scale, total = fold(stretched.pace)
    stretched.store.fold(1000 * scale, total)
    stretched.pace[NORM] *= 1000**2
    stretched.pace[SCALE] = 1 / 1000
    for learner in (plain, stretched):
        learn_pass(learner, range(12))
    assert stretched.pace[SCALE] >= SMALL
    assert stretched.rows()[1].weight == pytest.approx(plain.rows()[1].weight, abs=1e-5)


@pytest.mark.parametrize("margin", [None, 0, 500])
def test_without_alma(margin):
    """A perceptron; with a margin it lowers, always by as much."""
    state = make_alma(None, margin)
    assert lowering(state) == (margin or 0)
    assert step(state, 9.0, 1.0) == 1
    end_example(state)
    assert (state[SCALE], state[TOTAL], lowering(state)) == (1, 1, margin or 0)


def test_margins_are_larger():
    """Separable data: after convergence ALMA's good states win by at least as much as it asks for."""
    problem, rng = chain_problem(3, 6, CHAIN_1), np.random.default_rng(2)
    xs, golds = random_corpus(rng, problem, 6, 4, [6])
    for alpha in (0.5, 0.9):
        learner = training(problem, inputs_of(problem, xs, golds), 3, "laso", average="none", alma=alpha)
        for _ in range(3000):
            if not learn_pass(learner, range(6))["updates"]:
                break
        assert learner.counts()["updates"] == 0
        assert learner.pace[GENERATION] > 1


@pytest.mark.parametrize("alpha", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("beam", [1, 2, None])
@pytest.mark.parametrize("name", ["chain", "parser"])
def test_theorem_4_bounds_the_corrections(name, beam, alpha):
    """At most 2/γ²·(2/α - 1)² + 8/α - 4 for B = √8/α, C = √2: γ, as the paper has it, not γ/R.

    The proof is for ℘(Δ), of length 1 at most. So γ is the least u·℘(Φ(y') - Φ(z)), u of length 1, over all correct
    prefixes y' and wrong z as long. A mean Δ of several such differences d has it too: u·Δ ≥ γ·Σ max(1, ‖d‖)/n ≥
    γ·max(1, ‖Δ‖).
    """
    problem, xs, golds = separable(name)
    rows = confusion_matrix(problem, xs, golds, whole=False)
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    gamma = margin_of(rows)
    step = (alpha, math.sqrt(8) / alpha, math.sqrt(2))
    learner = training(problem, inputs_of(problem, xs, golds), beam, "laso", average="none", alma=step, check=True)
    corrections = 0
    while new := learn_pass(learner, range(len(xs)))["updates"]:
        corrections += new
        assert corrections <= 2 / gamma**2 * (2 / alpha - 1) ** 2 + 8 / alpha - 4
    assert corrections > 0
    assert learner.pace[GENERATION] == 1 + corrections
