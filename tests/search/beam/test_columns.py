"""Problems of many columns of weights, of which a step looks at those of legal actions alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import Space, inputs_of, model_of, random_weights, training
from structron.search.beam import engine
from structron.search.beam.frontier import BLOCK_COLUMNS, MOST_BLOCKS
from structron.tasks.joint.problem import make_problem, make_table

TEMPLATES = ["t[-1]", "c[-1]|t[-1]", "x[0]"]
seeds = st.integers(0, 2**32 - 1)


def many(rng: np.random.Generator, tags: int = 72, chunks: int = 4, lists: int = 5):
    """A problem of two hundred pairs and more, in which the words have a few of them each; and inputs of four words."""
    pairs = np.array([(t, c) for t in range(tags) for c in range(chunks) if rng.random() < 0.8 or c == t % chunks])
    names = [[f"{kind}{k}" for k in range(size)] for kind, size in (("T", tags), ("C", chunks))]
    allowed = np.ones((chunks + 1, chunks), bool)
    problem = make_problem(*names, pairs, TEMPLATES, [lists + 1], allowed)
    own = [np.sort(rng.choice(len(pairs), rng.integers(1, 5), replace=False)) for _ in range(lists)]
    problem.table = make_table(1, 1, pairs, allowed, [np.arange(len(pairs)), *own])
    words = rng.integers(1, lists + 1, (3, 4))
    return problem, [np.stack([row, row], axis=1) for row in words]


@given(seed=seeds)
@settings(max_examples=8, deadline=None)
def test_the_columns_of_legal_actions_are_enough(seed):
    """Enumeration finds the same; sums are remembered from word to word, though each looks at other columns."""
    rng = np.random.default_rng(seed)
    problem, xs = many(rng)
    assert problem.columns > engine.MANY_COLUMNS
    weights = random_weights(problem, rng, 9)
    model, inputs = model_of(problem, weights), inputs_of(problem, xs)
    assert len(model.engine(3).setting(model.sparse.order).blocks) == len(problem.actions)
    for beam, merge in ((None, True), (None, False), (300, True)):
        for x, actions, score in zip(xs, *model.decode(inputs, beam, merge), strict=True):
            space = Space(problem, x)
            assert score == max(space.score(weights, y) for y in space.all()) == space.score(weights, tuple(actions))


@pytest.mark.parametrize("beam", [2, 20])
def test_learning_is_the_same_as_with_all_columns(beam, monkeypatch):
    """More states than are scored together, too."""
    rng = np.random.default_rng(beam)
    problem, xs = many(rng)
    golds: list[tuple[int, ...]] = [() for _ in xs]
    for k, x in enumerate(xs):
        space = Space(problem, x)
        while legal := space.legal(golds[k]):
            golds[k] = (*golds[k], int(rng.choice(legal)))
    found = []
    for blocks_of in (engine.blocks_of, lambda problem, order: (engine.ALL_BLOCKS, BLOCK_COLUMNS)):
        monkeypatch.setattr(engine, "blocks_of", blocks_of)
        learner = training(problem, inputs_of(problem, xs, golds), beam, "laso", alma=0.9)
        for _ in range(4):
            assert learner.learn(np.arange(len(xs)), 0) == len(xs)
        keys, rows = learner.rows()
        found.append((keys.tolist(), *(array.tolist() for array in rows)))
    assert found[0] == found[1]
    assert len(found[0][0]) > 5


def test_very_many_columns_stand_in_larger_blocks():
    problem, _ = many(np.random.default_rng(0), tags=200, chunks=6)
    blocks, block = engine.blocks_of(problem, np.arange(problem.columns)[::-1].copy())
    assert problem.columns > BLOCK_COLUMNS * MOST_BLOCKS
    assert block > BLOCK_COLUMNS
    for own, parts in zip(blocks.tolist(), problem.parts.tolist(), strict=True):
        assert own == sum({1 << (problem.columns - 1 - part) // block for part in parts})
