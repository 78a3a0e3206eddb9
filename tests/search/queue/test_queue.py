"""Queue search against enumeration for every discipline, and learning in it against the engine and numbers by hand."""

import math
from collections.abc import Sequence
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from problems import (
    CHAIN_2,
    Weights,
    begin_with,
    chain_problem,
    inputs_of,
    learn_pass,
    model_of,
    named,
    random_corpus,
    random_weights,
    training,
    uneven_weights,
    weights_in,
)
from problems import Space as Slow
from structron import StructronError
from structron.learn.beam import BeamTraining
from structron.learn.queue import QueueTraining
from structron.options import LASO, Search
from structron.search.beam.engine import NO_ANCHORS
from structron.search.queue.nodes import SearchNode, Space
from structron.search.queue.queue import queue_maker, search, search_n, wrong_nodes
from structron.update.alma import SCALE
from walks import COSTS, CYCLE, HERE, road_weights, roads, walk_problem

NAMES = ["chain2", "parser"]

# -- searching -------------------------------------------------------------------------------------------------------


def begun(problem, x, weights: Weights, heuristic, limit: int) -> Space:
    """A search space with the weights of a model."""
    model = model_of(problem, weights)
    space = Space(model.engine(1, False), inputs_of(problem, [x]), NO_ANCHORS, limit, heuristic)
    space.begin(0, model.sparse)
    return space


def run(
    problem, x, weights: Weights, queue: str, beam=8, heuristic=None, limit=100_000
) -> tuple[list[int], float, int]:
    """Actions, score and number of expanded nodes."""
    space = begun(problem, x, weights, heuristic, limit)
    node = search(space, queue_maker(queue, beam))
    return node.actions(), node.g, space.expanded


def best_of_all(problem, x, weights: Weights) -> float:
    space = Slow(problem, x)
    return max(space.score(weights, actions) for actions in space.all())


def best_first(problem, x, weights: Weights) -> tuple[int, ...]:
    """By definition: the best of all nodes that were made is replaced by its successors; ties: made first."""
    space, order = Slow(problem, x), count()
    nodes = [((), 0.0, next(order), space.row_of(()))]
    expanded = {}
    while True:
        nodes.sort(key=lambda node: (-node[1], node[2]))
        actions, score, _, row = nodes.pop(0)
        legal, state = space.legal(actions), tuple(space.states[row, 1:].tolist())
        if not legal:
            return actions
        if not problem.moves.any():
            if expanded.get(state, -math.inf) >= score:
                continue
            expanded[state] = score
        for action in legal:
            new = (*actions, action)
            nodes.append((new, score + space.gain(weights, actions, action), next(order), space.row_of(new)))


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_every_discipline_against_enumeration(name, seed):
    rng, (problem, columns) = np.random.default_rng(seed), named(name)
    (x,), _ = random_corpus(rng, problem, 1, 4, columns)
    weights = uneven_weights(problem, rng)
    slow = Slow(problem, x)
    best = best_of_all(problem, x, weights)
    actions, score, _ = run(problem, x, weights, "exhaustive")
    assert score == pytest.approx(best, abs=1e-5)
    assert slow.score(weights, tuple(actions)) == pytest.approx(best, abs=1e-5)
    assert run(problem, x, weights, "beam", None)[1] == pytest.approx(best, abs=1e-5)
    assert tuple(run(problem, x, weights, "best-first")[0]) == best_first(problem, x, weights)
    model, inputs = model_of(problem, weights), inputs_of(problem, [x])
    for beam in (1, 2, 3):
        found, scores = model.decode(inputs, beam, False)
        actions, score, _ = run(problem, x, weights, "beam", beam)
        assert (actions, score) == (found[0], pytest.approx(scores[0], abs=1e-5))
        if beam == 1:
            assert run(problem, x, weights, "greedy")[0] == actions


