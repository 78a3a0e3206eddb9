"""Weighted violations (Dror & Reichart 2016, Algorithm 2; see swvp.py) in an inexact search, for any problem.

    (y', z) = FINDVIOLATION(x, y, w)                 learn(…) in fixing.py: prefixes of one length, as the rule chose
    JJ = the steps at which they differ, grouped     list_wrong_steps(…), then group_wrong(…)
    d_J = w·ΔΦ(x, y', m^J) for J ∈ JJ                collect_mixed(…), then measure(…)
    γ = SETGAMMA()                                   weigh(…)
    Δ = Σ_J γ(m^J)·ΔΦ(x, y', m^J)                    collect_mixed(…) again, with γ

What m^J is depends on the problem (`SearchProblem.exchangeable`).

Where one action can be exchanged for another (labels of tokens), positions are actions: m^J is the derivation with z's
actions on J and those of y' elsewhere. It leaves the correct derivation at the first position of J; once its state is
a correct one again, nothing differs until the next. So a single position costs as many steps as a state remembers,
however long the sentence. Whether a label may follow another is not asked: features are defined all the same.

Where that cannot be (after another action the correct ones are as a rule impossible), positions are steps: actions with
the states in which they were taken. m^J has those of z on J, those of y' elsewhere; a single position is a single step:

    ΔΦ(x, y', m^J) = Σ_{t ∈ J} φ(s^y_t, a^y_t) - φ(s^z_t, a^z_t)

A step is wrong if its action or its state is, so that single positions add up to the whole update. Such an m^J need not
be a derivation. Theorem 1 asks that some vector separates y from every m^J; that it separates y from all derivations
does not say so. For exchanged actions it does (those that constraints rule out included); here it is a premise of its
own. Condition 2, w·Δ ≤ 0, is looked after for both, and `whole` is the plain update with all that is known of it.

Where the rule's own update is no violation (`standard` under a beam), `enforce` has nothing better than to take it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structron.kernels.jit import helper, kernel, plain
from structron.search.beam.frontier import DONE, MORE_ROWS, ROWS, TAIL
from structron.search.beam.search import derive
from structron.update.collect import (
    ASK_JJ,
    COLLECT,
    NEEDED,
    STEPS,
    collect,
    collect_difference,
    collect_step,
    same_step,
)
from structron.update.delta import FULL, clear, measure
from structron.update.swvp import (
    ASKED,
    BUILT_IN,
    COUNT,
    STATE,
    TO_ASK,
    WRONG,
    Family,
    Swvp,
    Weighing,
    group_wrong,
    make_mixed,
    pack_substructures,
    substructures,
    weigh,
)


def make_weighing(swvp: Swvp, steps: int, exchangeable: bool) -> Weighing:
    """For derivations of up to so many steps."""
    own = np.array([TO_ASK if callable(swvp.jj) else BUILT_IN, 0, 0], np.int64)
    return Weighing(swvp.rule, make_mixed(steps), int(exchangeable), own)


NO_WEIGHING = make_weighing(Swvp("b-wm"), 1, False)
"""For rules that weigh nothing."""


def call_family(
    weighing: Weighing, family: Family, names: Sequence[str], inputs: Any, e: int, f: Any, trace: Any, *lengths: int
) -> Weighing:
    """A user's JJ of the actions, by name, of y' and of the derivation z in f.path; lengths: of z and of y'."""
    length, gold_length = lengths
    gold = inputs.gold[inputs.gold_ptr[e] :][:gold_length]
    y, z = ([names[action] for action in actions.tolist()] for actions in (gold, f.path[1, :length]))
    wrong = weighing.jj.places[: plain(list_wrong_steps)(inputs, e, f, trace, length, gold_length, weighing)].tolist()
    lists, size = substructures(family(y, z), set(wrong), max(lengths))
    own = np.array([ASKED, len(lists), len(wrong)], np.int64)
    return weighing._replace(jj=pack_substructures(lists, size, wrong, weighing.jj), own=own)


@helper
def list_wrong_steps(inputs, e, f, trace, length, gold_length, weighing):
    """The positions at which z in f.path is wrong; returns how many there are."""
    wrong, first = 0, inputs.gold_ptr[e]
    exchange = weighing.exchangeable and length == gold_length
    for j in range(max(length, gold_length)):
        right = exchange and f.path[1, j] == inputs.gold[first + j]
        if not right and (exchange or not same_step(inputs, e, f, trace, length, gold_length, j)):
            weighing.jj.places[wrong] = j
            wrong += 1
    return wrong


