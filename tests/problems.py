"""Small search problems, and slow and obvious versions of what the beam engine does with them.

The problems: chains of order 1 and 2, arc-standard parsing, Figure 1 of Huang, Fayong & Guo (2012). `Space` walks
through a problem with its functions as they were written: every derivation has a row of its own, nothing is shared or
merged. On it stand a beam search over lists, the update rules from their table, and a learner that keeps every vector.

    weight keys:   (template, values of its atoms, column)
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from structron.learn.beam import BeamTraining
from structron.model.beam import BeamModel
from structron.options import Search
from structron.search.beam.engine import NO_ANCHORS, make_inputs
from structron.search.beam.frontier import TAIL, Anchored, Inputs
from structron.search.beam.problem import SearchProblem
from structron.tasks.shift_reduce import system as shift_reduce
from structron.tasks.shift_reduce.oracle import moves
from structron.update.alma import NORM
from structron.update.delta import apply, make_delta, measure, put
from structron.update.violation import Rule
from structron.weights.sparse import Row

Weights = dict[tuple[str, tuple[int, ...], int], float]
Actions = tuple[int, ...]

# -- chains --------------------------------------------------------------------------------------------------------

POSITION, LAST, BEFORE = 1, 2, 3
CHAIN_1 = ["w", "y1", "w|y1"]
CHAIN_2 = ["w", "y1", "y2|y1", "w|y2"]


def chain_start(x, table, states, s):
    states[s, 1] = 0
    states[s, 2] = 0
    states[s, 3] = 0


def chain_legal(x, table, states, s, out):
    count = 0
    if states[s, 1] < x.shape[0]:
        count = table[0]
        for y in range(count):
            out[y] = y
    return count


def chain_advance(x, table, states, s, action, t):
    states[t, 1] = states[s, 1] + 1
    states[t, 2] = action + 1
    states[t, 3] = states[s, 2]


def chain_atoms(x, table, states, s, out):
    out[0] = x[states[s, 1], 0] if states[s, 1] < x.shape[0] else -1
    out[1] = states[s, 2]
    out[2] = states[s, 3]


def chain_problem(
    labels: int = 3, words: int = 4, templates: Sequence[str] = tuple(CHAIN_1), **more: Any
) -> SearchProblem:
    """Labels for the words of a sentence; atoms: the word w, the last label y1, the one before y2 (0: none)."""
    given = {
        "start": chain_start,
        "legal": chain_legal,
        "advance": chain_advance,
        "atoms": chain_atoms,
        "atom_names": {"w": words, "y1": labels + 1, "y2": labels + 1},
        "always": ["y1"],
        "table": [labels],
        "max_steps": lambda n: n,
        "name": "chain",
    }
    return SearchProblem(actions=[f"L{y}" for y in range(labels)], width=4, templates=templates, **(given | more))


# -- parsing -------------------------------------------------------------------------------------------------------

HUANG = ["s0.w|s0.t", "s1.w", "s0.t|s1.t|q0.t", "s1.t|s1l.t|s0.t", "s1.t|s1r.t|s0.t", "s0.t|s0l.t|s0r.t", "s2.t|s1.t"]
"""Some of the paper's templates, closed: what a later state asks of s1 or s2, they ask of s0 or s1 now."""

POOR = ["s0.t|s1.t", "q0.t|s0.t"]
"""So few that many states look alike, and a merged state has many predictors."""


def parser_problem(
    templates: Sequence[str] = tuple(HUANG),
    labels: int = 1,
    words: int = 4,
    tags: int = 4,
    always: Sequence[str] | None = None,
) -> SearchProblem:
    """Arc-standard as the parser builds it; words and tags are numbers below these."""
    lasting = shift_reduce.keep_learner_atoms(templates)
    asked = [name for name in lasting if not name.startswith("word of ")]
    layout = shift_reduce.atom_layout([*templates, *asked], ["word", "tag"])
    sides = [f"{side}:{label}" for side in ("left", "right") for label in range(labels)]
    return SearchProblem(
        actions=["shift", *sides],
        width=shift_reduce.WIDTH,
        start=shift_reduce.start,
        legal=shift_reduce.legal,
        advance=shift_reduce.advance,
        atoms=shift_reduce.atoms,
        atom_names=shift_reduce.sizes(layout, {"word": words, "tag": tags}, labels),
        templates=list(templates),
        moves=moves(labels).tolist(),
        always=lasting if always is None else list(always),
        table=shift_reduce.make_table(layout, labels),
        max_steps=lambda n: 2 * n,
        looks_at=shift_reduce.looks_at,
        name="parser",
    )


