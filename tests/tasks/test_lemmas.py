"""Scripts that make lemmas which other words have: against the definition, and what the lemmatizer gains by them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structron
from structron import StructronError
from structron.features.templates import template_lines
from structron.io.tensors import pack_json
from structron.tasks.lemmas import ATOMS, EVIDENCE, KnownLemmas
from structron.tasks.scripts import Lemmatizer
from structron.text.scripts import apply_lemma, lemma_script

BARE = ["condemn", "smell", "hunt", "belong", "hand", "fail", "gain", "lack"]
MUTE = ["name", "provoke", "invite", "decide", "rule", "cite", "hope", "save"]
forms = st.text("abcdeA", min_size=1, max_size=5)


@given(st.sets(st.tuples(forms, forms), min_size=1, max_size=40), st.lists(forms, max_size=6))
def test_what_the_definition_says(pairs, more):
    """The commonest scripts that make lemmas of other forms, each lemma once, of all scripts tried one by one."""
    known = KnownLemmas.learn(pairs)
    counts = {}
    for form, lemma in pairs:
        counts[lemma_script(form, lemma)] = counts.get(lemma_script(form, lemma), 0) + 1
    ranked = sorted((-n, script) for script, n in counts.items() if n >= EVIDENCE and script[0] != "=")
    for word in [form for form, _ in pairs] + more:
        expected, made = [], set()
        for _, script in ranked:
            lemma = apply_lemma(script, word)
            others = {form for form, own in pairs if own == lemma} - {word}
            if lemma and lemma not in made and others and len(expected) < len(ATOMS):
                expected.append(script)
                made.add(lemma)
        assert [script for script in known(word) if script != "none"] == expected
        assert known(word) == known(word)


def test_a_name_in_lower_case_is_another_form():
    """chicago → Chicago, a lemma that `Chicago` has; of `Chicago` itself nothing is known by it."""
    pairs = [("Chicago", "Chicago"), *((name.lower(), name) for name in ("Paris", "Rome", "Athens"))]
    known = KnownLemmas.learn(pairs)
    assert known("chicago")[0] == lemma_script("paris", "Paris") == "T"
    assert set(known("Chicago")) == {"none"}
    earlier = {lemma: form.lower() for lemma, form in known.lemmas.items()}
    assert set(KnownLemmas.take({"known_lemmas": pack_json([known.scripts, earlier])})("chicago")) == {"none"}
    assert KnownLemmas.take(known.tensors())("chicago") == known("chicago")


def sentences(stems, ends):
    return [[(stem + end, "VERB", stem) for end in ends] for stem in stems]


@pytest.fixture(scope="module")
def lemmatizer():
    """Past tenses of half of the verbs; of the others only the infinitives, of which nobody can learn an ending."""
    half = sentences(BARE[:4], ["", "ed", "ing"]) + [
        [(stem, "VERB", stem), (f"{stem}d", "VERB", stem), (f"{stem[:-1]}ing", "VERB", stem)] for stem in MUTE[:4]
    ]
    return Lemmatizer(columns=["form", "upos", "lemma"]).fit(half + sentences(BARE[4:] + MUTE[4:], ["", "s"]))


def test_a_lemma_that_another_form_has_is_found(lemmatizer, tmp_path):
    new = [[(f"{stem}ed", "VERB") for stem in BARE[4:]] + [(f"{stem[:-1]}ing", "VERB") for stem in MUTE[4:]]]
    assert lemmatizer.predict(new) == [BARE[4:] + MUTE[4:]]
    lemmatizer.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert again.predict(new) == lemmatizer.predict(new)
    assert (again.known_.scripts, again.known_.lemmas) == (lemmatizer.known_.scripts, lemmatizer.known_.lemmas)
    assert any(c.feature.startswith("known") for d in lemmatizer.explain(new[0], top=99) for c in d.because)


def test_templates_of_ones_own_need_not_look_at_them(lemmatizer, tmp_path):
    own = [line for line in template_lines("lemmatizer-words") if "known" not in line]
    model = Lemmatizer(columns=["form", "upos", "lemma"], templates=own).fit(sentences(BARE, ["", "ed"]))
    model.save(tmp_path / "m")
    assert not structron.load(tmp_path / "m").known_.lemmas
    assert "known_lemmas" not in model._state(model.model_)[1]
    columns = ["form", "known1", "lemma"]
    rows = [[(form, tag, lemma) for form, tag, lemma in sentence] for sentence in sentences(BARE, ["", "ed"])]
    mine = Lemmatizer(columns=columns, templates=["w[0]", "known1[0]", "lsuffix2[0]"]).fit(rows)
    assert not mine.known_.lemmas  # the user's own column has the name


@pytest.mark.parametrize(
    "damaged", [5, [1, 2, 3], [["L"], {}, 1], [["L"], {}, True, 0], [["L"], []], [[1], {}], [["L"], {"a": 1}]]
)
def test_damaged_lemmas_are_refused(damaged):
    with pytest.raises(ValueError, match="known lemmas do not fit"):
        KnownLemmas.take({"known_lemmas": pack_json(damaged)})


def test_bad_rows_are_told_as_everywhere():
    with pytest.raises(StructronError, match=re.escape("training data: sentence 2, token 1")):
        Lemmatizer(columns=["form", "upos", "lemma"]).fit([*sentences(BARE, ["s"])[:1], [("a", "b")]])
