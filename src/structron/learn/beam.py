"""Learning a search problem under a beam: the violation-fixing perceptron (Huang, Fayong & Guo 2012) for any problem.

    inputs ──update/fixing: search, rule, Δ──▶ sparse rows of weights ──mean──▶ BeamModel

Its state is a few arrays: the weights and their sums. So a checkpoint is exact, and runs can be averaged.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, NoReturn

import numpy as np
from numba import types

from structron.errors import StructronError, counted
from structron.io.tensors import Tensors
from structron.kernels.jit import WithFunctionPointers
from structron.learn.checkpoint import digest
from structron.learn.loop import batch_end
from structron.learn.paced import Paced, squared_length
from structron.learn.parts import lists_of
from structron.model.beam import BeamModel
from structron.options import Search
from structron.search.beam.agreeing import agreeing_of, contradiction
from structron.search.beam.compiling import stamp_of
from structron.search.beam.engine import NO_ANCHORS, Engine
from structron.search.beam.frontier import DEAD_END, Anchored, Inputs
from structron.search.beam.problem import SearchProblem, checking, pointer
from structron.search.beam.scores import CLOCK
from structron.search.beam.signatures import POINTERS, SCORE, SEARCH
from structron.update import fixing
from structron.update.alma import NORM, SCALE, TOTAL, fold, make_alma
from structron.update.collect import COLLECT
from structron.update.delta import APPLY, FITS, MEASURE, UPDATING, make_delta
from structron.update.mixed import NO_WEIGHING, Weighing, call_family, collect_weighted, make_weighing
from structron.update.partial import KNOWN, learn_partial
from structron.update.violation import RULES, rule_of
from structron.weights.store import SparseStore

CALL_TOKENS = 20_000
"""Tokens learned from in one compiled call; between calls Python shows progress and hears Ctrl-C."""
CHOOSE = types.int64(types.float64[::1], types.float64[::1], types.int64[::1], types.int64[::1], types.int64)
LEARN = WithFunctionPointers(fixing.learn, SEARCH, SCORE, *POINTERS.values(), CHOOSE, COLLECT, *UPDATING)
LEARN_PARTIAL = WithFunctionPointers(
    learn_partial, SEARCH, SCORE, *POINTERS.values(), POINTERS["legal"], CHOOSE, *UPDATING
)


def chooser(choose: Callable) -> Any:
    """The function of an update rule, compiled."""
    return _compiled(choose, stamp_of(choose))


@cache
def _compiled(choose: Callable, stamp: str) -> Any:
    return pointer(choose, CHOOSE, "update rule", "choose(best, gold, alive, right, n) -> int")


@dataclass(frozen=True)
class Known:
    """What is known of examples whose correct actions are not all given.

    inputs: the same examples; a problem's `legal`, or another function in its place, gives the actions that agree.
    open: bool[examples]; of the others all is known, and their actions are those of the learner's inputs.
    merge: False: what agrees depends on more of a state than its atoms, so that equivalent states are not one.
    numbers: of a user's examples, whose known actions are those of the inputs (OPEN: not known).
    """

    inputs: Inputs
    open: np.ndarray
    legal: Any = None  # the function's pointer; None: that of the problem
    merge: bool = True
    numbers: np.ndarray | None = None

    def take(self, examples: np.ndarray) -> "Known":
        """What is known of some examples."""
        numbers = None if self.numbers is None else self.numbers[examples]
        return replace(self, inputs=some_inputs(self.inputs, examples), open=self.open[examples], numbers=numbers)


@dataclass(frozen=True)
class Beginning:
    """A model that training goes on from: its weights are the first vector of a new mean.

    columns: where each of its columns of weights stands now, for actions may have been added; None: they are the same.
    """

    model: BeamModel
    columns: np.ndarray | None = None


def some_inputs(inputs: Inputs, examples: np.ndarray) -> Inputs:
    """Some of the examples."""
    starts, tokens = lists_of(inputs.starts, examples, np.arange(len(inputs.x)))
    gold_ptr, gold = inputs.gold_ptr, inputs.gold
    if len(gold_ptr):
        gold_ptr, gold = lists_of(gold_ptr, examples, gold)
    return Inputs(inputs.x[tokens], starts, inputs.table, inputs.limit[examples], gold, gold_ptr)


def searched_stepwise(problem: SearchProblem) -> SearchProblem:
    """The same problem, searched step by step though it may name the nodes of a lattice."""
    found = copy(problem)
    found.lattice = -1
    return found


class BeamTraining(Paced):
    """The learner of a problem under a beam and an update rule."""

    dry: bool = False
    """Find updates, but leave the weights as they are: learn/trace.py."""

    working: ClassVar[tuple[str, ...]] = (
        *(
            "engine",
            "free",
            "agreeing",
            "agreeing_legal",
            "delta",
            "store",
            "stats",
            "pace",
            "weighing",
            "choose",
            "choose_partial",
        ),
    )

    def __init__(
        self,
        problem: SearchProblem,
        inputs: Inputs,
        search: Search,
        average: str = "mean",
        anchored: Anchored = NO_ANCHORS,
        prune: float = 0.0,
        start: Beginning | None = None,
        known: Known | None = None,
    ):
        """anchored: features that were numbered per token.   prune: weights of at most this size are left out of models
        (not of learning).   known: of examples that are not wholly known."""
        self.knowledge = known
        self.problem, self.inputs, self.search, self.average = problem, inputs, search, average
        self.prune, self.start, self.swvp = prune, start, search.swvp
        self.anchored = Engine(problem, search.beam, search.merge).anchored(inputs, anchored)
        self.rule = rule_of(search.update)
        self.check = checking() if search.check is None else search.check
        self._begin()

    def part(self, examples: np.ndarray) -> Any:
        given, anchored, kinds = self.inputs, self.anchored, max(self.anchored.kinds, 1)
        inputs, (_, tokens) = some_inputs(given, examples), lists_of(given.starts, examples, np.arange(len(given.x)))
        if len(anchored.ptr) == len(given.x) * kinds + 1:
            lists = (tokens[:, None] * kinds + np.arange(kinds)).reshape(-1)
            ptr, numbers = lists_of(anchored.ptr, lists, anchored.numbers)
            anchored = anchored._replace(ptr=ptr, numbers=numbers)
        known = None if self.knowledge is None else self.knowledge.take(examples)
        return self._sent(inputs=inputs, anchored=anchored, knowledge=known, start=None)

    def _begin(self) -> None:
        self.choose = chooser(self.rule.choose)
        self.engine = Engine(self.problem, self.search.beam, self.search.merge)
        self.delta = make_delta()
        self.free, self.agreeing, self.agreeing_legal, partial = None, None, None, self.knowledge is not None
        if self.knowledge is not None:
            how, told = (self.search.beam, self.search.merge if self.knowledge.merge else 0), self.knowledge.numbers
            self.free = Engine(searched_stepwise(self.problem), *how, keep=True)
            self.agreeing = Engine(searched_stepwise(self.problem), *how, told=told is not None)
            self.agreeing_legal = self.knowledge.legal if told is None else agreeing_of(self.problem)
        stepwise = self.rule.mean or self.rule.go_on
        self.choose_partial = chooser(RULES["early"].choose) if partial and stepwise else self.choose
        self.store = SparseStore(self.problem.columns, self.anchored.table[:, 0])
        self.final = False  # whether the weights are means already, and nothing more is learned
        self.stats, self.pace = np.zeros(fixing.STATS), make_alma(self.search.alma, self.search.margin)
        self.weighing = None if self.swvp is None else self._make_weighing()
        if self.start is not None:
            model, columns = self.start.model, self.start.columns
            rows = model.rows if columns is None else model.rows._replace(column=columns[model.rows.column])
            keys = model.problem.composition.rekey(model.keys, self.problem.composition)
            self.store.load(keys, rows, len(model.anchored_keys))
            self.pace[NORM] = float(np.square(rows.weight, dtype=np.float64).sum())
        self.anchored = self.anchored._replace(table=self.store.table)

    def _make_weighing(self) -> Weighing:
        return make_weighing(self.swvp, int(self.inputs.limit.max(initial=1)) + 2, self.problem.exchangeable)

    @property
    def sparse(self) -> Any:
        """The weights as kernels read them."""
        return self.store.sparse

    @property
    def examples(self) -> int:
        return len(self.inputs.starts) - 1

    def warm_up(self) -> None:
        self._call(np.zeros(0, np.int64), 0, 0)

    def _call(self, sequence: np.ndarray, lo: int, hi: int) -> int:
        rule, given = self.rule, self.engine.given(self.inputs, self.sparse, self.anchored)
        if self.knowledge is not None:
            given.memory.clock[CLOCK] += 1
        check = (1 + (rule.valid and (self.swvp is None or self.swvp.valid))) * self.check
        mean = rule.mean * (fixing.EXPECTED if rule.expected else 1 + rule.literal)
        how = fixing.How(int(rule.stop_at_fall), int(rule.go_on), mean, int(check), int(self.dry))
        batch = (self.delta, self.pace, sequence, lo, hi, how, self.stats, self.weighing or NO_WEIGHING)
        return self.engine.call(LEARN, self.choose, self._collect(), MEASURE, FITS, APPLY, given, *batch)

    def _collect(self) -> Any:
        """How Δ is made of what the search found."""
        if self.rule.mean:
            return fixing.collect_lattice if self.engine.is_lattice else fixing.collect_queue
        return fixing.collect_best if self.weighing is None else collect_weighted

    def _call_partial(self, known: Known, sequence: np.ndarray, lo: int, hi: int) -> int:
        """Learn from examples that are not wholly known: forced decoding beside the free search."""
        assert self.agreeing is not None
        assert self.free is not None
        given = self.free.given(self.inputs, self.sparse, self.anchored)
        forced = self.agreeing.given(known.inputs, self.sparse, self.anchored)
        valid = self.rule.valid or self.rule.go_on
        how = fixing.How(int(valid), 0, 0, int((1 + valid) * self.check), int(self.dry))
        for own in (given, forced):
            own.memory.clock[CLOCK] += 1
        legal = self.agreeing_legal or self.problem.pointers[1]
        batch = (given, forced, self.delta, self.pace, sequence, lo, hi, how, self.stats)
        return self.free.call(LEARN_PARTIAL, legal, self.choose_partial, MEASURE, FITS, APPLY, *batch)

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        hi = batch_end(self.inputs.starts, sequence, lo, CALL_TOKENS)
        known, partial = self.knowledge, False
        if known is not None:
            own = known.open[sequence[lo:hi]]
            partial, hi = bool(own[0]), lo + int(np.argmin(np.append(own == own[0], False)))
        if partial:
            assert known is not None
            done = self._call_partial(known, sequence, lo, hi)
        else:
            done = self._call(sequence, lo, hi)
        if self.stats[fixing.TROUBLE] == fixing.FOLD:
            self._fold()
        elif self.stats[fixing.TROUBLE]:
            self._fit_columns(int(sequence[done]), partial)
        if self.check and self.stats[fixing.NOT_VIOLATIONS]:
            count = counted(int(self.stats[fixing.NOT_VIOLATIONS]), "update")
            raise StructronError(
                f"update rule {self.search.update_name}: {count} without a violation; expected a step at which "
                "best[i] is at least gold[i] and right[i] is False, or Rule(…, valid=False)"
            )
        return done

    def _fold(self) -> None:
        """Take the scale of ALMA into the weights."""
        self.stats[fixing.TROUBLE] = 0
        self.store.fold(*fold(self.pace))
        self._forget()

    def _forget(self) -> None:
        """Weights have changed: remembered sums no longer count."""
        for engine in (self.engine, self.free, self.agreeing):
            if engine is not None:
                engine.forget()

    def _fit_columns(self, example: int, partial: bool = False) -> None:
        trouble, step = int(self.stats[fixing.TROUBLE]), int(self.stats[fixing.STEPS])
        self.stats[fixing.TROUBLE] = self.stats[fixing.STEPS] = 0
        engine, inputs, known, forced = self.engine, self.inputs, self.knowledge, False
        if partial and self.free is not None and self.agreeing is not None and known is not None:
            engine, forced = self.free, self.stats[fixing.FIRST] == KNOWN
            self.stats[fixing.FIRST] = 0
            if forced:
                engine, inputs = self.agreeing, known.inputs
        arrays = engine.scratch(inputs)
        if trouble == fixing.MORE_DELTA:
            self.delta = make_delta(4 * len(self.delta.feature))
        elif trouble == fixing.MORE_WEIGHTS:
            self.store.grow(2 * step, int(self.stats[fixing.NEEDED]) + 1, 2 * step)
            arrays.memory.clock[CLOCK] += 1
        elif trouble == DEAD_END and forced and known is not None and known.numbers is not None:
            x = inputs.x[inputs.starts[example] : inputs.starts[example + 1]]
            gold = inputs.gold[inputs.gold_ptr[example] : inputs.gold_ptr[example + 1]].tolist()
            raise contradiction(self.problem, x, gold, int(known.numbers[example]))
        elif trouble == fixing.NO_STEP:
            self._refuse_step(example, step, int(self.stats[fixing.NEEDED]))
        elif trouble == fixing.ASK_JJ and self.swvp is not None and callable(self.swvp.jj):
            fresh, lengths = self._make_weighing(), (step, int(self.stats[fixing.NEEDED]))
            given = (self.problem.actions, self.inputs, example, arrays.frontier, arrays.trace)
            self.weighing = call_family(fresh, self.swvp.jj, *given, *lengths)
        else:
            engine.grow_or_fail(trouble, step, example, arrays, self.inputs)

    def _refuse_step(self, example: int, chosen: int, last: int) -> NoReturn:
        """Say that an update rule chose a step which is not there."""
        steps = f"{last}, the last step (the rule has mean)" if self.rule.mean else f"a step from 1 to {last}"
        raise StructronError(
            f"{self.problem.name}: update rule {self.search.update_name}: example {example}: it returned {chosen}; "
            f"expected {steps}, or 0 for no update"
        )

    def counts(self) -> dict[str, Any]:
        s = self.stats
        fell = int(s[fixing.FELL])
        return {
            "updates": int(s[fixing.UPDATES]),
            "invalid": int(s[fixing.INVALID]),
            "examples": int(s[fixing.EXAMPLES]),
            "fell_off": fell,
            "fell_at": round(float(s[fixing.FELL_AT]) / fell, 4) if fell else None,
            "search_errors": int(s[fixing.SEARCH_ERRORS]),
            "tokens": int(s[fixing.TOKENS]),
        }

    def fingerprint(self) -> str:
        problem, inputs, rule = self.problem, self.inputs, self.rule
        how = (problem.actions, problem.composition.texts, self.search, rule.choose.__qualname__, self.average)
        start = () if self.start is None else self.start.model.rows
        known = (
            ()
            if self.knowledge is None
            else (self.knowledge.open, *self.knowledge.inputs[:3], *self.knowledge.inputs[4:])
        )
        arrays = (
            inputs.x,
            inputs.starts,
            inputs.table,
            inputs.gold,
            inputs.gold_ptr,
            *self.anchored[:2],
            *start,
            *known,
        )
        return digest(how, arrays)

    def state(self) -> Tensors:
        return self.store.state() | {"stats": self.stats, "pace": self.pace}

    def restore(self, state: Tensors) -> None:
        self.store.restore(state)
        self.stats[:], self.pace[:] = state["stats"], state["pace"]
        self._forget()

    def add(self, other: Any, share: float) -> None:
        self.store.add(other.store, share * float(other.pace[SCALE]))
        self.anchored = self.anchored._replace(table=self.store.table)
        self.pace[NORM] = self._length()
        self._forget()

    def _length(self) -> float:
        return squared_length(self.store.present(0, 1.0)[1].weight)

    def copy_weights_from(self, common: Any) -> None:
        super().copy_weights_from(common)
        self._forget()

    def rows(self) -> tuple[np.ndarray, Any]:
        """Keys and rows as they count now, averaged or not; anchored features first."""
        return self.store.present(*self._mean())

    def _mean(self) -> tuple[int, float]:
        """The examples that the mean is taken over, 0: there is none; and the scale of the weights in it."""
        if self.final:
            return 0, 1.0
        time = int(self.stats[fixing.TIME]) if self.average == "mean" else 0
        return time, float(self.pace[TOTAL] / time if time else self.pace[SCALE])

    def free_search_buffers(self, model: Any) -> None:
        model.free_search_buffers()

    @staticmethod
    def assemble_last(members: Sequence["BeamTraining"]) -> Any:
        """With the means in place of the weights, before there is a model: its arrays come where sums and the data have
        been."""
        for member in members:
            member.store.keep_mean(*member._mean())
            member.final = True
            del member.inputs, member.engine, member.free, member.agreeing, member.agreeing_legal, member.knowledge
        model = members[0].assemble(members)
        for member in members:
            del member.store
        return model

    @staticmethod
    def assemble(members: Sequence["BeamTraining"]) -> BeamModel:
        first, *others = members
        more = [(member.store, *member._mean()) for member in others]
        keys, rows, count = first.store.lean(*first._mean(), first.prune, *more)
        return BeamModel(first.problem, keys[count:], rows, keys[:count])
