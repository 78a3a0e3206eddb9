"""Rows of weights: room, the exact mean, and their form in a file."""

from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structron.errors import StructronError
from structron.kernels.table import hash_list
from structron.model.chain import Dictionary
from structron.update.perceptron import add
from structron.weights import dense
from structron.weights.dense import (
    FIRST_ROWS,
    DenseStore,
    dense_rows,
    pack_mean,
    row_stride,
    sparse_rows,
)


def test_rows_have_room_for_all_columns_and_are_whole_vectors():
    for columns in (1, 2, 4, 5, 8, 9, 16, 17, 50, 300):
        assert columns <= row_stride(columns) < columns + 16
        assert row_stride(columns) % 4 == 0


def rows_of(labels: int, fixed: int) -> DenseStore:
    """Rows without features."""
    return DenseStore(labels, fixed, 0, 0, False)


def test_rows_grow_and_keep_what_they_hold():
    rows = rows_of(3, 10)
    rows.size[0] = len(rows.w)
    rows.w[:] = np.arange(rows.w.size).reshape(rows.w.shape)
    rows.u[:] = -rows.w
    before = rows.w.copy()
    rows.reserve(1)
    assert len(rows.w) == len(rows.u) >= 2 * len(before) >= 2 * FIRST_ROWS
    assert (rows.w[: len(before)] == before).all()
    assert (rows.u[: len(before)] == -before).all()
    assert not rows.w[len(before) :].any()
    same = rows.w
    rows.reserve(1)
    assert rows.w is same
    rows.reserve(10 * len(same))
    assert len(rows.w) == len(before) + 10 * len(same)


updates = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(-3, 3)), max_size=3), max_size=12
)


@given(updates, st.integers(0, 3))
def test_the_mean_is_that_of_all_vectors(history, idle):
    """history[t] holds the updates at example t; some examples at the end change nothing."""
    rows = rows_of(3, 5)
    weights = SimpleNamespace(w=rows.w, u=rows.u)
    vectors = []
    for time, changes in enumerate([*history, *[[]] * idle], 1):
        for row, y, amount in changes:
            add.py_func(weights, row, y, float(amount), time)
        vectors.append(rows.w[:5].copy())
    mean = rows.mean(len(vectors))
    expected = np.mean(vectors, axis=0) if vectors else np.zeros((5, rows.stride))
    assert mean.dtype == np.float32
    assert np.allclose(mean, expected, atol=1e-6)


def test_the_mean_of_many_rows():
    """More rows than are worked on at a time."""
    rows = rows_of(2, 40_000)
    rng = np.random.default_rng(0)
    rows.w[:40_000], rows.u[:40_000] = rng.integers(9, size=(40_000, 4)), rng.integers(9, size=(40_000, 4))
    assert (rows.mean(7) == (rows.w[:40_000] - rows.u[:40_000] / 7).astype(np.float32)).all()


def test_the_mean_before_the_first_example_is_where_learning_starts():
    rows = rows_of(2, 3)
    rows.w[:3] = 5
    mean = rows.mean(0)
    assert (mean == 5).all()
    mean[:] = 1
    assert (rows.w[:3] == 5).all()


def test_large_counts_stay_exact():
    """Sums of (t-1) * update run into billions; float64 holds them."""
    rows = rows_of(2, 1)
    weights = SimpleNamespace(w=rows.w, u=rows.u)
    time = 1_000_000_007
    add.py_func(weights, 0, 0, 1.0, time)
    add.py_func(weights, 0, 1, 1.0, time - 1)
    mean = rows.mean(time)
    assert mean[0, 0] == np.float32(1 / time)
    assert mean[0, 1] == np.float32(2 / time)


matrices = st.tuples(st.integers(0, 6), st.integers(1, 300), st.integers(0, 2**32 - 1))


