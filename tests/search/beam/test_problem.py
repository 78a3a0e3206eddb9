"""A user's problem: mistakes in it are named, and its functions are compiled apart from the engine."""

import json
import os
import re

import numpy as np
import pytest

from helpers import run_python
from problems import chain_advance, chain_problem, inputs_of, learn_pass, model_of, parser_problem, training
from structron.errors import StructronError
from structron.search.beam.problem import EXPECTED, Walk

X = np.array([[1], [2]], np.int64)

# -- wrong functions -----------------------------------------------------------------------------------------------


def too_few(x, table, states):
    return 0


def unknown_name(x, table, states, s, out):
    return nowhere_defined  # noqa: F821


def returns_nothing(x, table, states, s, out):
    out[0] = 0


def returns_text(x, table, states, s, out):
    return "one"


def writes(action: int, count: int = 1):
    """A function `legal` that always offers one action."""

    def legal(x, table, states, s, out):
        out[0] = action
        return count

    return legal


def writes_too_little(x, table, states, s, out):
    return 2


illegal_number, negative_number, never_ends, counts_too_far = writes(7), writes(-3), writes(0), writes(0, 99)


def dead_end(x, table, states, s, out):
    out[0] = 0
    return 1 if states[s, 1] == 0 else -1


def dead_after_zero(x, table, states, s, out):
    """Whoever begins with 0 finds no way on."""
    n = 3
    for y in range(3):
        out[y] = y
    if states[s, 1] == 1 and states[s, 2] == 1:
        n = -1
    if states[s, 1] == x.shape[0]:
        n = 0
    return n


def only_zero(x, table, states, s, out):
    out[0] = 0
    return 1 if states[s, 1] < x.shape[0] else 0


def out_of_range(x, table, states, s, out):
    out[0] = 4
    out[1] = 0
    out[2] = 0


def forgets_one(x, table, states, s, out):
    out[0] = 0
    out[1] = 0


def wipes_first(x, table, states, s, out):
    for k in range(len(out)):
        out[k] = -1
    if states[s, 1] < x.shape[0]:
        out[0] = x[states[s, 1], 0]


def writes_elsewhere(x, table, states, s, action, t):
    states[t, 1] = states[s, 1] + 1
    states[s, 2] = action + 5


def reaches_too_far(x, table, states, s, action, t):
    states[t, 99] = action


def says(what: str, text: str) -> str:
    """The pattern of an error: the problem, the function, what is wrong, the expected signature; one line."""
    return (
        rf"^(chain|parser): {what}\b.*{re.escape(text)}.*; expected {re.escape(EXPECTED[what])}( over int64 arrays)?$"
    )


# -- making a problem ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        *[({what: too_few}, f"chain: {what} takes 3 arguments; expected {EXPECTED[what]}") for what in EXPECTED],
        ({"legal": 3}, "chain: legal is 3; expected a function legal(x, table, states, s, out)"),
        ({"templates": ["zz"]}, "unknown atom 'zz'; the problem has w, y1, y2"),
        ({"moves": {"zz": 1}}, "moves name 'zz', which is not an action"),
        ({"moves": [0, 1]}, "moves"),
        ({"parts": [[0], [1]]}, "parts have shape (2, 1); expected a row of columns for each action"),
        ({"labels": 0}, "no actions; expected at least one"),
    ],
)
def test_wrong_descriptions(options, text):
    with pytest.raises(StructronError, match=re.escape(text)):
        chain_problem(**options)


@pytest.mark.parametrize("function", [unknown_name, returns_text, returns_nothing], ids=lambda f: f.__name__)
def test_a_function_that_cannot_be_compiled(function):
    with pytest.raises(StructronError, match=says("legal", "cannot be compiled: ")):
        assert chain_problem(legal=function).pointers


def test_atoms_by_name_alone_take_any_value():
    problem = chain_problem(atom_names=["w", "y1", "y2"], atoms=out_of_range)
    problem.check(X)
    assert problem.composition.sizes == [0, 0, 0]


# -- walking through it --------------------------------------------------------------------------------------------

