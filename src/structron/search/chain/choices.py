"""Exact search where tokens have a few labels each to choose from, however many there are in all.

    tokens        x1        x2        x3
    choices     A, B, C     D        A, E        choice[first[i]] … choice[first[i + 1] - 1]

Rows 0 … labels have weights of label pairs: row 0 those of the first label of a sentence, row y + 1 those of the labels
after y. Row fixed + j is that of feature j. It has a weight for each piece that labels consist of, so that what is
learned of Number=Sing holds in all labels that have it; most labels are their only piece. Where a token has one choice,
its features say nothing of the decision and are not looked at: a score is short of a constant there.

    learning      cells ──score_cells──▶ scratch.local ──search──▶ scratch.z
    prediction    rows  ──score_rows───▶     "          "         "

Both add up the same weights in the same order.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structron.kernels.jit import helper, ir_inline, kernel, prefetch
from structron.kernels.reference import Floats, Ints, Numbers, by_reference
from structron.weights.cells import Cells, Rows, home, weight_in, weight_of

FIRST = np.int64(0)
WIDE = 32
"""Weights of a row from which on labels are looked for; in a shorter one all are gone through."""
BETWEEN_COLUMNS, BETWEEN_VALUES = " ", "|"
"""What labels are split at: they join the columns, and the values of a column, that are learned as one label."""


@by_reference
class Lattice(NamedTuple):
    """Sentences with what there is to choose from."""

    starts: Ints  # int64[sentences + 1]
    ptr: Ints  # int64[tokens + 1]
    numbers: Numbers  # int32: features of tokens
    first: Ints  # int64[tokens + 1]
    choice: Numbers  # int32: labels


@by_reference
class Labels(NamedTuple):
    """What labels consist of: piece[begin[y]] … piece[begin[y + 1] - 1] are those of label y."""

    begin: Ints  # int64[labels + 1]
    piece: Numbers  # int32
    width: int  # numbers of labels, and those of pieces, are below
    most: int  # pieces that a label has


@by_reference
class ChoiceWeights(NamedTuple):
    """Finished weights: all of them, and those of label pairs as a table."""

    rows: Rows
    pairs: Cells


@by_reference
class ChoiceScratch(NamedTuple):
    """Where a search works; sizes of the longest sentence."""

    local: Floats  # float32[choices]: what the features give to a choice
    best: Floats  # float32[choices]: the best prefix that ends in it …
    back: Ints  # int64[choices]: … and the choice before it there
    after: Floats  # float32[choices]: the best that can follow it
    z: Ints  # int64[tokens]
    asked: Ints  # int64[width]: the pieces of all choices of the token at work …
    given: Floats  # float32[width]: … what its features give to each …
    place: Ints  # int64[width]: … and 1 + where a piece stands among them; 0: nowhere


@helper
def list_pieces(lattice, labels, i, scratch):
    """List the pieces of all choices of token i, each once and with a score of 0; returns how many there are."""
    count = 0
    for c in range(lattice.first[i], lattice.first[i + 1]):
        y = lattice.choice[c]
        for p in range(labels.begin[y], labels.begin[y + 1]):
            piece = labels.piece[p]
            if scratch.place[piece] == 0:
                scratch.asked[count] = piece
                scratch.given[count] = 0
                count += 1
                scratch.place[piece] = count
    return count


@helper
def answer(lattice, labels, i, origin, count, scratch):
    """Each choice gets the sum of its pieces' scores; the list is cleared."""
    for c in range(lattice.first[i], lattice.first[i + 1]):
        y = lattice.choice[c]
        total = np.float32(0)
        for p in range(labels.begin[y], labels.begin[y + 1]):
            total += scratch.given[scratch.place[labels.piece[p]] - 1]
        scratch.local[c - origin] = total
    for k in range(count):
        scratch.place[scratch.asked[k]] = 0


