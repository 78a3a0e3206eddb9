"""Changes of weights: mixed by every store as a dictionary mixes them, followed and taken over to the bit."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structron.kernels.table import hash_list
from structron.weights import store as stores
from structron.weights.cells import CellStore
from structron.weights.dense import DenseStore
from structron.weights.hashed import HashedStore
from structron.weights.mixing import AGREE, Changes, Share, by_row, plain_scales, scales_by_change
from structron.weights.sparse import capacities
from structron.weights.store import SparseStore

KEYS = hash_list([f"k{k}" for k in range(40)])
ANCHORED = KEYS[:5]
NAMES: dict[str, list[tuple[int, int]]] = {
    # 2 fixed rows, 6 features, 3 paired features of 4 contexts
    "dense": [(row, column) for row in range(2 + 6 + 3 * 4) for column in range(3)],
    "sparse": [(row, column) for row in [1, 3, 5, *KEYS[5:12].tolist()] for column in range(40)],
    "cells": [(1 + row * 3 + label, 0) for row in range(9) for label in range(3)],
    "hashed": [(place, 0) for place in range(0, 1030, 60)],
}
MAKE: dict[str, Callable[[], Any]] = {
    "dense": lambda: DenseStore(3, 2, 6, 3, True),
    "sparse": lambda: SparseStore(40, ANCHORED.copy()),
    "cells": lambda: CellStore(3),
    "hashed": lambda: HashedStore(10, 4),
}


def random_changes(rng: np.random.Generator, kind: str) -> Changes:
    names = NAMES[kind]
    chosen = rng.permutation(len(names))[: int(rng.integers(len(names) + 1))]
    row, column = (np.array([names[k][part] for k in chosen], object) for part in (0, 1))
    change = (rng.integers(-8, 9, len(chosen)) / 4).astype(np.float32)
    u = rng.integers(-20, 21, len(chosen)).astype(np.float64)
    return Changes(row.astype(np.uint64), column.astype(np.int32), change, change, u)


def named(changes: Changes) -> list[tuple[int, int]]:
    """Row and column of each change."""
    return list(zip(changes.row.tolist(), changes.column.tolist(), strict=True))


def alone(changes: Changes, weight: float, steps: int) -> Share:
    """The share of one shard."""
    return Share(changes, weight, steps, *plain_scales([changes]))


def content(store: Any, kind: str) -> dict[tuple[int, int], tuple[float, float]]:
    """Weights and sums by name."""
    found = store.changes(MAKE[kind]())
    names = named(found)
    assert len(set(names)) == len(names)
    assert (found.change == found.w).all()
    return dict(zip(names, zip(found.w.tolist(), found.u.tolist(), strict=True), strict=True))


@pytest.mark.parametrize("kind", MAKE)
@given(seed=st.integers(0, 2**32 - 1), shards=st.integers(1, 4), by_change=st.booleans())
@settings(max_examples=40, deadline=None)
def test_mixing_is_that_of_dictionaries(kind, seed, shards, by_change):
    """The weights after some passes, and the sum of the weights after every step of every shard."""
    rng = np.random.default_rng(seed)
    common, member = MAKE[kind](), MAKE[kind]()
    w: dict[tuple[int, int], float] = {}
    total: dict[tuple[int, int], float] = {}
    time = 0
    for _ in range(3):
        before = content(common, kind)
        weights = rng.dirichlet(np.ones(shards)).tolist()
        every = [random_changes(rng, kind) for _ in range(shards)]
        steps_of = rng.integers(1, 30, shards).tolist()
        scales = (scales_by_change if by_change else plain_scales)(every)
        shares = [Share(*each) for each in zip(every, weights, steps_of, scales, strict=True)]
        able = Counter(name for changes in every for name in named(changes))
        time += sum(share.steps for share in shares)
        for changes, _, steps, _ in shares:
            arrays = (changes.row, changes.column, changes.change, changes.u)
            learned = {(r, c): (d, u) for r, c, d, u in zip(*map(np.ndarray.tolist, arrays), strict=True)}
            for name in NAMES[kind]:
                d, u = learned.get(name, (0.0, 0.0))
                k = shards / able[name] ** AGREE if by_change and name in learned else 1.0
                total[name] = total.get(name, 0.0) + steps * w.get(name, 0.0) + k * (steps * d - u)
        for changes, mu, _, _ in shares:
            for name, d in zip(named(changes), changes.change.tolist(), strict=True):
                k = shards / able[name] ** AGREE if by_change else 1.0
                w[name] = w.get(name, 0.0) + mu * k * d
        member.copy_weights_from(common)
        assert content(member, kind) == {name: (a, 0.0) for name, (a, _) in before.items() if a}
        assert not len(member.changes(common).row)
        common.mix(shares, time)
        found = content(common, kind)
        for name in NAMES[kind]:
            a, u = found.get(name, (0.0, 0.0))
            assert a == pytest.approx(w.get(name, 0.0), abs=1e-5)
            assert time * a - u == pytest.approx(total[name], abs=1e-5 * time)
        member.put(common.changes(member))
        assert {name: a for name, (a, _) in content(member, kind).items() if a} == {
            name: a for name, (a, _) in found.items() if a
        }


@pytest.mark.parametrize("kind", MAKE)
@given(seed=st.integers(0, 2**32 - 1), shards=st.integers(1, 3), jobs=st.integers(2, 3))
@settings(max_examples=20, deadline=None)
def test_threads_mix_to_the_same_bits(kind, seed, shards, jobs):
    rng = np.random.default_rng(seed)
    one, several = MAKE[kind](), MAKE[kind]()
    for time in (20, 40, 60):
        every = [random_changes(rng, kind) for _ in range(shards)]
        given = (every, rng.dirichlet(np.ones(shards)), rng.integers(1, 30, shards).tolist(), scales_by_change(every))
        shares = [Share(*each) for each in zip(*given, strict=True)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("structron.weights.mixing.MIN_VALUES_PER_THREAD", 1)
            one.mix(shares, time)
            several.mix(shares, time, jobs)
        ours, theirs = one.state(), several.state()
        assert {name: array.tolist() for name, array in ours.items()} == {
            name: array.tolist() for name, array in theirs.items()
        }


def test_threads_count_shards_alike():
    """So many weights that each thread has a part of the table; k from a dictionary."""
    rng = np.random.default_rng(1)
    keys = hash_list([f"n{k}" for k in range(60_000)])
    every = []
    for _ in range(3):
        row = rng.permutation(keys)[:40_000]
        every.append(Changes(row, rng.integers(0, 3, len(row)).astype(np.int32), *np.ones((3, len(row)), np.float32)))
    able = Counter(name for changes in every for name in named(changes))
    expected = [[3 / able[name] ** AGREE for name in named(changes)] for changes in every]
    for jobs in (1, 2, 5, 100_000):
        found = scales_by_change(every, jobs)
        assert [own.tolist() for own in found] == [pytest.approx(own) for own in expected]


@pytest.mark.parametrize("kind", MAKE)
def test_what_a_shard_has_learned_is_found(kind):
    """A member that follows and is changed by hand; then it follows again, and nothing is left of that."""
    rng = np.random.default_rng(3)
    common, member = MAKE[kind](), MAKE[kind]()
    common.mix([alone(random_changes(rng, kind), 1.0, 5)], 5)
    kept = content(common, kind)
    for _ in range(3):
        member.copy_weights_from(common)
        given = random_changes(rng, kind)
        member.mix([alone(given, 1.0, 0)], 0)
        found = member.changes(common)
        order, other = (np.lexsort((c.column, c.row)) for c in (given, found))
        real = (given.change != 0) | (given.u != 0)
        order = order[real[order]]
        for a, b in ((given.row, found.row), (given.column, found.column), (given.change, found.change)):
            assert (a[order] == b[other]).all()
        assert (given.u[order] == found.u[other]).all()
        assert content(common, kind) == kept


def test_rows_that_become_vectors_and_tables_that_grow():
    """More than fits into a fresh store: rows with every column, and hundreds of thousands of keys."""
    keys = hash_list([f"n{k}" for k in range(300_000)])
    row = np.concatenate([np.repeat(KEYS[5:9], 40), keys])
    column = np.concatenate([np.tile(np.arange(40), 4), np.zeros(len(keys))]).astype(np.int32)
    change = np.arange(1, len(row) + 1).astype(np.float32)
    changes = Changes(row, column, change, change, np.zeros(len(row)))
    common, other = SparseStore(40, ANCHORED.copy()), SparseStore(40, ANCHORED.copy())
    common.mix([alone(changes, 0.5, 1)], 1)
    other.put(common.changes(SparseStore(40, ANCHORED.copy())))
    expected = dict(zip(zip(row.tolist(), column.tolist(), strict=True), (change / 2).tolist(), strict=True))
    for store in (common, other):
        assert {name: w for name, (w, _) in content(store, "sparse").items()} == expected


@pytest.mark.parametrize("kernel", ["mix_rows", "put_rows"])
def test_all_new_rows_have_room_before_the_first(kernel, monkeypatch):
    """Rows come in the order of their hashes: in a table that grows on the way they would form one long cluster."""
    keys = hash_list([f"n{k}" for k in range(400_000)])
    ones = np.ones(len(keys), np.float32)
    store, calls, inner = SparseStore(40, ANCHORED.copy()), [], getattr(stores, kernel)

    def watched(sparse, *given):
        calls.append(capacities(sparse)[0])
        return inner(sparse, *given)

    monkeypatch.setattr(stores, kernel, watched)
    changes = Changes(keys, np.zeros(len(keys), np.int32), ones, ones, np.zeros(len(keys)))
    for known in (0, len(keys)):
        size = len(store.sparse.table)
        store.mix([alone(changes, 1.0, 1)], 1) if kernel == "mix_rows" else store.put(changes)
        assert len(calls) == (known == 0 or kernel == "put_rows")  # what has its place is mixed by another kernel
        assert all(have >= len(keys) - known for have in calls)
        calls.clear()
        assert known == 0 or len(store.sparse.table) == size


def test_tables_of_any_length_are_followed():
    """Tables grow by a factor, to lengths that no number of keys alone would give."""
    keys = hash_list([f"n{k}" for k in range(60)])
    common, member = SparseStore(40, ANCHORED.copy()), SparseStore(40, ANCHORED.copy())
    for round_ in range(6):
        new = keys[10 * round_ : 10 * round_ + 10]
        w = np.ones(len(new), np.float32)
        common.mix([alone(Changes(new, np.zeros(len(new), np.int32), w, w, np.zeros(len(new))), 1.0, 1)], 1)
        member.copy_weights_from(common)
        assert not len(member.changes(common).row)
        assert content(member, "sparse") == {(key, 0): (1.0, 0.0) for key in keys[: 10 * round_ + 10].tolist()}
        common.grow(capacities(common.sparse)[0] + 1, 1, 1)


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5) | st.integers(2**63, 2**63 + 3)))
def test_rows_are_sorted_as_a_stable_sort_does(rows):
    row = np.array(rows, np.uint64)
    assert (by_row(row) == np.argsort(row, kind="stable")).all()
