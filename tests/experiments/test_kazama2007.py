"""The experiment of Kazama & Torisawa (2007): its corpora, its search for C, its re-rankers, its tables."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import brute
from helpers import assert_same_weights, learned
from structron import Chunker, Document
from structron.data.toy_english import write_conll
from structron.errors import StructronError
from structron.evaluate import chunk_scores
from structron.experiments import kazama2007
from structron.experiments.frame import SPLITS, Report
from structron.experiments.kazama2007 import models, rerank, tables
from structron.experiments.kazama2007.corpora import Corpus, gold_of, present, templates_of
from structron.experiments.kazama2007.models import (
    MARGIN,
    NO_BPM,
    PROPOSED,
    RERANKING_1,
    RERANKING_2,
    SAME_C,
    Crf,
    Trial,
    tune,
)
from structron.experiments.kazama2007.rerank import Reranker, Reranking, Shortlist
from structron.schemes import convert, detect
from structron.sentences import sentences_of

DUTCH = "conll2002-dutch"
DOCUMENTS = 15


@pytest.fixture(scope="session")
def conll2003(toys, tmp_path_factory) -> Path:
    """The same text under the names and in the scheme of CoNLL-2003."""
    folder = tmp_path_factory.mktemp("conll2003")
    for name, part in zip(("eng.train", "eng.testa", "eng.testb"), toys.values(), strict=True):
        write_conll(folder / name, part, ("word", "pos", "chunk", "entity"))
        lines = []
        for block in (folder / name).read_text(encoding="utf-8").split("\n\n"):
            rows = [line.split(" ") for line in block.splitlines()]
            labels = convert([row[-1] for row in rows], "iob2", "iob1")
            lines.append("\n".join(" ".join([*row[:-1], label]) for row, label in zip(rows, labels, strict=True)))
        (folder / name).write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def corpus(toy_data) -> Corpus:
    return Corpus.load(toy_data, DUTCH, DOCUMENTS)


# -- corpora -------------------------------------------------------------------------------------------------------


def test_corpora_are_documents_of_the_columns_that_count(toy_data, toys):
    assert present(toy_data) == [DUTCH, "uner-english-ewt"]
    train = toys["train"]
    for name, width in ((DUTCH, 3), ("uner-english-ewt", 2)):
        corpus = Corpus.load(toy_data, name)
        assert gold_of(corpus.train) == [sentence.entities for sentence in train]
        assert [[row[0] for row in line] for line in sentences_of(corpus.train)] == [s.words for s in train]
        assert {len(row) for line in sentences_of(corpus.dev) for row in line} == {width} == {len(corpus.columns)}
        assert len(corpus.train) == sum(sentence.new_document for sentence in train)
        assert all(isinstance(document, Document) for document in corpus.test)
        assert corpus.counts()["train"]["sentences"] == len(train)
        assert len(Corpus.load(toy_data, name, 1).dev) == 1


@pytest.mark.parametrize("inside", [False, True], ids=["folder", "subfolder"])
def test_conll2003_is_found_and_made_iob2(conll2003, toys, tmp_path, inside):
    folder = conll2003
    if inside:
        (tmp_path / "conll2003").symlink_to(conll2003)
        folder = tmp_path
    assert present(folder) == ["conll2003"]
    corpus = Corpus.load(folder, "conll2003")
    raw = [line.split()[-1] for line in (conll2003 / "eng.train").read_text().splitlines() if line.strip()]
    assert detect([raw]) == "iob1"
    assert gold_of(corpus.train) == [sentence.entities for sentence in toys["train"]]
    assert corpus.columns == ("word", "pos", "chunk", "label")


@pytest.mark.parametrize(
    ("text", "said"),
    [("a N X\nb V Y\n\n", "the labels are not entities"), ("a O\n\n", "2 columns; expected at least 3")],
)
def test_other_files_are_refused(text, said, tmp_path):
    (tmp_path / DUTCH).mkdir()
    for split in SPLITS:
        (tmp_path / DUTCH / f"{split}.conll").write_text(text)
    with pytest.raises(StructronError, match=said):
        Corpus.load(tmp_path, DUTCH)


def test_features_follow_the_columns():
    words, tags, chunks = (
        templates_of(c) for c in (("word", "label"), ("word", "pos", "label"), ("word", "pos", "chunk"))
    )
    assert set(words) < set(tags) < set(chunks)
    assert {text.replace("chunk[", "pos[") for text in chunks} == set(tags)
    assert not any("pos" in text for text in words)
    assert len(chunks) - len(tags) == len(tags) - len(words)


# -- C -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peak", "values", "refine", "found"),
    [(peak, (500, 2000, 5657, 16000), True, peak) for peak in (5657, 32000, 1414, 500)]
    + [(130, (500, 2000), True, 125), (1, (500, 2000), True, 31.25), (None, (2000, 500), False, 500)],
)
def test_the_best_c_is_found_between_and_below_the_first_values(peak, values, refine, found):
    """The smaller of equal C wins (no peak), and nothing is refined unasked."""
    asked = []

    def at(c: float) -> Trial:
        asked.append(c)
        return Trial(MARGIN, c, -abs(np.log(c / peak)) if peak else 50.0, 10.0, 3)

    assert tune(values, at, refine).c == found
    assert len(asked) == len(set(asked)) < len(models.GRID)
    assert refine or asked == list(values)


# -- re-ranking ----------------------------------------------------------------------------------------------------


def test_folds_cover_everything_once():
    documents = [Document([["a"]] * k) for k in (3, 1, 2, 5, 4, 1, 2)]
    found = rerank.folds(documents, 5)
    assert [part for _, parts, _ in found for part in parts] == documents
    assert [first for *_, first in found] == [0, 3, 6, 11, 16]
    assert all(len(rest) + len(part) == len(documents) for rest, part, _ in found)


def shortlist(labels: list[list[int]], scores: list[float], vectors: list[list[float]], wrong: list[int]) -> Shortlist:
    """Candidates of one sentence."""
    return Shortlist(np.array(labels, np.int16), np.array(scores), np.array(vectors, float), np.array(wrong), (0, 1))


def test_updates_by_hand():
    """C = 1: the best of the worse candidates is pushed away until the least wrong one is ahead by more than 1."""
    rows = [[0, 1], [1, 1], [0, 0]]
    one = shortlist(rows, [4.0, 2.0, 0.0], [[1, 0, 0], [0, 2, 0], [0, 0, 1]], [2, 3, 1])
    model = Reranker(1.0, scale=4.0)
    model.learn([one], 1)
    # scores all 0: the first candidate is the best of the worse ones: w = Φ(third) - Φ(first), score last: (0 - 4) / 4
    assert model.whole.tolist() == [-1.0, 0.0, 1.0, -1.0]
    assert model.scores(one) == pytest.approx([-1.0, 0.5, 2.0])
    assert model.best(one) == 2
    assert model.best(one, 2) == 1
    assert model.best(one, 1) == 0
    model.learn([one], 50)
    scores = model.scores(one)
    assert scores[2] - max(scores[:2]) > 1
    assert model.passes < 50


def test_equally_good_candidates_are_no_rivals():
    one = shortlist([[0, 1], [1, 0], [0, 0]], [2.0, 1.0, 0.0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [2, 1, 1])
    model = Reranker(0.0)
    model.learn([one], 20)
    assert model.whole.tolist() == [-1.0, 1.0, 0.0]
    assert model.best(one) == 1
    assert model.passes == 2


def test_scale_is_the_spread_of_the_middle_list():
    given = [shortlist([[0], [1]], [9.0, 9.0 - gap], [[]] * 2, [0, 1]) for gap in (1.0, 3.0, 100.0)]
    assert rerank.score_scale(given) == 3.0
    assert rerank.score_scale([shortlist([[0]], [1.0], [[]], [0])]) > 0


def test_local_features_are_those_of_whole_labellings(corpus):
    """Scores, and the weights after updates, against whole feature vectors; also of documents that are looked at."""
    documents, columns, templates = corpus.train[:3], corpus.columns, ["w[0]", "pos[-1]&y"]
    chunker = Chunker(order=1, runs=1, passes=1, average="none", templates=templates, columns=columns).fit(documents)
    learner, rng, lists, first = chunker.learner_.twin(), np.random.default_rng(5), [], 0
    for document in documents:
        rows = rng.integers(0, len(learner.labels), (4, sum(map(len, document)))).astype(np.int16)
        places, first = (first, first + len(document)), first + len(document)
        lists.append(Shortlist(rows, np.zeros(4), np.zeros((4, 0)), np.zeros(4), places))

    def vector(document: Document, row: np.ndarray) -> Counter:
        found, labels = Counter(), iter([learner.labels[y] for y in row])
        for sentence in document:
            x = brute.make_example(templates, columns, sentence)
            found.update(brute.phi(x, [next(labels) for _ in sentence], 1))
        return found

    model, weights = Reranker(0.0, learner=learner), Counter()
    for right, wrong in ((3, 0), (3, 1), (2, 3)):
        for one, document in zip(lists, documents, strict=True):
            vectors = [vector(document, row) for row in one.labels]
            slow = np.array([brute.dot(weights, own) for own in vectors])
            assert model.scores(one) == pytest.approx(slow - slow[0])
            model.add(one, right, wrong)
            weights.update(vectors[right])
            weights.subtract(vectors[wrong])
    assert_same_weights(learned(learner), brute.clean(weights))
    local = model.look(chunker.extractor_.prepare(documents))
    assert all(model.scores(one, 3, local) == pytest.approx(model.scores(one)[:3]) for one in lists)


def test_non_local_features_tell_labellings_apart(corpus):
    labels = corpus.labels()
    document = Document(
        [[["Lincoln", "NNP", "O"], ["left", "VBD", "O"]], [["Lincoln", "NNP", "O"], ["rose", "VBD", "O"]]]
    )
    person, place, none = (labels.index(label) for label in ("B-PER", "B-LOC", "O"))
    rows = np.array([[person, none, person, none], [person, none, place, none], [none] * 4], np.int16)
    same_class, other_class, nothing = rerank.non_local_vectors(corpus)(document, rows)
    assert not nothing.any()
    assert same_class.any()
    assert other_class.any()
    assert (same_class != other_class).any()


class Provider:
    """Candidates made of the gold labels: the right labelling is second; scores fall by 1."""

    def nbest(self, documents, n):
        (document,) = documents
        gold = gold_of([document])
        places = [(s, i) for s, line in enumerate(gold) for i in range(len(line))]
        found = []
        for place in [places[0], None, *places[1 : n - 1]]:
            labels = [list(line) for line in gold]
            if place:
                s, i = place
                labels[s][i] = "B-PER" if labels[s][i] == "O" else "O"
            found.append((labels, -float(len(found))))
        return [found[:n]]


def count_changes(labels: list[str]):
    """A non-local feature that tells all: how many labels are wrong. It counts more than any local feature."""

    def vectors(document: Document, rows: np.ndarray) -> np.ndarray:
        gold = [labels.index(label) for line in gold_of([document]) for label in line]
        return 100.0 * (rows != gold).sum(1)[:, None]

    return vectors


def test_lists_hold_candidates_and_their_mistakes(corpus):
    labels = corpus.labels()
    found = rerank.make_shortlists(Provider(), corpus.train[:2], 5, labels, count_changes(labels), first=10)
    lengths = [len(document) for document in corpus.train[:2]]
    assert [one.sentences for one in found] == [(10, 10 + lengths[0]), (10 + lengths[0], 10 + sum(lengths))]
    assert found[0].labels.shape == (5, sum(map(len, corpus.train[0])))
    assert found[0].wrong.tolist() == [1, 0, 1, 1, 1]
    assert found[0].scores.tolist() == [0.0, -1.0, -2.0, -3.0, -4.0]
    assert found[0].vectors[:, 0].tolist() == [100, 0, 100, 100, 100]


@pytest.mark.parametrize("kind", [RERANKING_1, RERANKING_2])
def test_second_models_find_what_tells_all(corpus, kind):
    """From folds to F1: the first model's favourite is always wrong, a non-local feature knows it."""
    trained = []

    def make_first(documents):
        trained.append(len(documents))
        return Provider()

    found = Reranking(corpus, Provider(), make_first, count_changes(corpus.labels()), n_test=6)
    assert len(trained) == models.FOLDS
    assert len(found.train) == len(corpus.train)
    assert found.oracle("dev", 6) == 100.0 > found.oracle("dev", 1)
    trial = found.second(kind, 1.0, 20, 6)
    assert trial.dev == 100.0 == found.score(trial.model, "test", 6)
    assert found.score(trial.model, "dev", 1) == found.oracle("dev", 1)
    assert (trial.method, trial.n) == (kind, 6)


