"""Exact search over chains: Viterbi of order 1 and 2 (Collins 2002, section 2).

The forward pass keeps only the maxima, which vectorises; the way back finds each argmax again, for the best path
only. A previous label is skipped when even its best transition cannot reach what another gives with its worst;
rounding is monotone, so the result is exact to the bit. Ties go to the label with the lowest number.

The best prefix is set back to 0 again and again: scores would grow with the sentence until single precision no
longer told labels apart.

Kernels index whole matrices instead of taking row views: a view costs a reference count, more than the row's work.
"""

from typing import Any

import numpy as np
from numba import types

from structron.kernels.jit import WithFunctionPointers, helper, ir_inline, kernel, plain
from structron.kernels.reference import reference
from structron.search.chain.scores import (
    DoubleWeights,
    DoubleWork,
    EncodedChains,
    Weights,
    Work,
    edges_at,
    edges_into,
    load_all,
    score_nodes,
)

LOWEST = np.float32(-3e38)
ROUNDING = np.float32(1e-3)
"""What rounding errors may add up to over a sentence, as a share of the scores."""
SET_BACK = 32
"""Every so many tokens the best prefix is set back to 0."""


@helper(inline=True)
def best_of(matrix, row, labels):
    """The first label with the largest score in a row."""
    best, top = 0, matrix[row, 0]
    for y in range(1, labels):
        score = matrix[row, y]
        if score > top:
            best, top = y, score
    return best


@helper(inline=True)
def extend(alpha, into, base, matrix, row):
    """alpha[into, y] = max(alpha[into, y], base + matrix[row, y]) for every label."""
    for y in range(alpha.shape[1]):
        score = base + matrix[row, y]
        alpha[into, y] = score if score > alpha[into, y] else alpha[into, y]


@helper
def start_token(alpha, node, edge):
    """alpha of the first token."""
    for y in range(alpha.shape[1]):
        alpha[0, y] = edge[0, y] + node[0, y]


@helper(inline=True)
def select(alpha, i, labels, hi, lo, keep, kept):
    """keep[i, :kept[i]] = the previous labels that can matter at token i: few, once the weights mean something."""
    leader = best_of(alpha, i - 1, labels)
    needed = alpha[i - 1, leader] + lo[leader + 1]
    count = 0
    for p in range(labels):
        keep[i, count] = p
        count += alpha[i - 1, p] + hi[p + 1] >= needed
    kept[i] = count


@helper
def set_back1(alpha, i, labels):
    """Set the best prefix of token i back to 0 and return its score."""
    top = alpha[i, best_of(alpha, i, labels)]
    for y in range(labels):
        alpha[i, y] -= top
    return top


@helper(inline=True)
def step1(alpha, node, i, edge, keep, kept):
    """alpha[i, y] = max_p alpha[i-1, p] + edge(p, y), over the kept p, plus node."""
    p = keep[i, 0]
    base = alpha[i - 1, p]
    for y in range(alpha.shape[1]):
        alpha[i, y] = base + edge[p + 1, y]
    for k in range(1, kept[i]):
        p = keep[i, k]
        extend(alpha, i, alpha[i - 1, p], edge, p + 1)
    for y in range(alpha.shape[1]):
        alpha[i, y] += node[i, y]


@helper(inline=True)
def step1_limited(alpha, node, i, limited, first, before, cost):
    """The same for the labels that may follow few: over those, whether kept for the others or not."""
    for j in range(limited[0]):
        top = LOWEST
        for k in range(first[j], first[j + 1]):
            score = alpha[i - 1, before[k]] + cost[k]
            top = score if score > top else top
        y = limited[1 + j]
        alpha[i, y] = top + node[i, y]


@helper(inline=True)
def back1(alpha, i, edge, y, keep, kept):
    """The previous label on the best way to y at token i."""
    best = keep[i, 0]
    top = alpha[i - 1, best] + edge[best + 1, y]
    for k in range(1, kept[i]):
        p = keep[i, k]
        score = alpha[i - 1, p] + edge[p + 1, y]
        if score > top:
            best, top = p, score
    return best


@helper(inline=True)
def back1_limited(alpha, i, j, first, before, cost):
    """The same for the limited label j."""
    best, top = before[first[j]], LOWEST
    for k in range(first[j], first[j + 1]):
        score = alpha[i - 1, before[k]] + cost[k]
        if score > top:
            best, top = before[k], score
    return best


@helper
def best_before(alpha, row, column, labels):
    """The first label with the best way on into the label that the column of transitions belongs to."""
    best, top = 0, alpha[row, 0] + column[1]
    for p in range(1, labels):
        score = alpha[row, p] + column[p + 1]
        if score > top:
            best, top = p, score
    return best


