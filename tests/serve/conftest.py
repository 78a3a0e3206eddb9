"""Fixtures of the server's tests: models that are trained once, the application, a server that listens."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

import uvicorn
from httpx import Client
from serving import HOSTILE, Asked, make_folder

from structron.serve.app import make_app
from structron.serve.library import Library
from structron.serve.slow import config


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models, annotated files and a log; some of their names and labels are attacks."""
    return make_folder(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def library(folder: Path) -> Library:
    """The English model, and those of the folder."""
    models = [str(folder / f"{name}.structron") for name in ("chunker", "beam", "arcs", "one", "two", HOSTILE)]
    data = [str(folder / "test.conll"), str(folder / f"{HOSTILE}.conllu")]
    return Library.open(["english", *models], data, [str(folder / "train.log"), str(folder / "later.log")])


@pytest.fixture(scope="session")
def client(library: Library) -> Asked:
    """The application, asked without a network."""
    return Asked(make_app(library))


@pytest.fixture(scope="session")
def address(library: Library) -> Iterator[str]:
    """A server that listens on a free port of this machine."""
    server = uvicorn.Server(config(make_app(library), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(40)


@pytest.fixture(scope="session")
def http(address: str) -> Iterator[Client]:
    """A client of that server."""
    with Client(base_url=address, timeout=300) as found:
        yield found
