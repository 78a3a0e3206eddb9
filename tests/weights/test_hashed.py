"""One hashed vector of weights against arrays of plain numbers."""

import numpy as np
import pytest

from structron.io.tensors import check
from structron.kernels import memory
from structron.weights import hashed
from structron.weights.hashed import HashedStore, declared_vector, mean_vector, vector_of, vector_size, vector_tensors

BITS, RELATIONS = 10, 20


def filled(seed: int) -> HashedStore:
    rng, store = np.random.default_rng(seed), HashedStore(BITS, RELATIONS)
    places = rng.choice(len(store.w), 200, replace=False)
    store.w[places], store.u[places] = rng.normal(size=200), rng.integers(-9, 9, 200)
    return store


def test_rows_may_reach_beyond_the_last_place():
    assert len(HashedStore(BITS, RELATIONS).w) == vector_size(BITS, RELATIONS) == 1024 + 20
    assert vector_size(BITS, 0) == 1024 + 16


def test_adding_loading_and_states():
    one, two = filled(1), filled(2)
    expected = one.w + 0.5 * two.w
    one.add(two, 0.5)
    assert np.array_equal(one.w, expected)
    again = filled(3)
    again.restore({name: array.copy() for name, array in one.state().items()})
    assert np.array_equal(again.w, one.w)
    assert np.array_equal(again.u, one.u)
    wider = HashedStore(BITS, 50)
    wider.load(one.w)
    assert np.array_equal(wider.w[: len(one.w)], one.w)
    assert not wider.w[len(one.w) :].any()


@pytest.mark.parametrize(("time", "least"), [(7, 0.0), (0, 0.0), (7, 0.5)])
def test_the_mean(time, least, monkeypatch):
    """Block by block: w·scale - u/time, or w·scale; small weights are left out."""
    monkeypatch.setattr(hashed, "HASHED_BLOCK", 100)
    stores = [(filled(k), time, 1.0 + k) for k in range(3)]
    parts = [s.w.astype(np.float64) * scale - (s.u / time if time else 0) for s, _, scale in stores]
    mean = np.mean(parts, axis=0)
    assert np.allclose(mean_vector(stores, least), np.where(np.abs(mean) > least, mean, 0), atol=1e-6)


def test_a_last_mean_is_the_same(monkeypatch):
    """Though pages of the stores go back on the way, which are as small as a page here."""
    monkeypatch.setattr(memory, "LARGE_BYTES", 1)
    monkeypatch.setattr(hashed, "HASHED_BLOCK", 2 * memory.mmap.PAGESIZE)
    rng, stores = np.random.default_rng(1), []
    for k in range(2):
        store = HashedStore(16, RELATIONS)
        store.w[:], store.u[:] = rng.normal(size=len(store.w)), rng.normal(size=len(store.u))
        stores.append((store, 3, 1.0 + k))
    expected = mean_vector(stores, 0.1)
    assert np.array_equal(mean_vector(stores, 0.1, last=True), expected)
    if memory.NOT_NEEDED is not None and memory.PRIVATE:
        assert not stores[0][0].w[: 2 * memory.mmap.PAGESIZE].any()


def test_a_vector_survives_its_form_in_a_file():
    w = filled(4).w
    tensors = vector_tensors(w)
    check(tensors, declared_vector(BITS, RELATIONS), {})
    assert np.array_equal(vector_of(tensors, BITS, RELATIONS), w)
    for place in ([5, 5], [9, 4], [0, vector_size(BITS, RELATIONS)]):
        odd = {"place": np.array(place, np.uint32), "weight": np.ones(2, np.float32)}
        with pytest.raises(ValueError, match="place"):
            check(odd, declared_vector(BITS, RELATIONS), {})
