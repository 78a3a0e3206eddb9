"""A model of choices: n-best and runners-up against a list of all labellings, labels that are forced."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices import problems, random_problem
from structron.model.choices import only, with_gold

ROUNDING = 1e-4


@given(problems(), st.integers(1, 40), st.booleans())
def test_n_best(problem, n, one_document):
    model, prepared = problem.model()
    sentences = len(prepared.starts) - 1
    if one_document:
        prepared.units = np.array([0, sentences])
    best, _, _ = model.decode(prepared)
    for unit, (rows, scores) in enumerate(model.nbest(prepared, n)):
        lo, hi = prepared.units[unit : unit + 2].tolist()
        parts = [problem.scores(s).items() for s in range(lo, hi)]
        every = {sum((y for y, _ in own), ()): sum(score for _, score in own) for own in product(*parts)}
        found = [tuple(row) for row in rows.tolist()]
        assert len(found) == len(set(found)) == min(n, len(every))
        assert scores.tolist() == pytest.approx(sorted(every.values(), reverse=True)[:n], abs=ROUNDING)
        assert [every[y] for y in found] == pytest.approx(scores.tolist(), abs=ROUNDING)
        assert found[0] == tuple(best[prepared.starts[lo] : prepared.starts[hi]].tolist())


def test_equal_labellings_come_one_by_one():
    problem = random_problem(1, 4, [6], True)
    problem.w = {}
    model, prepared = problem.model()
    ((rows, scores),) = model.nbest(prepared, 10_000)
    assert len({tuple(row) for row in rows.tolist()}) == len(problem.scores(0))
    assert not scores.any()


@given(problems(), st.data())
def test_forced_labels(problem, data):
    """They stand, whether they were among the choices or not, and the rest is the best that goes with them."""
    model, prepared = problem.model()
    labels = st.sampled_from([-1, -1, *range(problem.labels)])
    tokens = int(prepared.starts[-1])
    forced = np.array(data.draw(st.lists(labels, min_size=tokens, max_size=tokens)), np.int64)
    out, scores, _ = model.decode(prepared, forced=forced)
    assert (out[forced >= 0] == forced[forced >= 0]).all()
    first, choice = only(problem.lattice.first, problem.lattice.choice, forced)
    problem.lattice = problem.lattice._replace(first=first, choice=choice)
    for s, (lo, hi) in enumerate(pairwise(prepared.starts.tolist())):
        every = problem.scores(s)
        assert scores[s] == pytest.approx(max(every.values()), abs=ROUNDING)
        assert every[tuple(out[lo:hi].tolist())] == pytest.approx(scores[s], abs=ROUNDING)


@given(problems(lengths=st.lists(st.integers(1, 4), min_size=1, max_size=1)))
def test_runners_up(problem):
    model, prepared = problem.model()
    chosen, _, _ = model.decode(prepared)
    every = problem.scores(0)
    for i, (other, score) in enumerate(model.runners_up(prepared, chosen)):
        others = {y: own for y, own in every.items() if y[i] != chosen[i]}
        assert score == pytest.approx(max(others.values(), default=-np.inf), abs=ROUNDING)
        assert not others or others[tuple(other)] == pytest.approx(score, abs=ROUNDING)


@given(problems(), st.data())
def test_gold_is_added_where_it_is_missing(problem, data):
    first, choice = problem.lattice.first, problem.lattice.choice
    tokens = len(first) - 1
    gold = np.array(data.draw(st.lists(st.integers(0, 5), min_size=tokens, max_size=tokens)), np.int64)
    ends, found = with_gold(first, choice, gold)
    assert found.dtype == np.int32
    for i, label in enumerate(gold.tolist()):
        before, after = choice[first[i] : first[i + 1]].tolist(), found[ends[i] : ends[i + 1]].tolist()
        assert after == (before if label in before else [*before, label])


@pytest.mark.parametrize("whole", [True, False], ids=["ties", "rounding"])
def test_the_first_of_the_list_is_the_prediction(whole):
    for seed in range(200):
        model, prepared = random_problem(seed, 4, [4], True, whole).model()
        ((rows, scores),) = model.nbest(prepared, 1)
        best, score, _ = model.decode(prepared)
        assert rows[0].tolist() == best.tolist()
        assert scores.tolist() == score.tolist()
