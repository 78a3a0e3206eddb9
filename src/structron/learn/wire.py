"""Lessons as few bytes, without loss: what goes to the workers of a cluster and back.

Rows are sorted and sent as differences, once for all their columns; whole numbers in as few bytes as the largest takes;
every array byte by byte: all first bytes, all second bytes … What becomes shorter by it is compressed, quickly rather
than well.
"""

import zlib
from typing import Any, NamedTuple

import numpy as np

from structron.io.packing import byte_planes, of_planes
from structron.learn.loop import ShardUpdate
from structron.runtime.threads import for_each
from structron.weights.mixing import Changes, by_row

LEVEL = 1
SAMPLE, WORTH = 1 << 14, 0.9
"""Bytes of a plane that are tried, and what may be left of them."""


class PackedArray(NamedTuple):
    """An array in few bytes: the first bytes of all numbers, the second ones … A plane that has as many bytes as there
    are numbers is not compressed."""

    planes: list[bytes]
    many: int
    kind: str
    folded: str  # the kind of numbers 0, -1, 1, -2 … that stand for whole ones; "": they stand for themselves


class Parcel(NamedTuple):
    """A shard's update in few bytes; up: changes and sums of a shard, or (broadcast) the weights as they are."""

    arrays: dict[str, PackedArray]
    changed: int
    rest: tuple[int, dict[str, Any], dict[str, np.ndarray]]

    @property
    def size(self) -> int:
        """Its bytes."""
        packed = sum(len(plane) for own in self.arrays.values() for plane in own.planes)
        return packed + sum(array.nbytes for array in self.rest[2].values())


def _pack(array: np.ndarray) -> PackedArray:
    sent = _folded(array)
    numbers = array if sent is None else sent
    folded = "" if sent is None else sent.dtype.str
    return PackedArray([_squeezed(plane.data) for plane in byte_planes(numbers)], len(array), array.dtype.str, folded)


def _unpack(packed: PackedArray) -> np.ndarray:
    kind = np.dtype(packed.folded or packed.kind)
    planes = (plane if len(plane) == packed.many else zlib.decompress(plane) for plane in packed.planes)
    found = of_planes(np.array([np.frombuffer(plane, np.uint8) for plane in planes]), kind)
    return _unfolded(found).astype(packed.kind) if packed.folded else found


def _squeezed(plane: memoryview) -> bytes:
    """Bytes compressed, if their beginning shows that it is worth it."""
    if len(zlib.compress(plane[:SAMPLE], LEVEL)) > WORTH * min(len(plane), SAMPLE):
        return bytes(plane)
    found = zlib.compress(plane, LEVEL)
    return found if len(found) < len(plane) else bytes(plane)


def _folded(array: np.ndarray) -> np.ndarray | None:
    """Whole numbers in the fewest bytes, with the sign at the lower end, so that small ones have high bytes of 0.

    None: they are too large, or not whole. -0.0 is not: it would come back as 0.0.
    """
    if array.dtype.kind == "f" and ((np.trunc(array) != array) | (np.signbit(array) & (array == 0))).any():
        return None
    largest = max(float(array.max(initial=0)), -float(array.min(initial=0)))
    for kind in (np.int8, np.int16, np.int32):
        if largest <= np.iinfo(kind).max:
            own: Any = array.astype(kind)
            return ((own << 1) ^ (own >> (8 * own.itemsize - 1))).view(f"u{own.itemsize}")
    return None


def _unfolded(found: Any) -> np.ndarray:
    """The inverse, as numbers with signs."""
    size = found.dtype.itemsize
    return (found >> 1).view(f"i{size}") ^ -(found & 1).view(f"i{size}")


def _pack_all(update: ShardUpdate, jobs: int, **arrays: np.ndarray) -> Parcel:
    changes = update.changes
    order = by_row(changes.row)
    row = changes.row[order]
    first = np.flatnonzero(np.concatenate([row[:1] == row[:1], row[1:] != row[:-1]]))
    count = np.diff(np.append(first, len(row)))
    found = {
        "gap": np.diff(row[first], prepend=np.uint64(0)),
        "count": count,
        "column": changes.column[order],
        **{name: array[order] for name, array in arrays.items()},
    }
    packed = for_each(_pack, list(found.values()), jobs)
    return Parcel(dict(zip(found, packed, strict=True)), len(row), update[1:])


def moved(changes: Changes) -> Changes:
    """Those whose weights have changed, and not the sums alone."""
    chosen = np.flatnonzero(changes.change)
    return Changes(*(array[chosen] for array in changes))


def pack_update(update: ShardUpdate) -> Parcel:
    """From a shard: by how much weights have changed, and their sums."""
    return _pack_all(update, 1, change=update.changes.change, u=update.changes.u)


def pack_broadcast(update: ShardUpdate, jobs: int) -> Parcel:
    """To all shards: weights as they are now."""
    return _pack_all(update, jobs, w=update.changes.w)


def unpack(parcel: Parcel) -> ShardUpdate:
    """The inverse, of either; what was not sent is 0."""
    found = {name: _unpack(packed) for name, packed in parcel.arrays.items()}
    row = np.repeat(np.cumsum(found["gap"], dtype=np.uint64), found["count"])
    nothing = np.zeros(len(row), np.float32)
    w, change = found.get("w", nothing), found.get("change", nothing)
    u = found.get("u", nothing).astype(np.float64, copy=False)
    return ShardUpdate(Changes(row, found["column"], w, change, u), *parcel.rest)
