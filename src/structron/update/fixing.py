"""The violation-fixing perceptron (Huang, Fayong & Guo 2012, Algorithm 2), compiled for any problem and any rule.

    for each example (x, y):
        (y', z) = FINDVIOLATION(x, y, w)        search(…), then rule(trace)
        if z ≠ y':  w = w + ΔΦ(x, y', z)        collect_…(…), then step(…) and apply(…)

LaSO (Daumé & Marcu 2005, Figure 2) is the rule that takes for z the mean of the queue, eq. (2), and goes on after an
update with the correct prefix, so that an example can have several. ALMA is another step: update/alma.py. Weighted
violations (Dror & Reichart 2016) learn from mixtures of y' and z in place of z: update/mixed.py.
"""

import numpy as np

from structron.kernels.jit import compiled
from structron.search.beam.frontier import COUNT, DONE, MORE_ROWS, NOW, ROWS, WHOLE
from structron.search.beam.lattice import FINAL
from structron.search.beam.scores import CLOCK
from structron.search.beam.search import derive, search
from structron.update.alma import TOTAL, end_example, lowering, step
from structron.update.collect import collect, collect_difference
from structron.update.delta import FULL, apply, clear, fits, measure
from structron.update.mixed import ASKED, STATE, TO_ASK, collect_weighted

(
    *(TIME, UPDATES, INVALID, EXAMPLES, TOKENS, FELL, FELL_AT, SEARCH_ERRORS, NOT_VIOLATIONS, TROUBLE, STEPS, FIRST),
    NEEDED,
    STATS,
) = range(14)
"""Places in `stats`: examples so far; this pass's counts; FELL_AT sums where gold left the beam, as a share of the
steps; NOT_VIOLATIONS: updates of a valid rule that the check refuted; TROUBLE: how a search ended
that could not go on, STEPS: where, FIRST: the step it is to go on from (LaSO), NEEDED: cells for MORE_WEIGHTS; for
ASK_JJ, a user's JJ, STEPS and NEEDED are the lengths of z and y'."""
MORE_WEIGHTS, MORE_DELTA, ASK_JJ = 100, 101, 102


@compiled
def collect_queue(atoms, inputs, e, anchored, setting, f, trace, n, gold_length, delta):
    """Eq. (2) of Daumé & Marcu: Δ = Φ of the correct prefix - the mean over the queue; returns their mean score.

    At a fall that is the whole beam. At the end of a search states below the correct one may be left in it, and that
    one itself: they are not wrong, and with them the update need not be a violation.
    """
    wrong, total = 0, 0.0
    for b in range(f.used[COUNT]):
        row = f.beam[f.used[NOW], b]
        if f.gold[row] != WHOLE and f.prefix[row] >= trace.gold[n]:
            wrong += 1
            total += f.prefix[row]
    for b in range(f.used[COUNT]):
        row = f.beam[f.used[NOW], b]
        if f.gold[row] != WHOLE and f.prefix[row] >= trace.gold[n]:
            length = derive(setting, f, row)
            collect_difference(atoms, inputs, e, anchored, setting, f, trace, length, gold_length, 1.0 / wrong, delta)
    return total / max(wrong, 1)


@compiled
def collect_lattice(atoms, inputs, e, anchored, setting, f, trace, n, delta):
    """The same for an exact search, over the whole lattice: every node stands for the best derivation through it.

    The mean is taken over the nodes whose derivation does not score below the correct one. Viterbi's algorithm
    backwards gives the best way on from every node; counts of derivations then run along the best ways to and from
    the nodes, so that no derivation is written out. Returns the mean of the scores.
    """
    rest, way, before, after, edge = f.inside, f.pred, f.begin, f.origin, f.heap
    for r in range(f.used[ROWS]):
        rest[r], way[r], before[r], after[r] = (0.0 if f.list_size[r] == FINAL else -np.inf), -1, 0, 0
    for k in range(f.used[COUNT] - 1, -1, -1):
        value = f.heap_gain[k] + rest[edge[k, 2]]
        if value > rest[edge[k, 0]]:
            rest[edge[k, 0]], way[edge[k, 0]] = value, k
    count, total = 0, 0.0
    for r in range(f.used[ROWS]):
        if f.gold[r] != WHOLE and f.prefix[r] + rest[r] >= trace.gold[n]:
            before[r] = after[r] = 1
            count += 1
            total += f.prefix[r] + rest[r]
    share = 1.0 / max(count, 1)
    for node in range(f.seen.shape[0] - 1, -1, -1):
        r = f.seen[node] - 1
        if r >= 0 and before[r] > 0:
            collect(atoms, inputs, e, anchored, setting, f, f.back[r], f.action[r], -share * before[r], delta)
            before[f.back[r]] += before[r]
    for node in range(f.seen.shape[0]):
        r = f.seen[node] - 1
        if r >= 0 and after[r] > 0 and way[r] >= 0:
            k = way[r]
            collect(atoms, inputs, e, anchored, setting, f, r, edge[k, 1], -share * after[r], delta)
            after[edge[k, 2]] += after[r]
    for j in range(n - 1, -1, -1):
        row, passed = trace.gold_row[j], before[trace.gold_row[j + 1]]
        before[row] += passed
        collect(
            atoms,
            inputs,
            e,
            anchored,
            setting,
            f,
            row,
            inputs.gold[inputs.gold_ptr[e] + j],
            1.0 - share * passed,
            delta,
        )
    return total * share


