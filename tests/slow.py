"""Beam search and violation-fixing learning over lists and dictionaries: slow, and short enough to be trusted."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from problems import Actions, Space, Weights, begin_with, learn_pass, weights_in
from structron.learn.beam import BeamTraining
from structron.search.beam.frontier import COUNTED
from structron.search.beam.problem import SearchProblem
from structron.update.violation import RULES

# -- beam search over lists ----------------------------------------------------------------------------------------


@dataclass(eq=False)
class Item:
    """A state of the beam. `part` are the actions since the top of the stack was pushed, `push` that push."""

    actions: Actions
    prefix: float = 0.0
    inside: float = 0.0
    part: Actions = ()
    push: tuple[int, int] = (0, -1)  # step and action
    predictors: tuple[tuple["Item", float], ...] = ()
    final: bool = False


class SlowSearch:
    """The k best inequivalent of all candidates, step by step; of equal scores the candidate made first is better."""

    slack = float("inf")
    """How far behind the best a state may be."""

    def __init__(self, space: Space, weights: Weights, k: float, merge: int, gold: Actions = (), lowered: float = 0.0):
        """merge: COUNTED: equivalent ones are among the k best.   lowered: by so much states of the derivation
        `gold` are ranked lower."""
        self.space, self.weights, self.k, self.merge = space, weights, k, merge
        self.gold, self.lowered = gold, lowered
        self.moves = space.problem.moves
        self.stacked = bool(self.moves.any())

    def key(self, item: Item) -> tuple:
        if self.lowered > 0 and self.k == float("inf") and item.actions == self.gold[: len(item.actions)]:
            return item.actions  # exact search keeps the correct prefix apart
        return (self.space.signature(item.actions), *(item.push if self.stacked else ()))

    def candidates(self, item: Item) -> Iterator[Item]:
        legal = self.space.legal(item.actions)
        item.final = not legal
        if not legal:
            yield item
        for action in legal:
            gain = self.space.gain(self.weights, item.actions, action)
            if self.moves[action] < 0:
                for predictor, pushed in item.predictors:
                    yield self.pop(item, predictor, pushed, action, gain)
            elif self.moves[action] > 0:
                push = (len(item.actions) + 1, action)
                yield Item((*item.actions, action), item.prefix + gain, 0.0, (), push, ((item, gain),))
            else:
                part = (*item.part, action)
                yield Item(
                    (*item.actions, action),
                    item.prefix + gain,
                    item.inside + gain,
                    part,
                    item.push,
                    item.predictors,
                )

    def pop(self, item: Item, predictor: Item, pushed: float, action: int, gain: float) -> Item:
        since, new = pushed + item.inside + gain, (item.push[1], *item.part, action)
        return Item(
            predictor.actions + new,
            predictor.prefix + since,
            predictor.inside + since,
            predictor.part + new,
            predictor.push,
            predictor.predictors,
        )

    def rank(self, item: Item) -> float:
        good = item.actions == self.gold[: len(item.actions)]
        return item.prefix - self.lowered if good else item.prefix

    def step(self, beam: list[Item]) -> list[Item]:
        found: dict[Any, Item] = {}
        candidates = [made for item in beam for made in self.candidates(item)]
        ordered = sorted(candidates, key=self.rank, reverse=True)
        for place, item in enumerate(ordered):
            if (place if self.merge == COUNTED else len(found)) == self.k or self.rank(item) < self.rank(
                ordered[0]
            ) - self.slack:
                break
            key = self.key(item) if self.merge else len(found)
            if key not in found:
                found[key] = item
            elif self.stacked:
                old = found[key]
                have = {id(p) for p, _ in old.predictors}
                old.predictors += tuple(entry for entry in item.predictors if id(entry[0]) not in have)
        return list(found.values())

    def alone(self, actions: Sequence[int]) -> Item:
        """The item of one derivation that met no other."""
        item = Item(())
        for action in actions:
            item = next(c for c in self.candidates(item) if c.actions == (*item.actions, action))
        return item

    def run(self, steps: int = 0, start: Sequence[int] = ()) -> list[list[Item]]:
        """The beams after each step until all states are final, and at least so many steps."""
        beams = [[self.alone(start)]]
        while len(beams) <= steps or any(self.space.legal(item.actions) for item in beams[-1]):
            beams.append(self.step(beams[-1]))
        return beams


# -- learning, slowly ----------------------------------------------------------------------------------------------


@dataclass
class SlowTrace:
    """What the beams say to a rule; place 0 is the start."""

    best: list[float]
    gold: list[float]
    alive: list[bool]
    right: list[bool]

    @property
    def steps(self) -> range:
        return range(1, len(self.best))

    def wrong_by(self, i: int) -> float:
        return self.gold[i] - self.best[i]


def slow_rule(name: str, trace: SlowTrace) -> int:
    """The table "method / step" of the design notes, row by row; 0: no update."""
    n = len(trace.best) - 1
    fallen = [i for i in trace.steps if not trace.alive[i]]
    wrong = [i for i in trace.steps if not trace.right[i]]
    last = 0 if trace.right[n] else n
    early = fallen[0] if fallen else last
    if name == "standard":
        return last
    if name in ("early", "laso", "laso-literal"):
        return early
    if name == "max-violation":
        return min(wrong, key=trace.wrong_by, default=0)
    if name == "latest":
        return max((i for i in wrong if trace.wrong_by(i) <= 0), default=0)
    assert name == "hybrid"
    return last if last and trace.wrong_by(n) <= 0 else (early if last else 0)


def projected(vector: Weights) -> Weights:
    """℘: into the unit sphere."""
    length = max(1.0, math.sqrt(sum(weight * weight for weight in vector.values())))
    return {key: weight / length for key, weight in vector.items()}


@dataclass
class SlowLearner:
    """The violation-fixing perceptron with a dictionary of weights; all vectors are kept for the mean.

    alma: (α, B, C) of Daumé & Marcu's eq. (3), computed as it stands there, on the whole vector.   margin: the C of
    Kazama & Torisawa (2007).
    """

    problem: SearchProblem
    xs: Sequence[np.ndarray]
    golds: Sequence[Sequence[int]]
    rule: str
    k: float
    merge: bool = True
    weights: Weights = field(default_factory=dict)
    vectors: list[Weights] = field(default_factory=list)
    counts: dict[str, Any] = field(default_factory=dict)
    per_example: list[int] = field(default_factory=list)
    alma: tuple[float, float, float] | None = None
    generation: int = 1
    margin: float | None = None

    def __post_init__(self) -> None:
        self.spaces = [Space(self.problem, x) for x in self.xs]

    def run(self, sequence: Sequence[int]) -> None:
        """One pass."""
        self.counts = {"updates": 0, "invalid": 0, "examples": 0, "fell_off": 0, "fell_at": [], "search_errors": 0}
        for e in sequence:
            before = self.counts["updates"]
            self.example(e)
            self.per_example.append(self.counts["updates"] - before)
            self.counts["examples"] += 1
            self.vectors.append(dict(self.weights))
        at = self.counts["fell_at"]
        self.counts["fell_at"] = round(sum(at) / len(at), 4) if at else None

    def example(self, e: int) -> None:
        gold, stops = tuple(self.golds[e]), self.rule in ("early", "laso", "laso-literal")
        first, falls = 0, []
        while True:
            beams, trace = self.trace(e, first)
            n = first + len(trace.best) - 1
            fallen = next((i for i in trace.steps if not trace.alive[i]), 0)
            if fallen:
                falls.append((first + fallen) / max(first + fallen if stops else n, len(gold)))
            chosen = slow_rule(self.rule, trace)
            if chosen:
                good, margin = gold[: first + chosen], trace.wrong_by(chosen)
                queue = beams[chosen] if self.rule.startswith("laso") else beams[chosen][:1]
                if self.rule == "laso":
                    queue = [item for item in queue if item.actions != good and item.prefix >= trace.gold[chosen]]
                elif self.rule == "laso-literal":
                    margin = trace.gold[chosen] - sum(item.prefix for item in queue) / len(queue)
                self.update(e, good, [item.actions for item in queue], margin)
            first += chosen
            if not chosen or not self.rule.startswith("laso") or first >= len(gold):
                break
        if falls:
            self.counts["fell_off"] += 1
            self.counts["fell_at"].append(falls[0])
        if not stops and trace.gold[-1] > trace.best[-1] + 1e-9:
            self.counts["search_errors"] += 1

    def lowered(self) -> float:
        if self.alma is None:
            return self.margin or 0.0
        alpha, b, _ = self.alma
        return (1 - alpha) * b * self.generation**-0.5

    def trace(self, e: int, first: int) -> tuple[list[list[Item]], SlowTrace]:
        gold, space = tuple(self.golds[e]), self.spaces[e]
        search = SlowSearch(space, self.weights, self.k, self.merge, gold, self.lowered())
        beams = search.run(len(gold) - first, gold[:first])
        prefixes = [gold[: first + i] for i in range(len(beams))]
        return beams, SlowTrace(
            [search.rank(beam[0]) for beam in beams],
            [space.score(self.weights, prefix) - self.lowered() for prefix in prefixes],
            [any(item.actions == prefix for item in beam) for beam, prefix in zip(beams, prefixes, strict=True)],
            [beam[0].actions == prefix for beam, prefix in zip(beams, prefixes, strict=True)],
        )

    def update(self, e: int, y: Actions, wrong: Sequence[Actions], margin: float) -> None:
        self.counts["updates"] += 1
        self.counts["invalid"] += margin > 0
        delta: Weights = {}
        for share, actions in ((1.0, y), *((-1.0 / len(wrong), z) for z in wrong)):
            for feature, count in self.spaces[e].phi(actions).items():
                delta[feature] = delta.get(feature, 0.0) + share * count
        if self.alma is not None:
            rate = self.alma[2] * self.generation**-0.5
            delta = {feature: rate * amount for feature, amount in projected(delta).items()}
            self.generation += 1
        for feature, amount in delta.items():
            self.weights[feature] = self.weights.get(feature, 0.0) + amount
        if self.alma is not None:
            self.weights = projected(self.weights)

    def mean(self) -> Weights:
        keys = {key for vector in self.vectors for key in vector}
        return {key: sum(v.get(key, 0.0) for v in self.vectors) / len(self.vectors) for key in keys}


def assert_learns_alike(
    fast: BeamTraining, slow: SlowLearner, rng: np.random.Generator, start: Weights | None, tolerance: float
) -> None:
    """Three passes from given weights: all counts and weights after each, and the mean in the end.

    Updates of valid rules are violations.
    """
    begin_with(fast, start or {})
    slow.weights = dict(start or {})
    for _ in range(3):
        order = rng.permutation(len(slow.xs)).tolist()
        counts = learn_pass(fast, order)
        slow.run(order)
        assert counts == slow.counts | {"tokens": sum(map(len, slow.xs))}
        assert not (RULES[slow.rule].valid and counts["invalid"])
        assert_close(weights_in(fast.problem, *fast.rows()), slow.weights, tolerance if start else 0.0)
    fast.average = "mean"
    assert_close(weights_in(fast.problem, *fast.rows()), slow.mean(), tolerance)


def assert_close(found: dict, expected: dict, tolerance: float) -> None:
    """The same weights, those that are 0 left out or not."""
    for key in found.keys() | expected.keys():
        assert found.get(key, 0.0) == pytest.approx(expected.get(key, 0.0), abs=tolerance, rel=0.0), key