@pytest.mark.parametrize(
    ("queue", "found", "expanded"),
    [
        # 0→3 (3) and 0→1 (1) are kept; 3→5 (3) is a goal, and waits for 1→2→5
        ("beam", [1, 2, 5], 4),
        # the second layer has the goal 3→5 (3) and 1→2 (2)
        ("first-goal", [3, 5], 3),
        # 3 is expanded, then the goal 3→5 (3) is the first of the queue
        ("cut", [3, 5], 2),
    ],
)
def test_when_a_goal_ends_the_search(queue, found, expanded):
    """0→3→5 with 3, and 0→1→2→5 with 1 + 1 + 9."""
    x = roads(6, (0, 1), (0, 3), (1, 2), (2, 5), (3, 5))
    weights = road_weights({(0, 1): 1.0, (0, 3): 3.0, (1, 2): 1.0, (2, 5): 9.0})
    actions, _, count = run(walk_problem(6), x, weights, queue, 2)
    assert (actions, count) == (found, expanded)


def test_a_queue_is_cut_after_every_expansion():
    """0→1 (1), 0→2 (2), 0→3 (3): of two, 1 is lost, though the way by it is the best; of three it is found."""
    x = roads(6, (0, 1), (0, 2), (0, 3), (1, 5), (2, 4), (3, 4), (4, 5))
    start = {(0, 1): 1.0, (0, 2): 2.0, (0, 3): 3.0, (3, 4): -9.0, (2, 4): -9.0, (4, 5): 1.0}
    for beam, found in ((1, [3, 4, 5]), (2, [3, 4, 5]), (3, [1, 5]), (None, [1, 5])):
        weights = road_weights(start | {(3, 4): -1.0} if beam == 1 else start | {(2, 4): -20.0})
        assert run(walk_problem(6), x, weights, "cut", beam)[0] == found


@pytest.mark.parametrize(
    ("queue", "change"),
    [
        # the second layer: 3→5 (3) is a goal and wrong, 1→2 (2) is y-good; Δ = Φ(1, 2) - half of both
        ("first-goal", {(0, 1): 1 / 2, (1, 2): 1 / 2, (0, 3): -1 / 2, (3, 5): -1 / 2}),
        # the queue after two expansions: 3→5 (3) and 1 (1); the sibling is as deep as the goal, 1→2
        ("cut", {(0, 1): 1 / 2, (1, 2): 1.0, (0, 3): -1 / 2, (3, 5): -1 / 2}),
    ],
)
def test_a_wrong_goal_is_an_error_when_it_leaves_the_queue(queue, change):
    """Figure 2 for the roads of the first test; after the update 1→2→5 is alone in the queue."""
    x = roads(6, (0, 1), (0, 3), (1, 2), (2, 5), (3, 5))
    start = {(0, 1): 1.0, (0, 3): 3.0, (1, 2): 1.0, (2, 5): 9.0}
    found, counts, _ = learn_walk(x, [1, 2, 5], queue, start, beam=2, update="laso-literal")
    expected = {road: start.get(road, 0.0) + change.get(road, 0.0) for road in start.keys() | change.keys()}
    assert found == pytest.approx(expected)
    assert counts["fell_off"] == 0


def most_ahead(problem, x, weights: Weights):
    """What may still be gained: at every token the best there is over all histories. Admissible."""
    labels = len(problem.actions)

    def step(w: int) -> float:
        histories = [(a, b) for a in range(labels + 1) for b in range(labels + 1)]
        gains = []
        for y1, y2 in histories:
            for action in range(labels):
                keys = [("w", (w,)), ("y1", (y1,)), ("y2|y1", (y2, y1)), ("w|y2", (w, y2))]
                gains.append(sum(weights[text, values, action] for text, values in keys))
        return max(gains)

    steps = [step(int(w)) for w in x[:, 0]]

    def heuristic(x, table, states, s):
        return sum(steps[states[s, 1] :])

    return heuristic


@pytest.mark.parametrize("negative", [True, False])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_a_star_is_optimal_and_expands_less(negative, seed):
    """Where no score is positive, best-first search without a heuristic is optimal as well."""
    problem, rng = named("chain2")[0], np.random.default_rng(seed)
    (x,), _ = random_corpus(rng, problem, 1, 6 if negative else 5, [4])
    weights = {key: -abs(weight) if negative else weight for key, weight in uneven_weights(problem, rng).items()}
    best, heuristic = best_of_all(problem, x, weights), most_ahead(problem, x, weights)
    actions, score, expanded = run(problem, x, weights, "a-star", heuristic=heuristic)
    assert score == pytest.approx(best, abs=1e-5)
    assert run(problem, x, weights, "best-first", heuristic=heuristic)[2] == expanded
    if negative:
        plain, other, more = run(problem, x, weights, "best-first")
        assert other == pytest.approx(best, abs=1e-5)
        assert (plain, expanded <= more) == (actions, True)
        assert run(problem, x, weights, "a-star", heuristic=lambda *_: 0)[2] == more