# -- Figure 1 ------------------------------------------------------------------------------------------------------


def figure1_legal(x, table, states, s, out):
    """{N} x {N, V} x {N, V} x {.}"""
    i = states[s, 1]
    count = 1
    if i == x.shape[0]:
        count = 0
    elif i == 0:
        out[0] = 0
    elif i == x.shape[0] - 1:
        out[0] = 2
    else:
        out[0] = 0
        out[1] = 1
        count = 2
    return count


def figure1_atoms(x, table, states, s, out):
    """nn fires after N, where only the action N has a weight for it; vd after V, where only the full stop has one."""
    i, last = states[s, 1], states[s, 2]
    middle = i > 0 and i < x.shape[0] - 1
    out[0] = 0 if last == 1 and middle else -1
    out[1] = 0 if last == 2 and i == x.shape[0] - 1 else -1
    out[2] = last


def figure1_problem() -> SearchProblem:
    """x = fruit flies fly . ; features (#N→N, #V→.) and no others: V has no weights at all."""
    return SearchProblem(
        actions=["N", "V", "."],
        width=4,
        start=chain_start,
        legal=figure1_legal,
        advance=chain_advance,
        atoms=figure1_atoms,
        atom_names={"nn": 1, "vd": 1, "y": 4},
        templates=["nn", "vd"],
        parts=[[0], [-1], [1]],
        always=["y"],
        max_steps=lambda n: n,
        name="figure 1",
    )


PROBLEMS: dict[str, tuple[Callable[[], SearchProblem], list[int]]] = {
    "chain1": (lambda: chain_problem(3, 4, CHAIN_1), [4]),
    "chain2": (lambda: chain_problem(3, 4, CHAIN_2), [4]),
    "exchanged1": (lambda: chain_problem(3, 4, CHAIN_1, exchangeable=True), [4]),
    "exchanged2": (lambda: chain_problem(3, 4, CHAIN_2, exchangeable=True), [4]),
    "parser": (parser_problem, [4, 4]),
    "labelled": (lambda: parser_problem(labels=2), [4, 4]),
    "poor": (lambda: parser_problem(POOR, words=2, tags=3), [2, 3]),
}
"""Problems by name, with the sizes of the columns of their inputs."""
USUAL = ["chain1", "chain2", "parser", "labelled", "poor"]


@cache
def named(name: str) -> tuple[SearchProblem, list[int]]:
    make, columns = PROBLEMS[name]
    return make(), columns


# -- every derivation, without sharing -----------------------------------------------------------------------------


