"""A Ray cluster: the way to it, and workers on its machines. Ray itself is imported when it is asked for."""

import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from structron._version import __version__
from structron.errors import StructronError
from structron.runtime.interrupts import outcome
from structron.runtime.processes import WorkerDied
from structron.runtime.threads import ThreadPool

AUTO, LOCAL = "auto", "local"
KNOCK = 5.0
"""Seconds in which a cluster has to answer: Ray itself would try for minutes."""
PATIENCE = 120.0
"""Seconds that a worker may take to start."""
ATTEMPTS, PAUSE = 5, 2.0
"""How often a worker is begun anew that has died, and the seconds between: a cluster may not have noticed yet that a
machine is gone."""


def connect(address: str) -> Any:
    """The module `ray`, connected to a cluster: HOST:PORT; "auto": RAY_ADDRESS, or the one of this machine, or this
    machine alone; "local": this machine alone. A process that is connected already stays where it is.
    """
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of what it will do one day
    os.environ.setdefault("RAY_worker_niceness", "0")  # workers are the work itself
    try:
        import ray
    except ImportError:
        raise StructronError("ray: not installed; expected: pip install 'structron[ray]'") from None
    if ray.is_initialized():
        return ray
    found = os.environ.get("RAY_ADDRESS") or AUTO if address == AUTO else address
    found = _noted() if found == AUTO else found
    where: dict[str, Any] = {"include_dashboard": False} if found == LOCAL else {}
    try:
        if found != LOCAL:
            _knock(found)
        ray.init(found, **where, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:200]
        raise StructronError(
            f"ray: {address}: the cluster cannot be reached ({reason}); expected auto, local, or the HOST:PORT "
            "of a cluster"
        ) from None
    return ray


def _noted() -> str:
    """The cluster of this machine that Ray has a note of, if it answers: a note may outlive its cluster."""
    try:
        from ray._private.utils import read_ray_address

        note = read_ray_address() or ""
        _knock(note)
    except (ImportError, OSError, ValueError):  # a Ray that keeps its notes elsewhere has none for us
        return LOCAL
    return note


def _knock(address: str) -> None:
    """Raise an error when nobody listens at HOST:PORT."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("no host and port")
    socket.create_connection((host.strip("[]"), int(port)), KNOCK).close()


class RayPool:
    """Workers that are actors of Ray (see `WorkerPool`). Files are on disks that all machines share."""

    def __init__(
        self, ray: Any, make: Callable[..., Callable[..., Any]], given: Sequence[tuple[Any, ...]], cpus: float = 1.0
    ):
        """given: what each worker is made of, maybe values that Ray keeps (`ray.put`).   cpus: of a worker."""
        self.ray, self.make, self.given, self.size = ray, make, given, len(given)
        self.members: dict[int, Any] = {}
        self._died: set[int] = set()
        self._closed = False
        self._kind = ray.remote(num_cpus=cpus, max_restarts=0)(_Actor)
        self._threads = ThreadPool(self.size)

    def start(self, workers: Iterable[int]) -> None:
        """Wait until these workers are there; StructronError: one cannot be."""
        for begun in [self._threads.submit(self._member, worker) for worker in workers]:
            outcome(begun)

    def call(self, worker: int, *given: Any) -> "Future[Any]":
        return self._threads.submit(self._ask, worker, given)

    def close(self) -> None:
        self._closed = True
        self._threads.close()
        for worker in list(self.members):
            self.ray.kill(self.members.pop(worker))

    def _ask(self, worker: int, given: tuple[Any, ...]) -> Any:
        try:
            return self.ray.get(self._member(worker).call.remote(*given))
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self.ray.exceptions.RayError as error:
            self._drop(worker)
            raise WorkerDied(f"its worker died ({_last_line(error)})") from None

    def _member(self, worker: int) -> Any:
        """A worker that lives, as far as is known."""
        if worker not in self.members:
            begin, attempts = time.monotonic(), ATTEMPTS if worker in self._died else 1
            while True:
                if self._closed:
                    raise WorkerDied("nobody waits for it any more")
                attempts -= 1
                self.members[worker] = self._kind.remote(self.make, *self.given[worker])
                try:
                    self._greet(worker, begin)
                    break
                except StructronError:
                    self._drop(worker)
                    if not attempts or time.monotonic() > begin + PATIENCE:
                        raise
                time.sleep(PAUSE)
        return self.members[worker]

    def _drop(self, worker: int) -> None:
        self._died.add(worker)
        if (member := self.members.pop(worker, None)) is not None:
            self.ray.kill(member)

    def _greet(self, worker: int, begin: float) -> None:
        """Wait for a worker to start."""
        answer = self.members[worker].version.remote()
        ready, _ = self.ray.wait([answer], timeout=max(1.0, begin + PATIENCE - time.monotonic()))
        if not ready:
            raise StructronError(
                f"ray: worker {worker + 1} of {self.size} has not started after {PATIENCE:g} s; expected free "
                "CPUs; use fewer workers, or wait for other jobs"
            )
        try:
            version = self.ray.get(answer)
        except self.ray.exceptions.RayError as error:
            raise StructronError(
                f"ray: a worker could not start ({_last_line(error)}); expected structron {__version__} on every "
                "machine of the cluster"
            ) from None
        if version != __version__:
            raise StructronError(
                f"ray: a worker has structron {version}; expected {__version__}, the version of this machine"
            )


class _Actor:
    """What runs on the cluster."""

    def __init__(self, make: Callable[..., Callable[..., Any]], *given: Any):
        self.run = make(*given)

    def version(self) -> str:
        """That of the package."""
        return __version__

    def call(self, *given: Any) -> Any:
        """What the worker makes of this."""
        return self.run(*given)


def _last_line(error: Exception) -> str:
    """What an error of Ray comes down to."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if "Error:" in line]
    return (named or lines or [type(error).__name__])[-1][:200]
