"""Hashing and the table of numbers, against dictionaries."""

import itertools

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from structron.features.index import _Counter
from structron.kernels.table import (
    build_table,
    empty_table,
    hash_list,
    mix,
    pack_strings,
    table_find,
    table_insert,
    table_number,
)

MASK = (1 << 64) - 1
keys = st.lists(st.integers(1, MASK), unique=True, max_size=200)
crowded = st.lists(st.integers(1, 2000).map(lambda k: (k * 4096) & MASK), unique=True, max_size=200)
"""Keys that all want the same place of a small table."""


def slow_hash(text: str) -> int:
    """The hash of a string in whole numbers, as `kernels` defines it."""

    def fold(h: int, v: int) -> int:
        h = ((h ^ v) * 0x9E3779B97F4A7C15) & MASK
        return h ^ (h >> 32)

    h = 0x2545F4914F6CDD1D
    for char in text:
        h = fold(h, ord(char))
    return fold(h, len(text)) | 1


def test_hashes_never_change():
    """A model file holds hashes: other values would make every model on disk useless."""
    assert [hex(h) for h in hash_list(["", "a", "the", "Straße", "𝒳"]).tolist()] == [
        "0xfb04e882776ec7e3",
        "0x8458fbe16e536b79",
        "0x2aa36d0a6e824339",
        "0xe96cf2ab236e198b",
        "0xe5ee5b81b9ad48af",
    ]


def test_different_hashes():
    """Of many strings, of the same values in another order; and none is 0, which marks an empty place."""
    texts = [f"{a}{b}{c}" for a in "abcdefghij" for b in range(100) for c in range(100)]
    assert len(set(hash_list(texts).tolist())) == len(set(texts))
    assert 0 not in hash_list(["", *texts])
    a, b, h = np.uint64(3), np.uint64(5), np.uint64(7)
    assert mix(mix(h, a), b) != mix(mix(h, b), a)


@given(st.lists(st.text() | st.text(st.characters(categories=["Cs"]), max_size=2)))
@example(["a\udc80", "\ud83d", "\ude00"])
def test_packed_strings_can_be_read_back(texts):
    """Lone surrogates, too: they stand in broken input that was read with `surrogateescape`."""
    codes, offsets = pack_strings(texts)
    assert ["".join(map(chr, codes[lo:hi])) for lo, hi in itertools.pairwise(offsets)] == texts
    assert hash_list(texts).tolist() == [slow_hash(text) for text in texts]


@given(keys | crowded, keys)
def test_a_table_is_a_dictionary(known, others):
    table = build_table(np.array(known, np.uint64))
    expected = {key: j for j, key in enumerate(known)}
    for key in known + others:
        assert table_find(table, np.uint64(key)) == expected.get(key, -1)


@given(keys, keys)
def test_keys_are_inserted_after_those_that_are_there(first, more):
    more = [key for key in more if key not in first]
    table = empty_table(len(first) + len(more))
    table_insert(table, np.array(first, np.uint64), 0)
    table_insert(table, np.array(more, np.uint64), len(first))
    assert [table_find(table, np.uint64(key)) for key in first + more] == list(range(len(first) + len(more)))


def test_a_table_is_at_most_half_full():
    for count in (0, 1, 7, 8, 9, 1000):
        capacity = len(empty_table(count))
        assert capacity >= 2 * count
        assert capacity.bit_count() == 1


@given(st.lists(st.integers(1, 30), max_size=300), st.lists(st.integers(1, 30), unique=True, max_size=10))
def test_numbering_counts_and_remembers_first_places(hashes, known):
    """`table_number` with room for four numbers, grown by its caller whenever it stops."""
    counter = _Counter(np.array(known, np.uint64), 0)
    scratch = max(4, 2 * len(known))
    counter.counts, counter.first = counter.counts[:scratch].copy(), counter.first[:scratch].copy()
    counter.table = empty_table(scratch)
    table_insert(counter.table, np.array(known, np.uint64), 0)
    out = np.full(len(hashes), -1, np.int32)
    half = len(hashes) // 2
    counter.number(np.array(hashes[:half], np.uint64), 0, out[:half])
    counter.number(np.array(hashes[half:], np.uint64), half, out[half:])
    order = list(dict.fromkeys([*known, *hashes]))
    assert out.tolist() == [order.index(h) for h in hashes]
    assert counter.keys.tolist() == order
    assert counter.counts[: len(order)].tolist() == [hashes.count(h) for h in order]
    expected_first = [-1 if h in known else hashes.index(h) for h in order]
    assert counter.first[: len(order)].tolist() == expected_first


def test_a_full_table_stops_and_says_how_far_it_came():
    table, size = np.zeros((8, 2), np.uint64), np.zeros(1, np.int64)
    counts, first, out = np.zeros(8, np.int64), np.full(8, -1), np.full(7, -1, np.int32)
    hashes = np.array([9, 8, 9, 7, 6, 9, 5], np.uint64)
    assert table_number(table, hashes, size, counts, first, 100, out) == 6
    assert size[0] == 4
    assert out.tolist() == [0, 1, 0, 2, 3, 0, -1]
    assert counts.tolist() == [3, 1, 1, 1, 0, 0, 0, 0]
    assert first.tolist() == [100, 101, 103, 104, -1, -1, -1, -1]
