"""One search, step by step, and what each update rule would learn from it (Huang, Fayong & Guo 2012, section 5).

Nothing is computed here a second time. Beams, scores and the correct prefix are those that the learner's own search
leaves (search/beam: Trace); rules are those of update/violation.py; the changes of an update are the Δ that the learner
would add to its weights. Each rule is tried dry: the learner finds Δ and leaves the weights as they are. LaSO alone
goes on after an update, and so it comes last and makes its updates.

    scene ──learner, rule by rule──▶ trace: beams, best, gold, alive ──▶ steps
                                 └▶ Δ ──▶ the features it changes, with the weights they have
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.kernels.jit import plain
from structron.learn.beam import BeamTraining, chooser
from structron.model.beam import BeamModel
from structron.options import Search
from structron.search.beam.engine import Engine
from structron.search.beam.frontier import ACTION, BACK, GOLD, PREFIX, WHOLE, Anchored, Inputs
from structron.search.beam.search import derive
from structron.show.charts import beam_html, beam_svg, shown
from structron.text.numbers import ShortFloats
from structron.update import fixing
from structron.update.alma import make_alma
from structron.update.delta import weigh
from structron.update.violation import RULES

SHOWN = ("standard", "early", "max-violation", "latest", "hybrid", "laso")
"""The rules that are compared."""
WAITS = "wait"
"""In place of an action: the state is final and waits for the others."""

Shows = dict[str, Any]
"""What is shown of a state: its labels, or its stack and buffer."""


@dataclass(frozen=True, slots=True, repr=False)
class State(ShortFloats):
    """A state in a beam, how it was reached, and whether it is the correct prefix; parent: its place in the beam before
    (None: the start)."""

    score: float
    action: str
    gold: bool
    parent: int | None
    shows: Shows

    def to_json(self) -> dict[str, Any]:
        own = {"score": self.score, "action": self.action, "gold": self.gold, "parent": self.parent}
        return own | self.shows


@dataclass(frozen=True, slots=True, repr=False)
class BeamStep(ShortFloats):
    """The states of a step, best first; the score of the best and of the correct prefix, which is followed beside the
    beam when it is not in it (gold_state), and its place in the beam, from 1. merged_rank: where it is not in the beam
    because a state with equal atoms scores more, the place of that state."""

    step: int
    states: list[State]
    best: float
    gold: float | None = None
    gold_rank: int | None = None
    gold_state: State | None = None
    merged_rank: int | None = None

    def to_json(self) -> dict[str, Any]:
        own = {"step": self.step, "states": [state.to_json() for state in self.states], "best": self.best}
        gold_state = None if self.gold_state is None else self.gold_state.to_json()
        places = {"gold_rank": self.gold_rank, "merged_rank": self.merged_rank}
        return own | {"gold": self.gold, **places, "gold_state": gold_state}


@dataclass(frozen=True, slots=True, repr=False)
class Change(ShortFloats):
    """What an update adds to the weight of a feature for an action or label, and the weight before."""

    name: str
    action: str
    change: float
    weight: float


@dataclass(frozen=True, slots=True, repr=False)
class RuleUpdate(ShortFloats):
    """An update with the prefixes of one step. difference: w·ΔΦ, of the correct prefix minus the wrong one; it is a
    violation, so that the update helps, if that is not above 0."""

    step: int
    difference: float
    features: list[Change]

    @property
    def violation(self) -> bool:
        return self.difference <= 0

    def to_json(self) -> dict[str, Any]:
        features = [{"name": c.name, "action": c.action, "change": c.change, "weight": c.weight} for c in self.features]
        return {
            "step": self.step,
            "violation": self.violation,
            "difference": self.difference,
            "features": features,
        }


NO_UPDATE: dict[str, Any] = {"step": None, "violation": False, "difference": None, "features": []}


@dataclass(frozen=True, slots=True)
class BeamTrace:
    """What a search does with one sentence, and what the update rules make of it."""

    task: str
    beam: int | None
    merge: int
    sentence: list[str]
    gold: Any
    prediction: Any
    steps: list[BeamStep]
    rules: dict[str, list[RuleUpdate]] = field(default_factory=dict)
    """The updates of each rule: none, one, or, for LaSO, which goes on after an update, any number."""

    @property
    def fell_off(self) -> int | None:
        """The first step at which the correct prefix is not in the beam: merged with a better state, or behind all."""
        return next((s.step for s in self.steps if s.gold is not None and s.gold_rank is None), None)

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON holds it. A rule that makes several updates has the first in place and all in
        `updates`."""
        rules = {}
        for name, updates in self.rules.items():
            every = [update.to_json() for update in updates]
            rules[name] = {**(every[0] if every else NO_UPDATE), "updates": every}
        return {
            "task": self.task,
            "beam": self.beam,
            "merge": self.merge,
            "sentence": self.sentence,
            "gold_analysis": self.gold,
            "prediction": self.prediction,
            "steps": [step.to_json() for step in self.steps],
            "fell_off": self.fell_off,
            "rules": rules,
        }

    def _repr_html_(self) -> str:
        return beam_html(self.to_json())

    def to_html(self) -> str:
        """Curves, rules and beams as a piece of HTML that needs nothing else."""
        return beam_html(self.to_json())

    def to_svg(self) -> str:
        """The curves of best and gold, and the step that each rule chooses."""
        return beam_svg(self.to_json())

    def report(self, top: int = 5) -> str:
        """A table for the terminal: the beams, where gold falls off, and for each rule the `top` changes."""
        return "\n".join([*_beam_lines(self), *(line for rule in self.rules for line in _rule_lines(self, rule, top))])


