"""Constants that are compiled into a user's functions and their helpers: told apart, and never out of date."""

import importlib
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numba import types
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]

from structron.learn.beam import chooser
from structron.search.beam.compiling import changed, constants, names_read, pointer, renewed, stamp_of, uncompiled

pytestmark = pytest.mark.skipif(bool(DISABLE_JIT), reason="nothing is compiled")
ONE = types.int64(types.int64)
SIZES = "N = 3\n"
HELPERS = """
import numba
N = 100
M = 7

@numba.njit
def inner(x):
    return N * x

@numba.njit
def helper(x):
    return inner(x) if x > 0 else M

@numba.njit
def countdown(x):
    return N if x <= 0 else countdown(x - 1)
"""
OWN = """
import own_sizes
from own_helpers import countdown, helper
from own_sizes import N
import numba

def plain(x):
    return N + helper(x)

@numba.njit(error_model="numpy")
def compiled(x):
    return N + helper(x)

def by_module(x):
    return own_sizes.N + x

def recursive(x):
    return N + countdown(x)

def closed(k):
    @numba.njit
    def inside(x):
        return k * x

    def outside(x):
        return N + inside(x)

    return outside
"""
CALL = """
import sys
sys.path[:0] = [{folder!r}]
from numba import types
from structron.search.beam.compiling import pointer
import own
print([int(pointer(getattr(own, name), types.int64(types.int64), name, "")(2)) for name in {names!r}])
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Modules of functions, helpers and constants, in files."""
    for name, text in {"own_sizes": SIZES, "own_helpers": HELPERS, "own": OWN}.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    found = {name: importlib.import_module(name) for name in ("own_sizes", "own_helpers", "own")}
    yield found
    for name in found:
        del sys.modules[name]


def reads(x, out):
    found = [importlib.abc.N + np.pi for _ in range(len(x.N))]
    out.N = found
    return np.linalg.norm(x.M, out)


def test_names_are_read_with_their_attributes():
    """Of modules; those of arguments are none of theirs, nor what is written."""
    expected = {("importlib", "abc", "N"), ("np", "pi"), ("range",), ("len",), ("np", "linalg", "norm")}
    assert {*names_read(reads.__code__)} == expected


def value_of(function: Any, x: int = 2) -> int:
    return int(pointer(function, ONE, "f", "f(x) -> int")(x))


def test_constants_are_told_apart_by_where_they_are_read(modules):
    own = modules["own"]
    assert constants(own.plain) == {"N": 3, "helper.M": 7, "helper.inner.N": 100}
    assert constants(own.by_module) == {"own_sizes.N": 3}
    assert constants(own.recursive)["countdown.N"] == 100
    assert constants(own.closed(5)) == {"N": 3, "inside.k": 5}


def test_a_changed_constant_is_told_where_it_is_read(modules, monkeypatch):
    own = modules["own"].plain
    before = constants(own)
    assert changed("legal", before, own) is None
    for module, name, was, text in (("own", "N", 3, "N"), ("own_helpers", "N", 100, "helper.inner.N")):
        with monkeypatch.context() as patch:
            patch.setattr(modules[module], name, 4)
            said = changed("legal", before, own)
        assert said is not None
        assert said.startswith(f"legal: {text} was {was} when it was compiled and is 4 now; ")


@pytest.mark.parametrize(
    ("module", "name", "x", "expected"), [("own", "N", 2, 205), ("own_helpers", "N", 2, 13), ("own_helpers", "M", 0, 8)]
)
@pytest.mark.parametrize("function", ["plain", "compiled"])
def test_a_changed_constant_is_compiled_anew(modules, function, module, name, x, expected, monkeypatch):
    """Whoever reads it, and though helpers were compiled with the one before."""
    own = getattr(modules["own"], function)
    before, stamp = value_of(own, x), stamp_of(own)
    assert before == (203 if x else 10)
    monkeypatch.setattr(modules[module], name, 5)
    assert stamp_of(own) != stamp
    assert value_of(own, x) == uncompiled(own)(x) == expected
    monkeypatch.undo()
    assert value_of(own, x) == before


def test_modules_closures_and_functions_that_call_themselves(modules, monkeypatch):
    own = modules["own"]
    assert [value_of(f) for f in (own.by_module, own.recursive, own.closed(4), own.closed(5))] == [5, 103, 11, 13]
    monkeypatch.setattr(modules["own_sizes"], "N", 30)
    monkeypatch.setattr(modules["own_helpers"], "N", 1000)
    assert [value_of(f) for f in (own.by_module, own.recursive)] == [32, 1003]


def test_helpers_are_compiled_once_for_all_functions(modules):
    own = modules["own"]
    first, second = (renewed(f).__globals__["helper"] for f in (own.plain, own.plain))
    assert first is second is not modules["own_helpers"].helper
    assert renewed(own.compiled).targetoptions == own.compiled.targetoptions


def test_another_process_compiles_with_the_constants_that_it_finds(modules, tmp_path):
    """The cache on disk knows of constants that stand in other files than the function."""
    names = ["plain", "compiled", "by_module"]
    program, environment = CALL.format(folder=str(tmp_path), names=names), dict(os.environ)

    def found() -> str:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert found() == found() == "[203, 203, 5]"
    (tmp_path / "own_sizes.py").write_text("N = 4\n")
    assert found() == "[204, 204, 6]"
    (tmp_path / "own_sizes.py").write_text(SIZES)
    (tmp_path / "own_helpers.py").write_text(HELPERS.replace("N = 100", "N = 10"))
    assert found() == "[23, 23, 5]"


THRESHOLD = 1


def late(best, gold, alive, right, n):
    return n if n > THRESHOLD else 0


def test_update_rules_are_compiled_with_present_constants(monkeypatch):
    scores, flags = np.zeros(4), np.zeros(4, np.int64)
    assert chooser(late)(scores, scores, flags, flags, 3) == 3
    assert chooser(late) is chooser(late)
    monkeypatch.setattr(sys.modules[__name__], "THRESHOLD", 5)
    assert chooser(late)(scores, scores, flags, flags, 3) == 0
