"""Shards on a Ray cluster of several machines, here as processes: each has its own raylet, memory and workers."""

import os
import time
from typing import Any

import pytest
from test_cluster import TWO

from estimators import CASES, bytes_of
from helpers import SOURCE, patiently
from structron.learn import cluster as clusters

ray: Any = pytest.importorskip("ray")


@pytest.fixture
def machines(monkeypatch):
    """A head without CPUs and two machines of two."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([SOURCE, os.path.dirname(os.path.dirname(__file__))]))
    monkeypatch.setenv("RAY_worker_niceness", "0")
    for what, value in {"initial_delay_ms": 500, "period_ms": 500, "timeout_ms": 2000, "failure_threshold": 2}.items():
        monkeypatch.setenv(f"RAY_health_check_{what}", str(value))  # a loss is noticed after 1 s, not after 15
    head = {"num_cpus": 0, "include_dashboard": False}
    found = patiently(lambda: Cluster(initialize_head=True, head_node_args=head), ray.shutdown)
    try:
        yield found, [patiently(lambda: found.add_node(num_cpus=2), lambda: None) for _ in range(2)]
    finally:
        ray.shutdown()
        found.shutdown()


def home_of(worker: Any) -> str:
    """The machine that a worker is on."""
    return ray._private.state.actors(worker._actor_id.hex())["Address"]["NodeID"]


def alive(wanted: int, patience: float = 300) -> bool:
    """Whether the cluster comes down to `wanted` machines: it may notice a loss after the shards are done."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if len([node for node in ray.nodes() if node["Alive"]]) == wanted:
            return True
        time.sleep(0.2)
    return False


@pytest.mark.slow
def test_a_machine_that_is_lost_in_the_middle_of_a_pass(machines, monkeypatch, tmp_path):
    """Its shards are learned again by the other: the same model to the bit as on threads."""
    found, nodes = machines
    case, submit, lost = CASES["parser"], clusters.ClusterRunner._submit, []

    def deadly(self, pool, s, part, state):
        answer = submit(self, pool, s, part, state)
        if s == 1 and self.mixes == 1 and not lost:
            lost.append(home_of(pool.members[s]))
            found.remove_node(next(node for node in nodes if node.node_id == lost[0]), allow_graceful=False)
        return answer

    threads = case.make(**TWO).fit(case.train)
    monkeypatch.setattr(clusters.ClusterRunner, "_submit", deadly)
    workers = case.make(**TWO, ray=found.address).fit(case.train)
    assert len(lost) == 1
    assert alive(2)  # the head and one machine
    assert bytes_of(workers, tmp_path / "a") == bytes_of(threads, tmp_path / "b")
