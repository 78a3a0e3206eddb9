"""The graph-based parser: training, and parsing from tokens to trees at both orders, beside UDPipe's parser."""

from collections.abc import Collection
from pathlib import Path

from benchmarks.beam import ASKED, UDPIPE
from benchmarks.measure import LESS, MORE, SHARE, child
from benchmarks.report import OURS, TAGS, Report, Settings, corpus, installed, same_tokens, say

ORDERS = {1: 80_000, 2: 15_000}
"""Orders, and the tokens per second that are asked for."""
TRAINING_SECONDS, TRAINING_MEGABYTES = 180, 700
"""Asked for at order 2."""
PROJECTIVE = "projective"
CROSSING_SECONDS = 2
"""Times as long as projective search that training without it may take."""
LONG_SENTENCES = 100
"""So many learn with both searches."""
CROSSING = "learning from long sentences with crossing arcs"
GRAPH_PARTS = ("graph",)


def graph_parts(data: Path, folder: Path, settings: Settings, report: Report, parts: Collection[str]) -> None:
    """Run the part if it is wanted."""
    if not {*GRAPH_PARTS} & {*parts}:
        return
    files = corpus(data, TAGS, "conllu", ("train", "dev"))
    if files is None:
        report.skip(f"{TAGS}: no train and dev .conllu(.gz) in {data / TAGS}: {', '.join(GRAPH_PARTS)}")
        return
    udpipe = folder / "graph.udpipe" if installed("ufal.udpipe") else None
    if udpipe:
        say(f"{TAGS}: graph, training {UDPIPE}")
        given = {"train": files["train"], "model": udpipe, "sentences": settings.udpipe_sentences}
        child("train_udpipe", module="beam_child", **given)
    for order, asked in ORDERS.items():
        say(f"{TAGS}: graph, order {order}")
        given = {**files, "order": order, "passes": settings.parser_passes, "repeat": settings.repeat}
        found, _ = child("graph", module="graph_child", **given, udpipe_model=udpipe)
        report.details[f"graph_order{order}"] = found
        add_rows(order, asked, found, report)
    say(f"{TAGS}: graph, crossing arcs")
    given = {"train": files["train"], "sentences": LONG_SENTENCES, "repeat": settings.repeat}
    found, _ = child("crossing", module="graph_child", **given)
    report.details["graph_crossing"] = found
    values = {PROJECTIVE: found[PROJECTIVE], OURS: found[OURS]}
    report.add("graph_crossing", f"{TAGS}: graph-parser, {CROSSING}", "s", values, SHARE, CROSSING_SECONDS)


def add_rows(order: int, asked: int, found: dict, report: Report) -> None:
    """The rows of one order."""
    title = f"{TAGS}: graph-parser, order {order}"
    speed = {side: [found["tokens"][side] / spent for spent in times] for side, times in found["seconds"].items()}
    values = {ASKED: [float(asked)] * len(speed[OURS]), OURS: speed[OURS]}
    report.add(f"graph{order}", f"{title}, from tokens", "tokens/s", values, MORE, 1)
    if UDPIPE in speed:
        same_tokens(title, found["tokens"][UDPIPE], found["tokens"][OURS])
        beside = {UDPIPE: speed[UDPIPE], OURS: speed[OURS]}
        report.add(f"graph{order}_udpipe", f"{TAGS}: … beside a parser with beam 5", "tokens/s", beside, MORE)
    values = {"parsing it": [found["per_pass"]], OURS: [found["learning"]]}
    report.add(f"graph{order}_pass", f"{title}, a pass of training", "s", values, LESS)
    if order == 2:
        values = {ASKED: [float(TRAINING_SECONDS)], OURS: [found["training"]]}
        report.add("graph_training", f"{title}, training, processor time", "s", values, LESS, 1)
        values = {ASKED: [float(TRAINING_MEGABYTES)], OURS: [found["peak_mb"]]}
        report.add("graph_memory", f"{TAGS}: … peak memory", "MB", values, SHARE, 1)
