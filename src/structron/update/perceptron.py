"""The structured perceptron of Collins (2002), Figures 1 and 2, with the exact lazy mean of section 2.5.

    For t = 1 … T, i = 1 … n:
        z = argmax_u  w · Φ(x_i, u)                  search(…)
        if z ≠ y_i:   w = w + Φ(x_i, y_i) - Φ(x_i, z)     add_difference(…)

The averaged weights are the mean of w after every example of every pass. An update Δ at example t counts from t on,
so with u = Σ (t-1)·Δ the mean after T examples is w - u / T: O(update) per example, never O(weights).
"""

import numpy as np
from numba import types

from structron.kernels.jit import WithFunctionPointers, helper, ir_inline, kernel
from structron.kernels.reference import reference
from structron.search.chain.scores import EncodedChains, Weights, Work, load_reach, load_transitions, row_bounds
from structron.search.chain.viterbi import SEARCH, SEARCHES

TIME, UPDATES, WRONG_TOKENS, TOKENS, NEAR, INVALID, STATS = range(7)
"""Places in the `stats` array: examples so far (over all passes), and this pass's counts. NEAR: updates for examples
that are right, but not by the margin (update/margin.py). INVALID: updates by w·Δ > 0 (update/swvp.py)."""


@helper
def add(weights, row, y, amount, time):
    """w[row, y] += amount, remembered for the mean."""
    weights.w[row, y] += np.float32(amount)
    weights.u[row, y] += amount * (time - 1)


@ir_inline
def claim_row(weights):
    """A new row; the caller has made sure there is room."""
    row = weights.size[0]
    weights.size[0] += 1
    return np.int32(row)


@helper
def feature_row(weights, number):
    """The row of a feature; its first update creates it."""
    if weights.row_of[number] < 0:
        weights.row_of[number] = claim_row(weights)
    return np.int64(weights.row_of[number])


@helper
def pair_row(weights, number, p):
    """The row of a paired feature for one previous label."""
    if weights.block_of[number] < 0:
        weights.block_of[number] = np.int32(weights.size[1])
        weights.size[1] += 1
    block = weights.block_of[number]
    if weights.block_rows[block, p] < 0:
        weights.block_rows[block, p] = claim_row(weights)
    return np.int64(weights.block_rows[block, p])


@helper
def add_factor(chains, weights, order, token, i, y, z, amount, time, labels, work):
    """w += amount * (Φ(x, y) - Φ(x, z)), the part of token i of a sentence, if the labels it sees differ."""
    before_count = labels + 1
    yp = y[i - 1] + 1 if i > 0 else 0
    zp = z[i - 1] + 1 if i > 0 else 0
    ypp = y[i - 2] + 1 if i > 1 else 0
    zpp = z[i - 2] + 1 if i > 1 else 0
    if y[i] != z[i]:
        weighted = chains.values.shape[0] > 0
        for k in range(chains.ptr[token], chains.ptr[token + 1]):
            row = feature_row(weights, chains.numbers[k])
            value = np.float64(chains.values[k]) if weighted else 1.0
            add(weights, row, y[i], amount * value, time)
            add(weights, row, z[i], -amount * value, time)
    if y[i] != z[i] or yp != zp:
        add(weights, yp, y[i], amount, time)
        add(weights, zp, z[i], -amount, time)
        if chains.pair_ptr.shape[0] > 0:
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


@helper
def add_difference(chains, weights, order, start, n, y, z, amount, time, labels, work):
    """w += amount * (Φ(x, y) - Φ(x, z)), touching only what differs. y, z: labels of the sentence's tokens."""
    for i in range(n):
        add_factor(chains, weights, order, start + i, i, y, z, amount, time, labels, work)


@helper
def load_changed(weights, order, labels, work):
    """What `load_all` loads, after an update; `add_difference` has seen to the trigrams."""
    load_transitions(weights, labels, work)
    if order == 2:
        load_reach(labels, work)


@helper
def has_capacity(chains, weights, start, stop):
    """Whether all rows exist that an update of the tokens start … stop-1 may need."""
    rows = chains.ptr[stop] - chains.ptr[start]
    if chains.pair_ptr.shape[0] > 0:
        pairs = chains.pair_ptr[stop] - chains.pair_ptr[start]
        rows += 2 * pairs
        if weights.size[1] + pairs > weights.block_rows.shape[0]:
            return False
    return weights.size[0] + rows <= weights.w.shape[0]


@helper
def count_wrong(gold, start, n, z):
    """How many of the n tokens from `start` on have another label in z than in gold."""
    wrong = 0
    for i in range(n):
        wrong += gold[start + i] != z[i]
    return wrong


_LIST = types.int64[::1]
CORRECT = types.void(
    reference(EncodedChains),
    _LIST,
    reference(Weights),
    *[types.int64] * 3,
    _LIST,
    types.int64,
    reference(Work),
    types.int64,
)


@kernel(signature=CORRECT)
def correct(chains, gold, weights, order, first, last, z, labels, work, time):
    """w += Φ(x, y) - Φ(x, z) for the sentences first … last-1 of an example; z: the labels of all their tokens."""
    origin = chains.starts[first]
    for s in range(first, last):
        start, stop = chains.starts[s], chains.starts[s + 1]
        found = z[start - origin : stop - origin]
        if count_wrong(gold, start, stop - start, found) > 0:
            y = gold[start:stop]
            add_difference(chains, weights, order, start, stop - start, y, found, 1.0, time, labels, work)
    load_changed(weights, order, labels, work)


def learn(search, correct, chains, units, gold, weights, order, sequence, lo, hi, labels, work, z, stats):
    """One batch of a pass: examples sequence[lo:hi]. Returns hi, or where it stopped because rows may run out.

    An example is a sentence, or a document of several: sentences units[e] … units[e+1]-1. z: scratch memory for its
    labels. The caller has loaded the transitions.
    """
    for k in range(lo, hi):
        first, last = units[sequence[k]], units[sequence[k] + 1]
        origin, end = chains.starts[first], chains.starts[last]
        if not has_capacity(chains, weights, origin, end):
            return k
        wrong = 0
        for s in range(first, last):
            start, n = chains.starts[s], chains.starts[s + 1] - chains.starts[s]
            search(chains, weights, s, labels, work, 0.0)
            wrong += count_wrong(gold, start, n, work.z)
            for i in range(n):
                z[start - origin + i] = work.z[i]
        stats[TIME] += 1
        stats[TOKENS] += end - origin
        if wrong > 0:
            correct(chains, gold, weights, order, first, last, z, labels, work, stats[TIME])
            stats[UPDATES] += 1
            stats[WRONG_TOKENS] += wrong
    return hi


LEARN = WithFunctionPointers(learn, SEARCH, CORRECT)
LEARNERS = {search: LEARN.of(search, correct) for search in SEARCHES}
"""`learn` with each search."""
