"""ALMA against eq. (3) of Daumé & Marcu (2005), computed on whole vectors, and against numbers worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import (
    CHAIN_1,
    CHAIN_2,
    begin_with,
    chain_problem,
    inputs_of,
    learn_pass,
    parser_problem,
    random_corpus,
    uneven_weights,
    weights_in,
)
from slow import SlowLearner
from structron import Chunker, Parser, Tagger, load
from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.learn.beam import BeamTraining
from structron.update.alma import GENERATION, NORM, SCALE, TOTAL, end_example, lowering, make_alma, named, step
from structron.update.violation import RULES

PROBLEMS = {
    "chain1": (lambda: chain_problem(3, 4, CHAIN_1), [4]),
    "chain2": (lambda: chain_problem(3, 4, CHAIN_2), [4]),
    "parser": (parser_problem, [4, 4]),
    "labelled": (lambda: parser_problem(labels=2), [4, 4]),
}


def alma_of(alpha: float) -> tuple[float, float, float]:
    return alpha, 1 / alpha, math.sqrt(2)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_weights_are_those_of_the_whole_vector(name, rule):
    """Step by step for several α and beams: lowered nodes, both projections, the scale, and the mean."""
    make, columns = PROBLEMS[name]
    problem, rng = make(), np.random.default_rng(17)
    xs, golds = random_corpus(rng, problem, 5, 5, columns)
    for alpha, beam, merge in ((0.9, 1, True), (0.5, 3, True), (1.0, 2, False), (0.8, None, True)):
        start = uneven_weights(problem, rng)
        fast = BeamTraining(problem, inputs_of(problem, xs, golds), beam, rule, merge, "none", alma=alpha)
        begin_with(fast, start)
        slow = SlowLearner(problem, xs, golds, rule, beam or math.inf, merge, dict(start), alma=alma_of(alpha))
        for _ in range(3):
            order = rng.permutation(len(xs)).tolist()
            counts = learn_pass(fast, order)
            slow.run(order)
            assert counts == slow.counts | {"tokens": sum(map(len, xs))}
            found = weights_in(problem, *fast.rows())
            assert found == pytest.approx({key: slow.weights[key] for key in found}, abs=2e-6)
        assert fast.pace[GENERATION] == slow.generation
        length = math.sqrt(sum(w * w for w in slow.weights.values()))
        assert fast.pace[SCALE] * math.sqrt(fast.pace[NORM]) == pytest.approx(length, rel=1e-5) or length < 1
        fast.average = "mean"
        mean, expected = weights_in(problem, *fast.rows()), slow.mean()
        assert mean == pytest.approx({key: expected[key] for key in mean}, abs=2e-6)
        assert all(abs(w) < 2e-6 for key, w in expected.items() if key not in mean)


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
    """Random updates: scale·v is the vector of eq. (3), and (v·S - u)/T the mean of those after each example."""
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
    if seen:
        assert (v * alma[TOTAL] - u) / len(seen) == pytest.approx(np.mean(seen, axis=0), abs=1e-9)


@pytest.mark.parametrize("alpha", [0, -0.1, 1.5, math.nan, True, "much"])
def test_a_share_that_cannot_be(alpha):
    with pytest.raises(StructronError, match=r"alma: .*; expected a number above 0 and up to 1"):
        make_alma(alpha)
    for estimator in (Tagger(alma=alpha), Parser(alma=alpha)):
        with pytest.raises(StructronError, match="alma: "):
            estimator.fit([[["a", "b", "0", "x"]]])


def test_a_perceptron_is_the_case_without():
    alma = make_alma(None)
    assert lowering(alma) == 0
    assert step(alma, 9.0, 1.0) == 1
    end_example(alma)
    assert (alma[SCALE], alma[TOTAL]) == (1, 1)
    assert (named("laso", None), named("laso", 0.9)) == ("laso", "laso-alma-0.9")


def test_margins_are_larger():
    """Separable data: after convergence ALMA's good states win by at least as much as it asks for."""
    problem, rng = chain_problem(3, 6, CHAIN_1), np.random.default_rng(2)
    xs, golds = random_corpus(rng, problem, 6, 4, [6])
    for alpha in (0.5, 0.9):
        learner = BeamTraining(problem, inputs_of(problem, xs, golds), 3, "laso", average="none", alma=alpha)
        for _ in range(3000):
            if not learn_pass(learner, range(6))["updates"]:
                break
        assert learner.counts()["updates"] == 0
        assert learner.pace[GENERATION] > 1


@pytest.mark.parametrize("kind", [Tagger, Chunker])
def test_chains_learn_with_it(kind, tmp_path):
    sentences = [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in toy_english(150, 3)]
    model = kind(alma=0.9, passes=3, runs=1, label="pos" if kind is Tagger else None, columns=["word", "pos", "chunk"])
    model.fit(sentences[:120])
    assert "update laso-alma-0.9 | search beam-8" in model.signature_
    assert model.score(sentences[120:]) > 80
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(sentences[120:]) == model.predict(sentences[120:])
