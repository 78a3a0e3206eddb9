"""Compiled kernels are kept on disk: the second process loads them, and an edit of any kernel file makes them anew."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import structron
from helpers import run_python
from structron.kernels import shipped as wheel
from structron.kernels.jit import compiled
from structron.kernels.table import hash_list

LIST = """
import json, sys
from numba.core.dispatcher import Dispatcher

def counts():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("structron")]
    kernels = {k: v for module in modules for k, v in vars(module).items() if isinstance(v, Dispatcher)}
    stats = {name: kernel.stats for name, kernel in kernels.items()}
    return {name: [sum(s.cache_hits.values()), sum(s.cache_misses.values())] for name, s in stats.items()}
"""
TRAIN = f"""{LIST}
import structron
from structron.kernels.jit import is_cold
from structron.search.chain.viterbi import decode
from structron.update.perceptron import learn

cold = [is_cold(learn), is_cold(decode)]
labeler = structron.Tagger(passes=2).fit([[("a", "X"), ("b", "Y")], [("b", "Y")]])
labeler.predict([["a", "c"]])
labeler.save(sys.argv[1])
structron.load(sys.argv[1]).predict([["a", "c"]])
print(json.dumps({{"file": structron.__file__, "cold": cold, "warm": is_cold(learn), "kernels": counts()}}))
"""
HASH = f"""{LIST}
from structron.kernels.table import hash_list

hash_list(["a"])
print(json.dumps(counts()))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs programs on a copy of the package with a cache of their own; gives what they print."""
    folder = tmp_path_factory.mktemp("cache")
    package = Path(structron.__file__).parent
    shutil.copytree(package, folder / "src" / "structron", ignore=shutil.ignore_patterns("__pycache__", "binary"))

    def start(code: str) -> dict:
        environment = {"NUMBA_CACHE_DIR": str(folder / "cache"), "STRUCTRON_SOURCE": str(folder / "src")}
        done = run_python(code, str(folder / "model"), timeout=1800, **environment)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    start.package = folder / "src" / "structron"
    return start


@pytest.mark.slow
def test_a_second_process_compiles_nothing(run):
    first, second = run(TRAIN), run(TRAIN)
    assert Path(first["file"]).parent == run.package
    assert first["cold"] == [True, True]
    assert second["cold"] == [False, False]
    assert first["warm"] is False
    for name in ("learn", "decode", "template_hashes", "atom_values", "table_number", "put_names"):
        assert first["kernels"][name][1] > 0, name
        assert second["kernels"][name][0] > 0, name
    assert {name: misses for name, (_, misses) in second["kernels"].items() if misses} == {}


CALL = f"""{LIST}
from structron.kernels import library
from structron.kernels.jit import compiled
from structron.kernels.table import hash_list, hash_strings

asked = []
read = library.binding.parse_bitcode
library.binding.parse_bitcode = lambda code: asked.append(len(code)) or read(code)
hash_list(["a"])
before = len(asked)

def calls(text, offsets, out):
    hash_strings(text, offsets, out)
    return out[0]

