"""A node of a search and what leads on from it: the compiled step of queue search (queue.py).

All nodes of a search are rows of one matrix, each with the row and the action that it was made from; without merging a
stack is the chain of TAIL rows. One call makes all successors of a node, with their scores. A `Space` is one example
as Python sees it: nodes, their successors, and which of them are y-good: prefixes of a correct derivation.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from structron.errors import StructronError
from structron.kernels.jit import ZERO, WithFunctionPointers
from structron.kernels.reference import Doubles, Ints, Ints2, by_reference
from structron.search.beam.autopsy import Remains
from structron.search.beam.engine import Engine
from structron.search.beam.frontier import BAD_ACTION, POP, PUSH, TAIL, Anchored, Inputs, Memory
from structron.search.beam.scores import score_state
from structron.search.beam.signatures import POINTERS, SCORE
from structron.search.beam.steps import compute_atoms, gain_of, token_of
from structron.weights.sparse import Sparse

FIRST_ROWS = 1 << 10
Heuristic = Callable[..., float]
"""heuristic(x, table, states, s): the most that may still be gained from row s on."""


@by_reference
class Ground(NamedTuple):
    """The rows of one search: states, how each was reached, and how many actions are legal there; scratch memory."""

    states: Ints2  # int64[rows, width]
    back: Ints  # int64[rows]
    action: Ints  # int64[rows]
    gain: Doubles  # float64[rows]: the action's own score
    choices: Ints  # int64[rows]: what `legal` says: 0 for a goal, -1 for a dead end
    atoms: Ints2  # int64[1, atoms + 1]
    legal: Ints  # int64[actions]
    other: Ints  # int64[actions]


def expander(score_view, start, legal, advance, atoms, inputs, anchored, sparse, setting, memory, ground, asked):
    """Makes successors: asked[:] = (e, s, t), and next() fills rows t, t + 1, … with what the legal actions of example
    e make of row s, and gives their number; more than there are actions: `legal` was wrong. s < 0: row t is the start.

    A generator, because a call with pointers to functions and dozens of arrays takes a hundred times as long as the
    step itself; so they are handed over once. There must be room for as many rows as there are actions.
    """
    states, views, moves = ground.states, setting.views, setting.moves
    table, actions = inputs.table, moves.shape[0]
    while True:
        e, s, t = asked[0], asked[1], asked[2]
        base, end = inputs.starts[e], inputs.starts[e + 1]
        x = inputs.x[base:end]
        number = np.int64(1)
        if s < 0:
            states[t, TAIL] = -1
            start(x, table, states, t)
            ground.back[t], ground.action[t], ground.gain[t] = -1, -1, 0.0
            ground.choices[t] = legal(x, table, states, t, ground.other)
        else:
            number = legal(x, table, states, s, ground.legal)
            token, view, below = token_of(setting.where, states, s, base, end), np.int64(-1), states[s, TAIL]
            for j in range(number if number <= actions else 0):
                action, new = ground.legal[j], t + j
                if action < 0 or action >= actions or (moves[action] == POP and below < 0):
                    number = actions + 1
                    break
                if views[action] != view:
                    view = views[action]
                    compute_atoms(atoms, x, table, states, s, setting.view_at, view, ground.atoms, ZERO)
                    score_view(setting.features, anchored, sparse, ground.atoms, ZERO, token, view, memory)
                advance(x, table, states, s, action, new)
                states[new, TAIL] = s if moves[action] == PUSH else below
                if moves[action] == POP:
                    states[new, TAIL] = states[below, TAIL]
                ground.back[new], ground.action[new] = s, action
                ground.gain[new] = gain_of(setting.spots, memory.total, action)
                ground.choices[new] = legal(x, table, states, new, ground.other)
        yield max(number, 0)


EXPANDER = WithFunctionPointers(expander, SCORE, *POINTERS.values(), allocates=True)


class SearchNode(NamedTuple):
    """A state that was reached, and how. Scores are the higher the better."""

    row: int
    parent: "SearchNode | None"
    action: int
    depth: int
    g: float  # the score of its derivation
    score: float  # the same, lowered for y-good nodes while learning (ALMA)
    rank: float  # that, with the heuristic: by what queues order
    good: int  # y-good: bit a is set if the derivation begins correct derivation a
    goal: bool

    def actions(self) -> list[int]:
        """The derivation."""
        found, node = [], self
        while node.parent is not None:
            found.append(node.action)
            node = node.parent
        return found[::-1]


class Space:
    """What can be reached from one example."""

    def __init__(
        self,
        engine: Engine,
        inputs: Inputs,
        anchored: Anchored,
        limit: int = 100_000,
        heuristic: Heuristic | None = None,
    ):
        """limit: nodes that may be expanded for an example.   heuristic(x, table, states, s): what is yet to come."""
        self.engine, self.inputs, self.anchored, self.limit, self.heuristic = engine, inputs, anchored, limit, heuristic
        self.problem, self.setting = engine.problem, engine.setting()
        self.remembers = not self.problem.moves.any()
        self.low, self.scale = 0.0, 1.0
        self.rows = 0
        self.asked = np.zeros(3, np.int64)
        self.sparse: Sparse | None = None
        self.memory: Memory | None = None
        self._fit(FIRST_ROWS + len(self.problem.actions))

    def _fit(self, rows: int) -> None:
        """Capacity for so many rows; those there are stay."""
        old, kept = getattr(self, "ground", None), self.rows
        problem, actions = self.problem, len(self.problem.actions)
        states, back, action = (np.zeros(shape, np.int64) for shape in ((rows, problem.width), rows, rows))
        scratch = (np.zeros((1, len(problem.composition.atoms) + 1), np.int64), *(np.zeros((2, actions), np.int64)))
        self.ground = Ground(states, back, action, np.zeros(rows), np.zeros(rows, np.int64), *scratch)
        self._expander: Any = None
        for array, before in zip(self.ground[:5], old[:5] if old else (), strict=False):
            array[:kept] = before[:kept]

    def begin(self, e: int, sparse: Sparse, gold: Sequence[Sequence[int]] = ()) -> None:
        """Turn to example e. gold: its correct derivations, while learning."""
        self.e, self.gold, self.expanded = e, gold, 0
        self.x = self.inputs.x[self.inputs.starts[e] : self.inputs.starts[e + 1]]
        self.use(sparse)
        self.forget()

    def use(self, sparse: Sparse) -> None:
        """Score with these weights."""
        memory = self.engine.scratch(self.inputs).memory
        if sparse is not self.sparse or memory is not self.memory:
            self.sparse, self.memory, self._expander = sparse, memory, None
            self.setting = self.engine.setting(sparse.order)

    def forget(self) -> None:
        """The rows so far are not needed any more."""
        self.rows = 0

    def fail(self, text: str) -> StructronError:
        return StructronError(f"{self.problem.name}: example {self.e}: {text}")

    # -- nodes ---------------------------------------------------------------------------------------------------

    def _expand(self, row: int, depth: int) -> range:
        """The rows that a row at a depth leads to."""
        first, actions = self.rows, len(self.problem.actions)
        if first + actions > len(self.ground.back):
            self._fit(2 * len(self.ground.back) + actions)
        self.asked[:] = self.e, row, first
        number = self.engine.watched(self._next, self.inputs, self.remains)
        if number > actions:
            self.engine.grow_or_fail(BAD_ACTION, depth + 1, self.e, self.engine.scratch(self.inputs))
        self.rows += number
        return range(first, first + number)

    def _next(self) -> int:
        if self._expander is None:
            given = (self.inputs, self.anchored, self.sparse, self.setting, self.memory, self.ground, self.asked)
            self._expander = EXPANDER(score_state, *self.problem.pointers, *given)
        expander, self._expander = self._expander, None  # one that has raised is at its end
        number = next(expander)
        self._expander = expander
        return number

    def remains(self) -> Remains:
        """The states so far."""
        return Remains(self.e, self.ground.states[: self.rows], now=int(self.asked[1]))

    def _node(
        self, row: int, parent: SearchNode | None, action: int, depth: int, g: float, good: int, goal: bool
    ) -> SearchNode:
        score = g - self.low if good else g
        rank = score if self.heuristic is None else score + self._ahead(row)
        return SearchNode(row, parent, action, depth, g, score, rank, good, goal)

    def _ahead(self, row: int) -> float:
        found: Any = self.heuristic(self.x, self.problem.table, self.ground.states, row)  # type: ignore[misc]
        try:
            value = float(found)
        except (TypeError, ValueError):
            value = math.nan
        if math.isnan(value):
            raise self.fail(
                f"heuristic: it returned {found!r}; expected a number, an upper bound of what can still be gained"
            )
        return value / self.scale

    def initial(self) -> SearchNode:
        """The node of the start."""
        row = self._expand(-1, -1)[0]
        goal = bool(self.ground.choices[row] == 0)
        good = sum(1 << a for a, gold in enumerate(self.gold) if not (goal and len(gold)))
        return self._node(row, None, -1, 0, 0.0, good, goal)

    def operators(self, node: SearchNode) -> list[SearchNode]:
        """The successors of a node, in the order of `legal`; counted, so that a search without end is noticed."""
        self.expanded += 1
        if self.expanded > self.limit:
            raise self.fail(
                f"{self.limit} nodes were expanded (limit) before a goal came first in the queue; "
                "expected `legal` to return 0 in a final state, or a higher limit"
            )
        return self._successors(node)

    def _successors(self, node: SearchNode) -> list[SearchNode]:
        rows, depth, found = self._expand(node.row, node.depth), node.depth + 1, []
        places, ground = slice(rows.start, rows.stop), self.ground
        columns = (ground.action[places].tolist(), ground.gain[places].tolist(), ground.choices[places].tolist())
        for row, action, gain, count in zip(rows, *columns, strict=True):
            good = self._good(node, action, count == 0) if node.good else 0
            found.append(self._node(row, node, action, depth, node.g + gain, good, count == 0))
        return found

    def state(self, row: int) -> bytes:
        """What tells states apart: all columns but TAIL."""
        return self.ground.states[row, TAIL + 1 :].tobytes()

    # -- y-good nodes --------------------------------------------------------------------------------------------

    def _good(self, node: SearchNode, action: int, goal: bool) -> int:
        """The correct derivations that a successor begins; a goal must be their end."""
        found = 0
        for a, gold in enumerate(self.gold):
            if node.good >> a & 1 and node.depth < len(gold) and gold[node.depth] == action:
                found |= (not goal or len(gold) == node.depth + 1) << a
        return found

    def siblings(self, node: SearchNode) -> list[SearchNode]:
        """The y-good nodes as deep as a node, under the present weights; a goal that comes earlier waits."""
        layer = [self.initial()]
        for _ in range(max(node.depth, 1)):
            layer = [good for sib in layer for good in ([sib] if sib.goal and sib.good else self._correct(sib))]
        return [sib._replace(depth=node.depth) for sib in layer]

    def _correct(self, node: SearchNode) -> list[SearchNode]:
        """The y-good successors of a y-good node; each of its derivations must lead to one."""
        children, step = self._successors(node), node.depth
        for a, gold in enumerate(self.gold):
            own = node.good >> a & 1 or node.parent is None
            if own and not any(child.good >> a & 1 for child in children):
                name = repr(self.problem.actions[gold[step]]) if step < len(gold) else ""
                legal = step < len(gold) and any(child.action == gold[step] for child in children)
                what = f"after {name} the state is final, but more actions should follow" if legal else name
                what = what if legal or not name else f"the correct action {name} is not legal there"
                what = what or f"the correct actions end after {step}, but the state is not final"
                raise self.fail(f"step {step + 1}: no correct state is left to continue from: {what}")
        return [child for child in children if child.good]
