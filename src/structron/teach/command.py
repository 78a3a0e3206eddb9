"""`structron teach`: make a project, add texts, write what is known, train a model of it, or open its page."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structron.cli.files import say
from structron.cli.places import check_model_place, check_output, check_places, check_text_place
from structron.errors import StructronError, counted, unknown
from structron.teach.exchange import add_files, format_of, matching, write_file
from structron.teach.project import Project
from structron.teach.tasks import TASKS, says_something, task_of
from structron.teach.teacher import load_start
from structron.text.trees import MARK

MODEL = ".structron"
COMMON = ("nsubj", "obj", "obl", "nmod", "amod", "det", "case", "advmod", "conj")
"""Relations of UD that get the digits, as they are the most frequent ones in most treebanks."""


def run(
    project: str,
    texts: Sequence[str] | None = None,
    task: str | None = None,
    labels: str | None = None,
    start: str | None = None,
    tokenizer: str = "english",
    overlap: int = 0,
    export: str | None = None,
    format: str | None = None,
    all: bool = False,
    train: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    allow_host: Sequence[str] | None = None,
) -> int:
    """Do what was asked for; without anything to do open the page."""
    settings = {"--task": task, "--labels": labels, "--start": start, "--overlap": overlap or None}
    _check_places(project, texts or (), {"--export": export, "--train": train}, format)
    if Path(project).exists():
        opened = _open(project, settings)
        if texts:
            say(_add(opened, texts, tokenizer))
    else:
        opened = _make(project, texts, settings, tokenizer)
    if export is not None:
        write_file(opened, str(export), format, all)
        say(f"{export}: {counted(opened.counts()['answered'], 'annotated sentence')}")
    if train is not None:
        _train(opened, str(train))
    if export is None and train is None:
        return _serve(opened, host, port, allow_host or ())
    opened.close()
    return 0


def _check_places(project: str, texts: Sequence[str], outputs: Mapping[str, str | None], format: str | None) -> None:
    """Refuse outputs that would cost the user a file, before anything is done."""
    inputs: list[str] = matching(texts)
    export, train = outputs["--export"], outputs["--train"]
    if export is not None and format_of(export, format) == "brat":
        inputs += sorted({os.path.dirname(path) or "." for path in inputs if path.endswith(".ann")})
    elif export is not None:
        check_output(export)
        check_text_place("--export", export)
    check_places({"--texts": inputs, "PROJECT": project}, outputs)
    if train is not None and not str(train).endswith(MODEL):
        raise StructronError(f"--train {train}: expected a name that ends in {MODEL}")
    check_output(train)


def _make(path: str, texts: Sequence[str] | None, settings: dict[str, Any], tokenizer: str) -> Project:
    """A new project, which is there when all its texts are."""
    task = settings["--task"]
    if not texts:
        raise StructronError(f"{path}: no such project; expected --texts and --task, which create one")
    if task is None:
        raise StructronError(f"--task: missing for a new project; expected one of {', '.join(TASKS)}")
    if task not in TASKS:
        raise unknown("--task", task, TASKS)
    if not 0 <= (settings["--overlap"] or 0) <= 100:
        raise StructronError("--overlap: expected a percentage from 0 to 100")
    labels = [TASKS[task].check_label(label, "--labels") for label in (settings["--labels"] or "").split(",") if label]
    if settings["--start"]:
        labels += [label for label in _labels_of(load_start(settings["--start"], task), task) if label not in labels]
    made = {"task": task, "labels": list(dict.fromkeys(labels)), "overlap": settings["--overlap"] or 0, "seed": 1}
    with Project.making(path, **made, start=settings["--start"]) as new:
        added = _add(new, texts, tokenizer)
    say(added)
    return Project(path)


def _open(path: str, settings: dict[str, Any]) -> Project:
    given = [name for name, value in settings.items() if value is not None]
    opened = Project(path)
    if given:
        opened.close()
        raise StructronError(f"{given[0]}: {path} exists already; expected this option only with a new project")
    return opened


def _add(project: Project, texts: Sequence[str], tokenizer: str) -> str:
    """Add files; returns what there is to say about it."""
    sentences, known, whole = add_files(project, texts, tokenizer)
    part = f", {known - whole} in part" if known > whole else ""
    return f"{project.path}: {counted(sentences, 'sentence')} added, {whole} of them annotated{part}"


def _labels_of(model: Any, task: str) -> list[str]:
    """The labels that a model knows, without B- and I-."""
    if TASKS[task].trees:
        known = {relation.partition(MARK)[0] for relation in model.relations_ if relation}
        return [*(own for own in COMMON if own in known), *sorted(known.difference(COMMON))]
    labels = [label[2:] if TASKS[task].spans else label for label in model.model_.labels if label != "O"]
    return list(dict.fromkeys(label for label in labels if label))


def _train(project: Project, path: str) -> None:
    """A model of all that is known, with the defaults of its task."""
    task = task_of(project)
    check_model_place("--train", path, task.name)
    items = [item for aside in (False, True) for item in project.known(aside)]
    new = task.new()
    known = [(item, item.known) for item in items if item.known is not None and says_something(item.known)]
    data = [task.example(new, item, own) for item, own in known]
    if not data:
        raise StructronError(f"{project.path}: no annotations yet; expected at least one sentence to learn from")
    new.fit(data).save(path)
    say(f"{path}: trained on {counted(len(data), 'sentence')}")


def _serve(project: Project, host: str, port: int, allowed: Sequence[str]) -> int:
    from structron.serve.command import hosts, listen, missing, serve_until_stopped

    try:
        from structron.serve.limits import Limits
        from structron.teach.app import make_app
        from structron.teach.teacher import Teacher
    except ImportError as error:
        raise missing("teach", error) from None
    listening = listen(host, port)
    limits = Limits(hosts=hosts(host, allowed))
    teacher = Teacher(project)
    try:
        return serve_until_stopped(make_app(teacher, limits), listening, limits.seconds, project.path.name)
    finally:
        teacher.close()
