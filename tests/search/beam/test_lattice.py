"""Exact search over a lattice, and segments of tokens as actions, against enumeration."""

import math
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import learn_pass, training
from segmentations import (
    PROBLEM,
    Corpus,
    begin_with,
    everything,
    learned,
    make_problem,
    model_of,
    random_weights,
    segments,
)
from slow import assert_close
from structron.errors import StructronError
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import Anchored
from structron.update.violation import RULES


def stuck(x, table, states, s, action, t):
    """A node that does not grow."""
    states[t, 1] = states[s, 1] + action // 2 + 1
    states[t, 2], states[t, 4] = action % 2 + 1, 0


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_exact_search_is_enumeration(seed, lengths):
    corpus, weights = Corpus(seed, lengths), random_weights(seed)
    model = model_of(weights, corpus.features)
    anchored = corpus.anchored(model.anchored_table)
    found, scores = model.decode(corpus.inputs(), None, True, anchored)
    for e in range(len(lengths)):
        best = corpus.best(weights, e)
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
@pytest.mark.parametrize("rule", ["laso", "laso-literal"])
@pytest.mark.parametrize("alma", [None, (0.8, 1.25, math.sqrt(2))], ids=["perceptron", "alma"])
def test_updates_look_at_the_whole_lattice(seed, rule, alma):
    """Δ is the correct derivation's features minus the mean over bad nodes of the best derivation through them:
    literally over all of them, else over those whose derivation is not below the correct one."""
    n = 3 + seed % 4
    corpus, weights = Corpus(seed, [n]), random_weights(seed)
    size = math.sqrt(sum(w * w for w in weights.values()))
    weights = {key: float(np.float32(0.6 * w / size)) for key, w in weights.items()}
    learner = corpus.learner(rule, alma=alma)
    begin_with(learner, weights)
    alpha, b, c = alma or (1.0, 1.0, 1.0)
    low = (1 - alpha) * b if alma else 0.0
    gold = tuple(corpus.golds[0])
    wrong = through_nodes(corpus, weights, 0, n)
    limit = corpus.score(weights, 0, gold) - low
    beaten = [actions for score, actions in wrong.values() if score >= limit]
    if beaten and rule == "laso-literal":
        beaten = [actions for _, actions in wrong.values()]
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
    assert_close(learned(learner, corpus.features), expected, 1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_an_expectation_is_over_all_segmentations(seed):
    """Δ = Φ of the correct one less the mean of Φ over all, each with its probability, proportional to exp(score)."""
    n = 2 + seed
    corpus, weights = Corpus(seed, [n]), random_weights(seed)
    rule = replace(RULES["laso-literal"], expected=True)
    weights = {key: float(np.float32(weight / 2)) for key, weight in weights.items()}
    learner = corpus.learner(rule)
    begin_with(learner, weights)
    gold = tuple(corpus.golds[0])
    every = list(everything(n))
    scores = np.array([corpus.score(weights, 0, actions) for actions in every])
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    expected = Counter(weights)
    wrong = max(s for s, actions in zip(scores, every, strict=True) if actions != gold) >= scores[every.index(gold)]
    if wrong:
        expected.update(corpus.phi(0, gold))
        for share, actions in zip(shares, every, strict=True):
            for key, count in corpus.phi(0, actions).items():
                expected[key] -= share * count
    learner.learn(np.zeros(1, np.int64), 0)
    assert bool(wrong) == bool(learner.counts()["updates"])
    assert_close(learned(learner, corpus.features), expected, 1e-5)


@pytest.mark.parametrize(
    ("rule", "shares"),
    [("laso", {(2,): 1 / 2, (3,): 1 / 2}), ("laso-literal", {(2,): 1 / 3, (3,): 1 / 3, (1, 0): 1 / 3})],
)
def test_equation_2_in_a_lattice_by_hand(rule, shares):
    """Two words, labels a and b, a segment is one word or both. Actions: 0 a, 1 b (one word), 2 aa, 3 bb (two words).

    w: a of one word 1, b of one word 1/2, b after a 1/2, aa 3, bb 5/2. Correct is a b: 1 + 1/2 + 1/2 = 2.
    Nodes are (words done, last label), those by the correct prefix excluded, with the best derivation through each:
        (1, b)  b a: 1/2 + 1 = 3/2        (2, a)  aa: 3        (2, b)  bb: 5/2        (1, a) is correct alone
    All bad nodes of the lattice: a mean of three. Those that are not below 2: aa and bb.
    """
    lengths = {(1, 0): 1.0, (1, 1): 0.5, (2, 0): 3.0, (2, 1): 2.5}
    weights = {(("y", 1), 1): 0.5, **{(("len", n), label): weight for (n, label), weight in lengths.items()}}
    segment = {  # (length, label before, label) of the segments of a derivation
        (0, 1): [(1, 0, 0), (1, 1, 1)],
        (1, 0): [(1, 0, 1), (1, 2, 0)],
        (2,): [(2, 0, 0)],
        (3,): [(2, 0, 1)],
    }
    expected = dict(weights)
    for actions, share in {(0, 1): -1.0, **shares}.items():
        for length, before, label in segment[actions]:
            for name in (("len", length), ("y", before), ("y|len", before, length)):
                expected[name, label] = expected.get((name, label), 0.0) - share
    corpus = Corpus(0, [2], 1, golds=[(0, 1)])
    learner = training(PROBLEM, corpus.inputs(True), None, rule, True, "none", check=True)
    begin_with(learner, weights)
    assert learn_pass(learner, [0])["updates"] == 1
    assert_close(learned(learner, 1), expected, 1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_learns_exactly(rule):
    """Separable data: with exact search all rules end with the correct segmentations as the best."""
    corpus = Corpus(3, [4, 3, 5, 2], 400)
    learner = corpus.learner(rule)
    for _ in range(60):
        if not learn_pass(learner, range(4))["updates"]:
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
    corpus = Corpus(0, [n], 1, golds=[(0,) * n])
    weights = {(("len", 3), 1): 1.0, (("len", 2), 0): 0.9, (("y", 2), 1): -0.5}
    model = model_of(weights, 1)
    found, scores = model.decode(corpus.inputs(), None, True, corpus.anchored(model.anchored_table))
    assert sum(a // 2 + 1 for a in found[0]) == n
    assert scores[0] == pytest.approx(corpus.score(weights, 0, found[0]), rel=1e-4)
    table = {(0, 0): 0.0}  # a dynamic program over (position, label before) by hand
    for i, before, length, label in product(range(n), range(3), range(1, 4), range(2)):
        if (i, before) in table and i + length <= n:
            gain = weights.get((("len", length), label), 0.0) + weights.get((("y", before), label), 0.0)
            key = (i + length, label + 1)
            table[key] = max(table.get(key, -math.inf), table[i, before] + gain)
    best = max(table.get((n, label), -math.inf) for label in (1, 2))
    assert scores[0] == pytest.approx(best, rel=1e-4)
    learner = training(PROBLEM, corpus.inputs(True), None, "laso", anchored=corpus.anchored(model.anchored_table))
    assert learn_pass(learner, [0])["examples"] == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"views": [1, 2]}, "views: expected a number, 0 or higher, for each action"),
        ({"view": -1}, "views without `view`"),
        ({"lattice": 5}, "lattice: column 5; expected one of 1 … 4"),
        ({"view": 0}, "view: column 0; expected one of 1 … 4"),
        ({"moves": [1, 0, 0, 0, 0, -1]}, "lattice: does not work with a stack"),
    ],
)
def test_columns_that_cannot_be(more, message):
    with pytest.raises(StructronError, match=message):
        make_problem(**more)