@given(matrices)
@settings(max_examples=60)
def test_a_matrix_survives_its_sparse_form(shape):
    rows, columns, seed = shape
    rng = np.random.default_rng(seed)
    w = np.zeros((rows, row_stride(columns)), np.float32)
    padded = w.copy()
    w[:, :columns] = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.3)
    padded[:, columns:] = 1  # is not stored
    sparse = sparse_rows(w + padded, columns)
    assert len(sparse["weight"]) == np.count_nonzero(w)
    again = dense_rows(sparse, columns)
    assert again.dtype == np.float32
    assert again.shape == w.shape
    assert (again == w).all()


# -- stores --------------------------------------------------------------------------------------------------------

FEATURES, PAIRS, LABELS, FIXED = 6, 3, 3, 2
cells = st.lists(
    st.tuples(
        st.one_of(
            st.tuples(st.just("fixed"), st.integers(0, FIXED - 1)),
            st.tuples(st.just("feature"), st.integers(0, FEATURES - 1)),
            st.tuples(st.just("pair"), st.integers(0, PAIRS - 1), st.integers(0, LABELS)),
        ),
        st.integers(0, LABELS - 1),
        st.integers(-3, 3),
    ),
    max_size=25,
)


def filled(changes) -> tuple[DenseStore, dict]:
    """A store whose rows are claimed one by one as updates touch them, and a dictionary of the same weights."""
    store, weights = DenseStore(LABELS, FIXED, FEATURES, PAIRS, True), {}
    for name, label, amount in changes:
        kind, number = name[:2]
        if kind == "feature" and store.row_of[number] < 0:
            store.row_of[number] = store.claim(1)[0]
        if kind == "pair" and store.block_of[number] < 0:
            store.reserve(0, 1)
            store.block_of[number] = store.size[1]
            store.size[1] += 1
        if kind == "pair" and store.block_rows[store.block_of[number], name[2]] < 0:
            store.block_rows[store.block_of[number], name[2]] = store.claim(1)[0]
        store.w[row_in(store, name), label] += amount
        weights[name, label] = weights.get((name, label), 0) + amount
    return store, weights


def row_in(store: DenseStore, name: tuple) -> int:
    if name[0] == "fixed":
        return name[1]
    return store.row_of[name[1]] if name[0] == "feature" else store.block_rows[store.block_of[name[1]], name[2]]


def named(store: DenseStore) -> dict:
    """Weights that are not 0, by name."""
    names = [("fixed", k) for k in range(FIXED)]
    names += [("feature", k) for k in range(FEATURES) if store.row_of[k] >= 0]
    names += [("pair", k, p) for k in range(PAIRS) if store.block_of[k] >= 0 for p in range(LABELS + 1)]
    rows = {name: row for name in names if (row := row_in(store, name)) >= 0}
    return {(n, y): float(store.w[r, y]) for n, r in rows.items() for y in range(LABELS) if store.w[r, y]}


def total(*parts: tuple[dict, float]) -> dict:
    keys = {key for weights, _ in parts for key in weights}
    sums = {key: sum(share * weights.get(key, 0.0) for weights, share in parts) for key in keys}
    return {key: value for key, value in sums.items() if abs(value) > 1e-9}  # 1/3 + 1/3 - 2/3 is not quite 0


@given(cells, cells, st.sampled_from([1.0, 0.5, -0.25]))
def test_stores_are_added_by_feature(ours, theirs, share):
    (one, left), (two, right) = filled(ours), filled(theirs)
    one.add(two, share)
    assert named(one) == total((left, 1.0), (right, share))
    assert named(two) == total((right, 1.0))


@given(cells)
def test_a_state_brings_a_store_back(changes):
    store, weights = filled(changes)
    again = filled([])[0]
    again.restore({name: array.copy() for name, array in store.state().items()})
    assert named(again) == total((weights, 1.0))
    assert np.array_equal(again.size, store.size)
    more = (("pair", 0, 0), 0, 2)
    one, two = (total((named(s), 1.0), (filled([more])[1], 1.0)) for s in (again, store))
    assert one == two


