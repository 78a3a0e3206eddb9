"""Trials and the file that keeps them: `results/<paper>.json`.

A *job* is a piece of work that stands by itself: a function of the experiments and its arguments, all of which JSON can
hold. What it finds is a *trial*. A ledger has the trials of a paper by the name of their job, and writes its file anew
after each: a run that was interrupted goes on where it was. Tables, figures, verdicts and documents are made from the
file alone. It holds figures, options, times and versions, and nothing of a corpus.
"""

import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba

from structron._version import __version__
from structron.errors import StructronError
from structron.io import atomic_write_bytes

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """work: "module:function" below `structron.experiments`; it is called as function(data, **options) and returns
    figures.   options: what JSON can hold; left out where they are the function's defaults.   cost: about how many
    seconds it takes, until there is a trial of the same work to go by."""

    work: str
    options: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 30.0

    @property
    def key(self) -> str:
        """Its name in the ledger: the same job has the same name whatever the order of its options."""
        return " ".join([self.work, *(f"{name}={json.dumps(self.options[name])}" for name in sorted(self.options))])

    def __str__(self) -> str:
        shown = (f"{name} {value}" for name, value in self.options.items() if value is not None)
        return ", ".join([self.work.partition(":")[2], *shown])


@dataclass(frozen=True, slots=True)
class Trial:
    """A job that was done, and what came of it."""

    work: str
    options: Mapping[str, Any]
    figures: Figures
    seconds: float
    version: str

    def __getitem__(self, name: str) -> Any:
        """A figure, or else an option."""
        return self.figures[name] if name in self.figures else self.options[name]


class Ledger:
    """The trials of a paper, in memory and in a file.

    quick: of the short run, which has a file of its own. spare: trials that the plan wanted once and no longer does (a
    scale was changed): they are kept, in case it wants them again, and not looked at. finished: the plan wants no more.
    """

    def __init__(self, path: Path, paper: str, quick: bool = False):
        self.path, self.paper, self.quick = path, paper, quick
        self.trials: dict[str, Trial] = {}
        self.spare: dict[str, Trial] = {}
        self.finished = False
        if path.exists():
            self._read()

    def _read(self) -> None:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            trials, spare = ([Trial(**entry) for entry in found.get(name, ())] for name in ("trials", "spare"))
            paper, quick = found["paper"], found["quick"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StructronError(f"{self.path}: not a file of results: {error}; expected one of this command") from None
        if (paper, quick) != (self.paper, self.quick):
            kind = "a quick run" if quick else "a full run"
            raise StructronError(f"{self.path}: results of {kind} of {paper}; expected another file with --out")
        self.finished = bool(found.get("finished"))
        self.trials, self.spare = ({Job(t.work, t.options).key: t for t in own} for own in (trials, spare))

    def __contains__(self, job: Job) -> bool:
        """Whether it was done; a spare trial is then wanted again."""
        if job.key in self.spare:
            self.trials[job.key] = self.spare.pop(job.key)
        return job.key in self.trials

    def settle(self, wanted: Iterable[Job]) -> None:
        """The work is done: lay aside what is not wanted."""
        keys = {job.key for job in wanted}
        self.spare |= {key: trial for key, trial in self.trials.items() if key not in keys}
        self.trials = {key: trial for key, trial in self.trials.items() if key in keys}
        self.finished = True
        self.write()

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials.values())

    def get(self, job: Job) -> Trial | None:
        return self.trials.get(job.key)

    def of(self, work: str, **options: Any) -> list[Trial]:
        """The trials of some work whose options have these values (None: or are not given)."""
        return [
            trial
            for trial in self
            if trial.work == work and all(trial.options.get(name) == value for name, value in options.items())
        ]

    def enter(self, job: Job, figures: Figures, seconds: float) -> Trial:
        """Keep a trial, in the file too."""
        self.finished = False
        options, plain = json.loads(json.dumps([dict(job.options), figures]))
        trial = self.trials[job.key] = Trial(job.work, options, plain, round(seconds, 2), __version__)
        self.write()
        return trial

    def write(self) -> None:
        """A line for each trial, in the order of their names: what changes from run to run is easily seen."""
        head = {
            "paper": self.paper,
            "quick": self.quick,
            "finished": self.finished,
            "seconds": round(sum(trial.seconds for trial in self)),
            "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "numba": numba.__version__},
        }
        names = Trial.__dataclass_fields__
        parts = [f' "{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in head.items()]
        for what, trials in (("trials", self.trials), ("spare", self.spare)):
            own = ({name: getattr(trials[key], name) for name in names} for key in sorted(trials))
            lines = ",\n".join(f"  {json.dumps(trial, ensure_ascii=False)}" for trial in own)
            if trials or what == "trials":
                parts.append(f' "{what}": [\n{lines}\n ]')
        text = "{\n" + ",\n".join(parts) + "\n}"
        atomic_write_bytes(self.path, f"{text}\n".encode())
