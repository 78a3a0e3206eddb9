"""Chunk-label schemes: reading, legality, detection and conversion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structron.errors import StructronError
from structron.text import schemes

SCHEMES = ["iob1", "iob2", "iobes", "bilou"]

# The same seven words in every scheme: two NPs that touch, then a VP that touches, O, a PP of one word.
SAME = {
    "iob1": "I-NP I-NP B-NP I-VP I-VP O I-PP",
    "iob2": "B-NP I-NP B-NP B-VP I-VP O B-PP",
    "iobes": "B-NP E-NP S-NP B-VP E-VP O S-PP",
    "bilou": "B-NP L-NP U-NP B-VP L-VP O U-PP",
}
SAME_SPANS = [("NP", 0, 2), ("NP", 2, 3), ("VP", 3, 5), ("PP", 6, 7)]

pieces = st.lists(st.tuples(st.sampled_from(["", "X", "Y", "X-Y"]), st.integers(0, 4)), max_size=8)
"""Chunks in order, as (type, length); length 0 stands for a word outside."""

any_labels = st.lists(
    st.sampled_from(["O", *(f"{letter}-{kind}" for letter in "BIESLU" for kind in "XY"), "B", "I", "E", "S"]),
    max_size=12,
)


def as_iob2(chunks: list[tuple[str, int]]) -> list[str]:
    labels = []
    for kind, length in chunks:
        letters = "B" + "I" * (length - 1) if length else "O"
        labels += [letter + (f"-{kind}" if kind and letter != "O" else "") for letter in letters]
    return labels


def simple_spans(chunks: list[tuple[str, int]]) -> list[tuple[str, int, int]]:
    found, position = [], 0
    for kind, length in chunks:
        if length:
            found.append((kind, position, position + length))
        position += max(length, 1)
    return found


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("B-NP", ("B", "NP")),
        ("O", ("O", "")),
        ("I", ("I", "")),
        ("B-NP-SBJ", ("B", "NP-SBJ")),
        ("-NP", ("", "NP")),
        ("I-", ("I", "")),
    ],
)
def test_split(label, parts):
    assert schemes.split(label) == parts


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("O O", []),
        ("", []),
        ("O I-NP I-NP", [("NP", 1, 3)]),
        ("B-NP I-VP", [("NP", 0, 1), ("VP", 1, 2)]),
        ("I-NP I-VP I-VP", [("NP", 0, 1), ("VP", 1, 3)]),
        ("B-NP I-VP I-NP", [("NP", 0, 1), ("VP", 1, 2), ("NP", 2, 3)]),
        ("B-NP O I-NP", [("NP", 0, 1), ("NP", 2, 3)]),
        ("B I O I", [("", 0, 2), ("", 3, 4)]),
        ("S-NP S-NP", [("NP", 0, 1), ("NP", 1, 2)]),
        ("B-NP E-NP B-NP", [("NP", 0, 2), ("NP", 2, 3)]),
        ("E-NP E-NP", [("NP", 0, 1), ("NP", 1, 2)]),
        ("I-NP E-NP I-NP", [("NP", 0, 2), ("NP", 2, 3)]),
        ("S-NP I-NP E-NP", [("NP", 0, 1), ("NP", 1, 3)]),
        ("B-NP S-NP I-NP", [("NP", 0, 1), ("NP", 1, 2), ("NP", 2, 3)]),
        ("B-NP E-VP", [("NP", 0, 1), ("VP", 1, 2)]),
        ("[-NP . [-NP", [("NP", 0, 1), ("NP", 2, 3)]),
        ("]-NP ]-NP .", [("NP", 0, 1), ("NP", 1, 2)]),
    ],
)
def test_spans_by_hand(labels, expected):
    assert schemes.spans(labels.split()) == expected


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_same_chunks_in_every_scheme(scheme):
    labels = SAME[scheme].split()
    assert schemes.spans(labels) == SAME_SPANS
    assert schemes.encode(SAME_SPANS, 7, scheme) == labels
    assert schemes.detect([labels]) == scheme
    assert schemes.count_illegal([labels], scheme) == 0
    for target in SCHEMES:
        assert schemes.convert(labels, scheme, target) == SAME[target].split()


@given(pieces, st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_conversions_round_trip_and_are_legal(chunks, source, target):
    labels = schemes.convert(as_iob2(chunks), "iob2", source)
    converted = schemes.convert(labels, source, target)
    assert schemes.count_illegal([converted], target) == 0
    assert schemes.spans(converted) == schemes.spans(labels) == simple_spans(chunks)
    assert schemes.convert(converted, target, source) == labels


@given(any_labels, st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_illegal_labels_are_converted_as_they_are_scored(labels, source, target):
    """And legal ones are those that conversion keeps."""
    converted, kept = (schemes.convert(labels, source, scheme) for scheme in (target, source))
    assert schemes.count_illegal([converted], target) == 0
    assert schemes.spans(converted) == schemes.spans(labels)
    assert (schemes.count_illegal([labels], source) == 0) == (kept == labels)
    bounds = [place for _, start, end in schemes.spans(labels) for place in (start, end)]
    assert bounds == sorted(bounds)
    assert not bounds or 0 <= bounds[0] < bounds[-1] <= len(labels)


# Label before (^ at the start) and label, by scheme.
LEGAL = {
    "iob1": "^>I-NP I-NP>B-NP I-VP>I-NP",
    "iob2": "^>B-NP B-NP>I-NP I-NP>I-NP",
    "iobes": "^>O S-NP>B-NP B-NP>E-NP B-NP>I-NP",
    "bilou": "B-NP>L-NP L-NP>U-NP",
}
ILLEGAL = {
    "iob1": "^>B-NP O>B-NP I-VP>B-NP",
    "iob2": "^>I-NP O>I-NP B-VP>I-NP B-NP>E-NP O>NN O>O-NP O>",
    "iobes": "B-NP>I-VP B-NP>O I-NP>S-NP E-NP>E-NP O>I-NP B-NP>L-NP",
    "bilou": "B-NP>U-NP",
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_allowed(scheme):
    for table, legal in ((LEGAL, True), (ILLEGAL, False)):
        for pair in table[scheme].split():
            previous, current = pair.split(">")
            assert schemes.allowed(None if previous == "^" else previous, current, scheme) is legal, pair


def test_only_iobes_and_bilou_restrict_the_end():
    ends = [("B-NP", "iobes"), ("I-NP", "bilou"), ("E-NP", "iobes"), ("O", "bilou"), (None, "iobes")]
    ends += [("B-NP", "iob2"), ("I-NP", "iob1")]
    assert [schemes.allowed_end(*end) for end in ends] == [False] * 2 + [True] * 5


def test_count_illegal_counts_labels_and_ends():
    sentences = [["I-NP", "O", "I-NP"], ["B-NP", "I-NP"], []]
    assert schemes.count_illegal(sentences, "iob2") == 2
    assert schemes.count_illegal(sentences, "iob1") == 1
    assert schemes.count_illegal(sentences, "iobes") == 5


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        *[(text, None) for text in ("DT NN VBZ", "O O O", "", "B-NP NN", "NN-HL NP", "O-NP B-NP")],
        ("I I O I B", "iob1"),
        ("B I O B B", "iob2"),
    ],
)
def test_detect(labels, scheme):
    """Labels that are no chunk labels have no scheme; chunks without types have one."""
    assert schemes.detect([labels.split()]) == scheme


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_few_annotation_errors_do_not_change_the_detected_scheme(scheme):
    right = [SAME[scheme].split()] * 20
    errors = ["O", "I-NP", "B-NP", "E-NP", "S-NP", "L-NP", "U-NP", "O"]
    assert schemes.detect([*right, errors]) == scheme


def test_an_unknown_scheme_is_named():
    for call in (
        lambda: schemes.allowed("O", "O", "bio"),
        lambda: schemes.allowed_end("O", "bio"),
        lambda: schemes.count_illegal([], "bio"),
        lambda: schemes.convert([], "bio", "iob1"),
        lambda: schemes.convert([], "iob1", "bio"),
    ):
        with pytest.raises(StructronError, match=r"unknown label scheme 'bio'.*iob1, iob2, iobes, bilou"):
            call()


def test_converting_labels_that_are_no_chunk_labels_is_refused():
    with pytest.raises(StructronError, match="label 'NN' is not a chunk label; expected iob2 labels such as B-NP"):
        schemes.convert(["B-NP", "NN"], "iob2", "iobes")
