"""Long text in blocks: the same analysis as in one piece, and every byte of it."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structron
from estimators import fitted
from structron.io.doc import Doc
from structron.tasks import tokenizer
from structron.tasks.pipeline import stream
from toy import toy_docs

TEXT = "\n\n".join(doc.text for doc in toy_docs(60, 5))
GAPS = ("\n\n", "\n \n \n\n", "\n\n\t", " \n\n\n")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_CHARACTERS", 300)
    monkeypatch.setattr(stream, "LONG", 900)
    monkeypatch.setenv("STRUCTRON_MAX_SENTENCE", "2000")


@pytest.fixture(scope="module")
def nlp() -> structron.Pipeline:
    """Document features look further than a block: without entities all of it is the same."""
    return structron.Pipeline(without=["entities", "parser"]).fit(toy_docs(60, 3))


def lines_of(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def joined(docs: list[Doc]) -> Doc:
    return Doc("".join(doc.text for doc in docs), [s for doc in docs for s in doc.sentences], docs[0].spaces_before)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blocks_are_the_whole(nlp, end):
    text = TEXT.replace("\n", end)
    docs = list(stream.blocks(lines_of(text), nlp, _sentences(nlp)))
    assert len(docs) > 5
    assert joined(docs).to_conllu() == nlp(text).to_conllu()
    assert joined(docs) == nlp(text)


@pytest.mark.parametrize("gap", GAPS)
def test_white_space_between_blocks(nlp, gap):
    text = f"\n {TEXT.replace(chr(10) * 2, gap)}{gap}"
    docs = list(stream.blocks(lines_of(text), nlp, _sentences(nlp)))
    assert len(docs) > 5
    assert joined(docs) == nlp(text)
    assert not any(doc.spaces_before for doc in docs[1:])


def test_every_line_a_paragraph(nlp):
    text = TEXT.replace("\n\n", "\n")
    nlp.lines = True
    try:
        docs = list(stream.blocks(lines_of(text), nlp, _sentences(nlp), each_line=True))
        assert len(docs) > 5
        assert joined(docs) == nlp(text)
    finally:
        nlp.lines = False


def test_a_paragraph_without_end_is_cut_at_a_sentence(nlp):
    text = TEXT.replace("\n\n", " ")
    lines = [text[lo:hi] for lo, hi in pairwise([*range(0, len(text), 100), len(text)])]
    docs = list(stream.blocks(lines, nlp, _sentences(nlp)))
    assert len(docs) > 2
    found = joined(docs)
    assert found.text == text
    assert all(text[token.start : token.end] == token.form for token in found.tokens)
    assert sum(s.new_paragraph is not False for s in found.sentences) == 1
    ours, theirs = ({(s.start, s.end) for s in doc.sentences} for doc in (found, nlp(text)))
    assert len(ours & theirs) > 0.9 * len(theirs)


def test_one_sentence_that_ends_late():
    docs = list(stream.blocks(["word " * 100] * 4, _one_sentence, _one_sentence))
    assert [doc.text for doc in docs] == ["word " * 400]


def test_a_sentence_that_never_ends_is_refused_before_it_is_analysed():
    read = []

    def lines():
        while True:
            read.append("word " * 100)
            yield read[-1]

    def analyse(text: str) -> Doc:
        raise AssertionError("nothing is to be analysed")

    with pytest.raises(structron.StructronError, match="character 0: a sentence of more than 900 characters"):
        list(stream.blocks(lines(), analyse, _one_sentence))
    assert len(read) == 5


def test_words_without_end_are_cut_after_so_many(nlp, monkeypatch):
    """A list of words is no sentence; it is taken as long as a sentence may be."""
    monkeypatch.setattr(tokenizer, "MOST_TOKENS", 50)
    monkeypatch.setattr(stream, "MOST_TOKENS", 50)
    text = "man " * 480
    found = joined(list(stream.blocks([text], nlp, _sentences(nlp))))
    assert found.text == text
    assert [len(s.tokens) for s in found.sentences] == [50] * 9 + [30]
    assert [(t.start, t.end) for t in found.tokens] == [(4 * k, 4 * k + 3) for k in range(480)]
    with pytest.raises(structron.StructronError, match="--max-sentence raises the limit"):
        list(stream.blocks([text, text], nlp, _sentences(nlp)))


def _one_sentence(text: str) -> Doc:
    return Doc.from_spans(text, [[(0, 4)]])


def _sentences(nlp: structron.Pipeline) -> Callable[[str], Doc]:
    return lambda text: nlp.part("tokenizer").predict([text])[0]


@pytest.mark.parametrize("text", ["", " ", "\n\n \n"])
def test_nothing(text):
    (doc,) = stream.blocks(lines_of(text), _tokens, _tokens)
    assert (doc.text, doc.sentences, doc.spaces_before) == (text, [], text)


def _tokens(text: str) -> Doc:
    return fitted("tokenizer").predict([text])[0]


@given(st.text(st.sampled_from("ab .!\n\r\t\u00a0\u200b中\U0001f600") | st.characters(codec="utf-8"), max_size=60))
def test_any_text_comes_back(text):
    """From tokens and white space, from blocks and from CoNLL-U."""
    whole = _tokens(text)
    assert whole.text == text
    assert whole.spaces_before + "".join(t.form + t.spaces_after for t in whole.tokens) == text
    assert all(text[t.start : t.end] == t.form for t in whole.tokens)
    assert joined(list(stream.blocks(lines_of(text), _tokens, _tokens))).text == text
    assert Doc.from_conllu(whole.to_conllu()).text == text