def goals_of(problem, x, weights: Weights, n: int, queue: str, beam=8, heuristic=None, limit=100_000):
    """Actions and score of n goals."""
    space = begun(problem, x, weights, heuristic, limit)
    return [(node.actions(), node.g) for node in search_n(space, queue_maker(queue, beam, n), n)]


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12))
@settings(max_examples=15)
def test_n_goals_are_the_best_of_all(name, seed, n):
    """Exhaustive search, and best-first search where no step gains anything; a beam gives what is left in it."""
    rng, (problem, columns) = np.random.default_rng(seed), named(name)
    (x,), _ = random_corpus(rng, problem, 1, 4, columns)
    weights = {key: -abs(weight) for key, weight in uneven_weights(problem, rng).items()}
    slow = Slow(problem, x)
    every = sorted(((slow.score(weights, actions), list(actions)) for actions in slow.all()), reverse=True)
    best = [(actions, pytest.approx(score, abs=1e-5)) for score, actions in every[:n]]
    assert goals_of(problem, x, weights, n, "exhaustive") == best
    assert goals_of(problem, x, weights, n, "best-first") == best
    if name == "chain2":
        assert goals_of(problem, x, weights, n, "a-star", heuristic=most_ahead(problem, x, weights)) == best
    left = model_of(problem, weights).nbest(inputs_of(problem, [x]), min(n, 3), 3, False)[0]
    expected = [(actions, pytest.approx(score, abs=1e-5)) for actions, score in left]
    assert goals_of(problem, x, weights, min(n, 3), "beam", 3) == expected
    assert goals_of(problem, x, weights, n, "greedy") == [run(problem, x, weights, "greedy")[:2]]


def test_n_goals_in_a_space_with_cycles():
    """0 ⇄ 1 and 2, from all of which 3 can be reached: four ways without a cycle, then there are no more."""
    x = roads(4, (0, 1), (1, 0), (0, 2), (1, 2), (2, 1), (1, 3), (2, 3))
    weights = road_weights({(0, 1): 1, (1, 0): 1, (0, 2): -1, (1, 2): 2, (2, 1): -1, (1, 3): 1, (2, 3): -2})
    expected = [([1, 3], 2.0), ([1, 2, 3], 1.0), ([2, 1, 3], -1.0), ([2, 3], -3.0)]
    assert goals_of(walk_problem(), x, weights, 9, "exhaustive") == expected
    assert goals_of(walk_problem(), x, weights, 2, "exhaustive") == expected[:2]


def test_the_limit_ends_the_list():
    problem, x = walk_problem(), roads(4, (0, 3), (0, 1), (1, 2), (2, 3))
    weights = road_weights({(0, 3): 5, (0, 1): 1, (1, 2): 1, (2, 3): 1})
    assert goals_of(problem, x, weights, 2, "best-first", limit=1) == [([3], 5.0)]
    assert goals_of(problem, x, weights, 2, "best-first", limit=3) == [([3], 5.0), ([1, 2, 3], 3.0)]
    with pytest.raises(StructronError, match=r"1 nodes were expanded \(limit\)"):
        goals_of(problem, x, road_weights({(0, 1): 9}), 2, "best-first", limit=1)


def half_ahead(x, table, states, s):
    return -0.5 * (3 - states[s, HERE])


def test_a_compiled_heuristic():
    weights, both = road_weights(COSTS), (half_ahead, njit(half_ahead))
    found = [run(walk_problem(), CYCLE, weights, "a-star", heuristic=heuristic) for heuristic in both]
    assert found[0] == found[1] == ([1, 2, 3], -4.0, 3)


def test_ties_go_to_the_node_made_first():
    problem, x = named("chain2")[0], np.array([[1], [2]])
    for queue in ("greedy", "beam", "best-first", "exhaustive"):
        assert run(problem, x, {("w", (0,), 0): 1.0}, queue)[0] == [0, 0]


