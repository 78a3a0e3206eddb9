"""Features of arcs and other parts as places in one vector of weights, in compiled code.

A feature's code, the sum of the codes of its words, says where its row of CELLS weights begins: a cache line, so that a
feature with distance and the same without it cost one trip to memory. Rows overlap by chance and are not told apart
(the hashing trick: Ganchev & Dredze 2008); rows of relations are as long as there are relations.

    x       int64[words, columns]     values of words, from 1 on (see features/alphabets.py)
    codes   uint64[n + 2, columns]    of one sentence: the root, its words, and the absence of a word
    cells   a row's: BINS distances by direction, then the two directions alone
"""

from typing import Annotated, NamedTuple

import numpy as np
from numba import types

from structron.kernels.jit import entry, helper
from structron.kernels.reference import Floats, Ints, Keys, Keys2, by_reference
from structron.kernels.table import SEED, mix
from structron.search.graph.templates import Codes
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


@by_reference
class SentenceCodes(NamedTuple):
    """A sentence as kernels see it, the weights, and scratch memory for the rows of one group. Used for one sentence
    after the other."""

    templates: Codes
    codes: Keys2  # uint64[n + 2, columns]
    tags: Ints  # int64[n + 2]   0: the root, and what is no word
    w: Floats  # float32[cells]
    shift: Annotated[np.uint64, types.uint64]  # see row_of
    rows: Keys  # uint64[(n + 2) · columns]
    kinds: Ints  # int64[n + 1]      scratch memory for the tags between two words, see scores.gather_tags
    marks: Ints  # int64[largest tag + 2]
    values: Keys  # uint64[slots]    scratch memory for the codes of one word, see `encode`
    sums: Keys  # uint64[kinds of sums]


def make_sentence_codes(templates: Codes, words: int, tags: int, w: np.ndarray, shift: np.uint64) -> SentenceCodes:
    """Scratch memory for sentences of up to so many words, whose tags are below `tags`."""
    columns, kinds = len(templates.factor), len(templates.slots)
    codes, rows = np.empty((words + 2, columns), np.uint64), np.empty((words + 2) * columns, np.uint64)
    sizes = (words + 2, words + 1, tags + 1)
    tags_of, between, marks = (np.zeros(size, np.int64) for size in sizes)
    values, sums = np.zeros(len(templates.slot_salt), np.uint64), np.zeros(kinds, np.uint64)
    return SentenceCodes(templates, codes, tags_of, w, shift, rows, between, marks, values, sums)


def sentence_codes(templates: Codes, x: np.ndarray, lo: int, n: int, w: np.ndarray, shift: np.uint64) -> SentenceCodes:
    """The sentence of the words x[lo : lo + n]."""
    sentence = make_sentence_codes(templates, n, int(x[:, TAG].max(initial=0)) + 1, w, shift)
    entry(encode)(sentence, x, lo, n)
    return sentence


@helper
def encode(sentence, x, lo, n):
    """The tags of a sentence's words, and their codes in all columns of the templates. Many columns add up the same
    slots."""
    templates, codes, values, sums = sentence.templates, sentence.codes, sentence.values, sentence.sums
    slots, kinds = templates.slot_column.shape[0], templates.slots.shape[0]
    for i in range(n + 2):
        sentence.tags[i] = x[lo + i - 1, TAG] if 1 <= i <= n else 0
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


@helper(inline=True)
def row_of(code, shift):
    """Where the row of a code begins. shift: 64 less the bits of the number of rows."""
    return (code >> shift) << WIDTH


@helper(inline=True)
def side_of(h, m):
    """0: the word is to the left of its head, 1: to the right."""
    return 1 if m > h else 0


@helper(inline=True)
def bin_of(h, m):
    """The cell of a direction and distance."""
    far = abs(h - m)
    step = far - 1 if far <= 5 else 5 if far <= FAR else 6
    return step + BINS * side_of(h, m)


@helper(inline=True)
def order_of(g, h, m):
    """The cell of how three words stand in the sentence."""
    return (1 if h > g else 0) + (2 if m > h else 0) + (4 if m > g else 0)


@helper
def rows_of_two(sentence, at, group, h, m, more):
    """Put the rows of a group of head and word, of which it may look at one only, behind the first `at` rows.

    more: added to every code. Returns how many rows there are then, as all that follow.
    """
    count, head = sentence.templates.size[group], sentence.templates.start[group]
    word = head + count
    for t in range(count):
        sentence.rows[at + t] = row_of(sentence.codes[h, head + t] + sentence.codes[m, word + t] + more, sentence.shift)
    return at + count


@helper
def rows_of_three(sentence, at, group, i, j, k, more):
    """The same for three words, in the order of the group's roles."""
    codes, count, first = sentence.codes, sentence.templates.size[group], sentence.templates.start[group]
    second, third = first + count, first + 2 * count
    for t in range(count):
        sentence.rows[at + t] = row_of(
            codes[i, first + t] + codes[j, second + t] + codes[k, third + t] + more, sentence.shift
        )
    return at + count


@helper
def rows_of_four(sentence, at, group, g, h, s, m):
    """The same for four words."""
    codes, count, first = sentence.codes, sentence.templates.size[group], sentence.templates.start[group]
    for t in range(count):
        code = codes[g, first + t] + codes[h, first + count + t]
        code += codes[s, first + 2 * count + t] + codes[m, first + 3 * count + t]
        sentence.rows[at + t] = row_of(code, sentence.shift)
    return at + count
