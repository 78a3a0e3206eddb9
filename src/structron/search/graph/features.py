"""Features of arcs and other parts as places in one vector of weights, in compiled code.

A feature's code, the sum of the codes of its words, says where its row of CELLS weights begins: a cache line, so that a
feature with distance and the same without it cost one trip to memory. Rows overlap by chance and are not told apart
(the hashing trick: Ganchev & Dredze 2008); rows of relations are as long as there are relations.

    x       int64[words, columns]     values of words, from 1 on (see features/alphabets.py)
    codes   uint64[n + 2, columns]    of one sentence: the root, its words, and the absence of a word
    cells   a row's: BINS distances by direction, then the two directions alone
"""

from typing import Any, NamedTuple

import numpy as np

from structron.kernels.jit import compiled, inlined, pasted
from structron.kernels.table import SEED, mix
from structron.weights.hashed import LOG_CELLS

WIDTH = np.uint64(LOG_CELLS)
"""Places and cells are unsigned: an index that may be negative costs a comparison."""

BINS, FAR = 7, 10
"""Distances 1 … 5, up to FAR, beyond."""
PLAIN = 2 * BINS
"""The cell of a word to the left whatever the distance; that of a word to the right follows."""
TAG = 1
"""The column of tags in x."""
ZERO = np.int64(0)
"""No rows so far. As NumPy's: kernels are compiled once more for a literal."""
ROOT = np.uint64(0xFFFFFFFF)


class Look(NamedTuple):
    """A sentence as kernels see it, the weights, and room for the rows of one group."""

    templates: Any  # graph_templates.Codes
    codes: np.ndarray  # uint64[n + 2, columns]
    tags: np.ndarray  # int64[n + 2]   0: the root, and what is no word
    w: np.ndarray  # float32[cells]
    shift: np.uint64  # see row_of
    rows: np.ndarray  # uint64[(n + 2) · columns]
    kinds: np.ndarray  # int64[n + 1]      room for the tags between two words, see scores.gather_tags
    marks: np.ndarray  # int64[largest tag + 2]


@compiled
def look_at(templates, x, lo, n, w, shift):
    """The sentence of the words x[lo : lo + n]."""
    columns = templates.factor.shape[0]
    codes, tags = np.empty((n + 2, columns), np.uint64), np.zeros(n + 2, np.int64)
    encode(templates, x, lo, n, codes)
    for i in range(n):
        tags[i + 1] = x[lo + i, TAG]
    rows, kinds = np.empty((n + 2) * columns, np.uint64), np.zeros(n + 1, np.int64)
    return Look(templates, codes, tags, w, shift, rows, kinds, np.zeros(tags.max() + 2, np.int64))


@compiled
def encode(templates, x, lo, n, codes):
    """The codes of a sentence's words in all columns of the templates. Many columns add up the same slots."""
    slots, kinds = templates.slot_column.shape[0], templates.slots.shape[0]
    values, sums = np.zeros(slots + 1, np.uint64), np.zeros(kinds, np.uint64)
    for i in range(n + 2):
        for k in range(slots):
            j = i + templates.slot_offset[k]
            value = np.uint64(0)
            if j == 0:
                value = ROOT
            elif i <= n and 1 <= j <= n:
                value = np.uint64(x[lo + j - 1, templates.slot_column[k]])
            values[k] = mix(mix(templates.slot_salt[k], value), SEED)
        for k in range(kinds):
            sums[k] = 0
            for j in range(templates.slots.shape[1]):
                if templates.slots[k, j] == slots:
                    break
                sums[k] += values[templates.slots[k, j]]
        for k in range(templates.factor.shape[0]):
            codes[i, k] = sums[templates.sum_of[k]] * templates.factor[k] + templates.salt[k]


@inlined
def row_of(code, shift):
    """Where the row of a code begins. shift: 64 less the bits of the number of rows."""
    return (code >> shift) << WIDTH


@inlined
def side_of(h, m):
    """0: the word is to the left of its head, 1: to the right."""
    return 1 if m > h else 0


@inlined
def bin_of(h, m):
    """The cell of a direction and distance."""
    far = abs(h - m)
    step = far - 1 if far <= 5 else 5 if far <= FAR else 6
    return step + BINS * side_of(h, m)


@inlined
def order_of(g, h, m):
    """The cell of how three words stand in the sentence."""
    return (1 if h > g else 0) + (2 if m > h else 0) + (4 if m > g else 0)


@pasted
def rows_of_two(look, at, group, h, m, more):
    """Put the rows of a group of head and word, of which it may look at one only, behind the first `at` rows.

    more: added to every code. Returns how many rows there are then, as all that follow.
    """
    count, head = look.templates.size[group], look.templates.start[group]
    word = head + count
    for t in range(count):
        look.rows[at + t] = row_of(look.codes[h, head + t] + look.codes[m, word + t] + more, look.shift)
    return at + count


@pasted
def rows_of_three(look, at, group, i, j, k, more):
    """The same for three words, in the order of the group's roles."""
    codes, count, first = look.codes, look.templates.size[group], look.templates.start[group]
    second, third = first + count, first + 2 * count
    for t in range(count):
        look.rows[at + t] = row_of(codes[i, first + t] + codes[j, second + t] + codes[k, third + t] + more, look.shift)
    return at + count


@pasted
def rows_of_four(look, at, group, g, h, s, m):
    """The same for four words."""
    codes, count, first = look.codes, look.templates.size[group], look.templates.start[group]
    for t in range(count):
        code = codes[g, first + t] + codes[h, first + count + t]
        code += codes[s, first + 2 * count + t] + codes[m, first + 3 * count + t]
        look.rows[at + t] = row_of(code, look.shift)
    return at + count
