"""The cache of kernels under faults: damage, full disks, folders that cannot be written to, several processes."""

import inspect
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import numba
import pytest
from numba.core import caching, dispatcher
from numba.core.caching import IndexDataCacheFile
from numba.core.runtime import rtsys

from helpers import ROOT
from structron.kernels import cache, jit
from torture.frame import environment, without_privileges

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")
MODULE = """
from structron.kernels.jit import compiled

@compiled
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


def start(package: Path, **options) -> subprocess.Popen:
    """A process that calls a kernel; the cache is in the package unless options say otherwise."""
    env = environment(**{"NUMBA_CACHE_DIR": "", **options.pop("env", {})})
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", RUN, str(package)], env=env, **streams, **options)


def call(package: Path, **options) -> tuple[list, str]:
    """What a kernel gave in another process, with hits and misses of the cache, and what was said."""
    running = start(package, **options)
    out, said = running.communicate(timeout=300)
    assert running.returncode == 0, said
    return json.loads(out), said


@pytest.fixture(scope="module")
def warm(tmp_path_factory) -> Path:
    """A package with a kernel in its cache."""
    package = tmp_path_factory.mktemp("warm") / "package"
    package.mkdir()
    (package / "mine.py").write_text(MODULE)
    assert call(package) == (COMPILED, "")
    return package


def copy(package: Path, folder: Path, cached: bool = True) -> Path:
    """Times are copied too, so that the cache stays up to date."""
    ignored = None if cached else shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(package, folder / "package", ignore=ignored))


def damaged(data: bytes) -> dict[str, bytes]:
    middle = len(data) // 2
    changed = data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
    return {"empty": b"", "cut": data[:middle], "changed": changed, "text": b"hello\n", "longer": data + b"x"}


@pytest.mark.parametrize("how", ["empty", "cut", "changed", "text", "longer"])
@pytest.mark.parametrize("name", ["base.nbi", "base.1.nbc"])
def test_damaged_files_are_found_out(tmp_path, monkeypatch, capsys, name, how):
    monkeypatch.setattr(cache, "_told", set())
    file = cache.CheckedFile(str(tmp_path), "base", "stamp")
    file.save("key", "kernel")
    assert file.load("key") == "kernel"
    (tmp_path / name).write_bytes(damaged((tmp_path / name).read_bytes())[how])
    assert file.load("key") is None
    assert file.load("key") is None
    said = f"structron: warning: {tmp_path / name}: damaged; the kernel is compiled again\n"
    assert capsys.readouterr().err == said
    file.save("key", "kernel")
    assert file.load("key") == "kernel"


def test_files_of_another_kernel_or_source_are_not_taken(tmp_path, capsys):
    """Two processes may choose one name for two kernels: the loser's file is in the place of the winner's."""
    file = cache.CheckedFile(str(tmp_path), "base", "stamp")
    file.save("one", 1)
    file.save("two", 2)
    (tmp_path / "base.2.nbc").write_bytes((tmp_path / "base.1.nbc").read_bytes())
    assert (file.load("one"), file.load("two")) == (1, None)
    newer = cache.CheckedFile(str(tmp_path), "base", "other stamp")
    assert newer.load("one") is None
    newer.save("one", 3)
    assert (newer.load("one"), file.load("one")) == (3, None)
    index = (tmp_path / "base.nbi").read_bytes()
    file.save("one", 1)
    (tmp_path / "base.nbi").write_bytes(index)
    assert newer.load("one") is None
    assert capsys.readouterr().err == ""


def test_older_caches_are_replaced_without_a_word(tmp_path, capsys):
    file = cache.CheckedFile(str(tmp_path), "base", "stamp")
    IndexDataCacheFile(str(tmp_path), "base", "stamp").save("key", "kernel")
    assert file.load("key") is None
    file.save("key", "another")
    assert (file.load("key"), capsys.readouterr().err) == ("another", "")


def test_a_damaged_kernel_is_compiled_again(warm, tmp_path):
    package = copy(warm, tmp_path)
    (data,) = package.rglob("*.nbc")
    data.write_bytes(data.read_bytes()[:-9])
    assert call(package) == (COMPILED, f"structron: warning: {data}: damaged; the kernel is compiled again\n")
    assert call(package) == (LOADED, "")


def test_what_cannot_be_kept_costs_nothing(tmp_path, monkeypatch, capsys):
    """A full disk, by an error of the writing itself."""
    (tmp_path / "full.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(cache, "_told", set())

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.CheckedFile, "_open_for_write", full)
    import full as module

    assert (module.double(4), module.double(0.5)) == (8, 1.0)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.endswith("compiled kernels cannot be kept (no space left on device)\n")


@posix
def test_a_read_only_package_without_a_home(warm, tmp_path):
    """The usual container: a temporary folder takes the kernels, and one line says so."""
    package, temporary = copy(warm, tmp_path, cached=False), tmp_path / "tmp"
    temporary.mkdir()
    os.chmod(package, 0o555)
    home = {"HOME": str(package), "XDG_CACHE_HOME": str(package)}
    somebody = {"preexec_fn": without_privileges, "env": home | {"TMPDIR": str(temporary)}}
    found, said = call(package, **somebody)
    folder = temporary / f"structron-kernels-{os.getuid()}"
    assert found == COMPILED
    assert said.count("\n") == 1
    assert f"compiled kernels are kept in {folder}: neither package nor home" in said
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert call(package, **somebody)[0] == LOADED
    os.chmod(folder, 0o777)  # anybody could have put code there
    found, said = call(package, **somebody)
    assert found == COMPILED
    assert said.count("\n") == 1
    assert "no place for compiled kernels; each run compiles them" in said


@posix
def test_kernels_that_came_with_a_read_only_package_are_used(warm, tmp_path):
    package = copy(warm, tmp_path)
    nowhere = {name: str(package) for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR", "TEMP", "TMP")}
    os.chmod(package / "__pycache__", 0o555)
    os.chmod(package, 0o555)
    assert call(package, preexec_fn=without_privileges, env=nowhere) == (LOADED, "")


@posix
def test_what_another_user_has_closed_is_compiled(warm, tmp_path):
    package = copy(warm, tmp_path)
    for path in (package / "__pycache__").iterdir():
        os.chmod(path, 0)
    assert call(package, preexec_fn=without_privileges) == (COMPILED, "")
    assert call(package, preexec_fn=without_privileges) == (LOADED, "")


@posix
def test_several_processes_on_one_cold_cache(warm, tmp_path):
    package = copy(warm, tmp_path, cached=False)
    for running in [start(package) for _ in range(3)]:
        out, said = running.communicate(timeout=300)
        assert (json.loads(out)[0], said) == (42, "")
    assert call(package) == (LOADED, "")


# -- the parts of Numba that are its own business -------------------------------------------------------------------


def parameters(function) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_the_private_parts_of_numba_are_as_they_were():
    """Where this fails, Numba has changed below `kernels/cache.py` and `kernels/jit.py`: look there before the bound in
    pyproject.toml is raised."""
    file, whole = caching.IndexDataCacheFile, caching.Cache
    assert parameters(file.__init__) == ["self", "cache_path", "filename_base", "source_stamp"]
    assert parameters(file.save) == ["self", "key", "data"]
    assert parameters(file.load) == ["self", "key"]
    assert parameters(file._save_index) == ["self", "overloads"]
    assert parameters(file._load_index) == ["self"]
    assert parameters(file._save_data) == ["self", "name", "data"]
    assert parameters(file._open_for_write) == ["self", "filepath"]
    assert vars(file("folder", "base", "stamp")) == {
        "_cache_path": "folder",
        "_index_name": "base.nbi",
        "_index_path": os.path.join("folder", "base.nbi"),
        "_data_name_pattern": "base.{number:d}.nbc",
        "_source_stamp": "stamp",
        "_version": numba.__version__,
    }
    assert parameters(whole._index_key) == ["self", "sig", "codegen"]
    assert parameters(whole._load_overload) == ["self", "sig", "target_context"]
    assert parameters(whole.save_overload) == ["self", "sig", "data"]
    assert {"_load_index", "_save_index", "_save_data"} <= set(
        file.load.__code__.co_names + file.save.__code__.co_names
    )
    impl = caching.CompileResultCacheImpl
    assert caching.FunctionCache._impl_class is impl
    assert parameters(impl.rebuild) == ["self", "target_context", "payload"]
    assert isinstance(impl._locator_classes, list)
    assert "_locator_classes" in caching.CacheImpl.__init__.__code__.co_names
    assert parameters(caching._CacheLocator.ensure_cache_path) == ["self"]
    assert parameters(caching._CacheLocator.get_suitable_cache_subpath) == ["py_file"]
    assert parameters(caching._SourceFileBackedLocatorMixin.from_function) == ["py_func", "py_file"]


def test_dispatchers_are_as_they_were():
    kernel = numba.njit(lambda x: x)
    assert isinstance(kernel, dispatcher.Dispatcher)
    assert isinstance(kernel._cache, caching.NullCache)
    assert parameters(kernel.get_call_template) == ["args", "kws"]
    assert parameters(rtsys.initialize) == ["ctx"]
    assert {"_cache"} <= set(dispatcher.Dispatcher.compile.__code__.co_names)
    kernel.compile("int64(int64)")
    kernel.disable_compile()
    assert len(kernel.signatures) == 1
    assert numba.njit(_nrt=False)(lambda x: x)(3) == 3


def test_the_bound_of_numba_is_kept():
    """Newer versions than those tried are not asked for; the bound goes up when the tests above have passed."""
    with open(ROOT / "pyproject.toml", "rb") as stream:
        needed = tomllib.load(stream)["project"]["dependencies"]
    (given,) = (text for text in needed if text.startswith("numba"))
    match = re.fullmatch(r"numba>=0\.(\d+),<0\.(\d+)", given)
    assert match, given
    assert int(match[1]) <= int(version("numba").split(".")[1]) < int(match[2])
    assert jit.KernelCache.__mro__[1] is cache.SafeCache
