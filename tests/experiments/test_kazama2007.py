"""The experiment of Kazama & Torisawa (2007): its corpora, its search for C, its re-rankers, its tables."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from structron.data.toy_english import toy_english, write_conll
from structron.errors import StructronError
from structron.experiments import kazama2007
from structron.experiments.frame import SPLITS, Report
from structron.experiments.kazama2007 import lists, paper, tables
from structron.experiments.kazama2007.corpora import Corpus, gold_of, present, templates_of
from structron.experiments.kazama2007.crf import Crf, LocalFeatures
from structron.experiments.kazama2007.models import Trial, f1, tune
from structron.experiments.kazama2007.paper import MARGIN, NO_BPM, PROPOSED, RERANKING_1, RERANKING_2, SAME_C
from structron.experiments.kazama2007.rerank import Reranker, Shortlist
from structron.experiments.kazama2007.study import Scale
from structron.schemes import convert, detect
from structron.sentences import Document, sentences_of

SIZES = (60, 30, 30)
TINY = Scale(
    documents=None,
    passes=3,
    bpm=2,
    margins=(10, 100),
    candidate_margins=(10,),
    variances=(10,),
    iterations=10,
    test_candidates=(20, 100),
    second_margins=(1, 100),
    second_passes=5,
    refine=False,
    processes=1,
)


def parts() -> list:
    sentences = toy_english(sum(SIZES), 8)
    return [sentences[:60], sentences[60:90], sentences[90:]]


@pytest.fixture(scope="module")
def toy_corpora(tmp_path_factory) -> Path:
    """Toy English where the experiment looks for its corpora, in their formats."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("conll2002-dutch", "uner-english-ewt"):
        (folder / name).mkdir()
    for split, part in zip(SPLITS, parts(), strict=True):
        write_conll(folder / "conll2002-dutch" / f"{split}.conll", part, ("word", "pos", "entity"))
        with gzip.open(folder / "uner-english-ewt" / f"{split}.conll.gz", "wt", encoding="utf-8") as file:
            for number, sentence in enumerate(part):
                file.write("# newdoc id = d\n" * sentence.new_document + f"# sent_id = {number}\n")
                for i, (word, label) in enumerate(zip(sentence.words, sentence.entities, strict=True), 1):
                    file.write(f"{i}\t{word}\t{label}\t-\tme\n")
                file.write("\n")
    return folder


@pytest.fixture(scope="module")
def conll2003(tmp_path_factory) -> Path:
    """The same text under the names and in the scheme of CoNLL-2003."""
    folder = tmp_path_factory.mktemp("conll2003")
    for name, part in zip(("eng.train", "eng.testa", "eng.testb"), parts(), strict=True):
        write_conll(folder / name, part, ("word", "pos", "chunk", "entity"))
        lines = []
        for block in (folder / name).read_text(encoding="utf-8").split("\n\n"):
            rows = [line.split(" ") for line in block.splitlines()]
            labels = convert([row[-1] for row in rows], "iob2", "iob1")
            lines.append("\n".join(" ".join([*row[:-1], label]) for row, label in zip(rows, labels, strict=True)))
        (folder / name).write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return folder


# -- corpora -------------------------------------------------------------------------------------------------------


def test_corpora_are_documents_of_the_columns_that_count(toy_corpora):
    assert present(toy_corpora) == ["conll2002-dutch", "uner-english-ewt"]
    train = parts()[0]
    for name, width in (("conll2002-dutch", 3), ("uner-english-ewt", 2)):
        corpus = Corpus.load(toy_corpora, name)
        assert gold_of(corpus.train) == [sentence.entities for sentence in train]
        assert [[row[0] for row in line] for line in sentences_of(corpus.train)] == [s.words for s in train]
        assert {len(row) for line in sentences_of(corpus.dev) for row in line} == {width} == {len(corpus.columns)}
        assert len(corpus.train) == max(1, sum(sentence.new_document for sentence in train))
        assert all(isinstance(document, Document) for document in corpus.test)
        assert corpus.counts()["train"]["sentences"] == len(train)
        assert len(Corpus.load(toy_corpora, name, 1).dev) == 1


@pytest.mark.parametrize("inside", [False, True], ids=["folder", "subfolder"])
def test_conll2003_is_found_and_made_iob2(conll2003, tmp_path, inside):
    folder = conll2003
    if inside:
        (tmp_path / "conll2003").symlink_to(conll2003)
        folder = tmp_path
    assert present(folder) == ["conll2003"]
    raw = [line.split()[-1] for line in (conll2003 / "eng.train").read_text().splitlines() if line.strip()]
    assert detect([raw]) == "iob1"
    corpus = Corpus.load(folder, "conll2003")
    assert gold_of(corpus.train) == [sentence.entities for sentence in parts()[0]]
    assert corpus.columns == ("word", "pos", "chunk", "label")


