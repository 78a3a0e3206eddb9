"""The pieces of a beam search: signatures, the state that an action leads to, predictors that merged states inherit.

Small functions that become part of the kernels in search.py and lattice.py. Those only borrow arrays: in a kernel that
counts references, taking an array out of its tuple in such loops costs more than all else.
"""

import numpy as np

from structron.kernels.jit import ZERO, helper
from structron.kernels.table import mix
from structron.search.beam.frontier import (
    ACTION,
    BACK,
    BEGIN,
    COUNT,
    FIRST,
    GOLD,
    INSIDE,
    NONE,
    NOW,
    ORIGIN,
    PART,
    PLACES,
    PRED,
    PREFIX,
    ROWS,
    SIZE,
    TAIL,
    WHOLE,
)
from structron.search.beam.states import hash_all


@helper(inline=True)
def signature(telling, stacked, values, slot, link, t):
    """One number for what tells states apart: the atoms that count, and where and how the top was pushed."""
    h = hash_all(values, slot, telling)
    if stacked:
        h = mix(mix(h, np.uint64(link[t, BEGIN])), np.uint64(link[t, ORIGIN] + 1))
    return h


@helper(inline=True)
def gain_of(spots, total, action):
    """What an action gains: the sum of its parts; see `Setting.spots`."""
    gain = 0.0
    for k in range(spots.shape[1]):
        gain += total[spots[action, k]]
    return gain


@helper
def fill_successor(advance, example, f, moves, made, step, right, t):
    """Fill row t with what an action makes of a state: made = (state, action, place of the predictor, gain).

    right: the action is the correct one at this step.
    """
    states, link, score, list_row, list_score, used = f.states, f.link, f.score, f.list_row, f.list_score, f.used
    s, action, place, gain = made
    move = moves[action]
    part, whole = (link[s, GOLD] & PART) != 0 and right, link[s, GOLD] == WHOLE and right
    if move < 0:
        p = list_row[place]
        tail = states[s, TAIL]
        states[s, TAIL] = p
        advance(example.x, example.table, states, s, action, t)
        states[s, TAIL] = tail
        states[t, TAIL] = states[p, TAIL]
        whole = part and link[p, GOLD] == WHOLE
        part = part and (link[p, GOLD] & PART) != 0
        since = list_score[place] + score[s, INSIDE] + gain
        score[t, PREFIX], score[t, INSIDE] = score[p, PREFIX] + since, score[p, INSIDE] + since
        link[t, BEGIN], link[t, ORIGIN], link[t, PRED] = link[p, BEGIN], link[p, ORIGIN], p
        link[t, FIRST], link[t, SIZE] = link[p, FIRST], link[p, SIZE]
    else:
        advance(example.x, example.table, states, s, action, t)
        score[t, PREFIX] = score[s, PREFIX] + gain
        link[t, PRED] = -1
        if move > 0:
            states[t, TAIL] = s
            score[t, INSIDE], link[t, BEGIN], link[t, ORIGIN] = 0.0, step, action
            link[t, FIRST], link[t, SIZE] = used[PLACES], 1
            list_row[used[PLACES]], list_score[used[PLACES]] = s, gain
            part = right
        else:
            states[t, TAIL] = states[s, TAIL]
            score[t, INSIDE], link[t, BEGIN], link[t, ORIGIN] = score[s, INSIDE] + gain, link[s, BEGIN], link[s, ORIGIN]
            link[t, FIRST], link[t, SIZE] = link[s, FIRST], link[s, SIZE]
    link[t, BACK], link[t, ACTION] = s, action
    link[t, GOLD] = WHOLE if whole else (PART if part else NONE)


@helper(allocates=True)
def inherit(link, list_row, list_score, used, old, t):
    """Add the predictors of row t to those of a kept state; lists are shared, so a longer one is new."""
    start, begin, count = link[t, FIRST], link[old, FIRST], link[old, SIZE]
    place = used[PLACES]
    fresh = place
    for j in range(start, start + link[t, SIZE]):
        known = False
        for k in range(begin, begin + count):
            known = known or list_row[k] == list_row[j]
        if not known:
            if fresh == place:
                for k in range(count):
                    list_row[place + k], list_score[place + k] = list_row[begin + k], list_score[begin + k]
                fresh += count
            list_row[fresh], list_score[fresh] = list_row[j], list_score[j]
            fresh += 1
    if fresh > place:
        link[old, FIRST], link[old, SIZE] = place, fresh - place
        used[PLACES] = fresh


@helper(inline=True)
def spot_of(seen, signature, beam, side, t):
    """Where a state equivalent to row t stands among those seen in the next beam; if there is none, a free spot."""
    spot = np.int64(signature[t] & np.uint64(seen.shape[0] - 1))
    while seen[spot] > 0 and signature[beam[side, seen[spot] - 1]] != signature[t]:
        spot = (spot + 1) & (seen.shape[0] - 1)
    return spot


@helper(inline=True)
def compute_atoms(atoms, x, table, states, s, view_at, view, values, slot):
    """The atoms of a state as the actions of one view see it; without views (view_at < 0) as all do."""
    if view_at >= 0:
        states[s, view_at] = view
    atoms(x, table, states, s, values[slot, : values.shape[1] - 1])
    if view_at >= 0:
        states[s, view_at] = 0


@helper
def begin_search(start, atoms, example, setting, f, trace, first):
    """Put the start state, or gold's state at step `first`, in the beam and beside it."""
    x, table, wide = example.x, example.table, f.beam.shape[1]
    for j in range(f.seen.shape[0]):
        f.seen[j] = 0
    if first == 0:
        f.used[ROWS], f.used[PLACES] = 1, 0
        f.states[0, TAIL] = -1
        start(x, table, f.states, 0)
        f.score[0, PREFIX], f.score[0, INSIDE] = 0.0, 0.0
        f.link[0, BACK], f.link[0, PRED], f.link[0, ACTION], f.link[0, BEGIN], f.link[0, ORIGIN] = -1, -1, -1, 0, -1
        f.link[0, GOLD], f.link[0, FIRST], f.link[0, SIZE] = WHOLE, 0, 0
        trace.gold_row[0], trace.top[0] = 0, 0
        trace.best[0], trace.gold[0] = 0.0, 0.0
        trace.alive[0], trace.right[0] = 1, 1
    row = trace.gold_row[first]
    f.beam[0, 0] = row
    if trace.kept.shape[0] > 0:
        trace.kept[first, 0], trace.sizes[first] = row, 1
    f.used[NOW], f.used[COUNT] = 0, 1
    compute_atoms(atoms, x, table, f.states, row, setting.view_at, ZERO, f.atoms, ZERO)
    f.signature[row] = signature(setting.features.telling, setting.stacked, f.atoms, ZERO, f.link, row)
    copy_atoms(f.atoms, ZERO, wide)


@helper(inline=True)
def copy_atoms(values, slot, to):
    for a in range(values.shape[1]):
        values[to, a] = values[slot, a]


@helper(inline=True)
def token_of(where, states, row, first_token, last_token):
    """The token whose numbered features a state sees, -1: none."""
    if where < 0:
        return np.int64(-1)
    token = first_token + states[row, where]
    return token if token < last_token else np.int64(-1)
