"""Gazetteers: matching, reading files, and the mistakes a list can have."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structron.errors import StructronError
from structron.features.gazetteer import Gazetteer

word = st.sampled_from(["a", "b", "c", "A"])
words = st.lists(word, max_size=12)
phrases = st.lists(st.lists(word, min_size=1, max_size=4), max_size=8)


def brute_force(entries: list[list[str]], text: list[str]) -> list[str]:
    """Try every phrase at every place."""
    labels: list[str] = []
    while len(labels) < len(text):
        here = text[len(labels) :]
        longest = max((len(entry) for entry in entries if here[: len(entry)] == entry), default=0)
        labels += ["B-T"] + ["I-T"] * (longest - 1) if longest else ["O"]
    return labels


def labels(gazetteer: Gazetteer, text: str) -> str:
    return " ".join(gazetteer.match(text.split()))


def test_the_longest_match_wins():
    places = Gazetteer.from_phrases("LOC", ["New York", "New York City", "York", "Bath"])
    assert labels(places, "in New York City , New York or York and New Bath") == (
        "O B-LOC I-LOC I-LOC O B-LOC I-LOC O B-LOC O O B-LOC"
    )


def test_the_leftmost_match_wins_and_matches_do_not_overlap():
    gazetteer = Gazetteer.from_phrases("T", ["a b", "b c d"])
    assert labels(gazetteer, "a b c d b c d") == "B-T I-T O O B-T I-T I-T"


def test_neighbouring_matches_begin_anew():
    assert Gazetteer.from_phrases("T", ["a"]).match(["a", "a"]) == ["B-T", "B-T"]


def test_a_phrase_cut_off_by_the_end_does_not_match():
    assert Gazetteer.from_phrases("T", ["a b"]).match(["b", "a"]) == ["O", "O"]
    assert Gazetteer.from_phrases("T", ["a b"]).match([]) == []


def test_lower_case_applies_to_phrases_and_text():
    assert Gazetteer.from_phrases("T", ["New YORK"], lowercase=True).match(["NEW", "york"]) == ["B-T", "I-T"]
    assert Gazetteer.from_phrases("T", ["New York"]).match(["new", "york"]) == ["O", "O"]


def test_tuples_of_words_match_like_lists():
    assert Gazetteer.from_phrases("T", ["a b"]).match(("a", "b")) == ["B-T", "I-T"]


@given(phrases, words, st.booleans())
def test_matches_equal_brute_force(entries, text, lowercase):
    gazetteer = Gazetteer.from_phrases("T", [" ".join(entry) for entry in entries], lowercase)
    if lowercase:
        entries, text = [[w.lower() for w in entry] for entry in entries], [w.lower() for w in text]
    assert gazetteer.match(text) == brute_force(entries, text)


@given(phrases, words, st.booleans())
def test_stored_phrases_give_the_same_gazetteer(entries, text, lowercase):
    gazetteer = Gazetteer("T", entries, lowercase)
    again = Gazetteer.from_phrases("T", gazetteer.phrases(), lowercase)
    assert again.phrases() == gazetteer.phrases()
    assert again.match(text) == gazetteer.match(text)


def test_phrases_are_sorted_and_counted_once():
    gazetteer = Gazetteer.from_phrases("T", ["b  c", "a", " a ", "", "b\tc"])
    assert gazetteer.phrases() == ["a", "b c"]
    assert len(gazetteer) == 2


def test_files_plain_and_compressed(tmp_path):
    plain, packed = tmp_path / "plain.txt", tmp_path / "packed"
    plain.write_bytes("\ufeffSão Paulo\r\n\r\n#1 Records\r\n".encode())
    packed.write_bytes(gzip.compress(b"Bath\n \nNew York", mtime=0))
    gazetteer = Gazetteer.from_files("ORG", [plain, str(packed)])
    assert gazetteer.name == "ORG"
    assert gazetteer.phrases() == ["#1 Records", "Bath", "New York", "São Paulo"]
    assert Gazetteer.from_files("ORG", [plain], lowercase=True).phrases() == ["#1 records", "são paulo"]


def test_files_in_another_encoding(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("Köln\n".encode("latin-1"))
    assert Gazetteer.from_files("LOC", [path], encoding="latin-1").phrases() == ["Köln"]


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (b"", "utf-8", "list.txt: no phrases; expected one phrase a line"),
        (b"\n \n", "utf-8", "list.txt: no phrases; expected one phrase a line"),
        (b"Bath\nK\xf6ln\n", "utf-8", "list.txt:2: not valid utf-8"),
        (b"Bath\n", "utf-88", "unknown encoding 'utf-88'"),
        (gzip.compress(b"Bath\n", mtime=0)[:-10], "utf-8", "list.txt: damaged gzip file"),
        (b"\x1f\x8b not gzip", "utf-8", "list.txt: damaged gzip file"),
    ],
)
def test_bad_files_are_named(tmp_path, content, encoding, message):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(StructronError, match=message):
        Gazetteer.from_files("LOC", [path], encoding=encoding)


def test_files_that_cannot_be_opened_are_named(tmp_path):
    with pytest.raises(StructronError, match=r"missing\.txt: cannot be read \(no such file"):
        Gazetteer.from_files("LOC", [tmp_path / "missing.txt"])
    with pytest.raises(StructronError, match="cannot be read"):
        Gazetteer.from_files("LOC", [tmp_path])


@pytest.mark.parametrize("name", ["", "two words", "tab\t"])
def test_names_that_make_no_label_are_refused(name):
    with pytest.raises(StructronError, match="gazetteer name"):
        Gazetteer.from_phrases(name, ["a"])
