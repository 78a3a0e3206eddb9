"""Searches of a user's problem under guard (`debug=True`): its functions run uncompiled, and every call is looked at.

The compiled engine stays as it is; instead of the user's functions it gets four of ours, which hand each call back to
Python. So a write outside `out`, a value that does not fit or a loop without end is found in the search in which it
happens, and ends with the names of example and function.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, objmode

from structron.errors import StructronError
from structron.search.beam.checked import GUARD, Fault
from structron.search.beam.compiling import outer_names, uncompiled
from structron.search.beam.frontier import MAX_ROWS, TAIL, Inputs

MOST_LINES = 1_000_000
"""Lines of Python that one call may run through before it is taken to be endless."""
_active = threading.local()


class States(np.ndarray):
    """The matrix of states, of which one row alone may be written: states.view(States).only(row)."""

    row: int

    def only(self, row: int) -> "States":
        self.row = row
        return self

    def __array_finalize__(self, source: Any) -> None:
        self.row = getattr(source, "row", -1)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if isinstance(found, np.ndarray):
            found = found.view(np.ndarray)
            if _row_of(key) != self.row:
                found.flags.writeable = False
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        row = _row_of(key)
        if row != self.row:
            only = f", not only to row {self.row}" if self.row >= 0 else "; expected it to read them alone"
            raise Fault(f"it writes to row {row} of states{only}")
        super().__setitem__(key, value)


def _row_of(key: Any) -> Any:
    row = key[0] if isinstance(key, tuple) else key
    return int(row) if isinstance(row, int | np.integer) else row


def names_of(functions: dict[str, Callable], width: int) -> list[str]:
    """What a user's functions call the columns of a state: the constants of that value, where one alone has it."""
    called: dict[int, set[str]] = {column: set() for column in range(width)}
    for function in functions.values():
        for name, value in outer_names(function):
            if isinstance(value, int) and not isinstance(value, bool) and value in called and name.isupper():
                called[value].add(name)
    return [f"{column} ({', '.join(sorted(names))})" if names else str(column) for column, names in called.items()]


def described(problem: Any, row: np.ndarray) -> str:
    """A state in words: its columns by name."""
    pairs = list(zip(names_of(problem.functions, problem.width), row.tolist(), strict=True))
    return ", ".join(f"column {name} = {value}" for name, value in pairs if not name.startswith("0"))


def neighbours(array: np.ndarray) -> str:
    return " × ".join(map(str, array.shape))


def lines_counted(call: Callable[[], Any], most: int = MOST_LINES) -> Any:
    """What a call gives; Fault where it runs through too many lines."""
    left = most

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left < 0:
                raise Fault(
                    f"it does not end: {most} lines were executed (line {frame.f_lineno}); is a loop without end?"
                )
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with np.errstate(divide="raise"):
            return call()
    except FloatingPointError:
        raise ZeroDivisionError("division by zero") from None
    finally:
        sys.settrace(before)


def place_in(error: BaseException, function: Callable) -> str:
    """The line of a function in which something was raised."""
    traceback, line = error.__traceback__, 0
    files = {function.__code__.co_filename}
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename in files:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return f" (line {line})" if line else ""


def say(error: BaseException, arrays: dict[str, np.ndarray]) -> str:
    """What was raised, in words."""
    if isinstance(error, Fault):
        return str(error)
    if isinstance(error, IndexError):
        shapes = ", ".join(f"{name} has {neighbours(array)}" for name, array in arrays.items())
        return f"an index outside an array: {error} ({shapes})"
    if isinstance(error, ValueError) and "read-only" in str(error):
        return "it writes to an array that it may only read (x, table, or other rows of states)"
    return f"{type(error).__name__}: {error}"


class Guard:
    """Watches the calls of a problem's functions in one thread after the other; keeps the first fault."""

    def __init__(self, problem: Any):
        self.problem = problem
        self.plain = {what: uncompiled(function) for what, function in problem.functions.items()}
        self.fault = ""
        self.inputs: Inputs | None = None

    def watch(self, call: Callable[[], Any], inputs: Inputs | None) -> Any:
        """Make a compiled call whose functions are under guard."""
        self.inputs = inputs if inputs is not None else self.inputs
        _active.guard, self.fault = self, ""
        try:
            found = call()
        finally:
            _active.guard = None
        if self.fault:
            raise StructronError(self.fault)
        return found

    def example(self, x: np.ndarray) -> str:
        """The number of the example whose input this is."""
        if self.inputs is None or not x.size:
            return "an example"
        offset = (x.ctypes.data - self.inputs.x.ctypes.data) // max(self.inputs.x.strides[0], 1)
        return f"example {int(np.searchsorted(self.inputs.starts, offset, 'right')) - 1}"

    def run(self, what: str, x: np.ndarray, table: np.ndarray, states: np.ndarray, *rest: Any) -> int:
        """One call; after a fault nothing is called any more, and states are final."""
        if self.fault:
            if what == "atoms":
                rest[-1][:] = 0
            return 0
        try:
            return getattr(self, f"_{what}")(*_kept(x, table), states, *rest)
        except Exception as error:
            plain = self.plain[what]
            arrays = {"x": x, "table": table, "states": states}
            arrays |= {"out": rest[-1]} if what in ("legal", "atoms") else {}
            text = say(error, arrays)
            if "(line " not in text:
                text += place_in(error, plain) or f" (line {plain.__code__.co_firstlineno})"
            self.fault = f"{self.problem.name}: {what}: {self.example(x)}: {text}"
            if what == "atoms":
                rest[-1][:] = 0
            elif what in ("start", "advance"):
                states[int(rest[-1]), 1:] = 0
            return 0

    def _call(self, what: str, *arguments: Any) -> Any:
        return lines_counted(lambda: self.plain[what](*arguments))

    def _start(self, x: np.ndarray, table: np.ndarray, states: np.ndarray, s: int) -> int:
        tail = int(states[s, TAIL])
        states[s] = GUARD
        self._call("start", x, table, states.view(States).only(s), s)
        return self._filled(states, s, tail)

    def _advance(self, x: np.ndarray, table: np.ndarray, states: np.ndarray, s: int, action: int, t: int) -> int:
        tail = int(states[t, TAIL])
        states[t] = GUARD
        self._call("advance", x, table, states.view(States).only(t), s, action, t)
        return self._filled(states, t, tail)

    def _filled(self, states: np.ndarray, row: int, tail: int) -> int:
        check_filled(self.problem, states[row])
        states[row, TAIL] = tail
        return 0

    def _legal(self, x: np.ndarray, table: np.ndarray, states: np.ndarray, s: int, out: np.ndarray) -> int:
        out[:] = GUARD
        number = self._call("legal", x, table, states.view(States), s, out)
        check_legal(self.problem, number, out, int(states[s, TAIL]))
        return int(number)

    def _atoms(self, x: np.ndarray, table: np.ndarray, states: np.ndarray, s: int, out: np.ndarray) -> int:
        out[:] = GUARD
        self._call("atoms", x, table, states.view(States), s, out)
        check_atoms(self.problem, out)
        return 0


