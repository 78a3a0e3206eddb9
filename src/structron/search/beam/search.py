"""Beam search with dynamic programming, for any problem (Huang, Fayong & Guo 2012, Algorithm 7; Huang & Sagae 2010).

    B_0 = [start]
    for i = 1, 2, …:   B_i = the k best inequivalent of { s ∘ a | s in B_{i-1}, a in legal(s) }

Greedy search is k = 1; with k = ∞ and merging it is exact. States that agree on all atoms that templates look at are
equivalent: the best stays, and inherits the predictors of the others. An action that pops combines a state with each
of its predictors, with scores (prefix, inside) as in Huang & Sagae: for p the predictor and s the state

    prefix = prefix(p) + push(p) + inside(s) + gain        inside = inside(p) + push(p) + inside(s) + gain

With gold given, the correct prefix is followed beside the beam, in it or not, and the trace says for every step what
it scores, what the best scores, and whether it is in the beam: all that an update rule needs, from one search. States
of the correct derivation are ranked lower by `penalty`, so that they stay only with a margin (ALMA, update/alma.py).
The problem's functions are typed pointers: this file is compiled once, whatever the problem.
"""

import numpy as np

from structron.kernels.jit import compiled
from structron.search.beam.frontier import (
    BAD_ACTION,
    BAD_GOLD,
    COUNT,
    DEAD_END,
    DONE,
    ENDLESS,
    INFINITE,
    MORE_BEAM,
    MORE_LISTS,
    MORE_ROWS,
    NOW,
    PART,
    WHOLE,
)
from structron.search.beam.heap import offer, sort_best_first
from structron.search.beam.lattice import search_lattice
from structron.search.beam.scores import score_state
from structron.search.beam.steps import arrive, begin_search, gain_of, inherit, look, sign, token_of

FINISHED = -1
"""In place of an action: the state is final and waits for the others."""


@compiled
def best_finished(scores, order, heap, beam, now, size):
    """Of states that are all final the row of the best; there may be dead ends in the beam that score higher."""
    best = 0
    for c in range(1, size):
        if scores[c] > scores[best] or (scores[c] == scores[best] and order[c] < order[best]):
            best = c
    return beam[now, heap[best, 0]]


