"""Exact search over chains: Viterbi of order 1 and 2 (Collins 2002, section 2).

The forward pass keeps only the maxima, which vectorises; the way back finds each argmax again, for the best path
only. A previous label is skipped when even its best transition cannot reach what the leading one gives with its
worst; rounding is monotone, so the result is exact to the bit. Ties go to the label with the lowest number.

Kernels index whole matrices instead of taking row views: a view costs a reference count, more than the row's work.
"""

import numpy as np

from structron.kernels import compiled
from structron.search.chain import load_transitions, load_trigrams, score_edges, score_nodes

LOWEST = np.float32(-3e38)


@compiled
def best_of(matrix, row, labels):
    """The first label with the largest score in a row."""
    best, top = 0, matrix[row, 0]
    for y in range(1, labels):
        score = matrix[row, y]
        if score > top:
            best, top = y, score
    return best


@compiled
def extend(alpha, into, base, matrix, row):
    """alpha[into, y] = max(alpha[into, y], base + matrix[row, y]) for every label."""
    for y in range(alpha.shape[1]):
        score = base + matrix[row, y]
        alpha[into, y] = score if score > alpha[into, y] else alpha[into, y]


@compiled
def start_token(alpha, node, edge, row):
    for y in range(alpha.shape[1]):
        alpha[0, y] = edge[row, y] + node[0, y]


@compiled
def step1(alpha, node, i, labels, edge, hi, needed):
    """alpha[i, y] = max_p alpha[i-1, p] + edge(p, y), plus node; labels p that cannot reach `needed` are skipped."""
    for y in range(alpha.shape[1]):
        alpha[i, y] = LOWEST
    for p in range(labels):
        if alpha[i - 1, p] + hi[p + 1] >= needed:
            extend(alpha, i, alpha[i - 1, p], edge, p + 1)
    for y in range(alpha.shape[1]):
        alpha[i, y] += node[i, y]


@compiled
def back1(alpha, i, labels, edge, y):
    """The previous label on the best way to y at token i."""
    best, top = 0, alpha[i - 1, 0] + edge[1, y]
    for p in range(1, labels):
        score = alpha[i - 1, p] + edge[p + 1, y]
        if score > top:
            best, top = p, score
    return best


@compiled
def viterbi1(node, n, labels, work):
    """The best labels of one sentence, in work.z, and their score. alpha[i, y]: best prefix that ends in y."""
    alpha, t1, hi, lo, z = work.alpha, work.t1, work.hi, work.lo, work.z
    start_token(alpha, node, t1, 0)
    for i in range(1, n):
        leader = best_of(alpha, i - 1, labels)
        step1(alpha, node, i, labels, t1, hi, alpha[i - 1, leader] + lo[leader + 1])
    z[n - 1] = best_of(alpha, n - 1, labels)
    for i in range(n - 1, 0, -1):
        z[i - 1] = back1(alpha, i, labels, t1, z[i])
    return alpha[n - 1, z[n - 1]]


@compiled
def viterbi1_paired(chains, weights, start, node, n, labels, work):
    """The same where features paired with the previous label give every token transitions of its own."""
    alpha, t1, edge, hi, z = work.alpha, work.t1, work.edge, work.hi, work.z
    score_edges(chains, weights, start, t1, edge)
    start_token(alpha, node, edge, 0)
    for i in range(1, n):
        score_edges(chains, weights, start + i, t1, edge)
        step1(alpha, node, i, labels, edge, hi, LOWEST)
    z[n - 1] = best_of(alpha, n - 1, labels)
    for i in range(n - 1, 0, -1):
        score_edges(chains, weights, start + i, t1, edge)
        z[i - 1] = back1(alpha, i, labels, edge, z[i])
    return alpha[n - 1, z[n - 1]]