@ir_inline
def viterbi1(n, labels, work):
    """The best labels of one sentence, in work.z, and their score. alpha[i, y]: best prefix that ends in y."""
    node, alpha, t1, keep, kept, z = work.node, work.alpha, work.t1, work.keep, work.kept, work.z
    limit, first, before, cost = work.limit, work.first, work.before, work.cost
    start_token(alpha, node, t1)
    total = 0.0
    for i in range(1, n):
        select(alpha, i, labels, work.hi, work.lo, keep, kept)
        step1(alpha, node, i, t1, keep, kept)
        step1_limited(alpha, node, i, work.limited, first, before, cost)
        if i % SET_BACK == 0:
            total += set_back1(alpha, i, labels)
    z[n - 1] = best_of(alpha, n - 1, labels)
    for i in range(n - 1, 0, -1):
        if limit[z[i]] >= 0:
            z[i - 1] = back1_limited(alpha, i, limit[z[i]], first, before, cost)
        else:
            z[i - 1] = back1(alpha, i, t1, z[i], keep, kept)
    return total + alpha[n - 1, z[n - 1]]


@ir_inline
def viterbi1_whole(chains, weights, start, n, labels, work):
    """The same without skipping: every token may have transitions of its own, from features paired with the previous
    label, and masks may leave no legal way, so that the least illegal one has to be found."""
    node, alpha, t1, edge, keep, kept, z = work.node, work.alpha, work.t1, work.edge, work.keep, work.kept, work.z
    column = work.column
    edges_at(chains, weights, start, work)
    start_token(alpha, node, edge)
    total = 0.0
    for i in range(1, n):
        edges_at(chains, weights, start + i, work)
        keep_all(i, labels, keep, kept)
        step1(alpha, node, i, edge, keep, kept)
        if i % SET_BACK == 0:
            total += set_back1(alpha, i, labels)
    z[n - 1] = best_of(alpha, n - 1, labels)
    for i in range(n - 1, 0, -1):
        edges_into(chains, weights, start + i, z[i], t1, column)
        z[i - 1] = best_before(alpha, i - 1, column, labels)
    return total + alpha[n - 1, z[n - 1]]


@helper
def keep_all(i, labels, keep, kept):
    """Every label of token i stays in the race."""
    for y in range(labels):
        keep[i, y] = y
    kept[i] = labels


@helper
def keep_live(alpha, rows, i, labels, up, down, top, keep, kept, window):
    """keep[i, :kept[i]] = the labels of token i that can still be on the best path, or on one worse by up to window.

    up and down bound what a label adds to the rest of the sentence through transitions. A label goes when its best
    prefix plus the most it can add stays below another's plus the least, with room for rounding: the same
    continuation after the other label is then better, whatever it is: masks forbid it to both or to neither. top[y]:
    the best prefix that ends in y.
    """
    first = alpha_row(i, labels, keep[i - 1, 0]) if i > 0 else 0
    for y in range(labels):
        top[y] = alpha[first, y]
    for k in range(1, rows):
        row = alpha_row(i, labels, keep[i - 1, k])
        for y in range(labels):
            top[y] = alpha[row, y] if alpha[row, y] > top[y] else top[y]
    sure = top[0] + down[0]
    for y in range(1, labels):
        sure = max(sure, top[y] + down[y])
    count = 0
    for y in range(labels):
        keep[i, count] = y
        count += top[y] + up[y] >= sure - window - ROUNDING * (abs(sure) + abs(top[y]) + 1)
    kept[i] = count


@ir_inline
def alpha_row(i, labels, p):
    """Where alpha holds the prefixes that end in p and then token i's label (token 0 has row 0 only)."""
    return i * labels + p


@helper(inline=True)
def step2(alpha, i, p, labels, w, hi, lo, keep, kept):
    """alpha[i*L + p, y] = max_p2 alpha[(i-1)*L + p2, p] + T2(p2, p, y), over the kept p2 that can matter for p."""
    contexts = labels + 1
    here, before = alpha_row(i, labels, p), alpha_row(i - 1, labels, 0)
    first = contexts + contexts + p + 1
    needed = LOWEST
    for k in range(kept[i - 2]):
        p2 = keep[i - 2, k]
        sure = alpha[before + p2, p] + lo[first + p2 * contexts]
        needed = sure if sure > needed else needed
    fresh = True
    for k in range(kept[i - 2]):
        p2 = keep[i - 2, k]
        base, row = alpha[before + p2, p], first + p2 * contexts
        if base + hi[row] >= needed:
            if fresh:
                for y in range(alpha.shape[1]):
                    alpha[here, y] = base + w[row, y]
                fresh = False
            else:
                extend(alpha, here, base, w, row)


