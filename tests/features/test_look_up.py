"""Features that a model knows, against a dictionary."""

from itertools import chain

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from structron.features.index import known_numbers
from structron.kernels.table import build_table

KEYS = st.integers(1, 400)
"""Few enough that many share a home, and that tables have long runs."""


@settings(max_examples=60, deadline=None)
@given(
    known=st.lists(KEYS, unique=True, max_size=200),
    lists=st.lists(st.lists(KEYS, max_size=90), min_size=1, max_size=6),
    before=st.integers(0, 100),
    weighted=st.booleans(),
)
def test_known_features_are_those_of_a_dictionary(known, lists, before, weighted):
    """`before`: the first list need not begin with the first hash."""
    number = {key << 3: k for k, key in enumerate(known)}
    hashes = np.array([key << 3 for key in chain([1] * before, *lists)], np.uint64)
    ptr = before + np.cumsum([0, *map(len, lists)]).astype(np.int64)
    values = np.arange(len(hashes) if weighted else 0, dtype=np.float32)
    out_ptr, out, out_values = np.zeros_like(ptr), np.empty(len(hashes), np.int32), np.empty_like(values)
    table = build_table(np.array([key << 3 for key in known], np.uint64))
    count = known_numbers(table, ptr, hashes, values, out_ptr, out, out_values)
    places = [range(ptr[i], ptr[i + 1]) for i in range(len(lists))]
    found = [[(number[int(hashes[j])], j) for j in own if int(hashes[j]) in number] for own in places]
    flat = [pair for own in found for pair in own]
    assert out[:count].tolist() == [k for k, _ in flat]
    assert out_ptr.tolist() == [0, *np.cumsum(list(map(len, found))).tolist()]
    if weighted:
        assert out_values[:count].tolist() == [float(j) for _, j in flat]