def test_a_node_that_does_not_grow_is_named():
    problem, x = make_problem(advance=stuck), np.zeros((3, 1), np.int64)
    with pytest.raises(StructronError, match=r"advance: example 0: column 4 \(lattice\) is 0 and then 0"):
        problem.check(x)
    learner = training(problem, make_inputs(problem, x, np.array([0, 3]), [[0, 0, 0]]), None, "laso")
    with pytest.raises(StructronError, match="the column that `lattice` names did not grow"):
        learner.learn(np.zeros(1, np.int64), 0)


def test_without_numbered_features_there_are_none():
    """A problem that looks at tokens may come without any features of them."""
    corpus = Corpus(1, [4, 3])
    corpus.lists = [[] for _ in corpus.lists]
    weights = random_weights(1)
    model = model_of(weights, corpus.features)
    found, scores = model.decode(corpus.inputs(), None)
    for e in range(2):
        assert tuple(found[e]) == corpus.best(weights, e)
        assert scores[e] == pytest.approx(corpus.score(weights, e, found[e]), rel=1e-4)
    learner = training(PROBLEM, corpus.inputs(True), 2, "laso")
    learner.learn(np.arange(2), 0)
    short = Anchored(np.zeros(3, np.int64), np.zeros(1, np.int32), np.ones((1, 2), np.uint64), *PROBLEM.kinds)
    with pytest.raises(StructronError, match="numbered features do not fit the tokens"):
        model.decode(corpus.inputs(), None, True, short)
