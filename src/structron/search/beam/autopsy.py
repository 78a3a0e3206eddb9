"""What a search has left behind when a user's function raised: its states, through which the functions go once more,
uncompiled, until the one that is wrong is found."""

from typing import NamedTuple

import numpy as np

from structron.errors import StructronError
from structron.search.beam.frontier import FIRST, POP, SIZE, TAIL, Inputs
from structron.search.beam.problem import SearchProblem, Walk

MOST_CALLS = 50_000
"""Of a user's functions, while states are gone through."""


class Remains(NamedTuple):
    """A search that came to no end."""

    example: int
    states: np.ndarray
    """Those that were finished."""
    link: np.ndarray | None = None
    list_row: np.ndarray | None = None
    """Of a beam with a stack: see frontier.py."""
    now: int = -1
    """The state that was at hand, where that is known."""


def fault_in(problem: SearchProblem, inputs: Inputs, remains: Remains) -> StructronError | None:
    """What is wrong with a function, where it can be found."""
    e = remains.example
    x = inputs.x[inputs.starts[e] : inputs.starts[e + 1]]
    try:
        walk = Walk(problem, x, e, inputs.table)
        walk.legal(walk.begin())
        count = len(remains.states)
        walk.states, walk.used = np.concatenate([remains.states, np.zeros((1, problem.width), np.int64)]), count
        calls = 0
        for row in [*([remains.now] if 0 <= remains.now < count else []), *range(count - 1, -1, -1)]:
            calls += _visit(walk, row, _below(remains, row))
            if calls > MOST_CALLS:
                break
    except StructronError as found:
        return found
    return None


def _visit(walk: Walk, row: int, below: list[int]) -> int:
    """Call everything that a search may call of a state; returns about how many calls that were."""
    walk.compute_atoms(row)
    tail, calls = int(walk.states[row, TAIL]), 2
    for action in walk.legal(row) or ():
        for place in below if walk.problem.moves[action] == POP and below else [tail]:
            walk.states[row, TAIL] = place
            new = walk.step(row, action)
            walk.compute_atoms(new)
            walk.legal(new)
            walk.used = new
            calls += 3
    walk.states[row, TAIL] = tail
    return calls


def _below(remains: Remains, row: int) -> list[int]:
    """The rows that the top of a state's stack was pushed on."""
    if remains.link is None or remains.list_row is None:
        return []
    first = int(remains.link[row, FIRST])
    return remains.list_row[first : first + int(remains.link[row, SIZE])].tolist()
