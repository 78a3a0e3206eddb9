"""What the server does not do: take what is too long, wait for what is too slow, work on too much, tell what broke."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from types import SimpleNamespace

import h11
import pytest
from attacks import HEALTH, OVERSIZED, chunked, healthy_during, send
from httpx import Client
from serving import Asked, listening

from helpers import SOURCE
from structron.kernels import ahead, progress
from structron.kernels.listed import ListedKernel
from structron.runtime.threads import Busy
from structron.serve.app import make_app
from structron.serve.library import Library, Shelved
from structron.serve.limits import Limits, RequestGuard
from structron.serve.requests import SPARE, Late, RequestThreads
from structron.serve.slow import BODY_READ, CHUNKED_READS, HEAD_READ, CountedConnection, Impatient

# -- threads ------------------------------------------------------------------------------------------------------


def test_so_much_is_done_at_a_time_and_the_rest_refused():
    threads, gate = RequestThreads(workers=2, waiting=3, seconds=300), threading.Event()
    most, now, lock = 0, 0, threading.Lock()

    def work() -> int:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        gate.wait(300)
        with lock:
            now -= 1
        return 7

    async def ask() -> list:
        asked = [asyncio.ensure_future(threads.run(work)) for _ in range(9)]
        await asyncio.sleep(0.3)
        gate.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    found = asyncio.run(ask())
    assert found.count(7) == 5
    assert sum(isinstance(own, Busy) for own in found) == 4
    assert most == 2
    assert threads.pool.busy == 0


def test_work_that_is_too_slow_costs_a_thread_and_another_takes_its_place():
    threads, gate = RequestThreads(workers=1, waiting=4, seconds=0.5), threading.Event()

    async def ask() -> None:
        for given_up in range(1, SPARE + 1):
            with pytest.raises(Late):
                await threads.run(lambda: gate.wait(300))
            assert threads.pool.abandoned == given_up
            assert await threads.run(lambda: 5) == 5
        with pytest.raises(Late):
            await threads.run(lambda: gate.wait(300))
        with pytest.raises(Late):  # no thread is left; nobody waits for ever
            await threads.run(lambda: 5)
        gate.set()
        for _ in range(1000):
            if not threads.pool.abandoned:
                break
            await asyncio.sleep(0.05)
        assert threads.pool.abandoned == threads.pool.busy == 0
        assert await threads.run(lambda: 6) == 6

    asyncio.run(ask())
    threads.pool.close()


def test_an_error_in_a_thread_is_raised_where_it_was_asked_for():
    threads = RequestThreads(workers=1)

    async def ask() -> int:
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0)
        return await threads.run(lambda: 3)

    assert asyncio.run(ask()) == 3


# -- requests ------------------------------------------------------------------------------------------------------


def test_too_many_requests_are_told_when_to_come_back(library):
    client = Asked(make_app(library, threads=RequestThreads(workers=1, waiting=1)))
    found = client.together("POST", "/api/annotate", [{"text": "He slept. " * 50}] * 12)
    codes = sorted(answer.status_code for answer in found)
    assert set(codes) == {200, 429}
    assert all(answer.headers["retry-after"] == "1" for answer in found if answer.status_code == 429)
    assert client.get("/health").json()["busy"] == 0


def test_work_without_end_is_answered_with_503(library, monkeypatch):
    gate = threading.Event()
    monkeypatch.setattr("structron.serve.app.analyse", lambda *given: gate.wait(300))
    client = Asked(make_app(library, threads=RequestThreads(workers=1, seconds=2)))
    answer = client.post("/api/annotate", json={"text": "a"})
    assert answer.status_code == 503
    assert "retry-after" in answer.headers
    assert client.get("/health").json()["given_up"] == 1
    assert client.get("/models").status_code == 200
    assert client.get("/api/models/one").status_code == 200  # by the thread that took its place
    gate.set()


@pytest.mark.parametrize("how", ["processes", "here", "meanwhile"])
def test_what_waits_for_the_compiler_is_told_how_long(monkeypatch, how):
    """Work that is late while kernels are compiled: the text is not too long."""
    gate, numba = threading.Event(), SimpleNamespace(data={})
    if how == "processes":
        monkeypatch.setattr(ahead.Compilers, "under_way", [ahead.CompileProgress(2, 90.0, 2)])
    else:
        kernel = SimpleNamespace(py_func=SimpleNamespace(__module__="structron.somewhere", __qualname__="search"))
        listed = ListedKernel("structron.somewhere.search", "()", "", False, 40.0, ())
        monkeypatch.setattr(progress, "LISTENER", progress.CompileListener())
        monkeypatch.setattr(progress, "every_kernel", lambda: (listed,))
        numba.data["dispatcher"] = kernel

    def work(*given: object) -> None:
        if how != "processes":
            progress.LISTENER.on_start(numba)
        if how == "meanwhile":
            progress.LISTENER.on_end(numba)
        gate.wait(300)

    monkeypatch.setattr("structron.serve.app.describe", work)
    library = Library(models={"one": Shelved("one", SimpleNamespace(task="chunker", texts=False), "one", 1)})
    answer = Asked(make_app(library, threads=RequestThreads(workers=1, seconds=1))).get("/api/models/one")
    gate.set()
    seconds = {"processes": 45, "here": 39, "meanwhile": 1}[how]
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) in (seconds, seconds + 1)
    assert answer.json()["detail"].startswith("compiling (first run only), about ")
    assert answer.json()["detail"].endswith(f"about {answer.headers['retry-after']} s left; try again then")


@pytest.mark.parametrize("counted", [True, False])
def test_a_body_that_is_too_long_is_refused(client, counted):
    async def parts():
        for _ in range(30):
            yield b"x" * 50_000

    content = b"x" * 1_500_000 if counted else parts()
    answer = client.post("/api/annotate", content=content)
    assert answer.status_code == 413
    assert "1,000,000" in answer.json()["detail"]


def asgi(app, receive, headers=()) -> list[dict]:
    """The messages that an application answers a POST request with."""
    sent: list[dict] = []
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/annotate",
        "raw_path": b"",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), *headers],
    }

    async def send(message: dict) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent


def test_a_body_that_does_not_come_is_not_waited_for(library):
    async def receive() -> dict:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b"x", "more_body": True}

    sent = asgi(make_app(library, Limits(seconds=0.3)), receive)
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]


def test_a_client_that_goes_away_is_not_answered(library):
    async def receive() -> dict:
        return {"type": "http.disconnect"}

    assert asgi(make_app(library), receive) == []


def test_an_error_is_told_without_a_traceback(caplog):
    async def broken(scope, receive, send) -> None:
        raise RuntimeError("secret of the server")

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    sent = asgi(RequestGuard(broken, Limits()), receive)
    assert sent[0]["status"] == 500
    assert b"secret" not in sent[1]["body"]
    assert b"Traceback" not in sent[1]["body"]
    assert "secret of the server" in caplog.text


def test_no_other_origin_and_no_other_host(library, client):
    other = {"origin": "http://other.example"}
    assert client.post("/api/annotate", json={"text": "a"}, headers=other).status_code == 403
    assert client.get("/health", headers={"origin": "http://127.0.0.1:8000"}).status_code == 200
    assert client.get("/health", headers={"host": "other.example"}).status_code == 400
    assert client.get("/health", headers={"host": "localhost:99"}).status_code == 200
    limits = Limits(origins=("http://other.example",), hosts=("named.example",))
    allowed = Asked(make_app(library, limits), "named.example")
    answer = allowed.get("/health", headers=other)
    assert answer.headers["access-control-allow-origin"] == "http://other.example"
    asks = {**other, "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    preflight = allowed.request("OPTIONS", "/api/annotate", headers=asks)
    assert preflight.status_code == 204
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert allowed.get("/health", headers={"origin": "http://third.example"}).status_code == 403


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("127.0.0.1:8000", True),
        ("127.9.8.7", True),
        ("[::1]:80", True),
        ("[::ffff:127.0.0.1]", True),
        ("LOCALHOST.:1", True),
        ("named.example:8000", True),
        ("0.0.0.0:8000", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("127.0.0.1.example", False),
        ("[", False),
        ("", False),
    ],
)
def test_requests_are_addressed_to_this_machine_or_to_an_allowed_name(client, library, host, known):
    client = Asked(make_app(Library(), Limits(hosts=("named.example",))))
    answer = client.get("/health", headers={"host": host})
    assert answer.status_code == (200 if known else 400)
    assert known or "--allow-host" in answer.json()["detail"]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_may_link_to_the_pages_and_use_nothing(client, site):
    visit = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=visit).status_code == client.get("/docs", headers=visit).status_code == 200
    for path in ("/process?data=a&tokenizer=", "/api/models", "/health", "/static/main.js"):
        answer = client.get(path, headers=visit)
        assert answer.status_code == 403
        assert "--origin" in answer.json()["detail"]
    assert client.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}).status_code == 403
    for own in ("same-origin", "none"):
        assert client.get("/api/models", headers={"sec-fetch-site": own}).status_code == 200
    assert client.get("/health", headers={"origin": "http://["}).status_code == 403


def test_an_allowed_site_may_use_everything(library):
    client = Asked(make_app(library, Limits(origins=("http://other.example",))))
    headers = {"origin": "http://other.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
    assert client.get("/api/models", headers=headers).status_code == 200


def test_bodies_are_read_by_the_threads_that_work(library):
    threads, gate = RequestThreads(workers=1), threading.Event()
    client = Asked(make_app(library, threads=threads))
    held = threads.pool.submit(gate.wait, 300)
    answers: list = []
    asked = [
        threading.Thread(target=lambda own=own: answers.append((own, send_attack(client, own)))) for own in OVERSIZED
    ]
    for thread in asked:
        thread.start()
    while len(threads.pool._queue) < len(asked):
        assert client.get("/health").json()["status"] == "ok"
    assert answers == []
    gate.set()
    for thread in asked:
        thread.join(300)
    assert held.result(300)
    assert {own: (answer.status_code, answer.text) for own, answer in answers} == {
        own: (status, said(says)) for own, (_, _, _, status, says) in OVERSIZED.items()
    }


def send_attack(client, name):
    path, kind, body, *_ = OVERSIZED[name]
    return client.post(path, content=body, headers={"content-type": kind})


def said(text: str) -> str:
    return text if text.endswith("\n") else f'{{"detail":"{text}"}}'


def test_a_body_of_many_chunks_lets_others_pass_and_has_a_limit():
    class Patient(Impatient):
        def __init__(self, *given, **more):
            super().__init__(*given, **more)
            self.conn.most = 20_000

    for http, status, least in ((Patient, b"422", 10), (Impatient, b"413", 10)):
        with listening(make_app(Library()), http) as (port, _):
            send(port, HEALTH)
            healthy, answer = healthy_during(port, chunked(12_000))
            assert answer[9:12] == status
            assert http is Patient or b"at most 10,000" in answer
            assert len(healthy) >= least


def test_bodies_in_small_chunks_are_read_in_small_pieces():
    head = b"POST / HTTP/1.1\r\nHost: a\r\n"
    sizes = []
    for body in (b"1\r\nx\r\n" * 50, b"%x\r\n%s\r\n" % (10_000, b"x" * 10_000)):
        connection = CountedConnection(h11.SERVER)
        assert connection.read_size == HEAD_READ
        connection.receive_data(head + b"Transfer-Encoding: chunked\r\n\r\n" + body)
        while connection.next_event() is not h11.NEED_DATA:
            pass
        sizes.append(connection.read_size)
    assert sizes == list(CHUNKED_READS)
    connection = CountedConnection(h11.SERVER)
    connection.receive_data(head + b"Content-Length: 9\r\n\r\nx")
    while connection.next_event() is not h11.NEED_DATA:
        pass
    assert connection.read_size == BODY_READ


def test_an_answer_that_nobody_reads_is_given_up():
    class Quick(Impatient):
        unread_seconds = 0.2

    async def app(scope, receive, send) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": bytes(30_000_000)})

    with (
        listening(app, Quick) as (port, server),
        socket.create_connection(("127.0.0.1", port), timeout=300) as connection,
    ):
        connection.sendall(HEALTH)
        while not server.server_state.connections:
            time.sleep(0.01)
        while server.server_state.connections:
            time.sleep(0.01)
    with listening(app) as (port, _):
        assert len(send(port, HEALTH, 300)) > 30_000_000


def test_headers_that_do_not_end_are_not_waited_for(library):
    class Quick(Impatient):
        seconds = 2

    with listening(make_app(library), Quick) as (port, _):
        whole = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        with ExitStack() as stack:
            begun = {}
            for sent in (b"", whole[:20], whole + whole[:30]):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=300))
                connection.sendall(sent)
                begun[sent] = connection
            for sent, connection in begun.items():
                found = b""
                while part := connection.recv(4096):
                    found += part
                assert found.count(b"HTTP/1.1 200 OK") == sent.count(b"\r\n\r\n")
        with Client(base_url=f"http://127.0.0.1:{port}") as http:
            assert http.get("/health").status_code == http.get("/health").status_code == 200


# -- the command ---------------------------------------------------------------------------------------------------


def command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "structron", "serve", *argv]


ENVIRONMENT = os.environ | {"PYTHONPATH": SOURCE}


@pytest.mark.slow
def test_ctrl_c_ends_the_server_when_what_is_under_way_is_answered(folder):
    model = str(folder / "one.structron")
    process = subprocess.Popen(command(model, "--port", "0"), stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        line = process.stderr.readline()
        while "http://" not in line:
            assert line, process.wait()
            line = process.stderr.readline()
        address = line.split("http://")[1].split()[0]
        with Client(base_url=f"http://{address}", timeout=300) as http:
            assert http.get("/health").json()["models"] == ["one"]
            answers: list = []
            text = "the dog sleeps\n" * 6_000
            asked = threading.Thread(
                target=lambda: answers.append(http.post("/api/annotate", json={"text": text, "margins": True}))
            )
            asked.start()
            with Client(base_url=f"http://{address}", timeout=300) as other:
                while not other.get("/health").json()["busy"]:
                    time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            asked.join(300)
        assert answers[0].status_code == 200
        assert len(answers[0].json()["sentences"]) == 6_000
        assert process.wait(300) == 0
        assert process.stderr.read() == "stopped\n"
    finally:
        process.kill()


def test_mistakes_of_the_command_are_one_line(run_serve, folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"127.0.0.1:{port}: " in run_serve("--port", port)
    assert "no such file" in run_serve("--port", "0", "nothing.structron")
    assert "no.conllu" in run_serve("--port", "0", str(folder / "one.structron"), "--data", "no.conllu")
    assert "a free port" in run_serve("--host", "not.an.address.invalid", "--port", "0")
    assert "--allow-host http://a: expected a name" in run_serve("--port", "0", "--allow-host", "http://a")


@pytest.fixture
def run_serve(capsys):
    """Run the command in this process; returns the line that it ends with."""
    from structron.cli import main

    def command(*argv: str) -> str:
        assert main(["serve", *argv]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert err.startswith("structron: error: ")
        return err

    return command
