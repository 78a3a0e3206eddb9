"""Chains so small that all labellings can be listed: Φ as vectors, for bounds that speak of every wrong output.

Words and labels are numbers. Features are those of a tagger with the template w[0] and order 1: (word, label), and
(label before, label), where a sentence begins with a label before of its own.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

Labelling = tuple[int, ...]


def phi(words: Sequence[int], labelling: Sequence[int], vocabulary: int, labels: int) -> np.ndarray:
    """Φ(x, y): counts."""
    found = np.zeros((vocabulary + labels + 1, labels))
    for word, before, label in zip(words, (0, *(y + 1 for y in labelling)), labelling, strict=False):
        found[word, label] += 1
        found[vocabulary + before, label] += 1
    return found.ravel()


def labellings(n: int, labels: int) -> Iterator[Labelling]:
    return product(range(labels), repeat=n)


def separator(rows: np.ndarray, rounds: int = 5000) -> np.ndarray:
    """A unit vector u that makes the least u·row large: Krauth & Mézard's, the worst row is added again and again."""
    u = rows[0].astype(np.float64)
    for _ in range(rounds):
        u = u + rows[int(np.argmin(rows @ u))]
    return u / np.linalg.norm(u)


def longest(rows: np.ndarray) -> float:
    """The largest ‖row‖."""
    return float(np.sqrt((rows**2).sum(axis=1).max()))
