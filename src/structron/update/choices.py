"""The structured perceptron of Collins (2002) where every token has a few labels to choose from: see perceptron.py.

z = argmax over the choices; if z ≠ y:   w = w + Φ(x, y) - Φ(x, z)
"""

import numpy as np

from structron.kernels.jit import borrowing
from structron.search.chain.choices import score_cells, search
from structron.update.perceptron import TIME, TOKENS, UPDATES, WRONG_TOKENS
from structron.weights.cells import NONE, cell_of


@borrowing
def add(cells, row, label, labels, amount, time):
    """w[row, label] += amount, remembered for the mean."""
    k = cell_of(cells, row, label, labels)
    if cells.key[k] == NONE:
        cells.key[k] = np.uint64(row * labels + label + 1)
        cells.used[0] += 1
    cells.w[k] += np.float32(amount)
    cells.u[k] += amount * (time - 1)


@borrowing
def correct(lattice, cells, labels, fixed, paired, start, stop, gold, z, time):
    """w += Φ(x, y) - Φ(x, z) for a sentence; returns the number of wrong tokens."""
    wrong = 0
    for i in range(start, stop):
        right, found = gold[i], z[i - start]
        if right != found:
            wrong += 1
            for j in range(lattice.ptr[i], lattice.ptr[i + 1]):
                add(cells, fixed + lattice.numbers[j], right, labels, 1.0, time)
                add(cells, fixed + lattice.numbers[j], found, labels, -1.0, time)
        if paired:
            before = gold[i - 1] + 1 if i > start else 0
            before_z = z[i - start - 1] + 1 if i > start else 0
            if right != found or before != before_z:
                add(cells, before, right, labels, 1.0, time)
                add(cells, before_z, found, labels, -1.0, time)
    return wrong


@borrowing
def learn(lattice, gold, cells, labels, fixed, paired, sequence, lo, hi, room, stats):
    """One stretch of a pass: sentences sequence[lo:hi]. Returns hi, or where it stopped because cells may run out."""
    for k in range(lo, hi):
        s = sequence[k]
        start, stop = lattice.starts[s], lattice.starts[s + 1]
        most = 2 * (lattice.ptr[stop] - lattice.ptr[start] + stop - start)
        if 2 * (cells.used[0] + most) > cells.key.shape[0]:
            return k
        if start < stop:
            score_cells(lattice, cells, labels, fixed, start, stop, room)
        search(lattice, cells, labels, paired, s, room)
        stats[TIME] += 1
        stats[TOKENS] += stop - start
        wrong = correct(lattice, cells, labels, fixed, paired, start, stop, gold, room.z, stats[TIME])
        if wrong > 0:
            stats[UPDATES] += 1
            stats[WRONG_TOKENS] += wrong
    return hi
