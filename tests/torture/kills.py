"""SIGKILL at a random moment of `train`, of every task: the model is whole or absent, and a resumed run ends with the
same bytes as one that nobody disturbed.

A trial is one kill. After it the run is resumed, and killed again, until the share of kills of its task is used up.
"""

import signal
import subprocess
import time
from pathlib import Path

import numpy as np

from structron.data.toy_english import toy_english, write_conll, write_conllu
from structron.errors import StructronError
from structron.tasks.registry import load
from torture.frame import Found, start
from toy import toy_docs

FULL = 100
COLUMNS = {"entities": ("word", "pos", "entity")}
TREES = ("parser", "graph-parser")
OPTIONS = {
    "tagger": [],
    "chunker": ["--runs", "2"],
    "entities": ["--runs", "1"],
    "segments": ["--runs", "1"],
    "joint": ["--runs", "1"],
    "parser": ["--runs", "1"],
    "graph-parser": ["--runs", "1", "--bits", "16"],
    "lemmatizer": [],
    "tokenizer": [],
    "pipeline": ["--without", "entities"],
}
"""Options that keep each task short."""


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


def run(trials: int, seed: int, folder: Path) -> Found:
    """So many kills, spread over all tasks."""
    found, random = Found(), np.random.default_rng(seed)
    shares = [trials // len(OPTIONS) + (k < trials % len(OPTIONS)) for k in range(len(OPTIONS))]
    for task, share in zip(OPTIONS, shares, strict=True):
        if share:
            _torment(task, share, random, folder, found)
    return found


def _torment(task: str, kills: int, random: np.random.Generator, folder: Path, found: Found) -> None:
    given = ["train", task, *corpora(task, folder), "--passes", "4", *OPTIONS[task]]
    whole, model, state = folder / f"{task}.whole", folder / f"{task}.model", folder / f"{task}.state"
    undisturbed = [*given, "--model", whole, "--checkpoint", folder / f"{task}.unused"]
    _finish(undisturbed)  # compiles, so that the next one shows how long it takes
    (folder / f"{task}.unused").rename(folder / f"{task}.first")
    begin = time.monotonic()
    _finish(undisturbed)
    seconds = time.monotonic() - begin
    disturbed = [*given, "--model", model, "--checkpoint", state, "--resume"]
    while kills > 0:
        process = start(*disturbed)
        try:
            process.communicate(timeout=seconds * random.uniform(0.2, 1.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode == -signal.SIGKILL:
            found.add(*_judged(task, model))
            kills -= 1
        if model.exists() and process.returncode == 0:
            found.failures += _differences(task, whole, model, folder)
            model.unlink()
            state.rename(folder / f"{task}.{kills}.done")
    _finish(disturbed)
    found.failures += _differences(task, whole, model, folder)


def _finish(argv: list) -> None:
    process = start(*argv)
    _, errors = process.communicate()
    if process.returncode:
        raise AssertionError(f"{argv}: {errors.decode()}")


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
