"""Mistakes that people make in a problem of their own: functions of the thermostat (tests/thermostat.py) gone wrong.

Most go wrong only where an input begins with LATE, which none of the first examples does: what is walked through before
training does not show them, a search does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numba

from structron import BeamLearner, load
from thermostat import AT, LAST, make_examples, make_problem

LATE = 9
SIZES = [2]
NAMES = {"off": 0}
LIMIT = 2
"""A constant that `changed_global` changes when it is compiled in."""


def examples(count: int = 30) -> list[tuple[list[int], list[str]]]:
    """Correct ones; from the seventh on inputs begin with LATE."""
    found = [own for own in make_examples(400, 3) if len(own[0]) >= 4]
    plain, late = ([own for own in found if (own[0][0] == LATE) is begins] for begins in (False, True))
    return [*plain[:6], *late[: count - 6]]


# -- legal -------------------------------------------------------------------------------------------------------------


def gives_action_7(x, table, states, s, out):
    out[0], out[1] = 0, 1
    if x[0, 0] == LATE:
        out[1] = 7
    return 2 if states[s, AT] < x.shape[0] else 0


def gives_negative_action(x, table, states, s, out):
    out[0], out[1] = 0, 1
    if x[0, 0] == LATE:
        out[0] = -3
    return 2 if states[s, AT] < x.shape[0] else 0


def counts_99(x, table, states, s, out):
    out[0], out[1] = 0, 1
    return (99 if x[0, 0] == LATE else 2) if states[s, AT] < x.shape[0] else 0


def counts_below_minus_1(x, table, states, s, out):
    out[0], out[1] = 0, 1
    return (-5 if x[0, 0] == LATE else 2) if states[s, AT] < x.shape[0] else 0


def writes_far_outside_out(x, table, states, s, out):
    out[0], out[1] = 0, 1
    if x[0, 0] == LATE:
        for k in range(2000):
            out[k] = 0
    return 2 if states[s, AT] < x.shape[0] else 0


def writes_one_of_two(x, table, states, s, out):
    out[0] = 0
    if x[0, 0] != LATE:
        out[1] = 1
    return 2 if states[s, AT] < x.shape[0] else 0


def returns_nothing(x, table, states, s, out):
    out[0], out[1] = 0, 1


def returns_nothing_at_times(x, table, states, s, out):  # noqa: RET503
    out[0], out[1] = 0, 1
    if x[0, 0] != LATE:
        return 2 if states[s, AT] < x.shape[0] else 0


def returns_a_text(x, table, states, s, out):
    out[0] = 0
    return "one"


def returns_a_float(x, table, states, s, out):
    out[0], out[1] = 0, 1
    return 2 / 1 if states[s, AT] < x.shape[0] else 0


def is_never_final(x, table, states, s, out):
    out[0], out[1] = 0, 1
    return 2 if x[0, 0] == LATE or states[s, AT] < x.shape[0] else 0


def loops_for_ever(x, table, states, s, out):
    out[0], out[1] = 0, 1
    k = 0
    while x[0, 0] == LATE and k >= 0:
        k = (k + 1) % 5
    return 2 if states[s, AT] < x.shape[0] else 0


@numba.njit
def endless_helper(n):
    k = 0
    while n == LATE and k >= 0:
        k = (k + 3) % 7
    return k


def loops_in_a_helper(x, table, states, s, out):
    out[0], out[1] = endless_helper(x[0, 0]), 1
    return 2 if states[s, AT] < x.shape[0] else 0


@numba.njit
def careless_helper(out, n):
    for k in range(n):
        out[k] = k


def writes_outside_in_a_helper(x, table, states, s, out):
    careless_helper(out, 5000 if x[0, 0] == LATE else 2)
    return 2 if states[s, AT] < x.shape[0] else 0


def gives_an_action_twice(x, table, states, s, out):
    out[0], out[1] = 0, 0 if x[0, 0] == LATE else 1
    return 2 if states[s, AT] < x.shape[0] else 0


def forbids_what_is_correct(x, table, states, s, out):
    out[0], out[1] = 0, 1
    if x[0, 0] == LATE and states[s, AT] < x.shape[0]:
        return 1
    return 2 if states[s, AT] < x.shape[0] else 0


def is_a_dead_end(x, table, states, s, out):
    out[0], out[1] = 0, 1
    if x[0, 0] == LATE and states[s, AT] == 2:
        return -1
    return 2 if states[s, AT] < x.shape[0] else 0


def reads_outside_table(x, table, states, s, out):
    out[0], out[1] = 0, 1
    far = table[700_000] if x[0, 0] == LATE else table[0]
    return 2 + 0 * far if states[s, AT] < x.shape[0] else 0


def writes_to_table(x, table, states, s, out):
    out[0], out[1] = 0, 1
    if x[0, 0] == LATE:
        table[0] = 3
    return 2 if states[s, AT] < x.shape[0] else 0


def uses_an_unknown_name(x, table, states, s, out):
    out[0] = nowhere  # type: ignore[name-defined]  # noqa: F821
    return 1


def plain_helper(n):
    return n + 1


def calls_a_plain_helper(x, table, states, s, out):
    out[0], out[1] = 0, plain_helper(0)
    return 2 if states[s, AT] < x.shape[0] else 0


def reads_a_global_list(x, table, states, s, out):
    out[0], out[1] = 0, 1
    SIZES.append(1)
    return SIZES[0] if states[s, AT] < x.shape[0] else 0


def reads_a_global_dictionary(x, table, states, s, out):
    out[0], out[1] = NAMES["off"], 1
    return 2 if states[s, AT] < x.shape[0] else 0


def reads_a_changing_global(x, table, states, s, out):
    out[0], out[1] = 0, 1
    return LIMIT if states[s, AT] < x.shape[0] else 0


# -- advance -----------------------------------------------------------------------------------------------------------


def forgets_at(x, table, states, s, action, t):
    states[t, LAST] = action + 1


def leaves_at(x, table, states, s, action, t):
    states[t, AT] = states[s, AT]
    states[t, LAST] = action + 1


def forgets_last(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    if x[0, 0] != LATE:
        states[t, LAST] = action + 1


def writes_to_its_source(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    states[t, LAST] = action + 1
    if x[0, 0] == LATE:
        states[s, LAST] = 0


def writes_far_outside_states(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    states[t, LAST] = action + 1
    if x[0, 0] == LATE:
        states[t + 9_000_000, LAST] = 1


def writes_a_column_too_far(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    states[t, LAST] = action + 1
    if x[0, 0] == LATE:
        states[t, 30_000_000] = 1


def writes_to_x(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    states[t, LAST] = action + 1
    if x[0, 0] == LATE:
        x[0, 0] = 3


def divides_by_zero(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    states[t, LAST] = (action + 1) // (LATE - x[0, 0])


def advances_for_ever(x, table, states, s, action, t):
    states[t, AT] = states[s, AT]
    states[t, LAST] = action + 1
    while states[t, AT] != states[s, AT] + (1 if x[0, 0] != LATE else -1):
        states[t, AT] = states[t, AT] + 1 if states[t, AT] < 1000 else 0


def skips_a_token(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + (2 if x[0, 0] == LATE else 1)
    states[t, LAST] = action + 1


def writes_the_tail(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    states[t, LAST] = action + 1
    if x[0, 0] == LATE:
        states[t, 0] = states[s, 0]


@numba.njit
def careless_with_rows(states, row):
    states[row, LAST] = 0


def writes_to_its_source_in_a_helper(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    states[t, LAST] = action + 1
    if x[0, 0] == LATE:
        careless_with_rows(states, s)


@numba.njit
def calls_itself(n):
    return 0 if n != LATE else calls_itself(n)


def advances_without_bottom(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1 + calls_itself(x[0, 0])
    states[t, LAST] = action + 1


def keeps_a_list(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    states[t, LAST] = {"last": action}["first"]


# -- atoms and start ---------------------------------------------------------------------------------------------------


def is_above_its_size(x, table, states, s, out):
    at = states[s, AT]
    out[0] = (x[at, 0] + (5 if x[0, 0] == LATE else 0)) if at < x.shape[0] else -1
    out[1] = states[s, LAST]


def forgets_an_atom(x, table, states, s, out):
    at = states[s, AT]
    out[0] = x[at, 0] if at < x.shape[0] else -1
    if x[0, 0] != LATE:
        out[1] = states[s, LAST]


def writes_a_third_atom(x, table, states, s, out):
    at = states[s, AT]
    out[0] = x[at, 0] if at < x.shape[0] else -1
    out[1] = states[s, LAST]
    if x[0, 0] == LATE:
        out[2] = 0


def reads_behind_the_input(x, table, states, s, out):
    at = states[s, AT]
    out[0] = x[at, 0] if at < x.shape[0] or x[0, 0] == LATE else -1
    out[1] = states[s, LAST]


def writes_to_states(x, table, states, s, out):
    at = states[s, AT]
    out[0] = x[at, 0] if at < x.shape[0] else -1
    out[1] = states[s, LAST]
    if x[0, 0] == LATE:
        states[s, LAST] = 0


def indexes_by_a_float(x, table, states, s, out):
    out[0] = x[states[s, AT] / 2, 0]
    out[1] = states[s, LAST]


def starts_without_last(x, table, states, s):
    states[s, AT] = 0


def starts_elsewhere(x, table, states, s):
    states[s, AT] = states[s, LAST] = 0
    if x[0, 0] == LATE:
        states[s + 1, AT] = 0


def starts_with_a_tail(x, table, states, s):
    states[s, AT] = states[s, LAST] = 0
    if x[0, 0] == LATE:
        states[s, 0] = 7


def starts_for_ever(x, table, states, s):
    states[s, AT] = states[s, LAST] = 0
    while x[0, 0] == LATE:
        states[s, AT] = 0


# -- the table ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mistake:
    """A function gone wrong, or a call; and what its message has to say, beside the function's name."""

    what: str
    says: str
    plant: Callable[..., Any] | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    call: Callable[[], Any] | None = None
    at: str = ""  # the function that went wrong, where the message has to name another

    def make(self, debug: bool) -> None:
        """Make the mistake."""
        HOW["debug"] = debug
        if self.call is not None:
            self.call()
            return
        functions = {} if self.plant is None else {self.at or self.what: self.plant}
        BeamLearner(make_problem(**functions, **self.changes), **HOW, passes=2).fit(examples())