@pytest.mark.parametrize("queue", ["best-first", "a-star", "exhaustive"])
def test_cycles_end(queue):
    """From 0 by 1 and 2 to 3 costs 4, by 1 alone 6; 0 and 1, 1 and 2 are roads to and fro."""
    problem, heuristic = walk_problem(), (lambda *_: 0.0) if queue == "a-star" else None
    actions, score, expanded = run(problem, CYCLE, road_weights(COSTS), queue, heuristic=heuristic)
    assert (actions, score, expanded) == ([1, 2, 3], -4.0, 3)
    free = dict.fromkeys(COSTS, 0.0)
    assert run(problem, CYCLE, road_weights(free), queue, heuristic=heuristic)[0] == [1, 3]
    gains = dict.fromkeys(COSTS, 1.0)  # round and round would be better and better
    assert run(problem, CYCLE, road_weights(gains), queue, heuristic=heuristic)[0][-1] == 3


def test_a_better_way_to_a_known_state_is_taken():
    """State 2 is reached from 0 with -4, then by 1 with -2. The first is still in the queue, and is not expanded."""
    weights = road_weights({(0, 1): -1.0, (0, 2): -4.0, (1, 2): -1.0, (2, 3): -5.0})
    actions, score, expanded = run(walk_problem(), roads(4, (0, 1), (0, 2), (1, 2), (2, 3)), weights, "best-first")
    assert (actions, score, expanded) == ([1, 2, 3], -7.0, 3)


DEAD_END, ENDLESS = roads(4, (0, 1), (0, 2), (2, 3)), roads(4, (0, 1), (1, 0))


def test_dead_ends_are_left():
    """0 → 1 is better, but there is nothing after 1."""
    weights = road_weights({(0, 1): 5.0, (0, 2): -1.0, (2, 3): -1.0})
    for queue in ("beam", "best-first", "exhaustive"):
        assert run(walk_problem(), DEAD_END, weights, queue)[0] == [2, 3]


@pytest.mark.parametrize(
    ("x", "queue", "limit", "message"),
    [
        (DEAD_END, "greedy", 100, "no goal can be reached; expected `legal` to return 0"),
        (ENDLESS, "best-first", 100, "no goal can be reached"),
        (ENDLESS, "greedy", 50, r"50 nodes were expanded \(limit\) before a goal"),
        (ENDLESS, "beam", 50, r"50 nodes were expanded \(limit\) before a goal"),
        (CYCLE, "best-first", 2, "2 nodes were expanded"),
    ],
    ids=["dead end", "no goal", "greedy for ever", "beam for ever", "limit"],
)
def test_searches_that_find_no_goal(x, queue, limit, message):
    """The limit counts expanded nodes: three are enough for the cycle."""
    weights = road_weights(COSTS | {(0, 1): 5.0} if x is DEAD_END else COSTS)
    with pytest.raises(StructronError, match=rf"walk: example 0: {message}"):
        run(walk_problem(), x, weights, queue, limit=limit)
    assert run(walk_problem(), CYCLE, road_weights(COSTS), "best-first", limit=3)[2] == 3


@pytest.mark.parametrize("value", [math.nan, "far", None], ids=["nan", "text", "none"])
def test_a_heuristic_that_gives_no_number(value):
    with pytest.raises(StructronError, match=rf"walk: example 0: heuristic: it returned {value!r}; expected a number"):
        run(walk_problem(), CYCLE, road_weights(COSTS), "a-star", heuristic=lambda *_: value)


def bad_legal(x, table, states, s, out):
    out[0] = 7
    return 1


def many_legal(x, table, states, s, out):
    return 99


@pytest.mark.parametrize("legal", [bad_legal, many_legal])
def test_actions_that_are_none_are_noticed(legal):
    problem = walk_problem()
    problem.functions["legal"] = legal
    with pytest.raises(StructronError, match="walk: legal: example 0"):
        run(problem, CYCLE, road_weights(COSTS), "best-first")


# -- learning --------------------------------------------------------------------------------------------------------


def learner_of(
    problem,
    xs,
    golds: Sequence,
    queue: str,
    beam: int = 8,
    heuristic=None,
    limit: int = 100_000,
    update: str = "laso",
    **step,
) -> QueueTraining:
    """step: alma or margin."""
    every = [[list(gold)] if not gold or np.ndim(gold[0]) == 0 else [list(one) for one in gold] for gold in golds]
    inputs, how = inputs_of(problem, xs, [own[0] for own in every]), (queue, beam, heuristic, limit)
    return QueueTraining(problem, inputs, every, how, Search(1, update, False, **step), "none")