@helper
def score_cells(lattice, cells, labels, fixed, start, stop, scratch):
    """What the features of tokens start … stop-1 give to their choices, where there are several.

    A cell is far away in memory, and whether it is there cannot be guessed: all cells of a token are asked for before
    the first is waited for.
    """
    origin = lattice.first[start]
    keys, weights = cells.key.reshape((-1, 1)), cells.w.reshape((-1, 1))
    for i in range(start, stop):
        lo, hi = lattice.first[i], lattice.first[i + 1]
        if hi - lo == 1:
            scratch.local[lo - origin] = 0
            continue
        count = list_pieces(lattice, labels, i, scratch)
        for p in range(count):
            for j in range(lattice.ptr[i], lattice.ptr[i + 1]):
                k = home(cells, fixed + lattice.numbers[j], scratch.asked[p], labels.width)
                prefetch(keys, k, 0)
                prefetch(weights, k, 0)
        for p in range(count):
            total = np.float32(0)
            for j in range(lattice.ptr[i], lattice.ptr[i + 1]):
                total += weight_of(cells, fixed + lattice.numbers[j], scratch.asked[p], labels.width)
            scratch.given[p] = total
        answer(lattice, labels, i, origin, count, scratch)


@helper
def score_rows(lattice, rows, labels, fixed, start, stop, scratch):
    """The same with finished weights. A feature's row has weights of one or two of the pieces, mostly: what it has is
    given to those that are there, and nothing is looked for that is not."""
    origin, given, place = lattice.first[start], scratch.given, scratch.place
    for i in range(start, stop):
        lo, hi = lattice.first[i], lattice.first[i + 1]
        if hi - lo == 1:
            scratch.local[lo - origin] = 0
            continue
        count = list_pieces(lattice, labels, i, scratch)
        for j in range(lattice.ptr[i], lattice.ptr[i + 1]):
            row = fixed + np.int64(lattice.numbers[j])
            begin, end = rows.begin[row], rows.begin[row + 1]
            if end - begin < WIDE:
                for k in range(begin, end):
                    at = place[rows.label[k]]
                    if at > 0:
                        given[at - 1] += rows.w[k]
            else:
                for p in range(count):
                    given[p] += weight_in(rows, row, scratch.asked[p])
        answer(lattice, labels, i, origin, count, scratch)


@helper
def search(lattice, pairs, labels, paired, s, scratch):
    """The best labelling of sentence s in scratch.z, and its score, where scratch.local is filled. pairs: a table with
    the weights of label pairs.   paired: whether they have any."""
    start, stop = lattice.starts[s], lattice.starts[s + 1]
    if start == stop:
        return np.float32(0)
    origin = lattice.first[start]
    for i in range(start, stop):
        lo, hi = lattice.first[i], lattice.first[i + 1]
        for c in range(lo, hi):
            best, back, label = np.float32(0), -1, np.int64(lattice.choice[c])
            if i == start:
                if paired:
                    best = weight_of(pairs, FIRST, label, labels.width)
            else:
                for p in range(lattice.first[i - 1], lo):
                    score = scratch.best[p - origin]
                    if paired:
                        score += weight_of(pairs, np.int64(lattice.choice[p]) + 1, label, labels.width)
                    if back < 0 or score > best:
                        best, back = score, p
            scratch.best[c - origin] = best + scratch.local[c - origin]
            scratch.back[c - origin] = back
    last = lattice.first[stop - 1]
    for c in range(last, lattice.first[stop]):
        if scratch.best[c - origin] > scratch.best[last - origin]:
            last = c
    found = scratch.best[last - origin]
    for i in range(stop - 1, start - 1, -1):
        scratch.z[i - start] = lattice.choice[last]
        last = scratch.back[last - origin]
    return found


@ir_inline
def best(lattice, weights, labels, fixed, paired, s, scratch):
    """`search` with finished weights."""
    if lattice.starts[s] < lattice.starts[s + 1]:
        score_rows(lattice, weights.rows, labels, fixed, lattice.starts[s], lattice.starts[s + 1], scratch)
    return search(lattice, weights.pairs, labels, paired, s, scratch)


