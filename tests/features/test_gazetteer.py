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


@pytest.mark.parametrize(
    ("entries", "text", "expected"),
    [
        (
            ["New York", "New York City", "York", "Bath"],
            "in New York City , New York or York and New Bath",
            "O B-T I-T I-T O B-T I-T O B-T O O B-T",
        ),
        (["a b", "b c d"], "a b c d b c d", "B-T I-T O O B-T I-T I-T"),
        (["a"], "a a", "B-T B-T"),
        (["a b"], "b a", "O O"),
        (["a b"], "", ""),
        (["New York"], "new york", "O O"),
    ],
    ids=["longest", "leftmost", "neighbours", "cut off", "nothing", "case"],
)
def test_matches_by_hand(entries, text, expected):
    gazetteer = Gazetteer.from_phrases("T", entries)
    assert gazetteer.match(text.split()) == gazetteer.match(tuple(text.split())) == expected.split()


@given(phrases, words, st.booleans())
def test_matches_equal_brute_force(entries, text, lowercase):
    gazetteer = Gazetteer.from_phrases("T", [" ".join(entry) for entry in entries], lowercase)
    if lowercase:
        entries, text = [[w.lower() for w in entry] for entry in entries], [w.lower() for w in text]
    assert gazetteer.match(text) == brute_force(entries, text)
    again = Gazetteer.from_phrases("T", gazetteer.phrases(), lowercase)
    assert again.phrases() == gazetteer.phrases()
    assert again.match(text) == gazetteer.match(text)


def test_phrases_are_sorted_and_counted_once():
    gazetteer = Gazetteer.from_phrases("T", ["b  c", "a", " a ", "", "b\tc"])
    assert gazetteer.phrases() == ["a", "b c"]
    assert len(gazetteer) == 2


def test_files_plain_compressed_and_in_another_encoding(tmp_path):
    plain, packed, latin = (tmp_path / name for name in ("plain.txt", "packed", "latin.txt"))
    plain.write_bytes("\ufeffSão Paulo\r\n\r\n#1 Records\r\n".encode())
    packed.write_bytes(gzip.compress(b"Bath\n \nNew York", mtime=0))
    gazetteer = Gazetteer.from_files("ORG", [plain, str(packed)])
    assert gazetteer.name == "ORG"
    assert gazetteer.phrases() == ["#1 Records", "Bath", "New York", "São Paulo"]
    assert Gazetteer.from_files("ORG", [plain], lowercase=True).phrases() == ["#1 records", "são paulo"]
    latin.write_bytes("Köln\n".encode("latin-1"))
    assert Gazetteer.from_files("LOC", [latin], encoding="latin-1").phrases() == ["Köln"]


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (b"", "utf-8", "list.txt: no phrases; expected one phrase per line"),
        (b"\n \n", "utf-8", "list.txt: no phrases; expected one phrase per line"),
        (b"Bath\n", "utf-88", "unknown encoding 'utf-88'"),
        (gzip.compress(b"Bath\n", mtime=0)[:-10], "utf-8", "list.txt: damaged gzip file"),
    ],
)
def test_bad_files_are_named(tmp_path, content, encoding, message):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(StructronError, match=message):
        Gazetteer.from_files("LOC", [path], encoding=encoding)


def test_what_cannot_be_opened_or_named(tmp_path):
    for path, message in (
        (tmp_path / "missing.txt", r"missing\.txt: cannot be read \(no such file"),
        (tmp_path, "cannot be read"),
    ):
        with pytest.raises(StructronError, match=message):
            Gazetteer.from_files("LOC", [path])
    for name in ("", "two words", "tab\t"):
        with pytest.raises(StructronError, match="gazetteer name"):
            Gazetteer.from_phrases(name, ["a"])
