"""SIGKILL at a random moment of `train`, of every task: the model is whole or absent, and a resumed run ends with the
same bytes as one that nobody disturbed.

A trial is one kill. After it the run is resumed, and killed again, until the kills of its task are used up. Runs are
copies of this process, which has loaded what a command needs: they are killed while they read, learn and write.
"""

import math
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import structron
from structron.cli import main
from structron.data.toy_english import toy_english, write_conll, write_conllu
from structron.errors import StructronError
from structron.tasks.graph.parser import GraphParser
from structron.tasks.registry import load
from torture.frame import Found, Job, found_by, print_found
from toy import toy_docs

FULL = 100
PATIENCE = 3600
COLUMNS = {"entities": ("word", "pos", "entity")}
TREES = ("parser", "graph-parser")
OPTIONS = {
    "tagger": [],
    "chunker": ["--runs", "2"],
    "entities": ["--runs", "1"],
    "segments": ["--runs", "1"],
    "joint": ["--runs", "1"],
    "parser": ["--runs", "1"],
    "graph-parser": ["--runs", "1"],
    "lemmatizer": [],
    "tokenizer": [],
    "pipeline": ["--without", "entities"],
}
"""Options that keep each task short."""


WHEN = (0.02, 1.1)
"""Moments to kill at, as shares of a whole run: the model is written at its end, so some have to lie there."""


def corpora(task: str, folder: Path) -> list:
    """A task's training and dev data as options of `train`."""
    given: list = []
    for option, size, seed in (("--train", 120, 1), ("--dev", 30, 2)):
        text = task in ("tokenizer", "pipeline", "lemmatizer", "tagger", *TREES)
        file = folder / f"{task}{option}.{'conllu' if text else 'conll'}"
        if task in ("tokenizer", "pipeline", "lemmatizer"):
            file.write_text("".join(doc.to_conllu() for doc in toy_docs(size // 3, seed)), "utf-8")
        elif text:
            write_conllu(str(file), toy_english(size, seed))
        else:
            write_conll(str(file), toy_english(size, seed), COLUMNS.get(task, ("word", "pos", "chunk")))
        given += [option, file]
    return given


def jobs(trials: int, seed: int, folder: Path) -> Iterator[Job]:
    """So many kills, spread over all tasks."""
    for k, task in enumerate(OPTIONS):
        if share := trials // len(OPTIONS) + (k < trials % len(OPTIONS)):
            name = f"kills {task} {share} seed {seed}"
            yield Job(name, partial(found_by, "kills", task, share, seed, folder, patience=PATIENCE))


def run(task: str, kills: int, seed: int, folder: Path) -> Found:
    """Kill so many trainings of a task."""
    found, own = Found(), folder / task
    own.mkdir()
    _warm()
    _torment(task, kills, np.random.default_rng(seed), own, found)
    return found


def _warm() -> None:
    """Load what all commands need, here and not in every copy."""
    assert main(["--version"]) == 0
    import_module("structron.cli.train")
    structron.Tagger(passes=1).fit([[("a", "X"), ("b", "Y")], [("b", "Y")]])


def _torment(task: str, kills: int, random: np.random.Generator, folder: Path, found: Found) -> None:
    passes = [] if task == "pipeline" else ["--passes", "4"]
    given = ["train", task, *corpora(task, folder), *passes, "--quiet", *OPTIONS[task]]
    whole, model, state = folder / f"{task}.whole", folder / f"{task}.model", folder / f"{task}.state"
    seconds = 0.0
    for number in range(2):  # the first compiles, the second shows how long it takes
        begin = time.monotonic()
        assert _ended(_begun([*given, "--model", whole, "--checkpoint", folder / f"{task}.{number}"])) == 0
        seconds = time.monotonic() - begin
    disturbed = [*given, "--model", model, "--checkpoint", state, "--resume"]
    while True:
        status = _ended(_begun(disturbed), seconds * random.uniform(*WHEN) if kills else None)
        if status == -signal.SIGKILL:
            outcome, wrong = _judged(task, model)
            found.add(f"{task}/{outcome}", wrong)
            kills -= 1
            continue
        if status:
            found.add("failed", f"{task}: a resumed run ended with {status}")
            return
        differences = _differences(task, whole, model, folder)
        found.failures += differences
        found.compared["resumed runs equal" if not differences else "resumed runs that differ"] += 1
        if not kills:
            return
        model.unlink()
        shutil.rmtree(state)


_as_it_is = GraphParser.__init__


def _small_graphs(self: GraphParser, **given: Any) -> None:
    """A graph parser with few places for weights, which the command line cannot ask for: checkpoints are small."""
    _as_it_is(self, **{"bits": 14, **given})


def _begun(argv: list) -> int:
    """A copy of this process, which has its kernels loaded, that runs a command; returns its number."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nowhere, stream)
            GraphParser.__init__ = _small_graphs  # type: ignore[method-assign]
            status = main([str(argument) for argument in argv])
        finally:
            os._exit(status)
    return process


def _ended(process: int, seconds: float | None = None) -> int:
    """How a process ended, by itself or by SIGKILL after so many seconds."""
    limit = math.inf if seconds is None else time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= limit:
            os.kill(process, signal.SIGKILL)
            limit = math.inf
        time.sleep(0.002)


def _judged(task: str, model: Path) -> tuple[str, str | None]:
    """Whether a model is whole or absent after a kill."""
    if not model.exists():
        return "absent", None
    try:
        load(model)
    except StructronError as error:
        return "broken", f"{task}: {error}"
    return "whole", None


def _differences(task: str, whole: Path, model: Path, folder: Path) -> list[str]:
    """What a resumed run left otherwise than one that nobody disturbed."""
    left = [str(path.relative_to(folder)) for path in folder.rglob(".structron-*")]
    differs = [] if whole.read_bytes() == model.read_bytes() else [f"{task}: the resumed model differs"]
    return [*differs, *(f"{task}: {name} is left of a killed run" for name in left)]


if __name__ == "__main__":
    print_found(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