def _beam_lines(trace: BeamTrace) -> list[str]:
    lines = []
    for step in trace.steps[1:]:
        lines.append(f"step {step.step}{_lost(trace, step)}")
        for rank, state in enumerate(step.states, 1):
            mark = "*" if state.gold else " "
            lines.append(f"{rank:4d}{mark}{state.score:12.4f}  {state.action:<12} {shown(state.shows)}")
        if step.gold_state is not None and step.gold_rank is None:
            state = step.gold_state
            lines.append(f"   –*{state.score:12.4f}  {state.action:<12} {shown(state.shows)}")
    return lines


def _lost(trace: BeamTrace, step: BeamStep) -> str:
    """What becomes of gold at a step, if it is not in the beam."""
    if step.merged_rank is not None:
        return f"  gold is merged with number {step.merged_rank}"
    return "  gold falls off" if step.step == trace.fell_off else ""


def _rule_lines(trace: BeamTrace, rule: str, top: int) -> list[str]:
    updates = trace.rules[rule]
    if not updates:
        return [f"{rule}: no update"]
    lines = []
    for update in updates:
        kind = "a violation" if update.violation else "not a violation: the update is invalid"
        count = len(update.features)
        lines.append(f"{rule}: step {update.step}, w·ΔΦ = {update.difference:.4f}, {kind}, {count} weights change")
        for c in update.features[:top]:
            lines.append(f"{c.change:+9.4g}  {c.action:<12} {c.name}  (weight {c.weight:.4f})")
    return lines


@dataclass(frozen=True)
class Scene:
    """A sentence in the beam engine, and how a task calls things.

    learner: of the one example, at the weights of the model, its own; None: there is no gold.   look: model, inputs and
    features of the tokens, for a search without gold.   state: what is shown after some actions.   feature: its name,
    as `Delta` knows it.   columns: names of the columns of weights.
    """

    task: str
    words: list[str]
    search: Search
    state: Callable[[list[int]], Shows]
    learner: BeamTraining | None = None
    look: tuple[BeamModel, Inputs, Anchored] | None = None
    feature: Callable[[int], str] = str
    columns: Sequence[str] = ()
    gold: Any = None
    prediction: Any = None


def beam_trace(scene: Scene) -> BeamTrace:
    """Search a scene, with gold if it has a learner, and try every rule."""
    steps, rules = [], {}
    if scene.learner is None:
        steps = _search(scene)
    else:
        watched = _Watched(scene)
        rules = {name: watched.updates(name) for name in SHOWN}
        steps = watched.steps
    own = (scene.task, scene.search.beam, scene.search.merge, scene.words, scene.gold, scene.prediction)
    return BeamTrace(*own, steps, rules)


def _search(scene: Scene) -> list[BeamStep]:
    """The search of a finished model."""
    assert scene.look is not None
    model, inputs, anchored = scene.look
    engine = _engine(model.problem, scene.search, model.reach(scene.search.slack))
    engine.scratch(inputs).trace.sizes[:] = 0
    engine.decode(inputs, model.sparse, anchored)
    scratch = engine.scratch(inputs)
    last = int(np.flatnonzero(scratch.trace.sizes)[-1])
    return _Beams(scene, model.problem, engine, scratch.frontier, scratch.trace, last).steps(None)


def _engine(problem: Any, search: Search, slack: float = np.inf) -> Engine:
    if problem.lattice >= 0 and search.beam is None:
        raise StructronError("beam: inf searches a lattice exactly, without beams; expected a beam such as 8")
    return Engine(problem, search.beam, search.merge, keep=True, slack=slack)


