"""A user's functions compiled so that a mistake ends the search, not the process.

In a user's function, and in the helpers that it calls, every index is checked and the rounds of loops are counted.
Around each of the four stands one of ours: it hands over arrays that are only to be read as such, so that a write is an
error of the compiler's, and looks at what the function has left behind. What they raise says little: `fault_in`
(autopsy.py) then goes through the states of that search uncompiled, and names function, line and example.

`SearchProblem(unchecked=True)` does without.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit, types
from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.imputils import impl_ret_borrowed
from numba.core.ir_utils import build_definitions
from numba.core.postproc import PostProcessor
from numba.core.untyped_passes import LiteralUnroll
from numba.extending import intrinsic, overload

from structron.kernels.private import counting
from structron.search.beam.frontier import MAX_ROWS, TAIL

GUARD = -(1 << 62) - 1
"""A value that nobody writes."""
MOST_ROUNDS = 100_000_000
"""Rounds of the loops of one function in one call, after which it is taken to be endless."""
MANY = 0x5851F42D4C957F2E
"""An even number of which no small multiple is small."""
STATES = 2
"""The number of that argument."""
PART: Any = {"forceinline": True, **counting(False)}
"""Options of what becomes a part of other functions."""
NO_SIZE = np.iinfo(np.int64).max


class Fault(Exception):
    """What is wrong with a call."""


# -- what is added to a user's functions -------------------------------------------------------------------------------


@njit(**PART)
def count_round(rounds):
    """One more round of a loop."""
    if rounds >= MOST_ROUNDS:
        raise Fault("a loop does not end")
    return rounds + 1


def check_row(row, own):
    """Fault: what is written to is not the row that the function is to fill."""


@overload(check_row, jit_options=PART)
def _check_row(row, own):
    whole: Any = row
    first = whole[0] if isinstance(row, types.BaseTuple) and len(row) else row

    def other(row, own):
        raise Fault("it writes to several rows of states")

    def place(row, own):
        if row[0] != own:
            raise Fault("it writes to another row of states")

    def number(row, own):
        if row != own:
            raise Fault("it writes to another row of states")

    if not isinstance(first, types.Integer):
        return other
    return number if first is row else place


@register_pass(mutates_CFG=True, analysis_only=False)
class AddChecks(FunctionPass):
    """Counts rounds, and compares the rows that are written to with the one that is to be filled."""

    _name = "structron_add_checks"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        found, own = state.func_ir, state.pipeline.own_row
        added = _count_rounds(found.blocks)
        added = (own >= 0 and _compare_rows(found, own)) or added
        if added:
            found._definitions = build_definitions(found.blocks)
            PostProcessor(found).run(emit_dels=False)
        return added


def _call(block: Any, function: Any, given: list, loc: Any) -> tuple[list, Any]:
    """Statements that call a function of ours, and where the result stands."""
    callee, result = block.scope.redefine("$our_function", loc), block.scope.redefine("$our_result", loc)
    name = getattr(function, "__name__", "count_round")
    called = ir.Assign(ir.Expr.call(callee, given, (), loc), result, loc)
    return [ir.Assign(ir.Global(name, function, loc), callee, loc), called], result


def _count_rounds(blocks: dict[int, Any]) -> bool:
    """Count at the head of every loop."""
    graph = compute_cfg_from_blocks(blocks)
    heads = sorted({loop.header for loop in graph.loops().values()})
    if heads:
        entry = blocks[graph.entry_point()]
        rounds = entry.scope.redefine("$our_rounds", entry.loc)
        entry.body.insert(0, ir.Assign(ir.Const(0, entry.loc), rounds, entry.loc))
        for block in map(blocks.__getitem__, heads):
            call, result = _call(block, count_round, [rounds], block.loc)
            block.body[:0] = [*call, ir.Assign(result, rounds, block.loc)]
    return bool(heads)


def _compare_rows(found: Any, own: int) -> bool:
    """Before each write to `states` compare its row."""
    entry = found.blocks[compute_cfg_from_blocks(found.blocks).entry_point()]
    row, added = entry.scope.redefine("$our_row", entry.loc), False
    for block in found.blocks.values():
        body: list = []
        for statement in block.body:
            if isinstance(statement, ir.SetItem) and _is_argument(found, statement.target, STATES):
                body += _call(block, check_row, [statement.index, row], statement.loc)[0]
                added = True
            body.append(statement)
        block.body = body
    if added:
        entry.body.insert(0, ir.Assign(ir.Arg(found.arg_names[own], own, entry.loc), row, entry.loc))
    return added


def _is_argument(found: Any, variable: Any, number: int) -> bool:
    """Whether a variable is an argument of the function, by whatever name."""
    try:
        known = found.get_definition(variable)
    except KeyError:  # it has several values
        return False
    return isinstance(known, ir.Arg) and known.index == number


class Checked(CompilerBase):
    """The compiler of a user's functions."""

    own_row = -1

    def define_pipelines(self) -> list:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(AddChecks, LiteralUnroll)
        passes.finalize()
        return [passes]