def learn(
    start,
    legal,
    advance,
    atoms,
    rule,
    inputs,
    anchored,
    sparse,
    setting,
    memory,
    f,
    trace,
    delta,
    alma,
    sequence,
    lo,
    hi,
    stop_at_fall,
    go_on,
    mean,
    check,
    stats,
    weighing,
):
    """One stretch of a pass: examples sequence[lo:hi]. Stops early, and says where, when Python has to act.

    weighing: None, or what weighted violations need. Numba leaves out what None does not reach, so that it is compiled
    by those alone who use it.
    """
    yes = np.int64(1)
    for place in range(lo, hi):
        e = sequence[place]
        gold_steps = inputs.gold_ptr[e + 1] - inputs.gold_ptr[e]
        first = np.int64(stats[FIRST]) if place == lo else np.int64(0)
        stats[FIRST] = 0
        while True:
            low = lowering(alma)
            end, n = search(
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
                yes,
                first,
                stop_at_fall,
                low,
            )
            if end != DONE:
                stats[TROUBLE], stats[STEPS], stats[FIRST] = end, n, first
                return place
            span = n - first
            chosen = rule(trace.best[first:], trace.gold[first:], trace.alive[first:], trace.right[first:], span)
            i = first + chosen
            gold_length, best = min(i, gold_steps), trace.best[i]
            margin = trace.gold[i] - best
            clear(delta)
            if chosen > 0 and mean and setting.lattice >= 0:
                best = collect_lattice(atoms, inputs, e, anchored, setting, f, trace, n, delta)
                margin = trace.gold[i] - best
            elif chosen > 0 and mean:
                best = collect_queue(atoms, inputs, e, anchored, setting, f, trace, n, gold_length, delta)
                margin = trace.gold[i] - best
            elif chosen > 0:
                length = derive(setting, f, trace.top[i])
                if weighing is None:
                    collect_difference(atoms, inputs, e, anchored, setting, f, trace, length, gold_length, 1.0, delta)
                elif weighing.own[STATE] == TO_ASK:
                    stats[TROUBLE], stats[STEPS], stats[NEEDED], stats[FIRST] = ASK_JJ, length, gold_length, first
                    return place
                elif f.used[ROWS] + 2 > f.states.shape[0]:
                    stats[TROUBLE], stats[FIRST] = MORE_ROWS, first
                    return place
                else:
                    margin = collect_weighted(
                        advance,
                        atoms,
                        inputs,
                        e,
                        anchored,
                        sparse,
                        setting,
                        f,
                        trace,
                        length,
                        gold_length,
                        weighing,
                        delta,
                    )
            if delta.used[FULL]:
                stats[TROUBLE], stats[FIRST] = MORE_DELTA, first
                return place
            needed = fits(delta, sparse, anchored)
            if needed > 0:
                stats[TROUBLE], stats[STEPS], stats[NEEDED], stats[FIRST] = MORE_WEIGHTS, delta.used[0], needed, first
                return place
            for j in range(1, n + 1):
                if first == 0 and not trace.alive[j]:
                    stats[FELL] += 1
                    stats[FELL_AT] += j / max(n, gold_steps)
                    break
            if chosen == 0:
                break
            size, dot = measure(delta, sparse, anchored) if check or alma[0] > 0 else (0.0, 0.0)
            if check:
                counted = dot - low  # from the weights alone: an independent check of the search's scores
                wrong = counted > 1e-6 * (abs(low) + abs(best)) + 1e-9
                if (check > 1 and wrong) or abs(counted - margin) > 1e-3 * (1.0 + abs(margin)):
                    stats[NOT_VIOLATIONS] += 1
            factor = step(alma, size, dot)
            apply(delta, sparse, anchored, factor, alma[TOTAL])
            memory.clock[CLOCK] += 1
            stats[UPDATES] += 1
            stats[INVALID] += margin > 0
            if weighing is not None and weighing.own[STATE] == ASKED:
                weighing.own[STATE] = TO_ASK
            if not go_on or i >= gold_steps:
                break
            first = i
        end_example(alma)
        stats[TIME] += 1
        stats[EXAMPLES] += 1
        stats[TOKENS] += inputs.starts[e + 1] - inputs.starts[e]
        if n >= gold_steps and not go_on and trace.gold[n] > trace.best[n]:
            stats[SEARCH_ERRORS] += 1
    return hi
