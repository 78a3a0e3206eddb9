"""Search among a few labels for each token against a list of all labellings."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices import problems, random_problem
from structron.kernels.jit import entry
from structron.search.chain.choices import (
    WIDE,
    best,
    decode,
    decode_with_margins,
    make_labels,
    make_scratch,
    score_cells,
    score_rows,
    through,
)
from structron.weights.cells import rows_from, weight_in

ROUNDING = 1e-4


@given(problems())
def test_the_best_labelling_and_its_score(problem):
    """Among equals the label that stands first, from the last token backwards."""
    lattice, weights, scratch = problem.lattice, problem.weights, make_scratch(problem.lattice, problem.kinds)
    for s in range(len(lattice.starts) - 1):
        score = entry(best)(lattice, weights, *problem.how, s, scratch)
        found = tuple(scratch.z[: lattice.starts[s + 1] - lattice.starts[s]].tolist())
        every = problem.scores(s)
        assert score == pytest.approx(max(every.values()), abs=ROUNDING)
        assert every[found] == pytest.approx(score, abs=ROUNDING)
        if all(w == int(w) for w in problem.w.values()):
            assert found == problem.best(s)


@given(problems())
def test_the_best_labelling_through_every_choice(problem):
    lattice, weights, scratch = problem.lattice, problem.weights, make_scratch(problem.lattice, problem.kinds)
    out = np.zeros(len(lattice.choice), np.float32)
    for s in range(len(lattice.starts) - 1):
        if lattice.starts[s] == lattice.starts[s + 1]:
            continue
        entry(through)(lattice, weights, *problem.how, s, scratch, out)
        every, place = problem.scores(s), int(lattice.first[lattice.starts[s]])
        for i, own in enumerate(problem.choices(s)):
            for label in own:
                expected = max(score for y, score in every.items() if y[i] == label)
                assert out[place] == pytest.approx(expected, abs=ROUNDING)
                place += 1


@given(problems())
def test_margins(problem):
    lattice, scratch = problem.lattice, make_scratch(problem.lattice, problem.kinds)
    tokens, sentences = int(lattice.starts[-1]), len(lattice.starts) - 1
    plain, out, sure = np.zeros(tokens, np.int64), np.zeros(tokens, np.int64), np.zeros(tokens, np.float32)
    scores, every = np.zeros(sentences, np.float32), np.zeros(len(lattice.choice), np.float32)
    decode(lattice, problem.weights, *problem.how, scratch, plain, scores)
    decode_with_margins(lattice, problem.weights, *problem.how, scratch, out, scores, every, sure)
    assert (plain == out).all()
    for s in range(sentences):
        start, found = int(lattice.starts[s]), problem.scores(s)
        for i in range(start, int(lattice.starts[s + 1])):
            others = [score for y, score in found.items() if y[i - start] != out[i]]
            expected = scores[s] - max(others) if others else np.inf
            assert sure[i] == pytest.approx(expected, abs=ROUNDING)


def test_weights_beyond_reason_lead_nowhere_else():
    """A file may hold any finite weight: there is always a choice before."""
    problem = random_problem(3, 3, [4, 4], True)
    problem.w = dict.fromkeys(problem.w, -3e38)
    lattice, scratch = problem.lattice, make_scratch(problem.lattice, problem.kinds)
    out, scores = np.full(8, -1), np.zeros(2, np.float32)
    decode(lattice, problem.weights, *problem.how, scratch, out, scores)
    choices = [own for s in range(2) for own in problem.choices(s)]
    assert all(label in own for label, own in zip(out.tolist(), choices, strict=True))


def test_no_sentences():
    problem = random_problem(0, 3, [], True)
    out, scores = np.zeros(0, np.int64), np.zeros(0, np.float32)
    decode(problem.lattice, problem.weights, *problem.how, make_scratch(problem.lattice, problem.kinds), out, scores)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 3 * WIDE),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.booleans(),
)
def test_rows_and_cells_give_the_same_scores(seed, labels, lengths, split):
    """To the bit, where a row is gone through and where pieces of labels are looked for in it."""
    problem = random_problem(seed, labels, lengths, False, whole=False, split=split)
    lattice, weights, kinds = problem.lattice, problem.weights, problem.kinds
    scratches = [make_scratch(lattice, kinds) for _ in range(2)]
    for start, stop in pairwise(lattice.starts.tolist()):
        entry(score_cells)(lattice, weights.pairs, kinds, problem.fixed, start, stop, scratches[0])
        entry(score_rows)(lattice, weights.rows, kinds, problem.fixed, start, stop, scratches[1])
        count = lattice.first[stop] - lattice.first[start]
        assert scratches[0].local[:count].tobytes() == scratches[1].local[:count].tobytes()
        assert not scratches[0].place.any()
        assert not scratches[1].place.any()


def test_labels_consist_of_the_values_of_their_columns():
    """A value counts once, and is another one in another column."""
    names = ["N Case=Nom|Number=Sing", "V Number=Sing|Number=Sing", "N N", "_ _"]
    found = make_labels(names, True)
    own = [found.piece[lo:hi].tolist() for lo, hi in pairwise(found.begin.tolist())]
    assert own == [[0, 1, 2], [3, 2], [0, 4], [5, 6]]
    assert (found.width, found.most) == (7, 3)
    whole = make_labels(names, False)
    assert whole.piece.tolist() == [0, 1, 2, 3]
    assert (whole.width, whole.most) == (4, 1)
    assert make_labels(["a|b", "b|a|c", "a", "b", "c", "a|c"], True).width == 6


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_weights_of_rows_that_come_in_any_order(seed, labels):
    rng = np.random.default_rng(seed)
    dense = rng.integers(-2, 3, (5, labels)).astype(np.float32)
    row, label = np.nonzero(dense)
    order = np.lexsort((rng.random(len(row)), row))
    rows = rows_from(row[order], label[order].astype(np.uint8), dense[row, label][order], 5)
    assert [[entry(weight_in)(rows, r, y) for y in range(labels)] for r in range(5)] == dense.tolist()
