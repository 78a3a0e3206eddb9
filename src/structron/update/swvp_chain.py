"""Weighted violations (Dror & Reichart 2016, Algorithm 2; see swvp.py) for chains with exact search.

    z = argmax_u w·Φ(x, u)                            predict_example(…)
    JJ, and m^J for J ∈ JJ                            define_jj(…), mix(…)
    d_J = w·ΔΦ(x, y, m^J)                             mixed_delta(…)
    γ = SETGAMMA()                                    weigh(…)
    w = w + Σ_J γ(m^J)·ΔΦ(x, y, m^J)                  add_mixed(…)

Only the factors around J tell m^J from y: d of a single position costs O(1) factors, that of a list O(its length).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structron.kernels.jit import WithFunctionPointers, entry, helper, plain
from structron.search.chain.scores import load_all, score_token
from structron.search.chain.viterbi import SEARCH, search_for
from structron.update.perceptron import (
    INVALID,
    TIME,
    TOKENS,
    UPDATES,
    WRONG_TOKENS,
    add_factor,
    count_wrong,
    has_capacity,
    load_changed,
)
from structron.update.swvp import (
    Family,
    Mixed,
    SwvpRule,
    define_jj,
    is_invalid,
    pack_substructures,
    substructures,
    weigh,
)

NO_CAPACITY = -1


@helper
def mix(jj, k, labels_on_j):
    """m = these labels on J: z to make m^J of y, y to go back."""
    for p in range(jj.first[k], jj.last[k]):
        jj.m[jj.places[p]] = labels_on_j[jj.places[p]]


@helper
def factors_around(jj, k, order, n):
    """List the tokens whose factors see a label of J, each position and the `order` next; returns how many."""
    count, done = 0, 0
    for p in range(jj.first[k], jj.last[k]):
        end = min(jj.places[p] + order + 1, n)
        for i in range(max(jj.places[p], done), end):
            jj.around[count] = i
            count += 1
        done = end
    return count


@helper
def mixed_delta(chains, weights, order, start, n, y, z, jj, k, labels):
    """d_J = w·Φ(x, y) - w·Φ(x, m^J); jj.m holds y before and after."""
    mix(jj, k, z)
    total = 0.0
    for a in range(factors_around(jj, k, order, n)):
        i = jj.around[a]
        total += score_token(chains, weights, order, start + i, i, y, labels)
        total -= score_token(chains, weights, order, start + i, i, jj.m, labels)
    mix(jj, k, y)
    return total


@helper
def add_mixed(chains, weights, order, start, n, y, z, jj, k, time, labels, work):
    """w += γ(m^J)·ΔΦ(x, y, m^J); jj.m holds y before and after."""
    mix(jj, k, z)
    for a in range(factors_around(jj, k, order, n)):
        i = jj.around[a]
        add_factor(chains, weights, order, start + i, i, y, jj.m, jj.gamma[k], time, labels, work)
    mix(jj, k, y)


@helper
def predict_example(search, chains, gold, weights, s, labels, work, stats):
    """Line 4 for sentence s: z in work.z; returns how many of its labels are wrong, or that rows may run out."""
    start, stop = chains.starts[s], chains.starts[s + 1]
    if not has_capacity(chains, weights, start, stop):
        return NO_CAPACITY
    search(chains, weights, s, labels, work, 0.0)
    wrong = count_wrong(gold, start, stop - start, work.z)
    stats[TIME] += 1
    stats[TOKENS] += stop - start
    stats[UPDATES] += wrong > 0
    stats[WRONG_TOKENS] += wrong
    return wrong


@helper
def correct_mixed(chains, gold, weights, order, s, jj, count, rule, labels, work, stats):
    """Lines 7 to 11 for sentence s and the sub-structures in jj: γ from the weights as they are, then the update."""
    start, stop = chains.starts[s], chains.starts[s + 1]
    n, time = stop - start, stats[TIME]
    y, z = gold[start:stop], work.z[: stop - start]
    for i in range(n):
        jj.m[i] = y[i]
    for k in range(count + 1):
        jj.delta[k] = mixed_delta(chains, weights, order, start, n, y, z, jj, k, labels)
    stats[INVALID] += is_invalid(jj, count, weigh(jj, count, rule))
    for k in range(count + 1):
        if jj.gamma[k] > 0:
            add_mixed(chains, weights, order, start, n, y, z, jj, k, time, labels, work)
    load_changed(weights, order, labels, work)


def learn_swvp(search, chains, gold, weights, order, sequence, lo, hi, labels, work, stats, rule, jj):
    """One batch of a pass over sentences, as `perceptron.learn`: a document is one sentence after the other."""
    for k in range(lo, hi):
        s = sequence[k]
        wrong = predict_example(search, chains, gold, weights, s, labels, work, stats)
        if wrong == NO_CAPACITY:
            return k
        if wrong > 0:
            start, stop = chains.starts[s], chains.starts[s + 1]
            count = define_jj(rule.family, gold[start:stop], work.z, stop - start, jj)
            correct_mixed(chains, gold, weights, order, s, jj, count, rule, labels, work, stats)
    return hi


LEARN = WithFunctionPointers(learn_swvp, SEARCH)
PREDICT = WithFunctionPointers(plain(predict_example), SEARCH)


def learn_with_function(
    chains: Any,
    gold: np.ndarray,
    weights: Any,
    order: int,
    sequence: np.ndarray,
    lo: int,
    hi: int,
    labels: Sequence[str],
    work: Any,
    stats: np.ndarray,
    rule: SwvpRule,
    jj: Mixed,
    family: Family,
) -> int:
    """The same with a user's JJ, which is asked for every sentence with a mistake; labels: their names."""
    names = np.array(labels, object)
    search, correct = search_for(chains, order, work), entry(correct_mixed)
    load_all(weights, order, len(labels), work)
    for k in range(lo, hi):
        s = int(sequence[k])
        wrong = PREDICT(search, chains, gold, weights, s, len(labels), work, stats)
        if wrong == NO_CAPACITY:
            return k
        if wrong > 0:
            start, stop = int(chains.starts[s]), int(chains.starts[s + 1])
            y, z = gold[start:stop], work.z[: stop - start]
            given = family(names[y].tolist(), names[z].tolist())
            places = np.flatnonzero(y != z).tolist()
            lists, size = substructures(given, set(places), stop - start)
            own = pack_substructures(lists, size, places, jj)
            correct(chains, gold, weights, order, s, own, len(lists), rule, len(labels), work, stats)
    return hi
