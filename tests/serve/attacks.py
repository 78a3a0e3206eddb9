"""Requests that mean no good, at random: none may crash the server, break it, or make it send a traceback.

    python tests/serve/attacks.py [--requests 10000] [--seed 1]

Valid requests are mutated: methods, addresses, headers, bodies, single bytes. All go to a server that listens, over
connections of their own for what is no HTTP any more. Then come requests that are small in bytes and large in count; it
is measured how long /health takes meanwhile.
"""

import argparse
import json
import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path[:0] = [str(path) for path in (Path(__file__).parent, *Path(__file__).parents[1:3])]

FINE = {200, 204, 301, 304, 307, 400, 403, 404, 405, 408, 411, 413, 414, 415, 417, 422, 429, 431, 501, 503}
"""What may be answered."""
NASTY = (
    "", "\x00", "\ud800", "A" * 5000, "../" * 9 + "etc/passwd", "%2e%2e%2f", "<script>hacked=1</script>", "{{7*7}}",
    "${jndi:ldap://x}", "' OR 1=1 --", "1e999", "-1", "NaN", "\u202e\u0301\u200d", "🧨" * 40, "\r\nX: y", "null",
    "9" * 400, "1\t" * 10, "a\tb\n" * 3, "1\tHe\t_\t_\t_\t_\t2\tx\t_\t_\n2\tis\t_\t_\t_\t_\t1\tx\t_\t_\n",
    "/".join("abcdefgh"),
)  # fmt: skip
SEEDS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/", None),
    ("GET", "/health", None),
    ("GET", "/models", None),
    ("GET", "/openapi.json", None),
    ("GET", "/static/main.js", None),
    ("GET", "/process?tokenizer&tagger&parser&data=He%20slept.", None),
    ("POST", "/process", "data=He+slept.&tokenizer=&tagger=&model=english&output=conllu&input=conllu"),
    ("POST", "/api/annotate", {"text": "He slept.", "model": "english", "margins": True}),
    ("POST", "/api/annotate", {"text": "The/DT dog/NN", "model": "chunker"}),
    ("POST", "/api/explain", {"words": [{"form": "He", "upos": "PRON"}], "part": "tagger", "top": 4}),
    ("POST", "/api/beam", {"model": "beam", "sentence": "The\tDT\ndog\tNN\n", "beam": 2}),
    ("POST", "/api/compare", {"a": "one", "b": "two", "text": "The\tDT\ndog\tNN\n"}),
    ("GET", "/api/models", None),
    ("GET", "/api/models/chunker", None),
    ("GET", "/api/models/chunker/features?label=O&search=w&top=5", None),
    ("GET", "/api/data/test?first=0&count=2", None),
    ("GET", "/api/training/train?after=1", None),
)
FORM = "application/x-www-form-urlencoded"
OVERSIZED: dict[str, tuple[str, str, bytes, int, str]] = {
    "a list of 300,000 numbers": (
        "/api/explain",
        "application/json",
        json.dumps({"words": [1] * 300_000}).encode(),
        422,
        "body: 900,004 bytes outside strings; expected at most 100,000",
    ),
    "a list of 30,000 numbers": (
        "/api/explain",
        "application/json",
        json.dumps({"words": [1] * 30_000}).encode(),
        422,
        "body: 30,000 values in a list; expected at most 1,000",
    ),
    "a form of ampersands": ("/process", FORM, b"&" * 999_000, 400, "form: 999,001 fields; expected at most 32\n"),
    "70,000 fields": (
        "/api/annotate",
        "application/json",
        json.dumps({"text": "a", **{f"f{k}": 1 for k in range(70_000)}}).encode(),
        422,
        "body: 70,002 strings; expected at most 20,000",
    ),
    "9,000 fields": (
        "/api/annotate",
        "application/json",
        json.dumps({"text": "a", **{f"f{k}": 1 for k in range(9_000)}}).encode(),
        422,
        "body: 9,001 fields; expected at most 32",
    ),
    "a tower of lists": (
        "/api/annotate",
        "application/json",
        b'{"a":' + b"[" * 90_000,
        422,
        "body: nested too deep; expected at most 3 levels",
    ),
    "a low tower of lists": (
        "/api/annotate",
        "application/json",
        b'{"a":[[[1]]]}',
        422,
        "body: nested too deep; expected at most 3 levels",
    ),
    "15,000 parts": (
        "/process",
        "multipart/form-data; boundary=x",
        b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n" * 15_000 + b"--x--\r\n",
        400,
        "form: too many fields; expected at most 32\n",
    ),
}
"""Bodies that are small enough in bytes: address, content type, body, and the answer."""
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "FOO", "")
KINDS = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "")


def mutated_value(value: Any, dice: random.Random) -> Any:
    """Another value in place of one, or of one inside of it."""
    if isinstance(value, dict) and value and dice.random() < 0.8:
        found = dict(value)
        name = dice.choice(list(found))
        action = dice.random()
        if action < 0.15:
            del found[name]
        elif action < 0.25:
            found[dice.choice(NASTY)] = found[name]
        else:
            found[name] = mutated_value(found[name], dice)
        return found
    if isinstance(value, list) and value and dice.random() < 0.7:
        return [mutated_value(value[0], dice)] * dice.choice((1, 2, 300))
    others: tuple[Any, ...] = (None, True, -1, 2**70, 1.5, [], {}, [[]], {"a": {"b": []}}, dice.choice(NASTY))
    if isinstance(value, str) and dice.random() < 0.5:
        place = dice.randrange(len(value) + 1)
        return value[:place] + dice.choice(NASTY) + value[place:]
    return dice.choice(others)


