"""The structured perceptron of Collins (2002) where every token has a few labels to choose from: see perceptron.py.

z = argmax over the choices; if z ≠ y:   w = w + Φ(x, y) - Φ(x, z)

Φ has a feature of a token with every piece of its label. Where y and z share pieces, they cancel.
"""

import numpy as np

from structron.kernels.jit import helper, kernel
from structron.search.chain.choices import score_cells, search
from structron.update.perceptron import TIME, TOKENS, UPDATES, WRONG_TOKENS
from structron.weights.cells import NONE, cell_of


@helper
def add(cells, row, column, width, amount, time):
    """w[row, column] += amount, remembered for the mean."""
    k = cell_of(cells, row, column, width)
    if cells.key[k] == NONE:
        cells.key[k] = np.uint64(row * width + column + 1)
        cells.used[0] += 1
    cells.w[k] += np.float32(amount)
    cells.u[k] += amount * (time - 1)


@helper
def add_pieces(lattice, cells, labels, fixed, i, label, other, amount, time):
    """w += amount for the features of token i with the pieces of a label that another one lacks."""
    for p in range(labels.begin[label], labels.begin[label + 1]):
        alone = True
        for q in range(labels.begin[other], labels.begin[other + 1]):
            alone = alone and labels.piece[q] != labels.piece[p]
        if alone:
            for j in range(lattice.ptr[i], lattice.ptr[i + 1]):
                add(cells, fixed + lattice.numbers[j], np.int64(labels.piece[p]), labels.width, amount, time)


@helper
def correct(lattice, cells, labels, fixed, paired, start, stop, gold, z, time):
    """w += Φ(x, y) - Φ(x, z) for a sentence; returns the number of wrong tokens."""
    wrong = 0
    for i in range(start, stop):
        right, found = gold[i], z[i - start]
        if right != found:
            wrong += 1
            add_pieces(lattice, cells, labels, fixed, i, right, found, 1.0, time)
            add_pieces(lattice, cells, labels, fixed, i, found, right, -1.0, time)
        if paired:
            before = gold[i - 1] + 1 if i > start else np.int64(0)
            before_z = z[i - start - 1] + 1 if i > start else np.int64(0)
            if right != found or before != before_z:
                add(cells, before, right, labels.width, 1.0, time)
                add(cells, before_z, found, labels.width, -1.0, time)
    return wrong


@kernel
def learn(lattice, gold, cells, labels, fixed, paired, sequence, lo, hi, scratch, stats):
    """One batch of a pass: sentences sequence[lo:hi]. Returns hi, or where it stopped because cells may run out."""
    for k in range(lo, hi):
        s = sequence[k]
        start, stop = lattice.starts[s], lattice.starts[s + 1]
        most = 2 * (labels.most * (lattice.ptr[stop] - lattice.ptr[start]) + stop - start)
        if 2 * (cells.used[0] + most) > cells.key.shape[0]:
            return k
        if start < stop:
            score_cells(lattice, cells, labels, fixed, start, stop, scratch)
        search(lattice, cells, labels, paired, s, scratch)
        stats[TIME] += 1
        stats[TOKENS] += stop - start
        wrong = correct(lattice, cells, labels, fixed, paired, start, stop, gold, scratch.z, stats[TIME])
        if wrong > 0:
            stats[UPDATES] += 1
            stats[WRONG_TOKENS] += wrong
    return hi
