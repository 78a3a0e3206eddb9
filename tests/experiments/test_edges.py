"""The conditional random field with edge features, against all labellings written out."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from structron.experiments.kazama2007 import edges
from structron.experiments.kazama2007.corpora import EntityCorpus, gold_of
from structron.experiments.kazama2007.edges import EdgeCrf, EdgeCrfModel
from structron.text.sentences import Document, sentences_of

LABELS = ["B-LOC", "B-PER", "O"]


def documents(rng: np.random.Generator, sizes: list[list[int]]) -> list[Document]:
    words = ["Ann", "Rome", "of", "is", "Bo"]
    return [
        Document([[[str(rng.choice(words)), str(rng.choice(LABELS))] for _ in range(n)] for n in own]) for own in sizes
    ]


@pytest.fixture(scope="module")
def crf() -> EdgeCrf:
    rng = np.random.default_rng(5)
    train = documents(rng, [[3, 1, 4], [2], [4, 3]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges, "templates_of", lambda columns: ["w[0]", "w[-1]", "w[0]&y", "w[1]&y"])
        return EdgeCrf(EntityCorpus("toy", ("word", "label"), train, train[:1], documents(rng, [[1, 4, 2, 3]])))


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr(edges, "TOGETHER", 8)


def score(crf: EdgeCrf, w: np.ndarray, rows: list, labels: tuple[int, ...]) -> float:
    """Label by label, pair by pair."""
    own, pairs, bare = crf.split(w)
    node, edge = (features.matrix([rows]).toarray() for features in (crf.nodes, crf.edges))
    total, before = 0.0, None
    for t, y in enumerate(labels):
        total += node[t] @ own[:, y] + bare[0 if before is None else before + 1, y]
        if before is not None:
            total += edge[t] @ pairs[:, before * len(crf.labels) + y]
        before = y
    return total


def test_likelihood_and_best_labels_are_those_of_all_labellings(crf):
    rng, expected = np.random.default_rng(1), 0.0
    w = rng.normal(size=crf.size)
    starts, gold = crf.starts.tolist(), crf.gold.tolist()
    rows = [[[word, "O"] for word in ["Ann", "of", "Rome", "is"][:n]] for n in (1, 2, 3, 4)]
    train = [documents(np.random.default_rng(5), [[3, 1, 4], [2], [4, 3]])]
    for k, sentence in enumerate(sentences_of(train[0])):
        every = [score(crf, w, sentence, labels) for labels in product(range(3), repeat=len(sentence))]
        expected += score(crf, w, sentence, tuple(gold[starts[k] : starts[k + 1]])) - logsumexp(every)
    assert crf.likelihood(w)[0] == pytest.approx(expected)
    (found,) = EdgeCrfModel(crf, w).predict([Document(rows)])
    for sentence, labels in zip(rows, found, strict=True):
        best = max(product(range(3), repeat=len(sentence)), key=lambda own: score(crf, w, sentence, own))
        assert labels == [crf.labels[y] for y in best]


def test_the_gradient_is_that_of_finite_differences(crf):
    rng, step = np.random.default_rng(2), 1e-5
    w = rng.normal(size=crf.size)
    gradient = crf.likelihood(w)[1]
    for k in range(len(crf.shapes)):
        direction = np.concatenate([(rng.normal(size=shape) * (j == k)).ravel() for j, shape in enumerate(crf.shapes)])
        up, down = (crf.likelihood(w + sign * step * direction)[0] for sign in (1, -1))
        assert gradient @ direction == pytest.approx((up - down) / (2 * step), rel=1e-6)


def test_training_ends_where_the_gradient_is_the_prior(crf):
    model = crf.train(2.0, 200)
    value, gradient = crf.likelihood(model.w)
    assert np.abs(gradient - model.w / 2.0).max() < 1e-2
    assert value > crf.likelihood(np.zeros(crf.size))[0]
    assert set(gold_of(documents(np.random.default_rng(5), [[3]]))[0]) <= set(crf.labels)
