"""The structured perceptron of Collins (2002), Figures 1 and 2, with the exact lazy mean of section 2.5.

    For t = 1 … T, i = 1 … n:
        z = argmax_u  w · Φ(x_i, u)                  search(…)
        if z ≠ y_i:   w = w + Φ(x_i, y_i) - Φ(x_i, z)     add_difference(…)

The averaged weights are the mean of w after every example of every pass. An update Δ at example t counts from t on,
so with u = Σ (t-1)·Δ the mean after T examples is w - u / T: O(update) per example, never O(weights).
"""

import numpy as np

from structron.kernels import compiled
from structron.search.chain import load_limits, load_reach, load_transitions, load_trigrams, row_bounds
from structron.search.viterbi import search

TIME, UPDATES, WRONG_TOKENS, TOKENS = range(4)
"""Places in the `stats` array: examples so far (over all passes), and this pass's counts."""


@compiled
def add(weights, row, y, amount, time):
    """w[row, y] += amount, remembered for the mean."""
    weights.w[row, y] += np.float32(amount)
    weights.u[row, y] += amount * (time - 1)


@compiled
def claim_row(weights):
    """A fresh row; the caller has made sure there is room."""
    row = weights.size[0]
    weights.size[0] += 1
    return np.int32(row)


@compiled
def feature_row(weights, number):
    """The row of a feature, brought into being by its first update."""
    if weights.row_of[number] < 0:
        weights.row_of[number] = claim_row(weights)
    return weights.row_of[number]


@compiled
def pair_row(weights, number, p):
    """The row of a paired feature for one previous label."""
    if weights.block_of[number] < 0:
        weights.block_of[number] = np.int32(weights.size[1])
        weights.size[1] += 1
    block = weights.block_of[number]
    if weights.block_rows[block, p] < 0:
        weights.block_rows[block, p] = claim_row(weights)
    return weights.block_rows[block, p]


@compiled
def add_difference(chains, weights, order, start, n, y, z, amount, time, labels, work):
    """w += amount * (Φ(x, y) - Φ(x, z)), touching only what differs. y, z: labels of the sentence's tokens."""
    weighted = chains.values.shape[0] > 0
    paired = chains.pair_ptr.shape[0] > 0
    before_count = labels + 1
    for i in range(n):
        token = start + i
        yp = y[i - 1] + 1 if i > 0 else 0
        zp = z[i - 1] + 1 if i > 0 else 0
        ypp = y[i - 2] + 1 if i > 1 else 0
        zpp = z[i - 2] + 1 if i > 1 else 0
        if y[i] != z[i]:
            for k in range(chains.ptr[token], chains.ptr[token + 1]):
                row = feature_row(weights, chains.numbers[k])
                value = np.float64(chains.values[k]) if weighted else 1.0
                add(weights, row, y[i], amount * value, time)
                add(weights, row, z[i], -amount * value, time)
        if y[i] != z[i] or yp != zp:
            add(weights, yp, y[i], amount, time)
            add(weights, zp, z[i], -amount, time)
            if paired:
                for k in range(chains.pair_ptr[token], chains.pair_ptr[token + 1]):
                    add(weights, pair_row(weights, chains.pair_numbers[k], yp), y[i], amount, time)
                    add(weights, pair_row(weights, chains.pair_numbers[k], zp), z[i], -amount, time)
        if order == 2 and (y[i] != z[i] or yp != zp or ypp != zpp):
            y_row = before_count + ypp * before_count + yp
            z_row = before_count + zpp * before_count + zp
            add(weights, y_row, y[i], amount, time)
            add(weights, z_row, z[i], -amount, time)
            row_bounds(weights.w, y_row, labels, y_row, work.hi, work.lo)
            row_bounds(weights.w, z_row, labels, z_row, work.hi, work.lo)


@compiled
def learn(chains, gold, weights, order, sequence, lo, hi, labels, work, stats):
    """One stretch of a pass: sentences sequence[lo:hi]. Stops early, and says where, when rows may run out."""
    load_limits(weights, labels, work)
    load_transitions(weights, labels, work)
    if order == 2:
        load_trigrams(weights, labels, work)
    paired = chains.pair_ptr.shape[0] > 0
    for k in range(lo, hi):
        s = sequence[k]
        start, stop = chains.starts[s], chains.starts[s + 1]
        n = stop - start
        rows = chains.ptr[stop] - chains.ptr[start]
        if paired:
            pairs = chains.pair_ptr[stop] - chains.pair_ptr[start]
            rows += 2 * pairs
            if weights.size[1] + pairs > weights.block_rows.shape[0]:
                return k
        if weights.size[0] + rows > weights.w.shape[0]:
            return k
        y = gold[start:stop]
        search(chains, weights, order, s, labels, work)
        z = work.z
        wrong = 0
        for i in range(n):
            wrong += y[i] != z[i]
        stats[TIME] += 1
        stats[TOKENS] += n
        if wrong > 0:
            add_difference(chains, weights, order, start, n, y, z, 1.0, stats[TIME], labels, work)
            load_transitions(weights, labels, work)
            if order == 2:
                load_reach(labels, work)
            stats[UPDATES] += 1
            stats[WRONG_TOKENS] += wrong
    return hi
