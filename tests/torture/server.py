"""Mutated requests to the page's server (tests/serve/attacks.py): each is answered as it should be, or the connection
is closed; the server stays well.
"""

import random
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from torture.frame import Found, Job, chunks, print_trials, tried

sys.path.append(str(Path(__file__).parents[1] / "serve"))
FULL = 20_000
PART = 2_000
PATIENCE = 3600


def jobs(trials: int, seed: int, folder: Path) -> Iterator[Job]:
    """So many requests."""
    models = folder / "models"
    lock = threading.Lock()

    def some(first: int, last: int) -> Found:
        from serving import make_folder

        with lock:
            if not models.exists():
                models.mkdir()
                make_folder(models)
        return Found.of(tried("server", models, first=first, last=last, patience=PATIENCE))

    for begin, end in chunks(seed * 1_000_000, trials, PART):
        yield Job(f"server {begin}–{end - 1}", partial(some, begin, end))


def attempt(port: int, number: int) -> str:
    """One request: its status, or what went wrong."""
    from attacks import FINE, request, send

    raw = request(random.Random(number))
    answer = send(port, raw).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    status = answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.1 ") else "closed"
    wrong = status != "closed" and int(status) not in FINE
    if wrong or b"Traceback" in answer or b'File "' in answer or b"root:" in answer:
        return f"failed: request {number}: {raw[:1000]!r} was answered {answer[:1000]!r}"
    if not number % 50:
        healthy = send(port, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        if b'"status":"ok"' not in healthy:
            return f"failed: after request {number} the server is not well: {healthy[:500]!r}"
    return status


def attack(models: Path, numbers: Iterable[int]) -> None:
    """Serve the models as `structron serve` does, and send the requests."""
    from serving import HOSTILE, listening

    from structron.serve.app import make_app
    from structron.serve.library import Library

    names = [str(models / f"{model}.structron") for model in ("chunker", "beam", "one", "two", HOSTILE)]
    library = Library.open(["english", *names], [str(models / "test.conll")], [str(models / "train.log")])
    with listening(make_app(library)) as (port, _):
        print_trials(numbers, partial(attempt, port))


if __name__ == "__main__":
    folder, first_request, last_request = sys.argv[1:]
    attack(Path(folder), range(int(first_request), int(last_request)))
