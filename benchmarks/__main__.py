"""The driver: runs every part in processes of its own, peer and ours in turn, and prints one table.

python -m benchmarks --data DIR [--quick] [--only PART …] [--repeat N] [--out results/bench.json]
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.beam import BEAM_PARTS, beam_parts
from benchmarks.earlier import EARLIER_PARTS, earlier_parts
from benchmarks.entities import ENTITY_PARTS, entity_parts
from benchmarks.graph import GRAPH_PARTS, graph_parts
from benchmarks.measure import (
    LESS,
    MEGABYTE,
    MORE,
    SHARE,
    Failed,
    Run,
    alternate,
    child,
    cores,
    numba_alone,
    structron,
    table,
)
from benchmarks.peers import Crfsuite, read_columns
from benchmarks.pipeline import PIPELINE_PARTS, pipeline_parts
from benchmarks.report import (
    CHUNKS,
    NUMBA,
    OURS,
    TAGS,
    Report,
    Settings,
    corpus,
    costs,
    each,
    installed,
    same_tokens,
    say,
    split,
)
from benchmarks.scaling import SCALING_PARTS, scaling_parts
from benchmarks.segments import SEGMENT_PARTS, segment_parts
from benchmarks.treebank import TREEBANK_PARTS, treebank_parts

CRFSUITE, NLTK, ONE_JOB = Crfsuite.name, "NLTK", "--jobs 1"
DEFAULT = "structron, default --runs"
THREADS = {"tagger": 1.7, "parser": 1.9}
"""How much faster two threads are to be than one."""
PARTS = ("chunks", "tags", "start", "jobs", *SEGMENT_PARTS, *BEAM_PARTS, *GRAPH_PARTS, *ENTITY_PARTS)
PARTS = (*PARTS, *TREEBANK_PARTS, *PIPELINE_PARTS, *SCALING_PARTS, *EARLIER_PARTS)


def chunking(files: dict[str, Path], folder: Path, settings: Settings, report: Report) -> Path:
    """Whole training processes, passes, prediction, memory and size; returns our model."""
    theirs, ours = folder / "chunks.crfsuite", folder / "chunks.structron"

    def train_theirs(passes: int = settings.passes) -> tuple[dict[str, Any], Run]:
        return child("train_crfsuite", train=files["train"], model=theirs, passes=passes)

    def command(model: Path, passes: int, *more: str | Path) -> Run:
        options = ["--templates", "chunk19", "--columns", "word,pos,chunk", "--passes", str(passes)]
        return structron("train", "chunker", *options, *more, "--train", files["train"], "--model", model)

    def train_ours(passes: int = settings.passes) -> tuple[dict[str, Any], Run]:
        log = folder / "passes.jsonl"
        done = command(ours, passes, "--runs", "1", "--log", log)
        records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        seconds = [record["seconds"] for record in records]
        return {"log": seconds, "wall": seconds, "tokens": records[0]["tokens"]}, done

    say(f"{CHUNKS}: warming up")
    train_theirs(1)
    train_ours(1)
    default = folder / "default.structron"
    sides = {CRFSUITE: train_theirs, OURS: train_ours, DEFAULT: lambda: ({}, command(default, settings.passes))}
    logs, runs = split(alternate(sides, settings.repeat, lambda text: say(f"{CHUNKS}: training, {text}")))
    logs.pop(DEFAULT)
    same_tokens(f"{CHUNKS}, training", logs[CRFSUITE][0]["tokens"], logs[OURS][0]["tokens"])
    report.details["chunk_training"] = {"logs": logs, "processes": costs(runs)}
    committee = {CRFSUITE: runs[CRFSUITE], OURS: runs.pop(DEFAULT)}
    say(f"{CHUNKS}: prediction in memory")
    options = {"crfsuite_model": theirs, "model": ours, "repeat": 2 * settings.repeat + 1}
    guesses, _ = child("predict_chunks", test=files["test"], **options)
    same_tokens(f"{CHUNKS}, prediction", guesses[CRFSUITE]["tokens"], guesses[OURS]["tokens"])
    report.details["chunk_prediction"] = guesses
    speed = {side: [guess["tokens"] / seconds for seconds in guess["seconds"]] for side, guess in guesses.items()}
    size = {CRFSUITE: [theirs.stat().st_size / MEGABYTE], OURS: [ours.stat().st_size / MEGABYTE]}

    add, passes = report.add, f"{settings.passes} passes"
    add("pass", f"{CHUNKS}: a pass of training", "s", each(logs, lambda log: fmean(log["wall"])), LESS, 4)
    add("pass_log", f"{CHUNKS}: … by its own log", "s", each(logs, lambda log: fmean(log["log"])), LESS)
    add("file_to_model", f"{CHUNKS}: file to model, {passes}", "s", each(runs, lambda done: done.wall), LESS, 5)
    add("file_to_model_cpu", f"{CHUNKS}: … processor time", "s", each(runs, lambda done: done.cpu), LESS)
    add("peak", f"{CHUNKS}: … peak memory", "MB", each(runs, lambda done: done.peak_mb), SHARE, 1)
    add("default_runs", f"{CHUNKS}: file to model, default --runs", "s", each(committee, lambda done: done.wall), LESS)
    add("default_runs_peak", f"{CHUNKS}: … peak memory", "MB", each(committee, lambda done: done.peak_mb), SHARE)
    add("size", f"{CHUNKS}: model file", "MB", size, SHARE, 1)
    add("predict", f"{CHUNKS}: prediction from tokens", "tokens/s", speed, MORE, 8)
    add("f1", f"{CHUNKS}: test F1", "%", {side: [guess["f1"]] for side, guess in guesses.items()}, MORE)
    label_file(files["test"], theirs, ours, folder, guesses[OURS]["tokens"], settings, report)
    return ours


def label_file(
    test: Path, theirs: Path, ours: Path, folder: Path, tokens: int, settings: Settings, report: Report
) -> None:
    """From a file to a labelled file, whole processes: start-up counts."""
    output = folder / "labelled.conll"
    sides = {
        CRFSUITE: lambda: child("label_file_crfsuite", model=theirs, test=test, output=output)[1],
        OURS: lambda: structron("predict", ours, test, "--output", output),
    }
    found = alternate(sides, settings.start_repeat, lambda text: say(f"{CHUNKS}: labelling a file, {text}"))
    report.details["chunk_file"] = costs(found)
    values = each(found, lambda done: tokens / done.wall)
    report.add("predict_file", f"{CHUNKS}: file to labelled file", "tokens/s", values, MORE)


def tagging(files: dict[str, Path], settings: Settings, report: Report) -> None:
    """Fitting and prediction from sentences in memory."""
    options = {**files, "repeat": 3}
    sides = {
        NLTK: lambda: child("tag_nltk", passes=settings.nltk_passes, **options),
        OURS: lambda: child("tag_structron", passes=settings.passes, **options),
    }
    logs, runs = split(alternate(sides, settings.repeat, lambda text: say(f"{TAGS}: tagging, {text}")))
    for key in ("fit_tokens", "tokens"):
        same_tokens(f"{TAGS}, {key}", logs[NLTK][0][key], logs[OURS][0][key])
    report.details["tagging"] = {"logs": logs, "processes": costs(runs)}
    speed = each(logs, lambda log: log["tokens"] / log["predict_seconds"])
    title = f"training, {settings.nltk_passes} and {settings.passes} passes"
    report.add("tag_fit", f"{TAGS} XPOS: {title}", "s", each(logs, lambda log: log["fit_seconds"]), LESS, 20)
    report.add("tag_accuracy", f"{TAGS} XPOS: accuracy", "%", each(logs, lambda log: log["accuracy"]), MORE, 1)
    report.add("tag_predict", f"{TAGS} XPOS: prediction", "tokens/s", speed, MORE)


def starting(model: Path | None, test: Path | None, folder: Path, settings: Settings, report: Report) -> None:
    """From the prompt and back: help, and the labels of one sentence."""
    sides = {NUMBA: numba_alone, "help": lambda: structron("--help")}
    if model and test:
        sentence = one_sentence(test, folder)
        sides["predict"] = lambda: structron("predict", model, sentence)
    else:
        report.skip("start of `structron predict`: no model without the part `chunks`")
    alternate(sides, 1, lambda text: say(f"start, warming up: {text}"))
    found = alternate(sides, settings.start_repeat, lambda text: say(f"start: {text}"))
    report.details["start"] = costs(found)
    wall = each(found, lambda done: done.wall)
    report.add("help", "structron --help", "s", {NUMBA: wall[NUMBA], OURS: wall["help"]}, SHARE)
    if "predict" in wall:
        values = {NUMBA: wall[NUMBA], OURS: wall["predict"]}
        report.add("predict_one", "structron predict, one sentence", "s", values, SHARE, 3)


def one_sentence(test: Path, folder: Path) -> Path:
    """The first sentence of a column file in a file of its own."""
    path = folder / "one.conll"
    path.write_text("".join(" ".join(row) + "\n" for row in read_columns(test)[0]) + "\n", encoding="utf-8")
    return path


def threads(task: str, name: str, files: dict[str, Path], settings: Settings, report: Report) -> None:
    """Two threads against one: the only part that is not kept on one core."""
    if cores() < 2:
        report.skip(f"{name}: two threads against one: only one core")
        return
    for order in (None,) if task == "parser" else (1, 2):
        which = task if order is None else f"{task} of order {order}"
        say(f"{name}: {which}, one thread and two")
        tokens = settings.jobs_tokens // (10 if task == "parser" else 1)
        options = {"passes": settings.jobs_passes, "tokens": tokens, "repeat": 2 * settings.repeat + 1}
        found, _ = child("jobs", pin=False, task=task, order=order, **files, **options)
        if not found["same"]:
            raise Failed(f"{name}: {which}: two threads gave other labels than one")
        key = f"jobs_{task}" if order is None else f"jobs_{task}_order{order}"
        report.details[key] = found
        values = {ONE_JOB: found["one"], OURS: found["two"]}
        values = {side: [found["tokens"] / seconds for seconds in spent] for side, spent in values.items()}
        report.add(key, f"{name}: {which}, --jobs 2", "tokens/s", values, MORE, THREADS.get(task))
        apart = found["apart"]
        values = {
            "one process": [found["tokens"] / spent for spent in apart["alone"]],
            OURS: [2 * found["tokens"] / spent for spent in apart["both"]],
        }
        report.add(f"{key}_apart", f"{name}: … two processes that share nothing", "tokens/s", values, MORE)


def environment() -> dict[str, Any]:
    load = [round(x, 2) for x in os.getloadavg()]
    return {"machine": platform.machine(), "system": platform.platform(), "cores": cores(), "load": load}


def benchmark(data: Path, settings: Settings, parts: Collection[str] = PARTS) -> Report:
    report = Report()
    with tempfile.TemporaryDirectory(prefix="structron-bench-") as name:
        folder = Path(name)
        chunks, tags = corpus(data, CHUNKS, "conll"), corpus(data, TAGS, "conllu")
        if chunks is None and {"chunks", "jobs"} & set(parts):
            report.skip(f"{CHUNKS}: no train and test .conll(.gz) in {data / CHUNKS}")
        if tags is None and {"tags", "jobs"} & set(parts):
            report.skip(f"{TAGS}: no train and test .conllu(.gz) in {data / TAGS}")
        model = None
        if chunks and "chunks" in parts and peer_is_there(CHUNKS, "pycrfsuite", "python-crfsuite", report):
            model = chunking(chunks, folder, settings, report)
        if tags and "tags" in parts and peer_is_there(TAGS, "nltk", "nltk", report):
            tagging(tags, settings, report)
        if "start" in parts:
            starting(model, chunks and chunks["test"], folder, settings, report)
        if chunks and "jobs" in parts:
            threads("chunker", CHUNKS, chunks, settings, report)
        if tags and "jobs" in parts:
            threads("tagger", TAGS, tags, settings, report)
            threads("parser", TAGS, tags, settings, report)
        segment_parts(data, folder, settings, report, parts)
        beam_parts(data, folder, settings, report, parts)
        graph_parts(data, folder, settings, report, parts)
        entity_parts(data, settings, report, parts)
        treebank_parts(data, folder, settings, report, parts)
        pipeline_parts(data, folder, settings, report, parts)
        scaling_parts(data, folder, settings, report, parts)
        earlier_parts(data, folder, settings, report, parts)
    return report


def peer_is_there(name: str, module: str, package: str, report: Report) -> bool:
    found = installed(module)
    if not found:
        report.skip(f"{name}: {package} is not installed (the extra `bench` has it)")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folder of corpora")
    parser.add_argument("--quick", action="store_true", help="one repetition, fewer passes")
    parser.add_argument("--only", action="append", choices=PARTS, metavar="PART", help=f"one of {', '.join(PARTS)}")
    parser.add_argument(
        "--treebank", action="append", metavar="NAME", help="one for pipeline and treebank, for instance ud-english-ewt"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="keep UDPipe's models here, and use those that are there",
    )
    parser.add_argument(
        "--earlier", type=Path, metavar="DIR", help="the tree of an earlier release, which does the same work"
    )
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each side (3)")
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"), metavar="FILE", help="the JSON file")
    arguments = parser.parse_args(argv)
    if not arguments.data.is_dir():
        parser.error(f"--data {arguments.data}: no such folder")
    if arguments.repeat < 1:
        parser.error(f"--repeat {arguments.repeat}: expected 1 or more")
    if arguments.earlier is not None and not (arguments.earlier / "src" / "structron").is_dir():
        parser.error(f"--earlier {arguments.earlier}: no src/structron in it; expected the tree of a release")
    settings = Settings.quick() if arguments.quick else Settings(arguments.repeat)
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    treebanks = tuple(arguments.treebank or settings.treebanks)
    paths = {"kept": arguments.keep and arguments.keep.resolve()}
    paths |= {"earlier": arguments.earlier and arguments.earlier.resolve()}
    settings = replace(settings, treebanks=treebanks, **paths)
    begin, before = time.perf_counter(), environment()
    try:
        report = benchmark(arguments.data.resolve(), settings, arguments.only or PARTS)
        versions, _ = child("versions")
    except Failed as problem:
        say(f"benchmarks: {problem}")
        return 1
    print(table(report.rows))
    for text in report.skipped:
        print(f"skipped: {text}")
    if arguments.quick:
        print("quick: one run of few passes; the required ratios are meant for the full run")
    result = {
        "environment": before | {"versions": versions, "load_after": environment()["load"]},
        "quick": arguments.quick,
        "parts": arguments.only or PARTS,
        "repeat": settings.repeat,
        "seconds": round(time.perf_counter() - begin, 1),
        "rows": [row.as_dict() for row in report.rows],
        "skipped": report.skipped,
        "details": report.details,
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{arguments.out}: every single measurement")
    return 0


if __name__ == "__main__":
    sys.exit(main())