# -- the CRF -------------------------------------------------------------------------------------------------------


def test_crf_has_the_node_features_and_labels_documents(corpus):
    pytest.importorskip("pycrfsuite")
    crf = Crf(corpus)
    tokens = crf.tokens(corpus.train)
    assert [len(sentence) for sentence in tokens] == [len(sentence) for sentence in sentences_of(corpus.train)]
    counts: dict = {}
    for name in (name for sentence in tokens for token in sentence for name in token):
        counts[name] = counts.get(name, 0) + 1
    assert min(counts.values()) == 2
    assert len(counts) == len(crf.names)
    model, again = crf.train(0.05, 30), crf.train(500.0, 30)  # the same trainer with another penalty
    assert model.score(corpus.train) == chunk_scores(gold_of(corpus.train), model.predict(corpus.train)).f1 > 90
    assert again.score(corpus.train) < model.score(corpus.train)


# -- tables --------------------------------------------------------------------------------------------------------


def made_results(name: str = "toy", proposed: float = 80.0) -> dict:
    def trial(method: str, test: float, seconds: float = 10.0, c: float | None = 500.0) -> dict:
        return Trial(method, c, test + 1, seconds, 3, test=test, pass_seconds=1.0).as_dict()

    chosen = {method: trial(method, 70.0 + k) for k, method in enumerate(tables.ROWS)}
    chosen[PROPOSED] = trial(PROPOSED, proposed, c=1000.0)
    chosen[SAME_C(PROPOSED)] = trial(PROPOSED, 79.0, 25.0)
    chosen |= {NO_BPM(method): trial(method, 60.0) for method in (MARGIN, PROPOSED)}
    chosen |= {kind: trial(kind, 77.0, 3.0) for kind in (RERANKING_1, RERANKING_2)}
    chosen[SAME_C(RERANKING_2)] = trial(RERANKING_2, 76.0, 5.0)
    return {
        "corpus": name,
        "sizes": {split: {"documents": 9, "sentences": 90, "words": 900} for split in SPLITS},
        "chosen": chosen,
        "trials": list(chosen.values()),
        "table3": {str(n): {"dev": 81.0, "test": 80.0, "seconds": 1.5} for n in (20, 100, 6400)},
        "reranking": {"first_seconds": 40.0, "large": [78.0, 77.5], "oracle": {1: 75.0, 100: 90.0, 800: 93.0}},
    }


