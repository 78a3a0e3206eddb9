"""Kernels are called by Python alone; what they call are helpers, which become part of them."""

from importlib import import_module
from pkgutil import walk_packages
from types import CodeType
from typing import Any

import pytest
from numba.core.config import DISABLE_JIT
from numba.core.dispatcher import Dispatcher

import structron
from structron.kernels.jit import Helper, Pointer, plain

pytestmark = pytest.mark.skipif(bool(DISABLE_JIT), reason="nothing is compiled")
EXTRAS = ("structron.__main__", "structron.spacy")
"""Modules that run something, or need what is not installed everywhere."""


def every_compiled() -> dict[str, Any]:
    """Kernels, helpers and pointers by their full names."""
    found = {}
    for module in walk_packages(structron.__path__, "structron."):
        if module.name.startswith(EXTRAS) or ".serve" in module.name or ".sklearn" in module.name:
            continue
        try:
            values = vars(import_module(module.name)).values()
        except ModuleNotFoundError:  # an extra
            continue
        for value in values:
            if isinstance(value, Helper | Pointer | Dispatcher):
                function = plain(value)
                found[f"{function.__module__}.{function.__qualname__}"] = value
    return found


def names(code: CodeType) -> set[str]:
    return {*code.co_names}.union(*(names(own) for own in code.co_consts if isinstance(own, CodeType)))


def is_kernel(value: Any) -> bool:
    piece = getattr(value, "targetoptions", {}).get("inline") == "always"
    return isinstance(value, Pointer) or (isinstance(value, Dispatcher) and not piece)


def test_no_kernel_is_part_of_another():
    """The cache keeps their machine code alone: there is nothing to put into another kernel."""
    compiled = every_compiled()
    assert sum(isinstance(own, Helper) for own in compiled.values()) > 100
    wrong = []
    for name, value in compiled.items():
        function = plain(value)
        given = {
            **function.__globals__,
            **dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)),
        }
        wrong += [f"{name} calls {own}" for own in names(function.__code__) if is_kernel(given.get(own))]
    assert wrong == []


def test_a_kernel_in_a_kernel_is_found():
    one = structron.kernels.jit.kernel(lambda x: x + 1)
    assert is_kernel(one)
    assert not is_kernel(structron.kernels.jit.helper(lambda x: x + 1))
