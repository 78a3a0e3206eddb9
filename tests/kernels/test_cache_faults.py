"""The cache of kernels under faults: damage, full disks, folders that cannot be written to, several processes."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from helpers import ROOT
from structron.kernels import cache, jit, sealed
from torture.frame import environment, without_privileges

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")
MODULE = """
from structron.kernels.jit import kernel

@kernel
def double(x):
    return 2 * x
"""
RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
import mine
found, stats = mine.double(21), mine.double.stats
print(json.dumps([found, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""
COMPILED, LOADED = [42, 0, 1], [42, 1, 0]


def start(place: Path, **options) -> subprocess.Popen:
    """A process that calls a kernel; the cache is beside its module unless options say otherwise."""
    env = environment(**{"STRUCTRON_CACHE": str(place / "kernels"), **options.pop("env", {})})
    env = {name: value for name, value in env.items() if value}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", RUN, str(place)], env=env, **streams, **options)


def call(place: Path, **options) -> tuple[list, str]:
    """What a kernel gave in another process, with hits and misses of the cache, and what was said."""
    running = start(place, **options)
    out, said = running.communicate(timeout=300)
    assert running.returncode == 0, said
    return json.loads(out), said


@pytest.fixture
def mine(tmp_path) -> Path:
    """A folder with a module that has a kernel."""
    (tmp_path / "mine.py").write_text(MODULE)
    return tmp_path


def damaged(data: bytes) -> dict[str, bytes]:
    middle = len(data) // 2
    changed = data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
    return {"empty": b"", "cut": data[:middle], "changed": changed, "text": b"hello\n", "longer": data + b"x"}


@pytest.mark.parametrize("how", ["empty", "cut", "changed", "text", "longer"])
def test_damaged_files_are_found_out(tmp_path, monkeypatch, capsys, how):
    monkeypatch.setattr(cache, "_told", set())
    path = tmp_path / "kernel"
    sealed.write(path, b"machine code")
    assert cache.unsealed(path) == b"machine code"
    path.write_bytes(damaged(path.read_bytes())[how])
    assert cache.unsealed(path) is None
    assert cache.unsealed(path) is None
    assert capsys.readouterr().err == f"structron: warning: {path}: damaged; the kernel is compiled again\n"
    sealed.write(path, b"machine code")
    assert cache.unsealed(path) == b"machine code"
    assert sorted(tmp_path.iterdir()) == [tmp_path / sealed.KEY, path]


def test_a_damaged_kernel_is_compiled_again(mine):
    assert call(mine) == (COMPILED, "")
    assert call(mine) == (LOADED, "")
    (data,) = mine.rglob("*double-*")
    data.write_bytes(data.read_bytes()[:-9])
    assert call(mine) == (COMPILED, f"structron: warning: {data}: damaged; the kernel is compiled again\n")
    assert call(mine) == (LOADED, "")


def test_an_edit_leaves_nothing_of_the_old_kernel(mine):
    call(mine)
    (before,) = mine.rglob("*double-*")
    (mine / "mine.py").write_text(MODULE + "# edited\n")
    assert call(mine)[0] == COMPILED
    (after,) = mine.rglob("*double-*")
    assert before != after


def test_what_cannot_be_kept_costs_nothing(tmp_path, monkeypatch, capsys):
    """A full disk, by an error of the writing itself."""
    (tmp_path / "full.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(cache, "_told", set())

    def full(*given, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sealed.os, "replace", full)
    import full as module

    assert (module.double(4), module.double(0.5)) == (8, 1.0)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.endswith("compiled kernels cannot be stored (no space left on device)\n")


@posix
def test_a_user_without_a_home(mine, tmp_path_factory):
    """The usual container: a temporary folder takes the kernels, and one line says so."""
    temporary, nowhere = tmp_path_factory.mktemp("tmp"), tmp_path_factory.mktemp("home")
    os.chmod(temporary, 0o777)
    os.chmod(nowhere, 0o555)
    home = {"HOME": str(nowhere), "XDG_CACHE_HOME": "", "STRUCTRON_CACHE": "", "NUMBA_CACHE_DIR": ""}
    somebody = {"preexec_fn": without_privileges, "env": home | {"TMPDIR": str(temporary)}}
    found, said = call(mine, **somebody)
    (folder,) = temporary.iterdir()
    assert folder.name.startswith("structron-kernels-")
    assert found == COMPILED
    assert said == f"structron: warning: no writable home folder; compiled kernels are stored in {folder}\n"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert call(mine, **somebody)[0] == LOADED
    (kernels,) = folder.iterdir()
    os.chmod(kernels, 0o777)  # anybody could have put code there
    found, said = call(mine, **somebody)
    assert found == COMPILED
    others = "others can write to it; compiled kernels are neither read from it nor stored in it"
    assert said == f"structron: warning: {kernels}: {others}\n"


@posix
def test_kernels_that_were_compiled_before_are_used(mine):
    """A folder that was filled by somebody else, and cannot be written to: an image, a cluster's common disk."""
    call(mine)
    folders = [mine / "kernels", *(path for path in (mine / "kernels").iterdir() if path.is_dir())]
    for folder in folders:
        os.chmod(folder, 0o555)
    assert call(mine, preexec_fn=without_privileges) == (LOADED, "")


@posix
def test_what_another_user_has_closed_is_compiled(mine):
    call(mine)
    (data,) = mine.rglob("*double-*")
    os.chmod(data, 0)
    found, said = call(mine, preexec_fn=without_privileges)
    assert found == COMPILED
    assert "compiled kernels cannot be stored" in said or said == "" or "no place" in said


@posix
def test_several_processes_on_one_cold_cache(mine):
    for running in [start(mine) for _ in range(3)]:
        out, said = running.communicate(timeout=300)
        assert (json.loads(out)[0], said) == (42, "")
    assert call(mine) == (LOADED, "")


def test_places(monkeypatch, tmp_path):
    """The variable of ours, that of Numba, the user's cache, temporary files."""
    cache.places.cache_clear()
    try:
        monkeypatch.setenv("STRUCTRON_CACHE", str(tmp_path))
        assert cache.places() == (tmp_path,)
        cache.places.cache_clear()
        monkeypatch.delenv("STRUCTRON_CACHE")
        monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path / "numba"))
        assert cache.places() == (tmp_path / "numba" / "structron",)
        cache.places.cache_clear()
        monkeypatch.setattr(cache.config, "CACHE_DIR", "")
        monkeypatch.setattr(cache.sys, "platform", "linux")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert cache.places() == (tmp_path / "xdg" / "structron" / "kernels", cache.private_folder())
    finally:
        cache.places.cache_clear()


def test_a_folder_that_another_process_removes(tmp_path, monkeypatch):
    """Between finding a folder and listing it, and while a process goes on that has used it."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir(mode=0o700)
        sealed.write(tmp_path / name / f"kernel of {name}", b"machine code")
    monkeypatch.setattr(cache, "folders", lambda: [tmp_path / "first", tmp_path / "second"])
    assert {"kernel of first", "kernel of second"} <= cache.names()
    shutil.rmtree(tmp_path / "first")
    found = cache.names()
    assert "kernel of second" in found
    assert "kernel of first" not in found


def test_the_bound_of_numba_is_kept():
    """Newer versions than those tried are not asked for."""
    with open(ROOT / "pyproject.toml", "rb") as stream:
        needed = tomllib.load(stream)["project"]["dependencies"]
    (given,) = (Requirement(text) for text in needed if text.startswith("numba"))
    assert given.specifier.contains(version("numba"))
    assert jit.KernelCache is cache.KernelCache
