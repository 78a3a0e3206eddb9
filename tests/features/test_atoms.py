"""Atoms: compiled hashes say the same as readable texts, for every script and every odd letter."""

import re
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import brute
from structron.errors import StructronError
from structron.features import atoms as a
from structron.features.atoms import Atom, atom_text, parse_atom, values_of

FUNCTIONS = ["w", "lower", "norm", "shape", "class", "digit", "upper", "hyphen", "stem", "ending"]
FUNCTIONS += [f"{side}{k}" for side in ("prefix", "suffix", "lprefix", "lsuffix") for k in (1, 2, 3, 4, 9)]
ODD = [*"İßẞǅŉﬁΣςσ٣²Ⅷⅷ①一𝒳😀\u0307-‐ \0"]
words = st.text(st.sampled_from([*"aAbBdxX019-.", *ODD]) | st.characters(), max_size=6)


def values(function: str, texts: list[str]) -> list[int]:
    atom = parse_atom(function, ["word"], "word")
    return values_of([atom], {"word": texts})[0].tolist()


@given(st.sampled_from([*FUNCTIONS, "form"]), st.lists(words, min_size=2, max_size=12))
@settings(max_examples=400)
@example("lower", ["İ", "i̇", "I", "i"])
@example("lower", ["ΟΔΟΣ", "οδος", "οδοσ", "ΟΔΟΣ."])
@example("shape", ["1٣²", "ddd", "xxx", "XXX", "dxX", "①"])
@example("class", ["", "aab", "ab", "ABa", "11-1", "--", "-"])
@example("norm", ["a1", "A٣", "a0", "a²", "aⅧ"])
@example("form", ["12", "1234", "123", "1a", "1-2", "1/2", "1,2", "1.2", "A", "A.", "Ab", "a", "aB", "", "٣٣"])
@example("prefix2", ["a", "ab", "abc", "𝒳y", "𝒳"])
@example("stem", ["Walking", "walked", "walk", "ring", "foundations", "found"])
@example("ending", ["Walking", "talking", "walked", "ring", "", "nations"])
def test_hashes_are_equal_exactly_where_texts_are(function, texts):
    atom = parse_atom(function, ["word"], "word")
    said = [atom_text(atom, text) for text in texts]
    found = values(function, texts)
    for j, k in product(range(len(texts)), repeat=2):
        assert (found[j] == found[k]) == (said[j] == said[k])
    assert [h == 0 for h in found] == [text is None for text in said]


@given(st.sampled_from(FUNCTIONS), words)
@settings(max_examples=400)
def test_texts_are_those_of_the_definition(function, text):
    assert atom_text(parse_atom(function, ["word"], "word"), text) == brute.atom(function, text)


FORMS = {  # the forms of Bikel et al. (1999): a pattern (the first that matches is meant), and examples
    "2d": ("dd", ["90"]),
    "4d": ("dddd", ["1990"]),
    "d&a": (".*d.*[xX].*|.*[xX].*d.*", ["A8956-67"]),
    "d&-": (".*d.*-.*|.*-.*d.*", ["09-96"]),
    "d&/": (".*d.*/.*|.*/.*d.*", ["11/9/89"]),
    "d&,": (".*d.*,.*|.*,.*d.*", ["23,000.00"]),
    "d&.": (".*d.*[.].*|.*[.].*d.*", ["1.00"]),
    "n": (".*d.*", ["456789", "50%"]),
    "ac": ("X+", ["BBN"]),
    "cp": ("X[.]", ["M."]),
    "ic": ("X.*", ["Sally"]),
    "l": ("[^X]*x[^X]*", ["can", "'s"]),
    "other": (".*", ["iPod", ","]),
}


@given(words)
@settings(max_examples=400)
def test_word_forms_are_those_of_the_patterns(text):
    kinds = "".join(brute.char_kind(char) for char in text)
    expected = next(name for name, (pattern, _) in FORMS.items() if re.fullmatch(pattern, kinds, re.DOTALL))
    assert atom_text(parse_atom("form", ["word"], "word"), text) == expected
    assert tuple(FORMS) == a.FORMS


def test_a_hash_does_not_depend_on_the_company():
    """Types are packed together; a word's neighbours in the list must not leak into its atoms."""
    texts = ["Ab-1", "", "ß", "xyz", "İ9", "ab"]
    for function in (*FUNCTIONS, "form"):
        assert values(function, texts) == [values(function, [text])[0] for text in texts]


@pytest.mark.parametrize(
    ("function", "text", "said"),
    [
        ("shape", "McDonald-3rd", "XxXxxxxx-dxx"),
        ("class", "McDonald-33rd", "XxXx-dx"),
        ("norm", "B-52s", "b-00s"),
        ("prefix3", "ab", None),
        ("prefix3", "abc", "abc"),
        ("suffix1", "", None),
        ("suffix4", "running", "ning"),
        ("lprefix2", "İx", "i̇"),
        ("lsuffix3", "RUN", "run"),
        ("lsuffix4", "RUN", None),
        ("digit", "x2", "yes"),
        ("digit", "x", None),
        ("upper", "iPod", "yes"),
        ("upper", "ipod", None),
        ("hyphen", "a-b", "yes"),
        ("stem", "Walking", "walk"),
        ("ending", "Walking", "ing"),
        ("stem", "DOGS", "dog"),
        ("stem", "ring", "ring"),
        ("ending", "ring", None),
        ("stem", "nations", "nation"),
        ("stem", "foundations", "found"),
        ("ending", "", None),
        ("hyphen", "a–b", None),
        ("lower", "", ""),
        *[("form", text, name) for name, (_, texts) in FORMS.items() for text in texts],
    ],
)
def test_examples(function, text, said):
    assert atom_text(parse_atom(function, ["word"], "word"), text) == said


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        ("lemma", ["form", "lemma", "lower"], Atom("lemma", a.WHOLE)),
        ("lower", ["form", "lemma", "lower"], Atom("lower", a.WHOLE)),
        ("form", ["form", "lemma", "lower"], Atom("form", a.WHOLE)),
        ("w", ["form"], Atom("form", a.WHOLE)),
        ("suffix3", ["form"], Atom("form", a.SUFFIX, 3)),
        ("lsuffix3", ["form"], Atom("form", a.LSUFFIX, 3)),
        ("lemma.prefix2", ["form", "lemma"], Atom("lemma", a.PREFIX, 2)),
        ("w.form", ["form"], Atom("form", a.FORM)),
        ("w.shape", ["form"], Atom("form", a.SHAPE)),
        ("w", ["form", "w"], Atom("w", a.WHOLE)),
        ("w.lower", ["form", "w"], Atom("w", a.LOWER)),
    ],
)
def test_names_are_looked_for_among_columns_first(name, columns, expected):
    assert parse_atom(name, columns, "form") == expected


@pytest.mark.parametrize(
    "name",
    ["prefix", "prefix0", "prefix10", "suffix", "nothing", "pos", "pos.lower", "w.w", "word.", ".lower.", "LOWER"],
)
def test_unknown_atoms_are_named_with_what_is_known(name):
    with pytest.raises(StructronError, match=r"unknown atom.*columns: word; built in: w, lower") as error:
        parse_atom(name, ["word"], "word")
    assert repr(name) in str(error.value)
