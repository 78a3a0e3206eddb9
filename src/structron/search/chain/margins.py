"""How sure a labelling is: per token, the best score minus the best score of any labelling with another label there.

Max-marginals by a backward pass beside Viterbi's forward one. beta holds the best continuation after a token, set back
so that the best is 0: like Viterbi's alpha it must not grow with the sentence. Only differences matter.

The same for every label, the best labelling through it beside the best of all, are max-marginals.
"""

from typing import Any

import numpy as np

from structron.kernels.jit import WithFunctionPointers, helper
from structron.search.chain.scores import DoubleWork, EncodedChains, edges_at, load_all
from structron.search.chain.viterbi import DOUBLE_SEARCH, LOWEST, SEARCH, search_for


@helper
def best_after(chains, weights, order, token, i, labels, work, beta):
    """beta[i % 2]: the best continuations after token i of a sentence, whose place among all tokens is `token`."""
    node, edge, w, contexts, here = work.node, work.edge, weights.w, labels + 1, i % 2
    edges_at(chains, weights, token + 1, work)
    highest = LOWEST
    for p in range(labels if order == 2 and i > 0 else 1):
        context = p + 1 if i > 0 else 0
        for y in range(labels):
            top, state = LOWEST, y if order == 2 else 0
            row = contexts + context * contexts + y + 1
            for after in range(labels):
                step = edge[y + 1, after] + node[i + 1, after]
                if order == 2:
                    step += w[row, after]
                top = max(top, step + beta[1 - here, state, after])
            beta[here, p, y] = top
    for p in range(beta.shape[1]):
        for y in range(labels):
            highest = max(highest, beta[here, p, y])
    for p in range(beta.shape[1]):
        for y in range(labels):
            beta[here, p, y] -= highest


@helper
def put_margins(chains, weights, order, start, n, labels, work, beta, through, out, table):
    """out[token] for the sentence of n tokens from `start` on, just searched without skipping.

    table[token, label]: how far the best labelling with this label is behind the best of all, if it has rows.
    beta[here, p, y]: of the labels p, y (of y alone at order 1 and at the first token: p = 0). through: scratch memory.
    """
    alpha, z, wide = work.alpha, work.z, order == 2
    for here in range(2):
        for p in range(beta.shape[1]):
            for y in range(labels):
                beta[here, p, y] = 0
    for i in range(n - 1, -1, -1):
        if i < n - 1:
            best_after(chains, weights, order, start + i, i, labels, work, beta)
        other, first = LOWEST, i * labels if wide else i
        for y in range(labels):
            through[y] = LOWEST
        for p in range(labels if wide and i > 0 else 1):
            for y in range(labels):
                through[y] = max(through[y], alpha[first + p, y] + beta[i % 2, p, y])
        for y in range(labels):
            if y != z[i]:
                other = max(other, through[y])
        out[start + i] = max(through[z[i]] - other, 0)
        if table.shape[0] > 0:
            for y in range(labels):
                table[start + i, y] = min(through[y] - through[z[i]], 0)


def decode_sentences(search, chains, weights, order, lo, hi, labels, work, out, scores, margins, table, beta, through):
    """Like `viterbi.decode_sentences`, and margins[token] for every token."""
    for s in range(lo, hi):
        start = chains.starts[s]
        n = chains.starts[s + 1] - start
        scores[s] = search(chains, weights, s, labels, work, np.inf)
        for i in range(n):
            out[start + i] = work.z[i]
        put_margins(chains, weights, order, start, n, labels, work, beta, through, margins, table)


DECODE = WithFunctionPointers(decode_sentences, SEARCH)
DECODE_IN_DOUBLE = WithFunctionPointers(decode_sentences, DOUBLE_SEARCH)


def decode_with_margins(
    chains: EncodedChains,
    weights: Any,
    order: int,
    lo: int,
    hi: int,
    labels: int,
    work: Any,
    out: np.ndarray,
    scores: np.ndarray,
    margins: np.ndarray,
    table: np.ndarray,
) -> None:
    """Like `viterbi.decode`, and margins[token] for every token; table: of `put_margins`, or without rows."""
    load_all(weights, order, labels, work)
    kind = work.alpha.dtype
    scratch = np.zeros((2, labels if order == 2 else 1, labels), kind), np.empty(labels, kind)
    search = search_for(chains, order, work, np.inf)
    kernel = DECODE_IN_DOUBLE if isinstance(work, DoubleWork) else DECODE
    kernel(search, chains, weights, order, lo, hi, labels, work, out, scores, margins, table, *scratch)
