"""Exact search in a locally normalised chain model of order 2: Viterbi for Collins (2002), equation 2.

    log p(y | x) = sum_i  node_i(y_i) + T1(y_{i-1}, y_i) + T2(y_{i-2}, y_{i-1}, y_i) - log Z_i(y_{i-2}, y_{i-1})

log Z_i belongs to the history alone, so it is taken from the prefix that ends in the history; what is left is a step of
the unnormalised search.
"""

from typing import Any

import numpy as np

from structron.kernels.jit import helper, kernel
from structron.search.chain.scores import EncodedChains, Weights, Work, load_all, score_nodes
from structron.search.chain.viterbi import best_of, finish2, keep_all, start_token, step2, way_back2


@helper
def load_odds(w, labels, odds, peak):
    """odds[y, row] = exp(T1 + T2 - peak[row]) for every history: a normaliser is then a sum of products.

    A row per history (p2, p), as in `Weights.w` but counted from 0. No sum can vanish while the transition weights of
    a history lie within 700 of each other, for then the best label of a token alone is enough.
    """
    contexts = labels + 1
    for row in range(contexts * contexts):
        p = row % contexts
        peak[row] = -np.inf
        for y in range(labels):
            odds[y, row] = np.float64(w[p, y]) + np.float64(w[contexts + row, y])
            peak[row] = max(peak[row], odds[y, row])
        for y in range(labels):
            odds[y, row] = np.exp(odds[y, row] - peak[row])


@helper
def log_normalisers(node, i, labels, odds, peak, out):
    """out[row] = log Z of token i after each history."""
    top = np.float64(node[i, best_of(node, i, labels)])
    for row in range(out.shape[0]):
        out[row] = 0.0
    for y in range(labels):
        likely = np.exp(np.float64(node[i, y]) - top)
        for row in range(out.shape[0]):
            out[row] += likely * odds[y, row]
    for row in range(out.shape[0]):
        out[row] = np.log(out[row]) + top + peak[row]


@helper
def viterbi2_local(w, node, n, labels, odds, peak, normaliser, work):
    """The most probable labels of one sentence, in work.z, and their log probability. alpha as in `viterbi2`."""
    alpha, t1, keep, kept = work.alpha, work.t1, work.keep, work.kept
    contexts = labels + 1
    log_normalisers(node, np.int64(0), labels, odds, peak, normaliser)
    start_token(alpha, node, t1)
    for y in range(labels):
        alpha[0, y] += w[contexts, y] - normaliser[0]
    keep_all(np.int64(0), labels, keep, kept)
    for i in range(1, n):
        log_normalisers(node, i, labels, odds, peak, normaliser)
        keep_all(i, labels, keep, kept)
        for p in range(labels):
            if i == 1:
                alpha[0, p] -= normaliser[p + 1]
                for y in range(labels):
                    alpha[labels + p, y] = alpha[0, p] + w[contexts + p + 1, y]
            else:
                for p2 in range(labels):
                    alpha[(i - 1) * labels + p2, p] -= normaliser[(p2 + 1) * contexts + p + 1]
                step2(alpha, i, p, labels, w, work.hi, work.lo, keep, kept)
            finish2(alpha, node, i, p, labels, t1)
    return way_back2(w, n, labels, work)


@kernel
def decode_sentences(chains, weights, labels, work, odds, peak, normaliser, out, scores):
    """`decode_local`, with room for what a normaliser needs."""
    load_odds(weights.w, labels, odds, peak)
    for s in range(scores.shape[0]):
        start = chains.starts[s]
        n = chains.starts[s + 1] - start
        scores[s] = 0
        if n > 0:
            score_nodes(chains, weights, start, n, work)
            scores[s] = viterbi2_local(weights.w, work.node, n, labels, odds, peak, normaliser, work)
        for i in range(n):
            out[start + i] = work.z[i]


def decode_local(
    chains: EncodedChains, weights: Weights, labels: int, work: Work, out: np.ndarray, scores: np.ndarray
) -> None:
    """The most probable labels of all sentences, into out[token], and their log probability, into scores[sentence]."""
    load_all(weights, 2, labels, work)
    histories = (labels + 1) * (labels + 1)
    scratch: Any = (np.empty((labels, histories)), np.empty(histories), np.empty(histories))
    decode_sentences(chains, weights, labels, work, *scratch, out, scores)