def test_targets_tell_what_was_measured():
    """The times of re-ranking count all its models."""
    found = {method: seconds for method, (_, seconds) in tables.timed_trials(made_results()).items()}
    assert found == {MARGIN: 10.0, RERANKING_1: 53.0, RERANKING_2: 55.0, PROPOSED: 25.0}
    report = Report()
    tables.targets([made_results("a"), made_results("b", 72.0)], report)
    met = {target["target"]: target["met"] for target in report.targets}
    assert met["a: candidate algorithm below the proposed one, test F1"]
    assert not met["b: candidate algorithm below the proposed one, test F1"]
    assert met["a: margin perceptron (C = 500) ahead of the averaged one, test F1"]
    assert met["a: proposed algorithm's training at most 3 times the margin perceptron's"]
    last = report.targets[-1]
    assert last["met"]
    assert last["measured"] == "a +7.00, b -1.00"


def test_paper_is_consistent():
    table2, table3, table7 = (tables.PAPER[name]["figures"] for name in ("table2", "table3", "table7"))
    assert table3["100"] == table2[PROPOSED][1:]
    assert list(models.GRID) == sorted(models.GRID)
    assert list(kazama2007.FULL.test_candidates) == [int(n) for n in table3]
    assert all(f"{row[2] / table7[MARGIN][2]:.2f}" == row[3] for row in table7.values())


# -- the whole -----------------------------------------------------------------------------------------------------


def test_every_corpus_is_worked_through(run):
    found = run("kazama2007")
    assert list(found.results["corpora"]) == [DUTCH, "uner-english-ewt"]
    for corpus, own in found.results["corpora"].items():
        assert (found.folder / f"{corpus}.json").is_file()
        assert own["done"]
        assert all(trial["test"] is not None for trial in own["chosen"].values())
        assert list(own["table3"]) == ["20", "100"]
        best = max(t["dev"] for t in own["trials"] if (t["method"], t["bpm"]) == (MARGIN, 2))
        assert own["chosen"][MARGIN]["dev"] == best
