"""What a search problem is: four functions over integers, the names of its actions and atoms, and its templates.

    start(x, table, states, s)                  fill row s of states with the start state
    legal(x, table, states, s, out) -> int      write the legal actions of row s to out and return how many;
                                                0: the state is final, -1: a dead end
    advance(x, table, states, s, action, t)     fill row t with the state that the action makes of row s
    atoms(x, table, states, s, out)             write the values that templates combine; negative: says nothing

x is the input of one example, int64[tokens, columns]; table holds constants of the problem, int64[:]. States are rows
of int64[rows, width]. Column TAIL (0) of a row belongs to the engine. In a problem with a stack it is the row on which
the top was pushed: an action of move +1 pushes (TAIL becomes s), one of move -1 pops (TAIL becomes the TAIL of the
row that was below). So a stack is a chain of rows, and merged states can share it.

The functions are compiled to typed pointers; the engine is compiled once for all problems. They must not allocate much,
raise or keep anything. Those of users are compiled with checks (checked.py); what goes wrong is named by going through
it uncompiled (autopsy.py), as `check` does before anything is compiled.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]

from structron.errors import StructronError, quoted
from structron.features.places import AT
from structron.kernels.jit import Pointer
from structron.search.beam.checked import GUARD, Around, Fault
from structron.search.beam.compiling import callable_in_kernels, changed, constants, is_own, pointer, uncompiled
from structron.search.beam.examples import as_input, is_pairs, number_of, pairs_in
from structron.search.beam.frontier import TAIL
from structron.search.beam.guard import (
    FUNCTIONS,
    Guard,
    States,
    check_atoms,
    check_filled,
    check_legal,
    described,
    guard_for,
    lines_counted,
    names_of,
    place_in,
    say,
)
from structron.search.beam.signatures import POINTERS
from structron.search.beam.states import Composition, compose, part_of

EXPECTED = {
    "start": "start(x, table, states, s)",
    "legal": "legal(x, table, states, s, out) -> int",
    "advance": "advance(x, table, states, s, action, t)",
    "atoms": "atoms(x, table, states, s, out)",
}
MAX_STEPS = 1 << 24
"""Of a derivation: more are more than a search has room for."""
MAX_WIDTH, MAX_ACTIONS, MAX_COLUMNS = 1 << 12, 1 << 20, 1 << 20
"""Of states, of a problem, of weights."""
MAX_SIZE = 1 << 62
"""Values of an atom."""


def many_steps(tokens: int) -> int:
    """More steps than a derivation is likely to have."""
    return 10 * tokens + 100


def steps_of(problem: "SearchProblem", tokens: int) -> int:
    """The steps that derivations of so many tokens may have; a function that says something else is named. That of a
    problem of ours is called once for each number."""
    if tokens in problem.known_steps:
        return problem.known_steps[tokens]
    try:
        found: Any = problem.max_steps(tokens)
    except Exception as error:
        raise StructronError(f"{problem.name}: max_steps({tokens}) failed: {type(error).__name__}: {error}") from error
    if isinstance(found, bool) or not isinstance(found, int | np.integer) or not 0 <= found <= MAX_STEPS:
        missing = " (is a return missing?)" if found is None else ""
        expected = f"expected an integer of at most {MAX_STEPS}, the largest number of actions of a derivation"
        raise StructronError(f"{problem.name}: max_steps({tokens}) is {quoted(found)}{missing}; {expected}")
    if not problem.is_own:
        problem.known_steps[tokens] = int(found)
    return int(found)


class SearchProblem:
    """A structured problem that can be searched, and therefore learned.

    Args:
        actions: The names of the actions.
        width: The number of integers in a state, including TAIL.
        start: start(x, table, states, s) fills row s with the start state.
        legal: legal(x, table, states, s, out) writes the legal actions and returns their number.
        advance: advance(x, table, states, s, action, t) fills row t with the successor of row s.
        atoms: atoms(x, table, states, s, out) writes the values that templates combine.
        atom_names: The name of each atom and its number of values (0: unbounded), or only the names.
        templates: Templates such as "c0|c1".
        moves: +1 for actions that push, -1 for actions that pop.
        parts: For every action the columns of weights that its score adds up (-1: none), so that actions can share
            weights; by default a column of its own.
        always: Atoms that distinguish states although no template uses them.
        table: Constants for the functions.
        max_steps: The largest number of actions for a number of tokens.
        where: The column of a state with the token whose numbered features count (chains).
        looks_at: The parts of a state that an atom reads. Scores of templates over the same parts are cached, so few
            parts are fast.
        views: For every action a number from 0 on, if atoms have different values for different actions.
        view: The column of a state in which `atoms` finds the view to be scored, 0 at other times; `legal` should list
            actions of one view together.
        segment_features: (positions, whole), if actions take segments of tokens that begin at `where`, as long as their
            view says.
        lattice: A column with a number that grows with every action and is equal for two states if and only if they
            differ only in their past: search without a beam is then fast, and training sees the whole lattice.
        exchangeable: Whether any action of a derivation can be replaced by another while the others stay: `advance` and
            `atoms` accept any action in any state that is not final, and all derivations have equal lengths. Weighted
            violations then mix actions, otherwise actions with their states.
        slack: Predictions drop states that are further behind the best of the beam than this many standard deviations
            of the scores of a state's actions.
        spell: Names of the values of atoms, which `inspect` and `explain` show.
        unchecked: Compile the functions without checks: a mistake in them may then crash the process or never end.

    Examples:
        >>> from structron import SearchProblem
        >>> def start(x, table, states, s):
        ...     states[s, 1] = 0
        >>> def legal(x, table, states, s, out):
        ...     out[0], out[1] = 0, 1
        ...     return 2 if states[s, 1] < x.shape[0] else 0
        >>> def advance(x, table, states, s, action, t):
        ...     states[t, 1] = states[s, 1] + 1
        >>> def atoms(x, table, states, s, out):
        ...     out[0] = x[states[s, 1], 0] if states[s, 1] < x.shape[0] else -1
        >>> functions = {"start": start, "legal": legal, "advance": advance, "atoms": atoms}
        >>> options = {"atom_names": {"number": 10}, "templates": ["number"], "max_steps": lambda n: n}
        >>> problem = SearchProblem(name="parity", actions=["even", "odd"], width=2, **functions, **options)
        >>> problem.check([1, 2], ["odd", "even"])  # walks through this example, and says what is wrong
    """

    def __init__(
        self,
        *,
        actions: Sequence[str],
        width: int,
        start: Callable,
        legal: Callable,
        advance: Callable,
        atoms: Callable,
        atom_names: Mapping[str, int] | Sequence[str],
        templates: Sequence[str],
        moves: Mapping[str, int] | Sequence[int] | None = None,
        parts: Sequence[Sequence[int]] | np.ndarray | None = None,
        always: Sequence[str] = (),
        table: Sequence[int] | np.ndarray = (0,),
        max_steps: Callable[[int], int] = many_steps,
        where: int = -1,
        looks_at: Callable[[str], Iterable[str]] = part_of,
        views: Sequence[int] | np.ndarray | None = None,
        view: int = -1,
        segment_features: tuple[int, int] = (0, 0),
        lattice: int = -1,
        exchangeable: bool = False,
        slack: float = np.inf,
        spell: Mapping[str, Sequence[str]] | None = None,
        name: str = "problem",
        unchecked: bool = False,
    ):
        self.name, self.unchecked = name, unchecked
        self.actions, self.width = self._names(actions), self._whole("width", width, 1, MAX_WIDTH)
        self.max_steps, self.where, self.spell, self.slack = max_steps, where, spell, slack
        if not callable(max_steps):
            raise StructronError(f"{name}: max_steps: {quoted(max_steps)}; expected a function of the number of tokens")
        self.functions = {"start": start, "legal": legal, "advance": advance, "atoms": atoms}
        for what, function in self.functions.items():
            self._check_signature(what, function)
        self.composition: Composition = compose(self._sizes(atom_names), templates, always, looks_at)
        self.index = {action: number for number, action in enumerate(self.actions)}
        self.table = self._array("table", table).reshape(-1)
        self.moves = np.zeros(len(self.actions), np.int64)
        if isinstance(moves, Mapping):
            for action, move in moves.items():
                if action not in self.index:
                    raise StructronError(f"{name}: moves name {action!r}, which is not an action")
                self.moves[self.index[action]] = self._whole(f"move of {action!r}", move, -1, 1)
        elif moves is not None:
            given = self._array("moves", moves)
            if given.shape != self.moves.shape:
                raise StructronError(
                    f"{name}: {given.size} moves; expected one for each of {len(self.actions)} actions"
                )
            self.moves[:] = [self._whole("moves", move, -1, 1) for move in given.tolist()]
        own = np.arange(len(self.actions), dtype=np.int64).reshape(-1, 1)
        self.parts = own if parts is None else self._array("parts", parts)
        if self.parts.ndim != 2 or len(self.parts) != len(self.actions) or not self.parts.size:
            raise StructronError(
                f"{name}: parts have shape {self.parts.shape}; expected a row of columns for each action"
            )
        for column in (self.parts.min(), self.parts.max()):
            self._whole("parts", column, -1, MAX_COLUMNS)
        self.columns = int(self.parts.max()) + 1
        self.view, self.segment_features, self.lattice, self.exchangeable = (
            view,
            segment_features,
            lattice,
            exchangeable,
        )
        self.views = np.zeros(len(self.actions), np.int64) if views is None else self._array("views", views)
        self._check_columns()
        self.known_steps: dict[int, int] = {}
        self._pointers: list[Any] | None = None
        self._constants: dict[str, dict[str, Any]] = {}
        self.is_own = any(is_own(function) for function in self.functions.values())
        """Whether it is a user's, whose functions may do anything."""
        self.guard: Guard | None = None

    def _whole(self, what: str, value: Any, low: int, high: int) -> int:
        """A whole number of that size."""
        fits = isinstance(value, int | np.integer) and not isinstance(value, bool)
        value = int(value) if fits else value
        if not fits or not low <= value <= high:
            raise StructronError(f"{self.name}: {what}: {quoted(value)}; expected a whole number, {low} … {high}")
        return value

    def _array(self, what: str, values: Any) -> np.ndarray:
        """Whole numbers as an array."""
        try:
            found = np.asarray(values)
        except ValueError:  # rows of different lengths
            found = np.array("")
        if found.size and found.dtype.kind not in "iub":
            raise StructronError(f"{self.name}: {what}: {quoted(values)}; expected whole numbers")
        return np.ascontiguousarray(found, np.int64)

    def _names(self, actions: Any) -> list[str]:
        """The names of actions, each another one."""
        if isinstance(actions, str | bytes) or not isinstance(actions, Iterable):
            raise StructronError(f"{self.name}: actions: {quoted(actions)}; expected a list of names")
        found = list(actions)
        if not found:
            raise StructronError(f"{self.name}: no actions; expected at least one")
        if len(found) > MAX_ACTIONS:
            raise StructronError(f"{self.name}: {len(found)} actions; expected at most {MAX_ACTIONS}")
        for action in found:
            if not isinstance(action, str):
                raise StructronError(f"{self.name}: actions: {quoted(action)} is not a name; expected a list of names")
        if len(set(found)) < len(found):
            twice = next(action for number, action in enumerate(found) if action in found[:number])
            raise StructronError(f"{self.name}: actions: {twice!r} occurs twice; expected different names")
        return found

    def _sizes(self, atom_names: Any) -> dict[str, int]:
        """Atoms and how many values they have."""
        if isinstance(atom_names, str | bytes) or not isinstance(atom_names, Iterable):
            raise StructronError(f"{self.name}: atom_names: {quoted(atom_names)}; expected names, or {{name: size}}")
        named = atom_names if isinstance(atom_names, Mapping) else dict.fromkeys(atom_names, 0)
        for name in named:
            if not isinstance(name, str):
                raise StructronError(f"{self.name}: atom_names: {quoted(name)} is not a name; expected {{name: size}}")
        return {name: self._whole(f"size of atom {name!r}", size, 0, MAX_SIZE) for name, size in named.items()}

    def _check_columns(self) -> None:
        if self.views.shape != (len(self.actions),) or (self.views < 0).any():
            raise StructronError(f"{self.name}: views: expected a number, 0 or higher, for each action")
        self._whole("views", self.views.max(), 0, MAX_COLUMNS)
        if self.view < 0 and self.views.any():
            raise StructronError(f"{self.name}: views without `view`; expected the column in which atoms find them")
        for what in ("where", "view", "lattice"):
            column = getattr(self, what)
            if not isinstance(column, int | np.integer) or column == TAIL or column >= self.width:
                raise StructronError(f"{self.name}: {what}: column {column}; expected one of 1 … {self.width - 1}")
        if self.lattice >= 0 and self.moves.any():
            raise StructronError(f"{self.name}: lattice: does not work with a stack (moves)")
        if self.exchangeable and self.moves.any():
            raise StructronError(f"{self.name}: exchangeable: does not work with a stack (moves)")

    def _check_signature(self, what: str, function: Callable) -> None:
        expected = EXPECTED[what]
        wanted = expected.count(",") + 1
        plain = getattr(function, "py_func", function)
        try:
            found = len(inspect.signature(plain).parameters)
        except (TypeError, ValueError):
            raise StructronError(f"{self.name}: {what} is {function!r}; expected a function {expected}") from None
        if found != wanted:
            raise StructronError(f"{self.name}: {what} takes {found} arguments; expected {expected}")

    @property
    def pointers(self) -> list[Any]:
        """start, legal, advance and atoms, compiled; under guard those that hand the calls of these on to Python."""
        if self._pointers is None:
            self._constants = {what: constants(function) for what, function in self.functions.items() if self.is_own}
            self._pointers = [
                pointer(function, POINTERS[what], f"{self.name}: {what}", EXPECTED[what], self._around(what))
                for what, function in self.functions.items()
            ]
            if self.guard is not None and not DISABLE_JIT:
                self._pointers = [guard_for(what, POINTERS[what]) for what in self.functions]
            elif self.guard is not None:
                self._pointers = list(FUNCTIONS.values())
            if not DISABLE_JIT:
                kinds = [POINTERS[what] for what in self.functions]
                self._pointers = list(map(Pointer, self._pointers, kinds))
        return self._pointers

    def called(self, what: str) -> Any:
        """A function as compiled code calls it, with its checks."""
        return callable_in_kernels(self.functions[what], self._around(what))

    def _around(self, what: str) -> Around | None:
        """What checks a user's function."""
        columns = (self.view, self.where, self.lattice)
        return None if self.unchecked else Around(what, *columns, self.composition.sizes)

    def check_constants(self) -> None:
        """Refuse to go on with functions in which a constant is compiled that has changed since."""
        for what, before in self._constants.items():
            if said := changed(what, before, self.functions[what]):
                raise StructronError(f"{self.name}: {said}")

    def guarded(self) -> "SearchProblem":
        """The same problem, whose functions are watched in every search (see guard.py)."""
        found = copy(self)
        found.guard, found._pointers = Guard(self), None
        return found

    def with_legal(self, legal: Callable) -> "SearchProblem":
        """The same problem with another `legal`."""
        found = copy(self)
        found.functions, found._pointers = self.functions | {"legal": legal}, None
        return found

    @property
    def kinds(self) -> tuple[int, int, int]:
        """How many lists of features a token has (0: one), for how many positions, for how many lengths: Anchored."""
        positions, whole = self.segment_features
        return (AT + positions + whole if positions else 0, positions, whole)

    def __getstate__(self) -> dict[str, Any]:
        """Compiled functions are made again."""
        return vars(self) | {"_pointers": None, "guard": None}

    def plain(self, what: str) -> Callable:
        """A function as it was written."""
        return getattr(self.functions[what], "py_func", self.functions[what])

    # -- checking ------------------------------------------------------------------------------------------------

    def check(self, x: Any, gold: Iterable[str | int | None] = (), example: int = 0) -> None:
        """Run the functions uncompiled on examples, along gold (if all of it is known) and twice at random, and report
        which function is wrong.

        Args:
            x: An input; or a list of pairs of an input and its actions.
            gold: The actions of the input.
            example: The number of the example in messages.
        """
        gold = list(gold)
        if is_pairs(x) and not gold:
            for number, (own, actions) in enumerate(pairs_in(x, "examples")):
                self.check(own, actions, number)
            return
        where = f"example {example}"
        array = as_input(x, where)
        if not len(array):
            raise StructronError(f"{where}: an empty input; expected at least one row")
        known = [number_of(action, self.actions, self.index, where) for action in gold if action is not None]
        self.check_walk(array, known if len(known) == len(gold) else (), example)

    def check_walk(self, x: np.ndarray, gold: Sequence[int] = (), example: int = 0) -> None:
        """The same of one example as numbers."""
        if len(gold):
            Walk(self, x, example).run(list(gold))
        for seed in range(2):
            Walk(self, x, example).wander(np.random.default_rng(seed))
        if self.exchangeable:
            Walk(self, x, example).wander(np.random.default_rng(2), range(len(self.actions)))


