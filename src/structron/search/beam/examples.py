"""Examples of a search problem: what a user gives, as numbers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from structron.errors import StructronError, quoted, unknown

Input = Any
SOME = 20
"""Names of actions that an error lists."""


def as_input(x: Input, where: str) -> np.ndarray:
    """An input as int64[tokens, columns]."""
    try:
        array = np.asarray(x)
    except ValueError:
        raise StructronError(f"{where}: rows of different lengths; expected equal lengths") from None
    if array.size == 0:
        return np.zeros((0, array.shape[1] if array.ndim == 2 else 1), np.int64)
    if array.dtype.kind not in "iub" or array.ndim not in (1, 2):
        kind = f"{array.dtype} in {array.ndim} dimensions"
        raise StructronError(
            f"{where}: {kind}; expected integers, or rows of integers (for strings: structron.Alphabet)"
        )
    return np.ascontiguousarray(array.reshape(len(array), -1), np.int64)


def number_of(action: Any, actions: Sequence[str], index: Mapping[str, int], where: str = "") -> int:
    """The number of an action given by name or number."""
    if isinstance(action, str):
        if action in index:
            return index[action]
    elif isinstance(action, int | np.integer) and not isinstance(action, bool) and 0 <= action < len(actions):
        return int(action)
    error = unknown("action", action, actions if len(actions) <= SOME else [*actions[:SOME], "…"])
    raise StructronError(f"{where}: {error}" if where else str(error))


def pairs_in(examples: Iterable[Any], what: str) -> list[tuple[Any, Any]]:
    """Examples as pairs of an input and its actions; anything else is named."""
    if examples is None or not isinstance(examples, Iterable) or isinstance(examples, str | bytes | Mapping):
        missing = " (a function without return?)" if examples is None else ""
        raise StructronError(f"{what}: {quoted(examples)}{missing}; expected pairs of an input and its actions")
    found = []
    for number, example in enumerate(examples):
        where = f"{what}: example {number}"
        try:
            x, actions = example
        except (TypeError, ValueError):
            raise StructronError(f"{where}: {quoted(example)} is not a pair; expected (input, actions)") from None
        if isinstance(actions, str | bytes) or not isinstance(actions, Iterable):
            raise StructronError(f"{where}: actions are {quoted(actions)}; expected a list of names or numbers")
        found.append((x, actions))
    return found


def is_pairs(given: Any) -> bool:
    """Whether something is a list of examples, not an input."""
    if isinstance(given, np.ndarray) or not isinstance(given, Iterable):
        return False
    first = next(iter(given), None) if isinstance(given, Sequence) else ()
    return isinstance(first, tuple | list) and len(first) == 2 and isinstance(first[0], list | tuple | np.ndarray)
