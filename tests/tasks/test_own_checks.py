"""A user's functions as they are compiled by default: every mistake ends in one line. All planted ones are tried by
`make torture`; here those that would crash, hang or go unnoticed, in a process of their own."""

import numba
import numpy as np
import pytest
from numba.core.config import DISABLE_JIT

import careless
from structron import BeamLearner, QueueLearner
from structron.errors import StructronError
from structron.search.beam import checked
from structron.search.beam.compiling import recursive
from thermostat import AT, LAST, PROBLEM, make_examples, make_problem
from torture import planted
from torture.mistakes import _tried, wrong

LATE = [
    "a helper outside out",
    "advances for ever",
    "a column too far",
    "writes to its source in a helper",
    "writes the engine's column",
    "a start elsewhere",
    "an atom forgotten",
    "an action twice",
]
needs_compiler = pytest.mark.skipif(bool(DISABLE_JIT), reason="nothing is compiled")


@needs_compiler
def test_mistakes_end_in_a_line_without_debug(tmp_path):
    said = dict(_tried(LATE, tmp_path))
    assert list(said) == LATE, "the process crashed or hung"
    assert [wrong(name, text) for name, text in said.items() if wrong(name, text)] == []
    assert all("example " in text for text in said.values())


WRONG = {
    "width: 0; expected a whole number, 1 … 4096": {"width": 0},
    "width: 1000000000; expected": {"width": 10**9},
    "width: 2.0; expected": {"width": 2.0},
    "actions: 5; expected a list of names": {"actions": 5},
    "actions: 'on'; expected a list of names": {"actions": "on"},
    "actions: 1 is not a name": {"actions": ["off", 1]},
    "actions: 'off' occurs twice": {"actions": ["off", "off"]},
    "no actions": {"actions": []},
    "size of atom 'degrees': 1e\\+18; expected a whole number": {"atom_names": {"degrees": 1e18, "last": 3}},
    "size of atom 'degrees': -1; expected": {"atom_names": {"degrees": -1, "last": 3}},
    "atom_names: 7; expected names": {"atom_names": 7},
    "max_steps: 9; expected a function": {"max_steps": 9},
    "move of 'on': 5; expected a whole number, -1 … 1": {"moves": {"on": 5}},
    "1 moves; expected one for each of 2 actions": {"moves": [1]},
    "moves: .*; expected whole numbers": {"moves": ["up", "down"]},
    "parts: 1000000000; expected": {"parts": [[0], [10**9]]},
    "parts have shape": {"parts": [[], []]},
    "views: 1000000000; expected": {"views": [0, 10**9], "view": 2},
    "table: .*; expected whole numbers": {"table": ["a"]},
    "where: column 9; expected one of 1 … 2": {"where": 9},
}


@pytest.mark.parametrize("says", WRONG)
def test_what_is_no_problem_is_said_in_a_line(says):
    with pytest.raises(StructronError, match=f"^thermostat: {says}") as found:
        make_problem(**WRONG[says])
    assert "\n" not in str(found.value)


def test_more_steps_than_there_is_room_for_are_an_error_at_once():
    problem = make_problem(max_steps=lambda n: 10**12)
    with pytest.raises(StructronError, match=r"max_steps\(\d+\) is 1000000000000; expected an integer of at most"):
        BeamLearner(problem).fit(make_examples(6))


@pytest.mark.parametrize("size", [0, 10**18])
def test_atoms_of_any_size_are_learned_from(size):
    problem = make_problem(atom_names={"degrees": size, "last": 3})
    examples = make_examples(60)
    learner = BeamLearner(problem, passes=5).fit(examples)
    assert learner.predict([x for x, _ in examples]) == BeamLearner(PROBLEM, passes=5).fit(examples).predict(
        [x for x, _ in examples]
    )


@needs_compiler
def test_unchecked_learns_the_same():
    examples = make_examples(30)
    one, other = (BeamLearner(make_problem(unchecked=own), passes=2).fit(examples) for own in (False, True))
    assert np.array_equal(one.model_.keys, other.model_.keys)
    assert np.array_equal(one.model_.rows.weight, other.model_.rows.weight)


def makes_an_array(x, table, states, s, out):
    found = np.zeros(2, np.int64)
    found[0] = x[states[s, AT], 0] if states[s, AT] < x.shape[0] else -1
    found[1] = states[s, LAST]
    out[0], out[1] = found[0], found[1]


@needs_compiler
def test_functions_that_make_arrays_learn_the_same():
    """They are compiled with references counted, others without."""
    examples = make_examples(30)
    one, other = (BeamLearner(own, passes=2).fit(examples) for own in (PROBLEM, make_problem(atoms=makes_an_array)))
    assert np.array_equal(one.model_.keys, other.model_.keys)
    assert np.array_equal(one.model_.rows.weight, other.model_.rows.weight)


def calls_a_module(x, table, states, s, out):
    at = states[s, AT]
    out[0] = careless.at(x, at + (planted.LATE if x[0, 0] == planted.LATE else 0)) if at < x.shape[0] else -1
    out[1] = states[s, LAST]


@needs_compiler
@pytest.mark.parametrize("kind", [BeamLearner, QueueLearner])
def test_helpers_in_other_modules_are_checked_too(kind):
    learner = kind(make_problem(atoms=calls_a_module), passes=1)
    with pytest.raises(StructronError, match=r"atoms: example 6: an index outside an array: .*\(line \d+\); expected"):
        learner.fit(planted.examples(8))


@needs_compiler
def test_rounds_are_counted_in_all_loops_of_a_call_together(monkeypatch):
    monkeypatch.setattr(checked, "MOST_ROUNDS", 50)
    count = numba.njit(checked.count_round.py_func)

    @numba.njit
    def nested(n, m):
        rounds = 0
        for _ in range(n):
            rounds = count(rounds)
            for _ in range(m):
                rounds = count(rounds)
        return rounds

    assert nested(3, 9) == 30
    with pytest.raises(checked.Fault, match="does not end"):
        nested(6, 9)


@numba.njit
def even(n):
    return n == 0 or odd(n - 1)


@numba.njit
def odd(n):
    return n != 0 and even(n - 1)


def test_helpers_that_call_each_other_are_found():
    assert recursive(lambda n: odd(n)) in ("odd", "even")
    assert recursive(planted.advances_without_bottom) == "calls_itself"
    assert recursive(planted.loops_in_a_helper) == ""
