"""Analysed texts: the text and all columns come back from CoNLL-U and JSON; offsets point at what they name."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given

from docs import TEXTS, conllu, docs
from structron.errors import StructronError
from structron.io.doc import Doc, Token, Word, docs_from_conllu, read_docs

TREEBANKS = ["ud-english-ewt", "ud-turkish-imst", "ud-italian-partut"]


# -- there and back ------------------------------------------------------------------------------------------------


@given(docs())
def test_everything_comes_back_from_conllu(doc):
    assert Doc.from_conllu(doc.to_conllu()) == doc


@given(docs())
def test_lines_will_do_for_a_text(doc):
    assert Doc.from_conllu(doc.to_conllu().split("\n")) == doc


@given(docs())
def test_everything_comes_back_from_json(doc):
    assert Doc.from_json(json.loads(json.dumps(doc.to_json()))) == doc


@given(TEXTS)
def test_a_text_without_tokens_comes_back(text):
    doc = Doc.from_spans(text, [])
    assert doc.text == doc.spaces_before == Doc.from_conllu(doc.to_conllu()).text == text
    assert not doc.sentences


@given(docs())
def test_offsets(doc):
    pieces = [doc.spaces_before]
    for token in doc.tokens:
        assert token.start == sum(map(len, pieces))
        assert doc.text[token.start : token.end] == token.form
        pieces += [token.form, token.spaces_after]
    assert "".join(pieces) == doc.text
    for sentence in doc:
        assert doc.text[sentence.start : sentence.end] == sentence.text
        assert [word.id for word in sentence.words] == list(range(1, len(sentence.words) + 1))
        for token in sentence.tokens:
            spelled = "".join(word.form for word in token.words) == token.form
            for word in token.words:
                assert doc.text[word.start : word.end] == (word.form if spelled else token.form)
    for entity in doc.entities:
        assert doc.text[entity.start : entity.end] == entity.text


@given(docs())
def test_the_lines_are_conllu(doc):
    """Ten columns, words counted from 1, and no line that another reader might cut in two."""
    for block in doc.to_conllu().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line and line[0] != "#"]
        assert all(len(row) == 10 for row in rows)
        words = [row[0] for row in rows if row[0].isdigit()]
        assert words == [str(k) for k in range(1, len(words) + 1)]
        assert "\r" not in block


def test_properties():
    doc = Doc.from_conllu(conllu("I don't:do+n't know~ .", "Ok"))
    assert doc.text == "I don't know. Ok "
    assert [token.id for token in doc.tokens] == ["1", "2-3", "4", "5", "1"]
    assert [token.is_multiword for token in doc.tokens] == [False, True, False, False, False]
    assert [(word.form, word.start, word.end) for word in doc.words][:3] == [("I", 0, 1), ("do", 2, 4), ("n't", 4, 7)]
    assert len(doc) == 2
    assert [sentence.text for sentence in doc] == ["I don't know.", "Ok"]
    assert doc.sentences[1].start == 14
    assert "<svg" in doc.to_html()
    assert doc._repr_html_() == doc.to_html()


def test_words_that_do_not_spell_their_token_share_its_place():
    doc = Doc.from_conllu(conllu("nella:in+la casa"))
    assert [(word.start, word.end) for word in doc.words] == [(0, 5), (0, 5), (6, 10)]


# -- white space ---------------------------------------------------------------------------------------------------


def row(number: int, form: str, misc: str = "_") -> str:
    return f"{number}\t{form}" + "\t_" * 7 + f"\t{misc}\n"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (row(1, "a") + row(2, "b", "SpaceAfter=No") + "\n", "a b"),
        (row(1, "a", "SpacesAfter=\\s\\t\\r\\n\\p\\\\x") + "\n", "a \t\r\n|\\x"),
        (row(1, "a", "SpacesAfter=") + row(2, "b") + "\n", "ab "),
        (row(1, "a", "SpaceAfter=No|SpacesAfter=\\n") + row(2, "b") + "\n", "a\nb "),
        (row(1, "a", "SpacesBefore=\\n") + row(2, "b", "SpacesBefore=\\t") + "\n", "\na \tb "),
        (row(1, "a") + "\n" + row(1, "b") + "\n", "a b "),
        (row(1, "a") + "\n# newpar\n" + row(1, "b") + "\n", "a\n\nb "),
        (row(1, "a", "SpaceAfter=No") + "\n# newdoc id = 7\n" + row(1, "b") + "\n", "a\n\nb "),
        (row(1, "a", "SpacesAfter=\\n") + "\n# newpar\n" + row(1, "b") + "\n", "a\nb "),
        ("# SpacesBefore = \\n\n# SpacesBefore = \\u00A0\n" + row(1, "a", "SpacesBefore=\\s") + "\n", "\n\u00a0 a "),
        (row(1, "a", "SpacesAfter=\\u00A0\\uD800\\u20") + "\n", "a\u00a0\\uD800\\u20"),
        ("# SpacesBefore = \\n\n# SpacesBefore = \u00a0\n" + row(1, "a", "SpacesBefore=\\s") + "\n", "\n\u00a0 a "),
        (row(1, "a") + "\n# SpacesBefore = \\n\n" + row(1, "b") + "\n", "a \nb "),
        ("# SpacesBefore = \\s\u200b\\n\n\n", " \u200b\n"),
        ("\ufeff" + row(1, "a") + "\n", "a "),
        (row(1, "a b", "SpacesInToken=a\\s\\nb") + row(2, "c") + "\n", "a \nb c "),
        (row(1, "a b", "SpaceAfter=No|SpacesInToken=a\\r\\nb") + row(2, "c") + "\n", "a\r\nbc "),
        (row(1, "a b", "SpacesInToken=a\\nc") + "\n", "a b "),
        (row(1, "a b", "SpacesInToken=a\\n\\nb") + "\n", "a b "),
        ("\ufeff# SpacesBefore = \\s\n", " "),
        ("# nothing\n\n", ""),
        ("", ""),
    ],
)
def test_the_text_of_a_file(source, text):
    doc = Doc.from_conllu(source)
    assert doc.text == text
    again = Doc.from_conllu(doc.to_conllu())
    assert again == doc


def test_a_doubtful_mark_before_a_paragraph_stays_in_misc():
    source = "# text = a\n" + row(1, "a", "SpaceAfter=No") + "\n# newpar\n# text = b\n" + row(1, "b") + "\n"
    doc = Doc.from_conllu(source)
    assert doc.to_conllu() == source
    doc.tokens[0].spaces_after = " "
    assert "SpacesAfter=\\s\n" in doc.to_conllu()
    doc.sentences[1].new_paragraph = False
    assert Doc.from_conllu(doc.to_conllu()).text == "a b "


def test_line_ends_stay_out_of_the_text_comment():
    doc = Doc.from_spans("a \n\tb\u2028c\u00a0d", [[(0, 1), (4, 5), (6, 7), (8, 9)]])
    assert doc.to_conllu().startswith("# text = a b c\u00a0d\n1\ta")


def test_a_token_that_the_text_breaks_across_lines():
    """Its form has a space where the text has a line break; CoNLL-U and JSON give the text back."""
    doc = Doc.from_spans("20\r\n 000 km.", [[(0, 8), (9, 11), (11, 12)]])
    assert [token.form for token in doc.tokens] == ["20 000", "km", "."]
    assert doc.sentences[0].text == doc.text
    written = doc.to_conllu()
    assert "\t20 000\t" in written
    assert "# text = 20 000 km.\n" in written
    assert "SpacesInToken=20\\r\\n\\s000" in written
    again = Doc.from_conllu(written)
    assert again.text == doc.text
    assert [(token.start, token.end) for token in again.tokens] == [(0, 8), (9, 11), (11, 12)]
    assert [(word.start, word.end) for word in again.words] == [(0, 8), (9, 11), (11, 12)]
    assert Doc.from_json(json.loads(json.dumps(doc.to_json()))) == doc


def test_misc_keeps_its_order():
    for misc in ("CorrectForm=x|SpaceAfter=No|Xy=1", "SpaceAfter=No|ToDo=y", "Cxn=rc|SpaceAfter=No"):
        assert f"\t{misc}\n" in Doc.from_conllu(row(1, "a", misc) + row(2, "b") + "\n").to_conllu()


# -- comments, ranges, entities ------------------------------------------------------------------------------------


def test_documents_and_paragraphs():
    source = (
        "# newdoc id = d 1\n# newpar\n# sent_id = 1\n# text = x\n"
        + row(1, "a")
        + "\n#newpar id=p\n"
        + row(1, "b")
        + "\n"
    )
    first, second = Doc.from_conllu(source)
    assert (first.new_document, first.new_paragraph, first.comments) == ("d 1", True, ["# sent_id = 1"])
    assert (second.new_document, second.new_paragraph, second.comments) == (False, "p", [])
    assert first.begins
    assert second.begins


def test_documents_one_by_one(tmp_path):
    source = "".join(f"# newdoc id = {k}\n" + (row(1, "a") + "\n") * k for k in (1, 2, 3))
    path = tmp_path / "three.conllu"
    path.write_text(source)
    found = list(read_docs(path))
    assert [(len(doc), doc.sentences[0].new_document, doc.text) for doc in found] == [
        (1, "1", "a "),
        (2, "2", "a a "),
        (3, "3", "a a a "),
    ]
    path.write_text(Doc.from_spans(" \n", []).to_conllu())
    assert [doc.text for doc in read_docs(path)] == [" \n"]


def test_documents_come_before_the_file_ends():
    """One sentence of the next document has to be there."""

    def lines():
        yield from ["# newdoc\n", row(1, "a"), "\n", "# newdoc\n", row(1, "b"), "\n", row(1, "c")]
        raise AssertionError("read too far")

    assert next(docs_from_conllu(lines())).text == "a "


def test_comments_at_the_end_begin_nothing():
    doc = Doc.from_conllu(row(1, "a") + "\n# newdoc\n# so\n")
    assert doc.sentences[0].new_document is False
    assert doc.sentences[0].comments == ["# so"]


def test_entities():
    source = row(1, "Ada", "NER=B-PER") + row(2, "L.", "Gloss=x|NER=I-PER|SpaceAfter=No") + row(3, ",", "NER=O") + "\n"
    doc = Doc.from_conllu(source)
    (entity,) = doc.entities
    assert (entity.label, entity.first, entity.last, entity.text) == ("PER", 0, 2, "Ada L.")
    assert [word.misc for word in doc.words] == ["_", "Gloss=x", "NER=O"]
    assert doc.to_conllu().partition("\n")[2] == source
    strange = row(1, "Ada", "NER=person") + "\n"
    assert Doc.from_conllu(strange).words[0].misc == "NER=person"


def test_entities_from_labels():
    doc = Doc.from_spans("New York's", [[(0, 3), (4, 8), (8, 10)]])
    doc.sentences[0].set_entities(["B-LOC", "E-LOC", "O"])
    assert [entity.text for entity in doc.entities] == ["New York"]
    assert "2\tYork" + "\t_" * 7 + "\tNER=I-LOC|SpaceAfter=No\n" in doc.to_conllu()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (row(1, "a") + row(3, "b"), "f:2: word id 3 where 2 was expected"),
        ("1\ta\n", "f:1: 2 columns separated by tabs where 10 were expected"),
        ("1\ta\t_\t_\t_\t_\t-1\t_\t_\t_\n", "f:1: head '-1'; expected a word id, 0 or _"),
        (
            "1\ta\t_\t_\t_\t_\t" + "9" * 5000 + "\t_\t_\t_\n",
            f"f:1: head '{'9' * 80}…'; expected a word id, 0 or _",
        ),
        (
            "1-" + "9" * 5000 + "\tab" + "\t_" * 8 + "\n",
            f"f:1: malformed id '1-{'9' * 78}…'; expected a word id (3), a range (3-4) or an empty node (8.1)",
        ),
        ("2-3\tab" + "\t_" * 8 + "\n" + row(1, "a"), "f:1: range 2-3 before word 1; expected one from 1 on"),
        (
            "1-2\tab" + "\t_" * 8 + "\n" + row(1, "a"),
            "f:1: range 1-2 in a sentence of 1 words; expected it to end within the sentence",
        ),
        (
            "1-2\tab" + "\t_" * 8 + "\n" + row(1, "a") + "2-3\tbc" + "\t_" * 8 + "\n" + row(2, "b") + row(3, "c"),
            "f:3: range 2-3 before word 2; expected one from 3 on",
        ),
    ],
)
def test_errors_say_where(source, message):
    with pytest.raises(StructronError) as caught:
        Doc.from_conllu(source, "f")
    assert str(caught.value) == message


def test_what_conllu_cannot_hold():
    doc = Doc.from_spans("a b", [[(0, 1)], [(2, 3)]])
    doc.words[1].lemma = "x\ty"
    with pytest.raises(StructronError, match="sentence 2: a tab or line end"):
        doc.to_conllu()
    doc.words[1].lemma, doc.sentences[0].comments = "x", ["# a\nb"]
    with pytest.raises(StructronError, match="sentence 1: a tab or line end"):
        doc.to_conllu()


def test_an_empty_file_and_a_missing_one(tmp_path):
    path = tmp_path / "empty.conllu"
    path.write_text("")
    with pytest.raises(StructronError, match="the file is empty"):
        list(read_docs(path))
    with pytest.raises(StructronError, match="cannot be read"):
        read_docs(tmp_path / "missing")


@pytest.mark.parametrize("data", [{}, {"text": "a"}, {"text": "", "spaces_before": "", "sentences": [3]}])
def test_other_json_is_refused(data):
    with pytest.raises(StructronError, match=r"expected the output of Doc\.to_json"):
        Doc.from_json(data)


def test_a_word_spelled_otherwise_than_its_token():
    doc = Doc.from_spans("x y", [[(0, 1), (2, 3)]])
    doc.sentences[0].tokens[0] = Token("x", 0, 1, [Word(1, "ex", start=0, end=1)])
    assert Doc.from_conllu(doc.to_conllu()) == doc
    assert doc.tokens[0].id == "1-1"


# -- treebanks -----------------------------------------------------------------------------------------------------


@pytest.mark.corpora
@pytest.mark.parametrize("treebank", TREEBANKS)
def test_a_treebank_comes_back_to_the_line(corpora: Path, treebank: str):
    """Words, ranges and empty nodes in order; comments, the text of each sentence too, whatever their order."""
    path = corpora / treebank / "dev.conllu.gz"
    source = gzip.decompress(path.read_bytes()).decode()
    doc = Doc.from_conllu(source)
    written = doc.to_conllu()

    def split(text: str) -> tuple[list[str], list[Counter[str]]]:
        blocks = [block.split("\n") for block in text.split("\n\n")]
        rows = [line for block in blocks for line in block if line[:1] != "#"]
        return rows, [Counter(line for line in block if line[:1] == "#") for block in blocks]

    assert split(written) == split(source)
    assert Doc.from_conllu(written) == doc
    assert "\n".join(found.text.rstrip(" ") for found in read_docs(path)) == "\n".join(
        text.rstrip(" ") for text in doc_texts(doc)
    )


def doc_texts(doc: Doc) -> list[str]:
    """The texts of the documents in a document of all."""
    starts = [sentence.start for sentence in doc if sentence.new_document]
    starts[:1] = [0]
    ends = [*starts[1:], len(doc.text)]
    return [doc.text[lo:hi].removesuffix("\n\n") for lo, hi in zip(starts or [0], ends, strict=True)]
