"""Edit scripts make what they were made of, of any text; their demands are true of it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structron.features.lexicon import normal
from structron.text.scripts import (
    apply_lemma,
    apply_words,
    lemma_demands,
    lemma_in_words,
    lemma_script,
    words_demands,
    words_script,
)

ALPHABET = "abAB sß→|=~_-'ΣσςİıIiŉdžDžDŽﬁ\u0307\u0301éÉ\u00adა"
texts = st.text(max_size=12).filter(lambda text: not set("\t\n") & set(text)) | st.text(ALPHABET, max_size=8)
words = texts.map(lambda text: text.replace(" ", "")).filter(bool)


@given(texts, texts)
@example("ΑΣΑΒΓ", "ΑΒΓ")
@example("ΓΟΔΣ", "ΓΟΔ")
@example("İİ", "i")
def test_a_script_makes_the_lemma(form, lemma):
    script = lemma_script(form, lemma)
    assert apply_lemma(script, form) == lemma
    front, back = map(normal, lemma_demands(script))
    assert normal(form).startswith(front)
    assert normal(form).endswith(back)
    assert len(front) + len(back) <= len(normal(form))


@pytest.mark.parametrize("address", ["http://a.org/x", "www.a.org/B", "me@a.org", "a_b"])
def test_addresses_stay_as_they_are(address):
    script = lemma_script(address, address)
    assert apply_lemma(script, "http://A.org/EN") == "http://A.org/EN"


@given(texts, st.lists(words, min_size=1, max_size=4).map(tuple))
@example("ΑΣΑ", ("Α", "ΣΑ"))
@example("_", ("_",))
@example("x", ("_",))
@example("x", ("=", "~L"))
@example("~X", ("~x",))
def test_a_script_makes_the_words(form, made):
    script = words_script(form, made)
    assert apply_words(script, form) == made
    front, back = map(normal, words_demands(script))
    assert normal(form).startswith(front)
    assert normal(form).endswith(back)


@given(texts, texts, texts, texts)
def test_scripts_of_other_forms_change_or_do_not_fit(form, lemma, other, word):
    """None exactly where a demand is not met, in the case that the script looks at."""
    script = lemma_script(form, lemma)
    found = apply_lemma(script, other)
    assert found is None or isinstance(found, str)
    made = apply_words(words_script(form, (word,) if word else ("x",)), other)
    assert made
    if script[:1] != "=" and found is not None:
        front, back = map(normal, lemma_demands(script))
        assert normal(other).startswith(front)
        assert normal(other).endswith(back)


@pytest.mark.parametrize(
    ("form", "lemma", "script"),
    [
        ("Houses", "house", "Ls→"),
        ("cats", "cat", "Ls→"),
        ("gegeben", "geben", "Lge→|"),
        ("PARIS", "Paris", "T"),
        ("paris", "Paris", "T"),
        ("Paris", "Paris", "K"),
        ("nasa", "NASA", "U"),
        ("went", "go", "=go"),
        ("NASA", "NASA", "K"),
        ("the", "the", "L"),
        ("ab→b", "ab", "=ab"),
        ("x", "", "="),
    ],
)
def test_scripts_of_lemmas(form, lemma, script):
    assert lemma_script(form, lemma) == script


@pytest.mark.parametrize(
    ("form", "made", "script"),
    [
        ("dog", ("dog",), "_"),
        ("didn't", ("did", "n't"), "~Ln't→ n't"),
        ("Didn't", ("Did", "n't"), "~Ln't→ n't"),
        ("DIDN'T", ("DID", "N'T"), "~Ln't→ n't"),
        ("della", ("di", "la"), "di ~Ldel→|"),
        ("vederlo", ("vedere", "lo"), "~Llo→e lo"),
        ("du", ("de", "le"), "de le"),
        ("Du", ("De", "le"), "de le"),
        ("du", ("DE", "le"), "=DE le"),
    ],
)
def test_scripts_of_words(form, made, script):
    assert words_script(form, made) == script
    assert apply_words(script, form) == made


def test_scripts_that_do_not_fit():
    assert apply_lemma("Ls→", "dog") is None
    assert apply_lemma("Lge→|", "GEHT") == "ht"
    assert apply_lemma("La→|a→", "a") is None
    assert apply_lemma("Ks→", "CATS") is None
    assert apply_words("~Ln't→ n't", "dog") == ("dog",)


@pytest.mark.parametrize(
    ("form", "lemma", "words"),
    [
        ("house", "house", "house: unchanged"),
        ("House", "house", "house: lower case"),
        ("Houses", "house", "house: lower case, without -s"),
        ("flies", "fly", "fly: -ies becomes -y"),
        ("PARIS", "Paris", "Paris: first letter a capital"),
        ("gegeben", "geben", "geben: without ge-"),
        ("went", "go", "go: a form of its own"),
        ("κυβερνήσεων", "κυβέρνηση", "κυβέρνηση: -εων becomes -η, the accent moves"),
    ],
)
def test_scripts_are_told_in_words(form, lemma, words):
    assert lemma_in_words(lemma_script(form, lemma), form) == words


def test_a_script_that_does_not_fit_leaves_the_form():
    assert lemma_in_words(lemma_script("houses", "house"), "cat").startswith("cat: ")
