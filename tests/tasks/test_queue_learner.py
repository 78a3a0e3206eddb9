"""The public learner with queues: learning, alternatives, files, checkpoints, and what it says about bad input."""

import math

import numpy as np
import pytest

from structron import BeamLearner, QueueLearner, StructronError
from structron.options import QUEUES
from thermostat import EXAMPLES, NOISY, PROBLEM, make_examples, make_problem, weights_of
from walks import CYCLE, roads, walk_problem

WALKS = [(CYCLE, ["to 1", "to 2", "to 3"]), (roads(4, (0, 1), (1, 0), (1, 3), (0, 2), (2, 3)), ["to 2", "to 3"])]


def nothing_ahead(x, table, states, s):
    return 0.0


def far_ahead(x, table, states, s):
    return -1.0 * (x.shape[0] - states[s, 1])


def learner_of(queue: str, **more) -> QueueLearner:
    return QueueLearner(PROBLEM, queue=queue, heuristic=nothing_ahead if queue == "a-star" else None, **more)


@pytest.mark.parametrize("queue", QUEUES)
def test_it_learns(queue):
    """A pass without updates: the last weights make no mistake in this search."""
    examples = EXAMPLES[:30]
    learner = learner_of(queue, passes=60, average="none").fit(examples)
    assert learner.stopped_ == "converged"
    assert learner.evaluate(examples).exact == 100.0
    assert learner.predict([x for x, _ in examples]) == [y for _, y in examples]
    assert learner.score(examples) == 100.0
    assert learner.expanded_ >= sum(len(x) for x, _ in examples)


@pytest.mark.parametrize("update", ["laso", "laso-literal"])
@pytest.mark.parametrize("alma", [None, 0.9])
def test_a_beam_is_the_engine_with_laso(alma, update):
    given = {"beam": 3, "passes": 3, "seed": 4, "alma": alma, "update": update}
    own = QueueLearner(PROBLEM, queue="beam", **given).fit(NOISY)
    engine = BeamLearner(PROBLEM, merge=False, **given).fit(NOISY)
    assert f"update {update}{'' if alma is None else '-alma-0.9'} |" in own.signature_
    assert weights_of(own.model_) == pytest.approx(weights_of(engine.model_), abs=1e-5)
    figures = ("updates", "invalid", "examples", "fell_off", "fell_at", "search_errors", "tokens")
    for mine, theirs in zip(own.history_, engine.history_, strict=True):
        assert {name: mine[name] for name in figures} == {name: theirs[name] for name in figures}
    xs = [x for x, _ in make_examples(30, seed=7)]
    assert own.predict(xs) == engine.predict(xs)


def test_scores_are_those_of_the_weights():
    learner = learner_of("exhaustive", passes=2).fit(NOISY)
    exact = BeamLearner(PROBLEM, beam=None)
    exact.columns_, exact.model_ = 1, learner.model_
    xs = [x for x, _ in NOISY] + [[]]
    names, scores = learner.predict_with_scores(xs)
    assert names[-1] == []
    assert scores == pytest.approx(exact.predict_with_scores(xs)[1], abs=1e-4)


def test_a_star_with_a_margin():
    """All weights stay in the unit sphere, and the search goes on finding what it learned."""
    learner = QueueLearner(PROBLEM, queue="a-star", heuristic=far_ahead, alma=0.9, passes=3, average="none").fit(NOISY)
    weights = np.array(list(weights_of(learner.model_).values()))
    assert 0 < np.linalg.norm(weights) <= 1 + 1e-5
    assert learner.evaluate(NOISY).accuracy > 50


# -- several correct derivations -------------------------------------------------------------------------------------


def test_one_derivation_or_a_list_of_them():
    one = QueueLearner(PROBLEM, passes=2).fit(NOISY)
    forms = [
        [(x, [y]) for x, y in NOISY],
        [(x, (tuple(y), y)) for x, y in NOISY],
        [(x, np.array([[PROBLEM.index[a] for a in y]])) for x, y in NOISY],
    ]
    for form in forms:
        assert weights_of(QueueLearner(PROBLEM, passes=2).fit(form).model_) == weights_of(one.model_)


def test_any_correct_derivation_will_do():
    """Whatever is found first is correct, so there is nothing to learn; it counts as right, and is what is nearest."""
    every = [([1], [["on"], ["off"]])]
    learner = QueueLearner(PROBLEM, passes=3).fit(every, dev=every)
    assert (learner.history_[0]["updates"], learner.stopped_, learner.history_[0]["dev"]) == (0, "converged", 100.0)
    assert learner.evaluate(every).exact == 100.0
    scores = learner.evaluate([([1, 1], [["on", "on"], ["on", "off"]])])
    assert (scores.correct, scores.actions) == (1, 2)
    assert learner.score(every, score=lambda gold, guess: float(gold == guess)) == 1.0


