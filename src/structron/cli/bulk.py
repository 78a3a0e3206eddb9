"""Many files, each by itself: all cores or a cluster, and a run that was stopped goes on when it is started again.

    patterns ──▶ files ──plan──▶ (file, output) ──workers──▶ outputs, each whole under its name or not there at all

The output folder holds a note (`NOTE`) of the model and the options: a folder is never filled from two models.
"""

import contextlib
import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from structron._version import __version__
from structron.cli.files import expand
from structron.cli.places import folded, identity, ignores_case
from structron.cli.workers import FileTask, FileWorker, Order
from structron.errors import StructronError, counted
from structron.io import atomic_write_bytes
from structron.io.text import is_standard, sweep
from structron.runtime.cluster import RayPool, connect
from structron.runtime.interrupts import outcome
from structron.runtime.processes import ProcessPool, WorkerDied, WorkerPool, as_done
from structron.runtime.progress import LINE_SECONDS, duration, on_terminal, say
from structron.tasks.registry import path_of

fcntl = import_module("fcntl") if os.name == "posix" else None

NOTE = ".structron-bulk.json"
TRIES = 3
"""How often a file is begun whose worker dies."""
FAILED = 1
"""The exit status when some files failed."""


def run(
    order: Order, patterns: Sequence[str] | None, folder: Path, named: Callable[[str], str], ray: str | None = None
) -> int:
    """Write the output of every file; returns the exit status.

    `order.options` are those of the command: the model, and what decides the content of the files. `named`: the name of
    a file's output.
    """
    plan = planned(expand(patterns or []), folder, named, order.options["model"])
    writer = order.kind(**order.options)
    jobs = writer.jobs
    del writer
    note = _note(order)
    _check_note(folder, note, plan)
    cluster = None if ray is None else connect(ray)
    if ray is not None:
        jobs = _workers(cluster, ray, order.options.get("settings", {}).get("jobs"))
    _make(folder)
    with _alone(folder):
        sweep(folder, alone=True)
        if not (folder / NOTE).exists():
            atomic_write_bytes(folder / NOTE, json.dumps(note, indent=1, sort_keys=True).encode() + b"\n")
        todo = [(file, output) for file, output in plan if not output.exists()]
        if len(todo) < len(plan):
            say(f"{folder}: {len(plan) - len(todo)} of {len(plan)} files exist already")
        if not todo:
            return 0
        try:
            with contextlib.closing(_pool(order, min(jobs, len(todo)), cluster)) as pool:
                failures = _watched(pool, _tasks(todo, jobs, cluster is not None), folder)
        finally:
            sweep(folder, alone=True)
    for text in failures:
        say(f"structron: error: {text}")
    return FAILED if failures else 0


def planned(
    files: Sequence[str], folder: Path, named: Callable[[str], str], model: str | Path
) -> list[tuple[str, Path]]:
    """Every file with its output; refuses what would cost a file."""
    if not files:
        raise StructronError("--output-dir: expected files, for instance 'texts/*.txt.gz'")
    made: dict[str, tuple[str, Path]] = {}
    one_case = ignores_case(folder if folder.exists() else folder.parent)
    for file in files:
        if is_standard(file):
            raise StructronError("-: standard input has no name for its output; expected files with --output-dir")
        if not os.path.isfile(file):
            raise StructronError(f"{file}: cannot be read ({'a folder' if os.path.isdir(file) else 'no such file'})")
        output = folder / named(os.path.basename(file))
        before, _ = made.setdefault(folded(output.name) if one_case else output.name, (file, output))
        if before != file:
            raise StructronError(f"{before} and {file}: both would become {output}; expected different names")
        if output.is_dir():
            raise StructronError(f"{output}: is a folder; expected the name of a file to write")
    inputs = {identity(file): file for file in [*files, str(model_file(model))]}
    for _, output in made.values():
        if (same := inputs.get(identity(output))) is not None and output.exists():
            raise StructronError(f"{output}: would replace the input {same}; expected another --output-dir")
    return list(made.values())


def model_file(model: str | Path) -> Path:
    """The file of a model that may be bundled."""
    return Path(path_of(model))


# -- the folder ------------------------------------------------------------------------------------------------------


