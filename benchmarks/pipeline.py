"""The pipeline, from raw text to trees, beside UDPipe trained on the same files, and spaCy's blank tokenizer."""

from collections.abc import Collection
from pathlib import Path

from benchmarks.beam import UDPIPE
from benchmarks.measure import LESS, MORE, child
from benchmarks.report import OURS, Report, Settings, corpus, installed, say

PIPELINE_PARTS = ("pipeline",)
FAST = f"{OURS} --fast"
SPACY = "spaCy, blank"
COLUMNS = ("words", "sentences", "upos", "xpos", "ufeats", "lemmas", "uas", "las")


def pipeline_parts(data: Path, folder: Path, settings: Settings, report: Report, parts: Collection[str]) -> None:
    """Run the part if it is wanted, for every treebank."""
    if not {*PIPELINE_PARTS} & {*parts}:
        return
    for name in settings.treebanks:
        files = corpus(data, name, "conllu", ("train", "dev", "test"))
        if files is None:
            report.skip(f"{name}: no train, dev and test .conllu(.gz) in {data / name}: pipeline")
            continue
        models = {OURS: folder / f"{name}.structron", FAST: folder / f"{name}-fast.structron"}
        given = {"train": files["train"], "dev": files["dev"], "sentences": settings.udpipe_sentences}
        seconds = {}
        for side in models:
            say(f"{name}: training {side}")
            found, _ = child("train", module="pipeline_child", **given, model=models[side], fast=side == FAST)
            seconds[side] = [found["seconds"]]
        report.details[f"{name}_seconds"] = seconds
        if installed("ufal.udpipe"):
            models[UDPIPE] = (settings.kept or folder) / f"{name}.udpipe"
            if not models[UDPIPE].exists():
                say(f"{name}: training {UDPIPE} with its defaults: minutes to hours")
                found, _ = child("train_udpipe", module="pipeline_child", **given, model=models[UDPIPE])
                both = {UDPIPE: [found["seconds"]], OURS: seconds[OURS]}
                report.add(f"{name}_training", f"{name}: pipeline, training", "s", both, LESS)
        found, _ = child("annotate", module="pipeline_child", test=files["test"], models=models, repeat=settings.repeat)
        report.details[f"{name}_pipeline"] = found
        _add_rows(name, found, report)


def _add_rows(name: str, found: dict, report: Report) -> None:
    speed = {side: [found["words"] / spent for spent in times] for side, times in found["seconds"].items()}
    peers = [side for side in (UDPIPE, SPACY) if side in speed]
    for peer in peers:
        for ours in (OURS, FAST) if peer == UDPIPE else (f"{OURS}, tokenizer",):
            title = f"{name}: raw text to {'trees' if peer == UDPIPE else 'tokens'}, {ours} beside {peer}"
            report.add(f"{name}_{peer}_{ours}", title, "words/s", {peer: speed[peer], ours: speed[ours]}, MORE)
    for side, scores in found["scores"].items():
        say(f"{name}, {side}: " + ", ".join(f"{column} {scores[column]:.2f}" for column in COLUMNS))