def check_filled(problem: Any, row: np.ndarray) -> None:
    """Fault: a column of a new state has no value, or one that cannot be."""
    if row[TAIL] != GUARD:
        raise Fault(f"it writes column {TAIL} (TAIL), which belongs to the engine")
    for column in range(TAIL + 1, problem.width):
        if row[column] == GUARD and column != problem.view:
            name = names_of(problem.functions, problem.width)[column]
            raise Fault(f"column {name} of the new state has no value; expected all columns but TAIL to be filled")
    if problem.where >= 0 and row[problem.where] < 0:
        raise Fault(f"column {problem.where} (where) is {row[problem.where]}; expected a token, 0 or higher")
    if problem.lattice >= 0 and row[problem.lattice] > MAX_ROWS:
        raise Fault(f"column {problem.lattice} (lattice) is {row[problem.lattice]}; expected at most {MAX_ROWS}")


def check_legal(problem: Any, number: Any, out: np.ndarray, below: int) -> None:
    """Fault: what `legal` returned or wrote cannot be."""
    if number is None:
        raise Fault("it returned None: is a return missing?")
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise Fault(f"it returned {number!r}, not an integer")
    if number > len(out):
        raise Fault(f"it returned {number}, but there are {len(out)} actions")
    if number < -1:
        raise Fault(f"it returned {number}; expected a number of actions, 0 in a final state, or -1 in a dead end")
    found = out[: max(number, 0)].tolist()
    for action in found:
        if not 0 <= action < len(out):
            wrote = "nothing" if action == GUARD else str(action)
            raise Fault(f"it wrote {wrote} as an action; there are 0 … {len(out) - 1}")
        if problem.moves[action] < 0 and below < 0:
            raise Fault(f"{problem.actions[action]!r} pops an empty stack")
    if len(set(found)) < len(found):
        twice = next(action for action in found if found.count(action) > 1)
        raise Fault(f"it wrote {problem.actions[twice]!r} twice; expected each legal action once")


def check_atoms(problem: Any, out: np.ndarray) -> None:
    """Fault: an atom has no value, or one above its declared size."""
    composition = problem.composition
    for name, size, value in zip(composition.atoms, composition.sizes, out.tolist(), strict=True):
        if value == GUARD:
            raise Fault(f"no value for {name!r}; expected one for each atom")
        if size and value >= size:
            raise Fault(f"{name!r} is {value}, but has {size} values (0 … {size - 1})")


def _kept(x: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same arrays, not to be written to."""
    both = x.view(), table.view()
    for array in both:
        array.flags.writeable = False
    return both


# -- what the engine calls ---------------------------------------------------------------------------------------------


def back_to_python(what: str, *arguments: Any) -> int:
    """A call of the engine, in the thread that called it."""
    return _active.guard.run(what, *arguments)


def start(x, table, states, s):
    with objmode():
        back_to_python("start", x, table, states, s)


def legal(x, table, states, s, out):
    with objmode(found="int64"):
        found = back_to_python("legal", x, table, states, s, out)
    return found  # noqa: RET504 (what an objmode block finds has to have a name)


def advance(x, table, states, s, action, t):
    with objmode():
        back_to_python("advance", x, table, states, s, action, t)


def atoms(x, table, states, s, out):
    with objmode():
        back_to_python("atoms", x, table, states, s, out)


FUNCTIONS: dict[str, Callable] = {"start": start, "legal": legal, "advance": advance, "atoms": atoms}


def guard_for(what: str, signature: Any) -> Any:
    """What the engine gets instead of a user's function; it takes Python's lock, so it does not release it."""
    kernel: Any
    try:
        kernel = njit(cache=True)(FUNCTIONS[what])
        kernel.compile(signature)
    except RuntimeError:  # there is no place for a cache
        kernel = njit(FUNCTIONS[what])
        kernel.compile(signature)
    kernel.disable_compile()
    return kernel
