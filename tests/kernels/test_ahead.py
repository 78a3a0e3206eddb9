"""The list of kernels is that of the code, and processes compile what it says, each kernel once."""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from numba.core.config import DISABLE_JIT

from helpers import run_python
from structron.kernels import ahead, cache, fingerprint, listed
from structron.tasks.registry import TRAINABLE

pytestmark = pytest.mark.skipif(bool(DISABLE_JIT), reason="nothing is compiled")
linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are not copied elsewhere")
CHEAP = 6
"""Kernels that are compiled here: those that take least."""


def cheap() -> list[listed.ListedKernel]:
    return sorted((own for own in listed.every_kernel() if own.seconds > 0.05), key=lambda own: own.seconds)[:CHEAP]


@pytest.fixture
def empty(monkeypatch, tmp_path):
    """An empty cache, a few kernels that somebody needs, and processes that are worth it for those."""
    monkeypatch.setenv("STRUCTRON_CACHE", str(tmp_path))
    for own in (cache.places, cache._writable, cache._lock_file):
        own.cache_clear()
    monkeypatch.setattr(ahead, "complete", set())
    monkeypatch.setattr(ahead, "WORTH_IT", 0.0)
    monkeypatch.setattr(ahead, "cores", lambda: 2)
    monkeypatch.setattr(ahead, "can_copy", lambda: sys.platform == "linux")
    monkeypatch.setattr(ahead, "needed_for", lambda wanted: [k for name in wanted for k in given(name)])
    yield tmp_path
    monkeypatch.undo()
    for own in (cache.places, cache._writable, cache._lock_file):
        own.cache_clear()


