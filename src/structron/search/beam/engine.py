"""The beam engine as Python sees it: a problem, a beam and weights; room is made and errors are named here."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.kernels.jit import Bound, WithFunctionPointers
from structron.search.beam.agreeing import places_beyond
from structron.search.beam.autopsy import Remains, fault_in
from structron.search.beam.compiling import interruptible
from structron.search.beam.decode import decode
from structron.search.beam.frontier import (
    BAD_ACTION,
    BAD_GOLD,
    BAD_ORDER,
    BLOCK_COLUMNS,
    DEAD_END,
    ENDLESS,
    EXAMPLE,
    INFINITE,
    MORE_BEAM,
    MORE_LISTS,
    MORE_OUT,
    MORE_ROWS,
    MOST_BLOCKS,
    PER_ROW,
    ROWS,
    Anchored,
    BeamSettings,
    Frontier,
    Given,
    Inputs,
    Memory,
    Trace,
    make_frontier,
    make_memory,
    make_trace,
)
from structron.search.beam.lattice import search_lattice
from structron.search.beam.nbest import Derivation, make_lists, nbest
from structron.search.beam.problem import EXPECTED, SearchProblem, Walk, steps_of
from structron.search.beam.scores import CLOCK, score_nothing, score_state
from structron.search.beam.search import search
from structron.search.beam.signatures import POINTERS, SCORE, SEARCH
from structron.weights.sparse import Sparse, stride_of

DECODE, NBEST = (WithFunctionPointers(function, SEARCH, SCORE, *POINTERS.values()) for function in (decode, nbest))
FUNCTIONS = 2 + len(POINTERS)
"""Of a search, its scores and its problem: the first arguments of every kernel that an engine calls."""
NO_ANCHORS = Anchored(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros((0, 2), np.uint64))
MANY_COLUMNS = 256
"""Problems of at most so many columns always look at all of them: of a parser's 141, most are wanted in every step."""
FEWER_SLOTS = 1 << 6
"""Sums of many columns that are remembered of each group: they should stay in the cache."""
MOST_REMEMBERED = 1 << 26
"""Weights in remembered sums: problems of very many actions remember fewer."""
NO_GOLD = np.zeros(0, np.int64)
ALL_BLOCKS = np.zeros(0, np.uint64)


def make_inputs(
    problem: SearchProblem, xs: list[np.ndarray] | np.ndarray, starts: np.ndarray, gold: list[list[int]] | None = None
) -> Inputs:
    """Examples as arrays: inputs one after the other (or already so), and their correct actions."""
    lengths = np.diff(starts)
    known = problem.known_steps
    limit = np.array([known[n] if n in known else steps_of(problem, n) for n in lengths.tolist()], np.int64)
    x = xs if isinstance(xs, np.ndarray) else np.concatenate(xs)
    flat, ptr = NO_GOLD, NO_GOLD
    if gold is not None:
        ptr = np.cumsum([0, *map(len, gold)]).astype(np.int64)
        flat = np.fromiter((action for actions in gold for action in actions), np.int64, int(ptr[-1]))
        limit = np.maximum(limit, np.diff(ptr))
    return Inputs(np.ascontiguousarray(x, np.int64), starts, problem.table, limit, flat, ptr)


