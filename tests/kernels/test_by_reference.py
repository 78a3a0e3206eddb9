"""Declared tuples reach kernels by their address: with the arrays that they have, and no others."""

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numba.core.config import DISABLE_JIT

from structron.kernels.jit import kernel
from structron.kernels.reference import Bytes2, Doubles, Floats2, Ints, Keys3, by_reference, reference

needs_jit = pytest.mark.skipif(bool(DISABLE_JIT), reason="nothing is compiled")


@by_reference
class Inner(NamedTuple):
    """What stands inside another."""

    keys: Keys3
    weight: float


@by_reference
class Outer(NamedTuple):
    """A tuple of each kind of field."""

    numbers: Ints
    rows: Floats2
    flags: Bytes2
    inner: Inner
    count: int
    on: bool
    share: float
    out: Doubles


@kernel
def describe(outer):
    """All that a kernel can see of the tuple."""
    out, inner = outer.out, outer.inner
    out[0], out[1] = outer.numbers.shape[0], outer.numbers.sum()
    out[2], out[3], out[4] = outer.rows.shape[0], outer.rows.shape[1], 0.0
    for i in range(outer.rows.shape[0]):
        for j in range(outer.rows.shape[1]):
            out[4] += (3 * i + j) * outer.rows[i, j]
    out[5], out[6] = outer.flags.size, inner.keys.shape[2]
    out[7], out[8] = inner.keys[-1, 0, 0], inner.weight
    out[9], out[10], out[11] = outer.count, 1.0 if outer.on else 0.0, outer.share


def make(numbers, rows, count, on, share):
    inner = Inner(np.full((2, 1, 3), 7, np.uint64), 0.25)
    return Outer(numbers, rows, np.zeros((2, 3), np.uint8), inner, count, on, share, np.zeros(12))


@given(
    numbers=arrays.arrays(np.int64, st.integers(0, 5), elements=st.integers(-99, 99)),
    rows=arrays.arrays(np.float32, st.tuples(st.integers(0, 4), st.integers(0, 4)), elements=st.integers(-9, 9)),
    count=st.integers(-(2**63), 2**63 - 1),
    on=st.booleans(),
    share=st.floats(allow_nan=False),
)
def test_a_kernel_sees_what_is_in_the_tuple(numbers, rows, count, on, share):
    outer = make(numbers, rows, count, on, share)
    describe(outer)
    weighed = sum((3 * i + j) * rows[i, j] for i in range(rows.shape[0]) for j in range(rows.shape[1]))
    expected = [len(numbers), numbers.sum(), *rows.shape, weighed, 6, 3, 7, 0.25, float(count), float(on), share]
    assert outer.out.tolist() == expected


def test_a_replaced_field_is_seen():
    outer = make(np.array([1, 2]), np.zeros((1, 1), np.float32), 3, True, 0.5)
    describe(outer)
    again = outer._replace(numbers=np.array([5]), count=9)
    describe(again)
    assert again.out[[0, 1, 9]].tolist() == [1, 5, 9]


@needs_jit
def test_machine_code_and_python_write_the_same_words():
    outer = make(np.arange(5), np.zeros((2, 3), np.float32), -3, True, 0.5)
    describe(outer)
    for own, nested in ((outer, "inner"), (outer.inner, "")):
        kind, words = reference(type(own)), own.packed_.copy()
        (written,) = (found for name, found in vars(own).items() if name == kind.name)
        found = np.frombuffer(written, np.int64).copy()
        if nested:  # words of its own
            found[kind.offsets[nested]] = words[kind.offsets[nested]] = 0
        assert found.tolist() == words.tolist()


@needs_jit
@pytest.mark.parametrize(
    "numbers", [np.arange(2, dtype=np.longlong), np.frombuffer(np.arange(2).tobytes(), np.int64), np.arange(2)[None][0]]
)
def test_what_is_as_good_is_taken(numbers):
    """Another name of the same type, arrays that cannot be written, views."""
    outer = make(numbers, np.zeros((1, 1), np.float32), np.int64(3), np.True_, np.float32(0.5))
    describe(outer)
    assert outer.out[[0, 1, 9, 10, 11]].tolist() == [2, 1, 3, 1, 0.5]


@needs_jit
@pytest.mark.parametrize("inner", [None, (1, 2), np.zeros(3)])
def test_what_is_no_tuple_of_this_kind_is_refused(inner):
    outer = make(np.arange(2), np.zeros((1, 1), np.float32), 3, True, 0.5)._replace(inner=inner)
    with pytest.raises(AttributeError, match="has no attribute 'address_'"):
        describe(outer)


@needs_jit
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda own: pickle.loads(pickle.dumps(own))])
def test_a_copy_has_an_address_of_its_own(how):
    """Also one that is made in another process, where nothing stands at the old address."""
    outer = make(np.array([1, 2]), np.zeros((1, 1), np.float32), 3, True, 0.5)
    describe(outer)
    assert vars(outer)
    again = how(outer)
    assert vars(again) == {}
    assert type(again) is type(outer)
    describe(again)
    assert again.out.tolist() == outer.out.tolist()
    assert again.address_ != outer.address_


@needs_jit
@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        (np.zeros(2, np.int32), r"Outer\.numbers: int32, 1 dimensions; expected array\(int64, 1d, C\)"),
        (np.zeros((2, 2), np.int64), r"Outer\.numbers: int64, 2 dimensions"),
        (np.zeros(4, np.int64)[::2], r"Outer\.numbers: int64, 1 dimensions"),
        (np.zeros(2, ">i8"), r"Outer\.numbers: >i8, 1 dimensions"),
        (np.zeros(17, np.uint8)[1:].view(np.int64), r"Outer\.numbers: int64, 1 dimensions"),
    ],
)
def test_another_kind_of_array_is_refused(numbers, says):
    with pytest.raises(TypeError, match=says):
        describe(make(numbers, np.zeros((1, 1), np.float32), 3, True, 0.5))


def test_layout_of_words():
    kind = reference(Inner)
    assert kind.offsets == {"keys": 0, "weight": 5 + 2 * 3}
    assert kind.words == 12
