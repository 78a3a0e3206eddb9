"""The tokenizer on generated text: it learns, and whatever it finds, the text is kept to the last character."""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings

import structron
from docs import TEXTS
from structron import StructronError
from structron.data.toy_english import NO_SPACE_BEFORE, toy_english
from structron.eval.scores import segmentation_scores
from structron.io import modelfile
from structron.io.doc import Doc
from structron.tasks.tokenizer import Tokenizer
from structron.text.pieces import is_space


def make_doc(sentences: list[list[str]], glue: str = " ", between: str = " ") -> Doc:
    """Sentences written as text: punctuation hangs on to the word before it."""
    text, spans = "", []
    for words in sentences:
        text += between if text else ""
        spans.append([])
        for k, word in enumerate(words):
            text += glue if k and word not in NO_SPACE_BEFORE else ""
            spans[-1].append((len(text), len(text) + len(word)))
            text += word
    return Doc.from_spans(text, spans)


@cache
def toy_docs(count: int, seed: int, size: int = 6) -> list[Doc]:
    sentences = [" ".join(s.words).replace(" n't", "n't").split() for s in toy_english(count, seed)]
    return [make_doc(sentences[k : k + size]) for k in range(0, count, size)]


def make(**more) -> Tokenizer:
    return Tokenizer(**{"passes": 3, "runs": 1} | more)


@cache
def trained() -> Tokenizer:
    return make().fit(toy_docs(120, 1))


def again(model: Tokenizer, path: Path) -> Tokenizer:
    model.save(path)
    return structron.load(path, task="tokenizer")


def forms(doc: Doc) -> list[list[str]]:
    return [[token.form for token in sentence.tokens] for sentence in doc.sentences]


def test_it_learns_words_and_sentences():
    model, test = make(runs=4, passes=5).fit(toy_docs(300, 1)), toy_docs(60, 2)
    scores = model.evaluate(test)
    assert scores.token_f1 > 99
    assert scores.sentence_f1 > 97
    assert scores.f1 == pytest.approx((scores.token_f1 + scores.sentence_f1) / 2)
    assert model.score(test) == scores.f1
    assert scores.report().startswith(f"{sum(len(doc.tokens) for doc in test)} tokens")
    assert model.evaluate(test, guess=model.predict([doc.text for doc in test])) == scores
    assert model.evaluate(test, guess=test).f1 == 100
    assert make(passes=2).fit(toy_docs(30, 1), dev=toy_docs(12, 3)).best_pass_ in (1, 2)
    assert model.inspect(top=3).labels.keys() == {"I", "S", "T"}


@given(TEXTS)
@example("")
@example(" \n\t\u200b")
@example("\u0301 \ud800")
@settings(max_examples=60)
def test_the_text_is_kept(text):
    (doc,) = trained().predict([text])
    assert doc.text == text
    tokens, place = doc.tokens, 0
    assert doc.spaces_before + "".join(token.form + token.spaces_after for token in tokens) == text
    for token in tokens:
        assert text[token.start : token.end] == token.form
        assert all(map(is_space, text[place : token.start]))
        assert not any(map(is_space, token.form))
        place = token.end
    assert all(map(is_space, text[place:]))
    assert all(sentence.tokens for sentence in doc.sentences)
    assert bool(doc.sentences) is not all(map(is_space, text))


def test_texts_do_not_touch_each_other():
    texts = [doc.text for doc in toy_docs(60, 2)]
    alone = [forms(trained().predict([text])[0]) for text in texts]
    mixed = trained().predict([text for own in texts for text in (own, "", " \n")])
    assert list(map(forms, mixed)) == [found for own in alone for found in (own, [], [])]
    assert trained().predict([]) == []
    assert list(map(forms, trained().predict(toy_docs(60, 2)))) == alone


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("structron.runtime.threads.BATCH_TOKENS", 20)
    texts = [doc.text for doc in toy_docs(60, 2)]
    assert trained().predict(texts, jobs=2) == trained().predict(texts)


def test_a_file_gives_it_back(tmp_path):
    model = trained()
    found = again(model, tmp_path / "m")
    texts = [doc.text for doc in toy_docs(30, 2)]
    assert found.predict(texts) == model.predict(texts)
    assert (found.fine_, found.spaces_) == (False, False)
    found.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("change", [{"fine": None}, {"columns": ["piece", "label"]}, {"model": {}}, {"scheme": 1}])