class CheckedStart(Checked):
    own_row = 3


class CheckedAdvance(Checked):
    own_row = 5


OPTIONS: dict[str, Any] = {"boundscheck": True, "forceinline": True}
COMPILERS: dict[str, type[Checked]] = {"start": CheckedStart, "advance": CheckedAdvance}


class Around:
    """The function that stands around a user's, by its part in the problem; `key` tells them apart on disk."""

    def __init__(self, what: str, view: int, where: int, lattice: int, sizes: Sequence[int]):
        self.compiler = COMPILERS.get(what, Checked)
        self.what, self.columns = what, (view, where, lattice)
        self.sizes = np.array([size or NO_SIZE for size in sizes], np.int64)
        self.key = repr((MOST_ROUNDS, what, self.columns, self.sizes.tolist()))

    def make(self, own: Any) -> Callable:
        """It, for a user's function that is compiled by `compiler`."""
        if self.what == "legal":
            return checked_legal(own)
        if self.what == "atoms":
            return checked_atoms(own, self.sizes)
        return (checked_start if self.what == "start" else checked_advance)(own, *self.columns)


# -- what stands around them -------------------------------------------------------------------------------------------


@intrinsic
def _read_only(typingctx, array):
    """An array that may not be written to."""

    def same(context, builder, signature, given):
        return impl_ret_borrowed(context, builder, signature.return_type, given[0])

    return array.copy(readonly=True)(array), same


read_only: Any = _read_only


@njit(**PART)
def clear_row(states, row):
    for c in range(states.shape[1]):
        states[row, c] = GUARD


@njit(**PART)
def check_row_is_filled(states, row, view, where, lattice):
    """Fault: a column has no value, or one that cannot be."""
    if states[row, TAIL] != GUARD:
        raise Fault("it writes to column TAIL")
    for c in range(TAIL + 1, states.shape[1]):
        if states[row, c] == GUARD and c != view:
            raise Fault("a column has no value")
    if where >= 0 and states[row, where] < 0:
        raise Fault("the column of `where` is below 0")
    if lattice >= 0 and states[row, lattice] > MAX_ROWS:
        raise Fault("the column of `lattice` is too high")


@njit(**PART)
def sum_of(states, row):
    """A number that changes when a row does; no column waits for the sum of those before it."""
    found, factor = np.int64(0), np.int64(1)
    for c in range(states.shape[1]):
        found += states[row, c] * factor
        factor += MANY
    return found


@njit(**counting(False))
def has_twice(out, number):
    """Whether a number stands twice among the first of `out`, which are all below its length."""
    for low in range(0, out.shape[0], 64):
        seen = np.uint64(0)
        for k in range(number):
            if low <= out[k] < low + 64:
                bit = np.uint64(1) << np.uint64(out[k] - low)
                if seen & bit:
                    return True
                seen |= bit
    return False


def checked_start(own: Any, view: int, where: int, lattice: int) -> Callable:
    def start(x, table, states, s):
        tail = states[s, TAIL]
        clear_row(states, s)
        own(read_only(x), read_only(table), states, s)
        check_row_is_filled(states, s, view, where, lattice)
        states[s, TAIL] = tail

    return start


def checked_advance(own: Any, view: int, where: int, lattice: int) -> Callable:
    def advance(x, table, states, s, action, t):
        before = sum_of(states, s)
        clear_row(states, t)
        own(read_only(x), read_only(table), states, s, action, t)
        check_row_is_filled(states, t, view, where, lattice)
        if sum_of(states, s) != before:
            raise Fault("it writes to another row of states")

    return advance


def checked_legal(own: Any) -> Callable:
    def legal(x, table, states, s, out):
        actions = out.shape[0]
        for k in range(actions):
            out[k] = GUARD
        number = own(read_only(x), read_only(table), read_only(states), s, out)
        if number > actions or number < -1:
            raise Fault("it returned a number of actions that cannot be")
        last, ascends = np.int64(-1), True
        for k in range(number):
            if out[k] < 0 or out[k] >= actions:
                raise Fault("it wrote an action that there is not")
            ascends = ascends and out[k] > last
            last = out[k]
        if not ascends and has_twice(out, number):
            raise Fault("it wrote an action twice")
        return number

    return legal


def checked_atoms(own: Any, sizes: np.ndarray) -> Callable:
    def atoms(x, table, states, s, out):
        for a in range(out.shape[0]):
            out[a] = GUARD
        own(read_only(x), read_only(table), read_only(states), s, out)
        for a in range(out.shape[0]):
            if out[a] == GUARD or out[a] >= sizes[a]:
                raise Fault("an atom has no value, or one above its size")

    return atoms
