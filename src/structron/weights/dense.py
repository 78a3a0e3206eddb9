"""Weights: a growing matrix of rows, one weight per label or action, with the sums for their exact mean.

float32 weights, float64 sums: perceptron updates are whole numbers, which both hold exactly.
"""

import numpy as np

from structron.kernels.table import aligned_zeros

FIRST_ROWS = 4096


def row_stride(columns: int) -> int:
    """The length of a row, padded to a multiple of eight: measured faster than whole cache lines."""
    return 4 if columns <= 4 else -(-columns // 8) * 8


class Rows:
    """w and u for `size[0]` rows (`size[1]` counts blocks of paired features); capacity grows by doubling."""

    def __init__(self, columns: int, fixed: int, expected: int = 0):
        self.columns = columns
        self.stride = row_stride(columns)
        capacity = fixed + max(FIRST_ROWS, expected)
        self.w = aligned_zeros((capacity, self.stride), np.float32)
        self.u = aligned_zeros((capacity, self.stride), np.float64)
        self.size = np.array([fixed, 0], np.int64)

    def reserve(self, more: int) -> None:
        """Make room for so many more rows."""
        used = int(self.size[0])
        if used + more <= len(self.w):
            return
        capacity = max(used + more, 2 * len(self.w))
        self.w = self._grown(self.w, capacity, used)
        self.u = self._grown(self.u, capacity, used)

    @staticmethod
    def _grown(old: np.ndarray, capacity: int, used: int) -> np.ndarray:
        new = aligned_zeros((capacity, old.shape[1]), old.dtype.type)
        new[:used] = old[:used]
        return new

    def mean(self, time: int) -> np.ndarray:
        """float32[rows, stride]: the mean of w over `time` examples (see update/perceptron.py)."""
        used = int(self.size[0])
        if time == 0:
            return self.w[:used].copy()
        mean = np.empty_like(self.w[:used])
        step = 1 << 14
        for lo in range(0, used, step):
            part = slice(lo, min(used, lo + step))
            mean[part] = self.w[part] - self.u[part] / time
        return mean


def sparse_rows(w: np.ndarray, columns: int) -> dict[str, np.ndarray]:
    """A matrix as its non-zero weights: what a model file holds."""
    dense = w[:, :columns]
    row, column = np.nonzero(dense)
    kind = np.uint8 if columns <= 256 else np.uint16
    counts = np.bincount(row, minlength=len(w))
    return {
        "weight_count": counts.astype(np.uint16),
        "weight_label": column.astype(kind),
        "weight": dense[row, column].astype(np.float32),
    }


def dense_rows(tensors: dict[str, np.ndarray], columns: int) -> np.ndarray:
    """The inverse of `sparse_rows`, padded and aligned. Raises ValueError when the parts do not fit together."""
    counts, column, weight = (tensors[name] for name in ("weight_count", "weight_label", "weight"))
    if [array.dtype.kind for array in (counts, column, weight)] != ["u", "u", "f"] or counts.ndim != 1:
        raise ValueError("weights are of the wrong kind")
    if not np.isfinite(weight).all():
        raise ValueError("weights are not numbers")
    if int(counts.sum()) != len(column) or len(column) != len(weight) or (len(column) and column.max() >= columns):
        raise ValueError("weights do not fit together")
    w = aligned_zeros((len(counts), row_stride(columns)), np.float32)
    w[np.repeat(np.arange(len(counts)), counts), column] = weight
    return w
