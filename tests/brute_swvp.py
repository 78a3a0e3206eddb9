"""Weighted violations (Dror & Reichart 2016) straight from their definitions: JJ, γ, and condition 2."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from structron.update.swvp import FAMILIES, VARIANTS, Swvp

BETAS = [0.5, 1.0, 2.0, 5.0]


def alternate(y: list, z: list) -> list[list[int]]:
    """A user's JJ: the even positions, the odd ones, and the first two, wrong or not."""
    return [list(range(0, len(y), 2)), range(1, len(y), 2), {0, min(1, len(y) - 1)}]


def single_positions(y: list, z: list) -> list[list[int]]:
    """The family `errors` as a user may write it."""
    return [[j] for j in range(max(len(y), len(z)))]


variants = st.builds(
    Swvp, st.sampled_from(VARIANTS), st.sampled_from(BETAS), st.sampled_from([*FAMILIES, alternate]), st.booleans()
)


def naive_jj(family, y, z) -> list[tuple[int, ...]]:
    """JJ_x in full: of every J the wrong positions, on which alone m^J depends; () where m^J = y."""
    n, wrong = len(y), [j for j in range(len(y)) if y[j] != z[j]]
    if callable(family):
        sets = [set(J) for J in family(list(y), list(z))]
    elif family == "errors":
        sets = [{j} for j in range(n)]  # the paper's: {1}, {2}, … {L}
    elif family == "spans":
        runs = [range(a, b) for a in range(n) for b in range(a + 1, n + 1) if set(range(a, b)) <= set(wrong)]
        sets = [set(r) for r in runs if r.start - 1 not in wrong and r.stop not in wrong]
    elif family == "prefixes":
        sets = [set(wrong[:k]) for k in range(1, len(wrong) + 1)]
    else:
        sets = [set(range(n))]
    distinct = [J for k, J in enumerate(sets) if J not in sets[:k]]
    return [tuple(j for j in wrong if j in J) for J in distinct]


def mixed_jj(family, y, z) -> list[tuple[int, ...]]:
    """I = {J ∈ JJ_x : m^J ≠ y}."""
    return [places for places in naive_jj(family, y, z) if places]


def naive_gamma(
    jj: Sequence[tuple[int, ...]], deltas: Sequence[float], variant: str, beta: float
) -> list[float] | None:
    """γ of every J ∈ JJ_x from w·ΔΦ(x, y, m^J) of all of them: section 5 of the paper with its footnote 5.

    For the aggressive variants I^v takes the place of JJ_x. Only J with m^J ≠ y are updated with (line 11 of Algorithm
    2): γ is 0 for the others, and normalised over these. None where there are none.
    """
    mixed = [k for k, places in enumerate(jj) if places]
    if variant.startswith("a"):
        every = mixed = [k for k in mixed if deltas[k] <= 0]
    else:
        every = list(range(len(jj)))
    if not mixed:
        return None
    sizes = {k: abs(deltas[k]) for k in every}
    if variant.endswith("wmr"):
        ranks = {k: sum(size > sizes[k] for size in sizes.values()) for k in every}
        raw = {k: ((len(every) - ranks[k]) / len(every)) ** beta for k in mixed}
    elif any(sizes.values()):
        largest = max(sizes.values())  # γ does not depend on the scale, but tiny numbers have no powers
        raw = {k: (sizes[k] / largest) ** beta for k in mixed}
    else:
        raw = dict.fromkeys(mixed, 1.0)
    return [raw.get(k, 0.0) / sum(raw.values()) for k in range(len(jj))]


def shares(
    jj: Sequence[tuple[int, ...]], deltas: Sequence[float], whole: float, swvp: Swvp, least: float = 0.0
) -> list[float]:
    """γ of every J and, last, the share of the whole output: where no J qualifies, and where condition 2 asks for it.

    least: sums up to it are taken for 0.
    """
    gamma = naive_gamma(jj, deltas, swvp.variant, swvp.beta)
    if gamma is None:
        return [0.0] * len(deltas) + [1.0]
    total, share = float(np.dot(gamma, deltas)), 0.0
    if swvp.enforce and total > least:
        share = total / (total - whole) if whole < 0 else 1.0
    return [*((1 - share) * g for g in gamma), share]


def naive_step(jj: Sequence[tuple[int, ...]], changes: Sequence[dict], weights: dict, swvp: Swvp) -> dict:
    """Δ of Algorithm 2 (lines 6 to 11) from ΔΦ of the mixed assignment of every J and, last, of the whole output."""
    found = [sum(weights.get(name, 0.0) * value for name, value in change.items()) for change in changes]
    step: dict = {}
    for share, change in zip(shares(jj, found[:-1], found[-1], swvp), changes, strict=True):
        for name, value in change.items():
            step[name] = step.get(name, 0.0) + share * value
    return step
