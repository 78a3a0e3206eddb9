"""Entities: labels of any chunk scheme in and out, documents, and what cannot be labels."""

import copy

import numpy as np
import pytest

import structron
from structron import Document, EntityRecognizer, StructronError
from structron.features.templates import load_templates
from structron.options import NON_LOCAL
from structron.text import schemes
from structron.update.nbest import LOCAL_UPDATES
from toy import entity_documents

SCHEMES = list(schemes.LETTERS)
SMALL: dict = {"passes": 3, "non_local": ()}


def documents(count: int, scheme: str = "iob2", seed: int = 5) -> list[Document]:
    """Toy documents with entity labels of a scheme."""

    def spelled(rows: list) -> list[list[str]]:
        labels = schemes.convert([row[2] for row in rows], "iob2", scheme)
        return [[*row[:2], label] for row, label in zip(rows, labels, strict=True)]

    return [Document(map(spelled, document)) for document in entity_documents(count, seed)]


def unlabelled(items: list[Document]) -> list[Document]:
    return [Document([row[:2] for row in sentence] for sentence in item) for item in items]


def spans(found: list) -> list:
    return [[schemes.spans(labels) for labels in document] for document in found]


@pytest.mark.parametrize("inner", SCHEMES)
def test_entities_do_not_depend_on_how_they_are_written(inner):
    """The same entities in another scheme are the same training data; only the labels that come out differ."""
    found = {}
    for scheme in SCHEMES:
        model = EntityRecognizer(inner=inner, **SMALL).fit(documents(120, scheme))
        assert model.written_ == scheme
        assert {label.split("-")[0] for label in model.model_.labels} <= set(schemes.LETTERS[inner])
        guess = model.predict(unlabelled(documents(60, seed=6)))
        assert schemes.detect(labels for document in guess for labels in document) == scheme
        assert [len(document) for document in guess] == [len(document) for document in documents(60, seed=6)]
        found[scheme] = spans(guess)
    assert all(found[scheme] == found["iob2"] for scheme in SCHEMES)
    assert any(spans for document in found["iob2"] for spans in document)


@pytest.mark.parametrize("inner", ["iob2", "bilou"])
def test_files_keep_both_schemes(tmp_path, inner):
    model = EntityRecognizer(inner=inner, **SMALL).fit(documents(80, "iob1"), dev=documents(40, "iob1", seed=6))
    model.save(tmp_path / "m")
    again = structron.load(tmp_path / "m", task="entities")
    assert (again.written_, again.inner, again.documents) == ("iob1", inner, True)
    test = documents(40, "iob1", seed=7)
    assert again.evaluate(test) == model.evaluate(test)
    again.partial_fit(documents(40, "iob1", seed=8))
    assert again.written_ == "iob1"
    assert again.model_.labels == model.model_.labels
    assert schemes.count_illegal([labels for document in again.predict(test) for labels in document], "iob1") == 0


def test_a_second_training_forgets_the_first():
    model = EntityRecognizer(**SMALL).fit(documents(40, "iob1"))
    assert model.fit(documents(40, "bilou")).written_ == "bilou"
    with pytest.raises(StructronError):
        model.fit([[["a", "DT", "NP"], ["b", "DT", "O"]]])
    assert model.written_ == "bilou"
    assert schemes.detect(model.predict(unlabelled(documents(40))[0])) == "bilou"


def test_scores_are_those_of_the_labels_as_they_are_written():
    """Accuracy compares labels as they stand; F1 is the same in every scheme."""
    dev = documents(60, "iob1", seed=6)
    model = EntityRecognizer(inner="bilou", **SMALL).fit(documents(120, "iob1"), dev=dev)
    scores = model.evaluate(dev)
    assert model.history_[model.best_pass_ - 1]["dev"] == pytest.approx(scores.f1, abs=1e-4)
    guess = model.predict(unlabelled(dev))
    pairs = [
        (row[-1], label)
        for document, found in zip(dev, guess, strict=True)
        for sentence, labels in zip(document, found, strict=True)
        for row, label in zip(sentence, labels, strict=True)
    ]
    assert scores.accuracy == pytest.approx(100 * sum(a == b for a, b in pairs) / len(pairs))
    assert scores.accuracy > 90
    assert model.evaluate(dev, guess=guess) == scores


def test_broken_labels_are_repaired():
    """I after O begins an entity for conlleval, and so it does in the inner scheme."""
    sentence = [["in", "O"], ["New", "I-LOC"], ["York", "I-LOC"], ["with", "O"], ["Ann", "B-PER"]]
    others = [[["in", "O"], ["Rome", "B-LOC"]], [["Rome", "B-LOC"], ["is", "O"]]]
    model = EntityRecognizer(**SMALL | {"cutoff": 0}).fit([sentence, *others])
    assert model.written_ == "iob2"
    assert model.predict([["in", "New", "York"]]) == [["O", "B-LOC", "I-LOC"]]


