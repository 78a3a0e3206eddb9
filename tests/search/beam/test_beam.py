"""The beam engine against enumeration, a parser's whole search space and a beam search over lists."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import (
    USUAL,
    Space,
    chain_problem,
    inputs_of,
    model_of,
    named,
    parser_problem,
    random_case,
    random_corpus,
    random_weights,
)
from slow import SlowSearch
from structron.errors import StructronError
from structron.model.beam import BeamModel
from structron.search.beam.engine import Engine
from structron.search.beam.frontier import COUNTED, PREFIX, Anchored
from structron.search.beam.search import derive
from structron.weights.sparse import Row
from walks import road_weights, roads, walk_problem

seeds = st.integers(0, 2**32 - 1)


# -- exact search --------------------------------------------------------------------------------------------------


def assert_best(problem, weights, x, actions, score) -> int:
    """An output is the best of all, and scores what is claimed. Gives the number of all."""
    space = Space(problem, x)
    every = {y: space.score(weights, y) for y in space.all()}
    assert every[tuple(actions)] == score == max(every.values())
    return len(every)


@pytest.mark.parametrize("name", USUAL)
@given(seed=seeds)
@settings(max_examples=12)
def test_an_infinite_beam_is_enumeration(name, seed):
    """With merging or without; where only the last labels tell states apart, a beam of so many states is as good."""
    problem, weights, xs = random_case(name, seed, longest=4)
    model, inputs = model_of(problem, weights), inputs_of(problem, xs)
    for merge in (True, False):
        for x, actions, score in zip(xs, *model.decode(inputs, None, merge), strict=True):
            assert_best(problem, weights, x, actions, score)
    enough = {"chain1": 3, "chain2": 3**2}.get(name)
    assert model.decode(inputs, enough, True)[1] == model.decode(inputs, None, True)[1]


@pytest.mark.parametrize(("words", "seed"), [(n, seed) for n in (5, 6) for seed in range(3)])
def test_the_dynamic_program_of_the_parser_is_exhaustive_search(words, seed):
    rng, (problem, _) = np.random.default_rng(seed), named("parser")
    weights, x = random_weights(problem, rng, 9), rng.integers(1, 4, (words, 2))
    [actions], [score] = model_of(problem, weights).decode(inputs_of(problem, [x]), None, True)
    assert assert_best(problem, weights, x, actions, score) == {5: 14 * 2**4, 6: 42 * 2**5}[words]


def test_an_infinite_beam_is_exact_whatever_the_templates():
    """After a shift s0 is s1, so states that differ in s0.w are not equivalent when a template looks at s1.w."""
    problem = parser_problem(["s0.t", "s1.w|s0.t"])
    rng = np.random.default_rng(0)
    for _ in range(40):
        weights, x = random_weights(problem, rng), rng.integers(1, 4, (5, 2))
        [actions], [score] = model_of(problem, weights).decode(inputs_of(problem, [x]), None, True)
        assert_best(problem, weights, x, actions, score)


def test_an_infinite_beam_grows_its_arrays():
    """3^8 labellings and no merging: more states than there is room for at first."""
    problem = named("chain2")[0]
    rng = np.random.default_rng(4)
    weights, x = random_weights(problem, rng, 20), rng.integers(1, 4, (8, 1))
    engine, model = Engine(problem, None, False), model_of(problem, weights)
    inputs = inputs_of(problem, [x])
    before = engine.scratch(inputs).wide
    *_, scores = engine.decode(inputs, model.sparse)
    assert engine.scratch(inputs).wide > before
    assert scores[0] == model.decode(inputs, None, True)[1][0]
    assert model.decode(inputs, 3**8, False)[1] == scores.tolist()


# -- beams ---------------------------------------------------------------------------------------------------------


def beams_of(engine: Engine, inputs, sparse, steps: int) -> list[list[tuple[float, tuple]]]:
    """What the engine holds after each step: it is stopped there by the limit on steps."""
    found = []
    for i in range(1, steps + 1):
        stopped = inputs._replace(limit=np.array([i - 1], np.int64))
        scratch = engine.scratch(inputs)
        while True:
            f = scratch.frontier
            f.beam[:] = -1
            with suppress(StructronError):
                engine.decode(stopped, sparse)
            if scratch.frontier is f:
                break
        beam = []
        for row in (row for row in f.beam[i % 2].tolist() if row >= 0):
            length = derive(engine.setting(), f, row)
            if length == i:  # what is left of two steps ago is shorter
                beam.append((float(f.score[row, PREFIX]), tuple(f.path[1, :length].tolist())))
        found.append(beam)
    return found


@pytest.mark.parametrize("merge", [True, False, COUNTED], ids=["merging", "plain", "counted"])
@pytest.mark.parametrize("k", [1, 2, 3, 8])
@pytest.mark.parametrize("name", USUAL)
@given(seed=seeds)
@settings(max_examples=5)
def test_beams_hold_what_lists_hold(name, k, merge, seed):
    """State by state, score by score, in order and with ties: the k best inequivalent candidates of each step."""
    problem, weights, [x] = random_case(name, seed, longest=6, examples=1)
    sparse, inputs = model_of(problem, weights).sparse, inputs_of(problem, [x])
    space = Space(problem, x)
    slow = SlowSearch(space, weights, k, merge).run()[1:]
    fast = beams_of(Engine(problem, k, merge), inputs, sparse, len(slow))
    assert fast == [[(item.prefix, item.actions) for item in beam] for beam in slow]
    for beam in fast:
        for score, actions in beam:
            assert score == space.score(weights, actions)


@pytest.mark.parametrize("merge", [True, False], ids=["merging", "plain"])
@pytest.mark.parametrize("name", USUAL)
@given(seed=seeds, share=st.floats(0, 1))
@settings(max_examples=8)
def test_a_state_far_behind_the_best_leaves_the_beam(name, merge, seed, share):
    """The same with slack, from none to as much as the widest step needs."""
    problem, weights, [x] = random_case(name, seed, longest=6, examples=1)
    sparse, inputs, k = model_of(problem, weights).sparse, inputs_of(problem, [x]), 6
    slow = SlowSearch(Space(problem, x), weights, k, merge)
    whole = slow.run()
    slow.slack = share * max(beam[0].prefix - beam[-1].prefix for beam in whole)
    narrow = slow.run()[1:]
    assert sum(map(len, narrow)) <= sum(map(len, whole[1:]))
    fast = beams_of(Engine(problem, k, merge, slack=slow.slack), inputs, sparse, len(narrow))
    assert fast == [[(item.prefix, item.actions) for item in beam] for beam in narrow]


def test_slack_follows_the_spread_of_scores_and_spares_lists(monkeypatch):
    problem, weights, [x] = random_case("parser", 5, longest=6, examples=1)
    model, inputs = model_of(problem, weights), inputs_of(problem, [x])
    assert model.reach(None) == np.inf
    lists = model.candidates(inputs, 6, 6)
    monkeypatch.setattr(problem, "slack", 0.5)
    strict, twice = (BeamModel(problem, model.keys, model.rows._replace(weight=k * model.rows.weight)) for k in (1, 2))
    assert strict.reach(None) == pytest.approx(0.5 * strict.spread)
    assert twice.reach(None) == pytest.approx(2 * strict.reach(None))
    assert strict.engine(6).setting().slack == strict.reach(None)
    assert strict.engine(6, slack=3.0).setting().slack == pytest.approx(3 * strict.spread)
    assert strict.engine(None).setting().slack == np.inf  # exact search stays exact
    assert strict.engine(1).setting().slack == np.inf
    monkeypatch.setattr(problem, "slack", 0.0)
    assert BeamModel(problem, model.keys, model.rows).candidates(inputs, 6, 6)[0][1:] == lists[0][1:]


@given(seed=seeds)
@settings(max_examples=20)
def test_the_spread_is_the_standard_deviation_of_scores(seed):
    """Of states made up of one feature of each template, drawn as often as it has weights, and of any column."""
    problem, weights, _ = random_case("parser", seed, longest=6, examples=1)
    model = model_of(problem, weights)
    variance = 0.0
    for template in range(len(problem.composition.texts)):
        own = [model.rows.weight[model.rows.place == k] for k in np.flatnonzero(model.template_numbers() == template)]
        drawn = [np.append(w, np.zeros(problem.columns - len(w))) for w in own for _ in range(len(w))]
        variance += np.square(drawn, dtype=np.float64).mean() if drawn else 0.0
    assert model.spread == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize("name", USUAL)
@pytest.mark.parametrize("k", [2, 4])
def test_merging_pays_but_not_always(name, k):
    """Merged states leave room for others, so a beam finds better outputs: in sum and nearly always.

    It is no theorem for one input: a state that the other beam never saw can push out the one that wins in the end.
    """
    rng, (problem, columns) = np.random.default_rng(k), named(name)
    better = worse = 0
    for _ in range(30):
        model = model_of(problem, random_weights(problem, rng))
        xs, _ = random_corpus(rng, problem, 8, 6, columns)
        inputs = inputs_of(problem, xs)
        with_merging, without = model.decode(inputs, k, True)[1], model.decode(inputs, k, False)[1]
        exact = model.decode(inputs, None, True)[1]
        assert all(a <= c and b <= c for a, b, c in zip(with_merging, without, exact, strict=True))
        better += sum(a > b for a, b in zip(with_merging, without, strict=True))
        worse += sum(a < b for a, b in zip(with_merging, without, strict=True))
    assert better > worse


def test_merging_can_lose():
    """A proof: one input on which the beam of three inequivalent states ends below that of three states."""
    problem, rng = named("chain2")[0], np.random.default_rng(88)
    weights, x = random_weights(problem, rng), rng.integers(1, 4, (5, 1))
    model, inputs = model_of(problem, weights), inputs_of(problem, [x])
    assert model.decode(inputs, 3, True)[1] < model.decode(inputs, 3, False)[1]
    assert model.decode(inputs, 1, True)[1] == model.decode(inputs, 1, False)[1]
    assert model.decode(inputs, None, True)[1] == model.decode(inputs, None, False)[1]


# -- what must not matter ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", USUAL)
def test_room_and_memory_do_not_matter(name):
    """Arrays that are too small at first grow; sums that are forgotten at once are made again."""
    problem, weights, xs = random_case(name, 5, longest=6, examples=6)
    sparse, inputs = model_of(problem, weights).sparse, inputs_of(problem, xs)
    plain, tight = Engine(problem, 4), Engine(problem, 4, memory_slots=1)
    scratch = tight.scratch(inputs)
    scratch.rows, scratch.candidates = 8, 4
    scratch._make()
    for left, right in zip(plain.decode(inputs, sparse), tight.decode(inputs, sparse), strict=True):
        assert left.tolist() == right.tolist()
    assert tight.scratch(inputs).rows > 8


def test_a_beam_needs_a_state_and_a_thread():
    problem = named("chain1")[0]
    with pytest.raises(StructronError, match="beam: 0; expected at least 1"):
        Engine(problem, 0)
    with pytest.raises(StructronError, match="jobs: 0;"):
        model_of(problem, {}).decode(inputs_of(problem, [np.ones((1, 1), np.int64)]), 1, jobs=0)


def test_numbered_features_of_other_inputs_are_not_remembered():
    """Token 0 of a second batch is another token than token 0 of the first."""
    problem = chain_problem(2, 2, ["y1"], where=1)
    rows = Row(np.arange(2), np.arange(2, dtype=np.int32), np.ones(2, np.float32))
    model = BeamModel(problem, np.zeros(0, np.uint64), rows, np.array([5, 6], np.uint64))
    inputs = inputs_of(problem, [np.ones((1, 1), np.int64)])
    found = []
    for feature in (0, 1):
        anchored = Anchored(np.array([0, 1]), np.array([feature], np.int32), model.anchored_table)
        found += model.decode(inputs, 2, True, anchored)[0]
    assert found == [[0], [1]]


def test_a_score_is_that_of_its_actions_with_distances():
    problem = parser_problem(["s0.t", "s1.t", "s0.t|s1.t|d"])
    rng = np.random.default_rng(0)
    for _ in range(60):
        weights, x = random_weights(problem, rng), rng.integers(1, 4, (22, 2))
        [actions], [score] = model_of(problem, weights).decode(inputs_of(problem, [x]), 16, True)
        assert score == Space(problem, x).score(weights, tuple(actions))


@pytest.mark.parametrize("beam", [2, 8, None])
@pytest.mark.parametrize(("direct", "expected", "score"), [(-1.0, [3], -1.0), (-9.0, [2, 3], -4.0)])
def test_dead_ends_that_score_high_are_not_found(beam, direct, expected, score):
    """From 0 to 1, where nothing goes on, to 2, or directly to 3."""
    problem, x = walk_problem(4, max_steps=lambda n: 3), roads(4, (0, 1), (0, 2), (0, 3), (2, 3))
    weights = road_weights({(0, 1): 5.0, (0, 2): -2.0, (0, 3): direct, (2, 3): -2.0})
    assert model_of(problem, weights).decode(inputs_of(problem, [x]), beam) == ([expected], [score])
