"""Kernels run without what is Numba's own business (structron/kernels/private.py): slower, or compiled by each process,
and as right. Each part is taken away by giving it another name in all of Numba's sources while they are imported."""

import json

import pytest
from numba.core.config import DISABLE_JIT

from helpers import run_python

pytestmark = pytest.mark.skipif(bool(DISABLE_JIT), reason="nothing is compiled")

KERNELS = """
import numpy as np
from numba import int64
from structron.kernels.jit import WithFunctionPointers, kernel

@kernel
def place(x):
    return np.argmax(x)

@kernel
def item(x, i):
    return x[i]

def grow(x):
    return x + 1

def twice(f, x):
    return f(f(x))

grown = WithFunctionPointers(twice, int64(int64))
"""
"""A module among those of searches: one kernel has functions of Numba in it, which have constants of their own."""

RUN = r"""
import json, re, sys
from importlib.machinery import PathFinder, SourceFileLoader

names, folder = sys.argv[1:]
word, renamed = re.compile(rf"\b({names})\b"), set()
ELSEWHERE = {"initialize"}  # others in Numba have the name, too


class Renaming(SourceFileLoader):
    def get_code(self, fullname):
        text = self.get_data(self.path).decode()
        elsewhere = set() if fullname in ("numba.core.cpu", "numba.core.runtime.nrt") else ELSEWHERE
        found = {*word.findall(text)} - elsewhere
        if not found:
            return super().get_code(fullname)
        renamed.update(found)
        text = word.sub(lambda own: own[0] + "_renamed" * (own[0] in found), text)
        return compile(text, self.path, "exec", dont_inherit=True)


class Finder:
    @staticmethod
    def find_spec(fullname, path=None, target=None):
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith("numba.") else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = Renaming(fullname, spec.origin)
        return spec


if names != "nothing":
    sys.meta_path.insert(0, Finder)
import numpy as np
import structron.search
from numba.core import event

compiled = []


class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass


event.register("numba:compile", Listener())
structron.search.__path__.append(folder)
from structron.search import mine

x = np.array([3, 1, 2])
print(json.dumps({
    "place": int(mine.place(x)),
    "item": int(mine.item(x[1:], -1)),
    "grown": mine.grown(mine.kernel(mine.grow), 5),
    "compiled": sorted({"place", "item", "grow", "twice"} & {*compiled}),
    "renamed": sorted(renamed),
}))
"""
COMPILED = ["grow", "item", "place", "twice"]
KEEPING = ("_cache", "_reduce", "_rebuild")
"""What kernels cannot be kept without: they are then compiled as Numba compiles any function."""
BEFORE, LAST = 3, 2
"""What stands before a view of an array, and its last item."""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """The folder of the module with kernels."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "mine.py").write_text(KERNELS)
    return folder


def run(module, cache, *names):
    """What a process finds without these parts of Numba: what it compiled, and what a look before an array gave."""
    done = run_python(RUN, "|".join(names) or "nothing", str(module), timeout=600, STRUCTRON_CACHE=str(cache))
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["place"], found["grown"]) == (0, 7)
    assert found["renamed"] == sorted(names)
    assert found["item"] == (LAST if {*names} & {*KEEPING, "fix_integer_index"} else BEFORE)
    return found["compiled"], done.stderr


@pytest.fixture(scope="module")
def filled(module, tmp_path_factory):
    """A cache that has these kernels, compiled with a Numba that has everything."""
    cache = tmp_path_factory.mktemp("filled")
    assert run(module, cache) == (COMPILED, "")
    assert run(module, cache) == ([], "")
    return cache


def test_kernels_are_read_without_what_makes_that_quick(module, filled):
    """And functions are handed to kernels without their addresses: they are compiled for C."""
    assert run(module, filled, "_memo", "initialize", "get_pointer_to_function") == ([], "")


def test_kernels_are_compiled_without_what_makes_them_quick(module, tmp_path):
    """They are kept all the same."""
    without = ("_nrt", "_optimize_final_module", "_rebuild_env", "fix_integer_index", "get_compile_result")
    assert run(module, tmp_path, *without) == (COMPILED, "")
    assert run(module, tmp_path, *without) == ([], "")


@pytest.mark.parametrize("name", KEEPING)
def test_every_process_compiles_where_kernels_cannot_be_kept(module, filled, name):
    compiled, said = run(module, filled, name)
    assert compiled == COMPILED
    assert said.count("\n") == 1
    assert "cannot be stored with this version of Numba, so each run compiles them" in said
