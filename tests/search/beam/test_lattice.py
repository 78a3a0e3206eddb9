"""Exact search over a lattice, and stretches of tokens as actions, against enumeration."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structron.errors import StructronError
from structron.learn.beam import BeamTraining
from structron.model.beam import BeamModel
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import AFTER, AT, BEFORE, LAST, PAIR, TRIPLE, Anchored
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


def stuck(x, table, states, s, action, t):
    """A node that does not grow."""
    states[t, 1] = states[s, 1] + action // 2 + 1
    states[t, 2], states[t, 4] = action % 2 + 1, 0


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
        "stretches": (POSITIONS, WHOLE),
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

    def __init__(self, seed, lengths, features=40):
        rng = np.random.default_rng(seed)
        self.starts = np.cumsum([0, *lengths]).astype(np.int64)
        lists = [rng.integers(0, features, rng.integers(0, 3)).tolist() for _ in range(int(self.starts[-1]) * KINDS)]
        self.lists, self.features = lists, features
        self.ptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
        self.numbers = np.array([f for own in lists for f in own], np.int32)
        self.golds = []
        for n in lengths:
            every = list(everything(n))
            self.golds.append(every[rng.integers(len(every))])

    def inputs(self, gold=False):
        x = np.zeros((int(self.starts[-1]), 1), np.int64)
        return make_inputs(PROBLEM, x, self.starts, [list(g) for g in self.golds] if gold else None)

    def anchored(self, table):
        return Anchored(self.ptr, self.numbers, table, *PROBLEM.kinds)

    def phi(self, e, actions):
        """Features (name, column) of a segmentation of sentence e, straight from the description of a stretch."""
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


def random_weights(seed, features=40, whole=False):
    rng = np.random.default_rng(seed)
    numbered, template = names_of(features)
    draw = (lambda: float(rng.integers(-3, 4))) if whole else (lambda: float(np.float32(rng.normal())))
    return {(name, column): draw() for name in [*numbered, *template] for column in range(LABELS)}


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_exact_search_is_enumeration(seed, lengths):
    corpus, weights = Corpus(seed, lengths), random_weights(seed)
    model = model_of(weights, corpus.features)
    anchored = corpus.anchored(model.anchored_table)
    found, scores = model.decode(corpus.inputs(), None, True, anchored)
    for e, n in enumerate(lengths):
        best = max(everything(n), key=lambda actions: corpus.score(weights, e, actions))
        assert tuple(found[e]) == best
        assert scores[e] == pytest.approx(corpus.score(weights, e, best), rel=1e-4, abs=1e-4)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(1, 4))
def test_a_list_has_the_best_derivation_into_each_final_node(seed, lengths, n):
    """Final nodes are the labels of the last segment."""
    corpus, weights = Corpus(seed, lengths), random_weights(seed)
    model = model_of(weights, corpus.features)
    anchored = corpus.anchored(model.anchored_table)
    lists = model.nbest(corpus.inputs(), n, None, True, anchored)
    for e, length in enumerate(lengths):
        best = {}
        for actions in everything(length):
            label, score = segments(actions)[-1][2], corpus.score(weights, e, actions)
            best[label] = max(best.get(label, (-math.inf, ())), (score, actions))
        expected = sorted(best.values(), reverse=True)[:n]
        assert [tuple(actions) for actions, _ in lists[e]] == [actions for _, actions in expected]
        assert [score for _, score in lists[e]] == pytest.approx([s for s, _ in expected], rel=1e-4, abs=1e-4)
    found = model.decode(corpus.inputs(), None, True, anchored)
    assert [own[0] for own in lists] == list(zip(*found, strict=True))


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(1, 5))
def test_beams_are_those_of_lists(seed, lengths, k):
    """After every step the k best segmentations with so many segments; whole ones wait."""
    corpus, weights = Corpus(seed, lengths), random_weights(seed)
    model = model_of(weights, corpus.features)
    found, scores = model.decode(corpus.inputs(), k, False, corpus.anchored(model.anchored_table))
    for e, n in enumerate(lengths):
        beam = [()]
        while True:
            made = []
            for actions in beam:
                left = n - sum(a // 2 + 1 for a in actions)
                made += [(*actions, a) for a in range(6) if a // 2 + 1 <= left] if left else [actions]
            if made == beam:
                break
            beam = sorted(made, key=lambda actions: -corpus.score(weights, e, actions))[:k]
        assert tuple(found[e]) == beam[0]
        assert scores[e] == pytest.approx(corpus.score(weights, e, beam[0]), rel=1e-4, abs=1e-4)


def through_nodes(corpus, weights, e, n):
    """For every node of the lattice but the start and gold's own derivation: the best wrong derivation through it."""
    gold, best = tuple(corpus.golds[e]), {}
    for actions in everything(n):
        if actions == gold:
            continue
        score = corpus.score(weights, e, actions)
        for k, (first, length, label, _) in enumerate(segments(actions)):
            node = (first + length, label)
            if actions[: k + 1] != gold[: k + 1] and (node not in best or score > best[node][0]):
                best[node] = (score, actions)
    return best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alma", [None, (0.8, 1.25, math.sqrt(2))], ids=["perceptron", "alma"])
