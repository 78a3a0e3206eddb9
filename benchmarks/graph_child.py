"""What runs in processes of its own for the graph-based parser: see child.py."""

import time
from resource import RUSAGE_SELF, getrusage
from statistics import median
from typing import Any

from benchmarks.beam_child import read_rows
from benchmarks.child import WARM_UP, answer, count, timed
from benchmarks.measure import MAXRSS_BYTES, MEGABYTE
from benchmarks.peers import Udpipe
from structron import GraphParser

BEAM = 5
LONG = 40
"""Words of a long sentence."""
PASSES = 2


def spent_on(parser: GraphParser, rows: list) -> float:
    """Processor time of a training."""
    start = time.process_time()
    parser.fit(rows)
    return time.process_time() - start


def graph(
    train: str, dev: str, order: int, passes: int | None, repeat: int, udpipe_model: str | None = None
) -> dict[str, Any]:
    """Train; then parse dev data in turn with a peer. Ours from rows in memory to lists of arcs."""
    rows, own = read_rows(train), read_rows(dev)
    options = {} if passes is None else {"passes": passes}
    GraphParser(order=order, pos="xpos", passes=1, runs=1).fit(rows[:WARM_UP])
    parser = GraphParser(order=order, pos="xpos", jobs=1, **options)
    training = spent_on(parser, rows)
    peak = getrusage(RUSAGE_SELF).ru_maxrss * MAXRSS_BYTES / MEGABYTE
    peer = Udpipe(udpipe_model) if udpipe_model else None
    theirs = Udpipe.read(dev) if peer else None
    parser.predict(own[:WARM_UP])
    seconds: dict[str, list[float]] = {"structron": []}
    tokens = {"structron": count(own)}
    for _ in range(repeat):
        if peer:
            spent, words = timed(lambda: peer.parse(theirs, BEAM))
            seconds.setdefault(peer.name, []).append(spent)
            tokens[peer.name] = words
        spent, trees = timed(lambda: parser.predict(own))
        seconds["structron"].append(spent)
    scores = parser.evaluate(own, guess=trees)
    learned = [record["seconds"] for record in parser.history_]
    per_pass = median(seconds["structron"]) * count(rows) * parser.runs / max(count(own), 1)
    found = {"tokens": tokens, "seconds": seconds, "learning": median(learned), "per_pass": per_pass}
    return found | {"training": training, "peak_mb": peak, "dev_uas": scores.uas, "dev_las": scores.las}


def crossing(train: str, sentences: int, repeat: int) -> dict[str, list[float]]:
    """Processor time of learning from long sentences with projective search and, in turn, by climbing."""
    rows = read_rows(train)
    long = [row for row in rows if len(row) >= LONG][:sentences] or rows[:sentences]
    found: dict[str, list[float]] = {"projective": [], "structron": []}
    for number in range(repeat + 1):
        for name, times in found.items():
            parser = GraphParser(pos="xpos", passes=PASSES, runs=1, jobs=1, projective=name == "projective")
            spent = spent_on(parser, long if number else long[:WARM_UP])
            times += [spent] if number else []
    return found


if __name__ == "__main__":
    answer({"graph": graph, "crossing": crossing})
