"""The violation-fixing perceptron (Huang, Fayong & Guo 2012, Algorithm 2), compiled for any problem and any rule.

    for each example (x, y):
        (y', z) = FINDVIOLATION(x, y, w)        search(…), then rule(trace)
        if z ≠ y':  w = w + ΔΦ(x, y', z)        add_difference(…)

LaSO goes on after an update with the correct prefix, so that an example can have several.
"""

import numpy as np

from structron.features.compose import feature_key
from structron.kernels import compiled, inlined
from structron.search.beam import derive, search
from structron.search.frontier import DONE
from structron.search.scores import CLOCK
from structron.search.steps import token_of
from structron.sparse import CELLS, DENSE_ROWS, KEYS, add, claim, dense_at, find, home, weight_of

(TIME, UPDATES, INVALID, EXAMPLES, TOKENS, FELL, FELL_AT, SEARCH_ERRORS, NOT_VIOLATIONS, TROUBLE, STEPS, FIRST) = range(
    12
)
"""Places in `stats`: examples so far; this pass's counts; FELL_AT sums where gold left the beam, as a share of the
steps; NOT_VIOLATIONS: updates of a valid rule that the check refuted; TROUBLE: how a search ended
that could not go on, STEPS: where, FIRST: the step it is to go on from (LaSO)."""
MORE_WEIGHTS = 100
SMALL = 1 << 25
STATS = 12


@inlined
def _enough(sparse, setting, features):
    """Whether so many features can get new cells, each in a row that doubles or becomes dense."""
    parts = setting.parts.shape[1]
    return (
        sparse.used[KEYS] + features < sparse.table.shape[0] // 2
        and sparse.used[CELLS] + 4 * features * parts * dense_at(sparse.dense.shape[1]) < sparse.column.shape[0]
        and sparse.used[DENSE_ROWS] + features < sparse.dense.shape[0]
    )


@inlined
def _add(sparse, table, k, parts, action, amount, time):
    for j in range(parts.shape[1]):
        if parts[action, j] >= 0:
            add(sparse, table, k, parts[action, j], amount, amount * (time - 1))


@compiled
def _add_features(atoms, inputs, e, anchored, sparse, setting, f, row, action, amount, time, adding):
    """Add `amount` to the features of an action in a state; with adding = False only make room for them.

    Returns False when there may be no room for them, which cannot be when they have been made before.
    """
    base, end = inputs.starts[e], inputs.starts[e + 1]
    features = setting.features
    atoms(inputs.x[base:end], inputs.table, f.states, row, f.atoms[0, : f.atoms.shape[1] - 1])
    for t in range(features.hashed.shape[0]):
        if not adding and not _enough(sparse, setting, 1):
            return False
        key = feature_key(features, t, f.atoms, 0)
        if key != 0:
            _add(sparse, sparse.table, claim(sparse, key), setting.parts, action, amount if adding else 0.0, time)
    token = token_of(setting.where, f.states, row, base, end)
    if token >= 0:
        for i in range(anchored.ptr[token], anchored.ptr[token + 1]):
            if not adding and not _enough(sparse, setting, 1):
                return False
            _add(sparse, anchored.table, anchored.numbers[i], setting.parts, action, amount if adding else 0.0, time)
    return True


@compiled
def add_difference(atoms, inputs, e, anchored, sparse, setting, f, trace, length, gold_length, time, adding):
    """w += Φ(x, y') - Φ(x, z) for the derivation z in f.path; steps that do the same in equal states cancel."""
    gold_ptr = inputs.gold_ptr[e]
    for j in range(max(length, gold_length)):
        row, action = f.path[0, j], f.path[1, j]
        gold_row, gold_action = (trace.gold_row[j], inputs.gold[gold_ptr + j] if j < gold_length else -1)
        if j < length and j < gold_length and action == gold_action and f.signature[row] == f.signature[gold_row]:
            continue
        if j < gold_length:
            ok = _add_features(atoms, inputs, e, anchored, sparse, setting, f, gold_row, gold_action, 1.0, time, adding)
            if not ok:
                return False
        if j < length:
            ok = _add_features(atoms, inputs, e, anchored, sparse, setting, f, row, action, -1.0, time, adding)
            if not ok:
                return False
    return True