HOW: dict[str, Any] = {"debug": True}
"""Options of the learner that makes a mistake."""


def fit(given: Any, **options: Any) -> BeamLearner:
    return BeamLearner(make_problem(), **HOW, passes=1).fit(given, **options)


def with_actions(change: Callable[[list[str]], list[Any]]) -> Callable[[], Any]:
    """Training on examples of which the last has other actions."""

    def call() -> None:
        *some, (x, actions) = examples(8)
        fit([*some, (x, change(actions))])

    return call


def forgets_to_return_examples() -> None:
    examples(6)


def forgets_to_return_the_problem(extra: Any) -> None:
    make_problem()


def loads_with(maker: Any) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        fit(examples(8)).save(f"{folder}/own.structron", extra={"a": 1})
        load(f"{folder}/own.structron", problem=maker)


def changed_global() -> None:
    global LIMIT
    LIMIT = 2
    learner = BeamLearner(make_problem(legal=reads_a_changing_global), passes=1).fit(examples(8))
    LIMIT = 1
    try:
        learner.predict([[1, 2, 3]])
    finally:
        LIMIT = 2


MISTAKES: dict[str, Mistake] = {
    "an action that is none": Mistake("legal", "it wrote 7 as an action", gives_action_7),
    "a negative action": Mistake("legal", "it wrote -3 as an action", gives_negative_action),
    "more actions than there are": Mistake("legal", "it returned 99, but there are 2 actions", counts_99),
    "a number below -1": Mistake("legal", "it returned -5", counts_below_minus_1),
    "writes outside out": Mistake("legal", "an index outside an array", writes_far_outside_out),
    "writes too few": Mistake("legal", "it wrote nothing as an action", writes_one_of_two),
    "no return": Mistake("legal", "return", returns_nothing),
    "no return at times": Mistake("legal", "return", returns_nothing_at_times),
    "returns a text": Mistake("legal", "it returned 'one'", returns_a_text),
    "returns a float": Mistake("legal", "it returned 2.0, not an integer", returns_a_float),
    "never final": Mistake("legal", "the state is not final", is_never_final),
    "an endless loop": Mistake("legal", "it does not end", loops_for_ever),
    "an endless helper": Mistake("legal", "it does not end", loops_in_a_helper),
    "a helper outside out": Mistake("legal", "an index outside an array", writes_outside_in_a_helper),
    "an action twice": Mistake("legal", "it wrote 'off' twice", gives_an_action_twice),
    "the correct action is not legal": Mistake(
        "legal", "the correct action 'on' is not legal", forbids_what_is_correct
    ),
    "a dead end": Mistake("legal", "dead end", is_a_dead_end),
    "reads outside table": Mistake("legal", "index 700000 is out of bounds", reads_outside_table),
    "writes to table": Mistake("legal", "it may only read", writes_to_table),
    "an unknown name": Mistake("legal", "nowhere", uses_an_unknown_name),
    "a plain helper": Mistake("legal", "plain_helper is a plain function", calls_a_plain_helper),
    "a global list": Mistake("legal", "planted.py, line", reads_a_global_list),
    "a global dictionary": Mistake("legal", "the global NAMES is a dict", reads_a_global_dictionary),
    "a global that changes": Mistake("legal", "LIMIT was 2 when it was compiled and is 1 now", call=changed_global),
    "AT forgotten": Mistake("advance", "column 1 (AT) of the new state has no value", forgets_at),
    "AT left as it was": Mistake("legal", "advance never changes column 1 (AT)", leaves_at, at="advance"),
    "LAST forgotten": Mistake("advance", "column 2 (LAST) of the new state has no value", forgets_last),
    "writes to its source": Mistake("advance", "it writes to row", writes_to_its_source),
    "writes outside states": Mistake("advance", "it writes to row", writes_far_outside_states),
    "a column too far": Mistake("advance", "an index outside an array", writes_a_column_too_far),
    "writes to its source in a helper": Mistake("advance", "it writes to row", writes_to_its_source_in_a_helper),
    "writes the engine's column": Mistake("advance", "column 0 (TAIL), which belongs to the engine", writes_the_tail),
    "a helper without bottom": Mistake("advance", "calls_itself calls itself", advances_without_bottom),
    "writes to x": Mistake("advance", "it may only read", writes_to_x),
    "divides by zero": Mistake("advance", "ZeroDivisionError", divides_by_zero),
    "advances for ever": Mistake("advance", "it does not end", advances_for_ever),
    "skips a token": Mistake("legal", "is to come", skips_a_token, at="advance"),
    "a dictionary": Mistake("advance", "line", keeps_a_list),
    "an atom above its size": Mistake("atoms", "'degrees' is 14, but has 10 values", is_above_its_size),
    "an atom forgotten": Mistake("atoms", "no value for 'last'", forgets_an_atom),
    "an atom too many": Mistake("atoms", "an index outside an array", writes_a_third_atom),
    "reads behind the input": Mistake("atoms", "an index outside an array", reads_behind_the_input),
    "atoms write to states": Mistake("atoms", "it writes to", writes_to_states),
    "an index that is a float": Mistake("atoms", "line", indexes_by_a_float),
    "a start without LAST": Mistake("start", "column 2 (LAST) of the new state has no value", starts_without_last),
    "a start elsewhere": Mistake("start", "it writes to row", starts_elsewhere),
    "a start with a TAIL": Mistake("start", "column 0 (TAIL), which belongs to the engine", starts_with_a_tail),
    "a start for ever": Mistake("start", "it does not end", starts_for_ever),
    "gold too short": Mistake("legal", "are there too few actions?", call=with_actions(lambda own: own[:-1])),
    "gold too long": Mistake("legal", "'off' is to come", call=with_actions(lambda own: [*own, "off"])),
    "an unknown action": Mistake(
        "training data", "unknown action 'of'", call=with_actions(lambda own: ["of", *own[1:]])
    ),
    "examples not returned": Mistake("training data", "without return", call=lambda: fit(forgets_to_return_examples())),
    "a problem not returned": Mistake(
        "forgets_to_return_the_problem", "is a return missing?", call=lambda: loads_with(forgets_to_return_the_problem)
    ),
    "a score not returned": Mistake(
        "score", "is a return missing?", call=lambda: fit(examples(8), dev=examples(8), score=lambda gold, guess: None)
    ),
    "max_steps without return": Mistake("max_steps", "is a return missing?", changes={"max_steps": lambda n: None}),
    "max_steps too small": Mistake("legal", "max_steps", changes={"max_steps": lambda n: 1}),
    "inputs of texts": Mistake("training data", "expected integers", call=lambda: fit([(["a"], ["on"])])),
    "inputs of different lengths": Mistake(
        "training data", "different lengths", call=lambda: fit([([[1], [1, 2]], ["on", "on"])])
    ),
}
