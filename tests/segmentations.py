"""A search problem whose actions are segments of tokens, over a lattice of nodes; and every segmentation there is.

weight keys:   (name, column); a name is ("n", number), ("len", length), ("y", label before) or ("y|len", both)
"""

from collections import Counter

import numpy as np

from problems import begin_at, training
from structron.features.places import AFTER, AT, BEFORE, LAST, PAIR, TRIPLE
from structron.model.beam import BeamModel
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import Anchored
from structron.search.beam.problem import SearchProblem
from structron.weights.sparse import Row

POSITION, BEFORE_LABEL, VIEW, NODE = 1, 2, 3, 4


LABELS, LONGEST = 2, 3


POSITIONS, WHOLE = 2, 2


KINDS = AT + POSITIONS + WHOLE


def start(x, table, states, s):
    states[s, 1], states[s, 2], states[s, 3], states[s, 4] = 0, 0, 0, 0


def legal(x, table, states, s, out):
    count = 0
    for length in range(1, min(3, x.shape[0] - states[s, 1]) + 1):
        for label in range(2):
            out[count] = 2 * (length - 1) + label
            count += 1
    return count


def advance(x, table, states, s, action, t):
    states[t, 1] = states[s, 1] + action // 2 + 1
    states[t, 2] = action % 2 + 1
    states[t, 4] = states[t, 1] * 3 + states[t, 2]


def atoms(x, table, states, s, out):
    out[0] = states[s, 3] if states[s, 3] > 0 else -1
    out[1], out[2] = states[s, 2], states[s, 1]


def make_problem(**more) -> SearchProblem:
    given = {
        "actions": [f"{label}{length}" for length in (1, 2, 3) for label in "ab"],
        "width": 5,
        "start": start,
        "legal": legal,
        "advance": advance,
        "atoms": atoms,
        "atom_names": {"len": 4, "y": 3, "at": 0},
        "templates": ["len", "y", "y|len"],
        "always": ["at"],
        "parts": [[action % 2] for action in range(6)],
        "max_steps": int,
        "where": POSITION,
        "views": [action // 2 + 1 for action in range(6)],
        "view": VIEW,
        "segment_features": (POSITIONS, WHOLE),
        "lattice": NODE,
    }
    return SearchProblem(**given | more)


PROBLEM = make_problem()


def segments(actions):
    """(start, length, label, label before) of every segment."""
    ends = np.cumsum([0, *(a // 2 + 1 for a in actions)]).tolist()
    labels = [0, *(a % 2 + 1 for a in actions)]
    return [(ends[i], a // 2 + 1, a % 2, labels[i]) for i, a in enumerate(actions)]


def everything(n, before=()):
    """All segmentations of n tokens as actions."""
    if n == 0:
        yield before
    for length in range(1, min(LONGEST, n) + 1):
        for label in range(LABELS):
            yield from everything(n - length, (*before, 2 * (length - 1) + label))


class Corpus:
    """Sentences whose tokens have numbered features: every (token, kind) has one or two of its own or shared ones."""

    def __init__(self, seed, lengths, features=40, golds=None):
        rng = np.random.default_rng(seed)
        self.starts = np.cumsum([0, *lengths]).astype(np.int64)
        lists = [rng.integers(0, features, rng.integers(0, 3)).tolist() for _ in range(int(self.starts[-1]) * KINDS)]
        self.lists, self.features = lists, features
        self.ptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
        self.numbers = np.array([f for own in lists for f in own], np.int32)
        self.lengths, self.golds = lengths, golds or []
        for n in lengths if golds is None else []:
            every = list(everything(n))
            self.golds.append(every[rng.integers(len(every))])

    def inputs(self, gold=False):
        x = np.zeros((int(self.starts[-1]), 1), np.int64)
        return make_inputs(PROBLEM, x, self.starts, [list(g) for g in self.golds] if gold else None)

    def anchored(self, table):
        return Anchored(self.ptr, self.numbers, table, *PROBLEM.kinds)

    def learner(self, rule, **more):
        """Exact search, no average, and all updates are checked."""
        table = np.stack([np.arange(1, self.features + 1), np.zeros(self.features)], axis=1).astype(np.uint64)
        return training(PROBLEM, self.inputs(True), None, rule, True, "none", self.anchored(table), check=True, **more)

    def best(self, weights, e, but=None):
        """The best segmentation of sentence e, or the best but one."""
        candidates = (actions for actions in everything(self.lengths[e]) if actions != but)
        return max(candidates, key=lambda actions: self.score(weights, e, actions))

    def phi(self, e, actions):
        """Features (name, column) of a segmentation of sentence e, straight from the description of a segment."""
        found, base = Counter(), int(self.starts[e])
        for first, length, label, before in segments(actions):
            s, last = base + first, base + first + length - 1
            units = [(s, BEFORE), (last, AFTER), (last, LAST)]
            units += [(s + i, AT + min(i, POSITIONS - 1)) for i in range(length)]
            units += [(t, PAIR) for t in range(s + 1, last + 1)] + [(t, TRIPLE) for t in range(s + 2, last + 1)]
            units += [(s, AT + POSITIONS + length - 1)] if length <= WHOLE else []
            for t, kind in units:
                found.update((("n", f), label) for f in self.lists[t * KINDS + kind])
            for name in (("len", length), ("y", before), ("y|len", before, length)):
                found[name, label] += 1
        return found

    def score(self, weights, e, actions):
        return sum(count * weights.get(key, 0.0) for key, count in self.phi(e, actions).items())


def key_of(name):
    composition = PROBLEM.composition
    values = {"len": [name[1], 0, 0], "y": [0, name[1], 0], "y|len": [name[-1], name[1], 0]}[name[0]]
    return composition.key(composition.texts.index(name[0]), values)


def names_of(features):
    template = [("len", n) for n in (1, 2, 3)] + [("y", y) for y in range(3)]
    template += [("y|len", y, n) for y in range(3) for n in (1, 2, 3)]
    return [("n", f) for f in range(features)], template


def model_of(weights, features):
    numbered, template = names_of(features)
    cells = [
        (place, column, weights[name, column])
        for place, name in enumerate([*numbered, *template])
        for column in range(LABELS)
        if (name, column) in weights
    ]
    place, column, weight = (np.array(values) for values in zip(*cells, strict=True))
    rows = Row(place.astype(np.int64), column.astype(np.int32), weight.astype(np.float32))
    keys = np.array([key_of(name) for name in template], np.uint64)
    return BeamModel(PROBLEM, keys, rows, np.arange(1, features + 1).astype(np.uint64))


def random_weights(seed, features=40):
    rng = np.random.default_rng(seed)
    numbered, template = names_of(features)
    cells = [(name, column) for name in [*numbered, *template] for column in range(LABELS)]
    return dict(zip(cells, rng.normal(size=len(cells)).astype(np.float32).astype(float).tolist(), strict=True))


def begin_with(learner, weights):
    keys = {name: name[1] + 1 if name[0] == "n" else key_of(name) for name, _ in weights}
    begin_at(learner, ((keys[name], column, weight) for (name, column), weight in weights.items()))


def learned(learner, features):
    numbered, template = names_of(features)
    by_key = {key_of(name): name for name in template} | {f + 1: ("n", f) for _, f in numbered}
    keys, rows = learner.rows()
    cells = zip(rows.place.tolist(), rows.column.tolist(), rows.weight.tolist(), strict=True)
    return {(by_key[int(keys[place])], column): weight for place, column, weight in cells if weight}