class Walk:
    """One derivation in plain Python, with everything looked at that compiled code would trust."""

    def __init__(self, problem: SearchProblem, x: np.ndarray, example: int, table: np.ndarray | None = None):
        """table: constants of this example, where they are others than the problem's."""
        self.problem, self.x, self.example = problem, x, example
        self.table = problem.table if table is None else table
        self.limit = steps_of(problem, len(x))
        self.states = np.zeros((2 * self.limit + 4, problem.width), np.int64)
        self.plain = {what: uncompiled(function) for what, function in problem.functions.items()}
        self.used = 1

    def fail(self, what: str, text: str) -> StructronError:
        text += "" if "(line " in text else f" (line {self.plain[what].__code__.co_firstlineno})"
        return StructronError(f"{self.problem.name}: {what}: example {self.example}: {text}; expected {EXPECTED[what]}")

    def call(self, what: str, *arguments: Any, writes: int = -1) -> Any:
        """A function of the problem, uncompiled. writes: the row of states that it may write to."""
        states = self.states.view(States).only(writes)
        x, table = self.x.view(), self.table.view()
        x.flags.writeable = table.flags.writeable = False
        try:
            return lines_counted(lambda: self.plain[what](x, table, states, *arguments))
        except Exception as error:
            arrays = {"x": self.x, "table": self.table, "states": self.states}
            arrays |= {"out": arguments[-1]} if what in ("legal", "atoms") else {}
            raise self.fail(what, f"{say(error, arrays)}{place_in(error, self.plain[what])}") from None

    def judge(self, what: str, check: Callable[..., None], *given: Any) -> None:
        """Look at what a function did; its fault is said to be its own."""
        try:
            check(self.problem, *given)
        except Fault as fault:
            raise self.fail(what, str(fault)) from None

    def wander(self, random: np.random.Generator, others: Sequence[int] = ()) -> None:
        """Take legal actions, or some of the others, at random until the end, or a dead end."""
        row = self.begin()
        for _ in range(self.limit + 1):
            legal = self.legal(row)
            if not legal:
                return
            row = self.step(row, int(random.choice(others or legal)))
            self.compute_atoms(row)
        raise self.endless()

    def endless(self) -> StructronError:
        """A derivation that is not finished in time, and what never changes in it."""
        text = f"not finished after {self.limit} steps (max_steps); it returns 0 in a final state"
        return self.fail("legal", text + self.steady())

    def steady(self) -> str:
        """The columns that no action has changed."""
        names, seen = names_of(self.problem.functions, self.problem.width), self.states[: self.used]
        found = [names[c] for c in range(1, self.problem.width) if self.used > 2 and (seen[:, c] == seen[0, c]).all()]
        return f"; advance never changes column {' and column '.join(found)}" if found else ""

    def begin(self) -> int:
        self.states[0] = GUARD
        self.call("start", 0, writes=0)
        self.judge("start", check_filled, self.states[0])
        self.states[0, TAIL] = -1
        self._settle_view(0)
        self.compute_atoms(0)
        return 0

    def _settle_view(self, row: int) -> None:
        if self.problem.view >= 0 and self.states[row, self.problem.view] == GUARD:
            self.states[row, self.problem.view] = 0

    def run(self, gold: list[int]) -> None:
        """Follow the correct actions."""
        problem, row = self.problem, self.begin()
        for action in gold:
            if not 0 <= action < len(problem.actions):
                there = f"expected 0 … {len(problem.actions) - 1}"
                raise self.fail("legal", f"the correct action {action} does not exist; {there}")
        for step in range(self.limit + 1):
            self.compute_atoms(row)
            legal = self.legal(row)
            if legal is None:
                raise self.fail("legal", f"the correct state is a dead end: {described(problem, self.states[row])}")
            if not legal:
                if len(gold) > step:
                    name = problem.actions[gold[step]]
                    raise self.fail("legal", f"the state is final after {step} actions, but {name!r} is to come")
                return
            if step >= len(gold):
                raise self.fail(
                    "legal",
                    f"the correct actions end after {step}, but the state is not final: "
                    f"{described(problem, self.states[row])}; are there too few actions?{self.steady()}",
                )
            action = gold[step]
            if action not in legal:
                some = ", ".join(repr(problem.actions[other]) for other in legal[:8])
                raise self.fail(
                    "legal",
                    f"the correct action {problem.actions[action]!r} is not legal at step {step + 1}, in the state "
                    f"{described(problem, self.states[row])}; legal are {some}",
                )
            row = self.step(row, action)
        raise self.endless()

    def compute_atoms(self, row: int) -> None:
        out = np.full(len(self.problem.composition.atoms), GUARD, np.int64)
        self.call("atoms", row, out)
        self.judge("atoms", check_atoms, out)

    def legal(self, row: int) -> list[int] | None:
        """The legal actions of a row, None in a dead end."""
        out = np.full(len(self.problem.actions), GUARD, np.int64)
        number = self.call("legal", row, out)
        self.judge("legal", check_legal, number, out, int(self.states[row, TAIL]))
        found = out[: max(number, 0)].tolist()
        for view in sorted({int(self.problem.views[action]) for action in found}) if self.problem.view >= 0 else ():
            self.states[row, self.problem.view] = view
            self.compute_atoms(row)
            self.states[row, self.problem.view] = 0
        return None if number < 0 else found

    def step(self, row: int, action: int) -> int:
        new, move = self.used, int(self.problem.moves[action])
        self.used += 1
        self.states[new] = GUARD
        self.call("advance", row, action, new, writes=new)
        self.judge("advance", check_filled, self.states[new])
        self._settle_view(new)
        node = self.problem.lattice
        if node >= 0 and not 0 <= self.states[row, node] < self.states[new, node]:
            numbers = f"{self.states[row, node]} and then {self.states[new, node]}"
            raise self.fail("advance", f"column {node} (lattice) is {numbers}: it must be 0 or higher, and grow")
        below = int(self.states[row, TAIL])
        if move < 0 and below < 0:
            raise self.fail("legal", f"{self.problem.actions[action]!r} pops an empty stack")
        self.states[new, TAIL] = row if move > 0 else self.states[below, TAIL] if move < 0 else below
        return new


