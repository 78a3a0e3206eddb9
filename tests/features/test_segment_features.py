"""Features of segments of tokens: numbers and names against a slow enumeration of the strings they stand for."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_segments import BASES, WORDS, Rows, names
from structron.features.extract import PreparedTemplates, TemplateExtractor
from structron.features.places import AT
from structron.features.segments import Shape, number_segments, seen_chunks, segment_hashes, segment_names
from structron.features.templates import parse_template

SENTENCES = [
    [["a", "D"], ["Ab", "N"], ["bab", "V"], ["a", "D"], ["Ab", "N"]],
    [["B", "N"]],
    [],
    [["bab", "V"], ["ä|b", "N"], ["a", "D"], ["Ab", "N"], ["b", "N"], ["b", "N"], ["b", "N"], ["B", "V"]],
]


def slow(sentence: Rows, shape: Shape) -> list[list[list[str]]]:
    """For every token and kind the names of its features, from the definition in the module."""
    n = len(sentence)
    found = []
    for t in range(n):
        spans: list[tuple[str, range]] = [("before", range(t - 1, t)), ("after", range(t + 1, t + 2))]
        spans += [("last", range(t, t + 1))]
        spans += [("pair", range(t - 1, t + 1) if t > 0 else range(0))]
        spans += [("triple", range(t - 2, t + 1) if t > 1 else range(0))]
        spans += [(f"at{k + 1}", range(t, t + 1) if t >= k else range(0)) for k in range(shape.positions)]
        for length in range(1, shape.whole + 1):
            spans.append((f"whole{length}", range(t, t + length) if t + length <= n else range(0)))
        found.append([list(names(sentence, kind, span)) for kind, span in spans])
    return found


def prepare(sentences: list[Rows]) -> PreparedTemplates:
    templates = [parse_template(text) for text in BASES]
    return TemplateExtractor(["word", "pos", "label"], "label", templates).prepare(sentences)


def numbered_names(sentences: list[Rows], shape: Shape, lengths: np.ndarray, cutoff: int) -> list[list[str]]:
    """The names of the features of every list, as numbered."""
    prepared = prepare(sentences)
    found = number_segments(prepared, shape, lengths, cutoff)
    texts = segment_names(prepared, shape, found.keys, found.tokens).all()
    assert len(set(texts)) == len(texts)
    return [[texts[k] for k in found.numbers[lo:hi]] for lo, hi in zip(found.ptr, found.ptr[1:], strict=False)]


def expected_names(sentences: list[Rows], shape: Shape, lengths: np.ndarray, cutoff: int) -> list[list[str]]:
    chunks, place = set(), 0
    for sentence in sentences:
        for t, lists in enumerate(slow(sentence, shape)):
            if 0 < lengths[place + t] <= shape.whole:
                chunks.update(lists[AT + shape.positions + lengths[place + t] - 1])
        place += len(sentence)
    lists = [found for sentence in sentences for kinds in slow(sentence, shape) for found in kinds]
    lists = [[text for text in found if not text.startswith("whole") or text in chunks] for found in lists]
    count = Counter(text for found in lists for text in found)
    return [[text for text in found if count[text] >= cutoff] for found in lists]


def chunk_lengths(sentences: list[Rows], seed: int) -> np.ndarray:
    """Chunks of random lengths, one after the other."""
    rng = np.random.default_rng(seed)
    found: list[int] = []
    for sentence in sentences:
        left = len(sentence)
        while left:
            length = int(rng.integers(1, left + 1))
            found += [length] + [0] * (length - 1)
            left -= length
    return np.array(found, np.int64)


@pytest.mark.parametrize("cutoff", [0, 2])
@pytest.mark.parametrize(("positions", "whole"), [(1, 0), (2, 3), (4, 9)])
def test_numbers_are_those_of_the_strings(positions, whole, cutoff):
    shape, lengths = Shape(positions, whole), chunk_lengths(SENTENCES, 1)
    found = numbered_names(SENTENCES, shape, lengths, cutoff)
    assert found == expected_names(SENTENCES, shape, lengths, cutoff)
    assert len(found) == sum(map(len, SENTENCES)) * shape.kinds


token = st.tuples(st.sampled_from(WORDS), st.sampled_from("DNV")).map(list)


@given(st.lists(st.lists(token, max_size=6), min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 4))
def test_any_sentences(sentences, positions, whole):
    if not any(sentences):
        return
    shape, lengths = Shape(positions, whole), chunk_lengths(sentences, len(sentences))
    assert numbered_names(sentences, shape, lengths, 2) == expected_names(sentences, shape, lengths, 2)


def test_hashes_do_not_depend_on_what_else_is_there():
    shape, prepared = Shape(2, 2), prepare(SENTENCES)
    alone = segment_hashes(prepare(SENTENCES[3:]), shape, 0, 1)
    among = segment_hashes(prepared, shape, 3, 4)
    for a, b in zip(alone, among, strict=True):
        np.testing.assert_array_equal(a, b)
    ptr, hashes, _ = segment_hashes(prepared, shape, 0, 4)
    np.testing.assert_array_equal(hashes[len(hashes) - len(among[1]) :], among[1])
    assert len(ptr) == int(prepared.starts[-1]) * shape.kinds + 1


def test_only_sequences_that_are_chunks_count():
    shape, prepared = Shape(1, 2), prepare([[["a", "D"], ["b", "N"], ["a", "D"]]])
    chunks = seen_chunks(prepared, shape, np.array([2, 0, 1]))
    every, _, _ = segment_hashes(prepared, shape, 0, 1)
    some, _, _ = segment_hashes(prepared, shape, 0, 1, chunks)
    sizes = np.diff(some).reshape(3, shape.kinds)
    assert sizes[:, AT + 1].tolist() == [2, 0, 3]  # b is no chunk; the first a has other neighbours than the chunk a
    assert sizes[:, AT + 2].tolist() == [3, 0, 0]
    np.testing.assert_array_equal(sizes[:, : AT + 1], np.diff(every).reshape(3, shape.kinds)[:, : AT + 1])


def test_names_of_kinds():
    assert Shape(2, 1).names() == ["before", "after", "last", "pair", "triple", "at1", "at2", "whole1"]
    assert Shape(2, 1).kinds == 8
    assert len(segment_names(prepare(SENTENCES), Shape(2, 1), np.empty(0, np.uint64), np.empty(0, np.int64))) == 0