def learn_walk(x, golds: Sequence, queue: str, start: dict[tuple[int, int], float], **more):
    """One update from given weights: those of the roads afterwards, the counts, and the learner."""
    problem = walk_problem(len(x))
    learner = learner_of(problem, [x], [golds], queue, **more)
    begin_with(learner, road_weights(start))
    counts = learn_pass(learner, [0])
    assert counts["updates"] == 1
    return {(a, b): w for (_, (a,), b), w in weights_in(problem, *learner.rows()).items()}, counts, learner


def assert_learns_as_the_engine(fast: BeamTraining, slow: QueueTraining, rng: np.random.Generator) -> int:
    """All figures, weights and their mean, after every pass. Gives how often the correct derivation fell off."""
    start, fallen = uneven_weights(fast.problem, rng), 0
    for learner in (fast, slow):
        begin_with(learner, start)
    for _ in range(3):
        order = rng.permutation(fast.examples).tolist()
        counts = learn_pass(slow, order)
        assert counts == learn_pass(fast, order)
        for average in ("mean", "none"):
            fast.average = slow.average = average
            expected = weights_in(fast.problem, *fast.rows())
            assert weights_in(fast.problem, *slow.rows()) == pytest.approx(expected, abs=1e-6)
        fallen += counts["fell_off"]
    return fallen


@pytest.mark.parametrize("update", LASO)
@pytest.mark.parametrize("step", [{}, {"alma": 0.8}, {"margin": 0.5}], ids=["perceptron", "alma", "margin"])
@pytest.mark.parametrize("name", NAMES)
def test_a_beam_learns_as_the_engine_does(name, step, update):
    """Greedy is a beam of one."""
    rng, (problem, columns) = np.random.default_rng(3), named(name)
    xs, golds = random_corpus(rng, problem, 5, 5, columns)
    for queue, beam in (("greedy", 1), ("beam", 1), ("beam", 2), ("beam", 4)):
        fast = training(problem, inputs_of(problem, xs, golds), beam, update, False, **step)
        slow = learner_of(problem, xs, golds, queue, beam=beam, update=update, **step)
        assert_learns_as_the_engine(fast, slow, rng)


def random_roads(rng: np.random.Generator, places: int) -> np.ndarray:
    """Only forward, and from each place at least to the next."""
    steps = [(a, b) for a in range(places) for b in range(a + 1, places) if b == a + 1 or rng.random() < 0.5]
    return roads(places, *steps)


@pytest.mark.parametrize("update", LASO)
def test_a_beam_learns_as_the_engine_does_where_derivations_differ_in_length(update):
    """Goals wait for longer derivations, and a correct one that waits can fall off the beam."""
    problem, rng, late = walk_problem(6), np.random.default_rng(8), 0
    for beam in (1, 2, 3):
        xs = [random_roads(rng, 6) for _ in range(6)]
        ways = [list(Slow(problem, x).all()) for x in xs]
        golds = [own[int(rng.integers(len(own)))] for own in ways]
        fast = training(problem, inputs_of(problem, xs, golds), beam, update, False)
        slow = learner_of(problem, xs, golds, "beam", beam=beam, update=update)
        late += assert_learns_as_the_engine(fast, slow, rng)
    assert late > 0


def test_greedy_is_a_local_perceptron():
    """The paper's remark: predict the action at each correct prefix, correct it if it is wrong, go on as is right."""
    problem, rng = named("chain2")[0], np.random.default_rng(4)
    xs, golds = random_corpus(rng, problem, 8, 5, [4])
    learner, weights = learner_of(problem, xs, golds, "greedy"), {}
    for _ in range(3):
        learn_pass(learner, range(len(xs)))
        for x, gold in zip(xs, golds, strict=True):
            space = Slow(problem, x)
            for i, right in enumerate(gold):
                before = gold[:i]
                guess = max(space.legal(before), key=lambda action: space.gain(weights, before, action))
                if guess != right:
                    for sign, action in ((1.0, right), (-1.0, guess)):
                        for feature in space.features(before, action):
                            weights[feature] = weights.get(feature, 0.0) + sign
        assert weights_in(problem, *learner.rows()) == {key: weight for key, weight in weights.items() if weight}