class _Watched:
    """The learner of one example, rule after rule."""

    def __init__(self, scene: Scene):
        assert scene.learner is not None
        self.scene, self.learner = scene, scene.learner
        learner = self.learner
        learner.search = replace(scene.search, alma=None, margin=None, swvp=None, check=False)
        learner.swvp, learner.weighing, learner.check, learner.pace = None, None, False, make_alma(None)
        learner.engine = _engine(learner.problem, learner.search)
        self.steps: list[BeamStep] = []

    def updates(self, name: str) -> list[RuleUpdate]:
        """What a rule learns from the example. One that goes on after an update does so here, as in `fixing.learn`."""
        rule, learner, first = RULES[name], self.learner, 0
        found: list[RuleUpdate] = []
        learner.rule, learner.choose = replace(rule, go_on=False), chooser(rule.choose)
        while True:
            trace, last, updates = self._learn(first, dry=True)
            if not self.steps and not rule.stop_at_fall:
                frontier = learner.engine.scratch(learner.inputs).frontier
                beams = _Beams(self.scene, learner.problem, learner.engine, frontier, trace, last)
                self.steps = beams.steps(learner.inputs.gold)
            if not updates:
                return found
            columns = (trace.best, trace.gold, trace.alive, trace.right)
            step = first + int(rule.choose(*(column[first:] for column in columns), last - first))
            found.append(self._update(step))
            if not rule.go_on or step >= len(learner.inputs.gold):
                return found
            self._learn(first, dry=False)
            first = step

    def _learn(self, first: int, dry: bool) -> tuple[Any, int, int]:
        """Learn from the example, from a step on: the trace of the search, its last step, and how many updates."""
        learner = self.learner
        learner.begin_pass()
        learner.dry = dry
        learner.engine.scratch(learner.inputs).trace.sizes[first + 1 :] = 0
        learner.stats[fixing.FIRST] = first
        while not learner.learn(np.zeros(1, np.int64), 0):
            pass
        trace, last = learner.engine.scratch(learner.inputs).trace, first
        while last + 1 < len(trace.sizes) and trace.sizes[last + 1]:
            last += 1
        return trace, last, learner.counts()["updates"]

    def _update(self, step: int) -> RuleUpdate:
        """The update that the learner found last."""
        learner, delta = self.learner, self.learner.delta
        places = delta.place[: delta.used[0]]
        weights = np.zeros(len(places))
        weigh(delta, learner.sparse, learner.anchored, weights)
        given = (delta.feature[places].tolist(), delta.column[places].tolist(), delta.amount[places].tolist())
        changes = [
            Change(self.scene.feature(feature), self.scene.columns[column], amount, weight)
            for feature, column, amount, weight in zip(*given, weights.tolist(), strict=True)
            if amount != 0.0
        ]
        changes.sort(key=lambda c: (-abs(c.change), -abs(c.weight), c.name, c.action))
        return RuleUpdate(step, sum(c.change * c.weight for c in changes), changes)


@dataclass
class _Beams:
    """The beams that a search has kept, read back."""

    scene: Scene
    problem: Any
    engine: Engine
    frontier: Any
    trace: Any
    last: int

    def steps(self, gold: np.ndarray | None) -> list[BeamStep]:
        """Every step from the start; gold: the correct actions."""
        f, trace, found = self.frontier, self.trace, []
        before: dict[int, int] = {}
        setting = self.engine.setting()
        for step in range(self.last + 1):
            rows = trace.kept[step, : trace.sizes[step]].tolist()
            states = [self._state(setting, row, before) for row in rows]
            if gold is None:
                plain = [replace(state, gold=False) for state in states]
                found.append(BeamStep(step, plain, float(trace.best[step])))
            else:
                rank = next((k for k, state in enumerate(states, 1) if state.gold), None)
                own, actions = int(trace.gold_row[step]), gold[: min(step, len(gold))].tolist()
                action = self.problem.actions[actions[-1]] if step and step <= len(gold) else WAITS if step else ""
                beside = State(float(f.score[own, PREFIX]), action, True, None, self.scene.state(actions))
                scores = float(trace.best[step]), float(trace.gold[step])
                merged = self._merged(own, rows) if rank is None else None
                found.append(BeamStep(step, states, *scores, rank, beside, merged))
            before = {row: k for k, row in enumerate(rows)}
        return found

    def _merged(self, gold: int, rows: list[int]) -> int | None:
        """The place of the state that the correct prefix was merged with."""
        if not self.scene.search.merge:
            return None
        own = self.frontier.signature[gold]
        return next((k for k, row in enumerate(rows, 1) if self.frontier.signature[row] == own), None)

    def _state(self, setting: Any, row: int, before: dict[int, int]) -> State:
        f, back = self.frontier, int(self.frontier.link[row, BACK])
        length = plain(derive)(setting, f, row)
        actions = f.path[1, :length].tolist()
        action = self.problem.actions[int(f.link[row, ACTION])] if back >= 0 else ""
        action, parent = (WAITS, before[row]) if row in before else (action, before.get(back))
        right = int(f.link[row, GOLD]) == WHOLE
        return State(float(f.score[row, PREFIX]), action, right, parent, self.scene.state(actions))
