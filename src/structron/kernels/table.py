"""What every kernel shares: 64-bit hashing and the open-addressing table.

A feature is a 64-bit hash; the table maps it to a small number (a slot while training, a row of weights afterwards).
Plain arrays instead of `numba.typed.Dict`, which costs a second in every process.

    table: uint64[capacity, 2]    column 0 the key (0 = free), column 1 the number; capacity a power of two
"""

import numpy as np

from structron.kernels.jit import helper, kernel, prefetch

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SEED = np.uint64(0x2545F4914F6CDD1D)
ABSENT = np.uint64(0)
SHIFT = np.uint64(32)
ONE = np.uint64(1)
AHEAD = 16
"""How many look-ups before a place in a table is needed it is asked for."""


@helper(allocates=True)
def mix(h, v):
    """Fold one 64-bit value into a hash; the order of the values matters."""
    h = (h ^ v) * MULTIPLIER
    return h ^ (h >> SHIFT)


@helper(allocates=True)
def hash_codes(codes, start, stop):
    """The hash of a run of code points, never 0 (0 means an absent value)."""
    h = SEED
    for j in range(start, stop):
        h = mix(h, np.uint64(codes[j]))
    return mix(h, np.uint64(stop - start)) | ONE


@kernel(allocates=True)
def hash_strings(codes, offsets, out):
    """Hash every string of a packed list (see `pack_strings`)."""
    for k in range(offsets.shape[0] - 1):
        out[k] = hash_codes(codes, offsets[k], offsets[k + 1])


@helper
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


@kernel(allocates=True)
def table_insert(table, keys, first):
    """Store keys[j] -> first + j. The caller leaves room (at most half full) and gives no key twice."""
    mask = table.shape[0] - 1
    for j in range(keys.shape[0]):
        k = np.int64(keys[j] & np.uint64(mask))
        while table[k, 0] != ABSENT:
            k = (k + 1) & mask
        table[k, 0] = keys[j]
        table[k, 1] = np.uint64(first + j)


@kernel(allocates=True)
def table_number(table, hashes, size, counts, first, offset, out):
    """Give each hash its number, new ones the next free; count them and remember where each was first seen.

    Stops early when the table is half full and returns how many hashes were done; the caller grows and goes on.
    """
    mask = table.shape[0] - 1
    limit = min(table.shape[0] // 2, counts.shape[0])
    for j in range(hashes.shape[0]):
        if j + AHEAD < hashes.shape[0]:
            prefetch(table, np.int64(hashes[j + AHEAD] & np.uint64(mask)), 0)
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


def empty_table(keys: int, places: int = 2) -> np.ndarray:
    """A table with at least so many places for each of so many keys."""
    capacity = 1 << max(4, int(places * max(keys, 1) - 1).bit_length())
    return np.zeros((capacity, 2), np.uint64)


def build_table(keys: np.ndarray) -> np.ndarray:
    """The table that maps keys[j] to j. At most a third is filled: a key that stands behind another is a second trip to
    memory, which waits for the first."""
    table = empty_table(len(keys), places=3)
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
