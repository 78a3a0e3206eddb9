"""Some examples of many, where arrays lie one after the other."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structron.features.index import Numbered


def offsets(lengths: np.ndarray) -> np.ndarray:
    """int64[lengths + 1]: where each slice begins, and the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def spans(ptr: np.ndarray, items: np.ndarray) -> np.ndarray:
    """The places ptr[i] … ptr[i + 1] - 1 of some items i, one after the other."""
    lengths = np.diff(ptr)[items]
    return np.repeat(ptr[items] - offsets(lengths)[:-1], lengths) + np.arange(int(lengths.sum()))


def lists_of(ptr: np.ndarray, items: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Where the lists of some items begin, and what stands in them; empty arrays stay empty."""
    places = spans(ptr, items)
    return offsets(np.diff(ptr)[items]), *(array[places] if len(array) else array for array in arrays)


def without_tokens(numbered: Numbered) -> Numbered:
    """The keys of features alone: the lists of tokens are elsewhere."""
    nothing = np.zeros(0, np.int64)
    return replace(numbered, ptr=nothing, numbers=nothing, values=nothing, tokens=nothing)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is left of prepared sentences where the features of their tokens are numbers already."""

    starts: np.ndarray
    units: np.ndarray
    word_types: Any = ()
    word_ids: Any = ()
