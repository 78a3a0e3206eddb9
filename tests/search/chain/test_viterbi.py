"""Exact search of orders 1 and 2 against a list of all labellings, with every kind of constraint, and ties."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
import structron
from helpers import build_chain, chain_problems, loaded_work, random_chain
from structron.io import read
from structron.model.chain import fixed_rows
from structron.search.chain.scores import TOGETHER, in_double, make_work
from structron.search.chain.viterbi import decode, search_for

problems = chain_problems((1, 4), 5)


def run(chains, weights, order: int, labels: int, kind: type = np.float32):
    """Decode all sentences: labels of each, scores."""
    longest = int(np.diff(chains.starts).max(initial=1))
    work = make_work(longest, labels, weights.w.shape[1], order, kind)
    weights = weights if kind is np.float32 else in_double(weights)
    out = np.full(int(chains.starts[-1]), -1, np.int64)
    scores = np.full(len(chains.starts) - 1, np.nan, np.float32)
    decode(chains, weights, order, 0, len(scores), labels, work, out, scores)
    return [tuple(out[lo:hi].tolist()) for lo, hi in zip(chains.starts[:-1], chains.starts[1:], strict=True)], scores


def solved(problem: dict, kind: type = np.float32, **more):
    """Of every sentence: all labellings with what they are worth, the one that was found, and its score."""
    chains, weights = build_chain(problem, **more)
    found, scores = run(chains, weights, problem["order"], problem["labels"], kind)
    for s, z in enumerate(found):
        yield brute.chain_scores(chains, weights, problem["order"], s, problem["labels"]), z, scores[s]


@given(problems)
@settings(max_examples=300)
def test_whole_weights_give_the_best_labelling_ties_included(problem):
    """Whole numbers are exact in every order of summation, so score and labelling must agree to the last tie."""
    for every, z, score in solved(problem):
        top = max(every.values())
        if top[:2] == (0, 0):
            assert every[z] == top
            assert score == top[2]
            ties = [y for y in every if every[y] == top]
            assert z == min(ties, key=lambda y: brute.tie_key(y, problem["order"]))


@given(problems)
@settings(max_examples=300)
def test_real_weights_give_the_best_labelling(problem):
    for every, z, score in solved(problem, whole=False):
        top = max(every.values())
        if top[:2] != (0, 0):
            continue
        assert every[z][:2] == (0, 0)
        assert every[z][2] == pytest.approx(top[2], abs=1e-4)
        assert score == pytest.approx(top[2], abs=1e-4)
        second = max((value for y, value in every.items() if y != z), default=None)
        if second is None or second[:2] < (0, 0) or second[2] < top[2] - 1e-3:
            assert z == max(every, key=every.__getitem__)


@given(problems, st.sampled_from([0.3, 0.7, 1.0]))
@settings(max_examples=300)
def test_forced_labels_are_kept_and_the_rest_is_best(problem, share):
    """Forced labels may contradict each other and every constraint; they stand all the same."""
    for every, z, _ in solved(problem, forced=share):
        top = max(every.values())
        assert every[z][0] == 0
        assert every[z] == top or top[1] != 0


@given(problems, st.sampled_from([0.0, 0.5]))
@settings(max_examples=300)
def test_double_precision_finds_the_best_of_labellings_that_all_break_constraints(problem, share):
    """Fewest constraints broken, then the score: what a dictionary and forced labels without a legal way get."""
    for every, z, _ in solved(problem | {"forbid": 0.6, "masks": True}, np.float64, forced=share):
        assert every[z] == max(every.values())


def assert_skipping_is_harmless(chains, weights, order: int, labels: int) -> None:
    """The result must be that of bounds that skip nothing."""
    lengths = np.diff(chains.starts).tolist()
    work, free = (loaded_work(weights, labels, order, max(lengths)) for _ in range(2))
    free.hi[:], free.lo[:] = np.inf, -np.inf
    free.up[:], free.down[:] = np.inf, -np.inf
    search = search_for(chains, order, work)
    for s, n in enumerate(lengths):
        score, expected = (search(chains, weights, s, labels, some, 0.0) for some in (work, free))
        assert score == expected
        assert work.z[:n].tolist() == free.z[:n].tolist()


@given(problems, st.sampled_from([0.0, 1.0, 50.0, 3000.0]), st.sampled_from([1, 8, 300]), st.booleans())
@settings(max_examples=600)
def test_skipping_never_changes_a_result(problem, spread, strength, whole):
    """Labels are skipped by the bounds of their transition rows.

    Rows far apart or features stronger than transitions make most labels skippable; equal weights make bounds meet.
    """
    chains, weights = build_chain(problem, whole=whole)
    rng = np.random.default_rng(problem["seed"])
    labels, order = problem["labels"], problem["order"]
    contexts = labels + 1
    shifts = rng.choice([-1, 0, 0, 1], size=(len(weights.w), 1)) * spread
    weights.w[:] = np.round(weights.w + shifts) if whole else weights.w + shifts
    weights.w[rng.integers(contexts)] = 0
    weights.w[fixed_rows(labels, order) :] *= strength
    if strength > 1 and order == 2:
        weights.w[contexts : fixed_rows(labels, order)] *= rng.integers(2)
    assert_skipping_is_harmless(chains, weights, order, labels)


@pytest.mark.parametrize(
    ("order", "bound", "masks"), [(1, "hi", False), (2, "hi", False), (2, "up", False), (2, "up", True)]
)
def test_skipping_does_happen(order, bound, masks):
    """The test above would say nothing if the bounds never let a label be skipped: wrong bounds must do harm. At order
    2 masks, as a dictionary of closed classes has them, do not hinder it."""
    wrong = 0
    for seed in range(30):
        chains, weights = random_chain(np.random.default_rng(seed), 4, order, [6], whole=False, masks=masks)
        work = loaded_work(weights, 4, order, 6)
        search = search_for(chains, order, work)
        right = search(chains, weights, 0, 4, work, 0.0)
        getattr(work, bound)[:] -= {"hi": 4, "up": 30}[bound]
        wrong += search(chains, weights, 0, 4, work, 0.0) != right
    assert wrong > 10


@pytest.mark.parametrize("order", [1, 2])
def test_nothing_to_tell_labels_by(order):
    """All weights 0: the first label; no words: no score."""
    lengths = [1, 0, 2, 3, 7, 0]
    chains, weights = random_chain(np.random.default_rng(0), 3, order, lengths)
    weights.w[:] = 0
    assert run(chains, weights, order, 3)[0] == [(0,) * n for n in lengths]
    chains, weights = random_chain(np.random.default_rng(0), 3, order, [0, 2, 0])
    found, scores = run(chains, weights, order, 3)
    assert [len(z) for z in found] == [0, 2, 0]
    assert scores[0] == scores[2] == 0


@pytest.mark.parametrize("order", [1, 2])
def test_a_batch_of_sentences_is_decoded_alone(order):
    chains, weights = random_chain(np.random.default_rng(3), 3, order, [4, 2, 5, 3])
    whole, scores = run(chains, weights, order, 3)
    work = make_work(5, 3, weights.w.shape[1], order)
    out, part = np.full(14, -1, np.int64), np.full(4, np.nan, np.float32)
    decode(chains, weights, order, 1, 3, 3, work, out, part)
    assert out.tolist() == [-1] * 4 + list(whole[1] + whole[2]) + [-1] * 3
    assert part[1:3].tolist() == scores[1:3].tolist()
    assert np.isnan(part[[0, 3]]).all()


@pytest.mark.parametrize("many", [TOGETHER - 1, TOGETHER, TOGETHER + 1, 3 * TOGETHER + 7])
def test_tokens_with_more_features_than_are_asked_for_together(many):
    """Every feature counts once, those without a row not at all."""
    rng, labels = np.random.default_rng(many), 3
    chains, weights = random_chain(rng, labels, 1, [4])
    weights.row_of[0] = -1
    counts = np.array([2, many, many + 5, 1])
    ptr = np.concatenate([[0], np.cumsum(counts)])
    numbers = rng.integers(0, len(weights.row_of), ptr[-1]).astype(np.int32)
    chains = chains._replace(ptr=ptr, numbers=numbers)
    (z,), (score,) = run(chains, weights, 1, labels)
    every = brute.chain_scores(chains, weights, 1, 0, labels)
    assert every[z] == max(every.values())
    assert score == every[z][2]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("pairs", [False, True])
def test_the_end_of_a_very_long_sentence_is_decoded_as_well_as_its_start(order, pairs):
    """Scores grow with the sentence and single precision has seven digits: small weights must still count at the end.

    A sentence repeated many times, without a trace of where it stands: its labels must repeat too.
    """
    rng = np.random.default_rng(11)
    period, times, labels = 8, 4000, 3
    chains, weights = random_chain(rng, labels, order, [period], whole=False, scale=1.0, pairs=pairs)
    weights.w[:] = weights.w / 16
    weights.w[: labels + 1] += 100
    tile = lambda ptr: np.concatenate([[0], (ptr[1:] + ptr[-1] * np.arange(times)[:, None]).reshape(-1)])  # noqa: E731
    long = chains._replace(
        starts=chains.starts * times,
        ptr=tile(chains.ptr),
        numbers=np.tile(chains.numbers, times),
        pair_ptr=tile(chains.pair_ptr) if pairs else chains.pair_ptr,
        pair_numbers=np.tile(chains.pair_numbers, times),
    )
    (z,), _ = run(long, weights, order, labels)
    blocks = np.array(z).reshape(times, period)
    assert (blocks[2:-2] == blocks[2]).all()


@pytest.mark.corpora
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("average", ["mean", "none"])
def test_skipping_on_real_weights(order, average, corpora):
    """What training on real text makes of the weights is what labels are skipped by in real use."""
    path = corpora / "conll2000" / "train.conll.gz"
    rows = [[tuple(row) for row in s.rows] for s in islice(read(path), 400)]
    labeler = structron.Chunker(order=order, average=average, passes=2, runs=1, templates="chunk19").fit(rows[:200])
    model, prepared = labeler.model_, labeler.extractor_.prepare(rows)
    assert_skipping_is_harmless(model.chains(prepared, 0, len(rows)), model.weights, order, len(model.labels))
