"""The Pythons of this machine, and the versions that pyproject.toml allows. Nothing but the standard library."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
LOOK = """
import ensurepip, json, sys, sysconfig, venv
base = getattr(sys, "_base_executable", None) or sys.executable
plain = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
final = sys.version_info.releaselevel == "final"
print(json.dumps([list(sys.version_info[:3]), base, plain and final]))
"""
"""What a Python is asked: an environment needs `venv` and `ensurepip`, and Numba a plain CPython."""


def _candidates(path: str, home: Path) -> Iterator[Path]:
    """Files that may be Pythons: this one, those on the path, those of pyenv."""
    yield Path(sys.executable)
    named = re.compile(r"python(3(\.1[1-9])?)?(\.exe)?")
    for folder in map(Path, filter(None, path.split(os.pathsep))):
        if folder.is_dir():
            yield from sorted((own for own in folder.iterdir() if named.fullmatch(own.name)), reverse=True)
    for folder in sorted((home / "versions").glob("3.*"), reverse=True):
        yield from (own for own in (folder / "bin" / "python", folder / "python.exe") if own.is_file())


def _asked(python: Path) -> tuple[tuple[int, int, int], Path] | None:
    """The version of a Python and where it is; None: it does not run, or cannot be used."""
    try:
        done = subprocess.run([python, "-I", "-c", LOOK], capture_output=True, text=True, timeout=60, check=True)
        version, base, usable = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return ((version[0], version[1], version[2]), Path(base)) if usable else None


def pythons(path: str | None = None, home: Path | None = None) -> dict[tuple[int, int], Path]:
    """Every Python from 3.11 on, one for each minor version: the first that is found."""
    path = os.environ.get("PATH", "") if path is None else path
    home = home or Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found: dict[tuple[int, int], Path] = {}
    seen: set[Path] = set()
    for candidate in _candidates(path, home):
        minor = re.search(r"python3\.(\d+)", candidate.name)
        if candidate in seen or (minor and (3, int(minor[1])) in found):
            continue
        seen.add(candidate)
        answer = _asked(candidate)
        if answer is not None and answer[0][:2] >= OLDEST:
            found.setdefault(answer[0][:2], answer[1])
    return dict(sorted(found.items()))


def in_venv(folder: Path) -> Path:
    """The Python of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_venv(python: Path, folder: Path) -> Path:
    """A new virtual environment; returns its Python."""
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    return in_venv(folder)


def install(python: Path, *wanted: object, quiet: bool = True) -> None:
    """Install with pip; numba and llvmlite as wheels only: building LLVM is not our business."""
    options = ["--disable-pip-version-check", "--only-binary=numba,llvmlite,numpy", *(["--quiet"] if quiet else [])]
    subprocess.run([python, "-m", "pip", "install", *options, *map(str, wanted)], check=True)


# -- what pyproject.toml says ------------------------------------------------------------------------------------------


def dependencies(root: Path = ROOT) -> list[str]:
    """What the package itself needs."""
    with open(root / "pyproject.toml", "rb") as stream:
        return tomllib.load(stream)["project"]["dependencies"]


def name_of(requirement: str) -> str:
    """The name in a requirement: "numba" of "numba>=0.60"."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    if found is None:
        raise ValueError(f"no name in {requirement!r}")
    return found[0]


def lowest(requirements: Iterable[str]) -> list[str]:
    """The same with the lowest version that each allows."""
    found = []
    for requirement in requirements:
        bound = re.search(r">=\s*([0-9.]+)", requirement)
        if bound is None:
            raise ValueError(f"no lower bound in {requirement!r}")
        found.append(f"{name_of(requirement)}=={bound[1]}")
    return found
