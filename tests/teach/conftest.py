"""A server for a project, as `structron teach` starts it."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("fastapi")

import uvicorn

from structron.serve.slow import config
from structron.teach.app import make_app
from structron.teach.project import Project
from structron.teach.teacher import Teacher


@pytest.fixture
def serve() -> Iterator[Callable[[Project], str]]:
    """Starts a server for a project; returns its address."""
    running = []

    def start(project: Project) -> str:
        teacher = Teacher(project)
        server = uvicorn.Server(config(make_app(teacher), port=0, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        running.append((server, thread, teacher))
        while not server.started:
            time.sleep(0.02)
        return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

    yield start
    for server, thread, teacher in running:
        server.should_exit = True
        thread.join(40)
        teacher.close()
