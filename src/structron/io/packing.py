"""Arrays in few bytes, without loss: for model files that are to be small.

    keys that ascend    ──▶ differences, byte by byte, compressed
    weights of few values ▶ a palette, and a byte for each, compressed
    everything else     ──▶ compressed, if that helps

A packed array stands in the file as bytes, and the header says how it was packed.
"""

import zlib
from typing import Any

import numpy as np

from structron.io.tensors import Tensors, inflated
from structron.runtime.threads import cores, for_each

PALETTE = 256
LEAST_BYTES = 256
"""Bytes of an array that is worth packing."""
LARGEST = 1 << 31
"""Bytes that a packed array may unpack to."""
KINDS = ("uint8", "uint16", "uint32", "uint64", "int32", "int64", "float32", "float64", "bool")


def byte_planes(array: np.ndarray) -> np.ndarray:
    """All first bytes, all second bytes …: those of small numbers are alike."""
    return np.ascontiguousarray(array.view(np.uint8).reshape(-1, array.dtype.itemsize).T)


def of_planes(planes: np.ndarray, kind: np.dtype | str) -> np.ndarray:
    """The inverse."""
    return np.ascontiguousarray(planes.T).reshape(-1).view(kind)


def pack_all(tensors: Tensors, level: int = 9) -> tuple[Tensors, dict[str, Any]]:
    """Packed arrays, and for each that was packed how: [way, kind, shape]. level: of compression, 1 to 9."""
    packed: Tensors = {}
    ways: dict[str, Any] = {}
    for name, array in tensors.items():
        flat = np.ascontiguousarray(array).reshape(-1)
        if flat.nbytes < LEAST_BYTES or array.dtype.name not in KINDS:
            packed[name] = array
            continue
        kind, way = array.dtype.name, "plain"
        if kind == "uint64" and array.ndim == 1 and (flat[1:] > flat[:-1]).all():
            way, data = "ascending", byte_planes(np.diff(flat, prepend=np.uint64(0))).tobytes()
        elif kind == "float32" and len(values := np.unique(flat)) <= PALETTE:
            way = "palette"
            packed[f"{name}.palette"] = values
            data = np.searchsorted(values, flat).astype(np.uint8).tobytes()
        else:
            data = byte_planes(flat).tobytes()
        packed[name] = np.frombuffer(zlib.compress(data, level), np.uint8)
        ways[name] = [way, kind, list(array.shape)]
    return packed, ways


def bytes_of(ways: Any) -> int:
    """What packed arrays will take, as the header says; ValueError: it says something else."""
    if not isinstance(ways, dict):
        raise ValueError("packed arrays do not fit")
    total = 0
    for name, (_, kind, shape) in ways.items():
        if kind not in KINDS or not isinstance(shape, list) or len(shape) > 2:
            raise ValueError(f"{name} is packed in an unknown way")
        if not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= LARGEST for n in shape):
            raise ValueError(f"{name} is packed in an unknown way")
        total += int(np.prod(shape, dtype=object)) * np.dtype(kind).itemsize
    return total


def unpack_all(packed: Tensors, ways: Any) -> Tensors:
    """The inverse of `pack_all`, on all cores, of parts whose size was checked; ValueError: they do not fit."""
    found = for_each(lambda name: _unpacked(packed, name, ways[name]), list(ways), cores())
    palettes = {f"{name}.palette" for name, (way, _, _) in ways.items() if way == "palette"}
    rest = {name: array for name, array in packed.items() if name not in palettes}
    return rest | dict(zip(ways, found, strict=True))


def _unpacked(packed: Tensors, name: str, given: Any) -> np.ndarray:
    way, kind, shape = given
    size = int(np.prod(shape, dtype=object))
    width = 1 if way == "palette" else np.dtype(kind).itemsize
    if size * width > LARGEST or packed[name].dtype != np.uint8:
        raise ValueError(f"{name} is too large, or not packed")
    data = inflated(packed[name].tobytes(), size * width, name)
    if len(data) != size * width:
        raise ValueError(f"{name} is cut off, or too long")
    if way == "palette":
        values, place = packed[f"{name}.palette"], np.frombuffer(data, np.uint8)
        if values.ndim != 1 or values.dtype.name != kind or (len(place) and int(place.max()) >= len(values)):
            raise ValueError(f"{name}: the palette does not fit")
        return values[place].reshape(shape)
    flat = of_planes(np.frombuffer(data, np.uint8).reshape(width, size), kind)
    if way == "ascending" and kind == "uint64":
        flat = np.cumsum(flat, dtype=np.uint64)
    elif way != "plain":
        raise ValueError(f"{name} is packed in an unknown way")
    return flat.reshape(shape)
