"""How sure a labelling is: per token, the best score minus the best score of any labelling with another label there.

Max-marginals by a backward pass beside Viterbi's forward one. beta holds the best continuation after a token, set back
so that the best is 0: like Viterbi's alpha it must not grow with the sentence. Only differences matter.
"""

import numpy as np

from structron.kernels.jit import compiled
from structron.search.chain.scores import edges_at, load_limits, load_transitions, load_trigrams
from structron.search.chain.viterbi import LOWEST, search


@compiled
def margins1(chains, weights, start, n, labels, work, out):
    node, alpha, edge, z = work.node, work.alpha, work.edge, work.z
    beta = np.zeros((2, labels), alpha.dtype)
    for i in range(n - 1, -1, -1):
        here = i % 2
        if i < n - 1:
            edges_at(chains, weights, start + i + 1, work.t1, edge)
            for y in range(labels):
                top = LOWEST
                for after in range(labels):
                    top = max(top, edge[y + 1, after] + node[i + 1, after] + beta[1 - here, after])
                beta[here, y] = top
            beta[here] -= beta[here].max()
        best, other = LOWEST, LOWEST
        for y in range(labels):
            if y == z[i]:
                best = max(best, alpha[i, y] + beta[here, y])
            else:
                other = max(other, alpha[i, y] + beta[here, y])
        out[start + i] = max(best - other, 0)


@compiled
def margins2(chains, weights, start, n, labels, work, out):
    node, alpha, edge, z, w = work.node, work.alpha, work.edge, work.z, weights.w
    contexts = labels + 1
    beta = np.zeros((2, labels, labels), alpha.dtype)
    for i in range(n - 1, -1, -1):
        here = i % 2
        if i < n - 1:
            edges_at(chains, weights, start + i + 1, work.t1, edge)
            for p in range(labels if i > 0 else 1):
                context = p + 1 if i > 0 else 0
                for y in range(labels):
                    row = contexts + context * contexts + y + 1
                    top = LOWEST
                    for after in range(labels):
                        step = edge[y + 1, after] + node[i + 1, after] + w[row, after]
                        top = max(top, step + beta[1 - here, y, after])
                    beta[here, p, y] = top
            beta[here] -= beta[here].max()
        best, other = LOWEST, LOWEST
        for p in range(labels if i > 0 else 1):
            for y in range(labels):
                if y == z[i]:
                    best = max(best, alpha[i * labels + p, y] + beta[here, p, y])
                else:
                    other = max(other, alpha[i * labels + p, y] + beta[here, p, y])
        out[start + i] = max(best - other, 0)


@compiled
def decode_with_margins(chains, weights, order, lo, hi, labels, work, out, scores, margins):
    """Like `viterbi.decode`, and margins[token] for every token."""
    load_limits(weights, labels, work)
    load_transitions(weights, labels, work)
    if order == 2:
        load_trigrams(weights, labels, work)
    for s in range(lo, hi):
        start = chains.starts[s]
        n = chains.starts[s + 1] - start
        scores[s] = search(chains, weights, order, s, labels, work, np.inf)
        for i in range(n):
            out[start + i] = work.z[i]
        if order == 2:
            margins2(chains, weights, start, n, labels, work, margins)
        else:
            margins1(chains, weights, start, n, labels, work, margins)
