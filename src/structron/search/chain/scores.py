"""What the chain searches share: the arrays of encoded sentences and weights, and the scores they give.

A labelling y of a sentence x scores

    sum_i  node_i(y_i) + T1(y_{i-1}, y_i) + pairs_i(y_{i-1}, y_i)  [+ T2(y_{i-2}, y_{i-1}, y_i) at order 2]

Every weight lives in a row of one matrix `w`, a column per label: features, the label bigram, the label trigram and
features paired with the previous label. Previous labels count from 1; 0 is the start of the sentence.

    rows 0 … P-1             T1: previous label p                        P = labels + 1
    rows P … P+P*P-1         T2: labels (p2, p), row P + p2*P + p        order 2 only
    then                     one row per feature, or per (paired feature, previous label)
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from structron.kernels.jit import helper, kernel, prefetch
from structron.kernels.reference import (
    Doubles,
    Doubles2,
    Floats,
    Floats2,
    Ints,
    Ints2,
    Numbers,
    Numbers2,
    by_reference,
    reference,
)

FORBIDDEN = np.float32(-1e12)
"""A forbidden label or transition: worse than any score, better than breaking a forced label.

No score can be told apart beside it in single precision: where every labelling breaks a constraint (forced labels that
contradict each other, a dictionary that leaves no legal way), the search is done again in double precision."""
FORCED_OUT = np.float32(-1e18)
"""Every label but the one that the user forced."""


LINE = 16
"""Single-precision numbers in a cache line."""
TOGETHER = 256
"""Rows of a token that are asked for before the first is waited for."""
NONE = np.int64(0)
NO_INTS = np.empty(0, np.int64)
NO_NUMBERS = np.empty(0, np.int32)


@by_reference
class EncodedChains(NamedTuple):
    """Encoded sentences. A feature number indexes `Weights.row_of`, a paired one `Weights.block_of`."""

    starts: Ints  # int64[sentences + 1]: tokens of sentence s are starts[s] … starts[s+1]-1
    ptr: Ints  # int64[tokens + 1]: features of token i are numbers[ptr[i]:ptr[i+1]]
    numbers: Numbers  # int32[features]
    values: Floats  # float32[features], or empty when every value is 1
    pair_ptr: Ints  # int64[tokens + 1], or empty without paired features
    pair_numbers: Numbers  # int32[paired features]
    mask_of: Numbers  # int32[tokens]: row of `Weights.masks`, 0 = all labels; or empty


@by_reference
class Weights(NamedTuple):
    """Weights as the kernels see them; rows and blocks that no update has touched do not exist yet (-1)."""

    w: Floats2  # float32[rows, stride]
    u: Doubles2  # float64[rows, stride]: sum of (t-1) * update, for the exact mean; empty when not learning
    row_of: Numbers  # int32[feature numbers]
    block_of: Numbers  # int32[paired feature numbers]
    block_rows: Numbers2  # int32[blocks, P]: row for each previous label
    size: Ints  # int64[2]: rows and blocks in use
    penalty: Floats2  # float32[P, stride]: 0 or FORBIDDEN for each transition
    masks: Floats2  # float32[masks, stride]: 0, FORBIDDEN or FORCED_OUT for each label


@by_reference
class DoubleWeights(NamedTuple):
    """The same with constraints in double precision."""

    w: Floats2
    u: Doubles2
    row_of: Numbers
    block_of: Numbers
    block_rows: Numbers2
    size: Ints
    penalty: Doubles2
    masks: Doubles2


@by_reference
class Work(NamedTuple):
    """Scratch memory for the longest sentence of a batch, so that no sentence allocates."""

    node: Floats2  # float32[n, stride]
    alpha: Floats2  # float32[n, stride] at order 1, float32[n * L, stride] at order 2
    t1: Floats2  # float32[P, stride]: T1 with penalties
    edge: Floats2  # float32[P, stride]: T1 plus the paired features of one token
    hi: Floats  # float32[P * (P + 1)]: largest weight of each transition row
    lo: Floats  # the smallest
    keep: Ints2  # int64[n, P]: order 1: the labels before each token that can matter; order 2: those of the token
    kept: Ints  # int64[n]: how many
    limited: Ints  # int64[L + 1]: how many labels may not follow every label (I-NP), then these labels
    first: Ints  # int64[L + 1]: limited label j may follow before[first[j]:first[j + 1]] …
    before: Ints  # int64[L * L]
    cost: Floats  # float32[L * L]: … with these transition scores
    limit: Ints  # int64[L]: a label's place among the limited ones, or -1
    up: Floats  # float32[stride]: order 2, the most that a label's transitions can add after it
    down: Floats  # the least
    top: Floats  # float32[stride]: order 2, the best prefix that ends in each label
    z: Ints  # int64[n]: the best labels
    rows: Ints  # int64[2 * TOGETHER]: those of two tokens that have been asked for
    column: Floats  # float32[P]: the scores of all labels before one


@by_reference
class DoubleWork(NamedTuple):
    """The same in double precision."""

    node: Doubles2
    alpha: Doubles2
    t1: Doubles2
    edge: Doubles2
    hi: Doubles
    lo: Doubles
    keep: Ints2
    kept: Ints
    limited: Ints
    first: Ints
    before: Ints
    cost: Doubles
    limit: Ints
    up: Doubles
    down: Doubles
    top: Doubles
    z: Ints
    rows: Ints
    column: Doubles


TRANSITIONS = ("t1", "hi", "lo", "limited", "first", "before", "cost", "limit", "up", "down")
"""What `load_all` fills in `Work`; a search only reads it."""


def make_work(
    longest: int, labels: int, stride: int, order: int, kind: type = np.float32, loaded: Work | None = None
) -> Any:
    """Scratch memory for sentences of up to `longest` tokens: `Work`, or `DoubleWork` where the kind is double.

    loaded: has transitions that are to be shared.
    """
    n, p = max(longest, 1), labels + 1
    own = {
        "node": np.zeros((n, stride), kind),
        "alpha": np.zeros((n * labels if order == 2 else n, stride), kind),
        "edge": np.zeros((p, stride), kind),
        "keep": np.zeros((n, p), np.int64),
        "kept": np.zeros(n, np.int64),
        "top": np.zeros(stride, kind),
        "z": np.zeros(n, np.int64),
        "rows": np.zeros(2 * TOGETHER, np.int64),
        "column": np.zeros(p, kind),
    }
    if loaded is not None:
        return Work(**own, **{name: getattr(loaded, name) for name in TRANSITIONS})
    bounds = p + p * p if order == 2 else p
    return (Work if kind is np.float32 else DoubleWork)(
        **own,
        t1=np.zeros((p, stride), kind),
        hi=np.zeros(bounds, kind),
        lo=np.zeros(bounds, kind),
        limited=np.zeros(labels + 1, np.int64),
        first=np.zeros(labels + 1, np.int64),
        before=np.zeros(labels * labels, np.int64),
        cost=np.zeros(labels * labels, kind),
        limit=np.full(labels, -1, np.int64),
        up=np.zeros(stride, kind),
        down=np.zeros(stride, kind),
    )


def in_double(weights: Weights) -> DoubleWeights:
    """The constraints in double precision, for a search whose work is of that kind too."""
    own = weights._asdict() | {name: getattr(weights, name).astype(np.float64) for name in ("penalty", "masks")}
    return DoubleWeights(**own)


@helper
def row_bounds(matrix, row, labels, k, hi, lo):
    """The largest and smallest weight of a transition row: what lets Viterbi skip it without losing exactness."""
    top = bottom = matrix[row, 0]
    for y in range(1, labels):
        v = matrix[row, y]
        top = max(top, v)
        bottom = min(bottom, v)
    hi[k], lo[k] = top, bottom


@helper
def load_limits(weights, labels, work):
    """Find the labels that may follow only some labels; constraints do not change, so once per call is enough."""
    limited, first, before, limit = work.limited, work.first, work.before, work.limit
    count, k = 0, 0
    for y in range(labels):
        begin = k
        for p in range(labels):
            before[k] = p
            k += weights.penalty[p + 1, y] == 0
        limit[y] = -1
        if 0 < k - begin < labels:
            limit[y] = count
            first[count] = begin
            limited[1 + count] = y
            count += 1
        else:
            k = begin
    first[count] = k
    limited[0] = count


@helper
def load_transitions(weights, labels, work):
    """T1 with its penalties, and its bounds over the labels that are not limited: once per sentence while learning."""
    hi, lo, t1 = work.hi, work.lo, work.t1
    for p in range(labels + 1):
        for y in range(t1.shape[1]):
            t1[p, y] = weights.w[p, y] + weights.penalty[p, y]
        if work.limited[0] == 0:
            row_bounds(t1, p, labels, p, hi, lo)
        else:
            hi[p], lo[p] = FORCED_OUT, -FORCED_OUT
            for y in range(labels):
                if work.limit[y] < 0:
                    hi[p], lo[p] = max(hi[p], t1[p, y]), min(lo[p], t1[p, y])
    for j in range(work.limited[0]):
        for k in range(work.first[j], work.first[j + 1]):
            work.cost[k] = t1[work.before[k] + 1, work.limited[1 + j]]


@kernel
def load_trigrams(weights, labels, work):
    """The bounds of every T2 row. While learning, an update does its own rows again."""
    first = labels + 1
    for row in range(first, first + first * first):
        row_bounds(weights.w, row, labels, row, work.hi, work.lo)
    load_reach(labels, work)


@helper
def load_reach(labels, work):
    """up[y], down[y]: bounds of T1(y, ·) + T2(·, y, ·) + T2(y, ·, ·), any of which may be missing at the end.

    Not for constrained models: there the same continuation need not be open to another label.
    """
    hi, lo, contexts = work.hi, work.lo, labels + 1
    for y in range(labels):
        middle_hi = first_hi = middle_lo = first_lo = np.float32(0)
        for c in range(contexts):
            middle, first = contexts + c * contexts + y + 1, contexts + (y + 1) * contexts + c
            middle_hi, middle_lo = max(middle_hi, hi[middle]), min(middle_lo, lo[middle])
            first_hi, first_lo = max(first_hi, hi[first]), min(first_lo, lo[first])
        work.up[y] = max(hi[y + 1], np.float32(0)) + middle_hi + first_hi
        work.down[y] = min(lo[y + 1], np.float32(0)) + middle_lo + first_lo


@kernel
def load_bigrams(weights, labels, work):
    """Constraints and T1."""
    load_limits(weights, labels, work)
    load_transitions(weights, labels, work)


def load_all(weights: Any, order: int, labels: int, work: Any) -> None:
    """All that a search has to know of constraints and transitions, before the first sentence."""
    load_bigrams(weights, labels, work)
    if order == 2:
        load_trigrams(weights, labels, work)


@helper(inline=True)
def add_rows(w, rows, first, count, node, i):
    """node[i] += w[rows[first]] + … + w[rows[first + count - 1]], four at a time: node is loaded and stored a quarter
    as often."""
    stride = w.shape[1]
    whole = first + count - count % 4
    for k in range(first, whole, 4):
        r0, r1, r2, r3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        for y in range(stride):
            node[i, y] += (w[r0, y] + w[r1, y]) + (w[r2, y] + w[r3, y])
    for k in range(whole, first + count):
        row = rows[k]
        for y in range(stride):
            node[i, y] += w[row, y]


@helper(inline=True)
def prefetch_rows(chains, weights, token, k, rows, first):
    """rows[first:] = the rows of a token's features from the k-th on, asked for but not waited for.

    Returns how many there are, and the feature after the last.
    """
    w, row_of, numbers, stride, count = weights.w, weights.row_of, chains.numbers, weights.w.shape[1], first
    while k < chains.ptr[token + 1] and count < first + TOGETHER:
        row = np.int64(row_of[numbers[k]])
        rows[count] = row
        if row >= 0:
            for y in range(0, stride, LINE):
                prefetch(w, row, y)
            prefetch(w, row, stride - 1)
            count += 1
        k += 1
    return count - first, k


@helper
def score_nodes(chains, weights, start, n, work):
    """work.node[i, y] = the features of token i under label y, plus the token's mask.

    Rows of weights lie in memory far away: those of a token are asked for while those of the token before are added.
    """
    w, row_of, ptr, numbers, values = weights.w, weights.row_of, chains.ptr, chains.numbers, chains.values
    node, rows = work.node, work.rows
    stride, scratch = w.shape[1], rows.shape[0] // 2
    weighted = values.shape[0] > 0
    masked = chains.mask_of.shape[0] > 0
    ahead, next_k = 0, ptr[start]
    if not weighted and n > 0:
        ahead, next_k = prefetch_rows(chains, weights, start, next_k, rows, NONE)
    for i in range(n):
        for y in range(stride):
            node[i, y] = np.float32(0)
        if weighted:
            for k in range(ptr[start + i], ptr[start + i + 1]):
                row = row_of[numbers[k]]
                if row >= 0:
                    for y in range(stride):
                        node[i, y] += values[k] * w[row, y]
        else:
            count, k = ahead, next_k
            if i + 1 < n:
                first = (i + 1) % 2 * scratch
                ahead, next_k = prefetch_rows(chains, weights, start + i + 1, ptr[start + i + 1], rows, first)
            add_rows(w, rows, i % 2 * scratch, count, node, i)
            while k < ptr[start + i + 1]:
                count, k = prefetch_rows(chains, weights, start + i, k, rows, i % 2 * scratch)
                add_rows(w, rows, i % 2 * scratch, count, node, i)
        if masked and chains.mask_of[start + i] > 0:
            mask = chains.mask_of[start + i]
            for y in range(stride):
                node[i, y] += weights.masks[mask, y]


@helper
def edges_at(chains, weights, token, work):
    """work.edge[p, y] = T1 plus the token's paired features."""
    w, block_rows, t1, edge = weights.w, weights.block_rows, work.t1, work.edge
    for p in range(edge.shape[0]):
        for y in range(edge.shape[1]):
            edge[p, y] = t1[p, y]
    if chains.pair_ptr.shape[0] == 0:
        return
    for k in range(chains.pair_ptr[token], chains.pair_ptr[token + 1]):
        block = weights.block_of[chains.pair_numbers[k]]
        if block < 0:
            continue
        for p in range(edge.shape[0]):
            row = block_rows[block, p]
            if row >= 0:
                for y in range(edge.shape[1]):
                    edge[p, y] += w[row, y]


