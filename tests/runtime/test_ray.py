"""The way to a Ray cluster, and workers on it, which are called as processes are."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any

import pytest
from worker_functions import Adder

from helpers import SOURCE, patiently
from structron.errors import StructronError
from structron.runtime import cluster
from structron.runtime.cluster import RayPool
from structron.runtime.processes import WorkerDied
from structron.runtime.threads import ThreadPool

ray: Any = pytest.importorskip("ray")
FOLDER = os.path.dirname(__file__)


@pytest.fixture(scope="module")
def machine():
    """A Ray cluster of two processors; workers import what these tests make."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([SOURCE, FOLDER]))
        patch.setenv("RAY_worker_niceness", "0")
        patiently(lambda: ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False), ray.shutdown)
    yield ray
    ray.shutdown()


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


def run(code: str, *argv: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": SOURCE, "RAY_ADDRESS": ""}
    command = [sys.executable, "-c", code, *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


UNREACHABLE = """
import sys
from structron.errors import StructronError
from structron.runtime.cluster import connect
try:
    connect(sys.argv[1])
except StructronError as error:
    print(error, file=sys.stderr)
"""


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere.invalid:6379", "here"])
def test_a_cluster_that_cannot_be_reached(address):
    """One line, and nothing of Ray's own."""
    (line,) = run(UNREACHABLE, address).stderr.splitlines()
    assert line.startswith(f"ray: {address}: the cluster cannot be reached (")
    assert line.endswith("; expected auto, local, or the HOST:PORT of a cluster")


# Frames of HTTP/2: settings, and headers that a gRPC server (C++) answers a call with.
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
HEADERS = b"\x88@\x0ccontent-type\x10application/grpc\0\x0bgrpc-status\x0216"
ANSWER = SETTINGS + bytes([0, 0, len(HEADERS), 1, 5, 0, 0, 0, 1]) + HEADERS


NOTED = """
import os, pathlib, ray, socket, sys, threading
from structron.runtime import cluster
note = pathlib.Path(os.environ["RAY_TMPDIR"], "ray", "ray_current_cluster")
note.parent.mkdir()
ray.init = lambda address, **how: print(address)

def answer():
    while True:
        with server.accept()[0] as connection:
            connection.sendall(bytes.fromhex(sys.argv[1]))

with socket.create_server(("127.0.0.1", 0)) as server:
    threading.Thread(target=answer, daemon=True).start()
    port = server.getsockname()[1]
    for address in (f"127.0.0.1:{port}", "127.0.0.1:1"):
        note.write_text(address)
        cluster.connect("auto")
    note.unlink()
    cluster.connect("auto")
    print(port, flush=True)
    os._exit(0)
"""


def test_a_note_that_outlives_its_cluster(monkeypatch, tmp_path):
    """The file in which Ray keeps the address of this machine's cluster stays when that is killed."""
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    *found, port = run(NOTED, ANSWER.hex()).stdout.split()
    assert found == [f"127.0.0.1:{port}", "local", "local"]


@contextlib.contextmanager
def answering(*pieces: bytes):
    """A service that says this to everybody, and then nothing; gives its address."""

    def answer() -> None:
        connection = server.accept()[0]
        for piece in pieces:
            connection.sendall(piece)
        kept.append(connection)

    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
    for connection in kept:
        connection.close()


def test_a_cluster_answers_a_call():
    for cut in (0, 4, 9, 12, len(ANSWER) - 1):
        with answering(ANSWER[:cut], ANSWER[cut:]) as address:
            assert cluster._knock(address) == HEADERS


PAGE = b"\x88@\x0ccontent-type\x09text/html"
OTHERS = {
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "nothing": b"",
    "silent HTTP/2": SETTINGS,
    "a page": SETTINGS + bytes([0, 0, len(PAGE), 1, 5, 0, 0, 0, 1]) + PAGE,
    "settings without an end": SETTINGS * 5000,
    "half of an answer": ANSWER[:-1],
    "a frame that is too large": b"\xff\xff\xff\1\0\0\0\0\1" + bytes(100),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_listens_may_be_no_cluster(what, monkeypatch):
    monkeypatch.setattr(cluster, "KNOCK", 0.1)
    with answering(OTHERS[what]) as address, pytest.raises(OSError, match=r"timed out|the service there is not a Ray"):
        cluster._knock(address)


@pytest.mark.parametrize("given", [{}, {"RAY_AUTH_TOKEN": "a"}, {"RAY_AUTH_TOKEN_PATH": "a"}])
@pytest.mark.parametrize(("here", "asks"), [(True, True), (True, False), (False, True)])
def test_a_token_is_shown_where_it_was_given_or_is_at_home_and_asked_for(given, here, asks, monkeypatch, tmp_path):
    answer = b"\x0cgrpc-message>InvalidAuthToken: Authentication token is missing" if asks else b"grpc-status\x010"
    (tmp_path / "auth_token").write_text("a")
    monkeypatch.setattr(cluster, "TOKEN", tmp_path / "auth_token")
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    cluster._show_token("127.0.0.1:6379" if here else "192.0.2.77:6379", answer)
    assert os.environ.pop("RAY_AUTH_MODE", "") == ("token" if given or (here and asks) else "")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    cluster._show_token("127.0.0.1:6379", answer)
    assert os.environ["RAY_AUTH_MODE"] == "disabled"


CONNECT = """
import sys
from structron.runtime.cluster import connect
print(connect(sys.argv[1]).cluster_resources()["CPU"])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "setsid"), reason="POSIX only")
def test_a_cluster_that_asks_for_a_token(tmp_path, request):
    """A head that `ray start` makes as it is documented; clients with its token, with another one, and without."""
    if not hasattr(ray.exceptions, "AuthenticationError"):
        pytest.skip("this Ray knows no tokens")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home, short = tmp_path / "home", tempfile.mkdtemp(prefix="r")  # names of sockets have 107 bytes
    request.addfinalizer(lambda: shutil.rmtree(short, ignore_errors=True))
    (home / ".ray").mkdir(parents=True)
    (home / ".ray" / "auth_token").write_text("0123456789abcdef" * 4)
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    own |= {"PYTHONPATH": SOURCE, "HOME": str(home), "RAY_AUTH_MODE": "token", "RAY_TMPDIR": short}
    command = ["-m", "ray.scripts.scripts", "start", "--head", "--block", "--port", str(port), "--num-cpus", "3"]
    command += ["--include-dashboard=false", "--object-store-memory", "80000000", "--disable-usage-stats"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    head = subprocess.Popen([sys.executable, *command], env=own, start_new_session=True, **pipes)
    try:
        assert head.stdout is not None
        assert any("Ray runtime started" in line for line in head.stdout)
        del own["RAY_AUTH_MODE"]

        def asked(address: str, more: dict[str, str]) -> subprocess.CompletedProcess:
            argv = [sys.executable, "-c", CONNECT, address]
            return subprocess.run(argv, env=own | more, capture_output=True, text=True, check=False)

        place = f"127.0.0.1:{port}"
        refused = (({"HOME": "/"}, " a token;"), ({"RAY_AUTH_TOKEN": "f" * 64}, " a token other than"))
        given = [(place, {}), ("auto", {}), *((place, more) for more, _ in refused)]
        with ThreadPool(4) as pool:
            welcome, noted, *others = pool.map(lambda one: asked(*one), given)
        assert (welcome.stdout, noted.stdout) == ("3.0\n", "3.0\n"), (welcome.stderr, noted.stderr)
        for found, (_, says) in zip(others, refused, strict=True):
            last = found.stderr.splitlines()[-1]
            assert f"ray: 127.0.0.1:{port}: the cluster asks for{says}" in last
            assert "expected RAY_AUTH_MODE=token" in last
            assert "gcs" not in found.stderr
    finally:
        head.terminate()  # it ends the others; if all are told at once, it waits for half a minute
        head.wait(60)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(head.pid, signal.SIGKILL)


def test_without_the_extra():
    code = "import sys; sys.modules['ray'] = None\nfrom structron.runtime.cluster import connect\nconnect('auto')"
    line = run(code).stderr.strip().splitlines()[-1]
    assert line.endswith("ray: not installed; expected: pip install 'structron[ray]'")