@helper
def step2_all(alpha, i, labels, w, hi, lo, needed):
    """`step2` for every p at once, when every p2 and p is kept: then it can go over p side by side."""
    before, here, contexts = alpha_row(i - 1, labels, 0), alpha_row(i, labels, 0), labels + 1
    for p in range(labels):
        needed[p] = LOWEST
        for y in range(alpha.shape[1]):
            alpha[here + p, y] = LOWEST
    for p2 in range(labels):
        row = contexts + (p2 + 1) * contexts + 1
        for p in range(labels):
            sure = alpha[before + p2, p] + lo[row + p]
            needed[p] = sure if sure > needed[p] else needed[p]
    for p2 in range(labels):
        row = contexts + (p2 + 1) * contexts + 1
        promising = 0
        for p in range(labels):
            promising += alpha[before + p2, p] + hi[row + p] >= needed[p]
        if promising > 0:
            for p in range(labels):
                if alpha[before + p2, p] + hi[row + p] >= needed[p]:
                    extend(alpha, here + p, alpha[before + p2, p], w, row + p)


@helper(inline=True)
def finish2(alpha, node, i, p, labels, edge):
    """Add what does not depend on the label two before: transition, paired features and node."""
    here = alpha_row(i, labels, p)
    for y in range(alpha.shape[1]):
        alpha[here, y] += edge[p + 1, y] + node[i, y]


@helper
def best_row(alpha, i, labels, keep, kept):
    """The first kept p, and its first label y, with the largest score at token i."""
    best, label, top = 0, 0, LOWEST
    for k in range(kept[i - 1]):
        row = alpha_row(i, labels, keep[i - 1, k])
        y = best_of(alpha, row, labels)
        if k == 0 or alpha[row, y] > top:
            best, label, top = keep[i - 1, k], y, alpha[row, y]
    return best, label


@helper
def set_back(alpha, i, labels, keep, kept):
    """Set the best prefix of token i back to 0 and return its score."""
    p, y = best_row(alpha, i, labels, keep, kept)
    top = alpha[alpha_row(i, labels, p), y]
    for k in range(kept[i - 1]):
        row = alpha_row(i, labels, keep[i - 1, k])
        for label in range(labels):
            alpha[row, label] -= top
    return top


@helper
def back2(alpha, i, labels, w, p, y, keep, kept):
    """The label before p on the best way to p, y at token i."""
    contexts = labels + 1
    best, top = keep[i - 2, 0], LOWEST
    for k in range(kept[i - 2]):
        p2 = keep[i - 2, k]
        score = alpha[alpha_row(i - 1, labels, p2), p] + w[contexts + (p2 + 1) * contexts + p + 1, y]
        if score > top:
            best, top = p2, score
    return best


@helper
def way_back2(w, n, labels, work):
    """work.z = the labels on the best path through work.alpha; returns its score."""
    alpha, keep, kept, z = work.alpha, work.keep, work.kept, work.z
    if n == 1:
        z[0] = best_of(alpha, 0, labels)
        return alpha[0, z[0]]
    z[n - 2], z[n - 1] = best_row(alpha, n - 1, labels, keep, kept)
    for i in range(n - 1, 1, -1):
        z[i - 2] = back2(alpha, i, labels, w, z[i - 1], z[i], keep, kept)
    return alpha[alpha_row(n - 1, labels, z[n - 2]), z[n - 1]]


@ir_inline
def viterbi2(chains, weights, start, n, labels, work, window):
    """The same at order 2. alpha[i * L + p, y]: best prefix that ends in p, y (token 0: row 0, no p).

    alpha is filled for the pairs of labels that can be on a path within `window` of the best (inf: for every pair).
    """
    node, alpha, edge, keep, kept, w = work.node, work.alpha, work.edge, work.keep, work.kept, weights.w
    contexts = labels + 1
    whole = window == np.inf or chains.pair_ptr.shape[0] > 0 or work.limited[0] > 0
    total = 0.0
    for i in range(n):
        edges_at(chains, weights, start + i, work)
        if i == 0:
            start_token(alpha, node, edge)
            for y in range(alpha.shape[1]):
                alpha[0, y] += w[contexts, y]
        else:
            if i > 1 and whole:
                step2_all(alpha, i, labels, w, work.hi, work.lo, work.top)
            for k in range(kept[i - 1]):
                p = keep[i - 1, k]
                if i == 1:
                    for y in range(alpha.shape[1]):
                        alpha[labels + p, y] = alpha[0, p] + w[contexts + p + 1, y]
                elif not whole:
                    step2(alpha, i, p, labels, w, work.hi, work.lo, keep, kept)
                finish2(alpha, node, i, p, labels, edge)
            if i % SET_BACK == 0:
                total += set_back(alpha, i, labels, keep, kept)
        if whole:
            keep_all(i, labels, keep, kept)
        else:
            keep_live(alpha, kept[i - 1] if i > 0 else 1, i, labels, work.up, work.down, work.top, keep, kept, window)
    return total + way_back2(w, n, labels, work)


