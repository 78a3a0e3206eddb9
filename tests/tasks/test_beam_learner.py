"""The learner of a user's own problem: what it learns, files and what they need again, and bad input."""

import json
from dataclasses import replace
from random import Random

import numpy as np
import pytest

import structron
from structron import TAIL, Alphabet, BeamLearner, StructronError
from structron.io import modelfile
from structron.learn.beam import BeamTraining
from structron.learn.loop import Schedule, pass_order
from structron.options import Search
from structron.tasks.own.beam import ActionScores
from structron.update.violation import RULES
from thermostat import (
    AT,
    EXAMPLES,
    LAST,
    NOISY,
    PROBLEM,
    make_examples,
    make_problem,
    weights_of,
)

# -- learning and predicting -----------------------------------------------------------------------------------------


def test_it_learns():
    """A pass without updates means that the last weights make no mistake on the training data."""
    learner = BeamLearner(PROBLEM, passes=50, average="none").fit(EXAMPLES)
    assert learner.stopped_ == "converged"
    assert learner.history_[-1]["updates"] == 0
    scores = learner.evaluate(EXAMPLES)
    assert (scores.exact, scores.accuracy, scores.examples) == (100.0, 100.0, 60)
    assert "60 examples, 100.00% without an error" in scores.report()
    assert json.loads(json.dumps(scores.as_dict()))["correct"] == scores.actions
    assert learner.score(EXAMPLES) == 100.0
    assert learner.predict([x for x, _ in EXAMPLES]) == [y for _, y in EXAMPLES]
    averaged = BeamLearner(PROBLEM).fit(make_examples(300))
    assert averaged.evaluate(make_examples(100, seed=2)).accuracy > 99


def test_forms_of_examples():
    expected = weights_of(BeamLearner(PROBLEM, passes=2).fit(NOISY).model_)
    forms = [
        [(tuple(x), tuple(y)) for x, y in NOISY],
        [([[d] for d in x], [PROBLEM.index[a] for a in y]) for x, y in NOISY],
        [(np.array(x, np.int32), np.array([PROBLEM.index[a] for a in y])) for x, y in NOISY],
        [(np.array(x, np.uint8).reshape(-1, 1), y) for x, y in NOISY],
    ]
    for form in forms:
        assert weights_of(BeamLearner(PROBLEM, passes=2).fit(iter(form)).model_) == expected


def test_the_best_pass_on_dev_is_kept():
    dev, seen = make_examples(30, seed=5), []

    def score(gold, guess):
        seen.append(guess)
        assert gold == [y for _, y in dev]
        return [3.0, 7.0, 5.0][len(seen) - 1]

    learner = BeamLearner(PROBLEM, passes=3).fit(NOISY, dev=dev, score=score)
    assert learner.best_pass_ == 2
    assert [record["dev"] for record in learner.history_] == [3.0, 7.0, 5.0]
    assert learner.predict([x for x, _ in dev]) == seen[1]
    plain = BeamLearner(PROBLEM, passes=3).fit(NOISY, dev=dev)
    assert max(record["dev"] for record in plain.history_) == round(plain.score(dev), 4)


