"""Arrays of zeros as kernels like them: they start on a cache line, and large ones give memory back piece by piece.

An array that grows is copied, and for a moment stands twice. With `move` it does not: what has been copied goes back to
the system before the next piece is.
"""

import math
import mmap

import numpy as np

LINE = 64
LARGE_BYTES = 1 << 22
"""Bytes from which on an array has pages of its own."""
PIECE = 1 << 22
"""Bytes that are copied at a time."""
PRIVATE = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
NOT_NEEDED = getattr(mmap, "MADV_DONTNEED", None)


def aligned_zeros(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Zeros that start on a cache line, so that padded rows never straddle one more than they must; what is not touched
    takes no memory."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size >= LARGE_BYTES and PRIVATE and NOT_NEEDED is not None:
        try:
            return np.ndarray(shape, dtype, mmap.mmap(-1, size, flags=PRIVATE))
        except OSError:
            raise MemoryError(f"no memory for an array of {size} bytes") from None
    raw = np.zeros(size + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + size].view(dtype).reshape(shape)


def pieces(array: np.ndarray, used: int) -> list[tuple[int, int]]:
    """The first rows of an array, (lo, hi), about PIECE bytes at a time."""
    rows = max(1, PIECE // max(1, array.nbytes // max(1, len(array))))
    return [(lo, min(lo + rows, used)) for lo in range(0, used, rows)]


def forget(array: np.ndarray, lo: int, hi: int) -> None:
    """Rows lo … hi - 1 of an array are of no use any more: give back the pages that are theirs alone, if there is a
    way. They hold zeros then, or what they held."""
    if isinstance(array.base, mmap.mmap) and NOT_NEEDED is not None:
        row = array.nbytes // len(array)
        first, end = -(-lo * row // mmap.PAGESIZE) * mmap.PAGESIZE, hi * row // mmap.PAGESIZE * mmap.PAGESIZE
        if end > first:
            array.base.madvise(NOT_NEEDED, first, end - first)


def move(old: np.ndarray, new: np.ndarray, used: int) -> np.ndarray:
    """Copy the first rows of an array to a new one, and free the old: nobody may read it any more."""
    for lo, hi in pieces(old, used):
        new[lo:hi] = old[lo:hi]
        forget(old, lo, hi)
    return new
