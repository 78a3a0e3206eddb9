"""Errors are one short line, whatever they quote."""

import pytest

from structron.errors import MAX_ERROR_LENGTH, QUOTED, StructronError, quoted, shown, unknown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ünïcödé …", "plain ünïcödé …"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[2J\x07\x9b", r"\x1b[2J\x07\x9b"),
        ("abc\u202edef\u2028", r"abc\u202edef\u2028"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text, expected):
    assert shown(text) == expected
    assert str(StructronError(text)) == expected


@pytest.mark.parametrize("value", ["x" * 10_000, ["word"] * 10_000, {"a": "b" * 500}, b"y" * 500, 10**400])
def test_quotes_are_short(value):
    assert len(quoted(value)) <= QUOTED
    assert quoted(value).endswith("…")
    assert quoted("short") == "'short'"


def test_an_error_is_short_whatever_it_quotes():
    said = str(StructronError(f"f.conll:3: head {'9' * 5000!r} is not a number; expected"))
    assert said == f"f.conll:3: head '{'9' * QUOTED}…' is not a number; expected"
    assert str(StructronError("the word's head isn't one of this sentence's " + "x" * 90)).endswith("x" * 90)
    assert len(str(StructronError("y " * 100_000))) < MAX_ERROR_LENGTH + 10


def test_a_list_of_names_is_short():
    said = str(unknown("label", "z" * 500, [f"L{k}" for k in range(5000)]))
    assert "L99, … (5000 in all)" in said
    assert "L100" not in said
    assert len(said) < 1000
