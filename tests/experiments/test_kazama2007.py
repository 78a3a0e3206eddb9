"""The experiment of Kazama & Torisawa (2007): its corpora, its search for C, its re-rankers, its tables and claims."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import brute
from helpers import assert_same_weights, learned
from structron import Chunker, Document
from structron.data.toy_english import write_conll, write_conllu
from structron.errors import StructronError
from structron.eval.scores import chunk_scores
from structron.experiments.frame import SPLITS, Job, Ledger
from structron.experiments.kazama2007 import EXPERIMENT, models, rerank, tables
from structron.experiments.kazama2007.corpora import (
    AUTOMATIC,
    ENGLISH,
    EntityCorpus,
    folds,
    gold_of,
    present,
    templates_of,
)
from structron.experiments.kazama2007.models import (
    AVERAGED,
    CANDIDATE,
    CRF,
    MARGIN,
    PERCEPTRON,
    PROPOSED,
    Crf,
    make_model,
    next_values,
    scored,
    search,
)
from structron.experiments.kazama2007.plan import BOUNDS, FIELD, OTHERS, PART, TRAIN, Found, Scale, Wanted, plan
from structron.experiments.kazama2007.rerank import KINDS, RERANKING_1, RERANKING_2, CandidateLists, Reranker, Shortlist
from structron.text.schemes import convert, detect
from structron.text.sentences import sentences_of

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
def corpus(toy_data) -> EntityCorpus:
    return EntityCorpus.load(toy_data, DUTCH, DOCUMENTS)


# -- corpora -------------------------------------------------------------------------------------------------------


def test_corpora_are_documents_of_the_columns_that_count(toy_data, toys):
    assert present(toy_data) == [DUTCH, ENGLISH]
    train = toys["train"]
    for name, width in ((DUTCH, 3), (ENGLISH, 3)):
        corpus = EntityCorpus.load(toy_data, name)
        assert gold_of(corpus.train) == [sentence.entities for sentence in train]
        assert [[row[0] for row in line] for line in sentences_of(corpus.train)] == [s.words for s in train]
        assert {len(row) for line in sentences_of(corpus.dev) for row in line} == {width} == {len(corpus.columns)}
        assert len(corpus.train) == sum(sentence.new_document for sentence in train)
        assert all(isinstance(document, Document) for document in corpus.test)
        assert corpus.counts()["train"] == len(corpus.train)
        assert len(EntityCorpus.load(toy_data, name, 1).dev) == 1


@pytest.mark.parametrize("inside", [False, True], ids=["folder", "subfolder"])
def test_conll2003_is_found_and_made_iob2(conll2003, toys, tmp_path, inside):
    folder = conll2003
    if inside:
        (tmp_path / "conll2003").symlink_to(conll2003)
        folder = tmp_path
    assert present(folder) == ["conll2003"]
    corpus = EntityCorpus.load(folder, "conll2003")
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
        EntityCorpus.load(tmp_path, DUTCH)


@pytest.fixture(scope="module")
def english(toys, toy_data, tmp_path_factory) -> Path:
    """English with its treebank, which has another first sentence, and lists."""
    folder = tmp_path_factory.mktemp("english")
    (folder / ENGLISH).symlink_to(toy_data / ENGLISH)
    (folder / "ud-english-ewt").mkdir()
    for split, sentences in toys.items():
        path = folder / "ud-english-ewt" / f"{split}.conllu"
        write_conllu(path, [sentences[1], *sentences[1:]])
        text = path.read_text(encoding="utf-8")
        for number in range(len(sentences)):  # as the toy corpus counts
            text = text.replace(f"# sent_id = toy-{number + 1}\n", f"# sent_id = {number}\n")
        path.write_text(text, encoding="utf-8")
    lists = {"names/male": "Lincoln", "gazetteers/countries": "Lincoln\nLincoln County"}
    for name, lines in lists.items():
        (folder / "gazetteers-nltk" / name).parent.mkdir(parents=True)
        (folder / "gazetteers-nltk" / f"{name}.txt").write_text(lines)
    return folder


def test_english_has_tags_and_gazetteers(english, toys):
    corpus = EntityCorpus.load(english, ENGLISH)
    assert corpus.columns == ("word", "pos", "gp", "gl", "label")
    first, *others = sentences_of(corpus.train)
    assert {row[1] for row in first} == {"_"}
    assert [[row[1] for row in line] for line in others] == [sentence.pos for sentence in toys["train"][1:]]
    places = {(row[0], row[2], row[3]) for line in sentences_of(corpus.train) for row in line if row[0] == "Lincoln"}
    assert places <= {("Lincoln", "B-gp", "B-gl")}
    assert gold_of(corpus.dev) == [sentence.entities for sentence in toys["dev"]]


def test_a_tagger_gives_worse_tags(english):
    given, other = EntityCorpus.load(english, ENGLISH), EntityCorpus.load(english, ENGLISH, tags=AUTOMATIC)
    for split in SPLITS:
        pairs = [
            (a, b)
            for a, b in zip(sentences_of(getattr(given, split)), sentences_of(getattr(other, split)), strict=True)
        ]
        assert all([row[:1] + row[2:] for row in a] == [row[:1] + row[2:] for row in b] for a, b in pairs)
        same = [x[1] == y[1] for a, b in pairs for x, y in zip(a, b, strict=True) if x[1] != "_"]
        assert 0.6 < np.mean(same) < 1


def test_features_follow_the_columns():
    words, tags, chunks, lists = (
        templates_of((*columns, "label"))
        for columns in (("word",), ("word", "pos"), ("word", "pos", "chunk"), ("word", "pos", "gp", "gl"))
    )
    assert set(words) < set(tags) < set(chunks)
    assert not any("pos" in text for text in words)
    assert len(chunks) - len(tags) == len(tags) - len(words) == 16
    assert len(lists) - len(tags) == 2 * 16
    assert {"gp[-2]|gp[-1]", "gl[0]&y"} < set(lists)


# -- C -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peak", "found"), [(2000, 2000), (300, 250), (130, 125), (9000, 8000), (100_000, 128_000), (0.01, 1.953125)]
)
def test_the_search_walks_on_until_the_best_is_inside(peak, found):
    asked = []

    def at(c: float) -> tuple[float]:
        asked.append(c)
        return (-abs(np.log(c / peak)),)

    c, made, tried = search((500, 2000, 8000), 1, at)
    assert c == found
    assert made == (max(dev for _, dev in tried),)
    assert len(asked) == len(set(asked)) == len(tried)
    assert min(asked) < c < max(asked) or c / 2 < 1


def test_of_equal_scores_the_smaller_c_wins():
    assert next_values({}, (2, 8), 1) == [2, 8]
    assert next_values({2: 5.0, 8: 5.0}, (2, 8), 1) == [1]
    assert next_values({2: 5.0, 8: 5.0}, (2, 8), 2) == []
    assert next_values({2: 5.0}, (2,), 1) == [1, 4]


# -- re-ranking ----------------------------------------------------------------------------------------------------


def test_folds_cover_everything_once():
    documents = [Document([["a"]] * k) for k in (3, 1, 2, 5, 4, 1, 2)]
    found = folds(documents, 5)
    assert [part for _, parts in found for part in parts] == documents
    assert all(len(rest) + len(part) == len(documents) for rest, part in found)


def shortlist(labels: list[list[int]], scores: list[float], vectors: list[list[float]], wrong: list[int]) -> Shortlist:
    """Candidates of one sentence."""
    return Shortlist(np.array(labels, np.int16), np.array(scores), np.array(vectors, float), np.array(wrong), (0, 1))


def test_updates_by_hand():
    """C = 1: the best of the worse candidates is pushed away until the least wrong one is ahead by more than 1."""
    rows = [[0, 1], [1, 1], [0, 0]]
    one = shortlist(rows, [4.0, 2.0, 0.0], [[1, 0, 0], [0, 2, 0], [0, 0, 1]], [2, 3, 1])
    model = Reranker(1.0, True, scale=4.0)
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
    model = Reranker(0.0, True)
    model.learn([one], 20)
    assert model.whole.tolist() == [-1.0, 1.0, 0.0]
    assert model.best(one) == 1
    assert model.passes == 2


def test_updates_of_the_paper_by_hand():
    """Algorithm 4.1 with the gold labelling behind two candidates: away from the best, or from the second best."""
    one = shortlist([[0, 1], [1, 1], [0, 0]], [4.0, 2.0, -4.0], [[1, 0], [0, 2], [1, 1]], [1, 2])
    model = Reranker(0.5, scale=4.0)
    model.learn([one], 1)
    assert model.whole.tolist() == [0.0, 1.0, -2.0]  # gold minus the first; scores (0, 1.0, 5) after it: then the best
    assert model.pair(model.scores(one), one.wrong) is None
    right = shortlist([[0, 0], [1, 1], [0, 0]], [4.0, 2.0, 4.0], [[0, 0], [0, 0], [0, 0]], [0, 2])
    assert model.pair(np.array([3.0, 1.0, 3.0]), right.wrong) is None
    assert model.pair(np.array([3.0, 2.9, 3.0]), right.wrong) == (2, 1)
    assert model.pair(np.array([3.0, 3.1, 3.0]), right.wrong) == (2, 1)


def test_scale_is_the_spread_of_the_middle_list():
    given = [shortlist([[0], [1]], [9.0, 9.0 - gap, -99.0], [[]] * 3, [0, 1]) for gap in (1.0, 3.0, 100.0)]
    assert rerank.score_scale(given) == 3.0
    assert rerank.score_scale([shortlist([[0]], [1.0], [[]], [0])]) > 0


def test_the_gold_score_is_that_of_a_list(corpus):
    model = make_model(corpus, MARGIN, 10.0, 0, 2).fit(corpus.train)
    document = next(d for d in corpus.train if model.predict([d]) == [[[row[-1] for row in s] for s in d]])
    (found,) = model.nbest([document], 1)
    assert rerank.gold_score(model, document) == pytest.approx(found[0][1], rel=1e-5)


def test_local_features_are_those_of_whole_labellings(corpus):
    """Scores, and the weights after updates, against whole feature vectors; also of documents that are looked at."""
    documents, columns, templates = corpus.train[:3], corpus.columns, ["w[0]", "pos[-1]&y"]
    chunker = Chunker(order=1, runs=1, passes=1, average="none", templates=templates, columns=columns).fit(documents)
    learner, rng, lists, first = chunker.learner_.fresh_copy(), np.random.default_rng(5), [], 0
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


def test_lists_hold_candidates_and_their_mistakes(corpus, monkeypatch):
    monkeypatch.setattr(rerank, "gold_score", lambda model, document: -7.0)
    labels = corpus.labels()
    given = (corpus.train[:2], 5, count_changes(labels), labels)
    found, plain = rerank.make_shortlists(Provider(), *given, learning=10), rerank.make_shortlists(Provider(), *given)
    lengths = [len(document) for document in corpus.train[:2]]
    assert [one.sentences for one in found] == [(10, 10 + lengths[0]), (10 + lengths[0], 10 + sum(lengths))]
    assert found[0].labels.shape == (6, sum(map(len, corpus.train[0])))
    assert found[0].wrong.tolist() == plain[0].wrong.tolist() == [1, 0, 1, 1, 1]
    assert found[0].scores.tolist() == [0.0, -1.0, -2.0, -3.0, -4.0, -7.0]
    assert found[0].vectors[:, 0].tolist() == [100, 0, 100, 100, 100, 0]
    assert plain[0].scores.tolist() == found[0].scores.tolist()[:5]
    assert plain[0].sentences[0] == 0


def test_second_models_find_what_tells_all(corpus, monkeypatch):
    """From folds to F1: the first model's favourite is always wrong, a non-local feature knows it."""
    monkeypatch.setattr(rerank, "gold_score", lambda model, document: -1.0)
    trained = []

    def make_first(documents):
        trained.append(len(documents))
        return Provider()

    found = CandidateLists(corpus, make_first, 6, non_local=count_changes(corpus.labels()))
    assert len(trained) == 1 + 5
    assert len(found.train) == len(corpus.train)
    assert found.oracle("dev", 6) == 100.0 > found.oracle("dev", 1)
    figures = json.loads(json.dumps(found.study((1.0,), 20)))
    for kind in KINDS:
        assert figures[kind]["by_n"]["6"]["dev"] == 100.0 == figures[kind]["by_n"]["6"]["test"]
        assert dict(map(tuple, figures[kind]["tried"]))[figures[kind]["c"]] == 100.0


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
    guess = [labels for document in model.predict(corpus.train) for labels in document]
    assert model.score(corpus.train) == pytest.approx(chunk_scores(gold_of(corpus.train), guess).f1)
    assert model.score(corpus.train) > 90
    assert again.score(corpus.train) < model.score(corpus.train)