WALKS = {
    "raises": ("advance", reaches_too_far, "an index outside an array: index 99 is out of bounds"),
    "returns nothing": ("legal", returns_nothing, "it returned None"),
    "returns text": ("legal", returns_text, "it returned 'one'"),
    "illegal number": ("legal", illegal_number, "it wrote 7 as an action; there are 0 … 2"),
    "negative number": ("legal", negative_number, "it wrote -3 as an action; there are 0 … 2"),
    "writes too little": ("legal", writes_too_little, "it wrote nothing as an action; there are 0 … 2"),
    "counts too far": ("legal", counts_too_far, "it returned 99, but there are 3 actions"),
    "never ends": ("legal", never_ends, "not finished after 2 steps (max_steps)"),
    "out of range": ("atoms", out_of_range, "'w' is 4, but has 4 values"),
    "forgets one": ("atoms", forgets_one, "no value for 'y2'"),
    "writes elsewhere": ("advance", writes_elsewhere, "it writes to row 0 of states, not only to row 1"),
}


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_finds_the_function_at_fault(walk):
    what, function, text = WALKS[walk]
    with pytest.raises(StructronError, match=says(what, f"example 5: {text}")):
        chain_problem(**{what: function}).check(X, example=5)


POPS = {"moves": {"L0": 1, "L1": -1}}


@pytest.mark.parametrize(
    ("options", "gold", "text"),
    [
        ({}, [0], "the correct actions end after 1, but the state is not final"),
        ({}, [0, 1, 2], "the state is final after 2 actions, but 'L2' is to come"),
        ({}, [7, 0], "7"),
        ({"legal": only_zero}, [0, 2], "the correct action 'L2' is not legal at step 2"),
        ({"legal": dead_end}, [0, 0], "the correct state is a dead end"),
        (POPS, [1, 0], "'L1' pops an empty stack"),
        (POPS, [0, 1], "'L1' pops an empty stack"),  # the correct way is right, but others that are legal are not
    ],
    ids=["short", "long", "no action", "not legal", "dead end", "pop", "pop elsewhere"],
)
def test_a_walk_finds_correct_actions_that_do_not_fit(options, gold, text):
    with pytest.raises(StructronError, match=says("legal", text) if text != "7" else "7"):
        chain_problem(**options).check(X, gold)


@pytest.mark.parametrize(("gold", "wrong"), [([3, 0], 3), ([-1, 0], -1), ([0, 1, 7], 7)])
def test_a_walk_along_numbers_of_no_action(gold, wrong):
    with pytest.raises(
        StructronError, match=says("legal", f"the correct action {wrong} does not exist; expected 0 … 2")
    ):
        Walk(chain_problem(), X, 5).run(gold)


def test_a_walk_without_fault():
    """A dead end is one on the correct way only."""
    chain_problem().check(X, [0, 1])
    chain_problem(legal=dead_end).check(X)


def test_a_walk_keeps_the_stack():
    x = np.ones((3, 2), np.int64)
    problem = parser_problem()
    problem.check(x, [0, 0, 1, 0, 2])
    problem.check(x)
    with pytest.raises(StructronError, match=says("legal", "'left:0' is not legal at step 2")):
        problem.check(x, [0, 1, 0])


# -- searching without a walk --------------------------------------------------------------------------------------

SEARCHES = {
    "illegal number": ({"legal": illegal_number}, "example 0"),
    "negative number": ({"legal": negative_number}, "example 0"),
    "counts too far": ({"legal": counts_too_far}, "example 0"),
    "illegal number, unchecked": (
        {"legal": illegal_number, "unchecked": True},
        "example 0, step 1: it gave an action outside 0 … 2",
    ),
    "never ends": ({"legal": never_ends}, "not finished within max_steps"),
    "dead end": ({"legal": dead_end}, "example 0, step 2: no state in the beam has a legal action"),
    "pop": ({"moves": {"L0": 1, "L1": -1, "L2": -1}}, "or one that pops an empty stack"),
}


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_ends_with_an_error_not_a_crash(search):
    options, text = SEARCHES[search]
    problem = chain_problem(**options)
    with pytest.raises(StructronError, match=says("legal", text)):
        model_of(problem, {}).decode(inputs_of(problem, [X]), 2)


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ([0, 2], "'L2' is not legal at step 2, in the state column 1 = 1, column 2 = 1, column 3 = 0; legal are 'L0'"),
        ([0, 0, 0], "the state is final after 2 actions, but 'L0' is to come"),
        ([0], "the correct actions end after 1, but the state is not final"),
    ],
    ids=["not legal", "long", "short"],
)
def test_learning_from_correct_actions_that_do_not_fit(gold, text):
    problem = chain_problem(legal=only_zero)
    learner = training(problem, inputs_of(problem, [X, X], [[0, 0], gold]), 2, "early")
    with pytest.raises(StructronError, match=says("legal", "example 1")) as caught:
        learn_pass(learner, [0, 1])
    assert text in str(caught.value)


