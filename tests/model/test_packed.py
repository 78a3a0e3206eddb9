"""Rows of weights packed for searches, block by block, and what a model keeps of them."""

import platform
import sys

import numpy as np
import pytest

from problems import inputs_of, model_of, random_case
from structron.model import packed
from structron.model.beam import BeamModel
from structron.threads import give_back
from structron.weights.sparse import Row, dense_at, find, home, weight_of


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


@pytest.mark.parametrize("block", [1, 7, 1 << 16])
@pytest.mark.parametrize(("first", "columns"), [(0, 40), (9, 40), (5, 6)])
def test_every_weight_is_found_again(monkeypatch, block, first, columns):
    monkeypatch.setattr(packed, "BLOCK", block)
    keys, rows = random_rows(3, first, 60, columns)
    heads, sparse = packed.pack(columns, keys, rows, first)
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


def test_a_model_that_has_searched_keeps_its_weights():
    problem, weights, [x] = random_case("parser", 7, longest=5, examples=1)
    model = model_of(problem, weights)
    before, rows, slack = model.tensors(), model.rows, model.slack
    model.decode(inputs_of(problem, [x]), 4)
    assert model._rows is None, "rows that nobody asks for are not held beside the packed ones"
    assert all(np.array_equal(array, model.tensors()[name]) for name, array in before.items())
    assert BeamModel(problem, model.keys, model.rows).slack == slack
    assert all(np.array_equal(a, b) for a, b in zip(rows, model.rows, strict=True))


def test_memory_goes_back_where_there_is_a_way():
    glibc = sys.platform == "linux" and platform.libc_ver()[0] == "glibc"
    assert give_back() or not glibc
