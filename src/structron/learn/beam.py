"""Learning a model of a search problem: the learner that the training loop drives (see train.py).

Its state is a few arrays: the weights and their sums. So a checkpoint is exact, and runs can be averaged.
"""

import copy
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from structron.errors import StructronError, unknown
from structron.kernels.jit import Pointed, is_cold
from structron.model.beam import BeamModel, mean_rows
from structron.search.beam.engine import NO_ANCHORS, Engine
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.problem import POINTERS, SearchProblem, checking, pointer
from structron.search.beam.scores import CLOCK
from structron.update.alma import SCALE, TOTAL, make_alma
from structron.update.delta import make_delta
from structron.update.fixing import (
    ASK_JJ,
    EXAMPLES,
    FELL,
    FELL_AT,
    INVALID,
    MORE_DELTA,
    MORE_WEIGHTS,
    NEEDED,
    NOT_VIOLATIONS,
    SEARCH_ERRORS,
    STATS,
    STEPS,
    TIME,
    TOKENS,
    TROUBLE,
    UPDATES,
    How,
    learn,
)
from structron.update.mixed import Weighing, ask, collect_weighted, make_weighing
from structron.update.swvp import Swvp
from structron.update.violation import RULES, Rule
from structron.weights.sparse import CELLS, DENSE_ROWS, Row, cells_of, grown, make_sparse, reinsert

CALL_TOKENS = 20_000
"""Tokens learned from in one compiled call; between calls Python shows progress and hears Ctrl-C."""
FIRST_CELLS, FIRST_DENSE = 1 << 22, 1 << 14
CHOOSE = types.int64(types.float64[::1], types.float64[::1], types.int64[::1], types.int64[::1], types.int64)
LEARN, LEARN_WEIGHTED = (Pointed(learn, *POINTERS.values(), CHOOSE) for _ in range(2))
SWVP_WORKS = "works with exact search or a beam, any update but laso, and without alma, margin and non_local (none)"


def rule_of(update: str | Rule) -> Rule:
    if isinstance(update, Rule):
        return update
    if update not in RULES:
        raise unknown("update", update, RULES)
    return RULES[update]


def check_swvp(swvp: Swvp | None, update: str | Rule, **without: Any) -> None:
    """Refuse what weighted violations do not go with; without: parameters that must be None."""
    if swvp is None:
        return
    rule = rule_of(update)
    name = update if isinstance(update, str) else rule.choose.__name__
    for what, value in {"update": name if rule.mean or rule.go_on else None, **without}.items():
        if value is not None:
            raise StructronError(f"swvp: {swvp.variant} with {what} {value}; {SWVP_WORKS}")