def test_labels_must_be_entities(tmp_path):
    (tmp_path / "conll2002-dutch").mkdir()
    for split in SPLITS:
        (tmp_path / "conll2002-dutch" / f"{split}.conll").write_text("a N X\nb V Y\n\n")
    with pytest.raises(StructronError, match="the labels are not entities"):
        Corpus.load(tmp_path, "conll2002-dutch")
    for split in SPLITS:
        (tmp_path / "conll2002-dutch" / f"{split}.conll").write_text("a O\n\n")
    with pytest.raises(StructronError, match="2 columns; expected at least 3"):
        Corpus.load(tmp_path, "conll2002-dutch")


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
    assert len(asked) == len(set(asked)) < len(paper.GRID)
    assert refine or asked == list(values)


# -- re-ranking ----------------------------------------------------------------------------------------------------


def test_folds_cover_everything_once():
    documents = [Document([["a"] * k]) for k in (3, 1, 2, 5, 4, 1, 2)]
    found = lists.folds(documents, 5)
    assert [part for _, parts_, _ in found for part in parts_] == documents
    for rest, part, place in found:
        assert len(rest) + len(part) == len(documents)
        before = documents[: next(k for k, d in enumerate(documents) if d is part[0])]
        assert place == sum(len(line) for document in before for line in document)


def shortlist(labels: list[list[int]], scores: list[float], vectors: list[list[float]], wrong: list[int]) -> Shortlist:
    """Candidates of one sentence."""
    first = np.arange(len(labels[0])) == 0
    given = (np.array(scores), np.array(vectors, float), np.array(wrong))
    return Shortlist(np.array(labels, np.int16), *given, first, 0)


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
    assert lists.score_scale(given) == 3.0
    assert lists.score_scale([shortlist([[0]], [1.0], [[]], [0])]) > 0


@pytest.fixture(scope="module")
def corpus(toy_corpora) -> Corpus:
    return Corpus.load(toy_corpora, "conll2002-dutch")


def phi(matrices: list, place: int, first: list[bool], y: list[int]) -> dict:
    """Node and edge features of a labelling, token by token: what lists leave out is in it too."""
    found: dict = {}
    for i, label in enumerate(y):
        before = 0 if first[i] else y[i - 1] + 1
        node, edge = (matrix[place + i].indices.tolist() for matrix in matrices)
        keys = [("bigram", before, label)] + [("node", k, label) for k in node]
        for key in keys + [("edge", k, before, label) for k in edge]:
            found[key] = found.get(key, 0) + 1
    return found


def test_local_features_are_those_of_whole_labellings(corpus):
    """Differences of scores, and the weights after updates, against whole feature vectors in plain dicts."""
    rng = np.random.default_rng(5)
    reranking = lists.Reranking.__new__(lists.Reranking)
    reranking.corpus, reranking.labels, reranking.train = corpus, ["a", "b", "c"], []
    place = 0
    for document in corpus.train[:3]:
        size = sum(map(len, document))
        rows = np.stack([rng.integers(0, 3, size)] * 4)
        for row in rows[1:]:
            row[rng.integers(0, size, 3)] = rng.integers(0, 3, 3)
        rows[1, 0] = (rows[0, 0] + 1) % 3
        first = np.array([i == 0 for sentence in document for i in range(len(sentence))])
        rest = (np.zeros(4), np.zeros((4, 0)), np.zeros(4), first, place)
        reranking.train.append(Shortlist(rows.astype(np.int16), *rest))
        place += size
    matrices = [features.train for features, _ in reranking.features]
    reranking.add_local(reranking.train)
    model = Reranker(0.0, shapes=reranking.shapes())
    weights: dict = {}
    for right, wrong in ((3, 0), (3, 1), (2, 3)):
        for one in reranking.train:
            vectors = [phi(matrices, one.place, one.first.tolist(), row.tolist()) for row in one.labels]
            slow = np.array([sum(weights.get(key, 0) * value for key, value in v.items()) for v in vectors])
            fast = model.scores(one)
            assert fast - fast[0] == pytest.approx(slow - slow[0])
            model.add(one, right, wrong)
            for sign, vector in ((1, vectors[right]), (-1, vectors[wrong])):
                for key, value in vector.items():
                    weights[key] = weights.get(key, 0) + sign * value
    for kind, learned in zip(("node", "edge", "bigram"), model.local, strict=True):
        assert np.abs(learned).sum() == sum(abs(value) for key, value in weights.items() if key[0] == kind) > 0


