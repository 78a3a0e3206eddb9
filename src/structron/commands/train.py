"""`structron train`: everything that can be wrong is found before the first pass; Ctrl-C keeps what was learned."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structron.commands.corpus import Source, View, labelled_rows, layout, say, training_view
from structron.errors import StructronError, unknown
from structron.features.gazetteer import Gazetteer
from structron.features.templates import load_templates
from structron.io import check_writable
from structron.progress import Progress
from structron.tasks.labeler import ChainLabeler
from structron.tasks.storage import TASKS, load
from structron.train import STATE_FILE, Options

INTERRUPTED = 130


def run(
    task: str,
    train: str | Path,
    model: str | Path,
    dev: str | Path | None = None,
    format: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    encoding: str = "utf-8",
    templates: str | None = None,
    gazetteer: Sequence[str] | None = None,
    forbid: Sequence[str] | None = None,
    warm_start: Path | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    log: Path | None = None,
    jobs: int | None = None,
    quiet: bool = False,
    **settings: Any,
) -> int:
    """Train a model and save it. `settings` are parameters of the task's class; None leaves its default."""
    begin = time.perf_counter()
    if task not in TASKS:
        raise unknown("task", task, TASKS)
    _check_outputs(Path(model), log, checkpoint, resume)
    settings = {name: value for name, value in settings.items() if value is not None}
    settings |= {"jobs": jobs or 1} | ({"forbid": [_pair(text) for text in forbid]} if forbid else {})
    source = Source(train, format, encoding, columns)
    dev_source = Source(dev, format, encoding, columns) if dev else None
    if warm_start is not None:
        _check_same({"--order": settings.get("order"), "--templates": templates, "--gazetteer": gazetteer})
        labeler = load(warm_start, task=task)
        for name, value in settings.items():
            setattr(labeler, name, value)
        view = View.of(labeler)
    else:
        if templates is not None and templates != "default":
            load_templates(templates)
            settings["templates"] = templates
        if gazetteer:
            settings["gazetteers"] = _gazetteers(gazetteer, encoding)
        view = training_view(source, label, task)
        labeler = TASKS[task](columns=view.columns, label=view.label, **settings)
    fits = layout(source, view, label, labelled=True)
    dev_fits = layout(dev_source, view, label, labelled=True) if dev_source else None
    if jobs and jobs > 1 and not quiet:
        say(f"training on several cores is not available yet: training on one, scoring dev data on {jobs}")
    sentences = labelled_rows(source, fits, at_least=1 if warm_start else 2)
    dev_sentences = labelled_rows(dev_source, dev_fits) if dev_source and dev_fits else None
    labeler.source_ = {"format": source.format}
    progress = Progress(show=not quiet, log=log, append=resume)
    fit = labeler.partial_fit if warm_start else labeler.fit
    fit(sentences, dev_sentences, checkpoint=checkpoint, resume=resume, progress=progress)
    labeler.save(model)
    interrupted = labeler.stopped_ == "interrupted"
    if interrupted:
        say(f"interrupted: the best model so far (pass {labeler.best_pass_}) is saved")
    if not quiet:
        say(_summary(labeler, Path(model), time.perf_counter() - begin))
    return INTERRUPTED if interrupted else 0


def _check_outputs(model: Path, log: Path | None, checkpoint: Path | None, resume: bool) -> None:
    """Refuse what training would stumble over at its end, or after hours of reading."""
    check_writable(model)
    check_writable(log)
    Options(checkpoint=checkpoint, resume=resume)
    if checkpoint is None:
        return
    if (checkpoint / STATE_FILE).exists() and not resume:
        raise StructronError(f"{checkpoint}: holds a checkpoint already; go on with --resume or name another folder")
    try:
        checkpoint.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StructronError(f"{checkpoint}: cannot make the checkpoint folder: {error.strerror}") from None
    if not os.access(checkpoint, os.W_OK):
        raise StructronError(f"{checkpoint}: no permission to write; expected a writable checkpoint folder")


def _check_same(given: dict[str, Any]) -> None:
    """A model that learning goes on from has these settled."""
    for option, value in given.items():
        if value:
            raise StructronError(f"{option} cannot be given with --warm-start: the model has its own")


def _pair(text: str) -> tuple[str, str]:
    labels = text.split()
    if len(labels) != 2:
        raise StructronError(f"--forbid {text!r}: expected a label and a next label, for instance 'O I-NP'")
    return labels[0], labels[1]


def _gazetteers(given: Sequence[str], encoding: str) -> dict[str, Gazetteer]:
    files: dict[str, list[str]] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise StructronError(f"--gazetteer {text!r}: expected TYPE=FILE, for instance LOC=places.txt")
        files.setdefault(name, []).append(path)
    return {name: Gazetteer.from_files(name, paths, encoding) for name, paths in files.items()}


def _summary(labeler: ChainLabeler, model: Path, seconds: float) -> str:
    parts = [f"{size(model.stat().st_size)}", f"best pass {labeler.best_pass_} of {len(labeler.history_)}"]
    done = {record["pass"]: record for record in labeler.history_}
    if "dev" in done.get(labeler.best_pass_, {}):
        parts.append(f"dev {labeler.metric} {done[labeler.best_pass_]['dev']:.2f}")
    return f"{model}: {', '.join(parts)}, {seconds:.1f} s | {labeler.signature_}"


def size(number: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"
