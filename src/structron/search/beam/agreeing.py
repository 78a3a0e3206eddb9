"""Open actions of a user's problem: the actions that agree with the known ones and lead on to a whole derivation.

A derivation agrees if it has as many actions as the example, and each known action in its place. A function takes the
place of `legal`; what `legal` is not told stands in `out`, after the places of the actions:

    out[actions:] = STEP, EXAMPLE, LENGTH, the LENGTH actions (OPEN: not known), …, MEMORY places

Whether a state can be completed is found depth first with the user's own functions, and remembered, so that equal
states are looked at once. It does not depend on weights, so all searches of an example share what is remembered.
"""

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba import njit
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]

from structron.errors import StructronError
from structron.kernels.jit import Pointer, for_signature, helper
from structron.kernels.private import counting
from structron.kernels.table import SEED, mix
from structron.search.beam.compiling import stamp_of
from structron.search.beam.frontier import TAIL
from structron.search.beam.problem import SearchProblem, Walk
from structron.search.beam.signatures import POINTERS

OPEN = -1
STEP, EXAMPLE, LENGTH, ACTIONS = range(4)
"""Places in `out`, after those of the actions."""
MEMORY = 1 << 11
MOST_STATES = 1 << 16
"""States that are looked at to tell whether one can be completed."""
MOST_WALKED = 2000
"""States that are looked at uncompiled to say why none can be."""


def places_beyond(steps: int) -> int:
    """How many places `out` has after those of the actions."""
    return ACTIONS + steps + MEMORY


@helper(allocates=True)
def key_of(hashes, rows, r, about):
    """The key of a row with its stack in the memory, and its hash in `hashes`. about: of the example and the step."""
    h = mix(SEED, hashes[rows[r, TAIL]] if rows[r, TAIL] >= 0 else SEED)
    for c in range(TAIL + 1, rows.shape[1]):
        h = mix(h, np.uint64(rows[r, c]))
    hashes[r] = h
    return np.int64(mix(h, about) >> np.uint64(2)) | np.int64(1)


@helper(allocates=True)
def push_state(advance, moves, x, table, rows, s, action):
    """Fill row s + 1 with what an action makes of row s; False: it pops an empty stack."""
    below, move = rows[s, TAIL], moves[action]
    if move < 0 and below < 0:
        return False
    advance(x, table, rows, s, action, s + 1)
    rows[s + 1, TAIL] = s if move > 0 else (rows[below, TAIL] if move < 0 else below)
    return True


@helper(allocates=True)
def can_be_completed(legal, advance, moves, x, table, rows, hashes, first, step, told, choices):
    """Whether a derivation that agrees goes on from rows[first], the state after `step` actions."""
    count, last, memory = moves.shape[0], told[LENGTH], told.shape[0] - MEMORY
    number, place, keys = np.empty(last + 2, np.int64), np.empty(last + 2, np.int64), np.empty(last + 2, np.int64)
    d, down, looked, found = np.int64(0), True, 0, False
    while d >= 0 and not found:
        at = step + d
        if down:
            about = mix(mix(SEED, np.uint64(told[EXAMPLE])), np.uint64(at))
            keys[d] = key_of(hashes, rows, first + d, about)
            spot = memory + (keys[d] >> 1) % MEMORY
            looked += 1
            number[d], place[d] = 0, 0
            if told[spot] == 2 * keys[d] + 1:
                found = True
            elif told[spot] != 2 * keys[d] and looked <= MOST_STATES:
                number[d] = legal(x, table, rows, first + d, choices[d])
                found = at == last and number[d] == 0
                number[d] = 0 if at == last else min(number[d], count)
        down = False
        while not found and not down and place[d] < number[d]:
            action = choices[d, place[d]]
            place[d] += 1
            if told[ACTIONS + at] == OPEN or told[ACTIONS + at] == action:
                down = push_state(advance, moves, x, table, rows, first + d, action)
        if down:
            d += 1
        elif not found:
            told[memory + (keys[d] >> 1) % MEMORY] = 2 * keys[d]
            d -= 1
    for j in range(d + 1):
        told[memory + (keys[j] >> 1) % MEMORY] = 2 * keys[j] + 1
    return found