def _note(order: Order) -> dict[str, Any]:
    """What decides the content of all outputs."""
    with open(model_file(order.options["model"]), "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    options = {name: value for name, value in order.options.items() if name not in ("model", "settings")}
    options |= {name: value for name, value in order.options.get("settings", {}).items() if name != "jobs"}
    made = json.loads(json.dumps(options, default=str))
    return {
        "command": order.kind.__module__.rpartition(".")[2],
        "model": digest,
        "options": made,
        "version": __version__,
    }


def _check_note(folder: Path, note: dict[str, Any], plan: Iterable[tuple[str, Path]]) -> None:
    """Refuse a folder whose files another model or other options have made, or nobody knows who."""
    try:
        known = json.loads((folder / NOTE).read_bytes())
        options = dict(known["options"])
    except FileNotFoundError:
        for _, output in plan:
            if os.path.lexists(output):
                raise StructronError(
                    f"{output}: exists, and was not written by such a run; expected another folder, or move the file"
                ) from None
        return
    except (ValueError, KeyError, TypeError) as error:
        raise StructronError(f"{folder / NOTE}: damaged ({error}); expected another folder, or remove it") from None
    names = {*options, *note["options"]}
    differ = [f"--{name.replace('_', '-')}" for name in sorted(names) if options.get(name) != note["options"].get(name)]
    differ = [*(["model"] * (known.get("model") != note["model"])), *differ]
    if known.get("command") != note["command"]:
        differ = [f"structron {known.get('command')}"]
    if differ:
        raise StructronError(
            f"{folder}: its files were made differently ({', '.join(differ)}); expected the same model and options, "
            "or another folder"
        )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StructronError(
            f"{folder}: cannot be created ({(error.strerror or '').lower()}); expected a folder"
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StructronError(f"{folder}: no permission to write; expected a writable folder")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Refuse to work in a folder in which another run is at work; a run that was killed holds nothing."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StructronError(
                f"{folder}: another run is using it; wait until it ends, or use another folder"
            ) from None
        except OSError:  # a file system that knows no locks
            pass
        yield
    finally:
        os.close(descriptor)


# -- the work --------------------------------------------------------------------------------------------------------


def _pool(order: Order, size: int, cluster: Any) -> WorkerPool:
    """Workers that say nothing; those of a cluster have another working folder."""
    quiet = {"quiet": True, "model": os.path.abspath(model_file(order.options["model"]))}
    order = Order(order.kind, order.options | quiet)
    if cluster is None:
        return ProcessPool(partial(FileWorker, order), size)
    pool = RayPool(cluster, FileWorker, [(order,)] * size)
    pool.start([0])
    return pool


def _tasks(todo: Sequence[tuple[str, Path]], jobs: int, away: bool) -> list[FileTask]:
    """A task for each file; where there are fewer files than cores, workers have several threads."""
    if away:
        return [FileTask(os.path.abspath(file), os.path.abspath(output)) for file, output in todo]
    return [FileTask(file, str(output), max(1, jobs // len(todo))) for file, output in todo]


def _workers(ray: Any, address: str, wanted: int | None) -> int:
    """How many actors: all processors of the cluster, or so many as are wanted."""
    there = int(ray.cluster_resources().get("CPU", 0))
    if there < (wanted or 1):
        raise StructronError(f"--ray {address}: the cluster has {there} processors; expected at least {wanted or 1}")
    return wanted or there


def _watched(pool: WorkerPool, tasks: Sequence[FileTask], folder: Path) -> list[str]:
    """Do all tasks and show how far they are; returns what failed."""
    failures: list[str] = []
    meter = Meter([os.path.getsize(task.file) for task in tasks])
    sizes = dict(zip(tasks, meter.sizes, strict=True))
    with contextlib.closing(meter):
        for task, future in as_done(pool, deque(tasks), TRIES):
            try:
                error = outcome(future)
            except WorkerDied as death:
                error = f"{task.file}: {death} ({TRIES} times)"
            failures += [error] if error is not None else []
            meter.done(sizes[task])
    failed = f", {len(failures)} failed" if failures else ""
    say(f"{folder}: {counted(len(tasks) - len(failures), 'file')} written{failed}, {meter.seconds:.1f} s")
    return sorted(failures)


class Meter:
    """How many files are done, and about how long the others will take, by their sizes."""

    def __init__(self, sizes: Sequence[int]):
        self.sizes, self.count, self.bytes, self.total = sizes, 0, 0, max(sum(sizes), 1)
        self.begin = self.said = time.monotonic()
        self.bar: Any = None
        if on_terminal():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self.bar.start()
            self.bar.add_task(self._files(), total=self.total)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self.begin

    def _files(self) -> str:
        return f"{self.count} of {len(self.sizes)} files"

    def done(self, size: int) -> None:
        """One more file of this size."""
        self.count, self.bytes = self.count + 1, self.bytes + size
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=self.bytes, description=self._files())
        elif time.monotonic() - self.said >= LINE_SECONDS and self.count < len(self.sizes):
            self.said = time.monotonic()
            left = self.seconds * (self.total - self.bytes) / max(self.bytes, 1)
            say(f"{self._files()}, about {duration(left)} left")

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()
