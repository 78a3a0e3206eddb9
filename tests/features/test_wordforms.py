"""Users' lexicons: reading files, looking words up, what they allow, and models that have them."""

import gzip
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structron
from structron.errors import StructronError
from structron.features.encode import Column
from structron.features.extract import TemplateExtractor
from structron.features.templates import load_templates, parse_templates
from structron.features.wordforms import ATOMS, LexiconScripts, LexiconTags, WordForms, make_lexicon
from structron.io.tensors import pack
from structron.tasks.tokens import telling

ROWS = [
    ("dogs", "dog", "NOUN", "NNS", "Number=Plur"),
    ("saw", "saw", "NOUN", "NN", "Number=Sing"),
    ("saw", "see", "VERB", "VBD", "Mood=Ind|Tense=Past"),
    ("saw", "saw", "VERB", "VBP", "Tense=Pres"),
    ("Paris", "Paris", "PROPN"),
    ("went", "go", "VERB"),
    ("oh", "oh", "INTJ", "_", "_"),
    ("thing", "_", "_"),
]
LEXICON = WordForms.of(ROWS)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=6)
tags = st.sampled_from(["NOUN", "VERB", "X"])


@settings(max_examples=40)
@given(st.lists(st.tuples(texts, texts.filter(lambda text: text != "_"), tags), min_size=1, max_size=12))
def test_forms_have_their_lemmas_in_order(rows):
    lexicon = WordForms.of(rows)
    for again in (lexicon, WordForms.take(lexicon.about, dict(lexicon.tensors))):
        for form, _, upos in rows:
            expected = dict.fromkeys(lemma for own, lemma, tag in rows if own == form and tag == upos)
            assert again.lemmas_of([form], [upos])[0][: len(expected)] == list(expected)
        assert again.summary == lexicon.summary


def atoms(words):
    found = LEXICON.columns(Column.of(words), ATOMS)
    for column in found.values():
        values = column.known[0, 0][column.ids]
        assert [bool(value) for value in values] == [bool(text) for text in column.texts()]
    return list(zip(*(found[name].texts() for name in ATOMS), strict=True))


def test_atoms_are_the_tags_of_a_form():
    saw = ("NOUN|VERB", "NN|VBD|VBP", "Mood=Ind|Number=Sing|Tense=Past,Pres")
    assert atoms(["saw", "dogs", "went", "oh", "thing", "cat"]) == [
        saw,
        ("NOUN", "NNS", "Number=Plur"),
        ("VERB", "", ""),
        ("INTJ", "", "_"),
        ("", "", ""),
        ("", "", ""),
    ]
    assert atoms(["Saw", "SAW", "PARIS", "paris", "pARIS"]) == [saw, saw, *[("PROPN", "", "")] * 3]
    both = WordForms.of([("Bill", "Bill", "PROPN"), ("bill", "bill", "NOUN")])
    assert both.columns(Column.of(["Bill", "bill"]), ["lex"])["lex"].texts() == ["NOUN|PROPN", "NOUN"]


def test_lemmas_agree_with_the_part_of_speech():
    asked = [("saw", "NOUN"), ("saw", "VERB"), ("saw", ""), ("Saw", "VERB"), ("saw", "ADJ"), ("PARIS", "PROPN")]
    found = LEXICON.lemmas_of(*map(list, zip(*asked, strict=True)))
    assert found == [["saw"], ["see", "saw"], ["saw", "see"], ["see", "saw"], [], ["Paris"]]
    assert LEXICON.lemmas_of(["thing", "cat"], ["", ""]) == [[], []]
    assert LEXICON.are_lemmas(["saw", "dogs", "Paris", "dog", "thing"]) == [True, False, True, False, False]


def test_labels_that_a_lexicon_has_for_words():
    labels = ["NOUN NN Number=Sing", "VERB VBD Mood=Ind|Tense=Past", "VERB VBN _", "INTJ UH _", "PROPN NNP _"]
    all_three = LexiconTags(LEXICON, "upos+xpos+feats", labels, ["upos"])
    asked = [("saw", ("NOUN",)), ("saw", ("VERB",)), ("went", ("VERB",)), ("went", ("NOUN",)), ("Oh", ("INTJ",))]
    assert all_three(*map(list, zip(*asked, strict=True))) == [[0], [1], [1, 2], [], [3]]
    for column, own, expected in [
        ("upos", ["NOUN", "VERB", "X"], [0, 1]),
        ("xpos", ["VBD", "NN"], [1, 0]),
        ("tag", ["VB", "NN", "VERB"], [1, 2]),
        ("feats", ["Number=Sing", "_"], [0]),
    ]:
        found = LexiconTags(LEXICON, column, own)
        assert found(["saw"], [()]) == [expected]
        allowed = found.allowed(["saw", "cat"])
        assert (np.flatnonzero(allowed[0]).tolist(), allowed[1].any()) == (sorted(expected), False)
        sets, place = found.sets(np.ones(len(own), bool))
        number = int(LEXICON.class_of(["saw"])[0])
        assert np.flatnonzero(sets[place[number]]).tolist() == sorted(expected)
    scripts = LexiconScripts(LEXICON, ["L", "Ls→", "=see", "=go"], ["upos"])
    asked = [("Dogs", ("NOUN",)), ("went", ("VERB",)), ("went", ("NOUN",)), ("cats", ("NOUN",))]
    assert scripts(*map(list, zip(*asked, strict=True))) == [[1], [3], [], []]


