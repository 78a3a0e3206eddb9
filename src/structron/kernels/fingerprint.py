"""What compiled kernels go with: the sources, the versions of Python, Numba and llvmlite, and the processor.

A wheel brings kernels for the baseline of its platform (`BASELINES`). They are taken where the processor has all that
they ask for, the versions are the same, and the sources are those that they were compiled from, to the byte.
A manifest beside them (`about.json`) has a SHA-256 of each, and of nothing else anything is loaded.
"""

import hashlib
import json
import platform
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding
from numba.core import config

from structron.kernels.listed import arguments_text
from structron.kernels.sealed import Untrusted, digest_of

PACKAGE = Path(__file__).parent.parent
SOURCES = ("features", "kernels", "search", "tasks/shift_reduce", "update", "weights")
"""Folders of the package whose functions become parts of kernels."""
SHIPPED = PACKAGE / "kernels" / "binary"
"""The kernels of a wheel."""
ABOUT = "about.json"
BASELINES = {"x86_64": "x86-64-v3", "AMD64": "x86-64-v3", "aarch64": "generic", "arm64": "generic"}
"""What LLVM calls the processor that kernels are shipped for, by the machine's name. The third level of x86-64 is that
of 2013 (AVX2)."""
NEEDED = {"x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")}


def kernel_files() -> list[Path]:
    """Every file whose functions may be part of any kernel."""
    return sorted(path for folder in SOURCES for path in (PACKAGE / folder).rglob("*.py"))


@cache
def contents() -> str:
    """A digest of these files: of what they say, not of when they were written."""
    found = hashlib.sha256()
    for path in kernel_files():
        found.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0")
        found.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return found.hexdigest()


def versions() -> dict[str, str]:
    """What a compiled kernel goes with, beside its sources."""
    python = str(sys.implementation.cache_tag)
    return {"python": python, "numba": numba.__version__, "llvmlite": llvmlite.__version__}


def target() -> tuple[str, str, str]:
    """What kernels are compiled for: the system, the processor and its features."""
    name, features = config.CPU_NAME, config.CPU_FEATURES  # type: ignore[attr-defined]
    if name is None:
        name = binding.get_host_cpu_name()
        features = binding.get_host_cpu_features().flatten() if features is None else features
    return binding.get_process_triple(), name, features or ""


@cache
def fingerprint() -> str:
    """The name of the folder for kernels of these sources, versions and this processor."""
    checks = (config.BOUNDSCHECK, config.OPT)  # type: ignore[attr-defined]
    whole = repr((contents(), sorted(versions().items()), target(), *map(str, checks)))
    return hashlib.sha256(whole.encode()).hexdigest()[:20]


@cache
def _own_source(file: str) -> str:
    """What a kernel depends on beside the fingerprint: nothing, or the file that it stands in."""
    path = Path(file)
    if path in _fingerprinted():
        return ""
    if PACKAGE in path.parents:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    found = path.stat()
    return f"{file} {found.st_mtime_ns} {found.st_size}"


@cache
def _fingerprinted() -> frozenset[Path]:
    return frozenset(kernel_files())


def is_from_package(function: Callable) -> bool:
    """Whether a function comes with the package: its sources change with the package alone."""
    return PACKAGE in Path(function.__code__.co_filename).parents


def arguments_of(signature: Any) -> tuple[Any, ...]:
    """The types of the arguments, of a signature or of itself."""
    return tuple(getattr(signature, "args", signature))


def file_name(function: Callable, signature: Any, stamp: str = "") -> str:
    """The name of a kernel's file. stamp: what else it is made of."""
    name, source = f"{function.__module__}.{function.__qualname__}", _own_source(function.__code__.co_filename)
    return _named(name, source, stamp, arguments_text(arguments_of(signature)))


def listed_name(listed: Any) -> str:
    """The same for a kernel of the list, without importing it."""
    parts = listed.function.split(".")[1:]
    file = next(
        (
            path
            for end in range(len(parts) - 1, 0, -1)
            if (path := PACKAGE.joinpath(*parts[:end]).with_suffix(".py")).is_file()
        ),
        PACKAGE / "nowhere.py",
    )
    source = _own_source(str(file)) if file.is_file() else ""
    return _named(listed.function, source, "", listed.arguments)


def _named(name: str, source: str, stamp: str, arguments: str) -> str:
    about = hashlib.sha256(repr((source, stamp, arguments)).encode()).hexdigest()
    plain = "".join(c if c.isalnum() or c in "._" else "_" for c in name.removeprefix("structron."))
    return f"{plain[-120:]}-{about[:16]}"


# -- kernels of a wheel ------------------------------------------------------------------------------------------------


def misfit(about: dict[str, Any]) -> tuple[str, str] | None:
    """What shipped kernels are for, if not for this, and what to do about it; None: nobody needs to know."""
    if about["contents"] != contents():
        return None  # somebody is at work on the sources
    theirs = about["versions"]
    for name, have in versions().items():
        if have != theirs[name]:
            others = "" if name == "python" else f"pip install numba=={theirs['numba']} llvmlite=={theirs['llvmlite']}"
            return f"{name} {theirs[name]}, not {have}", others
    triple, processor, _ = about["target"]
    features = binding.get_host_cpu_features()
    if triple != binding.get_process_triple() or BASELINES.get(platform.machine()) != processor:
        return f"{triple}, not {binding.get_process_triple()}", ""
    missing = [name for name in NEEDED.get(processor, ()) if not features.get(name)]
    return f"processors with {' '.join(missing)}" if missing else "", ""


@cache
def of_wheel() -> tuple[dict[str, str], str]:
    """The kernels that came with a wheel and fit this machine, by name, each with its SHA-256; or a line that says why
    they do not."""
    try:
        about = json.loads((SHIPPED / ABOUT).read_bytes())
        found, kernels = misfit(about), {str(name): str(digest) for name, digest in about["kernels"].items()}
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        found, kernels = ("something that cannot be read", "pip install --force-reinstall, and the wheel"), {}
    if found is None:
        return {}, ""
    reason, advice = found
    if not reason:
        return kernels, ""
    use = f"; to use those of the wheel: {advice}" if advice else ""
    return {}, f"the compiled kernels of this wheel are for {reason}: kernels are compiled on first use, once{use}"


def shipped_data(name: str) -> bytes | None:
    """A kernel that came with the wheel; None: there is none. Untrusted: it is another than the manifest has."""
    digest = of_wheel()[0].get(name)
    if digest is None:
        return None
    try:
        data = (SHIPPED / name).read_bytes()
    except OSError:
        return None
    if digest_of(data).hex() != digest:
        raise Untrusted("not the kernel that came with the wheel")
    return data