def shape_of(problem: SearchProblem) -> dict[str, Any]:
    """What weights depend on: all of a problem but its code and its table."""
    composition = problem.composition
    return {
        "name": problem.name,
        "actions": problem.actions,
        "atoms": [[name, int(size)] for name, size in zip(composition.atoms, composition.sizes, strict=True)],
        "templates": composition.texts,
        "moves": problem.moves.tolist(),
        "parts": problem.parts.tolist(),
    }


def misfit(saved: dict[str, Any], given: dict[str, Any]) -> str:
    """How a problem differs from the one that a model was trained for; nothing when it fits."""
    for what in ("actions", "atoms", "templates", "moves", "parts"):
        old, new = saved[what], given[what]
        for number, (a, b) in enumerate(zip(old, new, strict=False)):
            if a != b:
                return f"{what} differ: number {number} is {a!r} in the file and {b!r} in the problem"
        if len(old) != len(new):
            return f"{what} differ: {len(old)} in the file and {len(new)} in the problem"
    return ""


def checking() -> bool:
    """Whether every update is checked to be a violation: STRUCTRON_CHECK=1."""
    return os.environ.get("STRUCTRON_CHECK", "") not in ("", "0")


__all__ = ["EXPECTED", "POINTERS", "SearchProblem", "checking", "misfit", "pointer", "shape_of"]
