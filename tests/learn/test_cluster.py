"""Shards on a real Ray of two CPUs: the same model to the bit as on threads, whatever dies; and what cannot be."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structron
from estimators import CASES, Case, bytes_of
from helpers import SOURCE, patiently
from runs import Killed, Killer
from structron import StructronError
from structron.learn.loop import WIRE, ShardUpdate
from structron.learn.wire import pack_broadcast, pack_update, unpack
from structron.runtime.cluster import RayPool
from structron.weights.mixing import Changes
from toy import chunk_rows

ray: Any = pytest.importorskip("ray")

KINDS = ("tagger", "tagger, seen", "chunker, beam", "entities", "segments", "parser", "graph-parser", "queue problem")
"""One for each learner."""
TWO = {"shards": 2, "mix": "errors"}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    os.environ["PYTHONPATH"] = os.pathsep.join([SOURCE, os.path.dirname(os.path.dirname(__file__))])
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    patiently(lambda: ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False), ray.shutdown)
    yield
    ray.shutdown()


@pytest.mark.parametrize("name", KINDS)
def test_a_cluster_learns_what_threads_learn(name, tmp_path):
    case: Case = CASES[name]
    threads = case.make(**TWO).fit(case.train, dev=case.test)
    workers = case.make(**TWO, ray="auto").fit(case.train, dev=case.test)
    last = workers.history_[-1]
    assert set(WIRE) <= last.keys()
    assert 0 < last["changed_in_all"] <= last["changed"] or last["updates"] == 0
    assert bytes_of(workers, tmp_path / "a") == bytes_of(threads, tmp_path / "b")


def kill_workers(monkeypatch, wanted: Callable[[int, int], bool]) -> list[int]:
    """Kill workers that have begun with a call; wanted: of this worker, with its call of this number."""
    ask, calls, killed = RayPool._ask, Counter[int](), list[int]()

    def deadly(self, worker, given):
        calls[worker] += 1
        if wanted(worker, calls[worker]):
            member = self._member(worker)
            member.call.remote(*given)
            ray.kill(member)
            killed.append(worker)
        return ask(self, worker, given)

    monkeypatch.setattr(RayPool, "_ask", deadly)
    return killed


def test_a_worker_that_is_killed_is_replaced(tmp_path, monkeypatch):
    """In the middle of the second pass, and again in the third."""
    case = CASES["parser"]
    threads = case.make(**TWO).fit(case.train)
    killed = kill_workers(monkeypatch, lambda worker, call: worker == 1 and call in (2, 4))
    workers = case.make(**TWO, ray="auto").fit(case.train)
    assert killed == [1, 1]
    assert bytes_of(workers, tmp_path / "a") == bytes_of(threads, tmp_path / "b")


def test_a_shard_that_kills_its_workers(monkeypatch):
    from structron.learn import cluster

    case = CASES["chunker"]
    kill_workers(monkeypatch, lambda worker, call: True)
    monkeypatch.setattr(cluster, "LIVES", 2)
    with pytest.raises(
        StructronError, match=r"^ray: the worker of shard . of 2 died 2 times in one pass \(.*; expected"
    ):
        case.make(**TWO, ray="auto").fit(case.train)


@pytest.mark.parametrize("name", ["chunker", "parser", "graph-parser"])
def test_a_driver_that_is_killed_goes_on(name, tmp_path):
    case = CASES[name]
    whole = case.make(**TWO).fit(case.train, dev=case.test)
    folder = {"checkpoint": tmp_path / "c", "dev": case.test}
    with pytest.raises(Killed):
        case.make(**TWO, ray="auto").fit(case.train, progress=Killer(3), **folder)
    again = case.make(**TWO, ray="auto").fit(case.train, resume=True, **folder)
    assert bytes_of(again, tmp_path / "a") == bytes_of(whole, tmp_path / "b")


def test_a_process_that_is_killed_goes_on(tmp_path):
    """SIGKILL after the first checkpoint; the command line, and the cluster by its address."""
    rows = chunk_rows(200, 3)
    lines = "\n\n".join("\n".join(" ".join(row) for row in sentence) for sentence in rows)
    (tmp_path / "t.conll").write_text(lines + "\n", encoding="utf-8")
    address = ray.get_runtime_context().gcs_address
    how = f"--columns word,pos,chunk --passes 6 --runs 1 --shards 2 --quiet --train {tmp_path}/t.conll"
    command = [sys.executable, "-m", "structron", "train", "chunker", *how.split(), "--model"]
    resumed = ["--ray", address, "--checkpoint", f"{tmp_path}/c"]
    first = subprocess.Popen([*command, f"{tmp_path}/m", *resumed])
    while not (tmp_path / "c" / "state.structron").exists() and first.poll() is None:
        time.sleep(0.05)
    first.kill()
    assert first.wait() in (-signal.SIGKILL, 0)
    subprocess.run([*command, f"{tmp_path}/m", *resumed, "--resume"], check=True)
    subprocess.run([*command, f"{tmp_path}/n"], check=True)
    found, expected = (structron.load(tmp_path / name) for name in "mn")
    assert bytes_of(found, tmp_path / "a") == bytes_of(expected, tmp_path / "b")


def test_runs_bpm_and_going_on(tmp_path):
    case = CASES["chunker"]
    for more in ({"runs": 2}, {"bpm": 1}):
        threads, workers = (case.make(**TWO, **more, ray=address).fit(case.train) for address in (None, "auto"))
        assert bytes_of(workers, tmp_path / "a") == bytes_of(threads, tmp_path / "b")
    for estimator in (threads, workers):
        estimator.partial_fit(case.data(12, 5))
    assert bytes_of(workers, tmp_path / "a") == bytes_of(threads, tmp_path / "b")


def test_workers_are_let_go():
    case = CASES["chunker"]
    case.make(**TWO, ray="auto").fit(case.train)
    for _ in range(1000):
        if ray.available_resources().get("CPU") == 2:
            break
        time.sleep(0.1)
    assert ray.available_resources()["CPU"] == 2


# -- what cannot be --------------------------------------------------------------------------------------------------


def test_too_few_cpus():
    case = CASES["chunker"]
    with pytest.raises(
        StructronError, match=r"^ray: 3 shards need a CPU each, but the cluster has 2; expected shards 2"
    ):
        case.make(shards=3, ray="auto").fit(case.train)


def test_more_shards_than_examples():
    case = CASES["chunker"]
    with pytest.raises(StructronError, match=r"^shards: 99; "):
        case.make(shards=99, ray="auto").fit(case.train)


def test_ray_wants_shards():
    with pytest.raises(
        StructronError, match=r"^ray: auto with shards 1; expected two or more shards, .* \(--shards N\)$"
    ):
        structron.Chunker(ray="auto").fit([])
    for odd in ("", 7):
        with pytest.raises(StructronError, match=r"^ray: .*; expected auto, or the host:port of a running cluster$"):
            structron.Chunker(ray=odd, shards=2).fit([])


# -- the wire --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_lessons_survive_the_wire(count, whole):
    rng = np.random.default_rng(count)
    row = rng.integers(1, 2**63, max(count // 2, 1), dtype=np.uint64)[rng.integers(max(count // 2, 1), size=count)]
    order = np.argsort(row, kind="stable")
    u = rng.integers(-9, 9, count).astype(np.float64) + (0.0 if whole else 0.5)
    numbers = (np.arange(count, dtype=np.int32), *rng.normal(size=(2, count)).astype(np.float32), u)
    lesson = ShardUpdate(Changes(row, *numbers), 7, {"updates": 3}, {"pace": np.arange(3.0)})
    up, down = unpack(pack_update(lesson)), unpack(pack_broadcast(lesson, 2))
    for found in (up, down):
        assert found.steps == 7
        assert found.counts == {"updates": 3}
        assert (found.changes.row == row[order]).all()
        assert (found.changes.column == lesson.changes.column[order]).all()
        assert found.changes.row.flags.writeable
        assert [array.dtype for array in found.changes] == [array.dtype for array in lesson.changes]
    assert (up.changes.change == lesson.changes.change[order]).all()
    assert (up.changes.u == u[order]).all()
    assert (down.changes.w == lesson.changes.w[order]).all()
    if count == 1000:
        assert pack_update(lesson).size < (20 if whole else 25) * count


ANY = st.floats(width=32, allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, -0.0, 127.0, -128.0, 32768.0])


@given(st.lists(ANY, max_size=12), st.lists(ANY, max_size=12))
def test_every_bit_of_a_number_survives(changes, sums):
    count = min(len(changes), len(sums))
    change, u = np.array(changes[:count], np.float32), np.array(sums[:count], np.float64)
    row, column = np.arange(count, dtype=np.uint64) * np.uint64(2**40), np.full(count, 2**31 - 1, np.int32)
    found = unpack(pack_update(ShardUpdate(Changes(row, column, change, change, u), 1, {}, {}))).changes
    assert found.change.tobytes() == change.tobytes()
    assert found.u.tobytes() == u.tobytes()
    assert (found.row == row).all()
    assert (found.column == column).all()
