"""Chunk-label schemes: reading, legality, detection and conversion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structron import schemes
from structron.errors import StructronError

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


@given(pieces)
def test_spans_of_legal_labels_equal_a_simple_implementation(chunks):
    assert schemes.spans(as_iob2(chunks)) == simple_spans(chunks)


@given(pieces, st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_conversions_round_trip_and_are_legal(chunks, source, target):
    labels = schemes.convert(as_iob2(chunks), "iob2", source)
    converted = schemes.convert(labels, source, target)
    assert schemes.count_illegal([converted], target) == 0
    assert schemes.spans(converted) == schemes.spans(labels)
    assert schemes.convert(converted, target, source) == labels


@given(any_labels, st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_illegal_labels_are_converted_as_they_are_scored(labels, source, target):
    converted = schemes.convert(labels, source, target)
    assert schemes.count_illegal([converted], target) == 0
    assert schemes.spans(converted) == schemes.spans(labels)


@given(any_labels, st.sampled_from(SCHEMES))
def test_legal_labels_are_those_that_conversion_keeps(labels, scheme):
    kept = schemes.convert(labels, scheme, scheme) == labels
    assert (schemes.count_illegal([labels], scheme) == 0) == kept


@given(any_labels)
def test_spans_are_in_order_and_within_the_sentence(labels):
    position = 0
    for _, start, end in schemes.spans(labels):
        assert position <= start < end
        position = end
    assert position <= len(labels)


@pytest.mark.parametrize(
    ("scheme", "previous", "current", "legal"),
    [
        ("iob1", None, "I-NP", True),
        ("iob1", None, "B-NP", False),
        ("iob1", "O", "B-NP", False),
        ("iob1", "I-NP", "B-NP", True),
        ("iob1", "I-VP", "B-NP", False),
        ("iob1", "I-VP", "I-NP", True),
        ("iob2", None, "B-NP", True),
        ("iob2", None, "I-NP", False),
        ("iob2", "O", "I-NP", False),
        ("iob2", "B-NP", "I-NP", True),
        ("iob2", "I-NP", "I-NP", True),
        ("iob2", "B-VP", "I-NP", False),
        ("iob2", "B-NP", "E-NP", False),
        ("iob2", "O", "NN", False),
        ("iob2", "O", "O-NP", False),
        ("iob2", "O", "", False),
        ("iobes", None, "O", True),
        ("iobes", "S-NP", "B-NP", True),
        ("iobes", "B-NP", "E-NP", True),
        ("iobes", "B-NP", "I-NP", True),
        ("iobes", "B-NP", "I-VP", False),
        ("iobes", "B-NP", "O", False),
        ("iobes", "I-NP", "S-NP", False),
        ("iobes", "E-NP", "E-NP", False),
        ("iobes", "O", "I-NP", False),
        ("iobes", "B-NP", "L-NP", False),
        ("bilou", "B-NP", "L-NP", True),
        ("bilou", "L-NP", "U-NP", True),
        ("bilou", "B-NP", "U-NP", False),
    ],
)
def test_allowed(scheme, previous, current, legal):
    assert schemes.allowed(previous, current, scheme) is legal


def test_only_iobes_and_bilou_restrict_the_end():
    assert not schemes.allowed_end("B-NP", "iobes")
    assert not schemes.allowed_end("I-NP", "bilou")
    assert schemes.allowed_end("E-NP", "iobes")
    assert schemes.allowed_end("O", "bilou")
    assert schemes.allowed_end(None, "iobes")
    assert schemes.allowed_end("B-NP", "iob2")
    assert schemes.allowed_end("I-NP", "iob1")


def test_count_illegal_counts_labels_and_ends():
    sentences = [["I-NP", "O", "I-NP"], ["B-NP", "I-NP"], []]
    assert schemes.count_illegal(sentences, "iob2") == 2
    assert schemes.count_illegal(sentences, "iob1") == 1
    assert schemes.count_illegal(sentences, "iobes") == 5


@pytest.mark.parametrize(
    "labels",
    ["DT NN VBZ", "O O O", "", "B-NP NN", "NN-HL NP", "O-NP B-NP"],
)
def test_labels_that_are_no_chunk_labels_have_no_scheme(labels):
    assert schemes.detect([labels.split()]) is None


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_few_annotation_errors_do_not_change_the_detected_scheme(scheme):
    right = [SAME[scheme].split()] * 20
    errors = ["O", "I-NP", "B-NP", "E-NP", "S-NP", "L-NP", "U-NP", "O"]
    assert schemes.detect([*right, errors]) == scheme


def test_chunks_without_types_have_a_scheme():
    assert schemes.detect([["I", "I", "O", "I", "B"]]) == "iob1"
    assert schemes.detect([["B", "I", "O", "B", "B"]]) == "iob2"


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
