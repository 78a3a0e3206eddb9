"""Work on several threads: in order, no further ahead than it has to be, and errors in their turn."""

import concurrent.futures
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structron.runtime.threads import (
    BATCH_TOKENS,
    LEAST_TOKENS,
    MOST_SENTENCES,
    Busy,
    ThreadPool,
    batches,
    cores,
    in_order,
    slices,
)


def test_cores():
    assert cores() >= 1


@given(st.lists(st.integers(0, 30_000), max_size=12), st.integers(1, 4))
def test_batches_cover_all_examples_in_order(lengths, jobs):
    """None is longer than it need be; with several threads there is one for each where there are words enough."""
    found = batches(np.cumsum([0, *lengths]), jobs)
    assert [e for lo, hi in found for e in range(lo, hi)] == list(range(len(lengths)))
    assert all(hi - lo == 1 or sum(lengths[lo:hi]) <= BATCH_TOKENS for lo, hi in found)
    if jobs > 1:
        share = max(LEAST_TOKENS, sum(lengths) // jobs)
        assert all(hi - lo == 1 or sum(lengths[lo:hi]) <= share for lo, hi in found)


@given(st.integers(0, 100_000), st.integers(1, 70), st.integers(1, 20))
def test_parts_cover_all_sentences_in_order(count, jobs, chunks):
    found = slices(count, jobs, chunks)
    assert [k for own in found for k in range(own.start, own.stop)] == list(range(count))
    assert all(own.stop - own.start <= MOST_SENTENCES for own in found)
    assert len(found) <= max(jobs * chunks, -(-count // MOST_SENTENCES))


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_what_is_found_comes_in_order(jobs):
    def run(k: int) -> int:
        time.sleep(0.002 * (k % 3))
        return k * k

    assert list(in_order(run, iter(range(40)), jobs)) == [k * k for k in range(40)]
    assert list(in_order(run, iter([]), jobs)) == []


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_no_more_is_read_than_threads_need(jobs):
    read, most = 0, 0

    def work():
        nonlocal read
        for k in range(50):
            read += 1
            yield k

    for done, _ in enumerate(in_order(lambda k: k, work(), jobs)):
        most = max(most, read - done)
    assert read == 50
    assert most <= jobs + 1


def test_threads_work_side_by_side():
    meet = threading.Barrier(3, timeout=300)
    assert len({*in_order(lambda k: meet.wait(), iter(range(3)), 3)}) == 3


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_error_comes_after_what_was_before_it(jobs):
    def run(k: int) -> int:
        if k == 5:
            raise KeyError(k)
        return k

    def work():
        yield from range(3)
        raise OSError("the end")

    found = []
    with pytest.raises(KeyError):
        found.extend(in_order(run, iter(range(100)), jobs))  # extend keeps what came before the error
    assert found == [0, 1, 2, 3, 4]
    found = []
    with pytest.raises(OSError, match="the end"):
        found.extend(in_order(run, work(), jobs))
    assert found == [0, 1, 2]


def test_who_stops_listening_stops_the_work():
    seen = []
    found = in_order(seen.append, iter(range(1000)), 2)
    next(found)
    found.close()
    assert len(seen) < 10


# -- the pool ----------------------------------------------------------------------------------------------------------


def test_a_pool_has_as_many_threads_as_it_may():
    now, most, lock = 0, 0, threading.Lock()

    def run(k: int) -> int:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.002)
        with lock:
            now -= 1
        return k

    with ThreadPool(3) as pool:
        assert pool.map(run, range(50)) == list(range(50))
    assert most == 3
    assert pool.busy == 0
    with pytest.raises(Busy):
        pool.submit(run, 1)


def test_leaving_a_pool_waits_for_its_threads():
    before, done = threading.active_count(), []
    with ThreadPool(2) as pool:
        for k in range(6):
            pool.submit(lambda k: (time.sleep(0.02), done.append(k)), k)
    assert sorted(done) == [*range(6)]
    assert threading.active_count() == before


def test_after_an_error_nothing_more_is_begun():
    begun = []

    def run(k: int) -> None:
        begun.append(k)
        if k == 1:
            raise KeyError(k)
        time.sleep(0.05)

    with pytest.raises(KeyError), ThreadPool(2) as pool:
        pool.map(run, range(100))
    assert len(begun) < 10


def test_abandoned_work_costs_a_thread_and_another_takes_its_place():
    gate, pool, begun = threading.Event(), ThreadPool(1, waiting=2, spare=1), threading.Semaphore(0)

    def last() -> None:
        begun.release()
        gate.wait(300)

    endless = pool.submit(last)
    assert begun.acquire(timeout=300)
    late, unwanted = pool.submit(lambda: 5), pool.submit(lambda: 6)
    with pytest.raises(Busy):
        pool.submit(lambda: 7)
    pool.abandon(unwanted)
    assert unwanted.cancelled()
    pool.abandon(endless)
    assert late.result(300) == 5
    assert (pool.busy, pool.abandoned) == (1, 1)
    other = pool.submit(last)
    assert begun.acquire(timeout=300)
    pool.abandon(other)  # no thread is to spare now
    waiting = pool.submit(lambda: 8)
    with pytest.raises(concurrent.futures.TimeoutError):
        waiting.result(0.1)
    gate.set()
    assert waiting.result(300) == 8
    concurrent.futures.wait([endless, other])
    assert (pool.busy, pool.abandoned) == (0, 0)
    pool.close()


def test_threads_are_told_that_nobody_waits_for_them():
    heard = []

    def run() -> None:
        heard.append(ThreadPool.interrupted.wait(300))

    def leave() -> None:
        with ThreadPool(1) as pool:
            pool.submit(run)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leave()
    assert heard == [True]
    assert not ThreadPool.interrupted.is_set()