@pytest.mark.parametrize("average", ["mean", "none"])
def test_the_mean_of_runs(average):
    learner = BeamLearner(PROBLEM, runs=3, passes=2, average=average).fit(NOISY)
    n, members = len(NOISY), []
    xs, gold = learner._read_examples(NOISY, "")
    inputs = learner._inputs(xs, "", gold)
    for m in range(3):
        member = BeamTraining(PROBLEM, inputs, Search(8, "max-violation"), average)
        for number in (1, 2):
            whole = pass_order(Schedule(), number, 3 * n)
            order, place = whole[whole // n == m] % n, 0
            while place < n:
                place = member.learn(order, place)
        members.append(weights_of(member.snapshot()))
    keys = set().union(*members)
    found = weights_of(learner.model_)
    for key in keys:
        assert found.get(key, 0.0) == pytest.approx(sum(w.get(key, 0.0) for w in members) / 3, abs=1e-5)
    assert found.keys() <= keys
    assert learner.history_[0]["examples"] == 3 * n


def test_scores_of_outputs_of_other_lengths():
    scores = ActionScores.of([["a", "b"], ["a"], ["b"]], [["a"], ["a", "a", "b"], ["b"]])
    assert (scores.actions, scores.correct) == (2 + 3 + 1, 1 + 1 + 1)
    assert (scores.accuracy, scores.exact) == (50.0, pytest.approx(100 / 3))
    assert ActionScores.of([], []).accuracy == 0.0


def test_inspect():
    learner = BeamLearner(PROBLEM, passes=5).fit(EXAMPLES)
    weights = {name: w for (name, column), w in weights_of(learner.model_).items() if column == 1}
    found = learner.inspect("on", top=6).labels["on"]
    assert [abs(w.weight) for w in found] == sorted((abs(w) for w in weights.values()), reverse=True)[:6]
    assert all(weights[w.feature] == w.weight for w in found)
    assert learner.inspect(1, top=6).labels == {"on": found}
    spelled = learner.inspect("on", top=6, spell={"degrees": [f"{d}°" for d in range(10)]})
    assert all("°" in w.feature for w in spelled.labels["on"])


def test_inspect_sums_what_actions_share():
    problem = make_problem(parts=[[0, -1], [0, 1]])
    learner = BeamLearner(problem, passes=3, beam=None).fit(NOISY)
    weights, every = weights_of(learner.model_), learner.inspect(top=1000).labels
    for action, columns in (("off", [0]), ("on", [0, 1])):
        found = {w.feature: w.weight for w in every[action]}
        for name in {name for name, _ in weights}:
            assert found.get(name, 0.0) == pytest.approx(sum(weights.get((name, c), 0.0) for c in columns))


# -- a problem with a stack ------------------------------------------------------------------------------------------


def stack_legal(x, table, states, s, out):
    count = 0
    if states[s, AT] < x.shape[0]:
        out[0] = 0
        count = 1
    if states[s, TAIL] >= 0:
        out[count] = 1
        count += 1
    return count


def stack_advance(x, table, states, s, action, t):
    if action == 0:
        states[t, AT] = states[s, AT] + 1
        states[t, LAST] = x[states[s, AT], 0]
    else:
        states[t, AT] = states[s, AT]
        states[t, LAST] = states[states[s, TAIL], LAST]


def stack_atoms(x, table, states, s, out):
    at = states[s, AT]
    out[0] = states[s, LAST]
    out[1] = x[at, 0] if at < x.shape[0] else 0
    out[2] = at


STACK = make_problem(
    name="stack",
    actions=["shift", "reduce"],
    moves={"shift": 1, "reduce": -1},
    legal=stack_legal,
    advance=stack_advance,
    atoms=stack_atoms,
    atom_names={"top": 10, "next": 10, "at": 0},
    templates=["top", "next", "top|next"],
    always=["at"],
    max_steps=lambda n: 2 * n,
)


def nested(count: int, seed: int) -> list[tuple[list[int], list[str]]]:
    """Numbers that leave the stack when one that is not smaller follows."""
    rng, found = Random(seed), []
    for _ in range(count):
        x, stack, actions = [rng.randint(1, 9) for _ in range(6)], [], []
        for number in x:
            while stack and stack[-1] <= number:
                stack.pop()
                actions.append("reduce")
            stack.append(number)
            actions.append("shift")
        found.append((x, actions + ["reduce"] * len(stack)))
    return found


@pytest.mark.parametrize("merge", [True, False])
def test_stacks(merge):
    learner = BeamLearner(STACK, merge=merge, passes=6).fit(nested(200, 1))
    assert learner.evaluate(nested(50, 2)).exact > 95
    assert learner.predict([[3, 1, 2]]) == [["shift", "shift", "reduce", "shift", "reduce", "reduce"]]


# -- files -----------------------------------------------------------------------------------------------------------


def test_what_a_problem_is_made_from_goes_along(tmp_path):
    BeamLearner(PROBLEM, passes=1).fit(NOISY).save(tmp_path / "m", extra={"actions": PROBLEM.actions})
    again = BeamLearner.load(tmp_path / "m", lambda extra: make_problem(actions=extra["actions"]))
    assert again.extra_ == {"actions": ["off", "on"]}
    again.save(tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    with pytest.raises(StructronError, match=r"extra: .*; expected values that JSON can represent"):
        again.save(tmp_path / "o", extra=make_problem)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": ["off", "up"]}, "actions differ: number 1 is 'on' in the file and 'up' in the problem"),
        ({"actions": ["off", "on", "x"]}, "actions differ: 2 in the file and 3 in the problem"),
        ({"atom_names": {"degrees": 11, "last": 3}}, "atoms differ: number 0 is ['degrees', 10] in the file"),
        ({"templates": ["degrees"]}, "templates differ: 2 in the file and 1 in the problem"),
        ({"moves": {"on": 1}}, "moves differ: number 1 is 0 in the file and 1 in the problem"),
        ({"parts": [[0], [0]]}, "parts differ: number 1 is [1] in the file and [0] in the problem"),
    ],
    ids=["action", "actions", "atoms", "templates", "moves", "parts"],
)
def test_a_problem_that_does_not_fit(tmp_path, changes, message):
    BeamLearner(PROBLEM, passes=1).fit(NOISY).save(tmp_path / "m")
    with pytest.raises(StructronError) as error:
        BeamLearner.load(tmp_path / "m", make_problem(**changes))
    assert str(error.value).startswith(f"{tmp_path / 'm'}: {message}")
    assert str(error.value).endswith("; expected the problem that the model was trained with")


