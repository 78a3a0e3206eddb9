"""ALMA, the approximate large margin update of Daumé & Marcu (2005), section 3.4 (after Gentile 2001), with p = 2.

    w ← ℘(w + C·k^(-1/2)·℘(Δ))          ℘(u) = u / max(1, ‖u‖),   k = 1, 2, … counts the updates

and every y-good node's score is lowered by (1 - α)·B·k^(-1/2) while learning, so that it survives only with a margin.

Weights are kept as w = scale·v. The outer ℘ only changes the scale, so an update costs what Δ costs; ‖v‖² is carried
along: ‖v + f·Δ‖² = ‖v‖² + 2f·v·Δ + f²·‖Δ‖². Searches compare, so they work on v, with the lowering divided by the
scale. The mean of w after every example stays exact: let S be the sum of the scales after the examples so far. A
change δ of v during an example counts with the scale of that example and of all later ones, δ·(S_T - S_before), so with
u = Σ δ·S_before the mean is (v·S_T - u) / T. The plain perceptron is the case scale = 1, S = number of examples.

Trees of the graph-based parser have no y-good nodes: there every wrong word costs as much (update/trees.py).

The margin perceptron (Kazama & Torisawa 2007, eq. (2)) lowers y-good nodes too, by a constant C, and takes the plain
perceptron's step: what the search then finds above y is a violation w·Δ ≤ C.
"""

import math

import numpy as np

from structron.kernels.jit import helper

ALPHA, B, C, SCALE, NORM, GENERATION, TOTAL, LONGEST, MARGIN, SIZE = range(10)
"""Places in the state: α (0: a perceptron), B, C; scale, ‖v‖², k; S, the sum of the scales; largest ‖Δ‖²; the
perceptron's margin."""
SMALL = 1e-2
"""Scales below it are taken into the weights."""


def make_alma(alma: float | tuple[float, float, float] | None, margin: float | None = None) -> np.ndarray:
    """The state before the first update. alma: α, or (α, B, C), by default (α, 1/α, √2); None: a perceptron.

    margin: C of the margin perceptron.
    """
    state = np.zeros(SIZE)
    state[SCALE] = state[GENERATION] = 1.0
    state[MARGIN] = margin or 0.0
    if alma is not None:
        state[: C + 1] = alma if isinstance(alma, tuple) else (alma, 1 / alma, math.sqrt(2))
    return state


@helper
def lowering(alma):
    """By how much y-good nodes are lowered, in the units of v."""
    if alma[ALPHA] == 0:
        return alma[MARGIN]
    return (1 - alma[ALPHA]) * alma[B] / math.sqrt(alma[GENERATION]) / alma[SCALE]


@helper
def step(alma, length, dot):
    """The factor f of v ← v + f·Δ, given ‖Δ‖² and v·Δ; the state moves on to the next generation."""
    if alma[ALPHA] == 0:
        return 1.0
    rate = alma[C] / math.sqrt(alma[GENERATION])
    factor = rate / max(1.0, math.sqrt(length)) / alma[SCALE]
    alma[NORM] = max(0.0, alma[NORM] + 2 * factor * dot + factor * factor * length)
    size = alma[SCALE] * math.sqrt(alma[NORM])
    if size > 1:
        alma[SCALE] /= size
    alma[GENERATION] += 1
    alma[LONGEST] = max(alma[LONGEST], length)
    return factor


@helper
def end_example(alma):
    """Count the weights after an example for the mean."""
    alma[TOTAL] += alma[SCALE]


@helper
def is_small(alma):
    """Whether the scale should be taken into the weights."""
    return alma[ALPHA] > 0 and alma[SCALE] < SMALL


def fold(alma: np.ndarray) -> tuple[float, float]:
    """Begin anew with scale 1; returns what weights and sums are to take in: scale and S.

    v ← scale·v and u ← u - S·v leave w and the mean as they are. Where the scale becomes small, v·S and u are large and
    nearly equal, and single precision has no digits left for their difference.
    """
    scale, total = float(alma[SCALE]), float(alma[TOTAL])
    alma[NORM] *= scale * scale
    alma[SCALE], alma[TOTAL] = 1.0, 0.0
    return scale, total