def request(dice: random.Random) -> bytes:
    """One request, mutated, as it goes over the wire."""
    method, path, body = dice.choice(SEEDS)
    kind = KINDS[0] if isinstance(body, dict) else KINDS[1]
    for _ in range(dice.choice((1, 1, 2, 3))):
        what = dice.random()
        if what < 0.5 and isinstance(body, dict | list):
            body = mutated_value(body, dice)
        elif what < 0.7:
            place = dice.randrange(1, len(path) + 1)
            path = path[:place] + quote(dice.choice(NASTY).encode("utf-8", "replace"), safe="%") + path[place:]
        elif what < 0.8:
            method = dice.choice(METHODS)
        elif what < 0.9:
            kind = dice.choice(KINDS)
        else:
            body = dice.choice(NASTY)
    data = (
        b"" if body is None else body.encode("utf-8", "replace") if isinstance(body, str) else json.dumps(body).encode()
    )
    headers = {"Host": "127.0.0.1", "Content-Type": kind, "Connection": "close"}
    if data or method == "POST":
        headers["Content-Length"] = str(len(data) if dice.random() < 0.97 else dice.choice((0, 10**9, -1)))
    if dice.random() < 0.05:
        headers[dice.choice(("Host", "Origin", "X", "Transfer-Encoding", "Expect", "Range"))] = dice.choice(
            ("evil.example", "http://evil.example", "chunked", "100-continue", "bytes=0-", "y" * 3000)
        )
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    raw = f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("utf-8", "replace") + data
    if dice.random() < 0.1:
        flipped = bytearray(raw)
        for _ in range(dice.randrange(1, 6)):
            flipped[dice.randrange(len(flipped))] = dice.randrange(256)
        raw = bytes(flipped)
    return raw


def send(port: int, raw: bytes, patience: float = 3.0) -> bytes:
    """What is answered within some seconds: nothing, where the request is not whole, and we hang up."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        try:
            connection.sendall(raw)
            found = b""
            while part := connection.recv(1 << 16):
                found += part
            return found
        except (ConnectionError, TimeoutError):
            return b""


def attack(port: int, count: int, seed: int = 1, patience: float = 3.0) -> Counter[str]:
    """Send so many requests; returns how often which status came, raises at the first answer that is wrong.

    patience: seconds to wait for an answer."""
    dice, found = random.Random(seed), Counter[str]()
    for number in range(count):
        raw = request(dice)
        answer = send(port, raw, patience).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
        status = answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.1 ") else "closed"
        found[status] += 1
        wrong = status != "closed" and int(status) not in FINE
        if wrong or b"Traceback" in answer or b'File "' in answer or b"root:" in answer:
            raise AssertionError(f"request {number}: {raw[:2000]!r}\nwas answered {answer[:2000]!r}")
    healthy = send(port, HEALTH)
    if b'"status":"ok"' not in healthy:
        raise AssertionError(f"the server is not well: {healthy[:500]!r}")
    return found


def post(path: str, kind: str, body: bytes) -> bytes:
    """A request with a body, as it goes over the wire."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def chunked(count: int) -> bytes:
    """A request whose body comes in chunks of a byte."""
    head = b"POST /api/annotate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * count + b"0\r\n\r\n"


HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def healthy_during(port: int, raw: bytes) -> tuple[list[float], bytes]:
    """Send a request, and ask /health until it is answered: the seconds that each took, and the answer."""
    answers: list[bytes] = []
    thread = threading.Thread(target=lambda: answers.append(send(port, raw, 300)))
    thread.start()
    seconds = []
    while thread.is_alive() or not seconds:
        begin = time.perf_counter()
        found = send(port, HEALTH, 300)
        seconds.append(time.perf_counter() - begin)
        if b'"status":"ok"' not in found:
            raise AssertionError(f"the server is not well: {found[:500]!r}")
    thread.join()
    return seconds, answers[0]


def main() -> None:
    """Start a server and attack it."""
    from benchmarks.load import served
    from serving import HOSTILE, listening, make_folder

    from structron.serve.app import make_app
    from structron.serve.library import Library

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = make_folder(Path(name))
        models = [str(folder / f"{model}.structron") for model in ("chunker", "beam", "one", "two", HOSTILE)]
        library = Library.open(["english", *models], [str(folder / "test.conll")], [str(folder / "train.log")])
        with listening(make_app(library)) as (port, _):
            begin = time.perf_counter()
            found = attack(port, given.requests, given.seed)
            seconds = time.perf_counter() - begin
    print(f"{given.requests} requests in {seconds:.0f} s, none crashed the server or broke out:")
    print(", ".join(f"{status} {count}" for status, count in sorted(found.items())))
    with served() as (port, _):
        measure(port)


def measure(port: int) -> None:
    """Print how long /health takes beside requests that are large in count, at a server of its own process."""
    send(port, HEALTH)
    large = {name: post(path, kind, body) for name, (path, kind, body, *_) in OVERSIZED.items()}
    for name, raw in ({"300,000 chunks of a byte": chunked(300_000)} | large).items():
        seconds, answer = healthy_during(port, raw)
        status, worst = answer[9:12].decode() or "closed", 1000 * max(seconds)
        print(f"{name}: {status}; /health within {worst:.0f} ms, {len(seconds)} times", flush=True)


if __name__ == "__main__":
    main()