import inspect, numpy as np
from structron.kernels.table import pack_strings
from numba import njit
text, offsets = pack_strings(["a", "b"])
out = np.empty(2, np.uint64)
found = njit(calls)(text, offsets, out)
print(json.dumps([counts()["hash_strings"], before, len(asked), int(found) == int(hash_list(["a"])[0])]))
"""


@pytest.mark.slow
def test_bitcode_is_read_only_for_a_compiler(run):
    """A kernel from the disk runs without; another one that calls it is compiled from it."""
    run(HASH)
    assert run(CALL) == [[1, 0], 0, 1, True]


def edit(path: Path) -> None:
    assert path.is_file()
    with path.open("a") as stream:
        stream.write("# edited\n")


@pytest.mark.slow
@pytest.mark.parametrize("edited", ["search/chain/viterbi.py", "update/perceptron.py"])
def test_an_edit_of_any_kernel_file_makes_kernels_anew(run, edited):
    """Numba itself would look at the file of the one kernel only, and keep what others inlined from elsewhere."""
    run(HASH)
    assert run(HASH)["hash_strings"] == [1, 0]
    edit(run.package / edited)
    assert run(HASH)["hash_strings"] == [0, 1]
    assert run(HASH)["hash_strings"] == [1, 0]
    touched = (run.package / edited).stat().st_mtime + 5
    os.utime(run.package / edited, (touched, touched))
    assert run(HASH)["hash_strings"] == [0, 1]


@pytest.mark.slow
def test_an_edit_elsewhere_changes_nothing(run):
    run(HASH)
    edit(run.package / "tasks" / "chain" / "labeler.py")
    assert run(HASH)["hash_strings"] == [1, 0]


# -- shipped kernels ---------------------------------------------------------------------------------------------------

TOOLS = Path(__file__).parents[2] / "tools"
SHIP = """
import sys
from pathlib import Path
import structron.kernels.shipped
sys.path.insert(0, sys.argv[2])
import ship_kernels
print(*ship_kernels.ship(Path(sys.argv[3]), sys.argv[4]))
"""
needs_baseline = pytest.mark.skipif(
    platform.machine() not in wheel.BASELINES, reason="no kernels are shipped for this kind of machine"
)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A package that brings a few kernels along; runs programs on it with an empty cache."""
    folder, cpu = tmp_path_factory.mktemp("shipped"), wheel.BASELINES[platform.machine()]
    package, ignore = Path(structron.__file__).parent, shutil.ignore_patterns("__pycache__", "binary")
    for name in ("built", "installed"):
        shutil.copytree(package, folder / name / "structron", ignore=ignore)
    target = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": "", "STRUCTRON_SOURCE": str(folder / "built")}
    done = run_python(HASH, "", timeout=1800, **target)
    assert json.loads(done.stdout)["hash_strings"] == [0, 1], done.stderr[-2000:]
    installed = {"STRUCTRON_SOURCE": str(folder / "installed")}
    done = run_python(SHIP, "", str(TOOLS), str(folder / "built"), cpu, timeout=1800, **installed)
    assert int(done.stdout.split()[0]) >= 3, done.stderr[-2000:]

    def start(code: str = HASH, **more: str) -> dict:
        own = {"NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("cache")), **installed, **more}
        done = run_python(code, "", timeout=1800, **own)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    start.package = folder / "installed" / "structron"
    return start


@needs_baseline
@pytest.mark.slow
def test_shipped_kernels_are_taken_where_there_are_none(shipped):
    assert shipped()["hash_strings"] == [1, 0]
    code = HASH.replace('hash_list(["a"])', 'assert hash_list(["a", "bc"]).tolist() == sys_hashes')
    expected = [int(h) for h in hash_list(["a", "bc"])]
    assert shipped(code.replace("sys_hashes", repr(expected)))["hash_strings"] == [1, 0]


@needs_baseline
def test_shipped_kernels_of_other_machines_versions_and_sources_are_not(tmp_path, monkeypatch):
    cpu = wheel.BASELINES[platform.machine()]
    target = [wheel.binding.get_process_triple(), cpu, ""]
    known = {"target": target, "versions": wheel.versions(), "contents": wheel.contents()}
    monkeypatch.setattr(wheel, "SHIPPED", tmp_path)
    monkeypatch.setattr(wheel.binding, "get_host_cpu_features", lambda: dict.fromkeys(wheel.NEEDED.get(cpu, ()), True))

    def taken(text: str) -> bool:
        (tmp_path / wheel.ABOUT).write_text(text)
        wheel.shipped_target.cache_clear()
        return wheel.shipped_target() is not None

    assert taken(json.dumps(known))
    for name, value in (
        ("target", ["mips-linux", *target[1:]]),
        ("target", [target[0], "another", ""]),
        ("target", target[:2]),
        ("target", None),
        ("versions", {**known["versions"], "numba": "0.1"}),
        ("versions", {**known["versions"], "python": "cpython-399"}),
        ("contents", "0"),
    ):
        assert not taken(json.dumps({**known, name: value})), (name, value)
    assert not taken(json.dumps(known)[:40])
    monkeypatch.setattr(wheel.binding, "get_host_cpu_features", dict)
    assert taken(json.dumps(known)) is (cpu not in wheel.NEEDED)
    wheel.shipped_target.cache_clear()


@pytest.mark.slow
@pytest.mark.skipif(wheel.fcntl is None, reason="no locks on this system")
def test_two_processes_do_not_compile_the_same_kernel(tmp_path):
    """The one that comes second waits, and reads what the first has written."""
    package = Path(structron.__file__).parent
    ignore = shutil.ignore_patterns("__pycache__", "binary")
    shutil.copytree(package, tmp_path / "src" / "structron", ignore=ignore)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    started = [
        subprocess.Popen([sys.executable, "-c", HASH], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    found = [json.loads(process.communicate(timeout=1800)[0])["hash_strings"] for process in started]
    assert sorted(found) == [[0, 1], [1, 0], [1, 0]]


def test_a_lock_is_not_waited_for_without_end(tmp_path, monkeypatch):
    """A process that was stopped in the middle keeps nobody from working."""
    kernel = compiled(lambda x: x + 1)
    kernel._cache._cache_path = str(tmp_path)
    assert kernel._cache._lock() is (wheel.fcntl is not None)
    kernel._cache.unlock()
    monkeypatch.setattr(wheel, "LONGEST_WAIT", 0.05)
    if wheel.fcntl is not None:

        def busy(*_):
            raise BlockingIOError

        monkeypatch.setattr(wheel.fcntl, "lockf", busy)
        assert not kernel._cache._lock()
        monkeypatch.setattr(wheel, "_lock_file", lambda folder: None)
        assert not kernel._cache._lock()
