"""More than one core: whole trainings, shards on threads and on Ray, their scores, and bytes over the wire.

A row for what must be reached; the whole of what was measured, pass by pass, is in the details of the JSON file.
"""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from benchmarks.measure import BEYOND, LESS, SHARE, Run, alternate, child, compiled, cores, our_command, run
from benchmarks.report import CHUNKS, OURS, TAGS, Report, Settings, corpus, costs, each, installed, say

ONE_JOB, ONE_SHARD, TWO_THREADS = "--jobs 1", "one shard", "two threads"
SCALING_PARTS = ("cores", "shards", "accuracy", "ray")
FASTER = {"cores": 1.7, "shards": 1.8}
LOSS = {2: -0.2, 4: -0.3, 8: -0.5}
"""Shards, and what a score may lose by them."""
RAY_TIME, BYTES = 1.3, 12.0


def scaling_parts(data: Path, folder: Path, settings: Settings, report: Report, parts: Collection[str]) -> None:
    """Run those of the parts that are wanted."""
    wanted = [part for part in SCALING_PARTS if part in parts]
    chunks, trees = corpus(data, CHUNKS, "conll"), corpus(data, TAGS, "conllu", ("train", "dev"))
    if not wanted:
        return
    if chunks is None or trees is None:
        report.skip(f"{CHUNKS} or {TAGS} is not there: {', '.join(wanted)}")
        return
    if cores() < 2:
        report.skip(f"only one core: {', '.join(wanted)}")
        return
    works: dict[str, Callable[[], None]] = {
        "cores": lambda: whole_trainings(chunks, trees, folder, settings, report),
        "shards": lambda: shards(trees, settings, report),
        "accuracy": lambda: accuracy(chunks, trees, settings, report),
        "ray": lambda: on_ray(trees, settings, report),
    }
    for part in wanted:
        works[part]()


def _train(*arguments: str | Path) -> Run:
    """Run our command on all cores; once more if it had to compile."""
    command = our_command(["train", *arguments])
    done = run(command, pin=False)
    return run(command, pin=False) if compiled(done) else done


def whole_trainings(
    chunks: dict[str, Path], trees: dict[str, Path], folder: Path, settings: Settings, report: Report
) -> None:
    """Tagger and chunker with their defaults, from file to model: all cores over one."""
    tasks = {"tagger": [trees["train"]], "chunker": [chunks["train"], "--columns", "word,pos,chunk"]}
    for task, given in tasks.items():
        say(f"{task}: all cores and one")
        model = folder / f"{task}.scaled"
        base = [task, "--train", *given, "--model", model, "--passes", str(settings.passes)]
        sides = {ONE_JOB: lambda base=base: _train(*base, "--jobs", "1"), OURS: lambda base=base: _train(*base)}
        found = alternate(sides, settings.repeat, say)
        report.details[f"cores_{task}"] = costs(found)
        values = each(found, lambda done: done.wall)
        report.add(f"cores_{task}", f"{task}: file to model, all cores", "s", values, LESS, FASTER["cores"])


def shards(trees: dict[str, Path], settings: Settings, report: Report) -> None:
    """Two shards on two cores over one shard, seconds of a pass."""
    for task in ("parser", "graph-parser"):
        say(f"{task}: one shard and two")
        given = {"task": task, "train": trees["train"], "passes": settings.jobs_passes}
        found, _ = child("shards", pin=False, module="scaling_child", **given)
        report.details[f"shards_{task}"] = found
        values = {ONE_SHARD: found["1"]["seconds"], OURS: found["2"]["seconds"]}
        title = f"{TAGS}: {task}, a pass of two shards on two cores"
        report.add(f"shards_{task}", title, "s", values, LESS, FASTER["shards"])
        alone, both = found["apart"]["alone"], found["apart"]["both"]
        values = {"one process": [2 * spent for spent in alone], OURS: both}
        report.add(f"shards_{task}_apart", f"{TAGS}: … two processes that share nothing", "s", values, LESS)


def accuracy(chunks: dict[str, Path], trees: dict[str, Path], settings: Settings, report: Report) -> None:
    """Scores after the same number of passes, and the passes to the score of one shard."""
    files = {"parser": (trees["train"], trees["dev"], TAGS), "chunker": (chunks["train"], chunks["test"], CHUNKS)}
    for task, (train, test, name) in files.items():
        given = {"task": task, "train": train, "test": test, "passes": settings.parser_passes or settings.passes}
        found: dict[str, Any] = {}
        for number in (1, *LOSS):
            say(f"{task}: {number} shards")
            found[str(number)], _ = child("scores", pin=False, module="scaling_child", shards=number, **given)
        report.details[f"accuracy_{task}"] = found
        for number, loss in LOSS.items():
            values = {ONE_SHARD: [found["1"]["score"]], OURS: [found[str(number)]["score"]]}
            report.add(f"accuracy_{task}_{number}", f"{name}: {task}, {number} shards", "%", values, BEYOND, loss)


def on_ray(trees: dict[str, Path], settings: Settings, report: Report) -> None:
    """Two workers on this machine over two threads, seconds of a pass; and bytes for each weight that changed."""
    if not installed("ray"):
        report.skip("ray is not installed (the extra `ray` has it)")
        return
    say("parser: two threads and two workers")
    given = {"train": trees["train"], "passes": max(2, settings.jobs_passes)}
    found, _ = child("on_ray", pin=False, module="scaling_child", **given)
    report.details["ray"] = found
    values = {TWO_THREADS: found["threads"][1:], OURS: found["workers"][1:]}
    report.add("ray_pass", f"{TAGS}: parser, a pass of two workers", "s", values, SHARE, RAY_TIME)
    values = {"changed weights": found["changed"][1:], OURS: found["bytes"][1:]}
    report.add("ray_bytes", f"{TAGS}: parser, bytes over the wire", "", values, SHARE, BYTES)