@helper
def same_state(states, s, t):
    """Whether two rows agree on all that the problem writes."""
    c = TAIL + 1
    while c < states.shape[1] and states[s, c] == states[t, c]:
        c += 1
    return c == states.shape[1]


@helper
def collect_exchanged(advance, atoms, inputs, e, anchored, setting, f, trace, n, jj, k, amount, delta):
    """Δ += amount·ΔΦ(x, y', m^J), m^J: the derivation of n steps with z's actions on J, the correct ones elsewhere."""
    gold_ptr, x = inputs.gold_ptr[e], inputs.x[inputs.starts[e] : inputs.starts[e + 1]]
    p, last = jj.first[k], jj.last[k]
    while p < last:
        j = jj.places[p]
        s, spare = trace.gold_row[j], 0
        while True:
            correct = inputs.gold[gold_ptr + j]
            action = correct
            if p < last and jj.places[p] == j:
                action = f.path[1, j]
                p += 1
            collect(atoms, inputs, e, anchored, setting, f, trace.gold_row[j], correct, amount, delta)
            collect(atoms, inputs, e, anchored, setting, f, s, action, -amount, delta)
            j += 1
            if j == n:
                break
            t = f.used[ROWS] + spare  # two rows beyond those of the search, in turns
            f.states[t, TAIL] = f.states[s, TAIL]
            advance(x, inputs.table, f.states, s, action, t)
            s, spare = t, 1 - spare
            if same_state(f.states, s, trace.gold_row[j]):
                break


@helper
def collect_mixed(
    advance, atoms, inputs, e, anchored, setting, f, trace, length, gold_length, weighing, wrong, k, amount, delta
):
    """Δ += amount·ΔΦ(x, y', m^J) for J number k of those over `wrong` positions."""
    jj = weighing.jj
    if amount == 0.0:
        return
    if jj.last[k] - jj.first[k] == wrong:  # m^J = z
        collect_difference(atoms, inputs, e, anchored, setting, f, trace, length, gold_length, amount, delta)
    elif weighing.exchangeable and length == gold_length:
        collect_exchanged(advance, atoms, inputs, e, anchored, setting, f, trace, length, jj, k, amount, delta)
    else:
        for p in range(jj.first[k], jj.last[k]):
            j = jj.places[p]
            collect_step(atoms, inputs, e, anchored, setting, f, trace, length, gold_length, j, amount, delta)


@kernel(signature=COLLECT)
def collect_weighted(advance, atoms, given, e, n, i, mean, delta, weighing, stats):
    """Δ = Σ γ(m^J)·ΔΦ(x, y', m^J) for the best derivation z at step i; delta says whether there was room."""
    inputs, anchored, setting, f, trace = given.inputs, given.anchored, given.setting, given.frontier, given.trace
    rule, jj, best = weighing.rule, weighing.jj, trace.best[i]
    length, gold_length = derive(setting, f, trace.top[i]), min(i, inputs.gold_ptr[e + 1] - inputs.gold_ptr[e])
    if weighing.own[STATE] == TO_ASK:
        stats[STEPS], stats[NEEDED] = length, gold_length
        return ASK_JJ, best, 0.0
    if f.used[ROWS] + 2 > f.states.shape[0]:
        return MORE_ROWS, best, 0.0
    wrong, count = weighing.own[WRONG], weighing.own[COUNT]
    if weighing.own[STATE] == BUILT_IN:
        wrong = list_wrong_steps(inputs, e, f, trace, length, gold_length, weighing)
        count = group_wrong(rule.family, wrong, max(length, gold_length), jj)
    for k in range(count + 1):
        clear(delta)
        collect_mixed(
            advance, atoms, inputs, e, anchored, setting, f, trace, length, gold_length, weighing, wrong, k, 1.0, delta
        )
        if delta.used[FULL]:
            return DONE, best, 0.0
        jj.delta[k] = measure(delta, given.sparse, anchored)[1]
    dot = weigh(jj, count, rule)
    clear(delta)
    for k in range(count + 1):
        g = jj.gamma[k]
        collect_mixed(
            advance, atoms, inputs, e, anchored, setting, f, trace, length, gold_length, weighing, wrong, k, g, delta
        )
    return DONE, best, dot
