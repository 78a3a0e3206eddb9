"""What the server was started with: models, annotated files, training logs. Requests name them, never a path."""

import contextlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from structron.errors import StructronError, meant
from structron.io import detect_format, read_lines
from structron.runtime.progress import is_written
from structron.tasks.capabilities import able
from structron.tasks.pipeline.parts import PARTS
from structron.tasks.registry import ENDING, bundled, load, path_of

ENDINGS = (".gz", ".conllu", ".conll", ".txt", ".jsonl", ".log", ".json", ENDING)
LARGEST = 50_000_000
"""Bytes of an annotated file, decoded: it is kept in memory."""
MAX_MODELS = 16
ADDING = threading.Lock()
RECENT = 30.0
"""Seconds."""
NEWEST = 20_000
"""Lines of a log that are shown at most."""


@dataclass(frozen=True, slots=True)
class Shelved:
    """A model by the name that requests use for it."""

    name: str
    estimator: Any
    file: str
    bytes: int

    @property
    def parts(self) -> dict[str, Any]:
        """The models that it is made of: those of a pipeline, else itself alone."""
        if self.estimator.task == "pipeline":
            trained = self.estimator.model_.trained
            return {name: trained[name] for name in PARTS if name in trained}
        return {self.estimator.task: self.estimator}

    def part(self, name: str | None) -> Any:
        """A part by its name, the only one by none."""
        parts = self.parts
        if name is None and len(parts) == 1:
            return next(iter(parts.values()))
        if name not in parts:
            raise StructronError(f"{self.name}: no part {name!r}; expected one of: {', '.join(parts)}")
        return parts[name]

    @property
    def reads(self) -> list[str]:
        """The columns that a token needs; none where it reads text."""
        estimator = self.estimator
        if estimator.texts:
            return []
        return [name for name in estimator.roles_.inputs if name in estimator.needed_]

    def about(self) -> dict[str, Any]:
        """What the page has to know of it."""
        estimator = self.estimator
        parts = [
            {
                "name": name,
                "task": part.task,
                "beam": part.has_beam(),
                "features": able(type(part), "inspect"),
                "explains": able(type(part), "explain"),
            }
            for name, part in self.parts.items()
        ]
        return {
            "name": self.name,
            "task": estimator.task,
            "file": self.file,
            "bytes": self.bytes,
            "signature": estimator.signature_,
            "reads": self.reads,
            "text": bool(estimator.texts),
            "parts": parts,
        }


@dataclass(slots=True)
class Annotated:
    """An annotated file: its text, cut where its sentences end."""

    name: str
    format: str
    blocks: list[str]

    def text(self, first: int = 0, count: int | None = None) -> str:
        """Some of its sentences."""
        return "".join(self.blocks[first : None if count is None else first + count])


