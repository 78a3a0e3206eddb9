"""Model files: safetensors (nothing in it can be executed) with one JSON header, a version and a checksum.

A file is read whole and checked before any of it is used, and written under a temporary name until complete, so a
truncated, damaged or foreign file gives one clear line and an interrupted save leaves the old model in place.
"""

import hashlib
import json
import os
import stat
import struct
from concurrent.futures import Future
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from structron._version import __version__
from structron.errors import StructronError
from structron.io import atomic_write_bytes
from structron.io.packing import bytes_of, pack_all, unpack_all
from structron.io.tensors import EXPANSION, LEAST_SIZE, Tensors, nested, size_of
from structron.io.text import sweep
from structron.runtime.interrupts import outcome
from structron.runtime.threads import ThreadPool

FORMAT = 2
KEY = "structron"
MOST_HEADER = 100_000_000
"""Bytes of a header: safetensors itself takes no more."""

_begun: dict[str, "Future[tuple[dict[str, Any], Tensors]]"] = {}


def _digest(header: dict, tensors: Tensors) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        digest.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def save(path: str | Path, header: dict[str, Any], tensors: Tensors, packed: int = 0) -> None:
    """Write a model file atomically; equal models give equal bytes (several metadata would come in any order).

    packed: in few bytes, 1 to 9: the more, the fewer and the longer it takes; 0: as they are.
    """
    import safetensors.numpy

    if packed:
        tensors, header["packed"] = pack_all(tensors, packed)
    if nested(header):
        raise StructronError(f"{path}: the data to save are nested too deep")
    header = json.loads(json.dumps({**header, "format": FORMAT, "version": __version__}))
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    header["checksum"] = _digest(header, tensors)
    sweep(os.path.dirname(os.path.realpath(path)))
    atomic_write_bytes(path, safetensors.numpy.save(tensors, {KEY: json.dumps(header, sort_keys=True)}))


def is_model(path: str | Path) -> bool:
    """Whether a file begins as our models do, damaged or not."""
    return _told(path) is not None


def task_of(path: str | Path) -> str | None:
    """The task of a model file, None where it does not say."""
    try:
        return str(json.loads(_told(path) or "")["task"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _told(path: str | Path) -> Any:
    """What a model file says of itself in its header; None: it is not one of ours. A pipe is not touched."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as stream:
            return _head(stream)[0]["__metadata__"][KEY]
    except (OSError, struct.error, ValueError, KeyError, TypeError, RecursionError):
        return None


def _head(stream: BinaryIO) -> tuple[Any, bytes]:
    """The head of a file in the format of safetensors, and its bytes: no more of it is read."""
    begin = stream.read(8)
    (length,) = struct.unpack("<Q", begin)
    if length > MOST_HEADER:
        raise ValueError("no head")
    text = stream.read(length)
    if len(text) < length:
        raise ValueError("cut off")
    return json.loads(text), begin + text


def check_unpacked(size: int, most: int) -> None:
    """ValueError: compressed parts say that they are larger than a file of this size may become."""
    if size > most:
        raise ValueError(f"its compressed parts claim to have {size} bytes; such a file holds at most {most}")


def begin(path: str | Path) -> None:
    """Begin to read a model file that `load` will be asked for, while something else is done."""
    if os.path.isfile(path):
        pool = ThreadPool(1)
        _begun[str(path)] = pool.submit(_read, path)
        pool.close()


def load(path: str | Path) -> tuple[dict[str, Any], Tensors]:
    """Read a model file and check it; every defect is a StructronError that names the file."""
    begun = _begun.pop(str(path), None)
    return _read(path) if begun is None else outcome(begun)


def _whole(stream: BinaryIO, begin: bytes, wanted: int) -> bytes | None:
    """A whole file, if so much follows its beginning as its head says; another one is not read."""
    size, found = len(begin) + wanted, os.fstat(stream.fileno())
    if wanted < 0 or (stat.S_ISREG(found.st_mode) and found.st_size != size):
        return None
    try:
        if stream.seekable():
            stream.seek(0)
            data = stream.read(size)
        else:
            data = begin + stream.read(wanted)
    except (MemoryError, OverflowError):
        return None
    return data if len(data) == size else None


def _read(path: str | Path) -> tuple[dict[str, Any], Tensors]:
    """Arrays are copied out of the file's bytes: read-only ones would be another type to the kernels, compiled anew."""
    import safetensors.numpy

    if os.path.isdir(path):
        raise StructronError(f"{path}: is a folder; expected a model file")
    try:
        with open(path, "rb") as stream:
            head, begin = _head(stream)
            header = json.loads(head["__metadata__"][KEY])
            wanted = max((own["data_offsets"][1] for name, own in head.items() if name != "__metadata__"), default=0)
            data = _whole(stream, begin, wanted)
        checksum = header.pop("checksum", None)
        if nested(header):
            raise ValueError("nested too deep")
        known = int(header["format"])
    except OSError as error:
        raise StructronError(f"{path}: cannot read the model: {error.strerror}") from None
    except (struct.error, ValueError, KeyError, IndexError, TypeError, ArithmeticError, AttributeError, RecursionError):
        raise StructronError(
            f"{path}: not a structron model, or cut off; expected a file written by 'structron train'"
        ) from None
    if known != FORMAT:
        made, remedy = header.get("version", "unknown"), "upgrade" if known > FORMAT else "retrain the model"
        raise StructronError(
            f"{path}: made by structron {made} (format {known}); this version reads format {FORMAT}: {remedy}"
        )
    if data is None:
        raise StructronError(
            f"{path}: damaged model file (its size does not match its header); retrain it or restore a copy"
        )
    try:
        tensors = safetensors.numpy.load(data)
    except Exception as error:
        raise StructronError(f"{path}: damaged model file ({error})") from None
    if _digest(header, tensors) != checksum:
        raise StructronError(f"{path}: damaged model file (wrong checksum); retrain it or restore a copy")
    try:
        most = max(LEAST_SIZE, EXPANSION * len(data))
        if "packed" in header:
            packed = header.pop("packed")
            check_unpacked(bytes_of(packed), most)
            tensors = unpack_all(tensors, packed)
        check_unpacked(sum(map(size_of, tensors.values())), most)
    except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError) as error:
        raise StructronError(f"{path}: damaged model file ({error})") from None
    return header, {name: np.array(array) for name, array in tensors.items()}