DIAMOND = roads(6, (0, 1), (0, 2), (0, 3), (0, 4), (1, 5), (2, 5), (3, 5), (4, 5))


def test_equation_2_by_hand():
    """Four ways from 0 to 5, by 1, 2, 3 or 4; those by 1 and by 2 are correct.

    Weights: 0→1: -1, 0→2: -2, 0→3: 1, 0→4: -1.5, others 0. A beam of 2 holds 3 (1) and 1 (-1) after one step, then 3→5
    (1) and 1→5 (-1): the goal by 3 is first, and wrong. Siblings as deep: 0→1→5 (-1) and 0→2→5 (-2), each with weight
    1/2. In the queue stands, besides the node itself, 1→5, which is y-good. So Δ is +1/2 for 0→1, 1→5, 0→2, 2→5, and
    -1 for 0→3, 3→5.

    Best-first: 3 (1) is first, 3→5 (1) is next: the same goal, but the queue holds 1 (-1), 4 (-1.5) and 2 (-2). The
    lowest sibling has -2; of the wrong nodes 3→5 (1) and 4 (-1.5) are not below, each with weight 1/2: Δ is +1/2 for
    0→1, 1→5, 0→2, 2→5 and -1/2 for 0→3, 3→5, 0→4.
    """
    start = {(0, 1): -1.0, (0, 2): -2.0, (0, 3): 1.0, (0, 4): -1.5}
    good = {(0, 1): -0.5, (1, 5): 0.5, (0, 2): -1.5, (2, 5): 0.5}
    for queue, others in (
        ("beam", {(3, 5): -1.0, (0, 4): -1.5}),
        ("best-first", {(0, 3): 0.5, (3, 5): -0.5, (0, 4): -2.0}),
    ):
        assert learn_walk(DIAMOND, [[1, 5], [2, 5]], queue, start, beam=2)[0] == good | others


def each(amount: float, *found: tuple[int, int]) -> dict[tuple[int, int], float]:
    return dict.fromkeys(found, amount)


@pytest.mark.parametrize(
    ("queue", "change"),
    [
        # one node, 0→3, at a fall: +1/2 for 0→1 and 0→2, -1 for 0→3, as with the filter
        ("greedy", each(1 / 2, (0, 1), (0, 2)) | each(-1, (0, 3))),
        # two nodes: 3→5, and 1→5, which is y-good: 1/2 - 1/2 for 0→1 and 1→5, 1/2 for 0→2 and 2→5, -1/2 for 0→3 and 3→5
        ("beam", each(1 / 2, (0, 2), (2, 5)) | each(-1 / 2, (0, 3), (3, 5))),
        # four nodes: 3→5, and 1, 4, 2, of which 1 and 2 are y-good and 2 is the last in the queue: 1/2 - 1/4 for 0→1
        # and 0→2, 1/2 for 1→5 and 2→5, -1/4 for 0→3, 3→5 and 0→4
        (
            "best-first",
            each(1 / 4, (0, 1), (0, 2)) | each(1 / 2, (1, 5), (2, 5)) | each(-1 / 4, (0, 3), (3, 5), (0, 4)),
        ),
        # three goals: 3→5, 1→5 and 2→5; 4→5 is a worse way to the same place, and y-bad: 1/2 - 1/3, and -1/3
        ("exhaustive", each(1 / 6, (0, 1), (1, 5), (0, 2), (2, 5)) | each(-1 / 3, (0, 3), (3, 5))),
    ],
)
def test_equation_2_as_printed_by_hand(queue, change):
    """The four ways of the test above, and eq. (2) over {node} ∪ nodes: every node of the queue has the same share,
    y-good or not, before or after the siblings."""
    start = {(0, 1): -1.0, (0, 2): -2.0, (0, 3): 1.0, (0, 4): -1.5}
    expected = {road: start.get(road, 0.0) + change.get(road, 0.0) for road in start.keys() | change.keys()}
    expected = {road: weight for road, weight in expected.items() if weight}
    for same in {"best-first": ("best-first", "a-star")}.get(queue, (queue,)):
        heuristic = (lambda *_: 0.0) if same == "a-star" else None
        found, counts, _ = learn_walk(
            DIAMOND, [[1, 5], [2, 5]], same, start, beam=2, update="laso-literal", heuristic=heuristic
        )
        assert found == pytest.approx(expected, abs=1e-6)
        # w·Δ: -1.5 - 1; -1.5 - (1 - 1)/2; -1.5 - (1 - 1 - 1.5 - 2)/4 = -0.625; -1.5 - (1 - 1 - 2)/3
        assert counts["invalid"] == 0


