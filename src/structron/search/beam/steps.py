"""The pieces of a beam search: signatures, the state that an action leads to, predictors that merged states inherit.

Small compiled functions, inlined in `beam.search`. They take arrays, not tuples of arrays: taking an array out of its
tuple counts references, and in these loops that costs more than all else.
"""

import numpy as np

from structron.kernels.jit import compiled, inlined
from structron.kernels.table import mix
from structron.search.beam.frontier import NONE, PART, TAIL, WHOLE
from structron.search.beam.states import combine


@inlined
def sign(signature, salt, stacked, values, slot, begin, origin):
    """One number for what tells states apart: the atoms that count, and where and how the top was pushed."""
    h = combine(values, slot, signature, 0, signature.shape[0], salt)
    if stacked:
        h = mix(mix(h, np.uint64(begin)), np.uint64(origin + 1))
    return h


@inlined
def gain_of(parts, total, action):
    gain = 0.0
    for k in range(parts.shape[1]):
        if parts[action, k] >= 0:
            gain += total[parts[action, k]]
    return gain


@inlined
def arrive(
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
    right,
    t,
):
    """Fill row t with what an action makes of state s; `right`: the action is the correct one at this step."""
    move = moves[action]
    part, whole = (f_gold[s] & PART) != 0 and right, f_gold[s] == WHOLE and right
    if move < 0:
        p = f_list_row[place]
        tail = f_states[s, TAIL]
        f_states[s, TAIL] = p
        advance(x, table, f_states, s, action, t)
        f_states[s, TAIL] = tail
        f_states[t, TAIL] = f_states[p, TAIL]
        whole = part and f_gold[p] == WHOLE
        part = part and (f_gold[p] & PART) != 0
        since = f_list_score[place] + f_inside[s] + gain
        f_prefix[t], f_inside[t] = f_prefix[p] + since, f_inside[p] + since
        f_begin[t], f_origin[t], f_pred[t] = f_begin[p], f_origin[p], p
        f_list_start[t], f_list_size[t] = f_list_start[p], f_list_size[p]
    else:
        advance(x, table, f_states, s, action, t)
        f_prefix[t] = f_prefix[s] + gain
        f_pred[t] = -1
        if move > 0:
            f_states[t, TAIL] = s
            f_inside[t], f_begin[t], f_origin[t] = 0.0, step, action
            f_list_start[t], f_list_size[t] = f_used[1], 1
            f_list_row[f_used[1]], f_list_score[f_used[1]] = s, gain
            part = right
        else:
            f_states[t, TAIL] = f_states[s, TAIL]
            f_inside[t], f_begin[t], f_origin[t] = (f_inside[s] + gain, f_begin[s], f_origin[s])
            f_list_start[t], f_list_size[t] = f_list_start[s], f_list_size[s]
    f_back[t], f_action[t] = s, action
    f_gold[t] = WHOLE if whole else (PART if part else NONE)


@compiled
def inherit(f, old, start, size):
    """Add predictors list[start : start + size] to those of a kept state; lists are shared, so a longer one is new."""
    begin, count = f.list_start[old], f.list_size[old]
    place = f.used[1]
    fresh = place
    for j in range(start, start + size):
        known = False
        for k in range(begin, begin + count):
            known = known or f.list_row[k] == f.list_row[j]
        if not known:
            if fresh == place:
                for k in range(count):
                    f.list_row[place + k], f.list_score[place + k] = (f.list_row[begin + k], f.list_score[begin + k])
                fresh += count
            f.list_row[fresh], f.list_score[fresh] = f.list_row[j], f.list_score[j]
            fresh += 1
    if fresh > place:
        f.list_start[old], f.list_size[old] = place, fresh - place
        f.used[1] = fresh


@inlined
def look(atoms, x, table, states, s, view_at, view, values, slot):
    """The atoms of a state as the actions of one view see it; without views (view_at < 0) as all do."""
    if view_at >= 0:
        states[s, view_at] = view
    atoms(x, table, states, s, values[slot, : values.shape[1] - 1])
    if view_at >= 0:
        states[s, view_at] = 0


@inlined
def begin_search(start, atoms, x, table, setting, f, trace, first):
    """Put the start state, or gold's state at step `first`, in the beam and beside it."""
    wide = f.beam.shape[1]
    for j in range(f.seen.shape[0]):
        f.seen[j] = 0
    if first == 0:
        f.used[0], f.used[1] = 1, 0
        f.states[0, TAIL] = -1
        start(x, table, f.states, 0)
        f.prefix[0], f.inside[0] = 0.0, 0.0
        f.back[0], f.pred[0], f.action[0], f.begin[0], f.origin[0] = -1, -1, -1, 0, -1
        f.gold[0], f.list_start[0], f.list_size[0] = WHOLE, 0, 0
        trace.gold_row[0], trace.top[0] = 0, 0
        trace.best[0], trace.gold[0] = 0.0, 0.0
        trace.alive[0], trace.right[0] = 1, 1
    row = trace.gold_row[first]
    f.beam[0, 0] = row
    look(atoms, x, table, f.states, row, setting.view_at, 0, f.atoms, 0)
    features = setting.features
    f.signature[row] = sign(features.signature, features.salt, setting.stacked, f.atoms, 0, f.begin[row], f.origin[row])
    for c in range(f.atoms.shape[1]):
        f.atoms[wide, c] = f.atoms[0, c]


@inlined
def token_of(where, states, row, first_token, last_token):
    """The token whose numbered features a state sees, -1: none."""
    if where < 0:
        return np.int64(-1)
    token = first_token + states[row, where]
    return token if token < last_token else np.int64(-1)
