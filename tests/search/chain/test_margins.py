"""Margins against a list of all labellings: best score minus the best with another label at a token."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from helpers import build_chain, chain_problems, random_chain
from structron.search.chain.margins import decode_with_margins
from structron.search.chain.scores import in_double, make_work
from structron.search.chain.viterbi import decode

problems = chain_problems((2, 4), 5, forced=st.sampled_from([0.0, 0.3]), whole=st.booleans())
NOTHING = 1e11
"""Margins above this mean that no labelling with another label is legal."""


def run(chains, weights, order: int, labels: int, kind: type = np.float32):
    longest = int(np.diff(chains.starts).max(initial=1))
    work = make_work(longest, labels, weights.w.shape[1], order, kind)
    weights = weights if kind is np.float32 else in_double(weights)
    tokens, sentences = int(chains.starts[-1]), len(chains.starts) - 1
    out, scores = np.full(tokens, -1, np.int64), np.zeros(sentences, np.float32)
    margins = np.full(tokens, np.nan, np.float32)
    alone, none = np.zeros(tokens, np.float32), np.empty((0, 0), np.float32)
    decode_with_margins(chains, weights, order, 0, sentences, labels, work, out, scores, alone, none)
    behind = np.full((tokens, labels), np.nan, np.float32)
    decode_with_margins(chains, weights, order, 0, sentences, labels, work, out, scores, margins, behind)
    assert margins.tolist() == alone.tolist()
    again, same = np.full(tokens, -1, np.int64), np.zeros(sentences, np.float32)
    decode(chains, weights, order, 0, sentences, labels, work, again, same)
    assert out.tolist() == again.tolist()
    assert scores.tolist() == same.tolist()
    return out, margins, behind


@given(problems, st.sampled_from([np.float32, np.float64]))
@settings(max_examples=400)
def test_margins_agree_with_enumeration(problem, kind):
    chains, weights = build_chain(problem)
    out, margins, behind = run(chains, weights, problem["order"], problem["labels"], kind)
    for s, n in enumerate(problem["lengths"]):
        every = brute.chain_scores(chains, weights, problem["order"], s, problem["labels"])
        top = max(every.values())
        if top[:2] != (0, 0) and kind is np.float32:
            continue
        for i in range(n):
            token = int(chains.starts[s]) + i
            other = max(value for y, value in every.items() if y[i] != out[token])
            if other[:2] < top[:2]:
                assert margins[token] > NOTHING
            elif problem["whole"]:
                assert margins[token] == top[2] - other[2]
            else:
                rounding = 1e-4 if top[:2] == (0, 0) else 1e-2
                assert margins[token] == pytest.approx(top[2] - other[2], abs=rounding)
            for label in range(problem["labels"]):
                through = max(value for y, value in every.items() if y[i] == label)
                if through[:2] < top[:2]:
                    assert behind[token, label] < -NOTHING
                else:
                    assert behind[token, label] == pytest.approx(through[2] - top[2], abs=1e-2)


@pytest.mark.parametrize("order", [1, 2])
def test_a_tie_has_no_margin(order):
    chains, weights = random_chain(np.random.default_rng(0), 3, order, [4])
    weights.w[:] = 0
    _, margins, _ = run(chains, weights, order, 3)
    assert margins.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("order", [1, 2])
def test_margins_of_a_very_long_sentence_stay_exact(order):
    """A margin is a small difference of scores that grow with the sentence."""
    n, labels = 20_000, 3
    chains, weights = random_chain(np.random.default_rng(5), labels, order, [n], whole=False, scale=0.01)
    weights.w[labels + 1 :] = 0
    weights.w[: labels + 1] = 100
    weights.w[: labels + 1, 1] = 100.125
    out, margins, _ = run(chains, weights, order, labels)
    assert set(out.tolist()) == {1}
    assert set(margins.tolist()) == {0.125}
