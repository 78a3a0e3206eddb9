"""A problem of one's own that goes wrong: what is said, and what is heard while compiled code runs.

All planted mistakes (tests/torture/planted.py) are tried by `make torture`; here some of each kind, under guard.
"""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numba.core.config import DISABLE_JIT

from structron import BeamLearner, QueueLearner, load
from structron.errors import StructronError
from structron.search.beam.compiling import uncompiled
from thermostat import PROBLEM, make_examples, make_problem
from torture import planted
from torture.mistakes import DEBUG, message, wrong

SOME = [
    "an action that is none",
    "writes outside out",
    "reads outside table",
    "an endless helper",
    "a helper outside out",
    "the correct action is not legal",
    "AT forgotten",
    "AT left as it was",
    "writes outside states",
    "divides by zero",
    "an atom above its size",
    "a start for ever",
    "gold too short",
    "examples not returned",
    "a problem not returned",
    "a score not returned",
    "max_steps without return",
]
COMPILED = ["a plain helper", "a global list", "a global dictionary", "a global that changes", "no return at times"]


@pytest.mark.parametrize("name", SOME)
def test_a_mistake_is_named(name):
    assert wrong(f"{name}{DEBUG}", message(f"{name}{DEBUG}")) is None


@pytest.mark.skipif(bool(DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("name", COMPILED)
def test_what_the_compiler_finds_is_said_in_plain_words(name):
    said = message(name)
    assert wrong(name, said) is None
    assert "nopython" not in said


def test_there_are_forty_and_all_names_are_right():
    assert len(planted.MISTAKES) >= 40
    assert {*SOME, *COMPILED} <= {*planted.MISTAKES}


@pytest.mark.parametrize("kind", [BeamLearner, QueueLearner])
def test_under_guard_the_same_is_learned(kind):
    examples = make_examples(30)
    plain, guarded = (kind(PROBLEM, passes=2, debug=debug).fit(examples) for debug in (False, True))
    assert np.array_equal(np.sort(plain.model_.keys), np.sort(guarded.model_.keys))
    xs = [x for x, _ in examples]
    assert guarded.predict(xs) == plain.predict(xs) == plain.set_params(debug=True).predict(xs)


def test_a_guarded_learner_can_be_saved_and_pickled(tmp_path):
    import pickle

    learner = BeamLearner(PROBLEM, passes=1, debug=True).fit(make_examples(20))
    learner.save(tmp_path / "m")
    assert load(tmp_path / "m", problem=PROBLEM).debug is False
    assert pickle.loads(pickle.dumps(learner)).predict([[1, 2]]) == learner.predict([[1, 2]])


def test_a_mistake_in_a_prediction_is_found_too():
    learner = BeamLearner(make_problem(atoms=planted.is_above_its_size), passes=1).fit(planted.examples(6))
    learner.set_params(debug=True)
    with pytest.raises(StructronError, match="thermostat: atoms: example 1: 'degrees' is 14"):
        learner.predict([[1, 2], [planted.LATE, 1]])


def test_check_all_walks_through_every_example():
    problem, examples = make_problem(advance=planted.forgets_last), planted.examples()
    with pytest.raises(StructronError, match=r"advance: example 6: column 2 \(LAST\) of the new state has no value"):
        BeamLearner(problem, check="all").fit(examples)
    with pytest.raises(StructronError, match="check: 'some'"):
        BeamLearner(problem, check="some").fit(examples)
    assert BeamLearner(PROBLEM, check="all", passes=1).fit(make_examples(12)).predict([[1]]) == [["on"]]


def test_check_takes_what_fit_takes():
    examples = make_examples(8)
    PROBLEM.check(examples)
    PROBLEM.check(*examples[0])
    PROBLEM.check(np.array([[1], [8]]), ["on", 0])
    PROBLEM.check([1, 8])
    with pytest.raises(StructronError, match=r"example 2: .*'on' is to come"):
        PROBLEM.check([*examples[:2], (examples[2][0], [*examples[2][1], "on"])])
    with pytest.raises(StructronError, match="unknown action 'of'"):
        PROBLEM.check([1], ["of"])
    with pytest.raises(StructronError, match="expected integers"):
        PROBLEM.check(["cold"], ["on"])
    with pytest.raises(StructronError, match="example 0: an empty input"):
        PROBLEM.check([], ["on"])


def test_uncompiled_functions_call_uncompiled_helpers(monkeypatch):
    monkeypatch.setattr(planted, "LATE", 8)
    assert uncompiled(planted.loops_in_a_helper)(np.zeros((1, 1)), None, np.zeros((1, 3)), 0, [0, 0]) == 2


ENDLESS = """
from structron import BeamLearner
from thermostat import make_problem
from torture import planted
problem = make_problem(legal=planted.loops_for_ever, unchecked=True)
learner = BeamLearner(problem, passes=1, runs=2).fit(planted.examples(6))
endless = [planted.LATE, 1]
print("begin", flush=True)
"""
FIT = "fit([*planted.examples(6), (endless, ['on', 'off'])])"
WHILE = {
    "learner.predict([endless])": 1,
    "learner.predict([endless] * 25_000, jobs=2)": -signal.SIGINT,
    f"BeamLearner(problem, passes=3, runs=2, jobs=2).{FIT}": 0,
    f"BeamLearner(problem, passes=3, shards=2, jobs=2).{FIT}": 0,
}
"""Calls that do not end, and the status of a program that is interrupted in them: training keeps what it has."""


@pytest.mark.slow
@pytest.mark.skipif(bool(DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("call", WHILE)
def test_ctrl_c_is_heard_while_compiled_code_runs(call):
    folder = Path(__file__).parent.parent
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{ENDLESS}{call}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "begin\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == WHILE[call]
    assert ("thermostat: interrupted in a call that does not end" in errors) == (process.returncode == 1)
