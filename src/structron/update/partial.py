"""Violation-fixing updates where not all of gold is known: forced decoding (Yu, Huang, Mi & Zhao 2013).

    one search takes only actions that agree with what is known: its best prefix of step i is the correct one, y'[1:i]
    another is free: best[i] is the score of its best state, alive[i]: some state in the beam agrees, right[i]: the best
    rule(best, gold, alive, right, n) chooses a step;   w = w + ΔΦ(x, y'[1:i], z[1:i])

What agrees are the actions that another `legal` gives (of a user's problem: search/beam/agreeing.py). Those of a state
that agrees lead on to a whole derivation that does. Under a margin C, states that agree are ranked lower by C: z is the
best state that does not agree, unless one that does beats it by more. The free search ends where no state in its beam
has a legal action; those that agree have left it before.

Here a derivation is not gone on with after an update: there is no one correct prefix. A rule that does so (LaSO) is
replaced by the early update.
"""

import numpy as np

from structron.kernels.jit import helper
from structron.search.beam.agreeing import ACTIONS, EXAMPLE, LENGTH, STEP
from structron.search.beam.frontier import (
    ACTION,
    BACK,
    BEGIN,
    DEAD_END,
    DONE,
    GOLD,
    NONE,
    PART,
    PRED,
    PREFIX,
    ROWS,
    WHOLE,
    Guide,
    example_of,
)
from structron.search.beam.scores import CLOCK
from structron.search.beam.search import among, derive
from structron.update.alma import end_example, is_small, lowering
from structron.update.collect import (
    EXAMPLES,
    FELL,
    FELL_AT,
    FIRST,
    FOLD,
    NEEDED,
    NO_STEP,
    STEPS,
    TIME,
    TOKENS,
    TROUBLE,
    collect,
)
from structron.update.delta import clear
from structron.update.fixing import ensure_capacity, update

FREE, KNOWN = 0, 1
"""In `stats[FIRST]`, of a search that wants room: which of the two."""


@helper
def tell_known(known, e):
    """Where `legal` is to be told the known actions of an example, write them beyond the actions (agreeing.py)."""
    legal, actions = known.frontier.legal, known.setting.moves.shape[0]
    if legal.shape[1] > actions:
        first, last = known.inputs.gold_ptr[e], known.inputs.gold_ptr[e + 1]
        for i in range(legal.shape[0]):
            legal[i, actions + EXAMPLE], legal[i, actions + LENGTH] = e, last - first
            for j in range(last - first):
                legal[i, actions + ACTIONS + j] = known.inputs.gold[first + j]


@helper
def mark_agreeing(legal, known, e, setting, f):
    """link[t, GOLD] of every row of a search: whether its derivation agrees with what is known. link[t, BEGIN] is from
    here on the number of its actions."""
    example, link, moves = example_of(known.inputs, e, 0), f.link, setting.moves
    out, actions = known.frontier.legal[0], moves.shape[0]
    link[0, GOLD], link[0, BEGIN] = WHOLE, 0
    for t in range(1, f.used[ROWS]):
        s, action, right = link[t, BACK], link[t, ACTION], False
        link[t, BEGIN] = link[s, BEGIN] + 1
        if link[s, GOLD] != NONE or moves[action] > 0:
            if out.shape[0] > actions:
                out[actions + STEP] = link[s, BEGIN]
            number = legal(example.x, example.table, f.states, s, out)
            right = among(out, number, action)
        part, whole = (link[s, GOLD] & PART) != 0 and right, link[s, GOLD] == WHOLE and right
        if moves[action] < 0:
            p = link[t, PRED]
            whole = part and link[p, GOLD] == WHOLE
            part = part and (link[p, GOLD] & PART) != 0
        elif moves[action] > 0:
            part = right
        link[t, GOLD] = WHOLE if whole else (PART if part else NONE)