def test_labels_that_are_not_chunk_labels_are_named():
    good, bad = [["Ann", "B-PER"], ["ran", "O"]], [["Bob", "NNP"], ["ran", "O"]]
    says = r"^training data: sentence 2: label 'NNP' is not a chunk label; expected .*O.*$"
    with pytest.raises(StructronError, match=says):
        EntityRecognizer(**SMALL).fit([good, bad])
    with pytest.raises(StructronError, match=says):
        EntityRecognizer(**SMALL).fit([Document([good, bad])])
    with pytest.raises(StructronError, match=r"^dev data: sentence 1: label 'NNP'"):
        EntityRecognizer(**SMALL).fit([good], dev=[bad])
    with pytest.raises(StructronError, match="only one label"):
        EntityRecognizer(**SMALL).fit([[["ran", "O"]]])


def test_forced_labels():
    data, free = documents(80), unlabelled(documents(80))
    forced = [[[None] * len(sentence) for sentence in document] for document in free]
    forced[0][0][0] = "B-ORG"
    model = EntityRecognizer(**SMALL).fit(data)
    assert model.predict(free, forced=forced)[0][0][0] == "B-ORG"
    model = EntityRecognizer(inner="bilou", **SMALL).fit(data)
    with pytest.raises(StructronError, match=r"^forced labels: the model uses bilou, .* iob2; expected"):
        model.predict(free, forced=forced)


def test_sentences_without_documents():
    data = [sentence for document in documents(60) for sentence in document]
    model = EntityRecognizer(**SMALL).fit(data)
    assert [len(labels) for labels in model.predict(data)] == [len(sentence) for sentence in data]


@pytest.mark.parametrize(("preset", "columns"), [("kazama", {"w", "lower", "pos"}), ("kazama-words", {"w", "lower"})])
def test_templates_of_the_paper(preset, columns):
    """Table 1: five positions of each atom and three pairs of some, each for a label and for two labels."""
    templates = load_templates(preset)
    atoms = columns | {f"{side}{k}" for side in ("prefix", "suffix") for k in (1, 2, 3, 4)} | {"w.form"}
    for pair in (False, True):
        found = {t.parts for t in templates if t.pair == pair}
        single = {((atom, k),) for atom in atoms for k in (-2, -1, 0, 1, 2)}
        double = {((atom, k), (atom, k + 1)) for atom in columns - {"w"} for k in (-2, -1, 0)}
        assert found == single | double
    assert not any(t.labels not in ((), (1,)) for t in templates)


def says_nothing(document, labels):
    """A document feature that never fires: its documents are learned from one by one, in Python."""
    return {}


def test_how_many_labellings_are_chosen_from_is_told_each_time(tmp_path):
    """Estimators that share a model do not tell each other, and a file says what training said."""
    few = EntityRecognizer(margin=5.0, test_candidates=1, passes=3).fit(documents(30))
    many, test = copy.copy(few).set_params(test_candidates=60), documents(30, seed=6)
    assert few.predict(test) != many.predict(test)
    few.save(tmp_path / "few")
    saved = structron.load(tmp_path / "few")
    assert saved.model_.candidates == 1
    assert few.predict(test) == saved.predict(test)
    sentence = next(iter(test[0]))
    for own in (few, many):
        assert [d.label for d in own.explain(sentence)] == own.predict([sentence])[0]


@pytest.mark.parametrize("whole", [True, False], ids=["documents", "sentences"])
@pytest.mark.parametrize("how", LOCAL_UPDATES)
def test_compiled_documents_are_those_of_python(how, whole):
    """Learning and choosing without a user's functions never leaves compiled code, and does the same."""
    items = documents(40) if whole else [sentence for document in documents(40) for sentence in document]
    test = documents(30, seed=6) if whole else [sentence for document in documents(30, seed=6) for sentence in document]
    made = []
    for functions in ((), (says_nothing,)):
        options = {"non_local": (*NON_LOCAL, *functions), "local_update": how, "passes": 4, "candidates": 7}
        made.append(EntityRecognizer(margin=5.0, test_candidates=30, **options).fit(items))
    compiled, python = (model.model_ for model in made)
    np.testing.assert_array_equal(compiled.keys, python.keys)
    np.testing.assert_allclose(compiled.w, python.w, atol=1e-4)
    np.testing.assert_allclose(compiled.g, python.g, atol=1e-6)
    assert compiled.g.any()
    counted = ("updates", "wrong_tokens", "tokens", "near", "local_updates")
    counts = [[[record[name] for name in counted] for record in model.history_] for model in made]
    assert counts[0] == counts[1]
    assert made[0].predict(test) == made[1].predict(test) == made[0].predict_with_margins(test)[0]
