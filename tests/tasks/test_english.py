"""The bundled English model: it is there, it is small, it works on any text, and its scores do not move unnoticed."""

from importlib import resources
from pathlib import Path

import pytest

import structron
from structron.cli import main
from structron.data.toy_english import toy_english, write_conllu
from structron.io.doc import Doc, read_docs

EXPECTED = {
    "words": 98.89,
    "sentences": 100.0,
    "upos": 95.45,
    "xpos": 95.3,
    "lemmas": 88.0,
    "uas": 86.55,
    "las": 84.45,
}
"""On toy English, many of whose words are invented, and whose lemmas and relations are not all the treebank's."""


@pytest.fixture(scope="module")
def nlp():
    return structron.load("english")


def test_the_model_comes_with_licence_and_card():
    folder = resources.files("structron") / "models"
    assert "Attribution-ShareAlike 4.0" in (folder / "LICENSE.txt").read_text(encoding="utf-8")
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert all(name in card for name in ("English Web Treebank", "Universal NER", "CC BY-SA 4.0", "LAS"))
    assert "spacy-lookups-data" in card
    assert all(name in card for name in ("pytickersymbols", "simpleicons", "GeoNames", "census", "WordNet"))
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in (folder / "LICENSE.txt").read_text(encoding="utf-8")
    assert "ExplosionAI" in (folder / "LICENSE.txt").read_text(encoding="utf-8")
    assert len((folder / "english.structron").read_bytes()) <= 18_000_000


def test_scores_on_generated_text(nlp, tmp_path):
    write_conllu(tmp_path / "toy.conllu", toy_english(200, 7), lemmas=True)
    found = nlp.evaluate(list(read_docs(tmp_path / "toy.conllu")))
    assert {name: getattr(found, name) for name in EXPECTED} == pytest.approx(EXPECTED, abs=0.3)


def test_a_sentence(nlp):
    doc = nlp("Dr. Smith didn't sleep. He flew to Paris.")
    assert [[word.form for word in sentence.words] for sentence in doc.sentences] == [
        ["Dr.", "Smith", "did", "n't", "sleep", "."],
        ["He", "flew", "to", "Paris", "."],
    ]
    assert [word.lemma for word in doc.sentences[1].words] == ["he", "fly", "to", "Paris", "."]
    assert [word.head for word in doc.sentences[1].words] == [2, 0, 4, 2, 2]
    assert [(entity.text, entity.label) for entity in doc.entities] == [("Smith", "PER"), ("Paris", "LOC")]


def test_organisations(nlp):
    """Forty sentences, written before the model was trained: 29 have the right entities; hardly fewer should."""
    lines = Path(__file__).with_name("organisations.tsv").read_text(encoding="utf-8").splitlines()
    cases = [line.split("\t") for line in lines if not line.startswith("#")]
    assert len(cases) == 40
    right = 0
    for text, *expected in cases:
        found = [f"{entity.text}/{entity.label}" for entity in nlp(text).entities]
        right += found == expected
        if text == "Apple bought a startup.":
            assert found == expected
    assert right >= 28


ADDRESSES, HAN, SPACES = "http://x.org/?a=b me@x.org 😀👍🏽", "一二三。四五", "A\r\nB\tC\u00a0D"


LEFT = ["I ate n orange", "he en it", "it en"]
"""Words that an edit script could take away altogether."""
ODD = ["", " ", "\n\n", "a", "…", "\u200b", "é" * 300, ADDRESSES, HAN, SPACES, "\0"]


@pytest.mark.parametrize("text", [*ODD, *LEFT])
def test_any_text_comes_back(nlp, text):
    written = nlp(text).to_conllu()
    assert Doc.from_conllu(written).text == text
    lines = [line for line in written.splitlines() if line and not line.startswith("#")]
    assert all("" not in line.split("\t") for line in lines), "no field is empty"


def test_it_is_the_default_on_the_command_line(capsys):
    assert main(["annotate", "--text", "She left.", "--format", "tokens"]) == 0
    assert capsys.readouterr().out == "She left .\n"