def test_damaged_files_are_refused_in_one_line(change, tmp_path):
    trained().save(tmp_path / "m")
    header, tensors = modelfile.load(tmp_path / "m")
    header["learned"] |= change
    if change.get("fine", 0) is None:
        del header["learned"]["fine"]
    if "scheme" in change:
        header["learned"]["model"]["labels"] = ["A", "B", "C"]
    with pytest.raises(StructronError, match=r"^m: damaged"):
        Tokenizer._read("m", header, tensors)


def test_blank_lines_end_paragraphs_and_every_line_if_asked():
    sentences = [s.words for s in toy_english(40, 3)]
    text = "The dog\nbarks.\n\nThe cat\r\n\r\nsleeps"
    (doc,) = trained().predict([text])
    bounds = {sentence.end for sentence in doc.sentences}
    assert {text.index("\n\n"), text.index("\r\n\r\n"), len(text)} <= bounds
    assert text.index("\n") not in bounds
    begins = [sentence.start for sentence in doc.sentences if sentence.new_paragraph]
    assert begins == [0, text.index("The cat"), text.index("sleeps")]
    model = make(lines=True).fit([make_doc(sentences, between="\n")])
    (doc,) = model.predict([text])
    assert {text.index("\n"), text.index("\r\n")} <= {sentence.end for sentence in doc.sentences}


def test_letters_where_training_data_divide_runs_of_them():
    sentences = [["don't", "can", "not", "."], ["can", "not", "go", "."]] * 20
    docs = [make_doc(sentences[k : k + 4]) for k in range(0, 40, 4)]
    coarse = make().fit(docs)
    assert not coarse.fine_
    glued = [Doc.from_spans("cannot go", [[(0, 3), (3, 6), (7, 9)]]), *docs]
    fine = make(passes=8).fit(glued * 2)
    assert fine.fine_
    (doc,) = fine.predict(["cannot go"])
    assert forms(doc) == [["can", "not", "go"]]
    many = [*toy_docs(120, 1), Doc.from_spans("cannot", [[(0, 3), (3, 6)]])]
    noted = make(passes=1).fit(many)
    assert not noted.fine_
    assert any("end inside a run of letters or digits, which cannot be learned" in note for note in noted.notes_)


def test_tokens_with_spaces_where_training_data_have_them():
    text = "It cost 10 000 euros ."
    spans = [[(0, 2), (3, 7), (8, 14), (15, 20), (21, 22)]]
    model = make(passes=8).fit([Doc.from_spans(text, spans)] * 10)
    assert model.spaces_
    for joined in (" ", "\n", " \r\n"):
        assert forms(model.predict([text.replace("10 000", f"10{joined}000")])[0]) == [
            ["It", "cost", "10 000", "euros", "."]
        ]
    for apart in ("  ", "\t"):
        assert forms(model.predict([text.replace("10 000", f"10{apart}000")])[0])[0][2:4] == ["10", "000"]


def test_what_is_no_document_is_refused():
    with pytest.raises(StructronError, match="training data: document 2 is 'The dog'; expected a Doc with sentences"):
        make().fit([toy_docs(6, 1)[0], "The dog"])
    with pytest.raises(StructronError, match="training data: no sentences; expected at least one with words"):
        make().fit([Doc("")])
    with pytest.raises(StructronError, match="data: text 1 is 7; expected a string or a Doc"):
        trained().predict([7])


def test_scores_in_numbers():
    """4 tokens and 2 sentences; 3 of 5 and 1 of 1 are found."""
    gold = [([(0, 2), (2, 3), (4, 6), (6, 7)], [(0, 3), (4, 7)])]
    found = [([(0, 2), (2, 3), (4, 5), (5, 6), (6, 7)], [(0, 3)])]
    scores = segmentation_scores(gold, found)
    assert scores.tokens == 4
    assert scores.token_f1 == pytest.approx(100 * 2 * 3 / (4 + 5))
    assert scores.sentence_f1 == pytest.approx(100 * 2 * 1 / (2 + 1))