# -- tables and claims ------------------------------------------------------------------------------------------------


def test_scores_are_those_of_all_blocks(corpus):
    guess = [[["B-PER" for _ in sentence] for sentence in document] for document in corpus.dev]
    found = scored("dev", corpus.dev, guess)
    flat = [labels for document in guess for labels in document]
    assert found["dev"] == pytest.approx(chunk_scores(gold_of(corpus.dev), flat).f1)
    assert len(found["dev_blocks"]) == len(corpus.dev)


@pytest.mark.parametrize(
    ("sizes", "blocks", "edges"),
    [
        ([1, 1, 1, 1], 2, [0, 2, 4]),
        ([6, 1, 1, 1, 1, 1, 1], 2, [0, 1, 7]),  # 6 and 6 words, not 3 and 4 documents
        ([9, 1, 1], 3, [0, 1, 2, 3]),
        ([1, 1, 9], 2, [0, 2, 3]),
        ([5, 5], 25, [0, 1, 2]),
        ([0, 0, 4, 0], 3, [0, 1, 3, 4]),
    ],
)
def test_blocks_are_equal_in_words(sizes, blocks, edges):
    assert models.equal_edges(sizes, blocks) == edges


METHODS = dict.fromkeys((DUTCH, ENGLISH), OTHERS)
SCALE = Scale(
    documents=9, seeds=(1, 2), fewer=(1,), margins=(500, 2000), test_candidates=(20, 100), part_methods=METHODS
)