@helper
def compare(f, trace, other, n, m, steps, low):
    """The trace of the free search (n steps) beside that of the one that agrees (m steps), for steps 0 … steps.

    trace.top: the best state that does not agree, unless one that does is ahead by more than `low`.
    """
    for i in range(steps + 1):
        if i > n:
            trace.best[i], trace.alive[i], trace.right[i] = trace.best[n], trace.alive[n], trace.right[n]
            trace.top[i] = trace.top[n]
        trace.gold[i] = other.best[min(i, m)] - low if i > 0 else 0.0
        if i > n or i == 0:
            continue
        rival, own = -1, -1
        for b in range(trace.sizes[i]):
            row = trace.kept[i, b]
            if f.link[row, GOLD] == WHOLE:
                own = row if own < 0 else own
            elif rival < 0:
                rival = row
        best = f.score[trace.top[i], PREFIX]
        if i == n:  # dead ends may score higher than final states: what `finish` has found counts
            rival = trace.top[i] if f.link[trace.top[i], GOLD] != WHOLE else rival
        trace.alive[i] = own >= 0
        trace.right[i] = rival < 0 or (f.link[trace.top[i], GOLD] == WHOLE and best - low > f.score[rival, PREFIX])
        if low == 0.0 and f.link[trace.top[i], GOLD] == WHOLE:
            trace.right[i] = 1
        if trace.right[i]:
            trace.best[i] = best - low
        else:
            trace.top[i] = rival
            trace.best[i] = f.score[rival, PREFIX]


@helper
def first_violation(trace, steps):
    """The first step that is a violation, 0: none is."""
    for i in range(1, steps + 1):
        if not trace.right[i] and trace.gold[i] <= trace.best[i]:
            return np.int64(i)
    return np.int64(0)


@helper
def collect_prefixes(atoms, given, known, e, i, m, delta):
    """Δ = Φ of the best prefix of step i that agrees - Φ of the chosen one of the free search."""
    setting, f, other = given.setting, given.frontier, known.frontier
    length = derive(setting, f, given.trace.top[i])
    good = derive(setting, other, known.trace.top[min(i, m)])
    j = 0
    while j < min(length, good) and f.path[1, j] == other.path[1, j]:
        j += 1
    for k in range(j, good):
        collect(atoms, known.inputs, e, given.anchored, setting, other, other.path[0, k], other.path[1, k], 1.0, delta)
    for k in range(j, length):
        collect(atoms, given.inputs, e, given.anchored, setting, f, f.path[0, k], f.path[1, k], -1.0, delta)


def learn_partial(
    search,
    score_view,
    start,
    legal,
    advance,
    atoms,
    agreeing,
    rule,
    measure,
    fits,
    apply,
    given,
    known,
    delta,
    alma,
    sequence,
    lo,
    hi,
    how,
    stats,
):
    """One batch of a pass, as `fixing.learn`: examples sequence[lo:hi], of which something is not known.

    agreeing: `legal` for known.inputs: the actions that agree with what is known. how.stop_at_fall: a step that is no
    violation is replaced by the first that is; prefixes that left the beam early can have overtaken those in it.
    """
    inputs, trace, f, no = given.inputs, given.trace, given.frontier, np.int64(0)
    for place in range(lo, hi):
        e = sequence[place]
        low, which, steps = lowering(alma), KNOWN, no
        tell_known(known, e)
        end, m = search(score_view, start, agreeing, advance, atoms, known, e, Guide(no, no, no, 0.0))
        n = m
        if end == DONE:
            which = FREE
            end, n = search(score_view, start, legal, advance, atoms, given, e, Guide(no, no, no, 0.0))
            steps = max(n, m)
            if end == DEAD_END:
                end, n, steps = np.int64(DONE), n - 1, n - 1
        i, margin = np.int64(0), 0.0
        if end == DONE:
            mark_agreeing(agreeing, known, e, given.setting, f)
            compare(f, trace, known.trace, n, m, steps, low)
            i = rule(trace.best, trace.gold, trace.alive, trace.right, steps)
            if how.stop_at_fall and 0 < i <= steps and trace.gold[i] > trace.best[i]:
                i = first_violation(trace, steps)
            clear(delta)
            if i < 0 or i > steps:
                end, stats[STEPS], stats[NEEDED] = NO_STEP, i, steps
            elif i > 0:
                collect_prefixes(atoms, given, known, e, i, m, delta)
                margin = trace.gold[i] - trace.best[i]
                end = ensure_capacity(fits, delta, given, how, stats)
        else:
            stats[STEPS] = n
        if end != DONE:
            stats[TROUBLE], stats[FIRST] = end, which
            return place
        for j in range(1, steps + 1):
            if not trace.alive[j]:
                stats[FELL] += 1
                stats[FELL_AT] += j / steps
                break
        if i > 0:
            update(measure, apply, given, delta, alma, how, low, trace.best[i], margin, stats)
            known.memory.clock[CLOCK] += 1
        end_example(alma)
        stats[TIME] += 1
        stats[EXAMPLES] += 1
        stats[TOKENS] += inputs.starts[e + 1] - inputs.starts[e]
        if is_small(alma):
            stats[TROUBLE] = FOLD
            return place + 1
    return hi
