"""Cells against a dictionary: growth, sums, shares, means, states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structron.kernels.jit import entry
from structron.update.choices import add
from structron.weights import cells as cells_module
from structron.weights.cells import CellStore, cells_from, mean_cells, weight_of

LABELS = 7
steps = st.lists(st.tuples(st.integers(0, 60), st.integers(0, LABELS - 1), st.integers(-2, 2)), max_size=120)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Stores that grow soon."""
    monkeypatch.setattr(cells_module, "FIRST", 4)


def make(changes: list[tuple[int, int, int]]) -> tuple[CellStore, dict[int, float], dict[int, float]]:
    """A store after changes, one at a time; weights and means by key."""
    store, w, total = CellStore(LABELS), {}, {}
    for time, (row, label, amount) in enumerate(changes, 1):
        if 2 * (store.cells.used[0] + 1) > len(store.cells.key):
            store.reserve(1)
        entry(add)(store.cells, row, label, LABELS, amount, time)
        key = row * LABELS + label + 1
        w[key] = w.get(key, 0) + amount
        for k, value in w.items():
            total[k] = total.get(k, 0) + value
    return store, w, {k: value / len(changes) for k, value in total.items()}


def as_dict(key: np.ndarray, w: np.ndarray) -> dict[int, float]:
    return dict(zip(key.tolist(), w.tolist(), strict=True))


@given(steps)
def test_a_store_is_a_dictionary(changes):
    store, w, mean = make(changes)
    assert store.cells.used[0] == len(w)
    assert 2 * len(w) <= len(store.cells.key)
    assert as_dict(*store.present(0)) == w
    assert as_dict(*store.present(len(changes))) == pytest.approx(mean)
    for row in range(61):
        for label in range(LABELS):
            assert entry(weight_of)(store.cells, row, label, LABELS) == w.get(row * LABELS + label + 1, 0)


@given(steps, st.integers(1, 500))
def test_growth_changes_nothing_and_makes_room(changes, count):
    store, w, mean = make(changes)
    store.reserve(count)
    assert 2 * (len(w) + count) <= len(store.cells.key)
    assert as_dict(*store.present(0)) == w
    assert as_dict(*store.present(len(changes))) == pytest.approx(mean)


@given(steps, steps)
def test_shares_are_added_to_weights_but_not_to_sums(changes, others):
    (store, w, _), (other, v, _) = make(changes), make(others)
    u = as_dict(store.present(0)[0], store.present(0)[1] - store.present(10)[1])
    store.add(other, 0.5)
    assert as_dict(*store.present(0)) == {k: w.get(k, 0) + v.get(k, 0) / 2 for k in w.keys() | v.keys()}
    after = as_dict(store.present(0)[0], store.present(0)[1] - store.present(10)[1])
    assert after == pytest.approx(dict.fromkeys(v, 0.0) | u)
    assert as_dict(*other.present(0)) == v


@given(steps, steps)
def test_the_mean_of_several(changes, others):
    (store, _, mean), (other, _, mean_too) = make(changes), make(others)
    both = [(store, max(len(changes), 1)), (other, max(len(others), 1))]
    key, w = mean_cells(both)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("structron.weights.cells.RANGE", 2)
        patch.setattr("structron.weights.cells.SAMPLE", 3)
        pieces = mean_cells(both)
    assert [own.tobytes() for own in pieces] == [key.tobytes(), w.tobytes()]
    assert (np.diff(key.astype(np.int64)) > 0).all()
    assert w.dtype == np.float32
    expected = {k: (mean.get(k, 0) + mean_too.get(k, 0)) / 2 for k in mean.keys() | mean_too.keys()}
    found = as_dict(key, w)
    assert found.keys() <= expected.keys()
    assert {k: found.get(k, 0.0) for k in expected} == pytest.approx(expected, abs=1e-6)
    assert all(found.values())


@given(steps, steps)
def test_a_state_goes_on_bit_for_bit(changes, more):
    store, _, _ = make(changes)
    again = CellStore(LABELS)
    again.restore({name: array.copy() for name, array in store.state().items()})
    for k, (row, label, amount) in enumerate(more, len(changes) + 1):
        for one in (store, again):
            one.reserve(1)
            entry(add)(one.cells, row, label, LABELS, amount, k)
    time = max(len(changes) + len(more), 1)
    for found, expected in zip(mean_cells([(again, time)]), mean_cells([(store, time)]), strict=True):
        assert found.tobytes() == expected.tobytes()


@given(st.dictionaries(st.tuples(st.integers(0, 99), st.integers(0, LABELS - 1)), st.integers(-9, 9)))
def test_a_finished_table(w):
    row, label = (np.array([cell[k] for cell in w], np.int64) for k in (0, 1))
    table = cells_from(row, label, np.array(list(w.values()), np.float32), LABELS)
    for r in range(100):
        for y in range(LABELS):
            assert entry(weight_of)(table, r, y, LABELS) == w.get((r, y), 0)