class Made:
    """A ledger of made-up trials: what the plan asks for is answered by a rule."""

    def __init__(self, folder: Path, data: Path, test: dict[str, float]):
        self.ledger, self.data, self.test = Ledger(folder / "made.json", "made"), data, test
        while wanted := [job for job in plan(self.ledger, SCALE, data) if job not in self.ledger]:
            self.ledger.enter(wanted[0], self.answer(wanted[0]), 1.0)

    def scores(self, method: str, dev: float = 50.0, seed: int = 1) -> dict:
        test = self.test.get(method, 50.0) + seed / 10
        right = round(10 * test)
        return {"dev": dev, "test": test, "dev_blocks": [[5, 10, 10]] * 9, "test_blocks": [[right, 1000, 1000]] * 9}

    def answer(self, job: Job) -> dict:
        """The best C is 250, that of the candidate algorithm 8000."""
        method, seed = job.options.get("method"), job.options.get("seed", 1)
        spent = {"learning": {MARGIN: 10.0, PROPOSED: 20.0}.get(method, 5.0), "passes": 4, "sizes": {"train": 9}}
        if job.work == TRAIN:
            dev = 90.0 - abs(np.log(job.options.get("c", 1) / (8000 if method == CANDIDATE else 250)))
            scores = self.scores(method, dev, seed)
            more = {n: self.scores(f"n {n}", seed=seed) | {"labelling": 1.0} for n in job.options.get("candidates", ())}
            return scores | spent | {"by_n": more}
        if job.work in BOUNDS:
            return {"updates": 3, "bound": 9.0, "holds": True}
        if job.work == FIELD:
            return self.scores(CRF) | spent | {"variance": 1.0, "tried": [(1.0, 50.0)]}
        if job.work == PART:
            return self.scores(f"part {method}") | {"passes": 20, "stopped": "passes"}
        kinds = {kind: {"by_n": {n: self.scores(kind) for n in (80, 100, 800)}} for kind in KINDS}
        about = {"c": 8.0, "learning": 1.0, "passes": 3, "tried": [(8.0, 50.0)]}
        return {kind: kinds[kind] | about for kind in KINDS} | {"learning": 59.0, "oracle": {"1": 50.0}}


