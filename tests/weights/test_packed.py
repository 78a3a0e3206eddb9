"""Rows of weights packed for searches: every weight is found again, and what is asked for often stands together."""

import numpy as np
import pytest

from structron.weights.dense import cell_tensors
from structron.weights.packed import pack
from structron.weights.sparse import DENSE, START, Row, dense_at, find, home, weight_of


def random_rows(seed: int, first: int, keys: int, columns: int) -> tuple[np.ndarray, Row]:
    """Keys, and rows of all kinds: of one weight, of a few, and as many as make a vector."""
    rng = np.random.default_rng(seed)
    most = dense_at(columns)
    sizes = rng.choice([1, 1, 2, 3, most - 1, most, columns], first + keys)
    column = np.concatenate([np.sort(rng.permutation(columns)[:size]) for size in sizes])
    weight = rng.normal(size=len(column)).astype(np.float32)
    place = np.repeat(np.arange(first + keys), sizes)
    key = (rng.permutation(1 << 20)[:keys] + 1).astype(np.uint64) | rng.integers(1, 5, keys).astype(np.uint64) << 55
    return np.sort(key), Row(place, column.astype(np.int32), weight)


@pytest.mark.parametrize(("first", "columns"), [(0, 40), (9, 40), (5, 6)])
def test_every_weight_is_found_again(first, columns):
    keys, rows = random_rows(3, first, 60, columns)
    heads, sparse = pack(columns, keys, cell_tensors(*rows, first + len(keys), columns), first)
    table = sparse.table
    found = [*heads, *(table[find(table, key, home(sparse.region, key)), 1] for key in keys)]
    want = np.zeros((len(found), columns), np.float32)
    want[rows.place, rows.column] = rows.weight
    out = np.zeros((1, sparse.dense.shape[1]), np.float32)
    for head, own in zip(found, want, strict=True):
        out[:] = 0
        if head & np.uint64(0xFF) == np.uint64(0xFE):
            out[0, int(head >> np.uint64(8)) & 0xFFFFFF] = np.uint32(head >> np.uint64(32)).view(np.float32)
        else:
            out[0, :columns] = [weight_of(sparse, head, np.int64(c)) for c in range(columns)]
        assert np.array_equal(out[0, sparse.order], own)


def test_frequent_rows_and_columns_stand_in_front():
    keys, rows = random_rows(5, 4, 200, 40)
    heads, sparse = pack(40, keys, cell_tensors(*rows, 4 + len(keys), 40), 4)
    table, classes = sparse.table, np.uint64(0xFF)
    all_heads = [*heads, *(table[find(table, key, home(sparse.region, key)), 1] for key in keys)]
    count = np.bincount(rows.place)
    vectors = [row for row in np.argsort(-count, kind="stable") if count[row] >= dense_at(40)]
    lists = [row for row in np.argsort(-count, kind="stable") if 1 < count[row] < dense_at(40)]
    assert [int(all_heads[row] >> START) for row in vectors] == list(range(len(vectors)))
    assert [int(all_heads[row] >> START) for row in lists] == list(np.cumsum(count[lists]) - count[lists])
    assert all(all_heads[row] & classes == DENSE for row in vectors)
    assert list(sparse.used[:3]) == [len(keys), count[lists].sum(), len(vectors)]
    often = np.bincount(rows.column, minlength=40)
    assert list(np.argsort(sparse.order)) == list(np.argsort(-often, kind="stable"))


def test_rows_without_weights_have_no_columns():
    rows = Row(np.array([1, 1, 3]), np.array([0, 2, 1], np.int32), np.array([1, 2, 3], np.float32))
    heads, sparse = pack(3, np.array([7, 9, 11], np.uint64), cell_tensors(*rows, 4, 3), 1)
    empty = [heads[0], sparse.table[find(sparse.table, np.uint64(9), home(sparse.region, np.uint64(9))), 1]]
    assert [weight_of(sparse, head, np.int64(c)) for head in empty for c in range(3)] == [0.0] * 6


def test_no_rows_at_all():
    rows = Row(*(np.zeros(0, kind) for kind in (np.int64, np.int32, np.float32)))
    heads, sparse = pack(3, np.zeros(0, np.uint64), cell_tensors(*rows, 0, 3))
    assert len(heads) == 0
    assert not sparse.used.any()
