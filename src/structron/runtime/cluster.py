"""A Ray cluster: the way to it, and workers on its machines. Ray itself is imported when it is asked for."""

import contextlib
import importlib.util
import logging
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from structron._version import __version__
from structron.errors import StructronError
from structron.runtime.interrupts import outcome
from structron.runtime.processes import WorkerDied
from structron.runtime.threads import ThreadPool

AUTO, LOCAL = "auto", "local"
KNOCK = 3.0
"""Seconds in which a cluster has to answer: Ray itself would try for minutes."""
DATA, HEADERS, SETTINGS = 0, 1, 4
"""Frames of HTTP/2; the fourth byte of one says which."""
MOST_ANSWERED = 1 << 16
"""Bytes of a frame of an answer."""
NO_CLUSTER = "the service there is not a Ray cluster"
TOKEN = Path("~/.ray/auth_token")
REFUSED = ("invalidauthtoken", "unauthenticated", "authentication token")
"""What Ray says of a token that is missing or wrong."""
PATIENCE = 120.0
"""Seconds that a worker may take to start."""
ATTEMPTS, PAUSE = 5, 2.0
"""How often a worker is begun anew that has died, and the seconds between: a cluster may not have noticed yet that a
machine is gone."""


def connect(address: str) -> Any:
    """The module `ray`, connected to a cluster: HOST:PORT; "auto": RAY_ADDRESS, or the one of this machine, or this
    machine alone; "local": this machine alone. A process that is connected already stays where it is.

    Whether somebody answers is found out before Ray is imported: Ray itself would try, and talk, for minutes.
    """
    if importlib.util.find_spec("ray") is None:
        raise StructronError("ray: not installed; expected: pip install 'structron[ray]'")
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():
        return sys.modules["ray"]
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of what it will do one day
    os.environ.setdefault("RAY_worker_niceness", "0")  # workers are the work itself
    found = os.environ.get("RAY_ADDRESS") or AUTO if address == AUTO else address
    found = _noted() if found == AUTO else found
    where: dict[str, Any] = {"include_dashboard": False} if found == LOCAL else {}
    said: list[str] = []
    try:
        if found != LOCAL:
            answer = _knock(found)
            os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")  # seconds that Ray goes on when it is turned away
            _show_token(found, answer)
        import ray

        with _silenced(said):
            ray.init(found, **where, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        raise _unreachable(address, error, "".join(said)) from None
    return ray


def _unreachable(address: str, error: Exception, said: str) -> StructronError:
    """Why a cluster cannot be used, in a line; said: what Ray printed."""
    if _is_refusal(f"{said} {error}"):
        wrong = " other than the one it got" if os.environ.get("RAY_AUTH_MODE", "").lower() == "token" else ""
        expected = "expected RAY_AUTH_MODE=token, and its token in RAY_AUTH_TOKEN, in the file RAY_AUTH_TOKEN_PATH"
        return StructronError(
            f"ray: {address}: the cluster asks for a token{wrong}; {expected} or in ~/.ray/auth_token"
        )
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:200]
    expected = "expected auto, local, or the HOST:PORT of a cluster"
    return StructronError(f"ray: {address}: the cluster cannot be reached ({reason}); {expected}")


@contextlib.contextmanager
def _silenced(said: list[str]) -> Iterator[None]:
    """Keep what is written to standard error meanwhile, by compiled code, too."""
    try:
        kept = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    with tempfile.TemporaryFile() as stream:
        os.dup2(stream.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            stream.seek(0)
            said.append(stream.read().decode("utf-8", "replace"))


def _noted() -> str:
    """The cluster of this machine that Ray has a note of, if it answers: a note may outlive its cluster."""
    places = [os.environ.get("RAY_TMPDIR"), os.environ.get("TMPDIR") if sys.platform == "linux" else None]
    folder = next((place for place in places if place), "/tmp" if os.name == "posix" else tempfile.gettempdir())
    try:
        note = Path(folder, "ray", "ray_current_cluster").read_text().strip()
        _knock(note)
    except (OSError, ValueError):  # a Ray that keeps its notes elsewhere has none for us
        return LOCAL
    return note


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise ValueError("no host and port")
    return host.strip("[]"), int(port)


def _knock(address: str) -> bytes:
    """What a cluster says to who shows no token: the headers of its answer. An error when nobody listens at HOST:PORT,
    or does not answer in gRPC, as Ray does, in time. Of a cluster with TLS nothing is known."""
    end = time.monotonic() + KNOCK
    with socket.create_connection(_split(address), KNOCK) as connection:
        if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
            return b""
        connection.sendall(_call(b"/ray.rpc.NodeInfoGcsService/CheckAlive"))
        head = body = b""
        while head[3:4] != bytes([HEADERS]):
            head = _received(connection, 9, end)
            body = _received(connection, int.from_bytes(head[:3], "big"), end)
        if b"application/grpc" not in body:
            raise ConnectionError(NO_CLUSTER)
        return body


def _received(connection: socket.socket, size: int, end: float) -> bytes:
    """The next bytes of a connection, which have to come in time, and not too many."""
    found = b""
    while len(found) < size:
        if (left := end - time.monotonic()) <= 0:
            raise TimeoutError("timed out")
        connection.settimeout(left)
        part = connection.recv(size - len(found))
        if not part or size > MOST_ANSWERED:
            raise ConnectionError(NO_CLUSTER)
        found += part
    return found


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    """A frame of HTTP/2."""
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body


def _call(path: bytes) -> bytes:
    """A call of gRPC with an empty message, and what HTTP/2 begins with; its headers are not compressed (RFC 7541)."""

    def text(own: bytes) -> bytes:
        return bytes([len(own)]) + own

    kind, te = b"\x0f\x10" + text(b"application/grpc"), b"\0" + text(b"te") + text(b"trailers")
    head = b"\x83\x86\x04" + text(path) + b"\x01" + text(b"ray") + kind + te  # POST, http, path, authority
    frames = _frame(SETTINGS, 0, 0, b"") + _frame(HEADERS, 4, 1, head) + _frame(DATA, 1, 1, bytes(5))
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frames


def _show_token(address: str, answer: bytes) -> None:
    """Have Ray show its token, in the way that it documents, where one was given, or lies on the cluster's machine. It
    is not shown unasked to a machine that is another one.   answer: what the cluster said to who showed none.

    A program that shows a token wants one of everybody, so it is shown only to a cluster that asks for it."""
    if "RAY_AUTH_MODE" in os.environ:
        return
    given = os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")
    if given or (TOKEN.expanduser().is_file() and _is_here(address) and _is_refusal(answer.decode("latin-1"))):
        os.environ["RAY_AUTH_MODE"] = "token"


def _is_refusal(said: str) -> bool:
    """Whether a cluster turns away who shows no token, or a wrong one."""
    return any(word in said.lower() for word in REFUSED)


def _is_here(address: str) -> bool:
    """Whether an address is one of this machine."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(_split(address)[0], 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as own:
            own.bind(place)
    except OSError:
        return False
    return True


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
