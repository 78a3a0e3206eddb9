"""The way to a Ray cluster, and workers on it, which are called as processes are."""

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from helpers import SOURCE, patiently
from structron.errors import StructronError
from structron.runtime import cluster
from structron.runtime.cluster import RayPool
from structron.runtime.processes import WorkerDied

ray: Any = pytest.importorskip("ray")
FOLDER = os.path.dirname(__file__)


@pytest.fixture(scope="module")
def machine():
    """A Ray cluster of two processors; workers import what these tests make."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([SOURCE, FOLDER, os.path.dirname(FOLDER)]))
        patch.setenv("RAY_worker_niceness", "0")
        patiently(lambda: ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False), ray.shutdown)
    yield ray
    ray.shutdown()


class Adder:
    """Adds to the number that it was made with; "die" is the end of it."""

    def __init__(self, first: int):
        self.first = first

    def __call__(self, number: Any) -> tuple[int, int]:
        if number == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if number == "fail":
            raise KeyError("what")
        return self.first + number, os.getpid()


@pytest.fixture
def pool(machine, monkeypatch):
    monkeypatch.setattr(cluster, "PAUSE", 0.1)
    with contextlib.closing(RayPool(machine, Adder, [(1,), (machine.put(10),)])) as found:
        yield found


def test_workers_of_a_cluster(pool):
    """Each is made of what was given for it; an error is raised, and a worker that dies is replaced."""
    found = [pool.call(k % 2, k).result() for k in range(6)]
    assert [own for own, _ in found] == [1, 11, 3, 13, 5, 15]
    assert len({process for _, process in found}) == 2
    with pytest.raises(KeyError, match="what"):
        pool.call(0, "fail").result()
    with pytest.raises(WorkerDied, match="its worker died"):
        pool.call(0, "die").result()
    again, process = pool.call(0, 4).result()
    assert again == 5
    assert process not in {process for _, process in found}


def test_another_version_on_a_machine(pool, monkeypatch):
    monkeypatch.setattr(cluster, "__version__", "9.9")
    with pytest.raises(
        StructronError, match=r"^ray: a worker has structron .*; expected 9\.9, the version of this machine$"
    ):
        pool.start([0])


def test_a_worker_that_does_not_start(machine, monkeypatch):
    """The cluster has no processor for it."""
    monkeypatch.setattr(cluster, "PATIENCE", 0.1)
    pool, says = (
        RayPool(machine, Adder, [(1,)] * 3, cpus=1.5),
        r"^ray: worker . of 3 has not started after 0.1 s; expect",
    )
    with contextlib.closing(pool), pytest.raises(StructronError, match=says):
        pool.start(range(3))


# -- the way -----------------------------------------------------------------------------------------------------------


def run(code: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": SOURCE, "RAY_ADDRESS": ""}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere.invalid:6379", "here"])
def test_a_cluster_that_cannot_be_reached(address):
    connect = f"from structron.runtime.cluster import connect; connect('{address}')"
    found = run(connect)
    line = found.stderr.strip().splitlines()[-1]
    assert f"ray: {address}: the cluster cannot be reached (" in line
    assert line.endswith("; expected auto, local, or the HOST:PORT of a cluster")


NOTED = """
import ray, socket
from ray._private import utils
from structron.runtime.cluster import connect
ray.init = lambda address, **how: print(address)
with socket.create_server(("127.0.0.1", 0)) as server:
    port = server.getsockname()[1]
    for note in (f"127.0.0.1:{port}", "127.0.0.1:1", None):
        utils.read_ray_address = lambda note=note: note
        connect("auto")
    print(port)
"""


def test_a_note_that_outlives_its_cluster():
    """The file in which Ray keeps the address of this machine's cluster stays when that is killed."""
    *found, port = run(NOTED).stdout.split()
    assert found == [f"127.0.0.1:{port}", "local", "local"]


def test_without_the_extra():
    code = "import sys; sys.modules['ray'] = None\nfrom structron.runtime.cluster import connect\nconnect('auto')"
    line = run(code).stderr.strip().splitlines()[-1]
    assert line.endswith("ray: not installed; expected: pip install 'structron[ray]'")