def test_equation_2_as_printed_need_not_be_a_violation():
    """0→2→5 (-1) is correct, the goal by 3 (0) is first; in the queue are 1 (-4) and 4 (-7), far behind.

    Literally the mean of the queue is (0 - 4 - 7 - 1)/4 = -3 (the y-good 2 with its -1 included): w·Δ = -1 + 3 = 2 > 0.
    With the filter only 3→5 is left: w·Δ = -1.
    """
    start = {(0, 1): -4.0, (0, 2): -1.0, (0, 4): -7.0}
    for update, invalid in (("laso", 0), ("laso-literal", 1)):
        _, counts, _ = learn_walk(DIAMOND, [2, 5], "best-first", start, update=update)
        assert counts["invalid"] == invalid


def test_equation_3_by_hand():
    """From 0 to 5 by 1 (correct) or by 2, α = 0.5: B = 2, C = √2, k = 1.

    Weights: 0→1: 0.6, 0→2: 0.1. The correct node is better by 0.5, but lowered by (1 - α)·B·k^(-1/2) = 1: it falls off
    the beam of one. Δ = (+1 for 0→1, -1 for 0→2), ‖Δ‖ = √2, so ℘(Δ) = Δ/√2, and the step is √2·Δ/√2 = Δ: w becomes
    (1.6, -0.9), of length √(2.56 + 0.81) = √3.37, and ℘ divides by it. Then k = 2.
    """
    x, start = roads(6, (0, 1), (0, 2), (1, 5), (2, 5)), {(0, 1): 0.6, (0, 2): 0.1}
    found, _, learner = learn_walk(x, [1, 5], "greedy", start, alma=0.5)
    assert found == pytest.approx({(0, 1): 1.6 / math.sqrt(3.37), (0, 2): -0.9 / math.sqrt(3.37)}, abs=1e-6)
    assert learner.space.low * learner.space.scale == pytest.approx(1 / math.sqrt(2))


def node(rank: float, good: int = 0) -> SearchNode:
    return SearchNode(0, None, 0, 1, rank, rank, rank, good, False)


def test_which_nodes_are_wrong():
    sibs, front = [node(1.0, 1), node(3.0, 2)], node(0.0)
    nodes = [front, node(1.0), node(0.9), node(2.0, 1), node(5.0)]
    assert [n.rank for n in wrong_nodes(sibs, nodes)] == [1.0, 5.0]
    assert wrong_nodes(sibs, [front, node(0.5)]) == [front]


@pytest.mark.parametrize("queue", ["best-first", "exhaustive", "a-star", "beam", "greedy"])
def test_walks_are_learned(queue):
    """Two of the three ways are correct, in a graph with cycles; the weights that come out find one of them."""
    problem, heuristic = walk_problem(), (lambda *_: 0.0) if queue == "a-star" else None
    x = roads(4, (0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1), (1, 3), (2, 3), (0, 3))
    correct = [[1, 2, 3], [2, 3]]
    learner = learner_of(problem, [x], [correct], queue, heuristic=heuristic, limit=500)
    for _ in range(20):
        updates = learn_pass(learner, [0])["updates"]
    assert updates == 0
    model = learner.snapshot()
    space = Space(model.engine(1, False), inputs_of(problem, [x]), NO_ANCHORS, 500, heuristic)
    space.begin(0, model.sparse)
    assert search(space, queue_maker(queue)).actions() in correct


@pytest.mark.parametrize("queue", ["best-first", "exhaustive"])
def test_a_correct_node_is_not_hidden_by_a_better_way_to_its_state(queue):
    """0→1→3 (-2) is better than the correct 0→2→3 (-3). The queue is never without a y-good node; the goal is wrong."""
    x = roads(5, (0, 1), (0, 2), (1, 3), (2, 3), (3, 4))
    start = {(0, 1): -1.0, (0, 2): -2.0, (1, 3): -1.0, (2, 3): -1.0}
    found, counts, _ = learn_walk(x, [2, 3, 4], queue, start)
    assert (counts["fell_off"], counts["invalid"]) == (0, 0)
    assert found == {(0, 1): -2.0, (0, 2): -1.0, (1, 3): -2.0}