@compiled
def score_difference(atoms, inputs, e, anchored, sparse, setting, f, trace, length, gold_length):
    """w·ΔΦ of the derivation in f.path, from the weights alone: an independent check of the search's scores."""
    total = 0.0
    base, end = inputs.starts[e], inputs.starts[e + 1]
    features, parts = setting.features, setting.parts
    for side in range(2):
        for j in range(gold_length if side == 0 else length):
            row = trace.gold_row[j] if side == 0 else f.path[0, j]
            action = inputs.gold[inputs.gold_ptr[e] + j] if side == 0 else f.path[1, j]
            atoms(inputs.x[base:end], inputs.table, f.states, row, f.atoms[0, : f.atoms.shape[1] - 1])
            token = token_of(setting.where, f.states, row, base, end)
            count = anchored.ptr[token + 1] - anchored.ptr[token] if token >= 0 else 0
            for t in range(features.hashed.shape[0] + count):
                table, k = sparse.table, np.int64(-1)
                if t < features.hashed.shape[0]:
                    key = feature_key(features, t, f.atoms, 0)
                    if key != 0:
                        k = _look_up(sparse, key)
                else:
                    table = anchored.table
                    k = np.int64(anchored.numbers[anchored.ptr[token] + t - (features.hashed.shape[0])])
                if k >= 0:
                    for p in range(parts.shape[1]):
                        weight = weight_of(sparse, table[k, 1], parts[action, p]) if parts[action, p] >= 0 else 0.0
                        total += weight if side == 0 else -weight
    return total


@compiled
def _look_up(sparse, key):
    return find(sparse.table, key, home(sparse.table, key))


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
    sequence,
    lo,
    hi,
    stop_at_fall,
    go_on,
    check,
    stats,
):
    """One stretch of a pass: examples sequence[lo:hi]. Stops early, and says where, when Python has to act."""
    for place in range(lo, hi):
        e = sequence[place]
        gold_steps = inputs.gold_ptr[e + 1] - inputs.gold_ptr[e]
        first = np.int64(stats[FIRST]) if place == lo else 0
        stats[FIRST] = 0
        time = stats[TIME] + 1
        while True:
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
                True,
                first,
                stop_at_fall,
            )
            if end != DONE:
                stats[TROUBLE], stats[STEPS], stats[FIRST] = end, n, first
                return place
            span = n - first
            chosen = rule(trace.best[first:], trace.gold[first:], trace.alive[first:], trace.right[first:], span)
            i = first + chosen
            length = derive(setting, f, trace.top[i]) if chosen > 0 else 0
            gold_length = min(i, gold_steps)
            margin = trace.gold[i] - trace.best[i]
            width = setting.features.hashed.shape[0]
            if anchored.numbers.shape[0] > 0:
                width += (anchored.ptr[inputs.starts[e + 1]] - anchored.ptr[inputs.starts[e]]) // max(1, gold_steps) + 1
            features = 2 * (length + gold_length) * width
            if chosen > 0 and not _enough(sparse, setting, features):
                # room for the worst case if that is cheap, else for what is really needed, by trying
                small = sparse.column.shape[0] < SMALL
                made = not small and add_difference(
                    atoms, inputs, e, anchored, sparse, setting, f, trace, length, gold_length, time, False
                )
                if not made:
                    stats[TROUBLE], stats[STEPS], stats[FIRST] = (MORE_WEIGHTS, features if small else 1, first)
                    return place
            for j in range(1, n + 1):
                if first == 0 and not trace.alive[j]:
                    stats[FELL] += 1
                    stats[FELL_AT] += j / max(n, gold_steps)
                    break
            if chosen == 0:
                break
            if check:
                counted = score_difference(atoms, inputs, e, anchored, sparse, setting, f, trace, length, gold_length)
                if (check > 1 and counted > 0) or abs(counted - margin) > 1e-3 * (1.0 + abs(margin)):
                    stats[NOT_VIOLATIONS] += 1
            add_difference(atoms, inputs, e, anchored, sparse, setting, f, trace, length, gold_length, time, True)
            memory.clock[CLOCK] += 1
            stats[UPDATES] += 1
            stats[INVALID] += margin > 0
            if not go_on or i >= gold_steps:
                break
            first = i
        stats[TIME] += 1
        stats[EXAMPLES] += 1
        stats[TOKENS] += inputs.starts[e + 1] - inputs.starts[e]
        if n >= gold_steps and not go_on and trace.gold[n] > trace.best[n]:
            stats[SEARCH_ERRORS] += 1
    return hi