def test_files(tmp_path):
    lines = "".join("\t".join(row) + "\n" for row in ROWS)
    (tmp_path / "plain").write_text("\ufeff" + lines.replace("\n", "\r\n", 1) + "\n", newline="")
    (tmp_path / "packed").write_bytes(gzip.compress((lines + lines).encode()))
    for name in ("plain", "packed"):
        found = WordForms.from_file(tmp_path / name)
        assert found.about == LEXICON.about | {"name": name}
        assert (found.about["words"], found.about["entries"]) == (6, 8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "file: no words; expected a form, its lemma and UPOS, and possibly XPOS and FEATS, between tabs"),
        ("dogs\tdog\tNOUN\ncats\tcat\n", "file:2: 'cats\\tcat'; expected a form"),
        ("dogs dog NOUN\n", "file:1: 'dogs dog NOUN'; expected a form"),
        ("a\ta\tX\n\ta\tX\n", "file:2: '\\ta\\tX'; expected"),
        ("a\tb\tc\td\te\tf\n", "file:1: 'a\\tb\\tc\\td\\te\\tf'; expected"),
        ("a\ta\tX\n" + "b" * 20_000 + "\n", "file:2: a line of 20000 characters; expected"),
        ("".join(f"a\t{k}b\tX\n" for k in range(12)), "file: 'a': more than 10 entries of a form"),
    ],
)
def test_mistakes_in_files(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr("structron.features.wordforms.MOST_ENTRIES", 10)
    file = tmp_path / "file"
    file.write_text(content)
    with pytest.raises(StructronError) as error:
        WordForms.from_file(file)
    assert str(error.value).replace(f"{tmp_path}/", "").startswith(message)


@pytest.mark.parametrize("odd", [[], {"a": "b"}, [("a", "b")], [("a", "b", 1)], ["abc"], 3, [("a", "b\tc", "X")]])
def test_what_is_no_lexicon(odd):
    with pytest.raises(StructronError, match=r"lexicon: .*; expected a file, or rows"):
        make_lexicon(odd)


def test_templates():
    extractor = TemplateExtractor(["w", "y"], "y", parse_templates(["lex[0]", "lex[0]|lex[1]"]), tables=[LEXICON])
    prepared = extractor.prepare([["saw", "dogs", "cat"]])
    names = [[name for _, name, _ in prepared.describe(0, token, False)] for token in range(3)]
    assert names == [["lex[0]=NOUN|VERB", "lex[0]|lex[1]=NOUN|VERB|NOUN"], ["lex[0]=NOUN"], []]
    usual = TemplateExtractor(["w", "y"], "y", parse_templates(["w[0]"]), tables=[LEXICON])
    assert [str(t) for t in usual.templates] == ["w[0]", "lex[0]"]
    for preset in ("tagger", "chunker", "lemmatizer"):
        without, with_it = load_templates(preset), load_templates(preset, ["lexicon"])
        assert with_it[: len(without)] == without
        assert any(name == "lex" for t in with_it for name, _ in t.parts)
        assert not any(name in ATOMS for t in without for name, _ in t.parts)
    assert telling({"lexicon": LEXICON}) == ["lexicon"]
    assert telling({"lexicon": WordForms.of([("dogs", "dog", "_")])}) == []
    with pytest.raises(StructronError, match=r"column 'lex': with a lexicon, templates use this name .*; rename it"):
        TemplateExtractor(["w", "lex", "y"], "y", parse_templates(["w[0]"]), tables=[LEXICON])


def _tagged(first: int, count: int) -> list:
    """Sentences of words that are seen once: the lexicon alone says what they are."""
    return [[(f"w{first + 4 * s + k}", "AB"[(first + 4 * s + k) % 3 == 0]) for k in range(4)] for s in range(count)]


TAGGED = [(f"w{k}", "w", "B" if k % 3 == 0 else "A") for k in range(400)]


@pytest.mark.parametrize("options", [{"among": "all"}, {"among": "seen"}, {"beam": 2}], ids=str)
def test_a_lexicon_tells_what_unknown_words_are(options, tmp_path):
    train, test = _tagged(0, 40), _tagged(200, 40)
    plain = {"passes": 3, "runs": 1, "cutoff": 0, "templates": ["w[0]"]} | options
    model = structron.Tagger(**plain, lexicon=TAGGED).fit(train)
    bare = [[row[:1] for row in sentence] for sentence in test]
    correct = [[label for _, label in sentence] for sentence in test]
    assert model.predict(bare) == correct
    assert structron.Tagger(**plain).fit(train).predict(bare) != correct
    model.save(tmp_path / "model")
    again = structron.load(tmp_path / "model")
    assert again.predict(bare) == correct
    assert f"lexicon lexicon {model.lexicon_.about['digest']}" in again.signature_
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    if options != {"among": "seen"}:
        more = [[(f"w{k}", "C")] for k in range(399, 340, -2)]  # going on, the lexicon is the one that it had
        assert again.partial_fit(more * 3).lexicon_.summary == model.lexicon_.summary


SEEN = [[("xa", "A"), ("xb", "B"), ("the", "D")] for _ in range(120)] + [[(f"{c}a", "A")] for c in "bcdfghij"]
QUICK = {"columns": ["form", "upos"], "passes": 2, "runs": 1, "cutoff": 0, "templates": ["w[0]", "lex[0]"]}
FURTHER = [("zza", "z", "B"), ("zzd", "z", "D"), ("xa", "x", "A"), ("the", "the", "D")]


def _reloaded(model, path):
    model.save(path)
    return [model, structron.load(path)]


def test_choices_of_words_have_those_of_the_lexicon(tmp_path):
    plain, model = (structron.Tagger(**QUICK, among="seen", lexicon=own).fit(SEEN) for own in (FURTHER[2:], FURTHER))
    sets = []
    for own in (plain, *_reloaded(model, tmp_path / "model")):
        prepared = own.extractor_.prepare([["zza", "zzd", "qqa"]])
        first, choice = own.model_.lexicon.choices(prepared, slice(0, 3))
        sets.append([{own.model_.labels[y] for y in choice[lo:hi]} for lo, hi in pairwise(first)])
    assert sets[1] == sets[2] == [sets[0][0] | {"B"}, sets[0][1] | {"D"}, sets[0][2]]
    assert "B" not in sets[0][0]


def test_closed_classes_of_words_have_those_of_the_lexicon(tmp_path):
    """All three labels are closed in the training data, but A."""
    words = ["zza", "zzd", "qqd", "ZZD", "xa", "xb"]
    for own in _reloaded(structron.Tagger(**QUICK, closed_classes=True, lexicon=FURTHER).fit(SEEN), tmp_path / "model"):
        found = own.model_.dictionary
        rows = found.masks_of(own.extractor_.prepare([words]), slice(0, len(words)))
        allowed = ["".join(own.model_.labels[y] for y in np.flatnonzero(found.masks[row])) for row in rows]
        assert allowed == ["AB", "AD", "A", "AD", "A", "AB"]
    once = structron.Tagger(**QUICK, tag_dictionary=5, lexicon=[("xa", "x", "D")]).fit(SEEN).model_
    allowed = once.dictionary.masks[once.dictionary.mask[once.dictionary.find(["xa", "xb"])]]
    assert [[once.labels[y] for y in np.flatnonzero(row)] for row in allowed] == [["A", "D"], ["B"]]


def test_lemmas_of_unknown_words(tmp_path):
    """They come from the lexicon where it agrees with the training data, and from scripts elsewhere."""
    regular = [[(f"{stem}{k}s", "NOUN", f"{stem}{k}")] for stem in ("cat", "dog") for k in range(12)]
    train = [*regular, *[[(f"ran{k}", "VERB", f"run{k}")] for k in range(12)]]
    lexicon = [row for (row,) in ([(form, lemma, upos)] for [(form, upos, lemma)] in train if upos == "NOUN")]
    lexicon += [("mice", "mouse", "NOUN"), ("lens", "lens", "NOUN"), ("ran99", "xyz", "VERB"), ("ran1", "q", "VERB")]
    model = structron.Lemmatizer(columns=["form", "upos", "lemma"], passes=2, runs=1, cutoff=0, lexicon=lexicon)
    model.fit(train)
    model.save(tmp_path / "model")
    words = [[("mice", "NOUN"), ("Mice", "NOUN"), ("lens", "NOUN"), ("mice", "VERB"), ("cat99s", "NOUN")]]
    for own in (model, structron.load(tmp_path / "model")):
        assert own.trusted_ == ["NOUN"]
        found = own.predict(words)[0]
        assert found[:3] == ["mouse", "mouse", "lens"]
        assert found[3] != "mouse"
        assert found[4] == "cat99"
        assert own.predict([[("ran99", "VERB")]])[0] != ["xyz"]
        assert own.explain(words[0])[0].because[0].feature == "lexicon=mouse"
    model.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_damaged_tables_are_refused():
    about = LEXICON.about
    for own in (None, {}, about | {"words": 0}, about | {"words": 10**9}, about | {"entries": "1"}):
        with pytest.raises(ValueError, match="lexicon"):
            WordForms.take(own, dict(LEXICON.tensors))
    for name in LEXICON.tensors:
        with pytest.raises((ValueError, KeyError)):
            WordForms.take(about, LEXICON.tensors | {name: np.zeros(9, np.uint8)})
    odd = "\n".join([*LEXICON.classes[1:], "only\tthree\tfields"])
    with pytest.raises(ValueError, match="the entries do not fit"):
        WordForms.take(about, LEXICON.tensors | {"lexicon_entries": pack(odd)})
