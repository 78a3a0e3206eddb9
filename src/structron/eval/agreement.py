"""Agreement of two annotators beyond chance: Cohen's κ (1960)."""

from collections import Counter
from collections.abc import Hashable, Sequence


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float:
    """κ = (p_o − p_e) / (1 − p_e), from what two people said of the same things; 1 where both said one thing only."""
    count = len(pairs)
    observed = sum(a == b for a, b in pairs) / count
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(first[value] * second[value] for value in first) / count**2
    return 1.0 if expected == 1.0 else (observed - expected) / (1.0 - expected)