def test_non_local_features_tell_labellings_apart(corpus):
    labels = corpus.labels()
    document = Document(
        [[["Lincoln", "NNP", "O"], ["left", "VBD", "O"]], [["Lincoln", "NNP", "O"], ["rose", "VBD", "O"]]]
    )
    person, place, none = (labels.index(label) for label in ("B-PER", "B-LOC", "O"))
    rows = np.array([[person, none, person, none], [person, none, place, none], [none] * 4], np.int16)
    same_class, other_class, nothing = lists.non_local_vectors(corpus)(document, rows)
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
    found = lists.make_shortlists(Provider(), corpus.train[:2], 5, labels, count_changes(labels), place=10)
    size = sum(map(len, corpus.train[0]))
    assert [one.place for one in found] == [10, 10 + size]
    assert found[0].labels.shape == (5, size)
    assert found[0].wrong.tolist() == [1, 0, 1, 1, 1]
    assert found[0].scores.tolist() == [0.0, -1.0, -2.0, -3.0, -4.0]
    assert found[0].vectors[:, 0].tolist() == [100, 0, 100, 100, 100]
    assert set(found[0].active()) <= {0, 1, 2, 3, 4}


@pytest.mark.parametrize("kind", [RERANKING_1, RERANKING_2])
def test_second_models_find_what_tells_all(corpus, kind):
    """From folds to F1: the first model's favourite is always wrong, a non-local feature knows it."""
    trained = []

    def make_first(documents):
        trained.append(len(documents))
        return Provider()

    found = lists.Reranking(corpus, Provider(), make_first, count_changes(corpus.labels()), n_test=6)
    assert len(trained) == paper.FOLDS
    assert len(found.train) == len(corpus.train)
    assert found.oracle("dev", 6) == 100.0 > found.oracle("dev", 1)
    trial = found.second(kind, 1.0, 20, 6)
    assert trial.dev == 100.0 == found.score(trial.model, "test", 6)
    assert found.score(trial.model, "dev", 1) == found.oracle("dev", 1)
    assert (trial.method, trial.n) == (kind, 6)


# -- the CRF -------------------------------------------------------------------------------------------------------


def test_crf_has_the_node_features_and_labels_documents(corpus):
    pytest.importorskip("pycrfsuite")
    features = LocalFeatures(corpus)
    crf = Crf(corpus, features)
    tokens = crf.tokens(features.train, corpus.train)
    assert [len(sentence) for sentence in tokens] == [len(sentence) for sentence in sentences_of(corpus.train)]
    counts: dict = {}
    for sentence in tokens:
        for token in sentence:
            for name in token:
                counts[name] = counts.get(name, 0) + 1
    assert min(counts.values()) == 2
    assert len(counts) == len(features.keys)
    model = crf.train(0.05, 30)
    assert f1(corpus.train, model.predict(corpus.train)) > 90
    again = crf.train(500.0, 30)  # the same trainer with another penalty
    assert f1(corpus.train, again.predict(corpus.train)) < f1(corpus.train, model.predict(corpus.train))
    guess = model.predict(corpus.dev)
    assert [[len(line) for line in document] for document in guess] == [
        [len(line) for line in document] for document in corpus.dev
    ]


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


def test_tables_name_the_papers_figures(capsys):
    report = Report()
    tables.show_tables(made_results(), report)
    shown = capsys.readouterr().out
    for text in ("Table 2", "Table 3", "Table 6", "Table 7", "section 6.2", "dev F by C"):
        assert text in shown
    table3 = [paper.TABLE3[n] for n in (20, 100, 6400)]
    figures = [*paper.TABLE2.values(), *table3, *paper.TABLE6.values(), *paper.TABLE7.values()]
    for dev, test, *_ in figures:
        assert f"{dev:.2f}" in shown
        assert f"{test:.2f}" in shown
    assert "1000" in report.tables[0].plain()


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
    assert paper.TABLE3[100] == paper.TABLE2[PROPOSED][:2]
    assert list(paper.GRID) == sorted(paper.GRID)
    assert paper.TABLE7[PROPOSED][2] / paper.TABLE7[MARGIN][2] == pytest.approx(1.8, abs=0.05)


# -- the whole -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two", "conll2003"])
def test_the_whole_experiment_on_toy_data(toy_corpora, conll2003, tmp_path, monkeypatch, capsys, name):
    pytest.importorskip("pycrfsuite")
    monkeypatch.setattr(kazama2007, "QUICK", TINY)
    folder = toy_corpora if name == "two" else conll2003
    results = kazama2007.run(folder, quick=True, out=tmp_path / "out")
    shown = capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == json.loads(json.dumps(results))
    assert list(results["corpora"]) == present(folder)
    for corpus, found in results["corpora"].items():
        assert json.loads((tmp_path / "out" / f"{corpus}.json").read_text()) == json.loads(json.dumps(found))
        assert found["done"]
        assert all(trial["test"] is not None for trial in found["chosen"].values())
        assert list(found["table3"]) == ["20", "100"]
        best = max(t["dev"] for t in found["trials"] if (t["method"], t["bpm"]) == (MARGIN, 2))
        assert found["chosen"][MARGIN]["dev"] == best
        assert f"{corpus}: re-ranking (Table 6)" in shown
    assert "target" in shown
