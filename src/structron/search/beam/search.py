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
A finished model may have `slack`: a state that is further behind the best than that has no future worth its time.
The problem's functions are typed pointers: this file is compiled once, whatever the problem.
"""

import numpy as np

from structron.kernels.jit import ONE, ZERO, helper, ir_inline, kernel
from structron.search.beam.frontier import (
    ACTION,
    BACK,
    BAD_ACTION,
    BAD_GOLD,
    COUNT,
    COUNTED,
    DEAD_END,
    DONE,
    ENDLESS,
    EXAMPLE,
    FINISHED,
    FIRST,
    GAIN,
    GOLD,
    INFINITE,
    INSIDE,
    MORE_BEAM,
    MORE_LISTS,
    MORE_ROWS,
    NOW,
    ORDER,
    PART,
    PLACE,
    PLACES,
    PRED,
    PREFIX,
    ROWS,
    SCORE,
    SIZE,
    TOGETHER,
    WHOLE,
    example_of,
)
from structron.search.beam.heap import offer, sort_best_first
from structron.search.beam.scores import add_pending, add_up, begin_batch, prefetch_state, select_blocks
from structron.search.beam.signatures import SEARCH
from structron.search.beam.steps import (
    begin_search,
    compute_atoms,
    copy_atoms,
    fill_successor,
    gain_of,
    inherit,
    signature,
    spot_of,
    token_of,
)

WAIT = np.int64(-1)
"""In place of an action: the state is final and waits for the others."""


@kernel(signature=SEARCH)
def search(score_view, start, legal, advance, atoms, given, e, guide):
    """Search example e; returns how it ended and the number of steps. See the module."""
    f, trace, merge = given.frontier, given.trace, given.setting.merge
    example = example_of(given.inputs, e, guide.learning)
    f.used[EXAMPLE] = e
    begin_search(start, atoms, example, given.setting, f, trace, guide.first)
    wide, capacity, gold_steps = f.beam.shape[1], f.rank.shape[0], example.gold.shape[0]
    x, table, k = example.x, example.table, min(given.setting.beam, wide)
    step, now, count = guide.first, ZERO, ONE
    while True:
        step += 1
        if step > example.limit + 1:
            return ENDLESS, step
        gold_row = trace.gold_row[step - 1]
        if guide.learning and step == gold_steps + 1 and legal(x, table, f.states, gold_row, f.legal[0]) != 0:
            return BAD_GOLD, step
        scratch = min(k if k == 1 or merge != 1 else 2 * k + 2, capacity)
        rows, places = f.used[ROWS], f.used[PLACES]
        while True:
            end, size, made, active, gold_gain = candidates(
                score_view, legal, atoms, given, example, guide, step, now, count, scratch
            )
            if end != DONE:
                return end, step
            if size == 0 and guide.learning and not trace.alive[step - 1]:
                return DONE, step - 1
            if size == 0:
                return DEAD_END, step
            if active == 0 and step > gold_steps:
                finish(f, trace, guide, step - 1, size)
                return DONE, step - 1
            sort_best_first(f, size)
            end, found = keep_best(advance, atoms, given, example, guide, step, now, size, k, gold_gain)
            if end != DONE:
                return end, step
            if (
                found == k
                or made == size
                or merge == COUNTED
                or f.rank[size - 1, SCORE] < f.rank[0, SCORE] - given.setting.slack
            ):
                break
            if scratch == capacity:
                return MORE_BEAM, step
            scratch = min(4 * scratch, capacity)  # too many were equivalent: look at more of them
            f.used[ROWS], f.used[PLACES] = rows, places
        if found == wide and wide < given.setting.beam:
            return MORE_BEAM, step
        if step > gold_steps:
            trace.gold_row[step], trace.gold[step] = gold_row, trace.gold[step - 1]
            copy_atoms(f.atoms, now * (wide + 1) + wide, (1 - now) * (wide + 1) + wide)
        now, count = 1 - now, found
        f.used[NOW], f.used[COUNT] = now, count
        note_step(f, trace, guide, step, now, count)
        if guide.learning and guide.stop_at_fall and not trace.alive[step]:
            return DONE, step


@helper
def candidates(score_view, legal, atoms, given, example, guide, step, now, count, scratch):
    """{ s ∘ a | s in B_{i-1}, a in legal(s) }: the best of them, as many as it holds, are in the heap.

    Returns how it ended, how many are in the heap, how many were made, how many states are not final, and what the
    correct action gains in gold's own state, beside the beam (b = -1).
    """
    f, setting, memory, x, table = given.frontier, given.setting, given.memory, example.x, example.table
    states, link, score_of, beam, rank = f.states, f.link, f.score, f.beam, f.rank
    values, moves, view_at, penalty = f.atoms, setting.moves, setting.view_at, guide.penalty
    wide, spare = beam.shape[1], values.shape[0] - 1
    with_gold, gold_row = step <= example.gold.shape[0], given.trace.gold_row[step - 1]
    correct = example.gold[step - 1] if with_gold else np.int64(-2)
    size, made, active, worst, gold_gain, top, first_state = ZERO, ZERO, 0, 0.0, 0.0, -np.inf, -1 if with_gold else 0
    for b in range(first_state, count):
        i = (b - first_state) % TOGETHER
        if i == 0:
            end, blocks = choose_from(legal, example, setting, f, step, now, b, min(count - b, TOGETHER), gold_row)
            if end != DONE:
                return end, size, made, active, gold_gain
        if i == 0 and view_at < 0:
            begin_batch(memory)
            if setting.blocks.shape[0] > 0:
                select_blocks(memory, blocks, setting.block)
            for j in range(min(count - b, TOGETHER)):
                slot = now * (wide + 1) + (b + j if b + j >= 0 else wide)
                prefetch_state(setting.features, given.sparse, values, slot, memory, j)
            add_pending(given.sparse, memory)
        s = beam[now, b] if b >= 0 else gold_row
        choices, number = f.legal[i], f.choices[i]
        if b < 0:
            if not among(choices, number, correct):
                return BAD_GOLD, size, made, active, gold_gain
            choices[0], number = correct, 1
        elif number == 0:
            score = score_of[s, PREFIX] - penalty if guide.learning and link[s, GOLD] == WHOLE else score_of[s, PREFIX]
            size = offer(f, size, scratch, score, 0.0, b, WAIT, ZERO, made)
            worst = rank[0, SCORE]
            made += 1
        if number < 1:
            continue
        active += b >= 0
        token = token_of(setting.where, states, s, example.base, example.end)
        view, own, inside, is_gold = np.int64(-1), score_of[s, PREFIX], score_of[s, INSIDE], link[s, GOLD]
        first, last = link[s, FIRST], link[s, FIRST] + link[s, SIZE]
        for j in range(number):
            action = choices[j]
            if setting.views[action] != view:
                view = setting.views[action]
                if view_at >= 0:
                    compute_atoms(atoms, x, table, states, s, view_at, view, values, spare)
                    score_view(setting.features, given.anchored, given.sparse, values, spare, token, view, memory)
                else:
                    add_up(given.anchored, given.sparse, token, memory, i)
            gain = gain_of(setting.spots, memory.total, action)
            if b < 0:
                gold_gain = gain
            elif moves[action] >= 0:
                score = own + gain
                if action == correct and is_gold == WHOLE:
                    score -= penalty
                if size < scratch or score > worst:
                    size = offer(f, size, scratch, score, gain, b, action, ZERO, made)
                    worst = rank[0, SCORE]
                made += 1
            elif first == last:
                return BAD_ACTION, size, made, active, gold_gain
            else:
                for place in range(first, last):
                    p = f.list_row[place]
                    score = score_of[p, PREFIX] + (f.list_score[place] + inside + gain)
                    if action == correct and (is_gold & PART) != 0 and link[p, GOLD] == WHOLE:
                        score -= penalty
                    if size < scratch or score > worst:
                        top = max(top, score)
                        if score < top - setting.slack:
                            continue
                        size = offer(f, size, scratch, score, gain, b, action, place, made)
                        worst = rank[0, SCORE]
                    made += 1
    return DONE, size, made, active, gold_gain


@ir_inline
def among(choices, number, action):
    """Whether an action is one of the first choices."""
    found = False
    for j in range(number):
        found = found or choices[j] == action
    return found


@helper
def choose_from(legal, example, setting, f, step, now, b, together, gold_row):
    """The legal actions of states b, b + 1, … of a beam, -1: gold's own. Returns how it ended, and the blocks of
    columns that their scores need. Where there are open actions, `legal` is told the step (agreeing.py)."""
    blocks, actions = np.uint64(0), setting.moves.shape[0]
    for i in range(together):
        s = f.beam[now, b + i] if b + i >= 0 else gold_row
        if f.legal.shape[1] > actions:
            f.legal[i, actions] = step - 1
        number = legal(example.x, example.table, f.states, s, f.legal[i])
        if number > actions:
            return BAD_ACTION, blocks
        f.choices[i] = number
        for j in range(number):
            action = f.legal[i, j]
            if action < 0 or action >= actions:
                return BAD_ACTION, blocks
            if setting.blocks.shape[0] > 0:
                blocks |= setting.blocks[action]
    return DONE, blocks


@helper
def keep_best(advance, atoms, given, example, guide, step, now, size, k, gold_gain):
    """B_i: the k best inequivalent candidates; c = -1 is gold's own next state. Returns how it ended and how many."""
    f, setting, trace = given.frontier, given.setting, given.trace
    link, used, beam, values, signatures, seen = f.link, f.used, f.beam, f.atoms, f.signature, f.seen
    features, moves, stacked, merge = setting.features, setting.moves, setting.stacked, setting.merge
    # the correct prefix, ranked lower, would lose its continuations to an equal one that scores less: exact search
    # keeps it apart. In a bounded beam it would take a second place.
    apart = guide.learning and guide.penalty > 0 and setting.beam == INFINITE
    wide, here, there = beam.shape[1], now * (beam.shape[1] + 1), (1 - now) * (beam.shape[1] + 1)
    with_gold, found = step <= example.gold.shape[0], 0
    correct = example.gold[step - 1] if with_gold else np.int64(-2)
    least = f.rank[0, SCORE] - setting.slack
    for c in range(-1 if with_gold else 0, size):
        if found == k or (c > 0 and f.rank[c, SCORE] < least):
            break
        if used[ROWS] + 2 > f.states.shape[0]:
            return MORE_ROWS, found
        if used[PLACES] + 2 > f.list_row.shape[0]:
            return MORE_LISTS, found
        t = used[ROWS]
        if c >= 0:
            s, action = beam[now, f.heap[c, BACK]], f.heap[c, ACTION]
            place, gain, slot = f.heap[c, PLACE], f.rank[c, GAIN], there + found
        else:
            s, action = trace.gold_row[step - 1], correct
            place, gain, slot = link[s, FIRST], gold_gain, there + wide
        pushes = action != WAIT and moves[action] > 0
        if action == WAIT:
            t = s
            copy_atoms(values, here + f.heap[c, BACK], slot)
        else:
            made, right = (s, action, place, gain), action == correct
            fill_successor(advance, example, f, moves, made, step, right, t)
            compute_atoms(atoms, example.x, example.table, f.states, t, setting.view_at, ZERO, values, slot)
            signatures[t] = signature(features.telling, stacked, values, slot, link, t)
            if apart and link[t, GOLD] == WHOLE:
                signatures[t] = ~signatures[t]
        if c < 0:
            trace.gold_row[step], trace.gold[step] = t, f.score[t, PREFIX] - guide.penalty
        elif merge:
            spot = spot_of(seen, signatures, beam, 1 - now, t)
            if seen[spot] > 0:
                old = beam[1 - now, seen[spot] - 1]
                if stacked and old != t:
                    if used[PLACES] + 1 + link[old, SIZE] + link[t, SIZE] > f.list_row.shape[0]:
                        return MORE_LISTS, found
                    used[PLACES] += pushes
                    inherit(link, f.list_row, f.list_score, used, old, t)
                continue
            seen[spot], f.seen_at[found] = found + 1, spot
        if c >= 0:
            beam[1 - now, found] = t
            found += 1
        used[ROWS] += action != WAIT
        used[PLACES] += pushes
    if merge:
        for j in range(found):
            seen[f.seen_at[j]] = 0
    return DONE, found


