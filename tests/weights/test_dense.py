"""Rows of weights: room, the exact mean, and their form in a file."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structron.kernels.table import hash_list
from structron.model.chain import Dictionary
from structron.update.perceptron import add
from structron.weights.dense import FIRST_ROWS, Rows, dense_rows, row_stride, sparse_rows


def test_rows_have_room_for_all_columns_and_are_whole_vectors():
    for columns in (1, 2, 4, 5, 8, 9, 16, 17, 50, 300):
        assert columns <= row_stride(columns) < columns + 16
        assert row_stride(columns) % 4 == 0


def test_rows_grow_and_keep_what_they_hold():
    rows = Rows(3, 10)
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
    rows = Rows(3, 5)
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
    rows = Rows(2, 40_000)
    rng = np.random.default_rng(0)
    rows.w[:40_000], rows.u[:40_000] = rng.integers(9, size=(40_000, 4)), rng.integers(9, size=(40_000, 4))
    assert (rows.mean(7) == (rows.w[:40_000] - rows.u[:40_000] / 7).astype(np.float32)).all()


def test_the_mean_before_the_first_example_is_where_learning_starts():
    rows = Rows(2, 3)
    rows.w[:3] = 5
    mean = rows.mean(0)
    assert (mean == 5).all()
    mean[:] = 1
    assert (rows.w[:3] == 5).all()


def test_large_counts_stay_exact():
    """Sums of (t-1) * update run into billions; float64 holds them."""
    rows = Rows(2, 1)
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


@pytest.mark.parametrize(
    "change",
    [
        {"weight": np.ones(3, np.float32)},
        {"weight_label": np.array([0, 9], np.uint8)},
        {"weight_label": np.array([0, -1], np.int8)},
        {"weight_label": np.array([0.0, 1.0])},
        {"weight_count": np.array([1, 2], np.uint16)},
        {"weight_count": np.array([3, -1], np.int16)},
        {"weight_count": np.array([[1, 1]], np.uint16)},
        {"weight": np.array(["a", "b"])},
    ],
)
def test_parts_that_do_not_fit(change):
    parts = {
        "weight_count": np.array([1, 1], np.uint16),
        "weight_label": np.array([0, 1], np.uint8),
        "weight": np.ones(2, np.float32),
    }
    assert dense_rows(parts, 2).shape == (2, 4)
    with pytest.raises(ValueError, match="weights"):
        dense_rows(parts | change, 2)


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