def test_updates_look_at_the_whole_lattice(seed, alma):
    """Δ is the correct derivation's features minus the mean over nodes of the best derivation through them."""
    n = 3 + seed % 4
    corpus, weights = Corpus(seed, [n]), random_weights(seed)
    size = math.sqrt(sum(w * w for w in weights.values()))
    weights = {key: float(np.float32(0.6 * w / size)) for key, w in weights.items()}
    table = np.stack([np.arange(1, corpus.features + 1), np.zeros(corpus.features)], axis=1).astype(np.uint64)
    learner = BeamTraining(
        PROBLEM, corpus.inputs(True), None, "laso", True, "none", corpus.anchored(table), True, alma=alma
    )
    begin_with(learner, weights)
    alpha, b, c = alma or (1.0, 1.0, 1.0)
    low = (1 - alpha) * b if alma else 0.0
    gold = tuple(corpus.golds[0])
    wrong = through_nodes(corpus, weights, 0, n)
    limit = corpus.score(weights, 0, gold) - low
    beaten = [actions for score, actions in wrong.values() if score >= limit]
    expected = dict(weights)
    if beaten:
        delta = {key: float(count) for key, count in corpus.phi(0, gold).items()}
        for actions in beaten:
            for key, count in corpus.phi(0, actions).items():
                delta[key] = delta.get(key, 0.0) - count / len(beaten)
        length = math.sqrt(sum(d * d for d in delta.values()))
        rate = c / max(1.0, length) if alma else 1.0
        for key, amount in delta.items():
            expected[key] = expected.get(key, 0.0) + rate * amount
        total = math.sqrt(sum(w * w for w in expected.values())) if alma else 1.0
        expected = {key: w / max(1.0, total) for key, w in expected.items()}
    learner.learn(np.zeros(1, np.int64), 0)
    assert bool(beaten) == bool(learner.counts()["updates"])
    found = learned(learner, corpus.features)
    assert found == pytest.approx({key: expected[key] for key in found}, abs=1e-5)
    assert all(abs(w) < 1e-5 for key, w in expected.items() if key not in found)


def begin_with(learner, weights):
    from structron.update.alma import NORM
    from structron.update.delta import apply, make_delta, measure, put

    delta = make_delta()
    for (name, column), weight in weights.items():
        put(delta, np.uint64(name[1] + 1 if name[0] == "n" else key_of(name)), column, weight)
    learner.pace[NORM] = measure(delta, learner.sparse, learner.anchored)[0]
    apply(delta, learner.sparse, learner.anchored, 1.0, 0.0)


def learned(learner, features):
    numbered, template = names_of(features)
    by_key = {key_of(name): name for name in template} | {f + 1: ("n", f) for _, f in numbered}
    keys, rows = learner.rows()
    cells = zip(rows.place.tolist(), rows.column.tolist(), rows.weight.tolist(), strict=True)
    return {(by_key[int(keys[place])], column): weight for place, column, weight in cells if weight}


@pytest.mark.parametrize("rule", ["standard", "early", "max-violation", "latest", "hybrid", "laso"])
def test_every_rule_learns_exactly(rule):
    """Separable data: with exact search all rules end with the correct segmentations as the best."""
    corpus = Corpus(3, [4, 3, 5, 2], 400)
    table = np.stack([np.arange(1, 401), np.zeros(400)], axis=1).astype(np.uint64)
    learner = BeamTraining(PROBLEM, corpus.inputs(True), None, rule, True, "none", corpus.anchored(table), True)
    for _ in range(60):
        learner.begin_pass()
        place = 0
        while place < 4:
            place = learner.learn(np.arange(4), place)
        if not learner.counts()["updates"]:
            break
    assert learner.counts()["updates"] == 0
    model = learner.snapshot()
    numbers = {int(key): k for k, key in enumerate(model.anchored_keys.tolist())}
    kept = [[numbers[f + 1] for f in own if f + 1 in numbers] for own in corpus.lists]
    ptr = np.cumsum([0, *map(len, kept)]).astype(np.int64)
    anchored = Anchored(ptr, np.array([f for own in kept for f in own], np.int32), model.anchored_table, *PROBLEM.kinds)
    found, _ = model.decode(corpus.inputs(), None, True, anchored)
    assert [tuple(actions) for actions in found] == corpus.golds


