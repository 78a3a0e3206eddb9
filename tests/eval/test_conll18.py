"""The scores of CoNLL 2018: by hand, against figures of the shared task's script, and by properties."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given

from docs import conllu, docs
from structron.errors import StructronError
from structron.eval.conll18 import UDScores, ud_scores
from structron.io.doc import Doc

ORACLE = Path(os.environ.get("STRUCTRON_ORACLES", Path(__file__).parents[3] / "shared" / "oracles")) / "ud_eval.json"
METRICS = [
    "Tokens",
    "Sentences",
    "Words",
    "UPOS",
    "XPOS",
    "UFeats",
    "AllTags",
    "Lemmas",
    "UAS",
    "LAS",
    "CLAS",
    "MLAS",
    "BLEX",
]


def score(gold: str, guess: str) -> UDScores:
    return ud_scores(Doc.from_conllu(gold), Doc.from_conllu(guess))


@pytest.mark.skipif(not ORACLE.exists(), reason="no figures of the script here")
def test_the_script_says_the_same():
    for case in json.loads(ORACLE.read_text())["cases"]:
        found = score(case["gold"], case["system"])
        assert list(found.metrics) == METRICS
        for name, figures in case["scores"].items():
            metric = found.metrics[name]
            assert {key: round(getattr(metric, key), 6) for key in figures} == figures
            assert (metric.aligned_accuracy is None) == ("aligned_accuracy" not in figures)
            assert getattr(found, name.lower()) == metric.f1


# Gold and guessed tokens, and how many words are aligned.
ALIGNED = [
    ("one two", "one two", 2),
    ("cannot go", "can not go", 1),
    ("cannot:can+not go", "can not go", 3),
    ("cannot:can+not go", "can notgo", 1),
    ("dunno:do+not+know", "dun:do+n no:not", 2),
    ("della:di+la Casa", "della:DI+le Casa", 2),
    ("xab:x+y c", "x ab:a+b c", 2),
    ("ab:p+q cdef:r+s gh", "abc:p+t de:r+u fgh:s+gh", 4),  # each multiword token reaches into the next
    ("ab:a+b cd", "ab:b+a cd", 2),
    ("ab:a+b", "ab", 0),
]


@pytest.mark.parametrize(("gold", "guess", "aligned"), ALIGNED)
def test_alignment(gold, guess, aligned):
    for one, other in [(gold, guess), (guess, gold)]:
        found = score(conllu(one), conllu(other)).metrics["Words"]
        counts = [len(Doc.from_conllu(conllu(side)).words) for side in (one, other)]
        assert (found.gold, found.found, found.correct) == (*counts, aligned)


def test_a_word_before_a_multiword_token_may_be_aligned_with_its_words():
    """As in the script: of the words that the other side lags behind, only the first is left out."""
    assert score(conllu("abc bx:b+x"), conllu("a b c bx")).metrics["Words"].correct == 1
    assert score(conllu("a b c bx"), conllu("abc bx:b+x")).metrics["Words"].correct == 0


def test_tokens_and_sentences():
    found = score(conllu("a b~ c", "d e"), conllu("a bc", "d", "e"))
    assert (found.metrics["Tokens"].gold, found.metrics["Tokens"].found, found.metrics["Tokens"].correct) == (5, 4, 3)
    assert found.tokens == pytest.approx(100 * 2 * 3 / 9)
    assert found.sentences == pytest.approx(100 * 2 * 1 / 5)
    assert found.words == found.tokens


GOLD = {
    "lemma": "the dog _ bark",
    "upos": "DET NOUN AUX VERB",
    "xpos": "DT NN MD VB",
    "feats": "Definite=Def Own=x|Number=Sing VerbForm=Fin _",
    "head": "2 4 4 0",
    "deprel": "det nsubj:x aux root",
}


def change(**columns: str) -> UDScores:
    return score(conllu("the dog will bark", **GOLD), conllu("the dog will bark", **{**GOLD, **columns}))


def wrong(found: UDScores) -> dict[str, int]:
    return {name: metric.gold - metric.correct for name, metric in found.metrics.items() if metric.f1 < 100}


def test_what_each_column_costs():
    """The function words `the` and `will` count for MLAS with `dog` and `bark` above them."""
    assert not wrong(change())
    assert not wrong(change(lemma="the dog would bark"))
    assert not wrong(change(deprel="det nsubj aux root"))
    assert not wrong(change(feats="Definite=Def Number=Sing|Mine=1 VerbForm=Fin _"))
    assert wrong(change(lemma="the cat _ bark")) == {"Lemmas": 1, "BLEX": 1}
    assert wrong(change(lemma="th dog _ bark")) == {"Lemmas": 1}
    assert wrong(change(xpos="DT NN MD VBP")) == {"XPOS": 1, "AllTags": 1}
    assert wrong(change(upos="PRON NOUN AUX VERB")) == {"UPOS": 1, "AllTags": 1, "MLAS": 1}
    assert wrong(change(feats="_ Number=Sing VerbForm=Fin _")) == {"UFeats": 1, "AllTags": 1, "MLAS": 1}
    assert wrong(change(head="4 4 4 0")) == {"UAS": 1, "LAS": 1, "MLAS": 2}
    assert wrong(change(head="2 3 4 0")) == {"UAS": 1, "LAS": 1, "CLAS": 1, "MLAS": 1, "BLEX": 1}
    assert wrong(change(deprel="det obj aux root")) == {"LAS": 1, "CLAS": 1, "MLAS": 1, "BLEX": 1}


def test_counts_of_content_words_differ():
    found = change(deprel="det nsubj obj root").metrics["CLAS"]
    assert (found.gold, found.found, found.correct, found.aligned_accuracy) == (2, 3, 2, 100.0)
    assert found.precision == pytest.approx(200 / 3)


def test_accuracy_of_aligned_words():
    """Two of three words are aligned, one of them with the right tag."""
    found = score(conllu("a b c", upos="X Y Z"), conllu("a b~ c", upos="X X Z").replace("SpaceAfter=No", "_"))
    assert found.upos == pytest.approx(200 / 3)
    found = score(conllu("a b~ c", upos="X Y Z"), conllu("a bc", upos="Y X"))
    assert found.metrics["UPOS"].aligned_accuracy == 0
    assert found.metrics["XPOS"].aligned_accuracy == 100
    assert found.xpos == pytest.approx(100 * 2 * 1 / 5)


def test_words_without_heads_are_wrong():
    plain = conllu("a b")
    found = score(plain, plain)
    assert (found.words, found.upos, found.uas, found.las) == (100, 100, 0, 0)


@given(docs())
def test_a_text_agrees_with_itself(doc):
    found = ud_scores(doc, list(doc))
    full = 100 if doc.sentences else 0
    assert (found.tokens, found.sentences, found.words, found.alltags, found.lemmas) == (full,) * 5


def test_another_text_is_refused():
    with pytest.raises(StructronError) as caught:
        score(conllu("so it goes"), conllu("so", "it gone"))
    assert str(caught.value) == (
        "the predicted tokens spell a different text from character 7 on (white space not counted): 'ne'; expected 'es'"
    )
    with pytest.raises(StructronError, match=r"from character 3 on .*: 'b'; expected the end"):
        score(conllu("so"), conllu("so b"))
    with pytest.raises(StructronError, match=r"sentence 1: token .* is white space"):
        score(conllu("so").replace("so", "\u3000"), conllu("so"))


def test_spaces_inside_tokens_do_not_count():
    assert score(conllu("1x000").replace("x", " "), conllu("1000")).words == 100


def test_the_report():
    found = change(head="4 4 4 0")
    lines = found.report().split("\n")
    assert lines[0].split() == ["metric", "precision", "recall", "f1", "aligned", "gold", "found", "correct"]
    assert [line.split()[0] for line in lines[1:]] == METRICS
    assert lines[1].split()[1:] == ["100.00", "100.00", "100.00", "4", "4", "4"]
    assert lines[9].split()[1:] == ["75.00", "75.00", "75.00", "75.00", "4", "4", "3"]
    assert json.loads(json.dumps(found.as_dict()))["metrics"]["UAS"]["correct"] == 3
