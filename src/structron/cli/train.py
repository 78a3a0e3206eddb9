"""`structron train`: everything that can be wrong is found before the first pass; Ctrl-C keeps what was learned."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from structron.cli.corpus import (
    Item,
    Layout,
    Source,
    View,
    joint_view,
    labelled_rows,
    layout,
    parses,
    predicts_tags,
    reads_documents,
    say,
    training_view,
)
from structron.cli.tasks import (
    MARGINS,
    Estimator,
    beam_width,
    check_capability,
    check_settings,
    margin_share,
    option_of,
)
from structron.cli.trees import RELATION, check_trees, parser_view
from structron.errors import StructronError, unknown
from structron.features.gazetteer import Gazetteer
from structron.features.templates import load_templates
from structron.io import check_writable
from structron.learn.loop import STATE_FILE, Options
from structron.progress import Progress
from structron.tasks.storage import TASKS, load

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
    beam: str | None = None,
    alma: str | None = None,
    unlabelled: bool = False,
    check_violations: bool = False,
    skip_invalid: bool = False,
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
    settings |= {"label": label, "templates": templates, "gazetteers": gazetteer or None, "jobs": jobs}
    settings |= {"forbid": [_pair(text) for text in forbid] if forbid else None}
    settings |= {"labelled": False if unlabelled else None, "check": check_violations or None}
    settings = {name: value for name, value in settings.items() if value is not None}
    settings |= {name: None for name in ("margin", "swvp") if settings.get(name) == "none"}
    if beam is not None:
        settings["beam"] = beam_width(beam)
    if alma is not None:
        settings["alma"] = margin_share(alma)
    check_settings(task, settings)
    if "beta" in settings and settings.get("swvp") is None and warm_start is None:
        raise StructronError(f"--beta {settings['beta']:g}: expected --swvp a-wm, b-wm, a-wmr or b-wmr beside it")
    if skip_invalid:
        check_capability("--skip-invalid", task, "checks_trees")
    source = Source(train, format, encoding, columns)
    dev_source = Source(dev, format, encoding, columns) if dev else None
    if warm_start is not None:
        estimator, view = _loaded(warm_start, task, settings)
    else:
        estimator, view = _fresh(source, task, settings, encoding)
    at_least = 1 if warm_start else 2
    fits = layout(source, view, label, labelled=True)
    dev_fits = layout(dev_source, view, label, labelled=True) if dev_source else None
    if jobs and jobs > 1 and not quiet:
        say(f"training on several cores is not available yet: training on one, scoring dev data on {jobs}")
    sentences = _sentences(source, view, fits, skip_invalid, quiet, at_least)
    dev_sentences = _sentences(dev_source, view, dev_fits, skip_invalid, quiet) if dev_source and dev_fits else None
    estimator.source_ = {"format": source.format}
    progress = Progress(show=not quiet, log=log, append=resume)
    fit = estimator.partial_fit if warm_start else estimator.fit
    fit(sentences, dev_sentences, checkpoint=checkpoint, resume=resume, progress=progress)
    estimator.save(model)
    interrupted = estimator.stopped_ == "interrupted"
    if interrupted:
        say(f"interrupted: the best model so far (pass {estimator.best_pass_}) is saved")
    if not quiet:
        say(_summary(estimator, Path(model), time.perf_counter() - begin))
    return INTERRUPTED if interrupted else 0


def _fresh(source: Source, task: str, settings: dict[str, Any], encoding: str) -> tuple[Any, View]:
    """An estimator to be trained on data like the source, and the columns that it is going to know."""
    kind: Any = TASKS[task]
    settings = dict(settings)
    if settings.get("templates") == "default":
        del settings["templates"]
    if "templates" in settings and hasattr(kind, MARGINS):
        load_templates(settings["templates"])
    if "gazetteers" in settings:
        settings["gazetteers"] = _gazetteers(settings["gazetteers"], encoding)
    if parses(kind):
        view = parser_view(
            source, settings.get("pos"), settings.get("labelled", True), settings.get("single_root") is False
        )
        settings |= {"pos": view.pos} | ({} if RELATION in view.outputs else {"labelled": False})
    elif predicts_tags(kind):
        view = joint_view(source, settings.get("pos"), settings.get("label"))
        settings |= dict(zip(("pos", "label"), view.outputs, strict=True))
    else:
        view = training_view(source, settings.get("label"), task, reads_documents(kind))
        settings["label"] = view.outputs[0]
    return kind(columns=view.columns, **settings), view


def _loaded(path: Path, task: str, settings: dict[str, Any]) -> tuple[Any, View]:
    """The estimator to go on from, with what was given anew, and the columns that it knows."""
    check_capability("--warm-start", task, "partial_fit")
    for name in ("order", "templates", "gazetteers", "pos", "labelled", "inner"):
        if name in settings:
            raise StructronError(f"{option_of(name)} cannot be given with --warm-start: the model has its own")
    estimator = load(path, task=task)
    for name, value in settings.items():
        if name != "label":
            setattr(estimator, name, value)
    return estimator, View.of(estimator)


def _sentences(
    source: Source, view: View, fits: Layout, skip_invalid: bool, quiet: bool, at_least: int = 1
) -> Iterator[Item]:
    """Gold sentences in the model's columns, checked as they are read."""
    if view.pos is not None:
        check_trees(source, view, fits, skip_invalid, quiet)
    return labelled_rows(source, view, fits, at_least, quiet)


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


def _summary(estimator: Estimator, model: Path, seconds: float) -> str:
    parts = [f"{size(model.stat().st_size)}", f"best pass {estimator.best_pass_} of {len(estimator.history_)}"]
    done = {record["pass"]: record for record in estimator.history_}
    if "dev" in done.get(estimator.best_pass_, {}):
        parts.append(f"dev {estimator.metric} {done[estimator.best_pass_]['dev']:.2f}")
    return f"{model}: {', '.join(parts)}, {seconds:.1f} s | {estimator.signature_}"


def size(number: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"
