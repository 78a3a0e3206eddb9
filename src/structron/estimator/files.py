"""What a model file holds of any estimator: its options, how it was trained, and what its task has learned.

    contents: estimator ──▶ header (what JSON can hold), arrays ──▶ estimator: restored

The task's own part comes from `_state` and goes back through `_load_state`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from structron.fields import options_of
from structron.io.tensors import Tensors
from structron.kernels.progress import prepare
from structron.learn.loop import History, timeless

DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError, RecursionError)
"""What taking up the parts of a damaged file can raise."""
TRAINING: Mapping[str, Any] = {"history": [], "best_pass": 0, "stopped": "", "signature": "", "source": {}}
"""How a model came about, with what a checkpoint has of it: its training has no end yet."""


def contents(estimator: Any, model: Any) -> tuple[dict[str, Any], Tensors]:
    """Header and arrays of an estimator with this model."""
    learned, tensors = estimator._state(model)
    training = {name: timeless(getattr(estimator, f"{name}_", empty)) for name, empty in TRAINING.items()}
    header = {"task": estimator.task, "options": estimator._stored(), "training": training, "learned": learned}
    return header, tensors


def restored(kind: Any, header: dict[str, Any], tensors: Tensors, code: Mapping[str, Any]) -> Any:
    """The inverse of `contents`; raises one of DAMAGE where the parts do not fit together."""
    known = options_of(kind)
    former = {name for group in kind.options_class.former for name in options_of(group)} - known.keys()
    header = header | {"options": {k: value for k, value in header["options"].items() if k not in former}}
    for name, value in header["options"].items():
        known[name].check_stored(name, value)
    prepare(*kind._needs(header))
    estimator = kind._make(header, dict(code))
    estimator.check_options()
    estimator.notes_ = []
    for name, empty in TRAINING.items():
        value = header["training"][name]
        fits = isinstance(value, type(empty)) and (name != "source" or all(map(_is_text, value.values())))
        if not fits or (name == "history" and not all(isinstance(record, dict) for record in value)):
            raise ValueError(f"{name} does not fit")
        setattr(estimator, f"{name}_", History(value) if name == "history" else value)
    estimator._load_state(header["learned"], tensors, **code)
    return estimator


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def plain(value: Any) -> Any:
    """An option as JSON can hold it; a user's function goes by its name."""
    if isinstance(value, np.generic):
        return value.item()
    if callable(value) or hasattr(value, "choose"):
        named = getattr(value, "choose", value)
        return getattr(named, "__name__", type(named).__name__)
    if isinstance(value, tuple | set | frozenset) or (not isinstance(value, str | list | dict) and np.iterable(value)):
        return [plain(item) for item in value]
    return value


def given_of(code: Mapping[str, Any]) -> dict[str, Any]:
    """The functions that were given, of those that could be."""
    return {name: value for name, value in code.items() if value is not None}
