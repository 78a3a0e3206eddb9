"""The violation-fixing perceptron (Huang, Fayong & Guo 2012, Algorithm 2), compiled for any problem and any rule.

    for each example (x, y):
        (y', z) = FINDVIOLATION(x, y, w)        search(…), then rule(trace)
        if z ≠ y':  w = w + ΔΦ(x, y', z)        collect_…(…), then step(…) and apply(…)

LaSO (Daumé & Marcu 2005, Figure 2) is the rule that takes for z the mean of the queue, eq. (2), and goes on after an
update with the correct prefix, so that an example can have several. `laso` leaves out of that mean what is no mistake,
`laso-literal` nothing; an expectation weighs what is in it by exp(score). ALMA is another step: update/alma.py.
Weighted violations (Dror & Reichart 2016) learn from mixtures of y' and z in place of z: update/mixed.py.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import helper, ir_inline, kernel
from structron.kernels.reference import by_reference
from structron.search.beam.frontier import (
    ACTION,
    BACK,
    BEGIN,
    COUNT,
    DONE,
    GAIN,
    GOLD,
    INSIDE,
    NOW,
    ORIGIN,
    PRED,
    PREFIX,
    ROWS,
    SCORE,
    SIZE,
    WHOLE,
    Guide,
)
from structron.search.beam.lattice import FINAL, NEXT
from structron.search.beam.scores import CLOCK
from structron.search.beam.search import derive
from structron.update.alma import ALPHA, TOTAL, end_example, is_small, lowering, step
from structron.update.collect import (
    ASK_JJ as ASK_JJ,
)
from structron.update.collect import (
    COLLECT,
    EXAMPLES,
    FELL,
    FELL_AT,
    FIRST,
    FOLD,
    INVALID,
    MORE_DELTA,
    MORE_WEIGHTS,
    NEEDED,
    NO_STEP,
    NOT_VIOLATIONS,
    SEARCH_ERRORS,
    STEPS,
    TIME,
    TOKENS,
    TROUBLE,
    UPDATES,
    collect,
    collect_difference,
)
from structron.update.collect import (
    STATS as STATS,
)
from structron.update.delta import FULL, clear
from structron.update.swvp import ASKED, STATE, TO_ASK

LITERAL, EXPECTED = 2, 3
"""In `How.mean`: eq. (2) of Daumé & Marcu as it is printed; all weighed by their probability under the model."""
LEAST_SHARE = 1e-9
"""Edges of a lattice with less probability are left out of an expectation."""


@helper
def is_meant(f, row, gold, mean):
    """Whether a state is in the second sum of eq. (2): literally every one, else a wrong one that is not below gold."""
    return mean >= LITERAL or (f.link[row, GOLD] != WHOLE and f.score[row, PREFIX] >= gold)


@helper
def log_add(a, b):
    """log(exp(a) + exp(b))."""
    most = max(a, b)
    return most if most == -np.inf else most + np.log1p(np.exp(-abs(a - b)))


@kernel(signature=COLLECT)
def collect_best(advance, atoms, given, e, n, i, mean, delta, weighing, stats):
    """Δ = Φ(x, y') - Φ(x, z), z: the best derivation at step i."""
    inputs, setting, f, trace = given.inputs, given.setting, given.frontier, given.trace
    length, gold_length = derive(setting, f, trace.top[i]), min(i, inputs.gold_ptr[e + 1] - inputs.gold_ptr[e])
    collect_difference(atoms, inputs, e, given.anchored, setting, f, trace, length, gold_length, 1.0, delta)
    return DONE, trace.best[i], trace.gold[i] - trace.best[i]


@kernel(signature=COLLECT)
def collect_queue(advance, atoms, given, e, n, i, mean, delta, weighing, stats):
    """Eq. (2) of Daumé & Marcu: Δ = Φ of the correct prefix - the mean over the queue.

    At a fall that is the whole beam. At the end of a search states below the correct one may be left in it, and that
    one itself: they are not wrong, and with them the update need not be a violation.
    """
    inputs, anchored, setting, f, trace = given.inputs, given.anchored, given.setting, given.frontier, given.trace
    gold_length = min(i, inputs.gold_ptr[e + 1] - inputs.gold_ptr[e])
    taken, total, top = 0.0, 0.0, -np.inf
    for b in range(f.used[COUNT]):
        top = max(top, f.score[f.beam[f.used[NOW], b], PREFIX])
    for b in range(f.used[COUNT]):
        row = f.beam[f.used[NOW], b]
        if is_meant(f, row, trace.gold[n], mean):
            weight = np.exp(f.score[row, PREFIX] - top) if mean == EXPECTED else 1.0
            taken += weight
            total += weight * f.score[row, PREFIX]
    for b in range(f.used[COUNT]):
        row = f.beam[f.used[NOW], b]
        if is_meant(f, row, trace.gold[n], mean):
            weight = np.exp(f.score[row, PREFIX] - top) if mean == EXPECTED else 1.0
            length, share = derive(setting, f, row), weight / taken
            collect_difference(atoms, inputs, e, anchored, setting, f, trace, length, gold_length, share, delta)
    best = total / taken if taken > 0 else 0.0
    return DONE, best, trace.gold[i] - best


@kernel(signature=COLLECT)
def collect_lattice(advance, atoms, given, e, n, i, mean, delta, weighing, stats):
    """The same for an exact search, over the whole lattice: every node stands for the best derivation through it.

    The mean is taken over the nodes whose derivation does not score below the correct one; literally over the bad nodes
    of the entire lattice (section 4.1 of the paper). Viterbi's algorithm backwards gives the best way on from every
    node; counts of derivations then run along the best ways to and from the nodes, so that no derivation is written
    out.
    """
    inputs, anchored, setting, f, trace = given.inputs, given.anchored, given.setting, given.frontier, given.trace
    if mean == EXPECTED:
        expected = collect_expectation(atoms, inputs, e, anchored, setting, f, trace, n, delta)
        return DONE, expected, trace.gold[i] - expected
    best, rest, edge = f.score[:, PREFIX], f.score[:, INSIDE], f.heap
    way, before, after = f.link[:, PRED], f.link[:, BEGIN], f.link[:, ORIGIN]
    for r in range(f.used[ROWS]):
        rest[r], way[r], before[r], after[r] = (0.0 if f.link[r, SIZE] == FINAL else -np.inf), -1, 0, 0
    for k in range(f.used[COUNT] - 1, -1, -1):
        value = f.rank[k, GAIN] + rest[edge[k, NEXT]]
        if value > rest[edge[k, BACK]]:
            rest[edge[k, BACK]], way[edge[k, BACK]] = value, k
    count, total = 0, 0.0
    for r in range(f.used[ROWS]):
        through = best[r] + rest[r]
        if f.link[r, GOLD] != WHOLE and (through >= trace.gold[n] or (mean == LITERAL and through > -np.inf)):
            before[r] = after[r] = 1
            count += 1
            total += through
    share = 1.0 / max(count, 1)
    for node in range(f.seen.shape[0] - 1, -1, -1):
        r = f.seen[node] - 1
        if r >= 0 and before[r] > 0:
            back, action = f.link[r, BACK], f.link[r, ACTION]
            collect(atoms, inputs, e, anchored, setting, f, back, action, -share * before[r], delta)
            before[back] += before[r]
    for node in range(f.seen.shape[0]):
        r = f.seen[node] - 1
        if r >= 0 and after[r] > 0 and way[r] >= 0:
            k = way[r]
            collect(atoms, inputs, e, anchored, setting, f, r, edge[k, ACTION], -share * after[r], delta)
            after[edge[k, NEXT]] += after[r]
    for j in range(n - 1, -1, -1):
        row, passed = trace.gold_row[j], before[trace.gold_row[j + 1]]
        before[row] += passed
        correct, amount = inputs.gold[inputs.gold_ptr[e] + j], 1.0 - share * passed
        collect(atoms, inputs, e, anchored, setting, f, row, correct, amount, delta)
    return DONE, total * share, trace.gold[i] - total * share


@helper
def collect_expectation(atoms, inputs, e, anchored, setting, f, trace, n, delta):
    """Δ = Φ(x, y) - E[Φ(x, z)], z with probability proportional to exp(score): the gradient of log p(y | x), by the
    forward-backward algorithm over the lattice. Returns E[score].

    Every derivation begins at gold's first row, and is in the lattice once: edges lead from gold's rows to nodes, never
    back. They stand in an order in which a row's ways in come before its ways out.
    """
    sums, edge, rank, last = f.score[:, INSIDE], f.heap, f.rank, trace.gold_row[n]
    for r in range(f.used[ROWS]):
        sums[r] = -np.inf
    sums[trace.gold_row[0]] = 0.0
    for k in range(f.used[COUNT]):  # forward: rank[k, SCORE] is the sum of all ways to the end of edge k
        rank[k, SCORE] = sums[edge[k, BACK]] + rank[k, GAIN]
        sums[edge[k, NEXT]] = log_add(sums[edge[k, NEXT]], rank[k, SCORE])
    all_ways = sums[last]
    for r in range(f.used[ROWS]):
        if f.link[r, SIZE] == FINAL:
            all_ways = log_add(all_ways, sums[r])
        sums[r] = 0.0 if f.link[r, SIZE] == FINAL or r == last else -np.inf
    total = 0.0
    for k in range(f.used[COUNT] - 1, -1, -1):
        row, next_row = edge[k, BACK], edge[k, NEXT]
        share = np.exp(rank[k, SCORE] + sums[next_row] - all_ways)
        sums[row] = log_add(sums[row], rank[k, GAIN] + sums[next_row])
        if share >= LEAST_SHARE:
            total += share * rank[k, GAIN]
            collect(atoms, inputs, e, anchored, setting, f, row, edge[k, ACTION], -share, delta)
    for j in range(n):
        collect(
            atoms, inputs, e, anchored, setting, f, trace.gold_row[j], inputs.gold[inputs.gold_ptr[e] + j], 1.0, delta
        )
    return total


@by_reference
class How(NamedTuple):
    """What an update rule asks for besides a step (see violation.py)."""

    stop_at_fall: int
    go_on: int
    mean: int  # 0, 1, LITERAL or EXPECTED
    check: int  # 1: compare the margin of every update with w·Δ; 2: it must be a violation, too
    dry: int = 0  # 1: find Δ, and leave the weights as they are


def learn(
    search,
    score_view,
    start,
    legal,
    advance,
    atoms,
    rule,
    collect,
    measure,
    fits,
    apply,
    given,
    delta,
    alma,
    sequence,
    lo,
    hi,
    how,
    stats,
    weighing,
):
    """One batch of a pass: examples sequence[lo:hi]. Stops early, and says where, when Python has to act.

    collect: how Δ is made, one of the functions above, or that of weighted violations (mixed.py).
    """
    inputs, trace, yes = given.inputs, given.trace, np.int64(1)
    for place in range(lo, hi):
        e = sequence[place]
        gold_steps = inputs.gold_ptr[e + 1] - inputs.gold_ptr[e]
        first = np.int64(stats[FIRST]) if place == lo else np.int64(0)
        stats[FIRST] = 0
        while True:
            low = lowering(alma)
            end, n = search(
                score_view, start, legal, advance, atoms, given, e, Guide(yes, first, how.stop_at_fall, low)
            )
            i, best, margin = first, 0.0, 0.0
            if end == DONE:
                span = n - first
                chosen = rule(trace.best[first:], trace.gold[first:], trace.alive[first:], trace.right[first:], span)
                i += chosen
                clear(delta)
                if chosen < 0 or chosen > span or (how.mean and 0 < chosen < span):
                    end, stats[STEPS], stats[NEEDED] = NO_STEP, chosen, span
                elif i > first:
                    end, best, margin = collect(advance, atoms, given, e, n, i, how.mean, delta, weighing, stats)
            else:
                stats[STEPS] = n
            if end == DONE:
                end = ensure_capacity(fits, delta, given, how, stats)
            if end != DONE:
                stats[TROUBLE], stats[FIRST] = end, first
                return place
            if first == 0:
                note_fall(trace, n, gold_steps, stats)
            if i == first:
                break
            update(measure, apply, given, delta, alma, how, low, best, margin, stats)
            if weighing.own[STATE] == ASKED:
                weighing.own[STATE] = TO_ASK
            if not how.go_on or i >= gold_steps:
                break
            first = i
        end_example(alma)
        stats[TIME] += 1
        stats[EXAMPLES] += 1
        stats[TOKENS] += inputs.starts[e + 1] - inputs.starts[e]
        if n >= gold_steps and not how.go_on and trace.gold[n] > trace.best[n]:
            stats[SEARCH_ERRORS] += 1
        if is_small(alma):
            stats[TROUBLE] = FOLD
            return place + 1
    return hi


@ir_inline
def ensure_capacity(fits, delta, given, how, stats):
    """Whether Δ had room, and has room in the weights."""
    if delta.used[FULL]:
        return MORE_DELTA
    if how.dry:
        return DONE
    needed = fits(delta, given.sparse, given.anchored)
    if needed > 0:
        stats[STEPS], stats[NEEDED] = delta.used[0], needed
        return MORE_WEIGHTS
    return DONE


@ir_inline
def note_fall(trace, n, gold_steps, stats):
    """Count where the correct prefix left the beam."""
    for j in range(1, n + 1):
        if not trace.alive[j]:
            stats[FELL] += 1
            stats[FELL_AT] += j / max(n, gold_steps)
            break


@ir_inline
def update(measure, apply, given, delta, alma, how, low, best, margin, stats):
    """w = w + Δ, or the step of ALMA, unless it is only to be looked at; checked, if wanted, from the weights alone."""
    sparse, anchored = given.sparse, given.anchored
    size, dot = measure(delta, sparse, anchored) if how.check or alma[ALPHA] > 0 else (0.0, 0.0)
    if how.check:
        counted = dot - low  # independent of the search's scores
        wrong = counted > 1e-6 * (abs(low) + abs(best)) + 1e-9
        if (how.check > 1 and wrong) or abs(counted - margin) > 1e-3 * (1.0 + abs(margin)):
            stats[NOT_VIOLATIONS] += 1
    if not how.dry:
        apply(delta, sparse, anchored, step(alma, size, dot), alma[TOTAL])
        given.memory.clock[CLOCK] += 1
    stats[UPDATES] += 1
    stats[INVALID] += margin > 0
