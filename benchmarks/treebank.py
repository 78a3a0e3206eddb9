"""The parser with a beam of 8, and greedy, beside UDPipe's with its own beam, all trained on one treebank."""

from collections.abc import Collection
from pathlib import Path

from benchmarks.beam import UDPIPE
from benchmarks.measure import BEYOND, MORE, child, structron
from benchmarks.report import OURS, Report, Settings, corpus, installed, same_tokens, say

TREEBANK_PARTS = ("treebank",)
TIMES = {8: 8, 1: 30}
"""Our beams, and how many times as fast as UDPipe's parser they are to be."""
THEIRS = 5
"""UDPipe's own beam."""
LOSS = -2
"""LAS by which a parser that learned to be greedy may be behind the one with a beam."""


def treebank_parts(data: Path, folder: Path, settings: Settings, report: Report, parts: Collection[str]) -> None:
    """Run the part if it is wanted, for every treebank."""
    if not {*TREEBANK_PARTS} & {*parts}:
        return
    for name in settings.treebanks:
        files = corpus(data, name, "conllu", ("train", "dev", "test"))
        if files is None:
            report.skip(f"{name}: no train, dev and test .conllu(.gz) in {data / name}: treebank")
        elif not installed("ufal.udpipe"):
            report.skip(f"{name}: treebank: ufal.udpipe is not installed (the extra `bench` has it)")
        else:
            compare(name, files, folder, settings, report)


def compare(name: str, files: dict[str, Path], folder: Path, settings: Settings, report: Report) -> None:
    """The rows of one treebank. A UDPipe that is kept was trained by its defaults; one trained here knows parsing
    alone."""
    peer = (settings.kept or folder) / f"{name}.udpipe"
    if not peer.exists():
        say(f"{name}: training {UDPIPE}'s parser")
        given = {"train": files["train"], "model": folder / f"{name}-parser.udpipe"}
        child("train_udpipe", module="beam_child", **given, sentences=settings.udpipe_sentences)
        peer = given["model"]
    scores = {}
    passes = ["--passes", str(settings.parser_passes)] if settings.parser_passes else []
    for beam, times in TIMES.items():
        model, greedy = folder / f"{name}-{beam}.structron", ["--beam", "1"] if beam == 1 else []
        say(f"{name}: training our parser{', greedy' if greedy else ''}")
        structron("train", "parser", "--train", files["train"], "--model", model, *greedy, *passes)
        say(f"{name}: parsing, beam {beam}")
        given = {"dev": files["dev"], "test": files["test"], "model": model, "udpipe_model": peer}
        found, _ = child("parse", module="beam_child", **given, beams=[beam], peer_beam=THEIRS, repeat=settings.repeat)
        report.details[f"{name}_beam{beam}"] = found
        same_tokens(f"{name}, parsing", found["tokens"][UDPIPE], found["tokens"][OURS])
        seconds = found["seconds"]
        values = {side: [found["tokens"][side] / spent for spent in seconds[side][str(beam)]] for side in seconds}
        title = f"{name}: parsing from tokens, {'greedy' if greedy else f'beam {beam}'}"
        report.add(f"{name}_beam{beam}", title, "tokens/s", {UDPIPE: values[UDPIPE], OURS: values[OURS]}, MORE, times)
        scores[beam] = found["dev_las"][str(beam)]
    values = {"our beam 8": [scores[8]], OURS: [scores[1]]}
    report.add(f"{name}_greedy", f"{name}: … dev LAS, greedy", "%", values, BEYOND, LOSS)
