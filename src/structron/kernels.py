"""The few compiled helpers that every part shares: 64-bit hashing and the open-addressing table of rows.

A feature is a 64-bit hash; the table maps it to a small number (a slot while training, a row of weights
afterwards). Plain arrays instead of `numba.typed.Dict`, which costs a second in every process.

    table: uint64[capacity, 2]    column 0 the key (0 = free), column 1 the number; capacity a power of two
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, typeof, types
from numba.core import cgutils
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]
from numba.extending import intrinsic

LEAVES = ("search/queue.py", "search/expand.py", "features/stretches.py")
"""Files with kernels that no kernel of another file calls: a change there is a change for themselves alone."""

GRAPH = ("templates", "features", "scores", "relations", "search", "update")
"""The kernels of graph-based parsing."""


def _stamp(path: Path) -> tuple[str, int, int]:
    return path.name, path.stat().st_mtime_ns, path.stat().st_size


def _fingerprint() -> tuple:
    """Name, time and size of every file that holds kernels for others."""
    package = Path(__file__).parent
    folders = (package / "features", package / "search", package / "update")
    files = sorted(path for folder in folders for path in folder.glob("*.py"))
    files += [package / name for name in ("kernels.py", "sparse.py", "tasks/transitions.py")]
    files += [package / "tasks" / f"graph_{name}.py" for name in GRAPH]
    leaves = {package / name for name in LEAVES}
    return tuple(_stamp(path) for path in files if path not in leaves)


SOURCES = _fingerprint()


def _without_literals(get_call_template: Callable) -> Callable:
    """Have a kernel compiled for int64 where another one calls it with 0: Numba would compile it for 0 as well."""

    def without(args: Any, kws: Any) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return get_call_template(tuple(map(types.unliteral, args)), plain)

    return without


def compiled(function: Callable, forceinline: bool = False, signature: Any = None) -> Any:
    """`numba.njit` with a disk cache that is fresh only while *no* kernel file has changed.

    Numba looks at the one file in which a kernel stands; ours call each other across files, and a stale kernel
    would keep an old helper inlined after an upgrade or an edit.
    """
    kernel: Any = njit(cache=True, nogil=True, forceinline=forceinline)(function)
    if not DISABLE_JIT:
        kernel.get_call_template = _without_literals(kernel.get_call_template)
    cache_file: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = (SOURCES, _stamp(Path(function.__code__.co_filename)))
    if signature is not None and not DISABLE_JIT:
        kernel.compile(signature)
        kernel.disable_compile()
    return kernel


def inlined(function: Callable) -> Any:
    """`compiled` for a few lines inside a hot loop: LLVM leaves them as calls, which costs more than they do."""
    return compiled(function, forceinline=True)


class Pointed:
    """A kernel that takes functions as typed pointers, so that it is compiled and cached once for all of them.

    The first arguments are the functions; their signatures are settled here, the other types with the first call.
    """

    def __init__(self, function: Callable, *pointers: Any):
        self.function, self.pointers = function, pointers
        self.kernel: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if DISABLE_JIT:
            return self.function(*arguments)
        if self.kernel is None:
            functions = [types.FunctionType(signature) for signature in self.pointers]
            rest = [typeof(argument) for argument in arguments[len(functions) :]]
            self.kernel = compiled(self.function, signature=(*functions, *rest))
        return self.kernel(*arguments)

    def is_cold(self) -> bool:
        return self.kernel is None and not DISABLE_JIT and is_cold(compiled(self.function))


def is_cold(kernel: Any) -> bool:
    """Whether a kernel is neither compiled in this process nor in the cache: its first call will take seconds."""
    cache_file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if cache_file is None or kernel.signatures:
        return False
    return not cache_file._load_index()


@intrinsic
def _prefetch(typingctx, array, i, j):
    """Compiled `prefetch`."""

    def codegen(context, builder, signature, arguments):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, view, list(arguments[1:]), wraparound=False)
        byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        )
        builder.call(function, [builder.bitcast(place, byte), i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, i, j), codegen


def _stay(array, i, j):
    """Uncompiled `prefetch`: there is nothing to hurry."""


prefetch: Any = _stay if DISABLE_JIT else _prefetch
"""prefetch(array, i, j): have the cache line of array[i, j] loaded, without waiting for it."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SEED = np.uint64(0x2545F4914F6CDD1D)
ABSENT = np.uint64(0)
SHIFT = np.uint64(32)
ONE = np.uint64(1)


