"""Exact search for problems whose states are nodes of a lattice: Viterbi's algorithm over the nodes in their order.

A problem that names its node (SearchProblem(lattice=…)) says of every state a number that grows with every action, and
that is the same for states with the same future. So nodes can be gone through by number: when one is expanded, all ways
to it have been seen, and the best is kept. For segments a node is a position and the label before it, and this is the
semi-Markov Viterbi search.

While learning, the correct derivation stands beside the nodes and is never merged with others, so that the best *other*
derivation is found; the edges are kept for updates that look at the whole lattice (Daumé & Marcu 2005, section 4.1).
"""

import numpy as np

from structron.kernels.jit import ZERO, ir_inline, kernel
from structron.search.beam.frontier import (
    ACTION,
    BACK,
    BAD_ACTION,
    BAD_GOLD,
    BAD_ORDER,
    COUNT,
    DEAD_END,
    DONE,
    EXAMPLE,
    GAIN,
    GOLD,
    MORE_BEAM,
    MORE_ROWS,
    NONE,
    PREFIX,
    ROWS,
    SIZE,
    TAIL,
    WHOLE,
    example_of,
)
from structron.search.beam.signatures import SEARCH
from structron.search.beam.steps import begin_search, compute_atoms, gain_of, token_of

FINAL = 1
"""In link[row, SIZE]: a derivation may end here."""
NEXT = 2
"""Column of an edge in `heap`, after BACK and ACTION: the row it leads to."""


@kernel(signature=SEARCH)
def search_lattice(score_view, start, legal, advance, atoms, given, e, guide):
    """Search example e; returns how it ended and the step of the trace that has the result.

    Decoding: step 1. Learning: the last step of gold; all steps before count as right. Edges: heap[k] = (row, action,
    next row), rank[k, GAIN], k < used[COUNT]. Rows of nodes: seen[node] - 1.
    """
    f, setting, memory, trace, learning = given.frontier, given.setting, given.memory, given.trace, guide.learning
    states, link, seen, choices, used, edge = f.states, f.link, f.seen, f.legal[0], f.used, f.heap
    example, node_at, views = example_of(given.inputs, e, learning), setting.lattice, setting.views
    x, table, gold_steps, actions = example.x, example.table, example.gold.shape[0], setting.parts.shape[0]
    used[EXAMPLE], nodes, rows, scratch, spare = e, seen.shape[0], states.shape[0], edge.shape[0], f.atoms.shape[0] - 1
    begin_search(start, atoms, example, setting, f, trace, ZERO)
    edges, done, top, best, gold = 0, 0, np.int64(-1), 0.0, np.int64(0) if learning else np.int64(-1)
    first = states[0, node_at]
    link[0, SIZE], f.signature[0] = 0, np.uint64(first)
    if first < 0:
        return BAD_ORDER, 0
    if first >= nodes:
        return MORE_BEAM, 0
    if not learning:
        seen[first] = 1
    for node in range(first, nodes):
        for side in range(2):
            s = seen[node] - 1
            if side == 1:
                s = gold if gold >= 0 and states[gold, node_at] == node else np.int64(-1)
            if s < 0:
                continue
            number = legal(x, table, states, s, choices)
            if number > actions:
                return BAD_ACTION, done
            correct = example.gold[done] if side == 1 and done < gold_steps else np.int64(-2)
            if side == 1 and (number < 1) != (correct < 0):
                return BAD_GOLD, done + 1
            if number < 1:
                link[s, SIZE] = FINAL if number == 0 and side == 0 else 0
                if link[s, SIZE] == FINAL and (top < 0 or f.score[s, PREFIX] > best):
                    top, best = s, f.score[s, PREFIX]
                if side == 1:
                    gold = np.int64(-1)
                continue
            token, view, before = token_of(setting.where, states, s, example.base, example.end), np.int64(-1), done
            for j in range(number):
                action = choices[j]
                if action < 0 or action >= actions:
                    return BAD_ACTION, done
                if views[action] != view:
                    view = views[action]
                    compute_atoms(atoms, x, table, states, s, setting.view_at, view, f.atoms, spare)
                    score_view(setting.features, given.anchored, given.sparse, f.atoms, spare, token, view, memory)
                gain, t = gain_of(setting.spots, memory.total, action), used[ROWS]
                if t + 1 >= rows:
                    return MORE_ROWS, done
                if edges >= scratch:
                    return MORE_BEAM, done
                advance(x, table, states, s, action, t)
                states[t, TAIL] = states[s, TAIL]
                if states[t, node_at] <= node:
                    return BAD_ORDER, done
                if states[t, node_at] >= nodes:
                    return MORE_BEAM, done
                f.signature[t] = np.uint64(states[t, node_at])
                if action == correct and done == before:
                    done += 1
                    gold = t
                    follow_gold(f, trace, guide.penalty, s, action, gain, t, done)
                else:
                    t = reach(f, states[t, node_at], s, action, gain, t)
                if learning:
                    edge[edges, BACK], edge[edges, ACTION], edge[edges, NEXT], f.rank[edges, GAIN] = s, action, t, gain
                    edges += 1
            if side == 1 and done == before:
                return BAD_GOLD, done + 1
    used[COUNT] = edges
    if top < 0 and not learning:
        return DEAD_END, done
    n = gold_steps if learning else 1
    if not learning or (top >= 0 and best >= trace.gold[n]):
        trace.top[n], trace.best[n], trace.right[n] = top, best, 0
    return DONE, n


@ir_inline
def follow_gold(f, trace, penalty, s, action, gain, t, step):
    """Row t is gold's own state after so many steps, beside the nodes."""
    f.used[ROWS] += 1
    f.score[t, PREFIX] = f.score[s, PREFIX] + gain
    f.link[t, BACK], f.link[t, ACTION], f.link[t, GOLD], f.link[t, SIZE] = s, action, WHOLE, 0
    lowered = f.score[t, PREFIX] - penalty
    trace.gold_row[step], trace.gold[step], trace.best[step] = t, lowered, lowered
    trace.alive[step], trace.right[step], trace.top[step] = 1, 1, t


@ir_inline
def reach(f, node, s, action, gain, t):
    """An action leads to a node, in row t if it is the first that does: the best is kept. Returns the node's row."""
    score, to = f.score[s, PREFIX] + gain, f.seen[node] - 1
    if to < 0:
        f.used[ROWS] += 1
        f.seen[node] = t + 1
        to = t
        f.link[t, GOLD], f.link[t, SIZE] = NONE, 0
    if to == t or score > f.score[to, PREFIX]:
        f.score[to, PREFIX], f.link[to, BACK], f.link[to, ACTION] = score, s, action
    return to