def given(name: str) -> list[listed.ListedKernel]:
    """Two halves of the cheap kernels, for two tasks."""
    own = cheap()
    return {"use first": own[: CHEAP // 2], "use second": own[CHEAP // 2 :]}[name]


def processes_of(compilers: ahead.Compilers) -> list[Any]:
    return [member.process for member in compilers.pool.members.values()]


def kept(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}


# -- the list ----------------------------------------------------------------------------------------------------------


def test_every_listed_kernel_is_there():
    for own in listed.every_kernel():
        found = listed.the(own.function)
        assert callable(found), own.function
        assert own.seconds >= 0.0
        for need in own.needs:
            phase, task = need.split()[:2]
            assert phase in ("train", "use", "more")
            assert task in (*TRAINABLE, "english") or need in listed.COMMON


def test_types_can_be_written_and_read():
    for own in listed.every_kernel():
        assert listed.arguments_text(listed.read(own.arguments)) == own.arguments
        if own.returns:
            assert listed.spelled(listed.read(own.returns)) == own.returns


def test_those_that_take_longest_come_first():
    for task in TRAINABLE:
        seconds = [own.seconds for own in listed.needed_for([f"train {task}"])]
        assert seconds
        assert seconds == sorted(seconds, reverse=True)


def test_no_kernel_is_a_sixth_of_all():
    """None waits for another, so the longest one is the longest chain: eight cores can be six times as fast as one."""
    seconds = [own.seconds for own in listed.every_kernel()]
    assert max(seconds) <= sum(seconds) / 6


RECORD = """
import json, os, tempfile
from pathlib import Path
from benchmarks.kernels import NEEDS, record

def apart(need, folder):
    reading, writing = os.pipe()
    if not os.fork():
        status = 1
        try:
            with os.fdopen(writing, "w") as out:
                json.dump(record(need, folder), out)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    assert os.wait()[1] == 0, need
    return json.loads(text)

found = {}
with tempfile.TemporaryDirectory() as folder:
    for need in NEEDS:
        for own in (apart if hasattr(os, "fork") else record)(need, Path(folder)):
            found.setdefault(own["function"] + own["arguments"], []).append(need)
print(json.dumps(found))
"""
"""Each part of the work in a copy of the process: one that has loaded a kernel does not ask for it again."""


@pytest.mark.slow
def test_the_list_is_that_of_the_code():
    """All tasks are trained and used as they were for the list: python -m benchmarks.kernels makes it again."""
    done = run_python(
        RECORD,
        timeout=1200,
        PYTHONPATH=os.pathsep.join((str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")]))),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    asked = json.loads(done.stdout.splitlines()[-1])
    known = {own.function + own.arguments: own.needs for own in listed.every_kernel()}
    assert asked.keys() == known.keys()
    if hasattr(os, "fork"):
        needs = [{(name, need) for name, own in found.items() for need in own} for found in (asked, known)]
        assert needs[0] ^ needs[1] == set()


# -- the processes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [pytest.param(True, marks=linux), False])
def test_each_kernel_is_compiled_once(empty, monkeypatch, copies):
    """By copies of this process, and by fresh ones."""
    monkeypatch.setattr(ahead, "can_copy", lambda: copies)
    shown = []
    assert len(ahead.cold(["use first", "use second"])) == CHEAP
    assert (
        ahead.prepare(["use first", "use second"], lambda progress: shown.append(progress.left()), workers=2) == CHEAP
    )
    assert kept(empty) == {fingerprint.listed_name(own) for own in cheap()}
    assert shown
    assert ahead.prepare(["use first", "use second"], workers=2) == 0


def test_what_is_asked_for_comes_first_and_is_waited_for(empty):
    with ahead.meanwhile(["use first", "use second"]):
        assert ahead.Compilers.at_work is not None
        processes = processes_of(ahead.Compilers.at_work)
        ahead.prepare(["use second"])
        assert ahead.cold(["use second"]) == []
    assert ahead.Compilers.at_work is None
    assert all(process.returncode is not None for process in processes)


def test_processes_end_with_whoever_started_them(empty):
    processes = []

    def fail():
        with ahead.meanwhile(["use first", "use second"]):
            processes.extend(processes_of(ahead.Compilers.at_work))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert processes
    assert all(process.returncode is not None for process in processes)


def test_nobody_waits_for_a_process_that_is_dead(empty):
    """What it was at is compiled when it is called."""
    with ahead.Compilers(cheap(), 2) as compilers:
        for process in processes_of(compilers):
            os.kill(process.pid, signal.SIGKILL)
        until = time.monotonic() + 60
        while compilers.watch() and time.monotonic() < until:
            pass
        assert not compilers.alive
        compilers.hurry(cheap())
        assert compilers.progress.done == 0


def test_a_kernel_that_cannot_be_compiled_is_left(empty, monkeypatch):
    """The processes go on with the next one."""
    own = cheap()
    monkeypatch.setattr(ahead, "every_kernel", lambda: Unknown(listed.every_kernel(), own[0]))
    with ahead.Compilers(own, 1) as compilers:
        while compilers.watch():
            pass
        assert compilers.progress.done == CHEAP
    assert kept(empty) == {fingerprint.listed_name(one) for one in own[1:]}


class Unknown(list):
    """The kernels, of which a process is asked for one that is not there."""

    def __init__(self, kernels: list[listed.ListedKernel], unknown: listed.ListedKernel):
        super().__init__(kernels)
        self.unknown = unknown

    def index(self, own: listed.ListedKernel) -> int:  # type: ignore[override]
        return 10**6 if own == self.unknown else super().index(own)


def test_few_kernels_are_not_worth_processes(monkeypatch):
    monkeypatch.setattr(ahead, "cold", lambda wanted: cheap())
    assert sum(own.seconds for own in cheap()) < ahead.WORTH_IT
    assert ahead.prepare(["use first"]) == 0
    with ahead.meanwhile(["use first"]):
        assert ahead.Compilers.at_work is None


def test_threads_that_ask_at_the_same_time_both_get_theirs(empty):
    with ahead.meanwhile(["use first", "use second"]):
        asked = [threading.Thread(target=ahead.prepare, args=([name],)) for name in ("use first", "use second")]
        for own in asked:
            own.start()
        for own in asked:
            own.join(timeout=300)
        assert ahead.cold(["use first", "use second"]) == []


def test_a_process_with_threads_is_not_copied():
    """One of them could be holding a lock that nobody gives back in the copy."""
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        assert not ahead.can_copy()
    finally:
        over.set()
        other.join()
