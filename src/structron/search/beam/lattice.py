"""Exact search for problems whose states are nodes of a lattice: Viterbi's algorithm over the nodes in their order.

A problem that names its node (SearchProblem(lattice=…)) says of every state a number that grows with every action, and
that is the same for states with the same future. So nodes can be gone through by number: when one is expanded, all ways
to it have been seen, and the best is kept. For segments a node is a position and the label before it, and this is the
semi-Markov Viterbi search.

While learning, the correct derivation stands beside the nodes and is never merged with others, so that the best *other*
derivation is found; the edges are kept for updates that look at the whole lattice (Daumé & Marcu 2005, section 4.1).
"""

import numpy as np

from structron.kernels.jit import compiled
from structron.search.beam.frontier import (
    BAD_ACTION,
    BAD_GOLD,
    BAD_ORDER,
    COUNT,
    DEAD_END,
    DONE,
    MORE_BEAM,
    MORE_ROWS,
    NONE,
    ROWS,
    TAIL,
    WHOLE,
)
from structron.search.beam.scores import score_state
from structron.search.beam.steps import begin_search, gain_of, look, token_of

FINAL = 1
"""In `list_size` of a row: a derivation may end here."""


@compiled
def search_lattice(
    start, legal, advance, atoms, inputs, e, anchored, sparse, setting, memory, f, trace, learning, penalty
):
    """Search example e; returns how it ended and the step of the trace that has the result.

    Decoding: step 1. Learning: the last step of gold; all steps before count as right. Edges: heap[k] = (row, action,
    next row), heap_gain[k], k < used[COUNT]. Rows of nodes: seen[node] - 1.
    """
    f_states, f_prefix, f_back, f_action, f_gold = f.states, f.prefix, f.back, f.action, f.gold
    f_final, f_seen, f_legal, f_atoms, f_used = f.list_size, f.seen, f.legal, f.atoms, f.used
    f_edge, f_edge_gain, f_signature = f.heap, f.heap_gain, f.signature
    features, parts, total, views = setting.features, setting.parts, memory.total, setting.views
    view_at, node_at, where = setting.view_at, setting.lattice, setting.where
    base, end = inputs.starts[e], inputs.starts[e + 1]
    x, table = inputs.x[base:end], inputs.table
    nodes, rows, room, actions = f_seen.shape[0], f_states.shape[0], f_edge.shape[0], parts.shape[0]
    gold_ptr = inputs.gold_ptr[e] if learning else 0
    gold_steps = inputs.gold_ptr[e + 1] - gold_ptr if learning else 0
    begin_search(start, atoms, x, table, setting, f, trace, 0)
    spare = f_atoms.shape[0] - 1
    edges, done, top, best, gold = 0, 0, np.int64(-1), 0.0, np.int64(0) if learning else np.int64(-1)
    first = f_states[0, node_at]
    f_final[0], f_signature[0] = 0, np.uint64(first)
    if first < 0:
        return BAD_ORDER, 0
    if first >= nodes:
        return MORE_BEAM, 0
    if not learning:
        f_seen[first] = 1
    for node in range(first, nodes):
        for side in range(2):
            s = f_seen[node] - 1
            if side == 1:
                s = gold if gold >= 0 and f_states[gold, node_at] == node else np.int64(-1)
            if s < 0:
                continue
            number = legal(x, table, f_states, s, f_legal)
            if number > actions:
                return BAD_ACTION, done
            correct = inputs.gold[gold_ptr + done] if side == 1 and done < gold_steps else np.int64(-2)
            if side == 1 and (number < 1) != (correct < 0):
                return BAD_GOLD, done + 1
            if number < 1:
                f_final[s] = FINAL if number == 0 and side == 0 else 0
                if f_final[s] == FINAL and (top < 0 or f_prefix[s] > best):
                    top, best = s, f_prefix[s]
                if side == 1:
                    gold = np.int64(-1)
                continue
            token, view, slot, known = token_of(where, f_states, s, base, end), np.int64(-1), spare, False
            for j in range(number):
                action = f_legal[j]
                if action < 0 or action >= actions:
                    return BAD_ACTION, done
                if views[action] != view:
                    view = views[action]
                    look(atoms, x, table, f_states, s, view_at, view, f_atoms, slot)
                    score_state(features, anchored, sparse, f_atoms, slot, token, view, memory)
                gain = gain_of(parts, total, action)
                t = f_used[ROWS]
                if t + 1 >= rows:
                    return MORE_ROWS, done
                if edges >= room:
                    return MORE_BEAM, done
                advance(x, table, f_states, s, action, t)
                f_states[t, TAIL] = f_states[s, TAIL]
                there = f_states[t, node_at]
                f_signature[t] = np.uint64(there)
                if there <= node:
                    return BAD_ORDER, done
                if there >= nodes:
                    return MORE_BEAM, done
                score = f_prefix[s] + gain
                if action == correct:
                    f_used[ROWS] += 1
                    f_prefix[t], f_back[t], f_action[t], f_gold[t], f_final[t] = score, s, action, WHOLE, 0
                    done += 1
                    gold, known = t, True
                    trace.gold_row[done], trace.gold[done], trace.best[done] = t, score - penalty, score - penalty
                    trace.alive[done], trace.right[done], trace.top[done] = 1, 1, t
                    correct = np.int64(-2)
                else:
                    to = f_seen[there] - 1
                    if to < 0:
                        f_used[ROWS] += 1
                        f_seen[there] = t + 1
                        to = t
                        f_gold[t], f_final[t] = NONE, 0
                    if to == t or score > f_prefix[to]:
                        f_prefix[to], f_back[to], f_action[to] = score, s, action
                    t = to
                if learning:
                    f_edge[edges, 0], f_edge[edges, 1], f_edge[edges, 2] = s, action, t
                    f_edge_gain[edges] = gain
                    edges += 1
            if side == 1 and not known:
                return BAD_GOLD, done + 1
    f_used[COUNT] = edges
    n = gold_steps if learning else 1
    if top < 0 and not learning:
        return DEAD_END, done
    if not learning or (top >= 0 and best >= trace.gold[n]):
        trace.top[n], trace.best[n], trace.right[n] = top, best, 0
    return DONE, n
