"""n-best against a list of all labellings: scores, order, no duplicates; documents of several sentences; ties."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from helpers import build_chain, chain_problems, loaded_work, random_chain
from structron.search.chain.kbest import GrowingScratch, make_near, make_trellis, n_best_of, second_best
from structron.search.chain.scores import make_work
from structron.search.chain.viterbi import search_for

problems = chain_problems((2, 3), 4, whole=st.booleans())


def run(chains, weights, order: int, labels: int, n: int, lo: int = 0, hi: int | None = None):
    hi = len(chains.starts) - 1 if hi is None else hi
    longest, tokens = int(np.diff(chains.starts).max(initial=1)), int(chains.starts[hi] - chains.starts[lo])
    work = make_work(longest, labels, weights.w.shape[1], order)
    trellis = make_trellis(tokens, labels, weights.w.shape[1], order)
    found = n_best_of(chains, weights, np.array([lo, hi]), n, GrowingScratch(trellis, work, labels, order))
    ((rows, losses, total),) = found
    return [tuple(row) for row in rows.tolist()], (total - losses).tolist()


def enumerated(chains, weights, order: int, labels: int) -> dict[tuple[int, ...], float]:
    """The score of every legal labelling of the document."""
    every = [brute.chain_scores(chains, weights, order, s, labels) for s in range(len(chains.starts) - 1)]
    found = {}
    for parts in product(*(list(scores.items()) for scores in every)):
        if all(value[:2] == (0, 0) for _, value in parts):
            found[sum((y for y, _ in parts), ())] = sum(value[2] for _, value in parts)
    return found


@given(problems, st.integers(1, 60))
@settings(max_examples=200)
def test_n_best_agrees_with_enumeration(problem, n):
    chains, weights = build_chain(problem)
    order, labels = problem["order"], problem["labels"]
    every = enumerated(chains, weights, order, labels)
    if not every:
        assert len(run(chains, weights, order, labels, n)[0]) == 1
        return
    found, scores = run(chains, weights, order, labels, n)
    assert len(found) == len(set(found)) == min(n, len(every))
    expected = sorted(every.values(), reverse=True)[:n]
    rounding = 0 if problem["whole"] else 1e-4
    assert scores == pytest.approx(expected, abs=rounding)
    assert [every[y] for y in found] == pytest.approx(scores, abs=rounding)


@pytest.mark.parametrize("order", [1, 2])
def test_ties_give_every_labelling_once(order):
    chains, weights = random_chain(np.random.default_rng(0), 3, order, [3, 0, 1, 2])
    weights.w[:] = 0
    found, scores = run(chains, weights, order, 3, 1000)
    assert len(found) == len(set(found)) == 3**6
    assert set(scores) == {0.0}


@given(problems, st.booleans())
@settings(max_examples=300)
def test_second_best_agrees_with_enumeration(problem, wide):
    """Within the window of a search that skips; a search without one may only find one that is further away."""
    chains, weights = build_chain(problem)
    order, labels = problem["order"], problem["labels"]
    work = loaded_work(weights, labels, order, max(problem["lengths"]))
    for s, n in enumerate(problem["lengths"]):
        every = brute.chain_scores(chains, weights, order, s, labels)
        top = max(every.values())
        if n == 0 or top[:2] != (0, 0):
            continue
        window = np.inf if wide else 2.0
        search_for(chains, order, work, window)(chains, weights, s, labels, work, window)
        best = tuple(work.z[:n].tolist())
        loss = second_best(chains, weights, chains.starts[s], n, make_near(work, labels, order), work.z)
        second = max((value for y, value in every.items() if y != best), default=(9, 9, 0.0))
        if second[:2] != (0, 0):
            assert loss == np.inf
        elif top[2] - second[2] <= window:
            assert loss == pytest.approx(top[2] - second[2], abs=1e-4)
            assert every[tuple(work.z[:n].tolist())][2] == pytest.approx(second[2], abs=1e-4)
        else:
            assert loss > window


def test_sentences_of_a_document_are_chosen_by_lo_and_hi():
    chains, weights = random_chain(np.random.default_rng(3), 3, 1, [2, 3, 4, 1])
    part, scores = run(chains, weights, 1, 3, 50, 1, 3)
    every = [brute.chain_scores(chains, weights, 1, s, 3) for s in (1, 2)]
    expected = sorted((a[2] + b[2] for a in every[0].values() for b in every[1].values()), reverse=True)[:50]
    assert len(part) == 50
    assert scores == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_many_labellings_of_a_long_document(order):
    """Thousands of labellings of thousands of tokens, in order, none twice."""
    chains, weights = random_chain(np.random.default_rng(4), 5, order, [30] * 60, whole=False, scale=3.0)
    found, scores = run(chains, weights, order, 5, 3000)
    assert len(set(found)) == 3000
    assert scores == sorted(scores, reverse=True)