@helper
def edges_into(chains, weights, token, y, t1, column):
    """column[p] = T1(p, y) plus the token's paired features, for every previous label: one column of `edges_at`."""
    w, block_rows = weights.w, weights.block_rows
    for p in range(column.shape[0]):
        column[p] = t1[p, y]
    if chains.pair_ptr.shape[0] == 0:
        return
    for k in range(chains.pair_ptr[token], chains.pair_ptr[token + 1]):
        block = weights.block_of[chains.pair_numbers[k]]
        if block >= 0:
            for p in range(column.shape[0]):
                row = block_rows[block, p]
                if row >= 0:
                    column[p] += w[row, y]


@helper
def score_token(chains, weights, order, token, i, y, labels):
    """What token i of a sentence adds to the score of its labels y, constraints left out."""
    w = weights.w
    p = y[i - 1] + 1 if i > 0 else 0
    total = np.float64(w[p, y[i]])
    for k in range(chains.ptr[token], chains.ptr[token + 1]):
        row = weights.row_of[chains.numbers[k]]
        if row >= 0:
            total += w[row, y[i]] * (chains.values[k] if chains.values.shape[0] > 0 else 1.0)
    if chains.pair_ptr.shape[0] > 0:
        for k in range(chains.pair_ptr[token], chains.pair_ptr[token + 1]):
            block = weights.block_of[chains.pair_numbers[k]]
            row = weights.block_rows[block, p] if block >= 0 else -1
            if row >= 0:
                total += w[row, y[i]]
    if order == 2:
        total += w[labels + 1 + (y[i - 2] + 1 if i > 1 else 0) * (labels + 1) + p, y[i]]
    return total


_LABELS = types.int64[::1]
DIFFERENCE = types.float64(
    reference(EncodedChains),
    reference(Weights),
    *[types.int64] * 3,
    *[_LABELS] * 2,
    types.int64,
)


@kernel(signature=DIFFERENCE)
def score_difference(chains, weights, order, lo, hi, y, z, labels):
    """w·Φ(x, y) - w·Φ(x, z) for the document of sentences lo … hi-1, from the tokens where they differ."""
    total, origin = 0.0, chains.starts[lo]
    for s in range(lo, hi):
        start, n = chains.starts[s], chains.starts[s + 1] - chains.starts[s]
        here, there = y[start - origin : start - origin + n], z[start - origin : start - origin + n]
        for i in range(n):
            differs = False
            for j in range(max(i - order, 0), i + 1):
                differs = differs or here[j] != there[j]
            if differs:
                total += score_token(chains, weights, order, start + i, i, here, labels)
                total -= score_token(chains, weights, order, start + i, i, there, labels)
    return total