def blocks_of(problem: SearchProblem, order: np.ndarray) -> tuple[np.ndarray, int]:
    """The blocks of columns that each action's score needs, and their size; empty where all are looked at anyway."""
    if problem.view >= 0 or problem.columns <= MANY_COLUMNS:
        return ALL_BLOCKS, BLOCK_COLUMNS
    block = BLOCK_COLUMNS
    while MOST_BLOCKS * block < problem.columns:
        block *= 2
    bits = np.uint64(1) << (order[problem.parts] // block).astype(np.uint64)
    return np.bitwise_or.reduce(np.where(problem.parts >= 0, bits, np.uint64(0)), axis=1), block


class BeamScratch:
    """The arrays of one thread's searches; they grow when a search says so."""

    def __init__(self, engine: "Engine"):
        self.engine = engine
        bounded = engine.beam < INFINITE
        self.wide = engine.beam if bounded else 256
        self.candidates = max(64, 8 * engine.beam) if bounded else 4096
        self.rows = self.steps = 0
        self.frontier: Frontier
        self.trace: Trace
        composition = engine.problem.composition
        sizes = (len(composition.texts), len(composition.features.group) - 1, len(composition.atoms))
        shape = (engine.memory_slots, engine.problem.kinds[0], int(engine.problem.views.max(initial=1)))
        self.memory: Memory = make_memory(engine.problem.columns, *sizes, *shape)

    def fit(self, steps: int) -> None:
        """Scratch memory for examples of so many steps."""
        if steps > self.steps or not self.rows:
            self.steps = max(steps, self.steps, 64)
            self.rows = max(self.rows, (self.steps + 2) * (min(self.wide, 64) + 2))
            self._make()

    def _make(self) -> None:
        problem = self.engine.problem
        beyond = places_beyond(self.steps) if self.engine.told else 0
        sizes = (len(problem.composition.atoms), len(problem.actions) + beyond)
        self.frontier = make_frontier(self.rows, self.wide, self.candidates, self.steps, problem.width, *sizes)
        self.trace = make_trace(self.steps, self.wide if self.engine.keep else 0)

    def grow(self, trouble: int) -> None:
        """More scratch memory; the states so far are kept, since a search may go on from gold's."""
        if trouble == MORE_BEAM:
            self.candidates *= 4
            if self.wide < self.engine.beam:
                self.wide *= 4
        self.rows *= 2
        old, trace = self.frontier, self.trace
        self._make()
        self.trace = trace._replace(kept=self.trace.kept)
        for name in PER_ROW:
            array = getattr(old, name)
            getattr(self.frontier, name)[: len(array)] = array
        self.frontier.used[:] = old.used


class Engine:
    """A problem under a beam."""

    def __init__(
        self,
        problem: SearchProblem,
        beam: int | None = 8,
        merge: int = True,
        memory_slots: int = 1 << 8,
        keep: bool = False,
        slack: float = np.inf,
        told: bool = False,
    ):
        """memory_slots: sums that are remembered of each group; problems with segments have more of them.
        keep: the trace of a search has all its beams. slack: a state that is further behind the best leaves
        the beam, in `decode` alone. told: what takes the place of `legal` is told the known actions (agreeing.py)."""
        if beam is not None and beam < 1:
            raise StructronError(f"beam: {beam}; expected at least 1, or inf")
        self.problem, self.merge, self.keep, self.slack, self.told = problem, merge, keep, float(slack), told
        if problem.view >= 0:
            memory_slots = max(memory_slots, 1 << 9)
        elif problem.columns > MANY_COLUMNS:
            memory_slots = min(memory_slots, FEWER_SLOTS)
        self.memory_slots = memory_slots
        groups = len(problem.composition.features.group) + 1
        while self.memory_slots > 1 and self.memory_slots * groups * problem.columns > MOST_REMEMBERED:
            self.memory_slots //= 2
        self.beam = INFINITE if beam is None else beam
        self._own = threading.local()
        self._bound: dict[tuple[Any, ...], Bound] = {}
        self._setting: tuple[np.ndarray | None, BeamSettings] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Arrays of threads and compiled functions are not copied or pickled."""
        return {name: value for name, value in vars(self).items() if name not in ("_own", "_bound")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._own, self._bound = threading.local(), {}

    @property
    def is_lattice(self) -> bool:
        """Whether it is searched without a limit, node by node."""
        return self.problem.lattice >= 0 and self.beam == INFINITE

    def setting(self, order: np.ndarray | None = None) -> BeamSettings:
        """order: where each column of weights stands in a row; None: in its place. Those of the last order are kept."""
        if self._setting is None or self._setting[0] is not order:
            self._setting = order, self._make_setting(order)
        return self._setting[1]

    def _make_setting(self, order: np.ndarray | None) -> BeamSettings:
        problem = self.problem
        order = np.arange(problem.columns) if order is None else order
        return BeamSettings(
            self.beam,
            int(self.merge) if self.beam < INFINITE else int(self.merge > 0),
            int(problem.moves.any()),
            problem.columns,
            problem.where,
            problem.parts,
            problem.moves,
            problem.composition.features,
            problem.view,
            problem.views,
            problem.lattice if self.is_lattice else -1,
            np.where(problem.parts >= 0, order[problem.parts], stride_of(problem.columns)).astype(np.uint64),
            *blocks_of(problem, order),
            self.slack if self.beam < INFINITE else np.inf,
        )

    def scratch(self, inputs: Inputs) -> BeamScratch:
        scratch = getattr(self._own, "scratch", None)
        if scratch is None or scratch.engine is not self:
            scratch = self._own.scratch = BeamScratch(self)
        scratch.fit(int(inputs.limit.max(initial=1)) + 2)
        return scratch

    def forget(self) -> None:
        """Weights have changed: remembered sums no longer count."""
        self._own = threading.local()

    def given(self, inputs: Inputs, sparse: Sparse, anchored: Anchored) -> Given:
        """What the kernels take, with this thread's arrays as they are now."""
        scratch = self.scratch(inputs)
        return Given(
            inputs, anchored, sparse, self.setting(sparse.order), scratch.memory, scratch.frontier, scratch.trace
        )

    def _new_batch(self, inputs: Inputs, anchored: Anchored) -> Anchored:
        """Features of the tokens, which are remembered by number: that of another batch now."""
        if len(anchored.numbers):
            self.scratch(inputs).memory.clock[CLOCK] += 1
        return self.anchored(inputs, anchored)

    def decode(
        self, inputs: Inputs, sparse: Sparse, anchored: Anchored = NO_ANCHORS, lo: int = 0, hi: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Best derivations of examples lo … hi - 1: actions, where each example's begin, how many, and scores."""
        hi = len(inputs.starts) - 1 if hi is None else hi
        out_ptr = np.zeros(len(inputs.limit) + 1, np.int64)
        np.cumsum(inputs.limit + 2, out=out_ptr[1:])
        out_ptr -= out_ptr[lo]
        out = np.zeros(int(out_ptr[hi]), np.int64)
        lengths, scores = np.zeros(len(inputs.limit), np.int64), np.zeros(len(inputs.limit))
        trouble, place, anchored = np.zeros(2, np.int64), lo, self._new_batch(inputs, anchored)
        while place < hi:
            given = self.given(inputs, sparse, anchored)
            place = self.call(DECODE, given, place, hi, out, out_ptr, lengths, scores, trouble)
            if place < hi:
                self.grow_or_fail(int(trouble[0]), int(trouble[1]), place, self.scratch(inputs))
        return out, out_ptr, lengths, scores

    def nbest(
        self, inputs: Inputs, sparse: Sparse, anchored: Anchored, n: int, lo: int = 0, hi: int | None = None
    ) -> list[list[Derivation]]:
        """Up to n derivations of each of the examples lo … hi - 1, best first: the final states of the last beam.

        A beam of fewer than n states is widened to n. Merged states stand for their best derivation; an exact search
        of a lattice gives the best derivation into each final node.
        """
        if n < 1:
            raise StructronError(f"n: {n}; expected at least 1")
        if n > self.beam:
            return Engine(self.problem, n, self.merge, self.memory_slots).nbest(inputs, sparse, anchored, n, lo, hi)
        hi = len(inputs.starts) - 1 if hi is None else hi
        trouble, place, lists = np.zeros(2, np.int64), lo, make_lists(len(inputs.limit))
        anchored = self._new_batch(inputs, anchored)
        while place < hi:
            given = self.given(inputs, sparse, anchored)
            given = given._replace(setting=given.setting._replace(slack=np.inf))
            place = self.call(NBEST, given, place, hi, n, lists, trouble)
            if place < hi and trouble[0] == MORE_OUT:
                lists = lists.grown()
            elif place < hi:
                self.grow_or_fail(int(trouble[0]), int(trouble[1]), place, self.scratch(inputs))
        return lists.of(lo, hi)

    def anchored(self, inputs: Inputs, anchored: Anchored) -> Anchored:
        """Features numbered per token; a problem whose states look at tokens gets lists, if only empty ones."""
        if self.problem.where < 0:
            return anchored
        kinds, positions, whole = self.problem.kinds
        wanted = len(inputs.x) * max(kinds, 1) + 1
        if not len(anchored.numbers) and len(anchored.ptr) != wanted:
            return Anchored(np.zeros(wanted, np.int64), anchored.numbers, anchored.table, kinds, positions, whole)
        if len(anchored.ptr) != wanted or anchored[3:] != (kinds, positions, whole):
            raise StructronError(f"{self.problem.name}: numbered features do not fit the tokens")
        return anchored

    def call(self, kernel: WithFunctionPointers, *arguments: Any) -> Any:
        """Call a kernel with the search and the problem's functions; what they raise is said to be theirs."""
        further = len(kernel.pointers) - FUNCTIONS
        bound, arguments = self._with_functions(kernel, *arguments[:further]), arguments[further:]
        if not bound.is_ready:
            bound.ready(*arguments)
        given = next((own for own in arguments if isinstance(own, Given)), None)
        if given is None:
            return self.watched(lambda: bound.call(*arguments))
        return self.watched(lambda: bound.call(*arguments), given.inputs, lambda: self._remains(given))

    def _with_functions(self, kernel: WithFunctionPointers, *further: Any) -> Bound:
        """A kernel with the search, the problem's functions and others."""
        if (kernel, *further) not in self._bound:
            one_by_one = self.is_lattice or self.problem.view >= 0
            searching = (search_lattice if self.is_lattice else search, score_state if one_by_one else score_nothing)
            self._bound[kernel, *further] = kernel.of(*searching, *self.problem.pointers, *further)
        return self._bound[kernel, *further]

    @staticmethod
    def _remains(given: Given) -> Remains:
        """What the last search has left."""
        f = given.frontier
        return Remains(int(f.used[EXAMPLE]), f.states[: int(f.used[ROWS])], f.link, f.list_row)

    def watched(
        self,
        call: Callable[[], Any],
        inputs: Inputs | None = None,
        remains: Callable[[], Remains] | None = None,
    ) -> Any:
        """Make a compiled call that calls the problem's functions: under guard if it is to be, and a user's so that
        Ctrl-C is heard.   remains: tells what is left of the search, from which a fault is found."""
        problem = self.problem
        expected = Exception if problem.is_own else (ArithmeticError, LookupError, ValueError)

        def named() -> Any:
            try:
                return call()
            except StructronError:
                raise
            except expected as error:
                found = None if inputs is None or remains is None else fault_in(problem, inputs, remains())
                raise found or StructronError(
                    f"{problem.name}: a function raised {type(error).__name__}: {error}; expected functions that do "
                    "not raise (debug=True shows where)"
                ) from error

        if not problem.is_own:
            return named()
        problem.check_constants()
        if (guard := problem.guard) is None:
            return interruptible(named, problem.name)
        return interruptible(lambda: guard.watch(named, inputs), problem.name)

    def grow_or_fail(
        self, trouble: int, step: int, example: int, scratch: BeamScratch, inputs: Inputs | None = None
    ) -> None:
        """Make room, or raise the error that a search ended with. inputs: those that it learned from."""
        if trouble in (MORE_ROWS, MORE_LISTS, MORE_BEAM):
            scratch.grow(trouble)
            return
        if trouble == BAD_GOLD and inputs is not None:
            own = slice(inputs.gold_ptr[example], inputs.gold_ptr[example + 1])
            x = inputs.x[inputs.starts[example] : inputs.starts[example + 1]]
            Walk(self.problem, x, example, inputs.table).run(inputs.gold[own].tolist())  # says what is wrong
        name, actions = self.problem.name, len(self.problem.actions)
        texts = {
            DEAD_END: ("legal", "no state in the beam has a legal action"),
            ENDLESS: ("legal", "not finished within max_steps; it returns 0 in a final state"),
            BAD_ACTION: ("legal", f"it gave an action outside 0 … {actions - 1}, or one that pops an empty stack"),
            BAD_GOLD: ("legal", "the correct action is not legal there"),
            BAD_ORDER: ("advance", "the column that `lattice` names did not grow, or is below 0"),
        }
        what, text = texts[trouble]
        raise StructronError(f"{name}: {what}: example {example}, step {step}: {text}; expected {EXPECTED[what]}")


def is_cold() -> bool:
    return DECODE.is_cold()


def actions_of(found: tuple[Any, ...], lo: int, hi: int) -> list[list[int]]:
    """What `Engine.decode` gives, as lists."""
    out, ptr, lengths, _ = found
    return [out[ptr[e] : ptr[e] + lengths[e]].tolist() for e in range(lo, hi)]
