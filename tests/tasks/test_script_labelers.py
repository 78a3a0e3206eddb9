"""Lemmas and words of tokens, learned as edit scripts."""

from pathlib import Path
from typing import Any

import pytest

import structron
from structron import StructronError
from structron.io import modelfile
from structron.tasks.scripts import Lemmatizer, Splitter

STEMS = ["walk", "talk", "jump", "play", "work", "look", "rain", "call", "need", "help"]
VERBS = [[(stem + end, "VERB", stem) for end in ("s", "ed", "ing")] for stem in STEMS]
NOUNS = [[(stem + "s", "NOUN", stem), ("News", "PROPN", "News"), ("went", "VERB", "go")] for stem in STEMS]
VERBES = ["dors", "parles", "chantes", "manges", "ris", "joues", "penses"]
FRENCH = [[("du", "de\tle"), (verbe, verbe), (f"{verbe}-tu", f"{verbe}\t-tu"), ("?", "?")] for verbe in VERBES]


def again(model: Any, path: Path) -> Any:
    model.save(path)
    return structron.load(path, task=model.task)


@pytest.fixture(scope="module")
def lemmatizer() -> Lemmatizer:
    return Lemmatizer(columns=["form", "upos", "lemma"]).fit(VERBS + NOUNS)


def test_lemmas_of_known_and_new_words(lemmatizer, tmp_path):
    assert lemmatizer.score(VERBS + NOUNS) == 100
    new = [[("Grunted", "VERB"), ("grunting", "VERB"), ("went", "VERB"), ("News", "PROPN")]]
    assert lemmatizer.predict(new) == [["grunt", "grunt", "go", "News"]]
    assert again(lemmatizer, tmp_path / "m").predict(new) == lemmatizer.predict(new)
    assert lemmatizer.evaluate(VERBS).accuracy == 100
    assert lemmatizer.predict([[]]) == [[]]


def test_tags_are_looked_up_where_there_are_any(lemmatizer, tmp_path):
    """And the parameter stays what the user gave."""
    assert lemmatizer.get_params()["given"] == ()
    assert lemmatizer.model_.lexicon.given == again(lemmatizer, tmp_path / "m").model_.lexicon.given == ["upos"]
    plain = Lemmatizer().fit([[(form, lemma) for form, _, lemma in sentence] for sentence in VERBS + NOUNS])
    assert plain.model_.lexicon.given == []
    assert plain.predict([["grunting"]]) == [["grunt"]]


def test_no_script_that_does_not_fit(lemmatizer):
    (found,) = lemmatizer.predict([[("x", "NEW"), ("", "VERB"), ("ing", "VERB"), ("ΟΔΟΣ", "NOUN"), ("s", "NOUN")]])
    assert len(found) == 5


def test_explanations_add_up(lemmatizer):
    for decision in lemmatizer.explain([("rains", "NOUN"), ("grunted", "VERB")], top=10**6):
        if decision.runner_up is not None:
            assert sum(c.weight for c in decision.because) == pytest.approx(decision.margin, abs=1e-4)
        assert not any(c.feature.startswith("y[") for c in decision.because)
    assert lemmatizer.inspect().transitions == []


def test_words_of_tokens(tmp_path):
    model = Splitter().fit(FRENCH)
    assert model.predict([["Du", "chat", "Danses-tu"]]) == [["De\tle", "chat", "Danses\t-tu"]]
    assert model.score(FRENCH) == 100
    assert again(model, tmp_path / "m").predict([["du", "x"]]) == model.predict([["du", "x"]])


def test_what_cannot_be_asked(lemmatizer):
    for use, message in {
        lambda: lemmatizer.set_params(beam=3): "unknown parameter of Lemmatizer 'beam'",
        lambda: Lemmatizer(average="voted").fit(VERBS): "average: voted: not available for the lemmatizer",
        lambda: lemmatizer.partial_fit(VERBS): "lemmatizer: no partial_fit: the lexicon is learned from all",
    }.items():
        with pytest.raises(StructronError, match=message):
            use()
    with pytest.raises(TypeError, match="unexpected keyword argument 'forced'"):
        lemmatizer.predict([[("walks", "VERB")]], forced=[["walk"]])
    for name in ("beam", "margin", "among", "order", "non_local"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            Lemmatizer(**{name: None})


def test_files_of_earlier_versions_have_more_options(lemmatizer, tmp_path):
    """What never had an effect is passed over, what nobody knows is damage."""
    lemmatizer.save(tmp_path / "m")
    header, tensors = modelfile.load(tmp_path / "m")
    before = {"beam": "default", "update": "default", "margin": None, "among": "seen", "order": 1, "candidates": 20}
    modelfile.save(tmp_path / "old", header | {"options": header["options"] | before}, tensors)
    old = Lemmatizer.load(tmp_path / "old")
    words = [[("walks", "VERB")]]
    assert old.predict(words) == lemmatizer.predict(words)
    assert old.get_params().keys().isdisjoint(before)
    modelfile.save(tmp_path / "odd", header | {"options": header["options"] | {"colour": "blue"}}, tensors)
    with pytest.raises(StructronError, match="damaged"):
        Lemmatizer.load(tmp_path / "odd")
