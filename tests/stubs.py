"""What encoders ask for, given directly: sentences by their bounds, masks and columns by token."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np


def sentences_at(starts: np.ndarray) -> Any:
    """Prepared sentences of which nothing but their bounds is known."""
    return SimpleNamespace(starts=np.asarray(starts))


def dictionary_of(masks: np.ndarray, mask_of: np.ndarray) -> Any:
    """A dictionary that gives each token one of some masks of labels."""
    return SimpleNamespace(masks=masks, masks_of=lambda prepared, tokens: np.asarray(mask_of)[tokens])


def extras_of(columns: Sequence[np.ndarray], sizes: Sequence[int]) -> Any:
    """Columns of what templates combine labels with."""
    return SimpleNamespace(sizes=list(sizes), columns=lambda prepared, lo, hi: list(columns))