def test_files_that_are_something_else(tmp_path):
    path = tmp_path / "m"
    BeamLearner(PROBLEM, passes=1).fit(NOISY).save(path)
    with pytest.raises(StructronError, match="problem"):
        structron.load(path)
    header, tensors = modelfile.load(path)
    modelfile.save(path, header | {"task": "tagger"}, tensors)
    with pytest.raises(StructronError, match=r"a tagger model; expected one written by BeamLearner\.save"):
        BeamLearner.load(path, PROBLEM)


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([[1, 2, 3]], "training data: example 0: [1, 2, 3] is not a pair"),
        ([5], "training data: example 0: 5 is not a pair"),
        ([([1], ["on"]), ([1], ["up"])], "training data: example 1: unknown action 'up'; expected one of: off, on"),
        ([([1], [2])], "training data: example 0: unknown action 2"),
        ([([1], [0.5])], "training data: example 0: unknown action 0.5"),
        ([(["a"], ["on"])], "training data: example 0: <U1 in 1 dimensions; expected integers"),
        ([([0.5], ["on"])], "training data: example 0: float64"),
        ([([[1], [1, 2]], ["on", "on"])], "training data: example 0: rows of different lengths"),
        ([([1], ["on"]), ([[1, 2]], ["on"])], "training data: example 1: 2 columns; expected 1"),
        ([([1], ["on"]), ([], [])], "training data: example 1: an empty input"),
        ([([1, 2], ["on"])], "thermostat: legal: example 0: the correct actions end after 1"),
        ([([1], ["on", "on"])], "thermostat: legal: example 0: the state is final after 1 actions, but 'on'"),
        ([([11], ["on"])], "thermostat: atoms: example 0: 'degrees' is 11, but has 10 values"),
    ],
    ids=range(13),
)
def test_bad_examples(examples, message):
    with pytest.raises(StructronError) as error:
        BeamLearner(PROBLEM).fit(examples)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_more_bad_input():
    with pytest.raises(StructronError, match="problem: None; expected a SearchProblem"):
        BeamLearner(None).fit(EXAMPLES)
    learner = BeamLearner(PROBLEM, passes=2)
    learner.fit(NOISY)
    weights = weights_of(learner.model_)
    for value in (-1.0, float("nan")):
        with pytest.raises(StructronError, match=r"score: it returned .*; expected a number of at least 0"):
            learner.fit(EXAMPLES, dev=EXAMPLES, score=lambda gold, guess, value=value: value)
    assert weights_of(learner.model_) == weights
    with pytest.raises(StructronError, match="input: example 0: 2 columns; expected 1"):
        learner.predict([[[1, 2]]])


def first_wrong(best, gold, alive, right, n):
    for i in range(1, n + 1):
        if not right[i] and gold[i] <= best[i]:
            return i
    return 0


def test_a_rule_of_ones_own(tmp_path):
    rule = replace(RULES["latest"], choose=first_wrong)
    learner = BeamLearner(PROBLEM, update=rule, passes=50, average="none", check=True).fit(EXAMPLES)
    assert learner.stopped_ == "converged"
    assert learner.score(EXAMPLES) == 100.0
    learner.save(tmp_path / "m")
    again = BeamLearner.load(tmp_path / "m", PROBLEM)
    assert again.score(EXAMPLES) == 100.0
    with pytest.raises(StructronError, match="unknown update 'first_wrong'"):
        again.fit(EXAMPLES)


def test_public_names():
    assert {"SearchProblem", "BeamLearner", "TAIL", "Alphabet"} <= set(dir(structron))
    assert structron.TAIL == 0
    alphabet = Alphabet.of("banana")
    assert alphabet.encode("banx").tolist() == [4, 2, 3, 1]
    assert alphabet.names()[2:] == ["a", "n", "b"]
    assert alphabet.size == 5