def test_actions_beside_derivations():
    with pytest.raises(
        StructronError, match="training data: example 0: a mix of actions and lists of actions; expected one"
    ):
        QueueLearner(PROBLEM).fit([([1, 1], ["on", ["off"]])])


# -- cycles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["best-first", "exhaustive"])
def test_a_space_with_cycles(queue):
    learner = QueueLearner(walk_problem(), queue=queue, passes=30, average="none").fit(WALKS)
    assert learner.stopped_ == "converged"
    assert learner.predict([x for x, _ in WALKS]) == [y for _, y in WALKS]


# -- files -------------------------------------------------------------------------------------------------------------


def test_saving_and_loading(tmp_path):
    """The heuristic is given again, and other options if one likes; what the problem is made from goes along."""
    path, xs = tmp_path / "m.structron", [x for x, _ in NOISY]
    learner = QueueLearner(PROBLEM, queue="a-star", heuristic=far_ahead, limit=5000, passes=2, alma=0.8).fit(NOISY)
    assert "| search a-star |" in learner.signature_
    learner.save(path, extra={"a": [1]})
    again = QueueLearner.load(path, PROBLEM, heuristic=far_ahead)
    assert (again.queue, again.limit, again.alma, again.extra_) == ("a-star", 5000, 0.8, {"a": [1]})
    assert again.predict_with_scores(xs) == learner.predict_with_scores(xs)
    seen = []
    made = QueueLearner.load(path, lambda extra: seen.append(extra) or make_problem(), queue="beam", beam=2)
    assert (seen, made.queue, made.beam) == ([{"a": [1]}], "beam", 2)
    assert len(made.predict(xs)) == len(xs)


def test_loading_what_does_not_fit(tmp_path):
    path = tmp_path / "m.structron"
    QueueLearner(PROBLEM, queue="a-star", heuristic=nothing_ahead, passes=1).fit(NOISY).save(path)
    with pytest.raises(StructronError, match="heuristic: missing for queue a-star; expected heuristic"):
        QueueLearner.load(path, PROBLEM)
    BeamLearner(PROBLEM, passes=1).fit(NOISY).save(path)
    for problem in (PROBLEM, lambda extra: PROBLEM):
        with pytest.raises(StructronError, match=r"a problem model; expected one written by QueueLearner\.save"):
            QueueLearner.load(path, problem)


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"queue": "best"},
            "unknown queue 'best'; expected one of: greedy, beam, first-goal, cut, best-first, a-star, exhaustive",
        ),
        ({"queue": "a-star"}, "heuristic: missing for queue a-star; expected heuristic(x, table, states, s) -> float"),
        (
            {"queue": "beam", "heuristic": nothing_ahead},
            "heuristic: given for queue beam; expected queue a-star or best",
        ),
        ({"queue": "a-star", "heuristic": 3}, "heuristic: 3; expected a function"),
        ({"queue": "a-star", "heuristic": lambda *_: math.nan}, "heuristic: it returned nan; expected a number"),
    ],
    ids=["queue", "no heuristic", "heuristic", "not callable", "nan"],
)
def test_wrong_parameters_are_named(given, text):
    with pytest.raises(StructronError) as error:
        QueueLearner(PROBLEM, **given).fit(NOISY)
    assert text in str(error.value).replace('"', "'")
    assert "\n" not in str(error.value)


def test_problems_without_goals_and_wrong_gold():
    problem, endless = walk_problem(), roads(4, (0, 1), (1, 0))
    learner = QueueLearner(problem, passes=1).fit(WALKS)
    with pytest.raises(StructronError, match="walk: example 1: no goal can be reached"):
        learner.predict([CYCLE, endless])
    learner.queue, learner.limit = "greedy", 30
    with pytest.raises(StructronError, match="walk: example 0: 30 nodes were expanded"):
        learner.predict([endless])
    with pytest.raises(StructronError, match="walk: legal: example 0: the correct action 'to 3' is not legal at"):
        QueueLearner(problem).fit([(CYCLE, [["to 1", "to 3"], ["to 3"]])])
    late = [*(WALKS[:1] * 6), (CYCLE, ["to 1", "to 1", "to 3"])]
    with pytest.raises(StructronError, match="walk: example 6: step 2: no correct state is left to continue from"):
        QueueLearner(problem).fit(late)
