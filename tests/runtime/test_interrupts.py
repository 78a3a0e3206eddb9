"""Ctrl-C at any moment of work on threads and processes: it is heard, and nobody waits for ever."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future

import pytest

from structron.runtime.interrupts import Held, first_done, outcome
from structron.runtime.threads import for_each

PROGRAM = """
import os, random, signal, sys, threading, time
from collections import deque
from structron.runtime.processes import ProcessPool, as_done
from structron.runtime.threads import for_each, in_order

class Square:
    def __call__(self, n):
        return n * n

def with_threads():
    assert for_each(Square(), range(6), 2) == [0, 1, 4, 9, 16, 25]

def in_turn():
    assert list(in_order(Square(), range(6), 2)) == [0, 1, 4, 9, 16, 25]

def with_processes():
    pool = ProcessPool(Square, 2, fork=True)
    try:
        assert sorted(future.result() for _, future in as_done(pool, deque(range(6)))) == [0, 1, 4, 9, 16, 25]
    finally:
        pool.close()

work, times = globals()[sys.argv[1]], int(sys.argv[2])
begun, moments = threading.Semaphore(0), random.Random(1)

def interrupt():
    for _ in range(times):
        begun.acquire()
        time.sleep(moments.random() / 200)
        os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
heard = 0
while heard < times:
    try:
        begun.release()
        while True:
            work()
    except KeyboardInterrupt:
        heard += 1
print(heard)
"""


@pytest.mark.parametrize(("work", "times"), [("with_threads", 300), ("in_turn", 300), ("with_processes", 40)])
def test_an_interruption_at_any_moment(work, times):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, work, str(times)], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{times}\n"


def test_held_steps_are_done_to_their_end():
    steps = []

    def work():
        with Held():
            with Held():
                signal.raise_signal(signal.SIGINT)
                steps.append("inner")
            steps.append("outer")
        steps.append("never")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is before


def test_whole_blocks_are_done_to_their_end_even_where_they_wait():
    found = []

    def work():
        with Held(whole=True):
            signal.raise_signal(signal.SIGINT)
            found.extend(for_each(abs, [-1, -2, -3], 2))

    with pytest.raises(KeyboardInterrupt):
        work()
    assert found == [1, 2, 3]

    def interrupted():
        with Held():
            signal.raise_signal(signal.SIGINT)
            for_each(abs, [-1, -2, -3], 2)
            found.append("never")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert found == [1, 2, 3]


def test_a_handler_of_the_program_is_called_when_the_steps_are_done():
    calls = []
    before = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    try:
        with Held():
            signal.raise_signal(signal.SIGINT)
            assert not calls
        assert calls == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_ignored_it_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Held():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_waiting():
    one, other = Future(), Future()
    assert first_done([one, other], 0.01) == set()
    threading.Timer(0.05, lambda: other.set_result(7)).start()
    assert first_done([one, other]) == {other}
    assert outcome(other) == 7
    one.set_exception(KeyError("k"))
    with pytest.raises(KeyError):
        outcome(one)


def test_waiting_is_interrupted():
    begin = time.monotonic()
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        outcome(Future())
    assert time.monotonic() - begin < 100
