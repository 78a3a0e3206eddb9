"""Δ = ΔΦ(x, y', z): what the features of two derivations differ by, gathered step by step (see delta.py).

A step is an action with the state in which it is taken; Φ of a derivation is the sum of φ over its steps.
"""

import numpy as np
from numba import types

from structron.kernels.jit import helper
from structron.kernels.reference import reference
from structron.search.beam.frontier import Given
from structron.search.beam.scores import unit_of, units_of
from structron.search.beam.signatures import FUNCTIONS
from structron.search.beam.states import feature_key
from structron.search.beam.steps import compute_atoms, token_of
from structron.update.delta import Delta, put
from structron.update.swvp import Weighing

(
    *(TIME, UPDATES, INVALID, EXAMPLES, TOKENS, FELL, FELL_AT, SEARCH_ERRORS, NOT_VIOLATIONS, TROUBLE, STEPS, FIRST),
    NEEDED,
    STATS,
) = range(14)
"""Places in `stats`: examples so far; this pass's counts; FELL_AT sums where gold left the beam, as a share of the
steps; NOT_VIOLATIONS: updates of a valid rule that the check refuted; TROUBLE: how a search ended
that could not go on, STEPS: where, FIRST: the step it is to go on from (LaSO), NEEDED: cells for MORE_WEIGHTS; for
ASK_JJ, a user's JJ, STEPS and NEEDED are the lengths of z and y'; for NO_STEP, what the update rule returned and the
last step it could have chosen."""
MORE_WEIGHTS, MORE_DELTA, ASK_JJ, FOLD, NO_STEP = 100, 101, 102, 103, 104
COLLECT = types.Tuple((types.int64, types.float64, types.float64))(
    *(FUNCTIONS["advance"], FUNCTIONS["atoms"], reference(Given)),
    *(types.int64,) * 4,
    *(reference(Delta), reference(Weighing), types.float64[::1]),
)
"""collect(advance, atoms, given, e, n, i, mean, delta, weighing, stats): Δ of an update at step i of n; returns how it
ended, the score of z (or the mean of several) and w·Δ."""


@helper(inline=True)
def _put_list(delta, anchored, parts, a, action, amount):
    for i in range(anchored.ptr[a], anchored.ptr[a + 1]):
        for p in range(parts.shape[1]):
            if parts[action, p] >= 0:
                put(delta, np.uint64(anchored.numbers[i]) + np.uint64(1), parts[action, p], amount)


@helper
def collect(atoms, inputs, e, anchored, setting, f, row, action, amount, delta):
    """Δ += amount·φ: the features of an action in a state."""
    base, end = inputs.starts[e], inputs.starts[e + 1]
    features, parts, view, spare = setting.features, setting.parts, setting.views[action], f.atoms.shape[0] - 1
    compute_atoms(atoms, inputs.x[base:end], inputs.table, f.states, row, setting.view_at, view, f.atoms, spare)
    for t in range(features.hashed.shape[0]):
        key = feature_key(features, t, f.atoms, spare)
        if key != 0:
            for p in range(parts.shape[1]):
                if parts[action, p] >= 0:
                    put(delta, key, parts[action, p], amount)
    token = token_of(setting.where, f.states, row, base, end)
    if token >= 0 and anchored.kinds == 0:
        _put_list(delta, anchored, parts, token, action, amount)
    elif token >= 0:
        for j in range(units_of(anchored, view)):
            _put_list(delta, anchored, parts, unit_of(anchored, token, view, j), action, amount)


@helper(inline=True)
def same_step(inputs, e, f, trace, length, gold_length, j):
    """Whether y' and the derivation z in f.path take equal actions in equal states at step j."""
    if j >= length or j >= gold_length:
        return False
    row, gold_row = f.path[0, j], trace.gold_row[j]
    if f.path[1, j] != inputs.gold[inputs.gold_ptr[e] + j]:
        return False
    return row == gold_row or f.signature[row] == f.signature[gold_row]


@helper
def collect_step(atoms, inputs, e, anchored, setting, f, trace, length, gold_length, j, amount, delta):
    """Δ += amount·(φ of y' - φ of z) at step j; either may have ended before."""
    if j < gold_length:
        gold_action = inputs.gold[inputs.gold_ptr[e] + j]
        collect(atoms, inputs, e, anchored, setting, f, trace.gold_row[j], gold_action, amount, delta)
    if j < length:
        collect(atoms, inputs, e, anchored, setting, f, f.path[0, j], f.path[1, j], -amount, delta)


@helper
def collect_difference(atoms, inputs, e, anchored, setting, f, trace, length, gold_length, amount, delta):
    """Δ += amount·(Φ(x, y') - Φ(x, z)) for the derivation z in f.path; equal actions in equal states cancel."""
    for j in range(max(length, gold_length)):
        if not same_step(inputs, e, f, trace, length, gold_length, j):
            collect_step(atoms, inputs, e, anchored, setting, f, trace, length, gold_length, j, amount, delta)
