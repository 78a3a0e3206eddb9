"""The server under load, beside direct calls: `python -m benchmarks.load [--seconds 60] [--clients 100]`.

A server is started on this machine with the English model. One client, then eight, then many ask it to analyse a
paragraph, each again as soon as it has an answer; who is told that the server is busy waits as long as it is told to.
Direct calls are made by threads of a process of their own, with nothing else in it.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median

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


def memory(process: int) -> float:
    """Megabytes that a process has in memory."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1000
    return 0.0


def direct(threads: int, seconds: float) -> float:
    """Direct calls a second, from so many threads."""
    found = subprocess.run(
        [sys.executable, "-c", DIRECT, TEXT, str(threads), str(seconds)], capture_output=True, text=True, check=True
    )
    return float(found.stdout)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=100)
    given = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, "-m", "structron", "serve", "--port", "0"], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        while "http://" not in line:
            line = server.stderr.readline()
        port = int(line.split("http://")[1].split()[0].rsplit(":", 1)[1])
        asyncio.run(clients(port, 1, 3))
        alone = asyncio.run(clients(port, 1, given.seconds / 6))
        print(f"1 client: median {1000 * median(alone.seconds):.1f} ms, p99 {1000 * alone.percentile(99):.1f} ms")
        eight = asyncio.run(clients(port, 8, given.seconds / 3))
        through = eight.statuses[200] / (given.seconds / 3)
        called = direct(8, given.seconds / 3)
        print(
            f"8 clients: {through:.1f} answers/s; direct calls from 8 threads: {called:.1f}/s; {through / called:.2f} ×"
        )
        before = memory(server.pid)
        half = asyncio.run(clients(port, given.clients, given.seconds / 2))
        middle = memory(server.pid)
        rest = asyncio.run(clients(port, given.clients, given.seconds / 2))
        after = memory(server.pid)
        rest.seconds += half.seconds
        rest.statuses += half.statuses
        p50, p99 = rest.percentile(50), rest.percentile(99)
        print(
            f"{given.clients} clients for {given.seconds:.0f} s: {dict(rest.statuses)}; median {1000 * p50:.0f} ms, "
            f"p99 {1000 * p99:.0f} ms, {p99 / median(alone.seconds):.1f} × the median of one client"
        )
        print(f"memory: {before:.0f} MB before, {middle:.0f} MB in the middle, {after:.0f} MB at the end")
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    print(f"exit status {server.returncode}")


if __name__ == "__main__":
    main()