# -- one signature for all -------------------------------------------------------------------------------------------


def _signature(weights: Any, work: Any) -> Any:
    return types.float64(
        reference(EncodedChains),
        reference(weights),
        types.int64,
        types.int64,
        reference(work),
        types.float64,
    )


SEARCH, DOUBLE_SEARCH = _signature(Weights, Work), _signature(DoubleWeights, DoubleWork)
"""search(chains, weights, s, labels, work, window): score and decode sentence s; the caller has loaded the transitions.

alpha is then right for whatever lies on a labelling whose score is within `window` of the best."""


@kernel(signature=SEARCH)
def search1(chains, weights, s, labels, work, window):
    """Order 1, where neither pairs nor masks tell tokens apart."""
    start = chains.starts[s]
    n = chains.starts[s + 1] - start
    if n == 0:
        return 0.0
    score_nodes(chains, weights, start, n, work)
    return viterbi1(n, labels, work)


@kernel(signature=SEARCH)
def search1_whole(chains, weights, s, labels, work, window):
    """Order 1, whatever there is."""
    start = chains.starts[s]
    n = chains.starts[s + 1] - start
    if n == 0:
        return 0.0
    score_nodes(chains, weights, start, n, work)
    return viterbi1_whole(chains, weights, start, n, labels, work)


@kernel(signature=SEARCH)
def search2(chains, weights, s, labels, work, window):
    """Order 2."""
    start = chains.starts[s]
    n = chains.starts[s + 1] - start
    if n == 0:
        return 0.0
    score_nodes(chains, weights, start, n, work)
    return viterbi2(chains, weights, start, n, labels, work, window)


SEARCHES = (search1, search1_whole, search2)
IN_DOUBLE = {search: kernel(plain(search), signature=DOUBLE_SEARCH) for search in SEARCHES}


def search_for(chains: EncodedChains, order: int, work: Any, window: float = 0.0) -> Any:
    """The search for such sentences, as a pointer that kernels take."""
    whole = window == np.inf or len(chains.pair_ptr) > 0 or len(chains.mask_of) > 0
    found = search2 if order == 2 else search1_whole if whole else search1
    return IN_DOUBLE[found] if isinstance(work, DoubleWork) else found


def decode_sentences(search, chains, weights, lo, hi, labels, work, out, scores):
    """The best labels of sentences lo … hi-1, into out[token] and scores[sentence]."""
    for s in range(lo, hi):
        scores[s] = search(chains, weights, s, labels, work, 0.0)
        start = chains.starts[s]
        for i in range(chains.starts[s + 1] - start):
            out[start + i] = work.z[i]


DECODE = WithFunctionPointers(decode_sentences, SEARCH)
DECODE_IN_DOUBLE = WithFunctionPointers(decode_sentences, DOUBLE_SEARCH)
DECODERS = {search: DECODE.of(search) for search in SEARCHES}
DECODERS |= {search: DECODE_IN_DOUBLE.of(search) for search in IN_DOUBLE.values()}
"""`decode_sentences` with each search."""


def decode(
    chains: EncodedChains,
    weights: Any,
    order: int,
    lo: int,
    hi: int,
    labels: int,
    work: Any,
    out: np.ndarray,
    scores: np.ndarray,
) -> None:
    """The best labels of sentences lo … hi-1, into out[token] and scores[sentence]."""
    load_all(weights, order, labels, work)
    decode_loaded(chains, weights, order, lo, hi, labels, work, out, scores)


def decode_loaded(
    chains: EncodedChains,
    weights: Any,
    order: int,
    lo: int,
    hi: int,
    labels: int,
    work: Any,
    out: np.ndarray,
    scores: np.ndarray,
) -> None:
    """The same where the transitions have been loaded."""
    DECODERS[search_for(chains, order, work)].call(chains, weights, lo, hi, labels, work, out, scores)
