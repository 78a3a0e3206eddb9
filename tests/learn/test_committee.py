"""Several runs over the same data: each is a perceptron of its own, and the model is their mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
import structron
from helpers import assert_same_weights, learn_passes, learned, make_learner, random_examples, weights_of
from structron.learn.committee import Committee
from structron.learn.loop import Schedule, pass_order

LABELS = ["A", "B", "C"]


def order_of_member(sequence: list[int], m: int, count: int) -> list[int]:
    """The sentences of member m in the order in which they stand in the whole sequence."""
    return [e - m * count for e in sequence if m * count <= e < (m + 1) * count]


def mean_of(vectors: list[brute.Vector]) -> brute.Vector:
    keys = {key for vector in vectors for key in vector}
    return brute.clean({key: sum(v.get(key, 0.0) for v in vectors) / len(vectors) for key in keys})


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.sampled_from(["mean", "none"]),
)
@settings(max_examples=40)
def test_the_model_is_the_mean_of_naive_perceptrons(seed, runs, order, pairs, average):
    rng = np.random.default_rng(seed)
    examples = random_examples(rng, LABELS, pairs=pairs)
    passes = [rng.permutation(runs * len(examples)).tolist() for _ in range(3)]
    committee = Committee(make_learner(examples, LABELS, order, pairs=pairs, average=average), runs)
    assert committee.examples == runs * len(examples)
    updates = learn_passes(committee, passes)
    naive = [
        brute.perceptron(examples, LABELS, order, [order_of_member(p, m, len(examples)) for p in passes])
        for m in range(runs)
    ]
    assert updates == np.sum([run.mistakes for run in naive], axis=0).tolist()
    expected = mean_of([run.mean() if average == "mean" else run.last for run in naive])
    assert_same_weights(learned(committee), expected, tolerance=1e-6)


def test_members_see_the_data_in_different_orders():
    sequence = pass_order(Schedule(seed=1), 1, 3 * 20).tolist()
    orders = [order_of_member(sequence, m, 20) for m in range(3)]
    assert all(sorted(order) == list(range(20)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3


ROWS = [
    [("a", "N", "X"), ("b", "V", "Y"), ("a", "V", "Z")],
    [("c", "V", "Y"), ("b", "N", "Y"), ("d", "N", "X")],
    [("d", "N", "Z"), ("a", "V", "X")],
]


def test_one_run_is_a_committee_of_one():
    one = structron.Tagger(runs=1, passes=3, order=1, cutoff=0).fit(ROWS)
    committee = Committee(one.learner_.fresh_copy(), 1)
    for k in range(3):
        learn_passes(committee, [pass_order(Schedule(), k + 1, 3).tolist()])
    assert learned(committee) == weights_of(one.model_)


@pytest.mark.parametrize("order", [1, 2])
def test_going_on_starts_from_the_mean(order):
    templates = ["w[0]", "pos[0]", "pos[0]&y"]
    labeler = structron.Tagger(runs=3, passes=2, order=order, cutoff=0, templates=templates).fit(ROWS)
    start = weights_of(labeler.model_)
    more = [[("e", "N", "W"), ("a", "N", "X")], [("a", "V", "W")]]
    labeler.partial_fit(more)
    labels = ["X", "Y", "Z", "W"]
    examples = [brute.make_example(templates, ["word", "pos", "label"], rows) for rows in more]
    passes = [pass_order(Schedule(), k + 1, 6).tolist() for k in range(2)]
    naive = [
        brute.perceptron(examples, labels, order, [order_of_member(p, m, 2) for p in passes], start=start)
        for m in range(3)
    ]
    assert labeler.model_.labels == labels
    assert_same_weights(weights_of(labeler.model_), mean_of([run.mean() for run in naive]), tolerance=1e-5)


def test_votes_are_those_of_one_run():
    several, one = (structron.Tagger(runs=k, average="voted", passes=2, cutoff=0).fit(ROWS) for k in (3, 1))
    assert several.model_.votes.count.tolist() == one.model_.votes.count.tolist()
    assert weights_of(several.model_) == weights_of(one.model_)
