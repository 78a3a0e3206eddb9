"""What a model file must hold: every model declares its arrays, and one function checks a file against them.

Kernels trust their arrays. So a model says of each array its kind, its dimensions and the range of its values before
any kernel sees it; sizes have names, and a name stands for one number throughout a file:

    {"keys": Tensor("uint64", "features"), "weight_row": Tensor("int32", "features", least=0, below="rows")}

A file that was tampered with and given a valid checksum is either refused here, in one line, or it is a model.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from structron.errors import quoted

Tensors = dict[str, np.ndarray]
Sizes = dict[str, int]
LARGEST_WEIGHT = 1e20
"""Sums of weights this large are still finite numbers in single precision."""
EXPANSION, LEAST_SIZE = 64, 1 << 26
"""What a file unpacks to may be so many times its size, and so many bytes in any case: ours stay far below, and a file
that was made to fill the memory has to be large itself."""
LONGEST_TEXT = 1 << 20
"""Characters of a text in a header: a label, the name of a column."""
DEEPEST = 100
"""Lists and objects that a header may nest."""
BLOCK_PLACES, MOST_KEYS_OF_BLOCK = 1024, 900
"""So many places of a hash table, of which half are used on average, may be the homes of so many keys."""


NUMBERS = "uint16|uint32"
"""The kinds of arrays of numbers: 16 bits where they fit (`number_kind`)."""


def number_kind(count: int) -> type[np.unsignedinteger]:
    """What holds the numbers 0 … count - 1 in a file."""
    return np.uint16 if count <= 1 << 16 else np.uint32


class Tensor:
    """The kind, dimensions and values of an array.

    kinds: NumPy types, several with |.   shape: sizes by name or number; "n+1" is one more than n.
    least, below: least value, and the number (or size) that all values stay below.   rises: from 0, never falling, to
    the named size.   adds_up: to the named size.   ascending: each value is larger than the one before.   spread: keys
    of a hash table, whose lowest bits are not alike.
    """

    def __init__(
        self,
        kinds: str,
        *shape: str | int,
        least: int | None = None,
        below: int | str | None = None,
        rises: str | None = None,
        adds_up: str | None = None,
        ascending: bool = False,
        spread: bool = False,
    ):
        self.kinds, self.shape, self.least, self.below = kinds.split("|"), shape, least, below
        self.rises, self.adds_up, self.ascending, self.spread = rises, adds_up, ascending, spread

    def bind(self, array: np.ndarray, sizes: Sizes) -> str | None:
        """Check kind and shape; a size that has no number yet gets it. Returns what is wrong."""
        if array.dtype.name not in self.kinds:
            return f"is {array.dtype}, not {' or '.join(self.kinds)}"
        if array.ndim != len(self.shape):
            return f"has {array.ndim} dimensions, not {len(self.shape)}"
        for found, wanted in zip(array.shape, self.shape, strict=True):
            if isinstance(wanted, int):
                expected = wanted
            else:
                name, _, more = wanted.partition("+")
                expected = sizes.setdefault(name, found - int(more or 0)) + int(more or 0)
            if found != expected or found < 0:
                return f"has shape {array.shape}, not ({', '.join(map(str, self.shape))}) with {wanted} = {expected}"
        return None

    def values(self, array: np.ndarray, sizes: Sizes) -> str | None:
        """Check the values, all sizes being known. Returns what is wrong."""
        if array.dtype.kind == "f" and array.size and not float(np.abs(array).max()) <= LARGEST_WEIGHT:
            return "has values that are not finite, or huge"
        if not array.size and self.rises is None and self.adds_up is None:
            return None
        if self.least is not None and int(array.min()) < self.least:
            return f"has values below {self.least}"
        below = sizes[self.below] if isinstance(self.below, str) else self.below
        if below is not None and int(array.max()) >= below:
            return f"has values of {below} or more"
        if self.ascending and (array[1:] <= array[:-1]).any():
            return "does not ascend"
        if self.spread and crowded(array):
            return "has too many keys that are alike"
        if self.adds_up is not None and int(array.sum(dtype=np.int64)) != sizes[self.adds_up]:
            return f"does not add up to {self.adds_up}"
        if self.rises is not None:
            bounds = len(array) and array[0] == 0 and array[-1] == sizes[self.rises]
            if not bounds or (array[1:] < array[:-1]).any():
                return f"does not rise from 0 to {self.rises}"
        return None


def check(tensors: Mapping[str, np.ndarray], declared: Mapping[str, Tensor], sizes: Sizes) -> Sizes:
    """Raise ValueError unless the arrays are those that are declared; returns all sizes by name."""
    sizes = dict(sizes)
    for name in tensors.keys() - declared.keys():
        raise ValueError(f"{name}: an array that does not belong there")
    for name, tensor in declared.items():
        if name not in tensors:
            raise ValueError(f"{name} is missing")
        if problem := tensor.bind(tensors[name], sizes):
            raise ValueError(f"{name} {problem}")
    for name, tensor in declared.items():
        if problem := tensor.values(tensors[name], sizes):
            raise ValueError(f"{name} {problem}")
    return sizes


def crowded(keys: np.ndarray) -> bool:
    """Whether so many keys have their homes side by side in a table (kernels/table.py) that entering them, one after
    the other, would take time by their square: equal ones, or such as were made for it."""
    capacity = 1 << max(4, int(2 * max(len(keys), 1) - 1).bit_length())
    if capacity <= BLOCK_PLACES:
        return False
    blocks = (keys & np.uint64(capacity - 1)) >> np.uint64(BLOCK_PLACES.bit_length() - 1)
    return int(np.bincount(blocks.astype(np.int64)).max(initial=0)) > MOST_KEYS_OF_BLOCK


def check_expansion(cells: int, given: int, what: str) -> None:
    """ValueError: so many bytes are beyond what arrays of so many bytes may become."""
    if cells > max(8 * LEAST_SIZE, EXPANSION * given):
        raise ValueError(f"{what} would take {cells} bytes, far more than the file")


def nested(value: Any, deepest: int = DEEPEST) -> bool:
    """Whether lists and objects stand in each other deeper than they may; found without recursion."""
    level = [value]
    for _ in range(deepest + 1):
        inner = [own.values() if isinstance(own, dict) else own for own in level if isinstance(own, dict | list)]
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def texts(given: Any, what: str, least: int = 0, repeats: bool = False) -> list[str]:
    """A list of texts from a header, different ones unless it may repeat some; ValueError: it is something else."""
    fits = isinstance(given, list) and set(map(type, given)) <= {str}
    if not fits or max(map(len, given), default=0) > LONGEST_TEXT or len(given) < least:
        raise ValueError(f"{what} do not fit")
    if len(set(given)) < len(given) and not repeats:
        raise ValueError(f"{what} do not fit")
    return given


def whole(given: Any, what: str, least: int = 0, most: int = 1 << 40) -> int:
    """A whole number of a header within its range; ValueError: it is something else."""
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise ValueError(f"{what} is {quoted(given)}, not a whole number from {least} to {most}")
    return given


def under(prefix: str, parts: Mapping[str, Any]) -> dict[str, Any]:
    """The same under names that begin with a prefix."""
    return {f"{prefix}{name}": part for name, part in parts.items()}


def beginning(prefix: str, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Those whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): part for name, part in parts.items() if name.startswith(prefix)}


# -- texts as arrays -------------------------------------------------------------------------------------------------

TEXT = "uint8"
MARK = b"strtext\n"
"""How the bytes of a text begin; then its size, 8 bytes, and the compressed text. Older files have that alone."""


def pack(text: str) -> np.ndarray:
    """A compressed text as an array, its size before it."""
    data = text.encode("utf-8", "surrogatepass")
    return np.frombuffer(MARK + len(data).to_bytes(8, "little") + zlib.compress(data, 6), np.uint8)


def size_of(array: np.ndarray) -> int:
    """The bytes that a text says it has; what is no text has none, and one that does not say so as many as it may."""
    if array.dtype != np.uint8 or array.ndim != 1 or array[: len(MARK)].tobytes() != MARK:
        return 0
    return int.from_bytes(array[len(MARK) : len(MARK) + 8].tobytes(), "little")


def unpack(array: np.ndarray, most: int | None = None) -> str:
    """The text of an array that `pack` made, of at most so many bytes; ValueError: it is longer, or damaged."""
    data, limit = array.tobytes(), EXPANSION * array.size + LEAST_SIZE // 64
    if data.startswith(MARK):
        data, limit = data[len(MARK) + 8 :], size_of(array)
    limit = limit if most is None else min(limit, most)
    return inflated(data, limit, "a text").decode("utf-8", "surrogatepass")


def inflated(data: bytes, most: int, what: str) -> bytes:
    """Compressed bytes, at most so many; ValueError: there are more, or they are damaged."""
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(data, most + 1)
    except zlib.error as error:
        raise ValueError(f"{what} is damaged ({error})") from None
    if len(found) > most or not reader.eof:
        raise ValueError(f"{what} is cut off, or too long")
    return found


def pack_json(value: Any) -> np.ndarray:
    return pack(json.dumps(value))


def unpack_json(array: np.ndarray) -> Any:
    """ValueError: it is no JSON."""
    try:
        found = json.loads(unpack(array))
    except RecursionError:
        raise ValueError("a text is nested too deep") from None
    if nested(found):
        raise ValueError("a text is nested too deep")
    return found


def taken(tensors: Tensors, name: str, size: str | int = "bytes") -> np.ndarray:
    """Bytes taken out of a file's arrays, before the others are checked; ValueError: it is another array."""
    check({name: tensors[name]}, {name: Tensor(TEXT, size)}, {})
    return tensors.pop(name)
