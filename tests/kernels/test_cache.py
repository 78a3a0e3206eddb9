"""Compiled kernels are kept on disk: the second process loads them, and an edit of any kernel file makes them anew."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import structron
from helpers import run_python
from structron.kernels import cache

COUNTS = """
import json, sys
from numba.core import event

class Listener(event.Listener):
    compiled = []
    def on_start(self, event):
        self.compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
"""
TRAIN = f"""{COUNTS}
import structron
from structron.kernels.jit import is_cold
from structron.kernels.table import hash_strings

cold = is_cold(hash_strings)
labeler = structron.Tagger(passes=2).fit([[("a", "X"), ("b", "Y")], [("b", "Y")]])
labeler.predict([["a", "c"]])
labeler.save(sys.argv[1])
structron.load(sys.argv[1]).predict([["a", "c"]])
print(json.dumps([structron.__file__, cold, is_cold(hash_strings), Listener.compiled]))
"""
HASH = f"""{COUNTS}
from structron.kernels.table import hash_list

hash_list(["a"])
print(json.dumps("hash_strings" in Listener.compiled))
"""
COMPILED, LOADED = True, False


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs programs on a copy of the package with a cache of their own; gives what they print."""
    folder = tmp_path_factory.mktemp("cache")
    package = Path(structron.__file__).parent
    shutil.copytree(package, folder / "src" / "structron", ignore=shutil.ignore_patterns("__pycache__", "binary"))

    def start(code: str):
        environment = {"STRUCTRON_CACHE": str(folder / "cache"), "STRUCTRON_SOURCE": str(folder / "src")}
        done = run_python(code, str(folder / "model"), timeout=1800, **environment)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    start.package, start.cache = folder / "src" / "structron", folder / "cache"
    return start


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    """With the cache that all tests share."""
    first, second = (json.loads(run_python(TRAIN, str(tmp_path / "m"), timeout=1800).stdout) for _ in range(2))
    assert first[0] == second[0] == structron.__file__
    assert second[1:] == [False, False, []]


def edit(path: Path) -> None:
    assert path.is_file()
    with path.open("a") as stream:
        stream.write("# edited\n")


@pytest.mark.slow
def test_an_edit_of_any_kernel_file_makes_kernels_anew(run):
    """Numba itself would look at the file of the one kernel only, and keep what others inlined from elsewhere."""
    run(HASH)
    assert run(HASH) is LOADED
    touched = (run.package / "update" / "perceptron.py").stat().st_mtime + 5
    os.utime(run.package / "update" / "perceptron.py", (touched, touched))
    assert run(HASH) is LOADED  # what is in a file counts, not when it was written
    edit(run.package / "tasks" / "chain" / "labeler.py")
    assert run(HASH) is LOADED
    for edited in ("search/chain/viterbi.py", "update/perceptron.py"):
        edit(run.package / edited)
        assert run(HASH) is COMPILED
        assert run(HASH) is LOADED
    assert len(list(run.cache.iterdir())) == 3


@pytest.mark.slow
@pytest.mark.skipif(cache.fcntl is None, reason="no locks on this system")
def test_two_processes_do_not_compile_the_same_kernel(tmp_path):
    """The one that comes second waits, and reads what the first has written."""
    environment = {**os.environ, "STRUCTRON_CACHE": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", HASH], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    found = [json.loads(process.communicate(timeout=1800)[0]) for process in started]
    assert sorted(found) == [LOADED, LOADED, COMPILED]


INTERRUPTED = """
import sys
from numba.core import event
from structron.kernels.table import hash_list

class Stop(event.Listener):
    def on_start(self, event):
        if event.data["dispatcher"].py_func.__name__ == "hash_strings":
            raise KeyboardInterrupt
    def on_end(self, event):
        pass

event.register("numba:compile", Stop())
try:
    hash_list(["a"])
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.skipif(cache.fcntl is None, reason="no locks on this system")
def test_an_interrupted_compilation_keeps_nobody_waiting(tmp_path):
    """The process that was interrupted lives on, and another one compiles the kernel meanwhile."""
    environment = {**os.environ, "STRUCTRON_CACHE": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], env=environment, **pipes) as first:
        assert first.stdout.readline() == "interrupted\n"
        done = run_python(HASH, timeout=cache.LONGEST_WAIT / 2, STRUCTRON_CACHE=str(tmp_path))
        assert json.loads(done.stdout) is COMPILED
        assert first.poll() is None
        first.send_signal(signal.SIGKILL)


def test_a_lock_is_not_waited_for_without_end(monkeypatch):
    """A process that hangs keeps nobody from working for ever."""
    assert cache.lock("kernel") is (cache.fcntl is not None)
    cache.unlock("kernel")
    monkeypatch.setattr(cache, "LONGEST_WAIT", 0.05)
    if cache.fcntl is not None:

        def busy(*_):
            raise BlockingIOError

        monkeypatch.setattr(cache.fcntl, "lockf", busy)
        begin = time.monotonic()
        assert not cache.lock("kernel")
        assert time.monotonic() - begin >= 0.05
        monkeypatch.setattr(cache, "_lock_file", lambda folder, process: None)
        assert not cache.lock("kernel")


def test_kernels_of_fingerprints_that_nobody_uses_go(tmp_path, monkeypatch):
    name = cache.fingerprint()
    for k in range(cache.KEPT + 3):
        folder = tmp_path / f"{k:x}{name[1:]}"
        folder.mkdir()
        (folder / "kernel").write_text("")
        os.utime(folder, (k, k))
    (tmp_path / "mine").mkdir()
    cache._forget_old(tmp_path)
    assert sorted(own.name[0] for own in tmp_path.iterdir()) == [*(f"{k:x}" for k in range(3, cache.KEPT + 3)), "m"]


def test_kernels_that_are_used_are_not_old(tmp_path, monkeypatch):
    """Nothing is compiled into a folder that has everything: it is used all the same."""
    monkeypatch.setattr(cache, "places", lambda: (tmp_path,))
    folder = cache._writable.__wrapped__()
    os.utime(folder, (1, 1))
    assert cache._writable.__wrapped__() == folder
    assert folder.stat().st_mtime > 1