@kernel
def decode(lattice, weights, labels, fixed, paired, scratch, out, scores):
    """The best labels of every sentence, and their scores."""
    for s in range(lattice.starts.shape[0] - 1):
        scores[s] = best(lattice, weights, labels, fixed, paired, s, scratch)
        for i in range(lattice.starts[s], lattice.starts[s + 1]):
            out[i] = scratch.z[i - lattice.starts[s]]


@ir_inline
def through(lattice, weights, labels, fixed, paired, s, scratch, out):
    """out[c]: the score of the best labelling of sentence s with choice c, for all choices of its tokens."""
    best(lattice, weights, labels, fixed, paired, s, scratch)
    start, stop = lattice.starts[s], lattice.starts[s + 1]
    origin = lattice.first[start]
    for i in range(stop - 1, start - 1, -1):
        lo, hi = lattice.first[i], lattice.first[i + 1]
        for c in range(lo, hi):
            after = np.float32(0)
            if i < stop - 1:
                after = np.float32(-np.inf)
                for q in range(hi, lattice.first[i + 2]):
                    score = scratch.after[q - origin] + scratch.local[q - origin]
                    if paired:
                        row, label = np.int64(lattice.choice[c]) + 1, np.int64(lattice.choice[q])
                        score += weight_of(weights.pairs, row, label, labels.width)
                    after = max(after, score)
            scratch.after[c - origin] = after
            out[c] = scratch.best[c - origin] + after


@kernel
def put_margins(lattice, weights, labels, fixed, paired, scratch, out, scores, through_all, sure):
    """sure: the margin of each token, where `decode` has found labels and scores."""
    for s in range(lattice.starts.shape[0] - 1):
        through(lattice, weights, labels, fixed, paired, s, scratch, through_all)
        for i in range(lattice.starts[s], lattice.starts[s + 1]):
            second = np.float32(-np.inf)
            for c in range(lattice.first[i], lattice.first[i + 1]):
                if lattice.choice[c] != out[i]:
                    second = max(second, through_all[c])
            sure[i] = scores[s] - second


def decode_with_margins(
    lattice: Lattice,
    weights: ChoiceWeights,
    labels: Labels,
    fixed: int,
    paired: bool,
    scratch: ChoiceScratch,
    out: np.ndarray,
    scores: np.ndarray,
    through_all: np.ndarray,
    sure: np.ndarray,
) -> None:
    """`decode` with each token's margin: by how much the best labelling beats the best with another label there."""
    decode(lattice, weights, labels, fixed, paired, scratch, out, scores)
    put_margins(lattice, weights, labels, fixed, paired, scratch, out, scores, through_all, sure)


def make_scratch(lattice: Lattice, labels: Labels) -> ChoiceScratch:
    """Scratch memory for the longest sentence."""
    choices = int(np.diff(lattice.first[lattice.starts]).max(initial=1))
    tokens = int(np.diff(lattice.starts).max(initial=1))
    local, best, after, given = (np.zeros(size, np.float32) for size in (choices, choices, choices, labels.width))
    back, z, asked, place = (np.zeros(size, np.int64) for size in (choices, tokens, labels.width, labels.width))
    return ChoiceScratch(local, best, back, after, z, asked, given, place)


def make_labels(labels: Sequence[str], split: bool) -> Labels:
    """What labels consist of. split: of the values of their columns; otherwise each is a piece of its own."""
    number: dict[Any, int] = {}
    pieces = [
        [number.setdefault(piece, len(number)) for piece in (label_pieces(label) if split else [label])]
        for label in labels
    ]
    begin = np.zeros(len(labels) + 1, np.int64)
    np.cumsum([len(own) for own in pieces], out=begin[1:])
    flat = np.array([piece for own in pieces for piece in own], np.int32)
    return Labels(begin, flat, max(len(labels), len(number)), int(np.diff(begin).max(initial=1)))


def label_pieces(label: str) -> list[tuple[int, str]]:
    """`NN Case=Nom|Number=Sing` has three. The same text in another column is another piece."""
    columns = enumerate(label.split(BETWEEN_COLUMNS))
    return list(dict.fromkeys((k, value) for k, column in columns for value in column.split(BETWEEN_VALUES)))
