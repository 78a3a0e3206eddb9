"""What runs in processes of its own for the graph-based parser: see child.py."""

from statistics import median
from typing import Any

from benchmarks.beam_child import read_rows
from benchmarks.child import WARM_UP, answer, count, timed
from benchmarks.peers import Udpipe
from structron import GraphParser

BEAM = 5


def graph(
    train: str, dev: str, order: int, passes: int | None, repeat: int, udpipe_model: str | None = None
) -> dict[str, Any]:
    """Train; then parse dev data in turn with a peer. Ours from rows in memory to lists of arcs."""
    rows, own = read_rows(train), read_rows(dev)
    options = {} if passes is None else {"passes": passes}
    parser = GraphParser(order=order, pos="xpos", **options).fit(rows)
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
    return found | {"dev_uas": scores.uas, "dev_las": scores.las}


if __name__ == "__main__":
    answer({"graph": graph})