@pytest.fixture
def made(tmp_path, toy_data) -> Made:
    better = {
        "part CRF, edge features": 55.0,
        "part proposed": 55.0,
        MARGIN: 60.0,
        PROPOSED: 70.0,
        "n 100": 71.0,
        "n 20": 65.0,
        AVERAGED: 60.0,
        CANDIDATE: 90.0,
    }
    return Made(tmp_path, toy_data, better)


def test_the_plan_walks_on_and_goes_on_from_what_dev_chose(made):
    found = Found(made.ledger, DUTCH)
    assert sorted(found.tried(MARGIN)) == [125, 250, 500, 2000]
    assert sorted(found.tried(CANDIDATE)) == [500, 2000, 4000, 8000, 16000]
    assert (found.chosen(MARGIN), found.chosen(CANDIDATE), found.chosen(CRF)) == (250, 8000, 1.0)
    assert [trial["seed"] for trial in found.final(MARGIN)] == [1, 2]
    assert all(trial["candidates"] == [20, 100] for trial in found.final(PROPOSED))
    assert [len(found.final(method, bpm=True)) for method in (PERCEPTRON, AVERAGED)] == [1, 1]
    assert [len(found.final(method, bpm=False)) for method in (PERCEPTRON, MARGIN)] == [2, 1]
    assert not found.final(MARGIN, tags=AUTOMATIC)
    assert len(Found(made.ledger, ENGLISH).final(MARGIN, tags=AUTOMATIC)) == 1
    assert found.same_c() is found.tried(PROPOSED)[250]