def test_many_nodes_and_edges_need_room():
    """A sentence so long that nodes, rows and edges outgrow the first arrays."""
    n = 900
    corpus = Corpus.__new__(Corpus)
    corpus.starts, corpus.features = np.array([0, n]), 1
    corpus.lists, corpus.ptr = [[] for _ in range(n * KINDS)], np.zeros(n * KINDS + 1, np.int64)
    corpus.numbers, corpus.golds = np.zeros(0, np.int32), [tuple([0] * n)]
    weights = {(("len", 3), 1): 1.0, (("len", 2), 0): 0.9, (("y", 2), 1): -0.5}
    model = model_of(weights, 1)
    found, scores = model.decode(corpus.inputs(), None, True, corpus.anchored(model.anchored_table))
    assert sum(a // 2 + 1 for a in found[0]) == n
    assert scores[0] == pytest.approx(corpus.score(weights, 0, found[0]), rel=1e-4)
    best = [-math.inf] * 3  # a dynamic program over (position, label before) by hand
    table = {(0, 0): 0.0}
    for i in range(n):
        for before in range(3):
            if (i, before) in table:
                for length in range(1, min(3, n - i) + 1):
                    for label in range(2):
                        gain = weights.get((("len", length), label), 0.0) + weights.get((("y", before), label), 0.0)
                        key = (i + length, label + 1)
                        table[key] = max(table.get(key, -math.inf), table[i, before] + gain)
    best = max(table.get((n, label), -math.inf) for label in (1, 2))
    assert scores[0] == pytest.approx(best, rel=1e-4)
    learner = BeamTraining(PROBLEM, corpus.inputs(True), None, "laso", anchored=corpus.anchored(model.anchored_table))
    assert all(lo < hi for lo, hi in pairwise([learner.learn(np.zeros(1, np.int64), 0) - 1, 1]))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"views": [1, 2]}, "views: expected a number from 0 on for each of its actions"),
        ({"view": -1}, "views without `view`"),
        ({"lattice": 5}, "lattice: column 5; expected one of 1 … 4"),
        ({"view": 0}, "view: column 0; expected one of 1 … 4"),
        ({"moves": [1, 0, 0, 0, 0, -1]}, "not for a problem with a stack"),
    ],
)
def test_columns_that_cannot_be(more, message):
    with pytest.raises(StructronError, match=message):
        make_problem(**more)


def test_a_node_that_does_not_grow_is_named():
    problem, x = make_problem(advance=stuck), np.zeros((3, 1), np.int64)
    with pytest.raises(StructronError, match=r"advance: example 0: column 4 \(lattice\) is 0 and then 0"):
        problem.check(x)
    learner = BeamTraining(problem, make_inputs(problem, x, np.array([0, 3]), [[0, 0, 0]]), None, "laso")
    with pytest.raises(StructronError, match="the column that `lattice` names did not grow"):
        learner.learn(np.zeros(1, np.int64), 0)


def test_without_numbered_features_there_are_none():
    """A problem that looks at tokens may come without any features of them."""
    corpus = Corpus(1, [4, 3])
    corpus.lists = [[] for _ in corpus.lists]
    weights = random_weights(1)
    model = model_of(weights, corpus.features)
    found, scores = model.decode(corpus.inputs(), None)
    for e, n in enumerate((4, 3)):
        assert tuple(found[e]) == max(everything(n), key=lambda actions: corpus.score(weights, e, actions))
        assert scores[e] == pytest.approx(corpus.score(weights, e, found[e]), rel=1e-4)
    learner = BeamTraining(PROBLEM, corpus.inputs(True), 2, "laso")
    learner.learn(np.arange(2), 0)
    short = Anchored(np.zeros(3, np.int64), np.zeros(1, np.int32), np.ones((1, 2), np.uint64), *PROBLEM.kinds)
    with pytest.raises(StructronError, match="numbered features do not fit the tokens"):
        model.decode(corpus.inputs(), None, True, short)
