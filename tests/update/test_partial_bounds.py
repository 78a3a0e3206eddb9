"""Open labels in the tasks of the beam engine: on separable data, as many updates as the theorem allows."""

from collections import Counter

import numpy as np
import pytest

import structron
from separable import bound_of, matrix_of
from structron.kernels.jit import plain
from structron.learn.beam import BeamTraining
from structron.search.beam.frontier import TAIL
from structron.search.beam.scores import unit_of, units_of
from structron.tasks.segments.partial import agreeing
from structron.tasks.shift_reduce.agreeing import agreeing as agreeing_transitions

Actions = tuple[int, ...]
CHUNKS = ["B-P I-P ?", "? B-P O", "B-Q ? B-P", "O ? I-Q"]
TREES = [[2, None, 2], [None, 1, 2], [2, None], [None, 3, None]]


def chunk_rows() -> list:
    return [
        [(f"{s}{i}", None if y == "?" else y) for i, y in enumerate(labels.split())] for s, labels in enumerate(CHUNKS)
    ]


def pair_rows() -> list:
    """Two words each; tags are open too, here and there."""
    tags = [[None if (s + i) % 3 == 0 else "DN"[i % 2] for i in range(2)] for s in range(len(CHUNKS))]
    return [
        [(word, tag, y) for (word, y), tag in zip(rows[:2], own, strict=True)]
        for rows, own in zip(chunk_rows(), tags, strict=True)
    ]


def tree_rows() -> list:
    return [
        [[f"{s}{i}", "NV"[i % 2], head, "x" if head else None] for i, head in enumerate(heads)]
        for s, heads in enumerate(TREES)
    ]


PLAIN = {"runs": 1, "cutoff": 0, "average": "none", "passes": 200, "margin": None, "check": True}
CASES = {
    "tagger": (structron.Tagger, {"columns": ["word", "tag"], "templates": ["w[0]"], "order": 1}, chunk_rows),
    "segments": (structron.SegmentChunker, {"columns": ["word", "chunk"], "templates": ["w[0]"]}, chunk_rows),
    "joint": (
        structron.JointTagger,
        {"columns": ["word", "pos", "chunk"], "templates": ["w[0]", "c[-1]"], "tag_dictionary": 0},
        pair_rows,
    ),
    "parser": (structron.Parser, {"templates": ["s0.w|s1.w|q0.w"], "limit_relations": False}, tree_rows),
}
LEGAL = {"tagger": None, "segments": agreeing, "joint": None, "parser": agreeing_transitions}


class Searched:
    """The derivations of an example and their features, from the problem's functions as they were written."""

    def __init__(self, learner: BeamTraining, e: int, legal=None):
        self.learner, self.problem, self.e = learner, learner.problem, e
        inputs = learner.knowledge.inputs
        self.base = int(inputs.starts[e])
        self.seen, self.x = learner.inputs, learner.inputs.x[self.base : int(inputs.starts[e + 1])]
        self.states = np.zeros((20_000, self.problem.width), np.int64)
        self.states[0, TAIL] = -1
        self.problem.plain("start")(self.x, self.seen.table, self.states, 0)
        self.row: dict[Actions, int] = {(): 0}
        self.every = self._whole((), self.x, self.seen.table, self.problem.plain("legal"))
        known = inputs.x[self.base : int(inputs.starts[e + 1])]
        self.good = self._whole((), known, inputs.table, legal or self.problem.plain("legal"))

    def _whole(self, actions: Actions, x, table, legal) -> list[Actions]:
        out = np.zeros(len(self.problem.actions), np.int64)
        number = legal(x, table, self.states, self.row_of(actions), out)
        found = [actions] if number == 0 else []
        return found + [y for a in out[: max(number, 0)].tolist() for y in self._whole((*actions, a), x, table, legal)]

    def row_of(self, actions: Actions) -> int:
        if actions not in self.row:
            s, t, action, states = self.row_of(actions[:-1]), len(self.row), actions[-1], self.states
            self.problem.plain("advance")(self.x, self.seen.table, states, s, action, t)
            below, move = states[s, TAIL], self.problem.moves[action]
            states[t, TAIL] = s if move > 0 else states[below, TAIL] if move < 0 else below
            self.row[actions] = t
        return self.row[actions]

    def phi(self, actions: Actions) -> Counter:
        """Features with the columns of their weights."""
        found, problem, anchored = Counter(), self.problem, self.learner.anchored
        for i, action in enumerate(actions):
            s, view = self.row_of(actions[:i]), int(problem.views[action])
            out = np.zeros(len(problem.composition.atoms), np.int64)
            if problem.view >= 0:
                self.states[s, problem.view] = view
            problem.plain("atoms")(self.x, self.seen.table, self.states, s, out)
            values = dict(zip(problem.composition.atoms, out.tolist(), strict=True))
            names = [(text, *(values[a] for a in text.split("|"))) for text in problem.composition.texts]
            names = [own for own in names if min(own[1:]) >= 0]
            if problem.where >= 0:
                token = self.base + int(self.states[s, problem.where])
                lists = [token]
                if anchored.kinds:
                    count = plain(units_of)(anchored, view)
                    lists = [int(plain(unit_of)(anchored, token, view, j)) for j in range(count)]
                names += [int(n) for a in lists for n in anchored.numbers[anchored.ptr[a] : anchored.ptr[a + 1]]]
            found.update((str(name), c) for name in names for c in problem.parts[action].tolist() if c >= 0)
        return found

    def confusions(self) -> list[Counter]:
        """Φ(y') - Φ(z) for every prefix y' that agrees and every z that does not and stands in the same step."""
        right, every = ({y[:i] for y in own for i in range(1, len(y) + 1)} for own in (self.good, self.every))
        features, found = {y: self.phi(y) for y in every}, []
        for y in right:
            for z in every - right:
                if len(y) == len(z) or (len(z) < len(y) and z in self.every) or (len(y) < len(z) and y in self.good):
                    change = Counter(features[y])
                    change.subtract(features[z])
                    found.append(Counter({feature: count for feature, count in change.items() if count}))
        return found


@pytest.mark.parametrize("kind", CASES)
def test_as_many_updates_as_the_theorem_allows(kind):
    """R²/δ², where δ is the margin by which all prefixes that agree are ahead of all others."""
    make, options, rows = CASES[kind]
    bound = None
    for given in (
        {"beam": 1, "update": "early"},
        {"beam": 2, "update": "max-violation"},
        {"beam": 8, "update": "latest"},
    ):
        own = make(**PLAIN | options | given).fit(rows())
        learner = own.learner_
        assert learner.knowledge.open.all()
        if bound is None:
            every = [Searched(learner, e, LEGAL[kind] and plain(LEGAL[kind])) for e in range(learner.examples)]
            bound = bound_of(matrix_of([change for one in every for change in one.confusions()]))
        assert own.stopped_ == "converged"
        assert 0 < sum(record["updates"] for record in own.history_) <= bound
