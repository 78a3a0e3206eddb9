"""Workers that are processes: what they are asked, what they raise, how they end; copies of this process, too."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import wait
from functools import partial

import pytest
from worker_functions import adder, failing, mortal, odd, repeated, sleeper

from helpers import SOURCE
from structron.errors import NoSentencesError, StructronError
from structron.runtime.processes import ProcessPool, WorkerDied, as_done, on_copies

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
WAYS = [False, pytest.param(True, marks=linux)]


@pytest.fixture(params=WAYS, ids=["fresh", "copies"])
def pool(request):
    with contextlib.closing(ProcessPool(partial(adder, 5), 2, fork=request.param)) as pool:
        yield pool


def test_a_worker_is_made_once_and_asked_often(pool):
    found = [pool.call(k % 2, k) for k in range(20)]
    assert [future.result()[0] for future in found] == [5 + k for k in range(20)]
    assert [len({future.result()[1] for future in found[k::2]}) for k in range(2)] == [1, 1]
    assert len({future.result()[1] for future in found} | {os.getpid()}) == 3


def test_large_questions_and_answers(pool):
    """Several wait in a worker that has not answered the first."""
    text = "ä" * 3_000_000
    with contextlib.closing(ProcessPool(partial(repeated, 2), 1, fork=pool.fork)) as own:
        found = [own.call(0, text) for _ in range(3)]
        assert all(future.result() == 2 * text for future in found)


def test_errors_are_raised_where_they_are_waited_for(pool):
    with pytest.raises(StructronError, match=r"^what$"):
        pool.call(0, StructronError("what")).result()
    with pytest.raises(NoSentencesError) as none:
        pool.call(0, NoSentencesError("none", ["# one"])).result()
    assert none.value.lines == ["# one"]
    with pytest.raises(KeyError) as own:
        pool.call(0, KeyError("what")).result()
    assert "in add" in own.value.__notes__[0]
    assert pool.call(0, 1).result()[0] == 6


def test_an_error_that_cannot_be_sent_is_told(pool):
    with contextlib.closing(ProcessPool(odd, 1, fork=pool.fork)) as own:
        with pytest.raises(RuntimeError, match="Odd: 1 2"):
            own.call(0, "odd").result()
        with pytest.raises(RuntimeError, match="pickle"):
            own.call(0, "a function").result()
        assert own.call(0, "well").result() == "well"


def test_a_worker_that_cannot_be_made(pool):
    with contextlib.closing(ProcessPool(failing, 1, fork=pool.fork)) as own:
        for _ in range(2):
            with pytest.raises(StructronError, match="it cannot be made"):
                own.call(0, 1).result()


def test_one_that_dies_is_replaced_unless_it_was_a_copy(pool):
    first = pool.call(0, 1).result()[1]
    for future in (pool.call(0, None), *(pool.call(0, k) for k in range(3))):
        with pytest.raises(WorkerDied, match=r"^its process died \(exit status -9\)$"):
            future.result()
    if pool.fork:
        with pytest.raises(WorkerDied):
            pool.call(0, 1).result()
    else:
        assert pool.call(0, 1).result()[1] not in (first, os.getpid())
    assert pool.call(1, 2).result()[0] == 7


def test_closing_ends_processes_at_work(pool):
    with contextlib.closing(ProcessPool(sleeper, 2, fork=pool.fork)) as own:
        asked = [own.call(k, 300) for k in range(2)]
        pids = [member.process.pid for member in own.members.values()]
    wait(asked)
    assert all(isinstance(future.exception(), WorkerDied) for future in asked)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


ORPHANS = """
import os, sys, time
sys.path.insert(0, {folder!r})
from worker_functions import sleeper
from structron.runtime.processes import ProcessPool
pool = ProcessPool(sleeper, 2, fork={fork})
for k in range(2):
    pool.call(k, 0).result()
    pool.call(k, 300)
print(*(member.process.pid for member in pool.members.values()), flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name != "posix", reason="POSIX only")
def test_processes_end_with_whoever_began_them(pool):
    """Though that is killed, and they are at work."""
    folder = os.path.dirname(__file__)
    done = subprocess.run(
        [sys.executable, "-c", ORPHANS.format(folder=folder, fork=pool.fork)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | {"PYTHONPATH": SOURCE},
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    until = time.monotonic() + 60
    for pid in map(int, done.stdout.split()):
        while is_running(pid):
            assert time.monotonic() < until
            time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether there is a process that is not dead yet: nobody may wait for an orphan in a container."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# -- many tasks --------------------------------------------------------------------------------------------------------


def test_tasks_may_come_while_others_are_done(pool):
    waiting, found = deque([1, 2, 3]), []
    for task, future in as_done(pool, waiting):
        found.append((task, future.result()[0]))
        if task < 20:
            waiting.append(10 * task)
    assert sorted(found) == [(k, 5 + k) for k in (1, 2, 3, 10, 20, 30, 100)]


@pytest.mark.parametrize("tries", [1, 2, 3])
def test_a_task_is_begun_anew_when_its_worker_dies(tries, tmp_path):
    with contextlib.closing(ProcessPool(partial(mortal, str(tmp_path)), 2)) as pool:
        found = dict(as_done(pool, deque("ab"), tries))
    assert {task: future.exception() is None for task, future in found.items()} == dict.fromkeys("ab", tries == 3)
    assert all((tmp_path / name).read_text() == "x" * tries for name in "ab")


@linux
def test_copies_know_what_we_know_and_answer_in_order():
    known = [7]
    found = on_copies(lambda k: (time.sleep(0.01 * (k % 3)), known[0] * k)[1], itertools.count(), 3)
    assert list(itertools.islice(found, 30)) == [7 * k for k in range(30)]
    found.close()


@linux
def test_a_copy_that_dies_is_one_line():
    with pytest.raises(StructronError, match=r"^a process died; expected enough memory, or --jobs 1$"):
        list(on_copies(lambda k: os.kill(os.getpid(), signal.SIGKILL), range(9), 2))
