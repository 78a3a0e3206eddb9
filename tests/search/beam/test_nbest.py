"""Lists of derivations against enumeration and against the last beam of a search over lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import (
    USUAL,
    Space,
    inputs_of,
    model_of,
    named,
    random_case,
    random_weights,
)
from slow import SlowSearch
from structron.errors import StructronError
from structron.search.beam.engine import NO_ANCHORS, Engine
from walks import road_weights, roads, walk_problem

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("name", USUAL)
@given(seed=seeds, n=st.integers(1, 60))
@settings(max_examples=10)
def test_an_infinite_beam_gives_the_best_of_all_derivations(name, seed, n):
    problem, weights, xs = random_case(name, seed, longest=4)
    lists = model_of(problem, weights).nbest(inputs_of(problem, xs), n, None, merge=False)
    for x, found in zip(xs, lists, strict=True):
        space = Space(problem, x)
        every = {actions: space.score(weights, actions) for actions in space.all()}
        assert [score for _, score in found] == sorted(every.values(), reverse=True)[:n]
        assert [every[tuple(actions)] for actions, _ in found] == [score for _, score in found]
        assert len({tuple(actions) for actions, _ in found}) == len(found)


@pytest.mark.parametrize("merge", [True, False], ids=["merging", "plain"])
@pytest.mark.parametrize("k", [1, 3, 8, None])
@pytest.mark.parametrize("name", USUAL)
@given(seed=seeds, n=st.integers(1, 10))
@settings(max_examples=5)
def test_a_list_is_the_last_beam(name, k, merge, seed, n):
    """In order and with ties; a beam of fewer than n states is one of n."""
    problem, weights, xs = random_case(name, seed, longest=5 if k else 4)
    model, inputs = model_of(problem, weights), inputs_of(problem, xs)
    lists = model.nbest(inputs, n, k, merge)
    assert model.engine(k, merge).nbest(inputs, model.sparse, NO_ANCHORS, n) == lists
    for x, found in zip(xs, lists, strict=True):
        last = SlowSearch(Space(problem, x), weights, max(k, n) if k else float("inf"), merge).run()[-1]
        best = sorted(last, key=lambda item: -item.prefix)[:n]
        assert found == [(list(item.actions), item.prefix) for item in best]
    if k is None or n <= k:
        assert [found[0] for found in lists] == list(zip(*model.decode(inputs, k, merge), strict=True))


@pytest.mark.parametrize("beam", [2, 8, None])
def test_dead_ends_are_not_listed(beam):
    """From 0 to 1, where nothing goes on, to 2, or directly to 3."""
    problem, x = walk_problem(4, max_steps=lambda n: 3), roads(4, (0, 1), (0, 2), (0, 3), (2, 3))
    weights = road_weights({(0, 1): 5.0, (0, 2): -1.0, (0, 3): -2.0, (2, 3): -3.0})
    assert model_of(problem, weights).nbest(inputs_of(problem, [x]), 3, beam, False) == [[([3], -2.0), ([2, 3], -4.0)]]


def test_long_lists_need_room():
    """3^8 labellings: more than there is room for at first, in the search and in the lists."""
    problem, rng = named("chain2")[0], np.random.default_rng(4)
    weights, xs = random_weights(problem, rng, 20), [rng.integers(1, 4, (n, 1)) for n in (2, 8, 3)]
    lists = model_of(problem, weights).nbest(inputs_of(problem, xs), 5000, None, False)
    assert [len(found) for found in lists] == [9, 5000, 27]
    for x, found in zip(xs, lists, strict=True):
        space = Space(problem, x, 1 << 14)
        every = [space.score(weights, actions) for actions in space.all()]
        assert [score for _, score in found] == sorted(every, reverse=True)[:5000]


def test_threads_and_batches_do_not_matter(monkeypatch):
    problem, weights, xs = random_case("parser", 6, longest=6, examples=30)
    xs.insert(3, np.zeros((0, 2), np.int64))
    model, inputs = model_of(problem, weights), inputs_of(problem, xs)
    expected = model.nbest(inputs, 4)
    assert expected[3] == [([], 0.0)]
    monkeypatch.setattr("structron.runtime.threads.BATCH_TOKENS", 10)
    assert model.nbest(inputs, 4, jobs=3) == model.nbest(inputs, 4) == expected
    assert Engine(problem).nbest(inputs, model.sparse, NO_ANCHORS, 4, 5, 9) == expected[5:9]


def test_a_list_has_at_least_one():
    problem = named("chain2")[0]
    with pytest.raises(StructronError, match="n: 0;"):
        model_of(problem, {}).nbest(inputs_of(problem, [np.ones((1, 1), np.int64)]), 0)
