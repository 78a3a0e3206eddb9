"""Lessons as few bytes, without loss: what goes to the workers of a cluster and back.

Rows are sorted and sent as differences, once for all their columns; sums that are whole numbers as such; every array
byte by byte (all first bytes, all second bytes …) and compressed, quickly rather than well.
"""

import zlib
from typing import Any, NamedTuple

import numpy as np

from structron.learn.committee import Lesson
from structron.weights.changes import Changes

LEVEL = 1
SMALL = 1 << 31


class Packed(NamedTuple):
    """An array in few bytes."""

    data: bytes
    kind: str


class Parcel(NamedTuple):
    """A lesson in few bytes; up: changes and sums of a shard, or (news for shards) the weights as they are."""

    arrays: dict[str, Packed]
    changed: int
    rest: tuple[int, dict[str, Any], dict[str, np.ndarray]]

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(len(packed.data) for packed in self.arrays.values()) + sum(a.nbytes for a in self.rest[2].values())


def _pack(array: np.ndarray) -> Packed:
    planes = np.ascontiguousarray(array.view(np.uint8).reshape(-1, array.dtype.itemsize).T)
    return Packed(zlib.compress(planes.tobytes(), LEVEL), array.dtype.str)


def _unpack(packed: Packed) -> np.ndarray:
    kind = np.dtype(packed.kind)
    planes = np.frombuffer(zlib.decompress(packed.data), np.uint8).reshape(kind.itemsize, -1)
    return np.array(planes.T, order="C").reshape(-1).view(kind)


def _whole(sums: np.ndarray) -> np.ndarray:
    """Sums as whole numbers of four bytes, if they are."""
    fits = len(sums) == 0 or (np.abs(sums).max() < SMALL and (np.trunc(sums) == sums).all())
    return sums.astype(np.int32) if fits else sums


def _pack_all(lesson: Lesson, **arrays: np.ndarray) -> Parcel:
    changes = lesson.changes
    order = np.argsort(changes.row, kind="stable")
    row = changes.row[order]
    first = np.flatnonzero(np.concatenate([row[:1] == row[:1], row[1:] != row[:-1]]))
    count = np.diff(np.append(first, len(row)))
    found = {
        "gap": np.diff(row[first], prepend=np.uint64(0)),
        "count": count.astype(np.uint32),
        "column": changes.column[order],
        **{name: array[order] for name, array in arrays.items()},
    }
    return Parcel({name: _pack(array) for name, array in found.items()}, len(row), lesson[1:])


def moved(changes: Changes) -> Changes:
    """Those whose weights have changed, and not the sums alone."""
    chosen = np.flatnonzero(changes.change)
    return Changes(*(array[chosen] for array in changes))


def pack_lesson(lesson: Lesson) -> Parcel:
    """From a shard: by how much weights have changed, and their sums."""
    return _pack_all(lesson, change=lesson.changes.change, u=_whole(lesson.changes.u))


def pack_news(lesson: Lesson) -> Parcel:
    """To all shards: weights as they are now."""
    return _pack_all(lesson, w=lesson.changes.w)


def unpack(parcel: Parcel) -> Lesson:
    """The inverse, of either; what was not sent is 0."""
    found = {name: _unpack(packed) for name, packed in parcel.arrays.items()}
    row = np.repeat(np.cumsum(found["gap"], dtype=np.uint64), found["count"])
    nothing = np.zeros(len(row), np.float32)
    w, change = found.get("w", nothing), found.get("change", nothing)
    u = found.get("u", nothing).astype(np.float64)
    return Lesson(Changes(row, found["column"], w, change, u), *parcel.rest)
