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
    """The wrong positions of every J, straight from the definition of a family."""
    wrong = [j for j in range(len(y)) if y[j] != z[j]]
    if callable(family):
        lists = [sorted(set(J) & set(wrong)) for J in family(list(y), list(z))]
    elif family == "errors":
        lists = [[j] for j in range(len(y))]
    elif family == "spans":
        runs = [range(a, b) for a in range(len(y)) for b in range(a + 1, len(y) + 1) if set(range(a, b)) <= set(wrong)]
        lists = [r for r in runs if r.start - 1 not in wrong and r.stop not in wrong]
    elif family == "prefixes":
        lists = [range(j) for j in range(len(y) + 1)]
    else:
        lists = [range(len(y))]
    return list(dict.fromkeys(found for J in lists if (found := tuple(j for j in J if j in wrong))))


def naive_gamma(deltas: list[float], variant: str, beta: float) -> list[float] | None:
    """The paper's formulas, normalised; None where no J qualifies."""
    if variant.startswith("a"):
        chosen = [k for k, d in enumerate(deltas) if d <= 0]
    else:
        chosen = list(range(len(deltas)))
    if not chosen:
        return None
    sizes = {k: abs(deltas[k]) for k in chosen}
    if variant.endswith("wmr"):
        ranks = {k: sum(size > sizes[k] for size in sizes.values()) for k in chosen}
        raw = {k: ((len(chosen) - ranks[k]) / len(chosen)) ** beta for k in chosen}
    elif any(sizes.values()):
        largest = max(sizes.values())  # γ does not depend on the scale, but tiny numbers have no powers
        raw = {k: (sizes[k] / largest) ** beta for k in chosen}
    else:
        raw = dict.fromkeys(chosen, 1.0)
    return [raw.get(k, 0.0) / sum(raw.values()) for k in range(len(deltas))]


def shares(deltas: Sequence[float], whole: float, swvp: Swvp, least: float = 0.0) -> list[float]:
    """γ of every J and, last, the share of the whole output: where no J qualifies, and where condition 2 asks for it.

    least: sums up to it are taken for 0.
    """
    gamma = naive_gamma(list(deltas), swvp.variant, swvp.beta)
    if gamma is None:
        return [0.0] * len(deltas) + [1.0]
    total, share = float(np.dot(gamma, deltas)), 0.0
    if swvp.enforce and total > least:
        share = total / (total - whole) if whole < 0 else 1.0
    return [*((1 - share) * g for g in gamma), share]


def naive_step(changes: Sequence[dict], weights: dict, swvp: Swvp) -> dict:
    """Δ of Algorithm 2 (lines 6 to 11) from ΔΦ of the mixed assignment of every J and, last, of the whole output."""
    found = [sum(weights.get(name, 0.0) * value for name, value in change.items()) for change in changes]
    step: dict = {}
    for share, change in zip(shares(found[:-1], found[-1], swvp), changes, strict=True):
        for name, value in change.items():
            step[name] = step.get(name, 0.0) + share * value
    return step
