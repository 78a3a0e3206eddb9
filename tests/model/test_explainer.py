"""Reasons for the actions of a search: they add up, and scores are those of the engine and of enumeration."""

import numpy as np
import pytest

from problems import Space, inputs_of, key_of, model_of, named, random_corpus, random_weights, uneven_weights
from segmentations import Corpus, everything
from segmentations import model_of as segment_model
from segmentations import random_weights as segment_weights
from structron.model.explain import Explainer, Reason, Step

EVERY = 10**6


def assert_adds_up(steps: list[Step], score: float) -> None:
    """All reasons make the margin, all steps the score."""
    assert sum(step.score for step in steps) == pytest.approx(score, abs=1e-4)
    for step in steps:
        assert (step.runner_up is None) == (step.margin is None)
        assert sum(reason.weight for reason in step.because) == pytest.approx(step.margin or 0.0, abs=1e-4)
        sizes = [abs(reason.weight) for reason in step.because]
        assert sizes == sorted(sizes, reverse=True)
        assert not sizes or min(sizes) > 0


@pytest.mark.parametrize("name", ["chain1", "chain2", "parser", "labelled"])
def test_steps_against_enumeration(name):
    """Score, runner-up and reasons of every step, from weights in a dictionary."""
    rng, (problem, columns) = np.random.default_rng(3), named(name)
    weights = uneven_weights(problem, rng)
    model = model_of(problem, weights)
    for x in random_corpus(rng, problem, 4, 5, columns)[0]:
        inputs, space = inputs_of(problem, [x]), Space(problem, x)
        (actions,), (score,) = model.decode(inputs, 2)
        explainer = Explainer(model, inputs, lambda place: f"{model.keys[place]}", lambda walk, row: f"row {row}")
        steps = explainer.steps(actions, EVERY)
        assert_adds_up(steps, score)
        for i, step in enumerate(steps):
            before, action = tuple(actions[:i]), actions[i]
            gains = {a: space.gain(weights, before, a) for a in space.legal(before)}
            assert step.action == problem.actions[action]
            assert step.score == pytest.approx(gains.pop(action), abs=1e-5)
            if gains:
                rival = max(gains, key=gains.__getitem__)
                assert step.runner_up == problem.actions[rival]
                assert step.margin == pytest.approx(step.score - gains[rival], abs=1e-5)
                expected: dict[str, float] = {}
                for sign, a in ((1.0, action), (-1.0, rival)):
                    for text, values, column in space.features(before, a):
                        key = f"{key_of(problem, text, values)}"
                        expected[key] = expected.get(key, 0.0) + sign * weights[text, values, column]
                found = {reason.feature: reason.weight for reason in step.because}
                assert found == pytest.approx({key: value for key, value in expected.items() if value}, abs=1e-5)
        assert [s.because for s in explainer.steps(actions, 2)] == [step.because[:2] for step in steps]


@pytest.mark.parametrize("seed", range(3))
def test_segments_have_features_of_their_tokens(seed):
    corpus, weights = Corpus(seed, [5]), segment_weights(seed)
    model = segment_model(weights, corpus.features)
    anchored = corpus.anchored(model.anchored_table)
    (actions,), (score,) = model.decode(corpus.inputs(), None, True, anchored)
    steps = Explainer(model, corpus.inputs(), str, lambda walk, row: "", anchored).steps(actions, EVERY)
    assert_adds_up(steps, score)
    for i, step in enumerate(steps):
        before = tuple(actions[:i])
        nexts = {y[i]: corpus.score(weights, 0, y[: i + 1]) for y in everything(5) if y[:i] == before and len(y) > i}
        own = nexts.pop(actions[i])
        assert step.score == pytest.approx(own - corpus.score(weights, 0, before), abs=1e-4)
        assert step.margin == pytest.approx(own - max(nexts.values()), abs=1e-4)


def test_how_steps_are_told():
    because = [Reason("w=dog", 1.5), Reason("y=N", -0.25)]
    assert str(Step("N", "dog", 2.0, "V", 1.25, because)) == (
        "N  [dog]  by 1.25 before V\n     +1.5000  w=dog\n     -0.2500  y=N"
    )
    assert str(Step("N", "", 2.0, "V", -0.5, [])) == "N  because of later actions: here V scores 0.5 more"
    assert str(Step("shift", "", 2.0, None, None, [])) == "shift  (no other action is possible)"


def test_features_that_cancel_are_no_reasons():
    """Actions that share all their weights: nothing decides."""
    problem, _ = named("chain1")
    weights = random_weights(problem, np.random.default_rng(1))
    same = {(text, values, column): weights[text, values, 0] for text, values, column in weights}
    inputs = inputs_of(problem, [np.array([[1], [2]])])
    steps = Explainer(model_of(problem, same), inputs, str, lambda walk, row: "").steps([0, 1], EVERY)
    assert [(step.margin, step.because) for step in steps] == [(0.0, []), (0.0, [])]
