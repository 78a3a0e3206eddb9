"""Pieces: with the white space between them they are the text, and nothing that belongs together is cut."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structron.text.pieces import COLUMNS, EARLIER, FAR, LONG, NOTHING, cut, is_space, open_before, pieces_of, rows_of

NASTY = "aB1.'!-👩\u200d👧🏽🇩🇪\ufe0f\u20e3\u0301\u200b\ufeff\u00a0 \t\r\n漢かกำ\u0e31\ud800\u00ad\u200c"
texts = st.text(max_size=60) | st.text(NASTY, max_size=30) | st.text(st.characters(), max_size=20)


def spelled(text: str, fine: bool = False) -> list[str]:
    pieces = pieces_of(text, fine)
    return [text[lo:hi] for lo, hi in zip(pieces.start, pieces.end, strict=True)]


@given(texts, st.booleans(), st.booleans())
@example("\u0301", False, False)
@example(" \u0301\u0301a", True, False)
@example("a\u200d b", False, False)
def test_pieces_and_white_space_tile_the_text(text, fine, lines):
    pieces = pieces_of(text, fine, lines)
    assert len(pieces) == len(pieces.start) == len(pieces.end) == len(pieces.last)
    place = 0
    for lo, hi in zip(pieces.start, pieces.end, strict=True):
        assert lo < hi
        assert all(map(is_space, text[place:lo]))
        assert not any(map(is_space, text[lo:hi]))
        place = hi
    assert all(map(is_space, text[place:]))
    assert not pieces.last or pieces.last[-1]


@given(texts)
def test_fine_pieces_divide_the_others(text):
    assert set(pieces_of(text).end) <= set(pieces_of(text, fine=True).end)
    codes = np.array(list(map(ord, text)), np.uint32)
    assert (cut(codes, fine=True)[0] >= cut(codes)[0]).all()
    assert cut(codes)[1].tolist() == list(map(is_space, text))


@given(texts, st.booleans(), st.booleans())
def test_rows_say_where_a_piece_stands(text, fine, lines):
    pieces = pieces_of(text, fine, lines)
    paragraphs = rows_of(pieces)
    assert [len(rows) for rows in paragraphs if not rows] == []
    assert len(paragraphs) == sum(pieces.last)
    rows = [row for paragraph in paragraphs for row in paragraph]
    assert len(rows) == len(pieces)
    for k, row in enumerate(rows):
        named = dict(zip(COLUMNS, row, strict=False))
        assert len(row) == len(COLUMNS) - 1
        assert all(row)
        assert named["piece"] == text[pieces.start[k] : pieces.end[k]][:LONG]
        following = pieces.start[k + 1] if k + 1 < len(pieces) else len(text) + 1
        assert named["space"] == ("-" if following == pieces.end[k] else "p" if pieces.last[k] else "s")
        own = [named[name].replace(NOTHING, "") for name in ("before", "piece", "after")]
        if len(named["word"]) < LONG and "_" not in text:
            assert "".join(own) == named["word"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith didn't", "Dr . Smith didn ' t"),
        ("3.14kg", "3 . 14 kg"),
        ("what?!... --", "what ? ! ... --"),
        ("e\u0301te\u0301", "e\u0301te\u0301"),
        ("👩\u200d👧\u200d👦👩🏽", "👩\u200d👧\u200d👦 👩🏽"),
        ("❤\ufe0f\u200d🔥!", "❤\ufe0f\u200d🔥 !"),
        ("🇩🇪a", "🇩🇪 a"),
        ("1\ufe0f\u20e3#\ufe0f\u20e3", "1\ufe0f\u20e3 #\ufe0f\u20e3"),
        ("漢字かな", "漢 字 か な"),
        ("กำลัง", "ก ำ ลั ง"),
        ("iPhoneを買う", "iPhone を 買 う"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("so\u00adfort", "so\u00adfort"),
        ("한국어", "한국어"),
    ],
)
def test_what_is_cut_and_what_is_not(text, expected):
    assert " ".join(spelled(text)) == expected


def test_fine_pieces_are_letters_with_their_marks():
    assert spelled("cafe\u0301 12", fine=True) == ["c", "a", "f", "e\u0301", "12"]
    assert spelled("", fine=True) == []


@pytest.mark.parametrize("space", [*" \t\u00a0\u200b\ufeff\u3000\x1c\u2028", "\r\n", " \u200b\t"])
def test_white_space_of_every_kind(space):
    assert spelled(f"{space}a{space}b.{space}") == ["a", "b", "."]


@pytest.mark.parametrize(
    ("gap", "lines", "blank"),
    [("\n", True, False), ("\r\n", True, False), ("\r", True, False), ("\n\n", True, True), ("\r\n\r\n", True, True)]
    + [("\n \t\n", True, True), ("  ", False, False), ("\n\u200b\r\n", True, True), ("\r\r", True, True)],
)
def test_paragraphs(gap, lines, blank):
    """One break ends a line, two of them a paragraph."""
    text = f"\n\na{gap}b\n\n"
    assert pieces_of(text, lines=True).last == [lines, True]
    assert pieces_of(text).last == [blank, True]
    columns = [row[COLUMNS.index("next")] for rows in rows_of(pieces_of(text)) for row in rows]
    assert columns == [NOTHING if blank else "b", NOTHING]


@pytest.mark.parametrize(
    ("before", "address", "after", "kind"),
    [
        ("", "http://a.de/x", "", "url"),
        ("(", "www.x.org", ")", "url"),
        ("", "http://x.de/a_(b)", "", "url"),
        ("(", "http://x.de/a_(b)/", ").", "url"),
        ("[", "http://x.de/a/", "]!?", "url"),
        ("", "example.com", '."', "url"),
        ("<", "a.b+c@x-y.co.uk", ">,", "email"),
        ("'", "report.pdf", "'", "file"),
        ("", "http://x.de/" + "a/" * 500, ";", "url"),
    ],
)
def test_addresses(before, address, after, kind):
    """A piece is inside an address, its end, or around it."""
    pieces = pieces_of(f"see {before}{address}{after} now")
    kinds = [row[COLUMNS.index("kind")] for row in rows_of(pieces)[0]][1:-1]
    lo, hi = 4 + len(before), 4 + len(before) + len(address)
    ends = pieces.end[1:-1]
    assert kinds == ["around" if end <= lo or end > hi else f"{kind}-end" if end == hi else kind for end in ends]
    assert f"{kind}-end" in kinds


@pytest.mark.parametrize("word", ["a@b", "e.g.", "1,5-6"])
def test_no_addresses(word):
    rows = rows_of(pieces_of(f"see {word} now"))[0]
    assert {row[COLUMNS.index("kind")] for row in rows} == {NOTHING}


@pytest.mark.parametrize(
    "text",
    [
        "." * 60_000 + "!@",
        "www.a" + ")" * 60_000,
        "www.a" + "(" * 30_000 + ")" * 30_000,
        "-" * 60_000 + "=a",
        "漢" * 60_000,
        "a." * 30_000,
    ],
)
def test_long_runs_come_to_an_end(text):
    """Expressions or slices over the whole of a run would cost its length squared."""
    (rows,) = rows_of(pieces_of(text))
    assert len(rows) == len(spelled(text)) > 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a (b c) d", "a_ (_ b( c( )( d_"),
        ("[1] b) c", "[_ 1( ]( b_ )_ c_"),
        ('"a b" c', '"_ a" b" "" c_'),
        ("a „b“ c", 'a_ „_ b" “" c_'),
        ("a »b« c", 'a_ »_ b" «" c_'),
        ("« a b » c", '«_ a" b" »" c_'),
        ('a. " b " c "', 'a_ ._ "_ b" "" c_ "_'),
        ('("a", b) c', '(_ "( a(" "(" ,( b( )( c_'),
        ('a" b "c" d', 'a_ "_ b_ "_ c" "" d_'),
        ("don't (a", "don_ '_ t_ (_ a("),
        ('(a "b\n\nc', '(_ a( "( b(" c_'),
    ],
)
def test_what_is_open_before_a_piece(text, expected):
    shown = [piece + state for piece, state in zip(spelled(text), open_before(pieces_of(text)), strict=True)]
    assert " ".join(shown) == expected


def test_what_nobody_closes_counts_as_closed_in_the_end():
    states = open_before(pieces_of("(" + " a" * (FAR + 2)))
    assert states == [NOTHING, *["("] * FAR, NOTHING, NOTHING]


@given(texts, st.booleans())
def test_models_of_earlier_versions_read_the_first_columns(text, lines):
    pieces = pieces_of(text, lines=lines)
    for names in EARLIER:
        assert names[:-1] == COLUMNS[: len(names) - 1]
        assert rows_of(pieces, names) == [[row[: len(names) - 1] for row in rows] for rows in rows_of(pieces)]