class BeamTraining:
    """The learner of a problem under a beam and an update rule."""

    def __init__(
        self,
        problem: SearchProblem,
        inputs: Inputs,
        beam: int | None = 8,
        update: str | Rule = "max-violation",
        merge: bool = True,
        average: str = "mean",
        anchored: Anchored = NO_ANCHORS,
        check: bool | None = None,
        prune: float = 0.0,
        alma: float | tuple[float, float, float] | None = None,
        margin: float | None = None,
        swvp: Swvp | None = None,
    ):
        """prune: weights of at most this size are left out of models (not of learning).

        alma, margin: see update/alma.py.   swvp: see update/mixed.py.
        """
        self.problem, self.inputs, self.average = problem, inputs, average
        self.prune, self.alma, self.margin = prune, alma, margin
        self.delta = make_delta()
        self.engine = Engine(problem, beam, merge)
        self.anchored = self.engine.anchored(inputs, anchored)
        self.rule, self.update = rule_of(update), update
        self.check = checking() if check is None else check
        check_swvp(swvp, update, alma=alma, margin=margin)
        self.swvp = swvp
        self.choose = pointer(self.rule.choose, CHOOSE, "update rule", "choose(best, gold, alive, right, n) -> int")
        self._start_weights()

    def _start_weights(self) -> None:
        self.sparse = make_sparse(self.problem.columns, FIRST_CELLS >> 4, FIRST_CELLS, FIRST_DENSE)
        if len(self.anchored.table):
            table = self.anchored.table.copy()
            table[:, 1] = 0
            self.anchored = self.anchored._replace(table=table)
        self.stats, self.pace = np.zeros(STATS), make_alma(self.alma, self.margin)
        self.weighing = None if self.swvp is None else self._make_weighing(self.swvp)

    def _make_weighing(self, swvp: Swvp) -> Weighing:
        return make_weighing(swvp, int(self.inputs.limit.max(initial=1)) + 2, self.problem.exchangeable)

    def twin(self) -> "BeamTraining":
        """Another learner of the same data and options, at its start."""
        other = copy.copy(self)
        other.engine = Engine(self.problem, None if self.engine.beam > 1 << 39 else self.engine.beam, self.engine.merge)
        other.delta = make_delta()
        other._start_weights()
        return other

    @property
    def examples(self) -> int:
        return len(self.inputs.starts) - 1

    def is_cold(self) -> bool:
        return LEARN.is_cold() if self.weighing is None else is_cold(collect_weighted)

    def warm_up(self) -> None:
        """Load or compile the kernels, so that the time of a pass is that of a pass."""
        self._call(np.zeros(0, np.int64), 0, 0)

    def begin_pass(self) -> None:
        self.stats[UPDATES:] = 0

    def _call(self, sequence: np.ndarray, lo: int, hi: int) -> int:
        rule, given = self.rule, self.engine.given(self.inputs, self.sparse, self.anchored)
        check = (1 + (rule.valid and (self.swvp is None or self.swvp.valid))) * self.check
        how = How(int(rule.stop_at_fall), int(rule.go_on), int(rule.mean), int(check))
        stretch = (self.delta, self.pace, sequence, lo, hi, how, self.stats, self.weighing)
        return self.engine.call(LEARN_WEIGHTED if self.weighing else LEARN, self.choose, given, *stretch)

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        """Learn from some examples of the sequence from place lo on; returns the place to go on from."""
        tokens = np.cumsum(np.diff(self.inputs.starts)[sequence[lo : lo + CALL_TOKENS]])
        hi = lo + max(1, int(np.searchsorted(tokens, CALL_TOKENS, "right")))
        done = self._call(sequence, lo, hi)
        if done < hi:
            self._settle(int(sequence[done]))
        if self.check and self.stats[NOT_VIOLATIONS]:
            raise AssertionError(f"{self.update}: {int(self.stats[NOT_VIOLATIONS])} updates were no violations")
        return done

    def _settle(self, example: int) -> None:
        trouble, step = int(self.stats[TROUBLE]), int(self.stats[STEPS])
        self.stats[TROUBLE] = self.stats[STEPS] = 0
        arrays = self.engine.room(self.inputs)
        if trouble == MORE_DELTA:
            self.delta = make_delta(4 * len(self.delta.feature))
        elif trouble == MORE_WEIGHTS:
            self.sparse = grown(self.sparse, 2 * step, int(self.stats[NEEDED]) + 1, 2 * step)
            arrays.memory.clock[CLOCK] += 1
        elif trouble == ASK_JJ and self.swvp is not None and callable(self.swvp.jj):
            fresh, lengths = self._make_weighing(self.swvp), (step, int(self.stats[NEEDED]))
            given = (self.problem.actions, self.inputs, example, arrays.frontier, arrays.trace)
            self.weighing = ask(fresh, self.swvp.jj, *given, *lengths)
        else:
            self.engine.settle(trouble, step, example, arrays)

    def counts(self) -> dict[str, Any]:
        """This pass's figures for the progress line and the log."""
        s = self.stats
        fell = int(s[FELL])
        return {
            "updates": int(s[UPDATES]),
            "invalid": int(s[INVALID]),
            "examples": int(s[EXAMPLES]),
            "fell_off": fell,
            "fell_at": round(float(s[FELL_AT]) / fell, 4) if fell else None,
            "search_errors": int(s[SEARCH_ERRORS]),
            "tokens": int(s[TOKENS]),
        }

    def fingerprint(self) -> str:
        """Tells whether a checkpoint was made from the same data and options."""
        problem, engine = self.problem, self.engine
        options = (problem.actions, problem.composition.texts, engine.beam, engine.merge)
        how = (self._rule_name(), self.average, *([] if self.alma is None else [self.alma]))
        how += () if self.margin is None else ("margin", self.margin)
        how += () if self.swvp is None else (str(self.swvp),)
        digest = hashlib.sha256(f"{options} {how}".encode())
        inputs = self.inputs
        for array in (inputs.x, inputs.starts, inputs.table, inputs.gold, inputs.gold_ptr, *self.anchored[:2]):
            digest.update(f"{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data if array.size else b"")
        return digest.hexdigest()

    def _rule_name(self) -> str:
        return self.update if isinstance(self.update, str) else f"{self.rule.choose.__qualname__} {self.rule.go_on}"

    def state(self) -> dict[str, np.ndarray]:
        """Everything that later passes depend on."""
        sparse = self.sparse
        cells = int(sparse.used[CELLS])
        return {
            "table": sparse.table[sparse.table[:, 0] != 0],
            "column": sparse.column[:cells],
            "u": sparse.u[:cells],
            "dense": sparse.dense[: sparse.used[DENSE_ROWS]],
            "dense_u": sparse.dense_u[: sparse.used[DENSE_ROWS]],
            "used": sparse.used,
            "anchored": np.ascontiguousarray(self.anchored.table[:, 1]),
            "stats": self.stats,
            "pace": self.pace,
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state` gave for the same data and options."""
        if len(state["anchored"]) != len(self.anchored.table):
            raise StructronError(
                "the checkpoint was made from other data or options; remove it or train without --resume"
            )
        cells = len(state["column"])
        dense = len(state["dense"])
        sizes = (
            max(FIRST_CELLS >> 4, 2 * len(state["table"])),
            max(FIRST_CELLS, 2 * cells),
            max(FIRST_DENSE, 2 * dense),
        )
        self.sparse = make_sparse(self.problem.columns, *sizes)
        self.sparse.dense[:dense], self.sparse.dense_u[:dense] = state["dense"], state["dense_u"]
        reinsert(np.ascontiguousarray(state["table"]), self.sparse.table)
        self.sparse.column[:cells], self.sparse.u[:cells] = state["column"], state["u"]
        self.sparse.used[:], self.stats[:] = state["used"], state["stats"]
        self.pace[: len(state["pace"])] = state["pace"]  # that of an older version has no margin
        if len(self.anchored.table):
            self.anchored.table[:, 1] = state["anchored"]
        self.engine.forget()

    def rows(self) -> tuple[np.ndarray, Row]:
        """Keys and rows as they count now, averaged or not; anchored features first."""
        found = self.sparse.table[self.sparse.table[:, 0] != 0]
        both = np.concatenate([self.anchored.table, found])
        time = int(self.stats[TIME]) if self.average == "mean" else 0
        scale = self.pace[TOTAL] / time if time else self.pace[SCALE]
        return both[:, 0].copy(), cells_of(self.sparse, both[:, 1], time, float(scale))

    def snapshot(self) -> BeamModel:
        """The model that the weights of this moment make."""
        return self.assemble([self])

    @staticmethod
    def assemble(members: Sequence["BeamTraining"]) -> BeamModel:
        """The model that the mean of the members' weights makes."""
        first = members[0]
        anchored = first.anchored.table[:, 0]
        keys, rows = mean_rows([member.rows() for member in members], first.prune)
        if not len(anchored):
            return BeamModel(first.problem, keys, rows)
        order = np.argsort(~np.isin(keys, anchored), kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        sort = np.argsort(rank[rows.place], kind="stable")
        rows = Row(rank[rows.place][sort], rows.column[sort], rows.weight[sort])
        count = int(np.isin(keys, anchored).sum())
        return BeamModel(first.problem, keys[order][count:], rows, keys[order][:count])

    def finish(self, model: BeamModel) -> BeamModel:
        return model