@helper(allocates=True)
def agreeing_actions(legal, advance, moves, x, table, states, s, out):
    """`legal`, for the actions that agree: see the module."""
    actions = moves.shape[0]
    told = out[actions:]
    step, last = told[STEP], told[LENGTH]
    number = legal(x, table, states, s, out[:actions])
    if step >= last or number <= 0:
        return np.int64(0 if step == last and number == 0 else -1)
    chain, row = 0, s
    while row >= 0:
        chain, row = chain + 1, states[row, TAIL]
    rows = np.zeros((chain + last - step + 1, states.shape[1]), np.int64)
    hashes, first, row = np.zeros(rows.shape[0], np.uint64), chain - 1, s
    for k in range(first, -1, -1):
        rows[k] = states[row]
        rows[k, TAIL], row = k - 1, states[row, TAIL]
    for k in range(chain):
        key_of(hashes, rows, k, SEED)
    choices = np.empty((last - step + 1, actions), np.int64)
    count, wanted = np.int64(0), told[ACTIONS + step]
    for j in range(number):
        action = out[j]
        if (
            (wanted == OPEN or wanted == action)
            and push_state(advance, moves, x, table, rows, first, action)
            and can_be_completed(legal, advance, moves, x, table, rows, hashes, chain, step + 1, told, choices)
        ):
            out[count] = action
            count += 1
    return count if count > 0 else np.int64(-1)


_compiled: WeakKeyDictionary[SearchProblem, Any] = WeakKeyDictionary()


def agreeing_of(problem: SearchProblem) -> Any:
    """`legal` for what is known of examples, compiled with the user's functions and the checks around them."""
    if problem not in _compiled:
        _compiled[problem] = _compile(problem)
    return _compiled[problem]


def _compile(problem: SearchProblem) -> Any:
    legal, advance = (problem.functions[what] for what in ("legal", "advance"))
    moves, signature = problem.moves, POINTERS["legal"]
    if DISABLE_JIT:
        return _made(legal, advance, moves)
    made = _made(problem.called("legal"), problem.called("advance"), moves)
    stamp = f"agreeing {stamp_of(legal)} {stamp_of(advance)} {problem.name} {moves.tolist()}"
    found = for_signature(njit(nogil=True, **counting(True))(made), signature, stamp, legal)
    return Pointer(found, signature)


def _made(legal: Callable, advance: Callable, moves: np.ndarray) -> Callable:
    def agreeing(x, table, states, s, out):
        return agreeing_actions(legal, advance, moves, x, table, states, s, out)

    return agreeing


def contradiction(problem: SearchProblem, x: np.ndarray, actions: Sequence[int], example: int) -> StructronError:
    """Why no derivation agrees: how far those come that agree until then. Uncompiled."""
    walk, last, deepest, why = Walk(problem, x, example), len(actions), -1, ""
    seen: set[Any] = set()
    waiting = [iter([walk.begin()])]
    while waiting and len(seen) < MOST_WALKED:
        d = len(waiting) - 1
        action = next(waiting[-1], None)
        if action is None:
            waiting.pop()
            continue
        if d:
            walk.used = d
            walk.step(d - 1, action)
        state = d, *map(tuple, stack_of(walk.states, d))
        if state in seen:
            continue
        seen.add(state)
        legal = walk.legal(d)
        wanted = [own for own in legal or () if d < last and actions[d] in (OPEN, own)]
        if not wanted and d > deepest:
            deepest, why = d, _why(problem, actions, d, legal)
        waiting.append(iter(wanted))
    if waiting:
        why = f": no derivation that agrees with the known actions was found among {len(seen)} states"
    return StructronError(
        f"{problem.name}: training data: example {example}{why}; expected the actions of a whole derivation, None "
        "where one is open"
    )


def stack_of(states: np.ndarray, row: int) -> list[list[int]]:
    """A state and those below it on the stack, without their TAIL."""
    found = []
    while row >= 0:
        found.append(states[row, TAIL + 1 :].tolist())
        row = int(states[row, TAIL])
    return found


def _why(problem: SearchProblem, actions: Sequence[int], d: int, legal: list[int] | None) -> str:
    """Why no derivation goes on after d actions."""
    if d == len(actions):
        return f": no derivation that agrees is final after its {d} actions"
    if legal == []:
        return f": {len(actions)} actions, but derivations that agree are final after {d}"
    if actions[d] == OPEN:
        return f", step {d + 1}: no action is legal there"
    name = problem.actions[actions[d]]
    return f", step {d + 1}: {name!r} is not legal after any actions that agree with those before"