@dataclass(slots=True)
class Library:
    """Models, annotated files and logs, by name; those of models are kept apart from each other."""

    models: dict[str, Shelved] = field(default_factory=dict)
    data: dict[str, Annotated] = field(default_factory=dict)
    logs: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def open(cls, models: Sequence[str], data: Sequence[str] = (), logs: Sequence[str] = ()) -> "Library":
        """Read all that was named; a log need not be there yet."""
        found = cls()
        for path in models:
            name = _free(_stem(path), found.models)
            if not Path(path).exists() and path not in bundled():
                expected = f"; expected a model, or the name of a bundled one ({', '.join(bundled())})"
                raise StructronError(f"{path}: no such file or bundled model{meant(path, bundled()) or expected}")
            file = path_of(path)
            found.models[name] = Shelved(name, load(path), os.path.basename(file), os.path.getsize(file))
        for path in data:
            name = _free(_stem(path), found.data)
            found.data[name] = read_annotated(path, name)
        for path in logs:
            found.logs[_free(_stem(path), found.logs)] = Path(path)
        return found

    def add(self, file: str, data: bytes) -> Shelved:
        """Read a model that a page has sent."""
        if len(self.models) >= MAX_MODELS:
            raise StructronError(f"{MAX_MODELS} models are loaded; expected no more (restart the server to drop some)")
        file = os.path.basename(file.replace("\\", "/"))
        with tempfile.TemporaryDirectory(prefix="structron-serve-") as folder:
            path = os.path.join(folder, "model" + ENDING)
            Path(path).write_bytes(data)
            try:
                estimator = load(path)
            except StructronError as error:
                raise StructronError(str(error).replace(path, file or "model")) from None
        with ADDING:
            name = _free(_stem(file) or "model", self.models)
            found = Shelved(name, estimator, file, len(data))
            self.models = {**self.models, name: found}
        return found

    @classmethod
    def example(cls) -> "Library":
        """The English model, and what the other views need: two small taggers, sentences, a log of training."""
        folder = Path(str(resources.files("structron"))) / "serve" / "example"
        found = {end: sorted(map(str, folder.glob(f"*{end}"))) for end in (ENDING, ".conll", ".log")}
        return cls.open(["english", *found[ENDING]], found[".conll"], found[".log"])

    def model(self, name: str | None) -> Shelved:
        """A model by its name; by none the first."""
        if not name:
            return next(iter(self.models.values()))
        return _named(self.models, name, "model")

    def annotated(self, name: str) -> Annotated:
        """An annotated file by its name."""
        return _named(self.data, name, "file")

    def log(self, name: str) -> Path:
        """A training log by its name."""
        return _named(self.logs, name, "log")

    @property
    def pipeline(self) -> Shelved | None:
        """The first model that makes tokens and tags of text, if there is one."""
        found = (model for model in self.models.values() if model.estimator.task == "pipeline")
        return next((model for model in found if {"tokenizer", "tagger"} <= set(model.parts)), None)


def _named(known: dict[str, Any], name: str, kind: str) -> Any:
    if name not in known:
        raise LookupError(f"no {kind} {name!r}; expected one of: {', '.join(known) or f'no {kind} was given'}")
    return known[name]


def _stem(path: str) -> str:
    """What a file is called: its name without the folder and the endings that say what it is."""
    name = os.path.basename(os.path.normpath(path))
    while (stem := next((name[: -len(end)] for end in ENDINGS if name.lower().endswith(end)), "")) != "":
        name = stem
    return name


def _free(name: str, taken: dict[str, Any]) -> str:
    """The name, or the name with a number, whichever is not taken."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    return found


def read_annotated(path: str, name: str) -> Annotated:
    """An annotated file, its sentences with their comments."""
    blocks: list[list[str]] = [[]]
    size = 0
    for line in read_lines(path):
        size += len(line)
        if size > LARGEST:
            raise StructronError(f"{path}: more than {LARGEST // 10**6} MB of text; expected a smaller file")
        blocks[-1].append(line)
        if not line.strip():
            blocks.append([])
    texts = ["".join(block) for block in blocks if any(line.strip() for line in block)]
    if texts and not texts[-1].endswith("\n"):
        texts[-1] += "\n"
    if not texts:
        raise StructronError(f"{path}: no sentences; expected an annotated file")
    return Annotated(name, detect_format(path, None), texts)


def read_log(path: Path) -> list[dict[str, Any]]:
    """The passes that a log has so far; a line that is being written is left for the next time."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StructronError(f"{path.name}: cannot be read: {error.strerror}") from None
    found = []
    for line in lines[-NEWEST:]:
        try:
            record = json.loads(line, parse_constant=lambda _: None)
        except ValueError:
            continue
        if isinstance(record, dict) and isinstance(record.get("pass"), int):
            found.append(record)
    return found


def is_live(path: Path) -> bool:
    """Whether a training writes to a log: it holds a lock, or, where there are none, has written a moment ago."""
    written = is_written(path)
    if written is None:
        with contextlib.suppress(OSError):
            return time.time() - path.stat().st_mtime < RECENT
    return bool(written)


def watch_beam(part: Any) -> None:
    """Trace the search of one word: loads, or compiles, what the view Beam needs."""
    row = ["a"] * len(part.roles_.names)
    if part.roles_.pos is not None:
        row[part.roles_.names.index(part.roles_.outputs[0])] = "0"
    part.trace([row], part.predict([[row]], jobs=1)[0])
    part.trace([row])


@lru_cache(maxsize=256)
def heaviest(part: Any, label: str | None, top: int) -> Any:
    """The heaviest features of a part; looking for them takes a while in a large model."""
    return part.inspect(label, top=top)