@helper
def note_step(f, trace, guide, step, now, count):
    """Enter a step in the trace: the best state, whether the correct prefix is in the beam, the beam if wanted."""
    top, alive = f.beam[now, 0], False
    right = guide.learning and f.link[top, GOLD] == WHOLE
    if guide.learning:
        for b in range(count):
            alive = alive or f.link[f.beam[now, b], GOLD] == WHOLE
    if trace.kept.shape[0] > 0:
        for b in range(count):
            trace.kept[step, b] = f.beam[now, b]
        trace.sizes[step] = count
    trace.top[step], trace.alive[step], trace.right[step] = top, alive, right
    trace.best[step] = f.score[top, PREFIX] - guide.penalty if right else f.score[top, PREFIX]


@helper
def finish(f, trace, guide, step, size):
    """All states are final, in the heap: enter the best in the trace; dead ends in the beam may score higher."""
    best = 0
    for c in range(1, size):
        higher, equal = f.rank[c, SCORE] > f.rank[best, SCORE], f.rank[c, SCORE] == f.rank[best, SCORE]
        if higher or (equal and f.heap[c, ORDER] < f.heap[best, ORDER]):
            best = c
    top = f.beam[f.used[NOW], f.heap[best, BACK]]
    right = guide.learning and f.link[top, GOLD] == WHOLE
    trace.top[step], trace.right[step], f.used[FINISHED] = top, right, size
    trace.best[step] = f.score[top, PREFIX] - guide.penalty if right else f.score[top, PREFIX]


@helper
def derive(setting, f, t):
    """Write the derivation of row t to f.path: the row and the action of every step; returns their number.

    Since a merged state has several predictors, the way back from a pop is that of the popped part, then that of the
    predictor it was combined with, which waits until the push is reached.
    """
    n, waiting = 0, 0
    while f.link[t, BACK] >= 0:
        s, action = f.link[t, BACK], f.link[t, ACTION]
        if setting.moves[action] < 0:
            f.waiting[waiting] = f.link[t, PRED]
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