@compiled
def step2(alpha, i, labels, w, hi, lo, leader, needed):
    """alpha[i*L + p, y] = max_p2 alpha[(i-1)*L + p2, p] + T2(p2, p, y)."""
    before, here, contexts = (i - 1) * labels, i * labels, labels + 1
    for p in range(labels):
        leader[p] = LOWEST
        for y in range(alpha.shape[1]):
            alpha[here + p, y] = LOWEST
    for p2 in range(labels):
        row = contexts + (p2 + 1) * contexts + 1
        for p in range(labels):
            score = alpha[before + p2, p]
            needed[p] = score + lo[row + p] if score > leader[p] else needed[p]
            leader[p] = score if score > leader[p] else leader[p]
    for p2 in range(labels):
        row = contexts + (p2 + 1) * contexts + 1
        promising = 0
        for p in range(labels):
            promising += alpha[before + p2, p] + hi[row + p] >= needed[p]
        if promising > 0:
            for p in range(labels):
                if alpha[before + p2, p] + hi[row + p] >= needed[p]:
                    extend(alpha, here + p, alpha[before + p2, p], w, row + p)


@compiled
def finish2(alpha, node, i, labels, edge):
    """Add what does not depend on the label two before: transition, paired features and node."""
    for p in range(labels):
        for y in range(alpha.shape[1]):
            alpha[i * labels + p, y] += edge[p + 1, y] + node[i, y]


@compiled
def viterbi2(chains, weights, start, node, n, labels, work):
    """The same at order 2. alpha[i * L + p, y]: best prefix that ends in p, y (token 0: row 0, no p)."""
    alpha, t1, edge, z, w = work.alpha, work.t1, work.edge, work.z, weights.w
    contexts = labels + 1
    paired = chains.pair_ptr.shape[0] > 0
    if not paired:
        edge[:] = t1
    for i in range(n):
        if paired:
            score_edges(chains, weights, start + i, t1, edge)
        if i == 0:
            start_token(alpha, node, edge, 0)
            for y in range(alpha.shape[1]):
                alpha[0, y] += w[contexts, y]
            continue
        if i == 1:
            for p in range(labels):
                for y in range(alpha.shape[1]):
                    alpha[labels + p, y] = alpha[0, p] + w[contexts + p + 1, y]
        else:
            step2(alpha, i, labels, w, work.hi, work.lo, work.leader, work.needed)
        finish2(alpha, node, i, labels, edge)
    if n == 1:
        z[0] = best_of(alpha, 0, labels)
        return alpha[0, z[0]]
    last, top = (n - 1) * labels, LOWEST
    for p in range(labels):
        y = best_of(alpha, last + p, labels)
        if alpha[last + p, y] > top:
            top = alpha[last + p, y]
            z[n - 2], z[n - 1] = p, y
    for i in range(n - 1, 1, -1):
        best, reach = 0, LOWEST
        for p2 in range(labels):
            row = contexts + (p2 + 1) * contexts + z[i - 1] + 1
            score = alpha[(i - 1) * labels + p2, z[i - 1]] + w[row, z[i]]
            if score > reach:
                best, reach = p2, score
        z[i - 2] = best
    return top


@compiled
def search(chains, weights, order, s, labels, work):
    """Score and decode sentence s; the caller has loaded the transitions."""
    start = chains.starts[s]
    n = chains.starts[s + 1] - start
    if n == 0:
        return np.float32(0)
    score_nodes(chains, weights, start, n, work.node)
    if order == 2:
        return viterbi2(chains, weights, start, work.node, n, labels, work)
    if chains.pair_ptr.shape[0] > 0:
        return viterbi1_paired(chains, weights, start, work.node, n, labels, work)
    return viterbi1(work.node, n, labels, work)


@compiled
def decode(chains, weights, order, lo, hi, labels, work, out, scores):
    """The best labels of sentences lo … hi-1, into out[token] and scores[sentence]."""
    load_transitions(weights, labels, work)
    if order == 2:
        load_trigrams(weights, labels, work)
    for s in range(lo, hi):
        scores[s] = search(chains, weights, order, s, labels, work)
        start = chains.starts[s]
        for i in range(chains.starts[s + 1] - start):
            out[start + i] = work.z[i]
