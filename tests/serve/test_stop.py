"""How the server ends: Ctrl-C lets requests end, a second one gives them up, and nobody sees a traceback."""

import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from helpers import SOURCE

SERVER = """
import asyncio
from structron.serve.command import listen, serve_until_stopped

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"begun", "more_body": True})
    await asyncio.sleep(600)

raise SystemExit(serve_until_stopped(app, listen("127.0.0.1", 0), 600, "slow"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals like these")
def test_ctrl_c_twice_ends_with_a_line():
    pytest.importorskip("uvicorn")
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    )
    address = re.fullmatch(r"slow: http://127\.0\.0\.1:(\d+)  \(Ctrl-C to stop\)\n", server.stderr.readline())
    with socket.create_connection(("127.0.0.1", int(address[1])), timeout=60) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        while b"begun" not in client.recv(1000):
            pass
        server.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            server.wait(0.3)  # what is under way may end
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=60)
    assert (said, server.returncode) == ("stopped at once\n", 0)