class Space:
    """What can be reached from one input. A derivation is the tuple of its actions."""

    def __init__(self, problem: SearchProblem, x: np.ndarray, rows: int = 1 << 12):
        self.problem, self.x = problem, np.ascontiguousarray(x, np.int64)
        self.start, self.legal_into, self.advance, self.atoms = map(problem.plain, problem.functions)
        self.states = np.zeros((rows, problem.width), np.int64)
        self.states[0, TAIL] = -1
        self.start(self.x, problem.table, self.states, 0)
        self.row: dict[Actions, int] = {(): 0}
        self.known: dict[Actions, tuple[int, ...]] = {}

    def row_of(self, actions: Actions) -> int:
        if actions not in self.row:
            s, t, action = self.row_of(actions[:-1]), len(self.row), actions[-1]
            if t == len(self.states):
                self.states = np.concatenate([self.states, np.zeros_like(self.states)])
            self.advance(self.x, self.problem.table, self.states, s, action, t)
            below, move = self.states[s, TAIL], self.problem.moves[action]
            self.states[t, TAIL] = s if move > 0 else self.states[below, TAIL] if move < 0 else below
            self.row[actions] = t
        return self.row[actions]

    def legal(self, actions: Actions) -> list[int]:
        out = np.zeros(len(self.problem.actions), np.int64)
        count = self.legal_into(self.x, self.problem.table, self.states, self.row_of(actions), out)
        return out[: max(count, 0)].tolist()

    def values(self, actions: Actions) -> tuple[int, ...]:
        """The atoms of a state."""
        if actions not in self.known:
            out = np.zeros(len(self.problem.composition.atoms), np.int64)
            self.atoms(self.x, self.problem.table, self.states, self.row_of(actions), out)
            self.known[actions] = tuple(out.tolist())
        return self.known[actions]

    def signature(self, actions: Actions) -> tuple[int, ...]:
        values = self.values(actions)
        return tuple(values[k] for k in self.problem.composition.features.signature.tolist())

    def features(self, actions: Actions, action: int) -> list[tuple[str, tuple[int, ...], int]]:
        """The features of taking an action after others."""
        names = dict(zip(self.problem.composition.atoms, self.values(actions), strict=True))
        columns = [c for c in self.problem.parts[action].tolist() if c >= 0]
        found = [(text, tuple(names[a] for a in text.split("|"))) for text in self.problem.composition.texts]
        return [(text, values, c) for text, values in found if min(values) >= 0 for c in columns]

    def gain(self, weights: Weights, actions: Actions, action: int) -> float:
        return sum(weights.get(feature, 0.0) for feature in self.features(actions, action))

    def phi(self, actions: Actions) -> Counter:
        """Φ of a whole derivation."""
        return Counter(f for i, action in enumerate(actions) for f in self.features(actions[:i], action))

    def difference(self, y: Actions, z: Actions) -> Counter:
        """ΔΦ(x, y, z): Φ of one derivation minus that of another, without what is 0."""
        change = self.phi(y)
        change.subtract(self.phi(z))
        return Counter({feature: count for feature, count in change.items() if count})

    def score(self, weights: Weights, actions: Actions) -> float:
        return sum(self.gain(weights, actions[:i], action) for i, action in enumerate(actions))

    def all(self, longest: int = 99, start: Actions = ()) -> Iterator[Actions]:
        """Every finished derivation, and every one of `longest` actions."""
        legal = self.legal(start) if len(start) < longest else []
        if not legal:
            yield start
        for action in legal:
            yield from self.all(longest, (*start, action))


# -- between dictionaries and arrays -------------------------------------------------------------------------------


def key_of(problem: SearchProblem, text: str, values: Sequence[int]) -> int:
    """A template's number in the top nine bits, the values packed below, the first one lowest."""
    composition, key, place = problem.composition, 0, 0
    for atom, value in zip(text.split("|"), values, strict=True):
        key |= value << place
        place += max(1, (composition.sizes[composition.atoms.index(atom)] - 1).bit_length())
    assert place <= 55
    return (composition.texts.index(text) + 1) << 55 | key


def random_weights(problem: SearchProblem, rng: np.random.Generator, scale: int = 3) -> Weights:
    """A whole number for every feature there can be; many are 0, many are equal."""
    size = dict(zip(problem.composition.atoms, problem.composition.sizes, strict=True))
    keys = [
        (text, values, column)
        for text in problem.composition.texts
        for values in product(*(range(size[atom]) for atom in text.split("|")))
        for column in range(problem.columns)
    ]
    return dict(zip(keys, rng.integers(-scale, scale + 1, len(keys)).astype(float).tolist(), strict=True))


def model_of(problem: SearchProblem, weights: Weights) -> BeamModel:
    rows: dict[int, list[tuple[int, float]]] = {}
    for (text, values, column), weight in weights.items():
        rows.setdefault(key_of(problem, text, values), []).append((column, weight))
    keys = np.array(list(rows), np.uint64)
    place = np.repeat(np.arange(len(keys)), [len(row) for row in rows.values()]).astype(np.int64)
    flat = [cell for row in rows.values() for cell in row]
    columns, cells = np.array([c for c, _ in flat], np.int32), np.array([w for _, w in flat], np.float32)
    return BeamModel(problem, keys, Row(place, columns, cells))


def weights_in(problem: SearchProblem, keys: np.ndarray, rows: Row) -> Weights:
    """Weights that are not 0, by name."""
    found: Weights = {}
    for place, column, weight in zip(rows.place.tolist(), rows.column.tolist(), rows.weight.tolist(), strict=True):
        text, _, values = problem.composition.describe(int(keys[place])).partition("=")
        if weight:
            found[text, tuple(map(int, values.split("|"))), column] = weight
    return found


