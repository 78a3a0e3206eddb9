"""How sure a labelling is: per token, the best score minus the best score of any labelling with another label there.

Max-marginals by a backward pass beside Viterbi's forward one. beta holds the best continuation after a token, set back
so that the best is 0: like Viterbi's alpha it must not grow with the sentence. Only differences matter.

The same for every label, the best labelling through it beside the best of all, are max-marginals.
"""

import numpy as np

from structron.kernels.jit import compiled
from structron.search.chain.scores import edges_at, load_all
from structron.search.chain.viterbi import LOWEST, search


@compiled
def put_margins(chains, weights, order, start, n, labels, work, out, table):
    """out[token] for the sentence of n tokens from `start` on, just searched without skipping.

    table[token, label]: how far the best labelling with this label is behind the best of all, if it has rows.
    beta[here, p, y]: of the labels p, y (of y alone at order 1 and at the first token: p = 0).
    """
    node, alpha, edge, z, w = work.node, work.alpha, work.edge, work.z, weights.w
    contexts, wide = labels + 1, order == 2
    beta = np.zeros((2, labels if wide else 1, labels), alpha.dtype)
    through = np.empty(labels, alpha.dtype)
    for i in range(n - 1, -1, -1):
        here, befores = i % 2, labels if wide and i > 0 else 1
        if i < n - 1:
            edges_at(chains, weights, start + i + 1, work.t1, edge)
            for p in range(befores):
                context = p + 1 if i > 0 else 0
                for y in range(labels):
                    top, state = LOWEST, y if wide else 0
                    row = contexts + context * contexts + y + 1
                    for after in range(labels):
                        step = edge[y + 1, after] + node[i + 1, after]
                        if wide:
                            step += w[row, after]
                        top = max(top, step + beta[1 - here, state, after])
                    beta[here, p, y] = top
            beta[here] -= beta[here].max()
        other, first = LOWEST, i * labels if wide else i
        through[:] = LOWEST
        for p in range(befores):
            for y in range(labels):
                through[y] = max(through[y], alpha[first + p, y] + beta[here, p, y])
        for y in range(labels):
            if y != z[i]:
                other = max(other, through[y])
        out[start + i] = max(through[z[i]] - other, 0)
        if table.shape[0] > 0:
            for y in range(labels):
                table[start + i, y] = min(through[y] - through[z[i]], 0)


@compiled
def decode_with_margins(chains, weights, order, lo, hi, labels, work, out, scores, margins, table):
    """Like `viterbi.decode`, and margins[token] for every token; table: of `put_margins`, or without rows."""
    load_all(weights, order, labels, work)
    for s in range(lo, hi):
        start = chains.starts[s]
        n = chains.starts[s + 1] - start
        scores[s] = search(chains, weights, order, s, labels, work, np.inf)
        for i in range(n):
            out[start + i] = work.z[i]
        put_margins(chains, weights, order, start, n, labels, work, margins, table)