def test_exhaustive_search_compares_whole_derivations():
    """The wrong goal has one action, the correct one three; the sibling is not the first of them alone."""
    x = roads(4, (0, 1), (1, 2), (2, 3), (0, 3))
    found, _, _ = learn_walk(x, [1, 2, 3], "exhaustive", {(0, 3): 2.0})
    assert found == {(0, 1): 1.0, (1, 2): 1.0, (2, 3): 1.0, (0, 3): 1.0}


def test_a_heuristic_is_in_the_units_of_the_weights():
    """Under ALMA the weights are scale·v and the search works on v."""
    learner = learner_of(walk_problem(), [CYCLE], [[1, 3]], "a-star", heuristic=lambda *_: 3.0, alma=0.5)
    learner.pace[SCALE] = 0.5
    learner._begin_search(0)
    first = learner.space.initial()
    assert first.score == -learner.space.low
    assert first.rank == first.score + 6.0


def test_siblings_of_different_lengths():
    """As deep as three actions: the end of the shorter derivation waits; one that both begin with counts once."""
    x = roads(6, (0, 1), (1, 2), (1, 5), (2, 3), (3, 5))
    learner = learner_of(walk_problem(6), [x], [[[1, 5], [1, 2, 3, 5]]], "greedy")
    space = learner.space
    space.begin(0, learner.sparse, learner.derivations[0])
    for depth, expected in ((1, [[1]]), (2, [[1, 2], [1, 5]]), (3, [[1, 2, 3], [1, 5]]), (9, [[1, 2, 3, 5], [1, 5]])):
        sibs = space.siblings(space.initial()._replace(depth=depth))
        assert [sib.actions() for sib in sibs] == expected
        assert {sib.depth for sib in sibs} == {depth}


@pytest.mark.parametrize(
    ("gold", "step", "text"),
    [
        ([1, 1, 3], 2, "the correct action 'to 1' is not legal there"),
        ([3], 1, "the correct action 'to 3' is not legal there"),
        ([1, 2], 3, "the correct actions end after 2, but the state is not final"),
        ([1, 3, 1], 2, "after 'to 3' the state is final, but more actions should follow"),
        ([], 1, "the correct actions end after 0, but the state is not final"),
    ],
    ids=["illegal", "at once", "early end", "late end", "none"],
)
@pytest.mark.parametrize("queue", ["greedy", "beam", "best-first", "exhaustive"])
def test_gold_that_leaves_the_space_is_named(queue, gold, step, text):
    learner = learner_of(walk_problem(), [CYCLE, CYCLE], [[1, 3], gold], queue, limit=1000)
    with pytest.raises(StructronError, match=rf"^walk: example 1: step {step}: no correct state .*: {text}"):
        learn_pass(learner, [1])


def test_room_is_made():
    """More rows than there were at first, a larger Δ and more weights: nothing changes."""
    problem, rng = chain_problem(3, 4, CHAIN_2), np.random.default_rng(5)
    xs, golds = random_corpus(rng, problem, 4, 5, [4])
    start, found = uneven_weights(problem, rng), []
    for small in (False, True):
        learner = learner_of(problem, xs, golds, "best-first")
        begin_with(learner, start)
        if small:
            learner.delta = type(learner.delta)(*(a[:4] if len(a) > 2 else a for a in learner.delta))
            learner.space._fit(len(problem.actions))
            used = int(learner.sparse.used[1])
            cells = {name: getattr(learner.sparse, name)[: used + 4] for name in ("column", "w", "u")}
            learner.store.sparse = learner.sparse._replace(**cells)
        for _ in range(2):
            learn_pass(learner, range(4))
        found.append(weights_in(problem, *learner.rows()))
    assert len(learner.delta.feature) > 4
    assert found[0] == found[1]


def test_random_weights_and_whole_numbers_agree_with_the_engine_on_ties():
    problem, rng = named("chain2")[0], np.random.default_rng(6)
    xs, _ = random_corpus(rng, problem, 10, 5, [4])
    weights = random_weights(problem, rng, 1)
    model = model_of(problem, weights)
    for x in xs:
        for beam in (1, 3):
            assert run(problem, x, weights, "beam", beam)[0] == model.decode(inputs_of(problem, [x]), beam, False)[0][0]
