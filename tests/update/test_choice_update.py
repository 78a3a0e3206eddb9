"""The perceptron over choices: Collins' update in numbers, and whole runs against a naive version with all vectors."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lattices import Problem, problems
from structron.kernels.jit import entry
from structron.search.chain.choices import Lattice, make_labels, make_scratch
from structron.update.choices import correct, learn
from structron.update.perceptron import STATS, TIME, TOKENS, UPDATES, WRONG_TOKENS
from structron.weights.cells import CellStore, mean_cells, weight_of

A, B, C = range(3)
FIXED = 4
ABC = make_labels(["A", "B", "C"], True)


def weights(store: CellStore) -> dict[tuple[int, int], float]:
    """The weights that are not zero, by row and label."""
    key, w = store.present(0)
    rows = np.divmod(key.astype(np.int64) - 1, store.labels)
    return {(r, y): value for r, y, value in zip(*map(np.ndarray.tolist, (*rows, w)), strict=True) if value}


def test_an_update_in_numbers():
    """y = A B C, z = A C C: token 2 has features 0 and 1; pairs (A, B), (B, C) for, (A, C), (C, C) against."""
    lattice = Lattice(
        np.array([0, 3]), np.array([0, 1, 3, 4]), np.array([2, 0, 1, 2], np.int32), np.arange(4), np.zeros(3, np.int32)
    )
    store = CellStore(3)
    wrong = entry(correct)(lattice, store.cells, ABC, FIXED, True, 0, 3, np.array([A, B, C]), np.array([A, C, C]), 5)
    assert wrong == 1
    assert weights(store) == {
        (FIXED + 0, B): 1,
        (FIXED + 0, C): -1,
        (FIXED + 1, B): 1,
        (FIXED + 1, C): -1,
        (A + 1, B): 1,
        (B + 1, C): 1,
        (A + 1, C): -1,
        (C + 1, C): -1,
    }
    assert store.cells.used[0] == 8
    key, w = store.present(5)
    assert dict(zip(key.tolist(), w.tolist(), strict=True)) == {
        k: pytest.approx(v / 5) for k, v in zip(*map(np.ndarray.tolist, store.present(0)), strict=True)
    }
    assert entry(weight_of)(store.cells, 0, A, 3) == 0


def test_without_label_pairs_only_wrong_tokens_change():
    features, labels = np.array([0, 1], np.int32), np.zeros(2, np.int32)
    lattice = Lattice(np.array([0, 2]), np.arange(3), features, np.arange(3), labels)
    store = CellStore(3)
    assert entry(correct)(lattice, store.cells, ABC, FIXED, False, 0, 2, np.array([A, B]), np.array([C, B]), 1) == 1
    assert weights(store) == {(FIXED, A): 1, (FIXED, C): -1}
    assert entry(correct)(lattice, store.cells, ABC, FIXED, False, 0, 2, np.array([A, B]), np.array([A, B]), 2) == 0
    assert weights(store) == {(FIXED, A): 1, (FIXED, C): -1}


def test_pieces_that_two_labels_share_do_not_change():
    """y = Nom|Sing, z = Nom|Plur: its features are for Sing and against Plur; pairs are of whole labels."""
    labels = make_labels(["Nom|Sing", "Nom|Plur", "Plur"], True)
    nom, sing, plur = range(3)
    two, bounds = np.array([0, 1], np.int32), np.array([0, 2])
    lattice = Lattice(np.array([0, 1]), bounds, two, bounds, two)
    store = CellStore(labels.width)
    assert entry(correct)(lattice, store.cells, labels, FIXED, True, 0, 1, np.array([0]), np.array([1]), 1) == 1
    features = {(FIXED + f, piece): amount for f in (0, 1) for piece, amount in ((sing, 1), (plur, -1))}
    assert weights(store) == features | {(0, 0): 1, (0, 1): -1}
    assert entry(correct)(lattice, store.cells, labels, FIXED, False, 0, 1, np.array([2]), np.array([1]), 2) == 1
    features |= {(FIXED + f, nom): -1 for f in (0, 1)}
    assert weights(store) == features | {(0, 0): 1, (0, 1): -1}


def naive(problem: Problem, gold: np.ndarray, sequence: list[int]) -> tuple[list[Counter], int]:
    """Collins (2002), Figure 1, by enumeration: the weights after every example, and the updates."""
    starts, w, vectors, updates = problem.lattice.starts, Counter(), [], 0
    for s in sequence:
        problem.w = w
        y, z = tuple(gold[starts[s] : starts[s + 1]].tolist()), problem.best(s)
        if y != z:
            updates += 1
            w = Counter(w)
            w.update(problem.phi(s, y))
            w.subtract(problem.phi(s, z))
        vectors.append(w)
    return vectors, updates


@given(problems(labels=st.integers(2, 3)), st.data())
@settings(max_examples=60)
def test_a_run_is_that_of_the_naive_perceptron(problem, data):
    """The weights, and the mean kept lazily: that of all vectors."""
    lattice, sentences = problem.lattice, len(problem.lattice.starts) - 1
    gold = np.array([data.draw(st.sampled_from(own)) for s in range(sentences) for own in problem.choices(s)], np.int64)
    sequence = data.draw(st.lists(st.integers(0, sentences - 1), min_size=1, max_size=12))
    kinds = problem.kinds
    store, stats, scratch = CellStore(kinds.width), np.zeros(STATS, np.int64), make_scratch(lattice, kinds)
    done = learn(lattice, gold, store.cells, *problem.how, np.array(sequence), 0, len(sequence), scratch, stats)
    vectors, updates = naive(problem, gold, sequence)
    assert done == stats[TIME] == len(sequence)
    assert stats[UPDATES] == updates <= stats[WRONG_TOKENS] <= stats[TOKENS]
    assert weights(store) == {cell: value for cell, value in vectors[-1].items() if value}
    total: Counter = Counter()
    for vector in vectors:
        total.update(vector)
    key, mean = mean_cells([(store, int(stats[TIME]))])
    rows, columns = np.divmod(key.astype(np.int64) - 1, kinds.width)
    found = {(r, y): w for r, y, w in zip(rows.tolist(), columns.tolist(), mean.tolist(), strict=True)}
    expected = {cell: value / len(vectors) for cell, value in total.items() if value}
    assert {cell: w for cell, w in found.items() if abs(w) > 1e-6} == pytest.approx(expected, abs=1e-5)
