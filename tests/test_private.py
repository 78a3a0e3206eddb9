"""What is used of other packages though nobody promises that it stays: it is there, and pyproject.toml allows no newer
minor version than those that were tried. If this fails with a new version: look at each place, then move the bound."""

import ast
import asyncio
import inspect
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import structron
from helpers import ROOT

STANDARD = {"_asdict", "_fields", "_exit", "_run_exitfuncs"}
"""Of Python itself: of named tuples, `os`, `atexit`."""
NUMBA = {
    "numba.core.compiler.CompileResult": {"_reduce", "_rebuild"},
    "numba.core.environment": {"_rebuild_env"},
    "numba.core.environment.Environment": {"_memo"},
    "numba.core.dispatcher.Dispatcher": {"get_compile_result"},
    "numba.core.codegen.CPUCodeLibrary": {"_optimize_final_module"},
    "numba.core.codegen.JITCodeLibrary": {"_optimize_final_module", "get_pointer_to_function"},
    "numba.core.runtime.rtsys": {"initialize"},
    "numba.experimental.function_type": {"FunctionModel"},
    "numba.core.cgutils._StructProxy": {"_getvalue"},
    "numba.core.cpu.CPUTargetOptions": {"_nrt"},
    "numba.np.arrayobj": {"fix_integer_index"},
}
OBJECTS = {"_cache", "_definitions"}
"""Of objects that are made later: a dispatcher's cache, what the variables of Numba's code are."""
BOUND = ("numba", "uvicorn", "ray")


def the(name: str) -> object:
    """A module, or a class in one."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(import_module(module), attribute)


def private_names() -> tuple[set[str], set[str]]:
    """Names with an underscore that the package uses and does not define; private modules that it imports."""
    defined, used, modules = set(), set(), set()
    for path in Path(structron.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                defined.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                defined.add(node.id)
            elif isinstance(node, ast.Attribute):
                mine = isinstance(node.ctx, ast.Store) and getattr(node.value, "id", "") in ("self", "cls")
                (defined if mine else used).add(node.attr)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", "") or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names]
                modules |= {name for name in names if any(part.startswith("_") for part in name.split("."))}
    private = {name for name in used - defined if name.startswith("_") and not name.endswith("__")}
    return private, {
        name for name in modules - {"__future__"} if not name.startswith("structron") and name not in defined
    }


def test_every_private_name_is_listed():
    names, modules = private_names()
    assert names == STANDARD | OBJECTS | {name for own in NUMBA.values() for name in own if name.startswith("_")} - {
        "_nrt",  # an option, by its name
        "_optimize_final_module",  # has a replacement of the same name
    }
    assert modules == set()


@pytest.mark.parametrize("where", NUMBA)
def test_numba_has_it(where):
    assert {name for name in NUMBA[where] if not hasattr(the(where), name)} == set()


def test_objects_of_numba_have_it():
    from numba import njit
    from numba.core.compiler import run_frontend

    assert hasattr(njit(lambda x: x), "_cache")
    assert hasattr(run_frontend(lambda x: x), "_definitions")


def test_ray_notes_its_cluster():
    """In the file that `--ray auto` reads (structron.runtime.cluster)."""
    utils = pytest.importorskip("ray._private.utils")
    text = inspect.getsource(utils.read_ray_address) + inspect.getsource(utils.get_ray_address_file)
    assert "ray_current_cluster" in text


def test_uvicorns_protocol_has_what_ours_needs():
    pytest.importorskip("uvicorn")
    from uvicorn import Config
    from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
    from uvicorn.server import ServerState

    from structron.serve.slow import Impatient

    async def made() -> H11Protocol:
        return H11Protocol(Config(lambda: None), ServerState(), {})

    found = asyncio.run(made())
    assert {name for name in ("conn", "cycle", "flow", "loop", "transport") if not hasattr(found, name)} == set()
    replaced = {name for name in vars(Impatient) if not name.startswith("_")} & {*dir(asyncio.Protocol)}
    assert {name for name in replaced if name not in vars(H11Protocol)} == set()
    assert hasattr(found, "send_400_response")
    assert {"response_complete", "disconnected", "message_event"} <= {*RequestResponseCycle.__init__.__code__.co_names}


@pytest.mark.parametrize("package", BOUND)
def test_no_newer_minor_version_is_allowed(package):
    with open(ROOT / "pyproject.toml", "rb") as stream:
        project = tomllib.load(stream)["project"]
    listed = [*project["dependencies"], *(own for extra in project["optional-dependencies"].values() for own in extra)]
    (asked,) = {text for text in listed if Requirement(text).name == package}
    specifier = Requirement(asked).specifier
    (bound,) = (Version(own.version) for own in specifier if own.operator == "<")
    pytest.importorskip(package)
    tried = Version(version(package))
    assert specifier.contains(tried), f"{package} {tried} is not allowed: {asked}"
    assert (bound.major, bound.minor) <= (tried.major, tried.minor + 1), f"{package}: {bound} was never tried"