def test_nothing_waits_for_what_is_not_known(tmp_path, toy_data):
    empty = Wanted(Found(Ledger(tmp_path / "empty.json", "made"), DUTCH), SCALE)
    assert [job.options.get("method") for job in empty.second()] == ["sentence by sentence (ours)"]
    assert [job.options["c"] for job in empty.search(MARGIN)] == [500, 2000]
    assert not list(tables.tables(empty.found.ledger))
    assert {claim.verdict.verdict for claim in tables.claims(empty.found.ledger)} == {"not run", "not decidable"}


def test_claims_are_judged_by_what_was_found(made):
    judged = {claim.text: claim for claim in tables.claims(made.ledger)}

    def verdict(name: str) -> str:
        return judged[tables.PAPER["claims"][name]["text"]].verdict.verdict

    assert verdict("proposed") == verdict("more") == verdict("proposed_reranking") == "reproduced"
    assert verdict("candidate") == verdict("crf") == "not reproduced"
    assert verdict("margin") == verdict("tags") == "smaller"  # equal, and the paper has a gain
    assert (verdict("time"), verdict("time_reranking")) == ("not reproduced", "reproduced")  # 2 and 3 times as long
    assert judged[tables.PAPER["claims"]["time"]["text"]].ours == "Dutch 2.00 times; English 2.00 times"
    assert (verdict("aggressive"), verdict("footnote"), verdict("edges")) == (
        "reproduced",
        "not decidable",
        "reproduced",
    )
    text = judged[tables.PAPER["claims"]["crf"]["text"]].ours
    assert text == "Dutch 50.10 against 60.15 ± 0.07; English 50.10 against 60.15 ± 0.07"


def test_times_of_reranking_count_all_its_models(made):
    assert tables.seconds_of(Found(made.ledger, DUTCH)) == {MARGIN: 10.0, PROPOSED: 20.0} | dict.fromkeys(KINDS, 60.0)


def test_paper_is_consistent():
    table2, table3, table5, table7 = (tables.PAPER[f"table{k}"]["figures"] for k in (2, 3, 5, 7))
    assert table3["100"] == table2[PROPOSED][1:] == table5[PROPOSED][:2]
    assert list(EXPERIMENT.full.test_candidates) == [int(n) for n in table3]
    assert all(f"{row[2] / table7[MARGIN][2]:.2f}" == row[3] for row in table7.values())


# -- the whole -----------------------------------------------------------------------------------------------------


def test_every_corpus_is_worked_through(run):
    found = run("kazama2007")
    for corpus in (DUTCH, ENGLISH):
        own = Found(found.ledger, corpus)
        assert own.chosen(MARGIN) == max(own.tried(MARGIN).values(), key=lambda trial: trial["dev"])["c"]
        (trial,) = own.reranked()
        for kind in (RERANKING_1, RERANKING_2):
            assert trial[kind]["by_n"]["100"]["dev"] == max(dev for _, dev in trial[kind]["tried"])
        first, second = own.final(PROPOSED)
        assert (
            first["by_n"]["100"]["test_blocks"]
            == first["test_blocks"]
            == own.tried(PROPOSED)[first["c"]]["test_blocks"]
        )
        assert first["test_blocks"] != second["test_blocks"]
    assert all(f"(Table {k})" in found.printed for k in (2, 3, 5, 6, 7))
