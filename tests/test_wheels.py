"""What makes wheels: which Pythons there are, which platform a wheel is for, and whether an index would take it."""

import base64
import hashlib
import importlib.util
import json
import os
import sys
import zipfile

import pytest

import pythons
import wheels
from helpers import ROOT

posix = pytest.mark.skipif(os.name == "nt", reason="the Pythons here are shell scripts")


# -- the Pythons of a machine ------------------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path):
    """Puts Pythons on a machine: scripts that say what a Python would."""

    def put(place, version=(3, 12, 1), usable=True, code=None):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        answer = json.dumps([list(version), str(path), usable])
        path.write_text(f"#!/bin/sh\n{code or f'echo {chr(39)}{answer}{chr(39)}'}\n")
        path.chmod(0o755)
        return path

    put.found = lambda: pythons.pythons(os.pathsep.join([f"{tmp_path}/a", f"{tmp_path}/b"]), tmp_path / "pyenv")
    return put


THIS = sys.version_info[:2]
OTHERS = [(3, minor) for minor in range(11, 16) if (3, minor) != THIS]


@posix
def test_each_minor_version_is_found_once(machine):
    """The first on the path, before those of pyenv; this Python is always among them."""
    first, second = OTHERS[:2]
    expected = machine("a/python3", (*first, 4))
    machine(f"b/python3.{first[1]}", (*first, 9))
    later = machine(f"pyenv/versions/3.{second[1]}.0/bin/python", (*second, 0))
    machine(f"pyenv/versions/3.{first[1]}.7/bin/python", (*first, 7))
    found = machine.found()
    assert list(found) == sorted({THIS, first, second})
    assert found[first] == expected
    assert found[second] == later


@posix
def test_what_is_no_python_for_wheels_is_left(machine):
    """Too old, without a global lock, a release candidate, broken, or something that is no Python."""
    machine("a/python3", (3, 10, 13))
    machine(f"b/python3.{OTHERS[0][1]}", (*OTHERS[0], 0), usable=False)
    machine("pyenv/versions/3.15.0/bin/python", code="echo no; exit 1")
    machine("pyenv/versions/3.14.0/bin/python", code="echo what")
    (machine("b/python3", code="true")).chmod(0o644)
    assert list(machine.found()) == [THIS]


def test_the_oldest_versions_are_the_lower_bounds():
    assert pythons.lowest(["numba>=0.60,<0.69", "rich >= 13"]) == ["numba==0.60", "rich==13"]
    assert {pythons.name_of(own) for own in pythons.lowest(pythons.dependencies())} >= {"numba", "numpy", "click"}
    with pytest.raises(ValueError, match="no lower bound in 'numba<1'"):
        pythons.lowest(["numba<1"])


# -- the platform ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def setup_py():
    pytest.importorskip("setuptools")
    spec = importlib.util.spec_from_file_location("setup_of_structron", ROOT / "setup.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("system", "machine", "tag"),
    [
        ("linux", "x86_64", "manylinux_2_17_x86_64"),
        ("linux", "aarch64", "manylinux_2_17_aarch64"),
        ("darwin", "arm64", "macosx_11_0_arm64"),
        ("darwin", "x86_64", "macosx_10_15_x86_64"),
        ("win32", "AMD64", "win_amd64"),
        ("win32", "ARM64", "win_arm64"),
    ],
)
def test_an_index_knows_the_platform(setup_py, system, machine, tag):
    assert setup_py.platform_tag(system, machine) == tag
    assert wheels.ACCEPTED.fullmatch(tag)


def test_a_wheel_with_kernels_asks_for_their_very_versions(setup_py):
    asked = ["numpy>=1.26", "numba>=0.60,<0.69", "rich>=13"]
    expected = ["numpy>=1.26", "rich>=13", "numba==0.67.0", "llvmlite==0.46.1"]
    assert setup_py.pinned(asked, {"python": "cpython-312", "numba": "0.67.0", "llvmlite": "0.46.1"}) == expected


# -- the wheel ---------------------------------------------------------------------------------------------------------

INFO = "structron-1.0.dist-info"


@pytest.fixture
def wheel(tmp_path):
    """Makes wheels, sound ones but for what is asked for."""

    def make(
        platform="manylinux_2_17_x86_64",
        python="cp312",
        tag=None,
        pure="false",
        numba="0.67.0",
        unlisted=(),
        absent=(),
        changed=(),
    ):
        about = {"versions": {"python": "cpython-312", "numba": "0.67.0", "llvmlite": "0.46.1"}}
        asked = f"Requires-Dist: numpy>=1.26\nRequires-Dist: numba=={numba}\nRequires-Dist: llvmlite==0.46.1\n"
        asked += 'Requires-Dist: numba-cuda; extra == "none"\n'
        files = {
            "structron/__init__.py": "",
            "structron/kernels/binary/about.json": json.dumps(about),
            f"{INFO}/METADATA": f"Name: structron\n{asked}",
            f"{INFO}/WHEEL": f"Root-Is-Purelib: {pure}\nTag: {tag or f'{python}-{python}-{platform}'}\n",
        }
        lines = []
        for name, text in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            lines += [] if name in unlisted else [f"{name},sha256={digest},{len(text)}"]
        record = "\n".join([*lines, *(f"{name},," for name in absent), f"{INFO}/RECORD,,", ""])
        path = tmp_path / f"structron-1.0-{python}-{python}-{platform}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in {**files, f"{INFO}/RECORD": record}.items():
                archive.writestr(name, text + "#" * (name in changed))
        return path

    return make


def test_a_sound_wheel_is_taken(wheel):
    wheels.check(wheel())
    wheels.check(wheel(platform="manylinux2014_x86_64.manylinux_2_17_x86_64"))
    wheels.check(wheel(platform="win_amd64"))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"platform": "linux_x86_64"}, "no index accepts linux_x86_64"),
        ({"platform": "manylinux_2_17_x86_64.linux_x86_64"}, "no index accepts"),
        ({"platform": "any"}, "no index accepts any"),
        ({"python": "cp311"}, "its kernels are for cp312"),
        ({"tag": "cp312-cp312-win_amd64"}, "its kernels are for cp312"),
        ({"pure": "true"}, "it says that it is pure"),
        ({"numba": "0.68.0"}, r"asks for \['numba==0.68.0', 'llvmlite==0.46.1'\], its kernels for"),
        ({"unlisted": ["structron/__init__.py"]}, "RECORD has other files"),
        ({"absent": ["structron/gone.py"]}, "RECORD has other files"),
        ({"changed": ["structron/__init__.py"]}, "structron/__init__.py is not what RECORD says"),
    ],
)
def test_what_an_index_or_a_user_could_not_use_is_refused(wheel, wrong, reason):
    with pytest.raises(ValueError, match=reason):
        wheels.check(wheel(**wrong))
