"""Requests of all kinds to the server, faults among them: none may go unanswered, and memory may not grow.

Some are whole and ask for an analysis, some are broken, huge or slow, some clients go away. An answer is lost if a
request that was sent whole gets none, one of another status than expected, or another text than the first time.
"""

import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote_plus, urlencode

TEXTS = tuple(
    f"{who} {what} {where}."
    for who in ("The old man", "She", "Dr. Smith", "Nobody in the house")
    for what in ("slept", "saw the dog that ate his lunch", "didn't fly")
    for where in ("in Paris", "by the river")
)
SENTENCE = "1\tHe\the\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tslept\tsleep\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
TOGETHER = 3
"""Requests at once over one connection."""
PATIENCE = 300.0
"""Seconds until an answer counts as lost."""
WAITS = (429, 503)
"""Answers of a busy server, which says when to come back."""
GROWTH = 5.0
"""Per cent that memory may grow by."""
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


def request(method: str, path: str, body: bytes = b"", kind: str = JSON, *headers: str) -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    if method == "POST":
        lines += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def post(path: str, **given: Any) -> bytes:
    """A request with a body of JSON."""
    return request("POST", path, json.dumps(given).encode())


ANALYSES = (
    *(post("/api/annotate", text=text, margins=k % 8 == 0) for k, text in enumerate(TEXTS)),
    *(
        request(
            "POST", "/process", urlencode({"data": text, "tokenizer": "", "tagger": "", "parser": ""}).encode(), FORM
        )
        for text in TEXTS[:6]
    ),
    *(request("GET", f"/process?tokenizer&tagger&data={quote_plus(text)}") for text in TEXTS[:3]),
    post("/api/explain", words=[{"form": "He"}, {"form": "slept"}], part="tagger"),
)
BEAM = post("/api/beam", sentence=SENTENCE, part="parser", beam=2)
LOOKS = tuple(
    request("GET", path)
    for path in ("/", "/api/models", "/api/models/english", "/api/data", "/api/training", "/models", "/static/main.js")
)
HEALTH = request("GET", "/health")
BROKEN = (
    (request("POST", "/api/annotate", b'{"text": '), 422),
    (request("POST", "/api/annotate", b'{"text": "a", "path": "/etc/passwd"}'), 422),
    (request("POST", "/api/annotate", b"\xff\xfe"), 422),
    (post("/api/annotate", text="a", model="none"), 404),
    (request("GET", "/nothing"), 404),
    (request("PUT", "/api/annotate"), 405),
    (request("GET", "/process?data=a", b"", "", "Sec-Fetch-Site: cross-site"), 403),
    (request("POST", "/process", b"data=%ff&tokenizer", FORM), 400),
    (request("GET", "/health").replace(b"127.0.0.1", b"evil.example"), 400),
    (b"GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    (b"no request\r\n\r\n", 400),
)
HUGE = (
    (request("POST", "/api/annotate", b"x" * 1_300_000), 413),
    (request("POST", "/api/explain", b'{"words":[' + b"1," * 300_000 + b"1]}"), 422),
    (request("POST", "/process", b"&" * 999_000, FORM), 400),
    (post("/api/annotate", text="a", **{f"f{k}": 1 for k in range(70_000)}), 422),
    (post("/api/annotate", text="He slept. " * 400), 200),
)
CHUNKS = (
    b"POST /api/annotate HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 12_000
)
SHARES = {
    "analysis": 799,
    "look": 2500,
    "health": 4500,
    "broken": 1000,
    "huge": 50,
    "slow": 200,
    "cut": 250,
    "gone": 250,
    "several": 450,
    "beam": 1,
}
"""Of ten thousand requests, how many are of which kind."""


class Connection:
    """One connection for several requests, opened again when the server has closed it."""

    def __init__(self, port: int):
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, raw: bytes) -> tuple[int, dict[str, str], bytes]:
        """The answer to a request."""
        for _ in range(2):
            used = self.streams is not None
            if self.streams is None:
                self.streams = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                self.streams[1].write(raw)
                return await read(self.streams[0])
            except (OSError, EOFError):
                await self.close()
                if not used:  # a new connection that is closed is no end of an old one
                    raise
        raise Lost("two connections were closed before the answer")

    async def close(self) -> None:
        """Hang up."""
        if self.streams is not None:
            await hang_up(self.streams[1])
        self.streams = None


