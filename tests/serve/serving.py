"""What the server's tests share: a folder of small models, a client without a network, where the browser is."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
from httpx import ASGITransport, AsyncClient, Response

from structron import Chunker, Parser, Tagger
from structron.data.toy_english import toy_english, write_conll, write_conllu
from structron.serve.slow import Impatient, config

ATTACK = "<img src=x onerror=hacked=1>"
HOSTILE = '"><script>hacked=1<&'
"""As a file's name; a name cannot have a slash."""
GOLD = "The\tDT\tB-NP\nold\tJJ\tI-NP\nman\tNN\tI-NP\nsleeps\tVBZ\tB-VP\n.\t.\tO\n"


def make_folder(folder: Path) -> Path:
    """Train small models on toy English and write files of it."""
    corpus = toy_english(160, seed=5)
    rows = [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in corpus]
    quick: dict[str, Any] = {"passes": 2, "runs": 1, "jobs": 1}
    Chunker(columns=["word", "pos", "chunk"], **quick).fit(rows[:120]).save(folder / "chunker.structron")
    tags = [[(word, tag) for word, tag, _ in sentence] for sentence in rows]
    Tagger(columns=["word", "pos"], beam=2, **quick).fit(tags[:120], dev=tags[120:]).save(folder / "beam.structron")
    trees = [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in corpus]
    few: dict[str, Any] = {"passes": 1, "beam": 2, "merge": False}
    Parser(columns=["word", "pos", "head", "deprel"], **few).fit(trees[:12]).save(folder / "arcs.structron")
    for name, some in (("one", tags[:20]), ("two", tags[:120])):
        Tagger(columns=["word", "pos"], **quick).fit(some).save(folder / f"{name}.structron")
    hostile = [[(word, ATTACK if tag == "NN" else tag) for word, tag in sentence] for sentence in tags]
    Tagger(columns=["word", "pos"], beam=2, **quick).fit(hostile[:60]).save(folder / f"{HOSTILE}.structron")
    write_conll(folder / "test.conll", corpus[120:], ("word", "pos"))
    write_conllu(folder / f"{HOSTILE}.conllu", corpus[150:])
    passes = [
        {"pass": k, "updates": 90 // k, "dev": 90 + k, "invalid": 3, "fell_off": 5, "examples": 40, "fell_at": 0.4}
        for k in (1, 2, 3)
    ]
    lines = [json.dumps(own) for own in passes]
    (folder / "train.log").write_text("\n".join([*lines, '{"pass": "four"}', "[", lines[0][:-4]]))
    return folder


class Asked:
    """The application, asked from a thread that has an event loop."""

    def __init__(self, app: Any, host: str = "127.0.0.1:8000"):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.http = AsyncClient(transport=ASGITransport(app), base_url=f"http://{host}", timeout=300)

    def request(self, method: str, path: str, **given: Any) -> Response:
        """One request and its answer."""
        return asyncio.run_coroutine_threadsafe(self.http.request(method, path, **given), self.loop).result(90)

    def get(self, path: str, **given: Any) -> Response:
        """A GET request."""
        return self.request("GET", path, **given)

    def post(self, path: str, **given: Any) -> Response:
        """A POST request."""
        return self.request("POST", path, **given)

    def together(self, method: str, path: str, bodies: list[Any]) -> list[Response]:
        """Several requests at the same time."""

        async def all_of_them() -> list[Response]:
            return list(await asyncio.gather(*(self.http.request(method, path, json=body) for body in bodies)))

        return asyncio.run_coroutine_threadsafe(all_of_them(), self.loop).result(90)


@contextlib.contextmanager
def listening(app: Any, http: Any = Impatient) -> Iterator[tuple[int, uvicorn.Server]]:
    """A server; gives its port and the server."""
    server = uvicorn.Server(config(app, http, port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield server.servers[0].sockets[0].getsockname()[1], server
    finally:
        server.should_exit = True
        thread.join(300)
