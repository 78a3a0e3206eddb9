"""Margins under any search: Algorithm 3.1 of Kazama & Torisawa (2007) by enumeration, its theorem, all learners."""

import math

import numpy as np
import pytest

import segmentations as lattice
from problems import (
    CHAIN_1,
    Space,
    Weights,
    begin_with,
    chain_problem,
    corpus_of,
    figure1_problem,
    inputs_of,
    learn_pass,
    learner_of,
    random_corpus,
    training,
    uneven_weights,
    weights_in,
)
from slow import SlowLearner, assert_close, assert_learns_alike
from structron.learn.beam import BeamTraining
from structron.update.violation import RULES

NAMES = ["chain1", "chain2", "parser", "poor"]
VALID = [name for name, rule in RULES.items() if rule.valid]
ONE_UPDATE = [name for name, rule in RULES.items() if rule.valid and not rule.go_on]


def dot(weights: Weights, delta: Weights) -> float:
    return sum(weights.get(feature, 0.0) * amount for feature, amount in delta.items())


def algorithm_3_1(space: Space, gold: tuple, weights: Weights, margin: float) -> bool:
    """One example of it, over all outputs: the best z other than y, if y does not beat it by more than C."""
    z = max((actions for actions in space.all() if actions != gold), key=lambda actions: space.score(weights, actions))
    delta = space.difference(gold, z)
    if dot(weights, delta) > margin:
        return False
    for feature, amount in delta.items():
        weights[feature] = weights.get(feature, 0.0) + amount
    return True


# -- against enumeration -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_exact_search_is_algorithm_3_1(name, merge):
    """All derivations are looked at, merged or not: weight for weight."""
    for seed, margin in enumerate((0.0, 0.5, 3.0, 20.0, 1000.0)):
        rng, (problem, xs, golds) = np.random.default_rng(seed), corpus_of(name, seed, 4, 4)
        spaces, weights = [Space(problem, x) for x in xs], uneven_weights(problem, rng)
        kept = [e for e, space in enumerate(spaces) if len(list(space.all())) > 1]
        fast = training(problem, inputs_of(problem, xs, golds), None, "standard", merge, "none", margin=margin)
        begin_with(fast, weights)
        for _ in range(4):
            order = rng.permutation(kept).tolist()
            updates = sum(algorithm_3_1(spaces[e], golds[e], weights, margin) for e in order)
            assert learn_pass(fast, order)["updates"] == updates
        assert_close(weights_in(problem, *fast.rows()), weights, 2e-5)


@pytest.mark.parametrize("seed", range(8))
def test_a_lattice_is_algorithm_3_1(seed):
    """Segmentations: the search merges nodes, and yet finds the best derivation that is not the correct one."""
    rng, margin = np.random.default_rng(seed), float(2 * seed)
    corpus, weights = lattice.Corpus(seed, [3, 5, 2, 4]), lattice.random_weights(seed)
    learner = corpus.learner("standard", margin=margin)
    lattice.begin_with(learner, weights)
    for _ in range(3):
        order, updates = rng.permutation(4).tolist(), 0
        for e in order:
            gold = corpus.golds[e]
            z = corpus.best(weights, e, but=gold)
            if corpus.score(weights, e, gold) - corpus.score(weights, e, z) <= margin:
                updates += 1
                for sign, actions in ((1.0, gold), (-1.0, z)):
                    for key, count in corpus.phi(e, actions).items():
                        weights[key] = weights.get(key, 0.0) + sign * count
        assert learn_pass(learner, order)["updates"] == updates
    assert_close(lattice.learned(learner, corpus.features), weights, 1e-4)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", NAMES)
def test_weights_are_those_of_the_slow_learner(name, rule):
    """Every rule under several margins and beams, merged and not: updates, counts, and the mean."""
    rng, (problem, xs, golds) = np.random.default_rng(23), corpus_of(name)
    for margin, beam, merge in ((0.5, 1, True), (3.0, 3, True), (20.0, 2, False), (2.0, None, True)):
        slow = SlowLearner(problem, xs, golds, rule, beam or math.inf, merge, margin=margin)
        fast = learner_of(name, beam, rule, merge, margin=margin)
        assert_learns_alike(fast, slow, rng, uneven_weights(problem, rng), 1e-4)