class Lost(Exception):
    """An answer that did not come, or is not the expected one."""


@dataclass(slots=True)
class Storm:
    """What was sent, what was answered, and what the server's memory was meanwhile."""

    port: int
    wanted: int
    seed: int = 1
    sent: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    first: dict[bytes, bytes] = field(default_factory=dict)
    megabytes: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0
    note: Callable[["Storm"], None] = lambda own: None
    """Called after every 10,000 requests."""

    async def run(
        self, clients: int, memory: Callable[[], float] = lambda: 0.0, every: int = 1000, limit: float = float("inf")
    ) -> None:
        """Send all requests, or those of so many seconds; `memory` is called after every so many."""
        await self._warm_up()
        begin = time.perf_counter()

        async def client(number: int) -> None:
            dice, connection = random.Random(f"{self.seed} {number}"), Connection(self.port)
            while self.sent < self.wanted and time.perf_counter() < begin + limit:
                if self.sent // every > len(self.megabytes):
                    self.megabytes.append((self.sent, memory()))
                    self._say(begin, every)
                await self._one(dice, connection)
            await connection.close()

        await asyncio.gather(*(client(number) for number in range(clients)))
        self.seconds = time.perf_counter() - begin

    async def _warm_up(self) -> None:
        """Ask for everything once: on a cold server kernels are compiled, and until then some requests time out."""
        for raw in (*ANALYSES, BEAM, *LOOKS):
            connection = Connection(self.port)
            while (await connection.ask(raw))[0] in WAITS:
                await asyncio.sleep(1)
            await connection.close()

    def _say(self, begin: float, every: int) -> None:
        if len(self.megabytes) * every % 10_000 == 0:
            self.seconds = time.perf_counter() - begin
            self.note(self)
            rate = self.sent / (time.perf_counter() - begin)
            print(f"{self.sent:,}: {rate:.0f}/s, {self.megabytes[-1][1]:.0f} MB, {len(self.lost)} lost", flush=True)

    async def _one(self, dice: random.Random, connection: Connection) -> None:
        """Send one request of a kind by its share."""
        kind = dice.choices(list(SHARES), list(SHARES.values()))[0]
        count = TOGETHER if kind == "several" else 1
        self.kinds[kind] += count
        self.sent += count
        work: Callable[[random.Random, Connection], Awaitable[None]] = getattr(self, f"_{kind}")
        try:
            await asyncio.wait_for(work(dice, connection), PATIENCE)
        except (Lost, TimeoutError, OSError, EOFError) as error:
            self.lost.append(f"{kind}: {type(error).__name__} {error}"[:300])
            print(f"lost: {self.lost[-1]}", flush=True)

    async def _answered(
        self,
        raw: bytes,
        expected: int = 200,
        same: bool = True,
        slowly: bool = False,
        connection: Connection | None = None,
    ) -> None:
        """Send a request until the server is not busy, and check the answer."""
        while True:
            if connection is not None:
                status, head, body = await connection.ask(raw)
            else:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                try:
                    if slowly:
                        await _trickle(writer, raw)
                    else:
                        writer.write(raw)
                    status, head, body = await read(reader, slowly)
                finally:
                    await hang_up(writer)
            self.statuses[status] += 1
            if status not in WAITS:
                break
            await asyncio.sleep(min(float(head["retry-after"]), 5))
        if status != expected:
            raise Lost(f"{raw[:80]!r} was answered {status}, not {expected}: {body[:100]!r}")
        if same and self.first.setdefault(raw, body) != body:
            raise Lost(f"{raw[:80]!r} was answered differently: {body[:100]!r}")

    async def _analysis(self, dice: random.Random, connection: Connection) -> None:
        await self._answered(dice.choice(ANALYSES), connection=connection)

    async def _beam(self, dice: random.Random, connection: Connection) -> None:
        await self._answered(BEAM)

    async def _look(self, dice: random.Random, connection: Connection) -> None:
        await self._answered(dice.choice(LOOKS), connection=connection)

    async def _health(self, dice: random.Random, connection: Connection) -> None:
        await self._answered(HEALTH, same=False, connection=connection)

    async def _broken(self, dice: random.Random, connection: Connection) -> None:
        raw, expected = dice.choice(BROKEN)
        await self._answered(raw, expected)

    async def _huge(self, dice: random.Random, connection: Connection) -> None:
        if dice.random() < 0.2:
            await self._ignored(CHUNKS, read_some=True)
        else:
            raw, expected = dice.choice(HUGE)
            await self._answered(raw, expected)

    async def _slow(self, dice: random.Random, connection: Connection) -> None:
        await self._answered(dice.choice(ANALYSES), slowly=True)

    async def _cut(self, dice: random.Random, connection: Connection) -> None:
        raw = dice.choice(ANALYSES)
        await self._ignored(raw[: dice.randrange(1, len(raw))])

    async def _gone(self, dice: random.Random, connection: Connection) -> None:
        await self._ignored(dice.choice(ANALYSES))

    async def _ignored(self, raw: bytes, read_some: bool = False) -> None:
        """Send something and go away; the server may close the connection while it is sent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(raw)
            await writer.drain()
            if read_some:
                await reader.read(100)
        except ConnectionError:
            pass
        finally:
            await hang_up(writer)

    async def _several(self, dice: random.Random, connection: Connection) -> None:
        """Requests at once over one connection, answered in order."""
        wanted = [HEALTH, dice.choice(LOOKS), HEALTH][:TOGETHER]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(b"".join(wanted))
            for raw in wanted:
                status, _, body = await read(reader)
                self.statuses[status] += 1
                if status not in (200, *WAITS) or (raw == HEALTH) != body.startswith(b'{"status":"ok"'):
                    raise Lost(f"{raw[:80]!r}, one of several, was answered {status}: {body[:100]!r}")
        finally:
            await hang_up(writer)

    def growth(self) -> float:
        """Per cent by which memory has grown: the last tenth of the requests beside the second tenth."""
        tenth = len(self.megabytes) // 10
        if not tenth:
            return 0.0
        before, after = self.megabytes[tenth : 2 * tenth], self.megabytes[-tenth:]
        return 100 * (median(own for _, own in after) / median(own for _, own in before) - 1)

    def to_json(self) -> dict[str, Any]:
        """The report."""
        shown = self.megabytes[:: max(1, len(self.megabytes) // 40)]
        return {
            "requests": self.sent,
            "seconds": round(self.seconds),
            "kinds": dict(sorted(self.kinds.items())),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "lost": len(self.lost),
            "first_lost": self.lost[:10],
            "memory_growth_percent": round(self.growth(), 2),
            "megabytes": [[number, round(own, 1)] for number, own in shown],
        }

    def mistakes(self) -> list[str]:
        """What was required and is not so."""
        found = self.lost[:3]
        if self.growth() > GROWTH:
            found.append(f"memory grew by {self.growth():.1f} %; expected at most {GROWTH:.0f} %")
        return found


async def _trickle(writer: asyncio.StreamWriter, raw: bytes) -> None:
    """Send a request in eight pieces."""
    size = -(-len(raw) // 8)
    for lo in range(0, len(raw), size):
        writer.write(raw[lo : lo + size])
        await writer.drain()
        await asyncio.sleep(0.05)


async def read(reader: asyncio.StreamReader, slowly: bool = False) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines[1:] if line)
    head = {name.lower(): value.strip() for name, _, value in pairs}
    if "content-length" not in head:
        return int(lines[0][9:12]), head, await reader.read()
    length, body = int(head["content-length"]), b""
    while slowly and len(body) < length:
        body += await reader.readexactly(min(2000, length - len(body)))
        await asyncio.sleep(0.02)
    return int(lines[0][9:12]), head, body if slowly else await reader.readexactly(length)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close a connection."""
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


def memory(process: int) -> float:
    """Megabytes that a process has in memory."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1000
    return 0.0