@compiled
def search(
    start,
    legal,
    advance,
    atoms,
    inputs,
    e,
    anchored,
    sparse,
    setting,
    memory,
    f,
    trace,
    learning,
    first,
    stop_at_fall,
    penalty,
):
    """Search example e; returns how it ended and the number of steps. See the module.

    learning: gold is given and followed.   first > 0: go on from gold's state at that step (its row is in the trace).
    stop_at_fall: end with the step at which gold has left the beam.   Without a limit, a lattice is searched as such.
    """
    if setting.lattice >= 0:
        return search_lattice(
            start, legal, advance, atoms, inputs, e, anchored, sparse, setting, memory, f, trace, learning, penalty
        )
    # arrays by name: taking one out of its tuple counts references, and in these loops that costs most of the time
    f_states, f_prefix, f_inside, f_back = f.states, f.prefix, f.inside, f.back
    f_pred, f_action, f_begin, f_origin = f.pred, f.action, f.begin, f.origin
    f_gold, f_signature, f_list_start, f_list_size = f.gold, f.signature, f.list_start, f.list_size
    f_list_row, f_list_score, f_beam, f_atoms = f.list_row, f.list_score, f.beam, f.atoms
    f_seen, f_seen_at, f_legal, rank = f.seen, f.seen_at, f.legal, f.heap_score
    turn, heap, gains, f_used = f.heap_order, f.heap, f.heap_gain, f.used
    t_alive, t_best, t_gold, t_gold_row = trace.alive, trace.best, trace.gold, trace.gold_row
    t_right, t_top = trace.right, trace.top
    features, parts, moves, total = setting.features, setting.parts, setting.moves, memory.total
    signature, salt = features.signature, features.salt
    merge, stacked, where = setting.merge, setting.stacked, setting.where
    # the correct prefix, ranked lower, would lose its continuations to an equal one that scores less: exact search
    # keeps it apart. In a bounded beam it would take a second place.
    apart = learning and penalty > 0 and setting.beam == INFINITE
    view_at, views, spare = setting.view_at, setting.views, f_atoms.shape[0] - 1
    base, end = inputs.starts[e], inputs.starts[e + 1]
    x, table = inputs.x[base:end], inputs.table
    actions, wide = moves.shape[0], f_beam.shape[1]
    rows, lists = f_states.shape[0], f_list_row.shape[0]
    k = min(setting.beam, wide)
    begin_search(start, atoms, x, table, setting, f, trace, first)
    gold_ptr = inputs.gold_ptr[e] if learning else 0
    gold_steps = inputs.gold_ptr[e + 1] - gold_ptr if learning else 0
    count, now = 1, 0
    f_used[NOW], f_used[COUNT] = now, count
    step = first
    while True:
        step += 1
        if step > inputs.limit[e] + 1:
            return ENDLESS, step
        here, there = now * (wide + 1), (1 - now) * (wide + 1)
        with_gold = learning and step <= gold_steps
        correct = inputs.gold[gold_ptr + step - 1] if with_gold else np.int64(-2)
        gold_gain = 0.0
        if learning and step == gold_steps + 1 and legal(x, table, f_states, t_gold_row[step - 1], f_legal) != 0:
            return BAD_GOLD, step
        room = min(k if k == 1 or not merge else 2 * k + 2, rank.shape[0])
        first_row, first_place = f_used[0], f_used[1]
        while True:
            # candidates: every legal action of every state in the beam; b = -1 is gold's own state, beside the beam
            size, order, active, worst = 0, 0, 0, 0.0
            for b in range(-1 if with_gold else 0, count):
                s = f_beam[now, b] if b >= 0 else t_gold_row[step - 1]
                number = legal(x, table, f_states, s, f_legal)
                if number > actions:
                    return BAD_ACTION, step
                if number == 0 and b >= 0:
                    score = f_prefix[s] - penalty if learning and f_gold[s] == WHOLE else f_prefix[s]
                    size = offer(rank, turn, gains, heap, size, room, score, order, b, 0, FINISHED, 0.0)
                    worst = rank[0]
                    order += 1
                if number < 1 and b >= 0:
                    continue
                slot, token = (here + b if b >= 0 else here + wide, token_of(where, f_states, s, base, end))
                view = np.int64(-1)
                if b < 0:
                    known = False
                    for j in range(number):
                        known = known or f_legal[j] == correct
                    if not known:
                        return BAD_GOLD, step
                    f_legal[0], number = correct, 1
                else:
                    active += 1
                own, inside, places, state_gold = f_prefix[s], f_inside[s], f_list_size[s], f_gold[s]
                for j in range(number):
                    action = f_legal[j]
                    if action < 0 or action >= actions:
                        return BAD_ACTION, step
                    if views[action] != view:
                        view = views[action]
                        if view_at >= 0:
                            slot = spare
                            look(atoms, x, table, f_states, s, view_at, view, f_atoms, slot)
                        score_state(features, anchored, sparse, f_atoms, slot, token, view, memory)
                    gain = gain_of(parts, total, action)
                    if b < 0:
                        gold_gain = gain
                        continue
                    if moves[action] >= 0:
                        score = own + gain
                        if action == correct and state_gold == WHOLE:
                            score -= penalty
                        if size < room or score > worst:
                            size = offer(rank, turn, gains, heap, size, room, score, order, b, 0, action, gain)
                            worst = rank[0]
                        order += 1
                    else:
                        if places == 0:
                            return BAD_ACTION, step
                        for place in range(f_list_start[s], f_list_start[s] + places):
                            p = f_list_row[place]
                            score = f_prefix[p] + (f_list_score[place] + inside + gain)
                            if action == correct and (state_gold & PART) != 0 and f_gold[p] == WHOLE:
                                score -= penalty
                            if size < room or score > worst:
                                size = offer(rank, turn, gains, heap, size, room, score, order, b, place, action, gain)
                                worst = rank[0]
                            order += 1
            if size == 0 and learning and not t_alive[step - 1]:
                return DONE, step - 1
            if size == 0:
                return DEAD_END, step
            if active == 0 and step > gold_steps:
                top = best_finished(rank, turn, heap, f_beam, now, size)
                t_top[step - 1], t_best[step - 1] = top, f_prefix[top]
                t_right[step - 1] = learning and f_gold[top] == WHOLE
                if t_right[step - 1]:
                    t_best[step - 1] -= penalty
                return DONE, step - 1
            # the k best inequivalent ones; c = -1 is gold's own next state
            sort_best_first(rank, turn, gains, heap, size)
            found = 0
            for c in range(-1 if with_gold else 0, size):
                if found == k:
                    break
                if f_used[0] + 2 > rows:
                    return MORE_ROWS, step
                if f_used[1] + 2 > lists:
                    return MORE_LISTS, step
                t, slot = f_used[0], there + found if c >= 0 else there + wide
                if c >= 0:
                    b, place, action, gain = (heap[c, 0], heap[c, 1], heap[c, 2], gains[c])
                    s = f_beam[now, b]
                else:
                    b, action, gain, s = wide, correct, gold_gain, t_gold_row[step - 1]
                    place = f_list_start[s]
                if action == FINISHED:
                    t = s
                    for a in range(f_atoms.shape[1]):
                        f_atoms[slot, a] = f_atoms[here + b, a]
                else:
                    arrive(
                        advance,
                        x,
                        table,
                        moves,
                        f_states,
                        f_prefix,
                        f_inside,
                        f_back,
                        f_pred,
                        f_action,
                        f_begin,
                        f_origin,
                        f_gold,
                        f_list_start,
                        f_list_size,
                        f_list_row,
                        f_list_score,
                        f_used,
                        s,
                        place,
                        action,
                        gain,
                        step,
                        action == correct,
                        t,
                    )
                    look(atoms, x, table, f_states, t, view_at, 0, f_atoms, slot)
                    f_signature[t] = sign(signature, salt, stacked, f_atoms, slot, f_begin[t], f_origin[t])
                    if apart and f_gold[t] == WHOLE:
                        f_signature[t] = ~f_signature[t]
                if c < 0:
                    t_gold_row[step], t_gold[step] = t, f_prefix[t] - penalty
                    f_used[0] += 1
                    f_used[1] += moves[action] > 0
                    continue
                merged, old = False, t
                if merge:
                    spot = np.int64(f_signature[t] & np.uint64(f_seen.shape[0] - 1))
                    while f_seen[spot] > 0 and not merged:
                        old = f_beam[1 - now, f_seen[spot] - 1]
                        merged = f_signature[old] == f_signature[t]
                        if not merged:
                            spot = (spot + 1) & (f_seen.shape[0] - 1)
                    if not merged:
                        f_seen[spot], f_seen_at[found] = found + 1, spot
                    elif stacked and old != t:
                        if f_used[1] + 1 + f_list_size[old] + f_list_size[t] > lists:
                            return MORE_LISTS, step
                        if action >= 0 and moves[action] > 0:
                            f_used[1] += 1
                        inherit(f, old, f_list_start[t], f_list_size[t])
                if not merged:
                    f_beam[1 - now, found] = t
                    found += 1
                    if action != FINISHED:
                        f_used[0] += 1
                        f_used[1] += moves[action] > 0
            if merge:
                for j in range(found):
                    f_seen[f_seen_at[j]] = 0
            if found == k or order == size:
                break
            if room == rank.shape[0]:
                return MORE_BEAM, step
            room = min(4 * room, rank.shape[0])
            f_used[0], f_used[1] = first_row, first_place
        if not with_gold:
            t_gold_row[step], t_gold[step] = t_gold_row[step - 1], t_gold[step - 1]
            for a in range(f_atoms.shape[1]):
                f_atoms[there + wide, a] = f_atoms[here + wide, a]
        if found == wide and wide < setting.beam:
            return MORE_BEAM, step
        now, count = 1 - now, found
        f_used[NOW], f_used[COUNT] = now, count
        top = f_beam[now, 0]
        t_top[step], t_best[step] = top, f_prefix[top]
        if learning and f_gold[top] == WHOLE:
            t_best[step] -= penalty
        alive = False
        if learning:
            for b in range(count):
                alive = alive or f_gold[f_beam[now, b]] == WHOLE
        t_alive[step], t_right[step] = alive, learning and f_gold[top] == WHOLE
        if learning and stop_at_fall and not alive:
            return DONE, step


@compiled
def derive(setting, f, t):
    """Write the derivation of row t to f.path: the row and the action of every step; returns their number.

    Since a merged state has several predictors, the way back from a pop is that of the popped part, then that of the
    predictor it was combined with, which waits until the push is reached.
    """
    n, waiting = 0, 0
    while f.back[t] >= 0:
        action = f.action[t]
        s = f.back[t]
        if setting.moves[action] < 0:
            f.waiting[waiting] = f.pred[t]
            waiting += 1
        elif setting.moves[action] > 0 and waiting > 0:
            waiting -= 1
            s = f.waiting[waiting]
        f.path[0, n], f.path[1, n] = s, action
        n += 1
        t = s
    for j in range(n // 2):
        for c in range(2):
            value = f.path[c, j]
            f.path[c, j] = f.path[c, n - 1 - j]
            f.path[c, n - 1 - j] = value
    return n
