"""The HMM data: samples follow their parameters, decoders agree with enumeration."""

from itertools import product

import numpy as np
import pytest

from structron.data import hmm
from structron.errors import StructronError

NAMES = list(hmm.SETUPS)


def random_hmm(rng: np.random.Generator, states: int, symbols: int) -> hmm.HMM:
    def rows(*shape: int) -> np.ndarray:
        weights = rng.random(shape)
        return weights / weights.sum(axis=-1, keepdims=True)

    return hmm.HMM(rows(states), rows(states, states), rows(states, symbols))


def enumerate_paths(model: hmm.HMM, x: np.ndarray) -> dict[tuple[int, ...], float]:
    """The joint probability of an item with every sequence of states."""
    joint = {}
    for path in product(range(len(model.initial)), repeat=len(x)):
        probability = model.initial[path[0]] * model.emission[path[0], x[0]]
        for i in range(1, len(x)):
            probability *= model.transition[path[i - 1], path[i]] * model.emission[path[i], x[i]]
        joint[path] = probability
    return joint


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: hmm.hmm_setup("easy", np.random.default_rng(0)),
            r"unknown HMM set-up 'easy'.*simple\(\+\), learnable",
        ),
        (lambda: hmm.dataset("easy", 0), r"unknown HMM set-up 'easy'.*simple\(\+\), learnable\(\+\)"),
        (lambda: hmm.dataset(NAMES[0], -1, 0), ">= 0"),
        (lambda: hmm.dataset(NAMES[0], 0, -1), ">= 0"),
    ],
    ids=["set-up", "data", "number", "seed"],
)
def test_bad_arguments(call, message):
    with pytest.raises(StructronError, match=message):
        call()


@pytest.mark.parametrize(("name", "states", "symbols"), list(zip(NAMES, (3, 3, 7), (5, 5, 20), strict=True)))
def test_setups_are_permutations_of_the_paper(name, states, symbols):
    rng = np.random.default_rng(4)
    model = hmm.hmm_setup(name, rng)
    transition, emission = (np.array(row) for row in hmm.SETUPS[name])
    assert model.initial == pytest.approx([1 / states] * states)
    assert model.transition.shape == (states, states)
    assert model.emission.shape == (states, symbols)
    for row in model.transition:
        assert sorted(row) == pytest.approx(sorted(transition))
    for row in model.emission:
        assert sorted(row) == pytest.approx(sorted(emission / emission.sum()))
    assert len(set(model.emission.argmax(axis=1))) == states
    other = hmm.hmm_setup(name, rng)
    assert not np.array_equal(model.emission, other.emission)


@pytest.mark.parametrize("name", NAMES)
def test_samples_follow_the_parameters(name):
    rng = np.random.default_rng(11)
    model = hmm.hmm_setup(name, rng)
    x, y = hmm.sample(model, 20000, 6, rng)
    assert x.dtype == y.dtype == np.int32
    assert x.shape == y.shape == (20000, 6)
    initial = np.bincount(y[:, 0], minlength=len(model.initial)) / len(y)
    assert initial == pytest.approx(model.initial, abs=0.02)
    for given, then, expected in ((y[:, :-1], y[:, 1:], model.transition), (y, x, model.emission)):
        counts = np.zeros(expected.shape)
        np.add.at(counts, (given.ravel(), then.ravel()), 1)
        seen = counts.sum(axis=1)
        frequent = seen > 2000
        assert frequent.any()
        assert (counts / np.maximum(seen, 1)[:, None])[frequent] == pytest.approx(expected[frequent], abs=0.04)
        assert not counts[expected == 0].any()


def test_dataset_has_the_papers_split_and_is_deterministic():
    first = hmm.dataset(NAMES[0], 3)
    for part, count in (("train", 7000), ("dev", 2000), ("test", 1000)):
        x, y = getattr(first, part)
        assert x.shape == y.shape == (count, 8)
    again = hmm.dataset(NAMES[0], 3)
    assert np.array_equal(first.train[0], again.train[0])
    assert np.array_equal(first.test[1], again.test[1])
    for other in (hmm.dataset(NAMES[0], 4), hmm.dataset(NAMES[0], 3, seed=1), hmm.dataset(NAMES[1], 3)):
        assert not np.array_equal(first.test[0], other.test[0])


@pytest.mark.parametrize("seed", range(4))
def test_decoding_agrees_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    model = random_hmm(rng, states=2 + seed % 3, symbols=3)
    x, _ = hmm.sample(model, 20, 5, rng)
    posterior = hmm.posterior_decode(model, x)
    assert posterior.dtype == np.int32
    for item, marginal_best in zip(x, posterior, strict=True):
        joint = enumerate_paths(model, item)
        marginals = np.zeros((len(item), len(model.initial)))
        for path, probability in joint.items():
            marginals[np.arange(len(item)), path] += probability
        assert np.array_equal(marginals.argmax(axis=1), marginal_best)


def test_impossible_steps_and_items():
    switching = hmm.HMM(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.full((2, 2), 0.5))
    assert hmm.posterior_decode(switching, np.zeros((2, 5), np.int32)).tolist() == [[0, 1, 0, 1, 0]] * 2
    model = hmm.HMM(np.array([1.0, 0.0]), np.eye(2), np.eye(2))
    with pytest.raises(StructronError, match="item 1 has probability zero"):
        hmm.posterior_decode(model, np.array([[0, 0], [0, 1]], np.int32))


def test_long_items_do_not_underflow():
    rng = np.random.default_rng(2)
    model = random_hmm(rng, states=3, symbols=20)
    x, y = hmm.sample(model, 3, 3000, rng)
    assert (hmm.posterior_decode(model, x) == y).mean() > 0.4


def test_posterior_decoding_is_as_good_as_the_module_says():
    data = hmm.dataset(NAMES[1], 0)
    x, y = data.train
    assert 0.6 < (hmm.posterior_decode(data.hmm, x) == y).mean() < 0.8


def test_write_conll(tmp_path):
    path = tmp_path / "hmm.conll"
    hmm.write_conll(path, np.array([[3, 0], [1, 2]]), np.array([[1, 0], [0, 2]]))
    assert path.read_bytes() == b"x3 y1\nx0 y0\n\nx1 y0\nx2 y2\n\n"
