"""The parts of chunks by other searches than a chain's: whole segments, and tags and chunks together."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from benchmarks.measure import LESS, MORE, Run, alternate, child, structron
from benchmarks.peers import Crfsuite
from benchmarks.report import CHUNKS, OURS, Report, Settings, corpus, costs, each, installed, same_tokens, say, split

SEGMENT_PARTS = ("segments", "joint")


def segment_parts(data: Path, folder: Path, settings: Settings, report: Report, parts: Collection[str]) -> None:
    """Run those of the parts that are wanted."""
    wanted = [part for part in SEGMENT_PARTS if part in parts]
    if not wanted:
        return
    files = corpus(data, CHUNKS, "conll")
    if files is None:
        report.skip(f"{CHUNKS}: no train and test .conll(.gz) in {data / CHUNKS}: {', '.join(wanted)}")
    elif not installed("pycrfsuite"):
        report.skip(f"{CHUNKS}: python-crfsuite is not installed (the extra `bench` has it): {', '.join(wanted)}")
    else:
        for task in wanted:
            chunks(task, files, folder, settings, report)


def chunks(task: str, files: dict[str, Path], folder: Path, settings: Settings, report: Report) -> None:
    """File to model and tokens to labels, with the task's own templates, beside the chain of the part `chunks`."""
    theirs, ours, passes = folder / f"{task}.crfsuite", folder / f"{task}.structron", settings.passes

    def train_theirs(number: int = passes) -> tuple[dict[str, Any], Run]:
        return child("train_crfsuite", train=files["train"], model=theirs, passes=number)

    def train_ours(number: int = passes) -> tuple[dict[str, Any], Run]:
        options = ["--columns", "word,pos,chunk", "--passes", str(number), "--jobs", "1"]
        return {}, structron("train", task, *options, "--train", files["train"], "--model", ours)

    say(f"{CHUNKS}: {task}, warming up")
    train_ours(1)
    sides = {Crfsuite.name: train_theirs, OURS: train_ours}
    _, runs = split(alternate(sides, settings.repeat, lambda text: say(f"{CHUNKS}: {task}, training, {text}")))
    say(f"{CHUNKS}: {task}, prediction in memory")
    given = {"crfsuite_model": theirs, "model": ours, "repeat": 2 * settings.repeat + 1, "joint": task == "joint"}
    guesses, _ = child("predict_chunks", test=files["test"], **given)
    same_tokens(f"{CHUNKS}, {task}", guesses[Crfsuite.name]["tokens"], guesses[OURS]["tokens"])
    report.details[task] = {"processes": costs(runs), "prediction": guesses}
    title = f"{CHUNKS}: {task}, file to model, {passes} passes"
    report.add(f"{task}_training", title, "s", each(runs, lambda done: done.wall), LESS)
    report.add(f"{task}_training_cpu", f"{CHUNKS}: … processor time", "s", each(runs, lambda done: done.cpu), LESS)
    speed = {side: [guess["tokens"] / seconds for seconds in guess["seconds"]] for side, guess in guesses.items()}
    report.add(f"{task}_predict", f"{CHUNKS}: {task}, prediction from tokens", "tokens/s", speed, MORE)
    report.add(f"{task}_f1", f"{CHUNKS}: … test F1", "%", {side: [g["f1"]] for side, g in guesses.items()}, MORE)
