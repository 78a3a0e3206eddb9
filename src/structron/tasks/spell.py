"""From numbers of tokens back to lists of labels, sentence by sentence."""

from itertools import pairwise
from typing import Any

import numpy as np


def spell(out: np.ndarray, labels: list[Any], starts: np.ndarray) -> list[list]:
    """Label numbers as lists of labels."""
    names = np.empty(len(labels) + 1, object)
    for k, label in enumerate(labels):
        names[k] = label
    return split(names[out], starts)


def split(flat: np.ndarray, starts: np.ndarray) -> list[list]:
    """Cut what tokens have into a list per sentence."""
    values = flat.tolist()
    return [values[lo:hi] for lo, hi in pairwise(starts.tolist())]
