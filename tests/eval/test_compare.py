"""Two models side by side, and the paired bootstrap against one that draws sentence by sentence."""

import json

import numpy as np
import pytest

import structron
from structron import Chunker, EntityRecognizer, GraphParser, Parser, StructronError, Tagger
from structron.eval.bootstrap import count, paired_bootstrap, score_of
from structron.eval.scores import chunk_scores
from toy import chunk_rows, entity_documents, toy_docs, tree_rows


def slow_bootstrap(a: np.ndarray, b: np.ndarray, samples: int, rng: np.random.Generator) -> float:
    """Draw test sets one by one, and count as the definition says."""
    found = score_of(b.sum(axis=0)) - score_of(a.sum(axis=0))
    far = 1
    for _ in range(samples):
        drawn = rng.integers(0, len(a), len(a))
        difference = score_of(b[drawn].sum(axis=0)) - score_of(a[drawn].sum(axis=0))
        far += abs(difference - found) >= abs(found) - 1e-9
    return far / (samples + 1)


def test_the_bootstrap_is_that_of_its_definition():
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.05, 0.2):
        tokens = rng.integers(5, 30, 80)
        a = np.stack([rng.binomial(tokens, 0.7), tokens], axis=1)
        b = np.stack([rng.binomial(tokens, 0.7 + shift), tokens], axis=1)
        assert paired_bootstrap(a, b) == pytest.approx(slow_bootstrap(a, b, 4000, rng), abs=0.03)


def test_equal_models_do_not_differ_and_the_order_does_not_matter():
    rng = np.random.default_rng(4)
    a = np.stack([rng.integers(0, 9, 50), rng.integers(9, 12, 50), rng.integers(9, 12, 50)], axis=1)
    b = a + [1, 0, 0]
    assert paired_bootstrap(a, a) == 1.0
    assert paired_bootstrap(a, b) == paired_bootstrap(b, a) == 1 / 10_001
    assert paired_bootstrap(a, b, samples=99) == 0.01


def test_an_honest_test_finds_one_difference_in_twenty():
    """Of pairs of models that are alike, about one in twenty has p ≤ 0.05."""
    rng = np.random.default_rng(5)
    low = 0
    for _ in range(100):
        tokens = np.full(60, 20)
        a, b = (np.stack([rng.binomial(tokens, 0.8), tokens], axis=1) for _ in range(2))
        low += paired_bootstrap(a, b, samples=500) <= 0.05
    assert 1 <= low <= 12


def test_two_chunkers():
    test = chunk_rows(60, 2)
    good, bad = (Chunker(runs=1, passes=2).fit(chunk_rows(n, 1)) for n in (120, 8))
    found = structron.compare(bad, good, test, names=["bad", "good"])
    guesses = [model.predict(test) for model in (bad, good)]
    gold = [[row[2] for row in sentence] for sentence in test]
    assert [own["f1"] for own in found.scores] == [chunk_scores(gold, guess).f1 for guess in guesses]
    assert found.difference == found.scores[1]["f1"] - found.scores[0]["f1"] > 0
    assert found.p < 0.05
    both = enumerate(zip(*guesses, strict=True), 1)
    assert [d.number for d in found.differences] == [k for k, (a, b) in both if a != b]
    first = found.differences[0]
    place = first.number - 1
    assert (first.gold, first.a, first.b) == (gold[place], guesses[0][place], guesses[1][place])
    assert first.sentence == [row[0] for row in test[place]]
    assert json.loads(json.dumps(found.to_json()))["n"] == 60
    assert f"p = {found.p:.4f}" in found.report()
    counts = np.array([count(chunk_scores([g], [p]), "f1") for g, p in zip(gold, guesses[1], strict=True)])
    assert score_of(counts.sum(axis=0)) == pytest.approx(found.scores[1]["f1"])


def test_a_model_and_itself():
    model = Tagger(columns=["word", "pos"], runs=1, passes=1).fit(
        [[(w, p) for w, p, _ in s] for s in chunk_rows(20, 1)]
    )
    rows = [[(w, p) for w, p, _ in s] for s in chunk_rows(10, 2)]
    found = structron.compare(model, model, rows)
    assert (found.p, found.difference, found.differences) == (1.0, 0.0, [])


def test_parsers_of_two_kinds_are_compared_by_las():
    rows = tree_rows(40, 1)
    a = Parser(passes=1, columns=["word", "pos", "head", "deprel"]).fit(rows)
    b = GraphParser(passes=1, order=1, bits=16, runs=1, columns=["word", "pos", "head", "deprel"]).fit(rows)
    found = structron.compare(a, b, rows[:20])
    assert found.metric == "las"
    assert 0 < found.p <= 1
    assert found.scores[0]["las"] == a.score(rows[:20])


def test_documents_and_pipelines():
    documents = entity_documents(30, 1)
    a, b = (EntityRecognizer(passes=n).fit(documents) for n in (1, 2))
    found = structron.compare(a, b, documents)
    assert found.n == sum(map(len, documents))
    docs = toy_docs(12, 1)
    nlp = structron.Pipeline(folds=2, without=["morphology", "lemmatizer", "entities", "parser", "splitter"]).fit(docs)
    same = structron.compare(nlp, nlp, docs)
    assert (same.p, same.n) == (1.0, sum(len(doc.sentences) for doc in docs))
    assert same.scores[0]["upos"] == nlp.evaluate(docs, gold="tokens").upos


def test_what_cannot_be_compared_is_refused():
    rows = chunk_rows(20, 1)
    chunker = Chunker(runs=1, passes=1).fit(rows)
    tagger = Tagger(columns=["word", "pos"], runs=1, passes=1).fit([[(w, p) for w, p, _ in s] for s in rows])
    with pytest.raises(StructronError, match="a chunker and a tagger"):
        structron.compare(chunker, tagger, rows)
    with pytest.raises(StructronError, match="no sentences"):
        structron.compare(chunker, chunker, [])
    with pytest.raises(StructronError, match="different sentences"):
        structron.compare(chunker, chunker, rows, other=rows[1:])
    with pytest.raises(StructronError, match="a tokenizer reads plain text; expected pipelines"):
        structron.compare(structron.Tokenizer(), structron.Tokenizer(), toy_docs(4, 1))