def test_a_state_without_a_way_on_is_no_error_while_there_are_others():
    """And after an error the engine goes on."""
    problem = chain_problem(legal=dead_after_zero)
    model = model_of(problem, {("y1", (0,), 0): 5.0, ("w", (2,), 1): 1.0})
    for beam in (2, None):
        assert model.decode(inputs_of(problem, [X]), beam) == ([[1, 1]], [1.0])
    with pytest.raises(StructronError, match=says("legal", "no state in the beam has a legal action")):
        model.decode(inputs_of(problem, [X]), 1)
    assert model.decode(inputs_of(problem, [X[:1]]), 1) == ([[0]], [5.0])


def test_functions_need_no_file():
    """Typed at a prompt they cannot be cached, but run."""
    space: dict = {}
    exec(
        "def only_zero(x, table, states, s, out):\n    out[0] = 0\n    return 1 if states[s, 1] < len(x) else 0", space
    )
    problem = chain_problem(legal=space["only_zero"], advance=chain_advance)
    assert model_of(problem, {}).decode(inputs_of(problem, [X]), 2)[0] == [[0, 0]]


def test_atoms_may_be_wiped_before_they_are_written():
    """out is as long as there are atoms, or a function that goes through all of it would write where others read."""
    problem = chain_problem(atoms=wipes_first, templates=["w"])
    model = model_of(problem, {("w", (1,), 1): 1.0, ("w", (2,), 2): 1.0})
    assert model.decode(inputs_of(problem, [X]), 2) == ([[1, 2]], [2.0])


# -- the cache -----------------------------------------------------------------------------------------------------

MINE = '''
"""A user's own problem: copy the input."""
from structron.search.beam.problem import SearchProblem

def start(x, table, states, s):
    states[s, 1] = 0

def legal(x, table, states, s, out):
    out[0] = 0
    out[1] = 1
    return 2 if states[s, 1] < x.shape[0] else 0

def advance(x, table, states, s, action, t):
    states[t, 1] = states[s, 1] + 1

def atoms(x, table, states, s, out):
    out[0] = x[states[s, 1], 0] if states[s, 1] < x.shape[0] else -1

def make():
    functions = {"start": start, "legal": legal, "advance": advance, "atoms": atoms}
    return SearchProblem(
        actions=["no", "yes"], width=2, atom_names={"w": 2}, templates=["w"], max_steps=lambda n: n, **functions
    )
'''
USE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import mine
from problems import inputs_of, learn_pass, training
from structron.learn.beam import LEARN
from structron.search.beam.engine import DECODE

problem = mine.make()
xs = [np.array([[0], [1], [0]]), np.array([[1], [1]])]
learner = training(problem, inputs_of(problem, xs, [[0, 1, 0], [1, 1]]), 2, "max-violation")
for _ in range(4):
    learn_pass(learner, [0, 1])
found = learner.snapshot().decode(inputs_of(problem, xs), 2)[0]

def counts(kernel):
    return [sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values())]

kernels = {"decode": DECODE.kernel, "learn": LEARN.kernel}
mine = {what: own.dispatcher for what, own in zip(problem.functions, problem.pointers)}
print(json.dumps({"found": found, "engine": {k: counts(v) for k, v in kernels.items()},
                  "mine": {k: counts(v) for k, v in mine.items()}}))
"""


@pytest.mark.slow
def test_a_second_process_compiles_neither_the_engine_nor_the_problem(tmp_path):
    """And an edit of the user's file makes only the user's four small functions anew."""
    path = tmp_path / "mine.py"
    path.write_text(MINE)

    def run() -> dict:
        done = run_python(USE, str(tmp_path), timeout=600, PYTHONDONTWRITEBYTECODE="1")
        assert done.returncode == 0, done.stderr[-2000:]
        found = json.loads(done.stdout)
        assert found.pop("found") == [[0, 1, 0], [1, 1]]
        return found

    warm_up()
    engine = {"decode": [1, 0], "learn": [1, 0]}
    made, loaded = (dict.fromkeys(EXPECTED, counts) for counts in ([0, 1], [1, 0]))
    assert run() == {"engine": engine, "mine": made}
    assert run() == {"engine": engine, "mine": loaded}
    path.write_text(MINE + "# edited\n")
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 5))
    assert run() == {"engine": engine, "mine": made}
    assert run() == {"engine": engine, "mine": loaded}


def warm_up() -> None:
    """See to it that the engine is in the cache, whichever test comes first."""
    problem = chain_problem()
    learner = training(problem, inputs_of(problem, [X], [[0, 1]]), 2)
    learn_pass(learner, [0])
    learner.snapshot().decode(inputs_of(problem, [X]), 2)