@pytest.mark.parametrize("rule", ONE_UPDATE)
@pytest.mark.parametrize("name", NAMES)
def test_every_update_is_a_violation_of_the_margin(name, rule):
    """w·ΔΦ ≤ C, from the weights before and after an example; some are violations of the margin only."""
    (problem, xs, golds), margin, close = corpus_of(name, 5, 6), 6.0, 0
    learner = training(problem, inputs_of(problem, xs, golds), 3, rule, average="none", margin=margin)
    before: Weights = {}
    for e in [*range(6)] * 12:
        updates = learn_pass(learner, [e])["updates"]
        after = weights_in(problem, *learner.rows())
        delta = {key: after.get(key, 0.0) - before.get(key, 0.0) for key in after.keys() | before.keys()}
        assert dot(before, delta) <= margin
        close += updates and dot(before, delta) > 0
        before = after
    assert close


@pytest.mark.parametrize("merge", [True, False], ids=["merged", "apart"])
@pytest.mark.parametrize("rule", [name for name in RULES if name != "laso-literal"])
def test_gold_on_top_is_no_longer_enough(rule, merge):
    """One word: L0 is correct and beats L1 by 2 and L2 by 5. With C = 3 there is one update, against L1 alone."""
    problem = chain_problem(3, 4, ["w"])
    for margin, updates in ((None, 0), (0.0, 0), (1.5, 0), (3.0, 1)):
        given = inputs_of(problem, [np.array([[1]])], [[0]])
        learner = training(problem, given, 3, rule, merge, "none", margin=margin)
        begin_with(learner, {("w", (1,), 0): 6.0, ("w", (1,), 1): 4.0, ("w", (1,), 2): 1.0})
        assert learn_pass(learner, [0])["updates"] == updates
        found = weights_in(problem, *learner.rows())
        assert found == {("w", (1,), 0): 6.0 + updates, ("w", (1,), 1): 4.0 - updates, ("w", (1,), 2): 1.0}
        assert learn_pass(learner, [0])["updates"] == 0


@pytest.mark.parametrize("merge", [True, False], ids=["merged", "apart"])
def test_the_literal_mean_with_a_margin(merge):
    """L0 (6) is correct, L1 has 4, L2 1, C = 3: 6 - 4 ≤ 3. Each of the three is a third of the queue: L0 gets
    1 - 1/3, the others -1/3; w·Δ = 6 - 11/3 = 7/3 ≤ C, so that it is a violation of the margin."""
    problem = chain_problem(3, 4, ["w"])
    given = inputs_of(problem, [np.array([[1]])], [[0]])
    learner = training(problem, given, 3, "laso-literal", merge, "none", margin=3.0, check=True)
    begin_with(learner, {("w", (1,), 0): 6.0, ("w", (1,), 1): 4.0, ("w", (1,), 2): 1.0})
    counts = learn_pass(learner, [0])
    assert (counts["updates"], counts["invalid"]) == (1, 0)
    found = weights_in(problem, *learner.rows())
    assert [found["w", (1,), y] for y in range(3)] == pytest.approx([6 + 2 / 3, 4 - 1 / 3, 1 - 1 / 3])


def test_the_best_that_is_not_gold_under_a_beam():
    """Standard, beam 1: gold leaves the beam at a step where it was best, and the last step is learned from."""
    problem = chain_problem(2, 3, ["w"])
    weights = {("w", (1,), 0): 3.0, ("w", (2,), 0): 9.0}
    learner = training(problem, inputs_of(problem, [np.array([[1], [2]])], [[0, 0]]), 1, "standard", margin=5.0)
    begin_with(learner, weights)
    learner.average = "none"
    assert learn_pass(learner, [0])["updates"] == 1
    assert weights_in(problem, *learner.rows()) == {
        ("w", (1,), 0): 4.0,
        ("w", (1,), 1): -1.0,
        ("w", (2,), 0): 9.0,
    }


