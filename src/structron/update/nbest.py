"""Learning from n-best candidates with local and non-local features: Kazama & Torisawa (2007), section 4.

    {yⁿ} = n-best_y w·Φˡ(x_i, y)                                  search/chain/kbest.py
    y'  = argmax_{y ∈ {yⁿ}} w·Φᵃ(x_i, y),   y'' = 2nd-best_{y ∈ {yⁿ}} w·Φᵃ(x_i, y)
    if y' ≠ y_i and w·Φᵃ(x_i, y_i) - w·Φᵃ(x_i, y') ≤ Cᵃ:     w = w + Φᵃ(x_i, y_i) - Φᵃ(x_i, y')       (A)
    else if w·Φᵃ(x_i, y_i) - w·Φᵃ(x_i, y'') ≤ Cᵃ:            w = w + Φᵃ(x_i, y_i) - Φᵃ(x_i, y'')      (A)
    else                                                                                              (B)
        if y¹ ≠ y_i:                                          w = w + Φˡ(x_i, y_i) - Φˡ(x_i, y¹)
        else if w·Φˡ(x_i, y_i) - w·Φˡ(x_i, y²) ≤ Cˡ:          w = w + Φˡ(x_i, y_i) - Φˡ(x_i, y²)

Algorithm 4.2 is all of it, Algorithm 4.1 (the candidate algorithm) is without (B). (B) as printed is aggressive; the
conservative one only acts as long as the correct labelling is not among the candidates.

A document gives one update of thousands of local features for many sentences at once, and few of them a pass. With
"sentences" the two parts share the work: (A) corrects the non-local weights alone, and the local ones are learned by
Algorithm 3.1 from every sentence of the document afterwards (ours; local convergence is that of Algorithm 3.1).
"""

from typing import NamedTuple

import numpy as np

SENTENCES = "sentences"
LOCAL_UPDATES = ("aggressive", "conservative", "none", SENTENCES)


class Step(NamedTuple):
    """An update: which candidate to move away from, and whether by its local features only, (B)."""

    candidate: int
    local: bool


def find_update(
    local: np.ndarray,
    total: np.ndarray,
    correct: tuple[int, float, float],
    margin: float,
    local_margin: float,
    local_update: str = "aggressive",
) -> Step | None:
    """The update that the algorithms make, if any.

    local, total: scores of the candidates, best local score first, without and with non-local features.
    correct: the place of the correct labelling among them (-1: not there), and its two scores.
    """
    gold, gold_local, gold_total = correct
    ranked = np.argsort(-total, kind="stable")
    best = int(ranked[0])
    if best != gold and gold_total - total[best] <= margin:
        return Step(best, False)
    if len(ranked) > 1:
        second = int(ranked[1])
        if gold_total - total[second] <= margin:
            return Step(second, False)
    if local_update in ("none", SENTENCES) or (local_update == "conservative" and gold >= 0):
        return None
    if gold != 0:
        return Step(0, True)
    if len(local) > 1 and gold_local - local[1] <= local_margin:
        return Step(1, True)
    return None
