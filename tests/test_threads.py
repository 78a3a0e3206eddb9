"""Work on several threads: in order, no further ahead than it has to be, and errors in their turn."""

import threading
import time

import pytest

from structron.threads import cores, in_order


def test_cores():
    assert cores() >= 1


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
    meet = threading.Barrier(3, timeout=30)
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
