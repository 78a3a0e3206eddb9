"""The best tree of any shape when every arc has a score of its own: maximum spanning arborescence.

Chu & Liu (1965) and Edmonds (1967): every word takes its best head; where that makes a cycle, the cycle becomes one
node, arcs into it lose what the arc they replace is worth, and so on until no cycle is left. A contraction costs
O(n · words of the cycle), and cycles have at most 2n words in all: O(n²) as in Tarjan (1977), on a dense matrix.

Scores and heads are those of `eisner`. A node is known by the first of its words.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import helper, ir_inline
from structron.kernels.reference import Doubles2, Flags, Ints, Ints2, by_reference


@by_reference
class Contraction(NamedTuple):
    """Scratch memory, used for one sentence after the other. Words count from 0, the root, as in scores."""

    score: Doubles2  # float64[n + 1, n + 1]   of the best arc between two nodes
    head: Ints2  # int64[n + 1, n + 1]      the words that this arc ties
    word: Ints2  # int64[n + 1, n + 1]
    node: Ints2  # int64[n + 1, n + 1]      node[k, i]: the node of word i before the k-th contraction
    alive: Flags  # bool[n + 1]             whether a word stands for a node
    best: Ints  # int64[n + 1]             the node at the other end of each node's best arc
    state: Ints  # int64[n + 1]            the walk that saw a node first
    cycle: Ints  # int64[4n + 4]           the nodes of all cycles, one cycle after the other
    ends: Ints  # int64[n + 2]             where each cycle ends in `cycle`
    arcs: Ints2  # int64[4n + 4, 2]         head and word of the arc inside the cycle to each of its nodes


def make_contraction(words: int) -> Contraction:
    """Scratch memory for sentences of up to that many words."""
    side = words + 1
    square, line = np.zeros((side, side), np.int64), np.zeros(side, np.int64)
    long = 4 * side
    return Contraction(
        np.zeros((side, side)),
        square,
        square.copy(),
        square.copy(),
        np.zeros(side, np.bool_),
        line,
        line.copy(),
        np.zeros(long, np.int64),
        np.zeros(side + 1, np.int64),
        np.zeros((long, 2), np.int64),
    )


@ir_inline
def root_penalty(scores, n):
    """More than any two trees can differ by: arcs from the root that cost so much are as few as can be."""
    low, high = np.inf, -np.inf
    for h in range(n + 1):
        for m in range(1, n + 1):
            if h != m and scores[h, m] > -np.inf:
                low, high = min(low, scores[h, m]), max(high, scores[h, m])
    return 1.0 + n * (np.float64(high) - low) if high > -np.inf else 0.0


@ir_inline
def load(scores, n, penalty, c):
    """Every word is a node of its own."""
    for h in range(n + 1):
        c.alive[h], c.node[0, h] = True, h
        for m in range(n + 1):
            c.score[h, m] = scores[h, m] - (penalty if h == 0 else 0.0)
            c.head[h, m], c.word[h, m] = h, m


@helper
def choose(n, v, c):
    """The best arc to a node."""
    best, at = -np.inf, 0
    for u in range(n + 1):
        if c.alive[u] and u != v and c.score[u, v] > best:
            best, at = c.score[u, v], u
    c.best[v] = at


@ir_inline
def contract(n, start, count, c):
    """Make one node, that of `start`, of the cycle that its best arcs lead through."""
    end = begin = c.ends[count - 1] if count > 0 else 0
    v = start
    while end == begin or v != start:
        u = c.best[v]
        c.cycle[end] = v
        c.arcs[end, 0], c.arcs[end, 1] = c.head[u, v], c.word[u, v]
        end += 1
        v = u
    c.ends[count] = end
    for k in range(begin, end):
        c.alive[c.cycle[k]] = False
    for u in range(n + 1):
        if c.alive[u]:
            tie(u, start, begin, end, c)
    c.alive[start] = True
    for i in range(n + 1):
        c.node[count + 1, i] = c.node[count, i]
        for k in range(begin, end):
            if c.node[count, i] == c.cycle[k]:
                c.node[count + 1, i] = start
    for u in range(1, n + 1):
        if c.alive[u] and u != start and not c.alive[c.best[u]]:
            c.best[u] = start
    choose(n, start, c)


@ir_inline
def tie(u, start, begin, end, c):
    """The best arcs from a node outside a cycle to it and back, kept as those of the cycle's first node."""
    into, out = -np.inf, -np.inf
    enter = leave = start
    for k in range(begin, end):
        v = c.cycle[k]
        gain = c.score[u, v] - c.score[c.best[v], v]
        if gain > into:
            into, enter = gain, v
        if c.score[v, u] > out:
            out, leave = c.score[v, u], v
    head_in, word_in = c.head[u, enter], c.word[u, enter]
    head_out, word_out = c.head[leave, u], c.word[leave, u]
    c.score[u, start], c.head[u, start], c.word[u, start] = into, head_in, word_in
    c.score[start, u], c.head[start, u], c.word[start, u] = out, head_out, word_out


@ir_inline
def contract_all(n, c):
    """Walk from every node to its best head until all walks end at the root; the number of contractions."""
    count = 0
    for v in range(1, n + 1):
        c.state[v] = 0
    c.state[0] = -1
    for v in range(1, n + 1):
        choose(n, v, c)
    for start in range(1, n + 1):
        v = start
        while c.alive[v] and c.state[v] == 0:
            c.state[v] = start
            u = c.best[v]
            if c.alive[u] and c.state[u] == start:
                contract(n, u, count, c)
                count += 1
                c.state[u] = 0
                v = u
            else:
                v = u
    return count


@ir_inline
def expand(n, count, c, heads):
    """Arcs of the last graph, then those inside each cycle but the one that an arc from outside replaces."""
    for v in range(1, n + 1):
        if c.alive[v]:
            u = c.best[v]
            heads[c.word[u, v]] = c.head[u, v]
    for k in range(count - 1, -1, -1):
        begin = c.ends[k - 1] if k > 0 else 0
        entered = entered_at(n, k, begin, c, heads)
        for j in range(begin, c.ends[k]):
            if c.cycle[j] != entered:
                heads[c.arcs[j, 1]] = c.arcs[j, 0]


@ir_inline
def entered_at(n, k, begin, c, heads):
    """The node of a cycle that has a word with a head already: the arc from outside leads there."""
    for i in range(1, n + 1):
        if heads[i] >= 0:
            for j in range(begin, c.ends[k]):
                if c.node[k, i] == c.cycle[j]:
                    return c.cycle[j]
    return c.cycle[begin]


@helper
def arborescence(scores, n, single_root, c, heads):
    """Write the best tree of n words; its score. single_root: the root has one child, where arcs allow it."""
    for i in range(n + 1):
        heads[i] = -1
    load(scores, n, root_penalty(scores, n) if single_root else 0.0, c)
    expand(n, contract_all(n, c), c, heads)
    total = 0.0
    for m in range(1, n + 1):
        total += scores[heads[m], m]
    return total