@compiled
def mix(h, v):
    """Fold one 64-bit value into a hash; the order of the values matters."""
    h = (h ^ v) * MULTIPLIER
    return h ^ (h >> SHIFT)


@compiled
def hash_codes(codes, start, stop):
    """The hash of a run of code points, never 0 (0 means an absent value)."""
    h = SEED
    for j in range(start, stop):
        h = mix(h, np.uint64(codes[j]))
    return mix(h, np.uint64(stop - start)) | ONE


@compiled
def hash_strings(codes, offsets, out):
    """Hash every string of a packed list (see `pack_strings`)."""
    for k in range(offsets.shape[0] - 1):
        out[k] = hash_codes(codes, offsets[k], offsets[k + 1])


@compiled
def table_find(table, key):
    """The number stored for a key, or -1."""
    mask = table.shape[0] - 1
    k = np.int64(key & np.uint64(mask))
    while True:
        found = table[k, 0]
        if found == key:
            return np.int64(table[k, 1])
        if found == ABSENT:
            return np.int64(-1)
        k = (k + 1) & mask


@compiled
def table_insert(table, keys, first):
    """Store keys[j] -> first + j. The caller leaves room (at most half full) and gives no key twice."""
    mask = table.shape[0] - 1
    for j in range(keys.shape[0]):
        k = np.int64(keys[j] & np.uint64(mask))
        while table[k, 0] != ABSENT:
            k = (k + 1) & mask
        table[k, 0] = keys[j]
        table[k, 1] = np.uint64(first + j)


@compiled
def table_number(table, hashes, size, counts, first, offset, out):
    """Give each hash its number, new ones the next free; count them and remember where each was first seen.

    Stops early when the table is half full and returns how many hashes were done; the caller grows and goes on.
    """
    mask = table.shape[0] - 1
    limit = min(table.shape[0] // 2, counts.shape[0])
    for j in range(hashes.shape[0]):
        key = hashes[j]
        k = np.int64(key & np.uint64(mask))
        while table[k, 0] != key and table[k, 0] != ABSENT:
            k = (k + 1) & mask
        if table[k, 0] == ABSENT:
            if size[0] >= limit:
                return j
            table[k, 0] = key
            table[k, 1] = np.uint64(size[0])
            first[size[0]] = offset + j
            size[0] += 1
        number = np.int64(table[k, 1])
        counts[number] += 1
        out[j] = number
    return hashes.shape[0]


def empty_table(keys: int) -> np.ndarray:
    """A table with room for that many keys at most half full."""
    capacity = 1 << max(4, int(2 * max(keys, 1) - 1).bit_length())
    return np.zeros((capacity, 2), np.uint64)


def build_table(keys: np.ndarray) -> np.ndarray:
    """The table that maps keys[j] to j."""
    table = empty_table(len(keys))
    table_insert(table, keys, 0)
    return table


def pack_strings(strings: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Strings as one array of code points and their offsets: what compiled code can read."""
    offsets = np.zeros(len(strings) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=offsets[1:])
    codes = np.frombuffer(bytearray("".join(strings).encode("utf-32-le", "surrogatepass")), np.uint32)
    return codes, offsets


def hash_list(strings: list[str]) -> np.ndarray:
    """One stable 64-bit hash per string: the same in every process and on every machine."""
    out = np.empty(len(strings), np.uint64)
    hash_strings(*pack_strings(strings), out)
    return out


def aligned_zeros(shape: tuple[int, int], dtype: type) -> np.ndarray:
    """A zeroed matrix that starts on a cache line, so that padded rows never straddle one more than they must."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)
