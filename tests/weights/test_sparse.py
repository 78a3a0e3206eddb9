"""Rows of weights against a dictionary of dictionaries: growth, moves, free and dense rows, means, lean models."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from structron.errors import StructronError
from structron.kernels import memory
from structron.weights.dense import cell_tensors
from structron.weights.packed import pack
from structron.weights.sparse import (
    CELLS,
    CLASSES,
    COUNT,
    COUNTS,
    DENSE,
    DENSE_ROWS,
    FREE,
    GROWING,
    KEYS,
    LARGEST,
    START,
    Row,
    Sparse,
    add,
    add_row,
    capacities,
    cells_of,
    claim,
    counts_of,
    dense_at,
    find,
    home,
    make_sparse,
    stride_of,
    weight_of,
)
from structron.weights.store import SparseStore, mean_rows

COLUMNS = 40
KEY_VALUES = [1, 2, 3, (1 << 55) + 1, (1 << 55) + 2, (7 << 55) + 5, 2**64 - 1]
steps = st.lists(
    st.tuples(st.sampled_from(KEY_VALUES), st.integers(0, COLUMNS - 1), st.integers(-3, 3)), min_size=1, max_size=80
)
NO_KEYS = np.zeros(0, np.uint64)
MANY = [(key, c, 1 + c % 2) for c in range(COLUMNS) for key in (1, 2)]
"""Two rows that become dense."""


def head_parts(head: int) -> tuple[int, int, int]:
    """Start, count and class of a row."""
    return head >> int(START), head >> int(COUNT) & int(COUNTS), head & int(CLASSES)


def free_rows(sparse: Sparse) -> list[tuple[int, int]]:
    """Start and size of every row that waits to be used again."""
    found = []
    for size in range(LARGEST + 1):
        place = int(sparse.used[FREE + size])
        while place > 0:
            found.append((place - 1, 1 << size))
            place = int(sparse.column[place - 1, 0])
    return found


def grown(sparse: Sparse, keys: int, cells: int, dense: int) -> Sparse:
    for larger in GROWING:
        sparse = larger(sparse, keys, cells, dense)
    assert len(sparse.u) == len(sparse.column) == len(sparse.w)
    assert len(sparse.dense) == len(sparse.dense_u)
    return sparse


def fill(sequence, sparse: Sparse) -> tuple[Sparse, dict, dict]:
    """Add amounts one after the other, as updates do; makes room where it must. Also gives the dictionaries."""
    weights, sums = defaultdict(dict), defaultdict(dict)
    for time, (key, column, amount) in enumerate(sequence):
        have = capacities(sparse)
        if have[0] < 2 or have[1] < 4 * COLUMNS or have[2] < 2:
            sparse = grown(sparse, 2, 4 * COLUMNS, 2)
        add(sparse, sparse.table, claim(sparse, np.uint64(key)), column, float(amount), float(amount * time))
        weights[key][column] = weights[key].get(column, 0) + amount
        sums[key][column] = sums[key].get(column, 0) + amount * time
    return sparse, weights, sums


def read(sparse: Sparse, time: int = 0) -> dict[int, dict[int, float]]:
    table = sparse.table[sparse.table[:, 0] != 0]
    rows, found = cells_of(sparse, table[:, 1], time), defaultdict(dict)
    for place, column, weight in zip(*(array.tolist() for array in rows), strict=True):
        assert column not in found[int(table[place, 0])]
        found[int(table[place, 0])][column] = weight
    return found


def no_zeros(rows: dict[int, dict[int, float]]) -> dict[int, dict[int, float]]:
    return {key: kept for key, row in rows.items() if (kept := {c: w for c, w in row.items() if w})}


@given(steps)
@example(MANY)
@settings(max_examples=30)
def test_a_store_whose_pages_go_back_as_it_grows(sequence):
    """As large ones do: every array has pages of its own, and one page is copied at a time."""
    expected = fill(sequence, make_sparse(COLUMNS, 1, 1, 1))[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "LARGE_BYTES", 1)
        patch.setattr(memory, "PIECE", memory.mmap.PAGESIZE)
        found = fill(sequence, make_sparse(COLUMNS, 1, 1, 1))[0]
    for name, array in expected._asdict().items():
        assert array.tolist() == getattr(found, name).tolist(), name


@given(steps)
@example(MANY)
@settings(max_examples=60)
def test_rows_hold_what_was_added(sequence):
    sparse, weights, sums = fill(sequence, make_sparse(COLUMNS, 1, 1, 1))
    assert no_zeros(read(sparse)) == no_zeros(weights)
    for key, row in weights.items():
        place = find(sparse.table, np.uint64(key), home(sparse.region, np.uint64(key)))
        assert {c: weight_of(sparse, sparse.table[place, 1], c) for c in range(COLUMNS)} == {
            c: row.get(c, 0) for c in range(COLUMNS)
        }
    time = len(sequence)
    found = read(sparse, time)
    for key, row in weights.items():
        mean = {c: w - sums[key][c] / time for c, w in row.items()}
        assert {c: found[key].get(c, 0.0) for c in mean} == pytest.approx(mean, abs=1e-5)
    assert sparse.used[KEYS] == len(weights)
    assert min(capacities(sparse)) >= 0


@given(steps)
@example(MANY)
@settings(max_examples=40)
def test_every_cell_belongs_to_one_row(sequence):
    """Rows in use and rows that were left share out all cells that were ever given; none are lost."""
    sparse, weights, _ = fill(sequence, make_sparse(COLUMNS))
    taken, dense = [], []
    for key, head in sparse.table[sparse.table[:, 0] != 0].tolist():
        start, count, size = head_parts(head)
        if size == DENSE:
            assert len(weights[key]) >= dense_at(COLUMNS)
            dense.append(start)
            continue
        assert count == len(weights[key]) < dense_at(COLUMNS)
        assert count <= 1 << size < 2 * count
        taken.append((start, 1 << size))
    cells = sorted(cell for start, size in taken + free_rows(sparse) for cell in range(start, start + size))
    assert cells == list(range(int(sparse.used[CELLS])))
    assert sorted(dense) == list(range(int(sparse.used[DENSE_ROWS])))


@pytest.mark.parametrize(("cells", "dense"), [(2 * COLUMNS, 2), (2 * dense_at(COLUMNS) - 2, 0)])
def test_rows_with_many_columns_become_dense(cells, dense):
    assert fill(MANY[:cells], make_sparse(COLUMNS))[0].used[DENSE_ROWS] == dense


def test_a_row_that_was_left_is_used_again():
    sparse = fill([(1, c, 1) for c in range(3)], make_sparse(COLUMNS))[0]  # rows of 1 and 2 cells are left behind
    assert sorted(size for _, size in free_rows(sparse)) == [1, 2]
    used = int(sparse.used[CELLS])
    sparse = fill([(2, 0, 1), (2, 1, 1)], sparse)[0]
    assert sparse.used[CELLS] == used
    assert [size for _, size in free_rows(sparse)] == [1]


def test_growing_keeps_keys_cells_and_free_rows():
    sequence = [(key, c, c + 1) for key in KEY_VALUES for c in range(5)] + MANY
    sparse, weights, _ = fill(sequence, make_sparse(COLUMNS, 8, 400))
    free = free_rows(sparse)
    more = grown(sparse, 1000, 5000, 300)
    assert all(have >= wanted for have, wanted in zip(capacities(more), (1000, 5000, 300), strict=True))
    assert read(more) == weights
    assert free_rows(more) == free
    assert all(old is new for old, new in zip(more, grown(more, 1, 1, 1), strict=True))


def look_up(sparse: Sparse, head: int) -> dict[int, float]:
    """A row as the search adds it up."""
    out = np.zeros((1, stride_of(COLUMNS)), np.float32)
    add_row(sparse, np.uint64(head), out, 0, np.array([[[0, out.shape[1]]]], np.uint64), 0, 1)
    return {c: w for c, w in enumerate(out[0][sparse.order].tolist()) if w}


rows_of = st.dictionaries(
    st.sampled_from(KEY_VALUES), st.dictionaries(st.integers(0, COLUMNS - 1), st.integers(1, 9)), max_size=7
)
FULL = {key: {c: c + 1 for c in range(size)} for key, size in zip(KEY_VALUES, (40, 1, 16, 0, 15, 20, 3), strict=True)}


def as_rows(weights: dict[int, dict[int, int]]) -> tuple[np.ndarray, Row]:
    place = [k for k, row in enumerate(weights.values()) for _ in row]
    cells = [cell for row in weights.values() for cell in row.items()]
    columns = np.array([c for c, _ in cells], np.int32)
    values = np.array([w for _, w in cells], np.float32)
    return np.array(list(weights), np.uint64), Row(np.array(place, np.int64), columns, values)


@given(rows_of, st.integers(0, 3))
@example(FULL, 0)
@example(FULL, 3)
@settings(max_examples=60)
def test_a_lean_model_holds_the_same(weights, first):
    """The first rows are known by number, the others by key."""
    keys, rows = as_rows(weights)
    first = min(first, len(keys))
    heads, sparse = pack(COLUMNS, keys[first:], cell_tensors(*rows, len(keys), COLUMNS), first)
    found = [look_up(sparse, head) for head in heads.tolist()]
    for key in keys[first:]:
        k = find(sparse.table, key, home(sparse.region, key))
        found.append(look_up(sparse, int(sparse.table[k, 1])))
    assert found == list(weights.values())
    absent = np.uint64(99)
    assert find(sparse.table, absent, home(sparse.region, absent)) == -1


def by_key(keys: np.ndarray, rows: Row) -> dict[int, dict[int, float]]:
    found = defaultdict(dict)
    for place, column, weight in zip(*(array.tolist() for array in rows), strict=True):
        assert column not in found[int(keys[place])]
        found[int(keys[place])][column] = weight
    return no_zeros(found)


def plus(ours: dict, theirs: dict, share: float) -> dict[int, dict[int, float]]:
    added = {key: dict(row) for key, row in ours.items()}
    for key, row in theirs.items():
        for column, weight in row.items():
            added.setdefault(key, {})[column] = added.get(key, {}).get(column, 0) + share * weight
    return no_zeros(added)


ANCHORED = np.array([3, 1, 2**64 - 1], np.uint64)


def stored(weights: dict, anchored: np.ndarray) -> SparseStore:
    """A store of the rows; those of numbered features first, in the order of their numbers."""
    numbered = {int(key): weights.get(int(key), {}) for key in anchored}
    keys, rows = as_rows(numbered | {key: row for key, row in weights.items() if key not in numbered})
    store = SparseStore(COLUMNS, anchored)
    store.load(keys[len(anchored) :], rows, len(anchored))
    return store


@pytest.fixture
def small(monkeypatch):
    """Stores without room to spare."""
    monkeypatch.setattr("structron.weights.store.FIRST_CELLS", 16)
    monkeypatch.setattr("structron.weights.store.FIRST_DENSE", 1)


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 7))
def test_values_are_counted_block_by_block(values, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("structron.weights.sparse.COUNTED_BLOCK", block)
        plain = counts_of(np.array(values, np.uint8), 10)
        shifted = counts_of(np.array([(value << 55) + 3 for value in values], np.uint64), 12, np.uint64(55))
    assert plain.tolist() == [values.count(number) for number in range(10)]
    assert shifted.tolist() == [values.count(number) for number in range(12)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("anchored", [NO_KEYS, ANCHORED], ids=["keys", "numbers"])
@given(rows_of, rows_of, st.sampled_from([1.0, 0.5, -1.0]))
@example(FULL, FULL, -1.0)
@example(FULL, {}, 1.0)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stores_are_added_by_key(anchored, ours, theirs, share):
    """What was loaded, added, or brought back from a state is that of dictionaries, and grows on."""
    one, two = stored(ours, anchored), stored(theirs, anchored)
    assert by_key(*one.present(0, 2.0)) == plus({}, ours, 2.0)
    one.add(two, share)
    expected = plus(ours, theirs, share)
    assert by_key(*one.present(0, 1.0)) == expected
    assert by_key(*two.present(0, 1.0)) == no_zeros(theirs)
    again = SparseStore(one.columns, one.table[:, 0])
    assert not by_key(*again.present(0, 1.0))
    again.restore({name: array.copy() for name, array in one.state().items()})
    for store in (one, again):
        store.grow(2, 8 * COLUMNS, 2)
        sparse, new, old = store.sparse, np.uint64(77), min(len(anchored), 1)
        add(sparse, sparse.table, claim(sparse, new), 5, 1.5, 3.0)
        table, place = (store.table, 0) if old else (sparse.table, claim(sparse, np.uint64(3)))
        add(sparse, table, place, 0, 1.0, 2.0)
        assert by_key(*store.present(0, 1.0)) == plus(expected, {77: {5: 1.5}, 3: {0: 1.0}}, 1.0)
        mean = by_key(*store.present(4, 1.0))
        assert mean == plus(expected, {77: {5: 1.5 - 3 / 4}, 3: {0: 1.0 - 2 / 4}}, 1.0)
        assert store.present(0, 1.0)[0][: len(anchored)].tolist() == anchored.tolist()


@pytest.mark.parametrize("first", [NO_KEYS, ANCHORED], ids=["keys", "numbers"])
@pytest.mark.parametrize("total", [1, None], ids=["sum", "mean"])
@given(parts=st.lists(rows_of, min_size=1, max_size=3), least=st.sampled_from([0.0, 2.0]))
@example(parts=[{1: {0: 2, 1: 1}, 2: {3: 1}}, {1: {0: -2}, 2: {3: -1}}], least=0.0)
@settings(max_examples=40)
def test_the_mean_of_several_sets_of_rows(first, total, parts, least):
    """Numbered features stand before all others; small weights are left out, and keys without weights."""
    keys, rows = mean_rows([as_rows(weights) for weights in parts], first, least, total)
    early = np.isin(keys, first).tolist()
    assert early == sorted(early, reverse=True)
    expected = {}
    for weights in parts:
        expected = plus(expected, weights, 1.0 / (total or len(parts)))
    kept = no_zeros({key: {c: w for c, w in row.items() if abs(w) > least} for key, row in expected.items()})
    found = by_key(keys, rows)
    assert found.keys() == kept.keys() == set(keys.tolist())
    assert all(found[key] == pytest.approx(row) for key, row in kept.items())
    assert (np.diff(rows.place) >= 0).all()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("anchored", [NO_KEYS, ANCHORED], ids=["keys", "numbers"])
@pytest.mark.parametrize("time", [0, 4])
@given(rows_of, st.sampled_from([0.0, 2.0]))
@example(FULL, 0.0)
@example(FULL, 2.0)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_lean_store_is_the_mean_of_one(anchored, time, weights, least):
    """Block by block, to the bit; sums that differ from weight to weight."""
    store = stored(weights, anchored)
    store.sparse.u[:], store.sparse.dense_u[:, :COLUMNS] = np.arange(len(store.sparse.u)), 1.5
    keys, rows = mean_rows([store.present(time, 0.5)], anchored, least)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("structron.weights.store.LOOK", 2)
        patch.setattr("structron.weights.store.RANGE", 2)
        found = store.lean(time, 0.5, least)
    assert found[0].tolist() == keys.tolist()
    expected = cell_tensors(*rows, len(keys), COLUMNS)
    assert {name: array.tolist() for name, array in found[1].items()} == {
        name: array.tolist() for name, array in expected.items()
    }
    assert {name: array.dtype for name, array in found[1].items()} == {
        name: array.dtype for name, array in expected.items()
    }
    assert found[2] == np.isin(keys, anchored).sum()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("anchored", [NO_KEYS, ANCHORED], ids=["keys", "numbers"])
@given(st.lists(rows_of, min_size=2, max_size=3), st.sampled_from([0.0, 2.0]))
@example([FULL, FULL, {1: {0: 2}}], 0.0)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_lean_mean_of_several_stores(anchored, parts, least):
    """Block by block, to the bit, as of all their rows at once."""
    stores = [stored(weights, anchored) for weights in parts]
    for k, store in enumerate(stores):
        store.sparse.u[:], store.sparse.dense_u[:, :COLUMNS] = np.arange(len(store.sparse.u)) * k, 1.5
    keys, rows = mean_rows([store.present(4 + k, 0.5) for k, store in enumerate(stores)], anchored, least)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("structron.weights.store.LOOK", 2)
        patch.setattr("structron.weights.store.RANGE", 2)
        found = stores[0].lean(4, 0.5, least, *((store, 4 + k, 0.5) for k, store in enumerate(stores) if k))
    expected = {"keys": keys} | cell_tensors(*rows, len(keys), COLUMNS)
    made = {"keys": found[0]} | found[1]
    assert {name: array.tolist() for name, array in made.items()} == {
        name: array.tolist() for name, array in expected.items()
    }
    assert {name: array.dtype for name, array in made.items()} == {
        name: array.dtype for name, array in expected.items()
    }
    assert found[2] == np.isin(keys, anchored).sum()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("anchored", [NO_KEYS, ANCHORED], ids=["keys", "numbers"])
@pytest.mark.parametrize("time", [0, 4])
@given(rows_of, st.sampled_from([0.0, 2.0]))
@example(FULL, 0.0)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_settled_store_has_its_means_for_weights(anchored, time, weights, least):
    store = stored(weights, anchored)
    store.sparse.u[:], store.sparse.dense_u[:, :COLUMNS] = np.arange(len(store.sparse.u)) / 3, 1.7
    keys, rows, count = store.lean(time, 0.3, least)
    store.keep_mean(time, 0.3)
    found = store.lean(0, 1.0, least)
    assert found[0].tolist() == keys.tolist()
    assert {name: array.tolist() for name, array in found[1].items()} == {
        name: array.tolist() for name, array in rows.items()
    }
    assert found[2] == count


def test_states_of_earlier_versions_have_no_lengths():
    store = stored(FULL, ANCHORED)
    state = {name: array.copy() for name, array in store.state().items()}
    for heads in (state["table"][:, 1], state["anchored"]):
        heads[heads & CLASSES == DENSE] &= ~(COUNTS << COUNT)
    again = SparseStore(COLUMNS, ANCHORED)
    again.restore(state)
    for table in (again.table, again.sparse.table):
        for key, head in table[table[:, 0] != 0].tolist():
            assert look_up(again.sparse, head) == FULL[key]


def test_a_state_of_other_features_is_refused():
    with pytest.raises(StructronError, match="the checkpoint was made from other data or options"):
        SparseStore(COLUMNS, NO_KEYS).restore(SparseStore(COLUMNS, ANCHORED).state())
