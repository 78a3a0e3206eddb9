"""Formats of analysed text: they hold what the documents hold, and other programs' rules for them are kept."""

import csv
import io
import json
import re

import pytest
from hypothesis import given

from docs import conllu, docs
from structron.errors import StructronError
from structron.io.conll import read_conll
from structron.io.doc import Doc
from structron.io.exports import FORMATS, entity_labels
from structron.io.tokenized import READERS
from structron.text.analysis import Entity

TREE = conllu(
    "I don't:do+n't see Ann~ <Lee> .",
    upos="PRON AUX PART VERB PROPN PROPN PUNCT",
    lemma="I do not see Ann Lee .",
    head="4 4 4 0 4 5 4",
    deprel="nsubj aux advmod root obj flat punct",
)


def written(name: str, *found: Doc) -> str:
    out = io.StringIO()
    FORMATS[name].write(iter(found), out, "a & b.txt")
    return out.getvalue()


@pytest.fixture
def doc() -> Doc:
    found = Doc.from_conllu(TREE)
    words = found.words
    text = found.text[words[4].start : words[5].end]
    found.sentences[0].entities = [Entity("PER", 4, 6, words[4].start, words[5].end, text)]
    return found


def test_tsv_is_read_by_the_csv_module(doc):
    rows = list(csv.DictReader(io.StringIO(written("tsv", doc, doc)), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [row["form"] for row in rows] == [word.form for word in doc.words] * 2
    assert [row["sentence"] for row in rows] == ["1"] * 7 + ["2"] * 7
    assert [row["entity"] for row in rows[:7]] == ["O", "O", "O", "O", "B-PER", "I-PER", "O"]
    assert [int(row["head"]) for row in rows[:7]] == [word.head for word in doc.words]


def test_vertical_has_structures_and_glue(doc):
    lines = written("vertical", doc).splitlines()
    assert lines[:3] == ['<doc id="a &amp; b.txt">', "<p>", "<s>"]
    assert [line.partition("\t")[0] for line in lines[3:-3]] == [
        *("I", "do", "<g/>", "n't", "see", '<ne type="PER">', "Ann", "<g/>", "&lt;Lee&gt;", "</ne>", "."),
    ]
    assert lines[-3:] == ["</s>", "</p>", "</doc>"]


def test_lines_of_json_have_spans_with_offsets(doc):
    (line,) = written("jsonl", doc).splitlines()
    task = json.loads(line)
    (span,) = task["spans"]
    assert task["text"][span["start"] : span["end"]] == "Ann<Lee>"
    assert [task["text"][token["start"] : token["end"]] for token in task["tokens"]] == [t.form for t in doc.tokens]
    assert [task["tokens"][span[end]]["text"] for end in ("token_start", "token_end")] == ["Ann", "<Lee>"]
    assert "".join(t["text"] + " " * t["ws"] for t in task["tokens"]).strip() == task["text"]


def test_columns_train_a_tagger_of_entities(doc):
    (sentence,) = read_conll(written("conll", doc).splitlines(keepends=True), "x")
    assert [row[0] for row in sentence.rows] == [word.form for word in doc.words]
    assert [row[2] for row in sentence.rows] == entity_labels(doc.sentences[0])


def test_brat_names_the_places_of_every_line():
    doc = Doc.from_spans("Ann\r\nLee met Bo.", [[(0, 3), (5, 8), (9, 12), (13, 15), (15, 16)]])
    doc.sentences[0].set_entities(["B-PER", "I-PER", "O", "B-big name", "O"])
    assert written("brat", doc) == "T1\tPER 0 3;5 8\tAnn Lee\nT2\tbig_name 13 15\tBo\n"


@given(docs())
def test_what_is_written_is_read_back(found):
    """Words and sentences, from the vertical format."""
    words = [[word.form for word in sentence.words] for sentence in found.sentences if sentence.tokens]
    if all(re.fullmatch(r"\S+", form) for own in words for form in own):
        again = READERS["vertical"](io.StringIO(written("vertical", found)), "x")
        assert [[word.form for word in sentence.words] for doc in again for sentence in doc] == words


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tokens", "\ufeffI saw Ann .\n\nYes\n"),
        ("conll", "I X\nsaw Y\nAnn Y\n. Z\n\nYes X\n"),
        ("vertical", '<doc id="1">\n<s>\nI\tX\nsaw\nAnn\n<g/>\n.\n</s>\n<s>\nYes\n</s>\n</doc>\n'),
    ],
)
def test_known_tokens_are_read(name, text):
    (doc,) = READERS[name](io.StringIO(text), "x")
    assert [[word.form for word in sentence.words] for sentence in doc] == [["I", "saw", "Ann", "."], ["Yes"]]
    assert doc.text == ("I saw Ann.\nYes\n" if name == "vertical" else "I saw Ann .\nYes\n")
    assert doc.sentences[0].new_document is (name == "vertical")


def test_a_long_file_comes_in_parts(monkeypatch):
    monkeypatch.setattr("structron.io.tokenized.SENTENCES", 2)
    assert [len(doc) for doc in READERS["tokens"](io.StringIO("a b\n" * 5), "x")] == [2, 2, 1]
    with pytest.raises(StructronError, match="x:2: 1 column where 2 were expected"):
        list(READERS["conll"](io.StringIO("a b\nc\n"), "x"))
