"""What an installed package needs: its data files in the wheel, commands without deprecated parts of Python.

`make smoke` builds wheel and sdist, installs each in a bare venv and tries every command there; here the commands are
tried where they are, and what README.md shows by the wheel, without its dependencies.
"""

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import structron
from helpers import ROOT
from smoke import WARNINGS
from torture.frame import environment
from wheels import copy_sources

PACKAGE = Path(structron.__file__).parent
REMOVED = {
    "aifc",
    "asynchat",
    "asyncore",
    "audioop",
    "cgi",
    "cgitb",
    "chunk",
    "crypt",
    "distutils",
    "imghdr",
    "imp",
    "lib2to3",
    "mailcap",
    "msilib",
    "nis",
    "nntplib",
    "ossaudiodev",
    "pipes",
    "pkg_resources",
    "smtpd",
    "sndhdr",
    "spwd",
    "sunau",
    "telnetlib",
    "tkinter.tix",
    "uu",
    "xdrlib",
}
"""Modules that Python 3.12 and 3.13 do not have."""


@pytest.mark.slow
def test_every_command_without_deprecated_parts(tmp_path):
    command = [sys.executable, *WARNINGS, ROOT / "tests" / "smoke.py", "--here", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=1800)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_modules_that_newer_pythons_lack(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import) else {str(node.module)}
            assert not names & REMOVED


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> Path:
    """A folder with the sdist, and with the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("packages")
    source = copy_sources(folder / "source")
    command = [sys.executable, "-m", "build", "--outdir", folder / "dist", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "No matching distribution" in done.stdout + done.stderr:
        pytest.skip("no network to build with")
    assert done.returncode == 0, done.stderr
    return folder / "dist"


@pytest.mark.slow
def test_the_wheel_has_every_file(packages):
    """Python files, presets, figures of papers, the English model with its licence."""
    (wheel,) = packages.glob("*.whl")
    there = set(zipfile.ZipFile(wheel).namelist())
    skipped = ("__pycache__", ".nbi", ".nbc", ".pyc", "binary")
    wanted = [path for path in PACKAGE.rglob("*") if path.is_file() and not any(one in str(path) for one in skipped)]
    assert {str(path.relative_to(PACKAGE.parent)) for path in wanted} <= there
    assert not any("__pycache__" in name for name in there)


def install(package: Path, folder: Path) -> Path:
    command = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", folder, package]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_the_readme_runs_from_an_installed_package(packages, tmp_path):
    (wheel,) = packages.glob("*.whl")
    path = {"PYTHONPATH": str(install(wheel, tmp_path / "installed"))}
    (tmp_path / "work").mkdir()
    command = [sys.executable, "-P", ROOT / "tests" / "smoke.py", "--readme", tmp_path / "work"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment() | path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_sdist_installs_what_the_wheel_does(packages, tmp_path):
    (wheel,), (sdist,) = packages.glob("*.whl"), packages.glob("*.tar.gz")
    installed = install(sdist, tmp_path)
    files = [path for path in (installed / "structron").rglob("*") if path.is_file()]
    found = {path.relative_to(installed).as_posix(): path.read_bytes() for path in files}
    with zipfile.ZipFile(wheel) as archive:
        expected = {name: archive.read(name) for name in archive.namelist() if name.startswith("structron/")}
    assert found == expected
