"""The server under load: `python -m benchmarks.load [--seconds 60] [--clients 100]`, or with faults `--requests N`.

Without `--requests`: a server is started on this machine with the English model. One client, then eight, then many ask
it to analyse a paragraph, each again as soon as it has an answer; who is told that the server is busy waits.
Direct calls are made by threads of a process of their own, with nothing else in it.

With `--requests N`: so many requests of all kinds (benchmarks/faults.py), broken, huge and slow ones among them; the
report goes to `--out`, and the status is 1 if an answer was lost or memory has grown.
"""

import argparse
import asyncio
import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import TextIO

from benchmarks.faults import Storm, memory
from structron import __version__

TEXT = (
    "Dr. Smith didn't sleep. He flew to Paris with the old man who had sold him the house by the river. "
    "The children, who had never seen the sea, asked their mother whether the boat would sink. "
    "When the rain stopped, three dogs ran across the road and nobody knew where they had come from."
)
BODY = json.dumps({"text": TEXT, "model": "english"}).encode()
HEAD = (
    f"POST /api/annotate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(BODY)}\r\n\r\n"
).encode()
DIRECT = """
import json, sys, threading, time, structron
nlp, text, threads, seconds = structron.load("english"), sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
nlp.predict([text], jobs=1)
counts, end = [0] * threads, time.perf_counter() + seconds
def work(k):
    while time.perf_counter() < end:
        json.dumps(nlp.predict([text], jobs=1)[0].to_json())
        counts[k] += 1
begin = time.perf_counter()
own = [threading.Thread(target=work, args=[k]) for k in range(threads)]
[thread.start() for thread in own]
[thread.join() for thread in own]
print(sum(counts) / (time.perf_counter() - begin))
"""


class Tally:
    """What clients saw: seconds of each answer, and how often which status."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.statuses: Counter[int] = Counter()

    def percentile(self, share: float) -> float:
        """The time that so many of a hundred answers needed at most."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share / 100 * len(ordered)))]


async def client(port: int, end: float, tally: Tally) -> None:
    """Ask again and again over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < end:
        begin = time.perf_counter()
        writer.write(HEAD + BODY)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status = int(head[9:12])
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        await reader.readexactly(length)
        tally.statuses[status] += 1
        if status == 200:
            tally.seconds.append(time.perf_counter() - begin)
        elif status == 429:
            await asyncio.sleep(float(head.split("retry-after:")[1].split("\r\n")[0]))
    writer.close()


async def clients(port: int, count: int, seconds: float) -> Tally:
    """So many clients for so long."""
    tally, end = Tally(), time.perf_counter() + seconds
    await asyncio.gather(*(client(port, end, tally) for _ in range(count)))
    return tally


def direct(threads: int, seconds: float) -> float:
    """Direct calls a second, from so many threads."""
    found = subprocess.run(
        [sys.executable, "-c", DIRECT, TEXT, str(threads), str(seconds)], capture_output=True, text=True, check=True
    )
    return float(found.stdout)


@contextlib.contextmanager
def served() -> Iterator[tuple[int, int]]:
    """A server with the English model: its port and its process."""
    server = subprocess.Popen(
        [sys.executable, "-m", "structron", "serve", "--port", "0"], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        while "http://" not in line:
            if not line:
                raise SystemExit("the server did not start")
            line = server.stderr.readline()
        threading.Thread(target=_show, args=[server.stderr], daemon=True).start()
        yield int(line.split("http://")[1].split()[0].rsplit(":", 1)[1]), server.pid
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    print(f"exit status {server.returncode}")


def _show(errors: TextIO) -> None:
    """Show what the server says."""
    for line in errors:
        print(f"server: {line}", end="", flush=True)


def with_faults(count: int, how_many: int, minutes: float, out: Path) -> int:
    """Send so many requests, write the report; returns the exit status."""
    about = {
        "structron": __version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "clients": how_many,
    }

    def write(storm: Storm) -> None:
        out.write_text(json.dumps(about | storm.to_json(), indent=1) + "\n", encoding="utf-8")

    with served() as (port, process):
        storm = Storm(port, count, note=write)
        asyncio.run(storm.run(how_many, lambda: memory(process), limit=60 * minutes))
    write(storm)
    print(f"{storm.sent:,} requests in {storm.seconds:.0f} s; answers: {dict(sorted(storm.statuses.items()))}")
    print(f"{len(storm.lost)} lost; memory grew by {storm.growth():.1f} %")
    for mistake in storm.mistakes():
        print(mistake)
    return 1 if storm.mistakes() else 0


def measure(seconds: float, count: int) -> None:
    """Measure one client, eight and many, and print."""
    with served() as (port, process):
        asyncio.run(clients(port, 1, 3))
        alone = asyncio.run(clients(port, 1, seconds / 6))
        print(f"1 client: median {1000 * median(alone.seconds):.1f} ms, p99 {1000 * alone.percentile(99):.1f} ms")
        eight = asyncio.run(clients(port, 8, seconds / 3))
        through = eight.statuses[200] / (seconds / 3)
        called = direct(8, seconds / 3)
        print(
            f"8 clients: {through:.1f} answers/s; direct calls from 8 threads: {called:.1f}/s; {through / called:.2f} ×"
        )
        before = memory(process)
        half = asyncio.run(clients(port, count, seconds / 2))
        middle = memory(process)
        rest = asyncio.run(clients(port, count, seconds / 2))
        after = memory(process)
        rest.seconds += half.seconds
        rest.statuses += half.statuses
        p50, p99 = rest.percentile(50), rest.percentile(99)
        print(
            f"{count} clients for {seconds:.0f} s: {dict(rest.statuses)}; median {1000 * p50:.0f} ms, "
            f"p99 {1000 * p99:.0f} ms, {p99 / median(alone.seconds):.1f} × the median of one client"
        )
        print(f"memory: {before:.0f} MB before, {middle:.0f} MB in the middle, {after:.0f} MB at the end")


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, help="100; with --requests 24")
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="with --requests: end after so many")
    parser.add_argument("--out", type=Path, default=Path("results/load.json"))
    given = parser.parse_args()
    if given.requests:
        return with_faults(given.requests, given.clients or 24, given.minutes, given.out)
    measure(given.seconds, given.clients or 100)
    return 0


if __name__ == "__main__":
    sys.exit(main())
