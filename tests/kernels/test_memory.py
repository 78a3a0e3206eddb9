"""Arrays that start on a cache line, and that grow without standing twice."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structron.kernels import memory
from structron.kernels.memory import aligned_zeros, forget, move, pieces

KINDS = [np.float32, np.float64]
linux = pytest.mark.skipif(sys.platform != "linux", reason="tells what memory a process has by /proc")


def resident() -> int:
    """Bytes that this process has in memory."""
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * memory.mmap.PAGESIZE


@pytest.mark.parametrize("shape", [(0, 4), (1, 4), (5, 24), (7,), (300_000, 4)])
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_start_on_a_cache_line(shape, kind):
    array = aligned_zeros(shape, kind)
    assert array.shape == shape
    assert array.dtype == kind
    assert array.ctypes.data % 64 == 0 or not array.size
    assert not array.any()
    assert array.flags.c_contiguous
    assert array.flags.writeable


@given(st.integers(0, 4000), st.integers(1, 5), st.integers(1, 9000), st.sampled_from([0, 1 << 30]))
def test_a_moved_array_is_the_same(used, columns, piece, large):
    """Whether it has pages of its own or not, and however few are copied at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "LARGE_BYTES", max(large, 1))
        patch.setattr(memory, "PIECE", piece)
        old = aligned_zeros((used + 3, columns), np.float64)
        old[:] = np.arange(old.size).reshape(old.shape)
        expected = old.copy()
        new = move(old, aligned_zeros((used + 50, columns), np.float64), used)
        cut = pieces(old, used)
    assert (new[:used] == expected[:used]).all()
    assert not new[used:].any()
    assert [row for lo, hi in cut for row in range(lo, hi)] == [*range(used)]


def test_only_pages_of_the_rows_themselves_are_forgotten():
    page = memory.mmap.PAGESIZE
    array = aligned_zeros((memory.LARGE_BYTES // 8 + page, 1), np.float64)
    array[:] = 1
    forget(array, 3, 3 * page // 8 + 5)
    assert (array[: page // 8] == 1).all()
    assert (array[3 * page // 8 :] == 1).all()
    small = aligned_zeros((8, 1), np.float64)
    small[:] = 1
    forget(small, 0, 8)
    assert (small == 1).all()


@linux
def test_an_array_that_moves_does_not_stand_twice():
    old = aligned_zeros((1 << 23,), np.float64)
    old[:] = 1
    most = []

    class Watched(np.ndarray):
        """Says what is in memory whenever something is copied to it."""

        def __setitem__(self, place, values):
            super().__setitem__(place, values)
            most.append(resident())

    before = resident()
    new = move(old, aligned_zeros((1 << 24,), np.float64).view(Watched), len(old))
    assert max(most) < before + old.nbytes // 4
    assert (np.asarray(new)[: len(old)] == 1).all()


def test_an_array_that_has_no_room_is_refused_as_others_are():
    with pytest.raises(MemoryError):
        aligned_zeros((1 << 55,), np.float64)