def test_a_state_of_other_features_is_refused():
    with pytest.raises(StructronError, match="other data"):
        filled([])[0].restore(DenseStore(LABELS, FIXED, FEATURES + 1, PAIRS, True).state())


@given(st.lists(cells, min_size=1, max_size=3), st.integers(1, 2), st.integers(1, 9))
def test_a_packed_mean_is_that_of_dictionaries(runs, jobs, step):
    """Features without weight are left out, and every row of the mean can be found in the stores it came from."""
    made = [filled(changes) for changes in runs]
    stores = [store for store, _ in made]
    with mock.patch.object(dense, "STEP", step):
        packed = pack_mean(stores, [store.mean(0) for store in stores], jobs=jobs)
    expected = total(*((weights, 1 / len(runs)) for _, weights in made))
    names = [("fixed", k) for k in range(FIXED)] + [("feature", k) for k in packed.numbers.tolist()]
    names += [("pair", int(packed.pair_numbers[k]), int(p)) for k, p in np.argwhere(packed.block_rows >= 0)]
    assert len(names) == len(packed.w)
    found = {(n, y): float(packed.w[r, y]) for r, n in enumerate(names) for y in range(LABELS) if packed.w[r, y]}
    assert {key: value for key, value in found.items() if abs(value) > 1e-6} == pytest.approx(expected, abs=1e-5)
    touched = {name for _, weights in made for (name, _), weight in weights.items() if weight}
    assert {name for name in names if name[0] != "fixed"} == {name for name in touched if name[0] != "fixed"}
    for store in stores:
        rows = store.rows_of(packed).tolist()
        assert rows == [row if (row := known_row(store, name)) >= 0 else -1 for name in names]


def known_row(store: DenseStore, name: tuple) -> int:
    """The row of a feature, -1 if it has none."""
    return -1 if name[0] == "pair" and store.block_of[name[1]] < 0 else int(row_in(store, name))


# -- dictionaries --------------------------------------------------------------------------------------------------

word_labels = st.dictionaries(st.integers(1, 9), st.lists(st.booleans(), min_size=3, max_size=3), max_size=6)


def dictionary(words: dict[int, list[bool]], labels: int = 3) -> Dictionary:
    ordered = sorted(words)
    allowed = np.array([words[word][:labels] for word in ordered], bool).reshape(len(ordered), labels)
    return Dictionary.of(np.array(ordered, np.uint64), allowed)


@given(word_labels)
def test_a_dictionary_keeps_the_labels_of_each_word(words):
    made = dictionary(words)
    assert made.words.tolist() == sorted(words)
    assert made.masks[0].all()
    assert len({tuple(row) for row in made.masks.tolist()}) == len(made.masks)
    assert [made.masks[m].tolist() for m in made.mask] == [words[word] for word in sorted(words)]


@given(word_labels, word_labels)
def test_merged_dictionaries_allow_what_either_allows(old, new):
    """The older one knows two labels, the newer three: a word that was free stays free, also for the new label."""
    merged = dictionary(old, 2).merged(dictionary(new, 3), 3)
    found = {word: merged.masks[m].tolist() for word, m in zip(merged.words.tolist(), merged.mask, strict=True)}
    expected = {}
    for word in {*old, *new}:
        before = [*old[word][:2], all(old[word][:2])] if word in old else [False] * 3
        after = new.get(word, [False] * 3)
        expected[word] = [a or b for a, b in zip(before, after, strict=True)]
    assert found == expected


def test_words_are_found_by_their_hash():
    texts = ["a", "b", "c"]
    hashes = hash_list(texts)
    order = np.argsort(hashes)
    made = Dictionary(hashes[order], np.zeros(3, np.int32), np.ones((1, 2), bool))
    found = made.find(["c", "x", "a", "b"])
    assert found[1] == -1
    assert [texts[order[k]] for k in found[[0, 2, 3]]] == ["c", "a", "b"]
    assert Dictionary(hashes[:0], np.zeros(0, np.int32), np.ones((1, 2), bool)).find(texts).tolist() == [-1, -1, -1]