# -- the theorem ---------------------------------------------------------------------------------------------------


def converged(learner: BeamTraining, examples: int, passes: int = 5000) -> int:
    """Updates until a pass has none."""
    updates = 0
    for _ in range(passes):
        new = learn_pass(learner, range(examples))["updates"]
        if not new:
            return updates
        updates += new
    raise AssertionError("no convergence")


def geometry(spaces: list[Space], golds: list[tuple], weights: Weights) -> tuple[float, float]:
    """The margin of the weights, as a unit vector, over all wrong outputs; and R², the largest ‖ΔΦ‖²."""
    deltas = [s.difference(y, z) for s, y in zip(spaces, golds, strict=True) for z in s.all() if z != y]
    size = math.sqrt(sum(weight * weight for weight in weights.values()))
    longest = max(sum(amount * amount for amount in delta.values()) for delta in deltas)
    return min(dot(weights, delta) for delta in deltas) / size, longest


@pytest.mark.parametrize("merge", [True, False], ids=["merged", "apart"])
@pytest.mark.parametrize("margin", [0.0, 0.5, 1.0, 7.0, 300.0])
def test_convergence_on_figure_1(margin, merge):
    """Two features, so δ is known: ΔΦ are (-1, 1), (1, 1), (1, 0), best separated by (1, 2)/√5; δ = 1/√5, R² = 2."""
    problem, delta = figure1_problem(), 1 / math.sqrt(5)
    x, gold = np.array([[0], [1], [2], [3]]), (0, 0, 1, 2)
    learner = training(problem, inputs_of(problem, [x], [gold]), None, "standard", merge, "none", margin=margin)
    updates = converged(learner, 1)
    reached, longest = geometry([Space(problem, x)], [gold], weights_in(problem, *learner.rows()))
    assert longest == 2
    assert 0 < updates <= (2 * margin + longest) / delta**2
    assert reached >= delta * margin / (2 * margin + longest)
    assert reached <= delta + 1e-6


@pytest.mark.parametrize("merge", [True, False], ids=["merged", "apart"])
def test_convergence_on_chains(merge):
    """Separable sentences: the bounds hold for the δ of the best separator known, and a wider C widens the margin."""
    problem, rng = chain_problem(3, 6, CHAIN_1), np.random.default_rng(2)
    xs, golds = random_corpus(rng, problem, 6, 4, [6])
    spaces, given, found = [Space(problem, x) for x in xs], inputs_of(problem, xs, golds), {}
    for margin in (0.0, 2.0, 10.0, 200.0):
        learner = training(problem, given, None, "standard", merge, "none", margin=margin)
        updates = converged(learner, 6)
        found[margin] = (updates, *geometry(spaces, golds, weights_in(problem, *learner.rows())))
    delta = max(reached for _, reached, _ in found.values())
    for margin, (updates, reached, longest) in found.items():
        assert updates <= (2 * margin + longest) / delta**2
        assert reached >= delta * margin / (2 * margin + longest)
    assert found[200.0][1] > found[0.0][1]


@pytest.mark.parametrize("rule", VALID)
def test_every_valid_rule_reaches_the_margin(rule):
    """In a beam too, where every prefix can be separated: words that have one label each."""
    problem, rng = chain_problem(3, 6, CHAIN_1), np.random.default_rng(2)
    xs, golds = random_corpus(rng, problem, 6, 4, [6], lambda space: tuple((space.x[:, 0] % 3).tolist()))
    learner = training(problem, inputs_of(problem, xs, golds), 4, rule, average="none", margin=15.0)
    assert converged(learner, 6) > 0
    weights = weights_in(problem, *learner.rows())
    for x, gold in zip(xs, golds, strict=True):
        space = Space(problem, x)
        others = [space.score(weights, z) for z in space.all() if z != gold]
        assert space.score(weights, gold) - max(others) >= 15.0


# -- checkpoints -----------------------------------------------------------------------------------------------------