def without_zeros(weights: Weights) -> Weights:
    return {key: weight for key, weight in weights.items() if weight}


def inputs_of(problem: SearchProblem, xs: Sequence[np.ndarray], golds: Sequence[Sequence[int]] | None = None) -> Inputs:
    starts = np.cumsum([0, *map(len, xs)]).astype(np.int64)
    return make_inputs(problem, list(xs), starts, None if golds is None else [list(gold) for gold in golds])


def uneven_weights(problem: SearchProblem, rng: np.random.Generator) -> Weights:
    """A weight for every feature there can be, no two sums of which are equal, within the unit sphere."""
    keys = list(random_weights(problem, rng))
    values = rng.normal(size=len(keys))
    values = (0.7 * values / np.linalg.norm(values)).astype(np.float32)
    return dict(zip(keys, values.astype(float).tolist(), strict=True))


def begin_at(learner: BeamTraining, cells: Iterable[tuple[int, int, float]]) -> None:
    """Give a learner that has not begun weights to start from: keys, columns and weights."""
    delta = make_delta(1 << 16)
    for key, column, weight in cells:
        put(delta, np.uint64(key), column, weight)
    learner.pace[NORM] = measure(delta, learner.sparse, learner.anchored)[0]
    apply(delta, learner.sparse, learner.anchored, 1.0, 0.0)


def begin_with(learner: BeamTraining, weights: Weights) -> None:
    """The same with weights by name."""
    cells = ((key_of(learner.problem, text, values), c, weight) for (text, values, c), weight in weights.items())
    begin_at(learner, cells)


def learn_pass(learner: BeamTraining, sequence: Sequence[int]) -> dict[str, Any]:
    """One pass in a given order; returns its counts."""
    order, place = np.array(sequence, np.int64), 0
    learner.begin_pass()
    while place < len(order):
        place = learner.learn(order, place)
    return learner.counts()


def random_corpus(
    rng: np.random.Generator,
    problem: SearchProblem,
    examples: int,
    longest: int,
    columns: Sequence[int],
    gold: Callable[[Space], Actions] | None = None,
) -> tuple[list[np.ndarray], list[Actions]]:
    """Inputs of random numbers 1 … size - 1 per column, and random legal derivations as their correct ones."""
    xs, golds = [], []
    for _ in range(examples):
        n = int(rng.integers(1, longest + 1))
        x = np.stack([rng.integers(1, size, n) for size in columns], axis=1)
        space, actions = Space(problem, x), ()
        while gold is None and (legal := space.legal(actions)):
            actions = (*actions, int(rng.choice(legal)))
        xs.append(x)
        golds.append(actions if gold is None else gold(space))
    return xs, golds


@cache
def corpus_of(
    name: str, seed: int = 1, examples: int = 5, longest: int = 5
) -> tuple[SearchProblem, list[np.ndarray], list[Actions]]:
    """A problem, inputs and random correct derivations: hard to learn, so that every kind of update happens."""
    problem, columns = named(name)
    return problem, *random_corpus(np.random.default_rng(seed), problem, examples, longest, columns)


def random_case(
    name: str, seed: int, longest: int = 5, examples: int = 2
) -> tuple[SearchProblem, Weights, list[np.ndarray]]:
    """A problem, whole-numbered weights, and inputs."""
    rng, (problem, columns) = np.random.default_rng(seed), named(name)
    weights = random_weights(problem, rng)
    return problem, weights, random_corpus(rng, problem, examples, longest, columns)[0]


def training(
    problem: SearchProblem,
    inputs: Inputs,
    beam: int | None,
    update: str | Rule = "max-violation",
    merge: bool = True,
    average: str = "mean",
    anchored: Anchored = NO_ANCHORS,
    **steps: Any,
) -> BeamTraining:
    """A learner. steps: check, alma, margin, swvp."""
    return BeamTraining(problem, inputs, Search(beam, update, merge, **steps), average, anchored)


def learner_of(name: str, beam: int | None, rule: str | Rule, merge: bool = True, **steps: Any) -> BeamTraining:
    """A learner of `corpus_of`, not averaged."""
    problem, xs, golds = corpus_of(name)
    return training(problem, inputs_of(problem, xs, golds), beam, rule, merge, "none", **steps)
