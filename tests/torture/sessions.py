"""A small session of `structron teach`, for the walk through every system call (writes.py).

A project is made, texts are added, sentences answered and undone, a model learns, all is exported and trained on.

The session tells what it was told is saved. Whatever fails or is killed: all of that is in the project, and of what was
under way all or nothing; outputs are old or new, inputs as they were.
"""

import json
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structron
from structron.cli import main
from structron.errors import StructronError
from structron.teach import command, teacher
from structron.teach.exchange import export
from structron.teach.project import DONE, NEW, SKIPPED, Project
from torture.frame import Found
from torture.syscalls import Ended, Watch

PROJECT, OUTPUT, MODEL = "p.teach", "out.conll", "m.structron"
FIRST = "Ann\nlikes\nOslo\n.\n\nBob\nsleeps\n.\n\nEve\nsaw\nRome\n.\n\n"
SECOND = "Rome\tB-LOC\nburns\tO\n\nNero\tB-PER\nsang\tO\n\n"
SIZES = (3, 2)
"""Sentences of the two files."""
ME = ("window", "ann")
LEFT = ".structron-*"
OLD = "old\n"


def session(folder: Path) -> int:
    """The whole session, in a folder with the two files; returns the status of a command that ended the same way."""
    os.chdir(folder)
    command._serve = lambda opened, *_: opened.close() or 0  # type: ignore[assignment,func-returns-value]
    teacher.ANEW = 2
    made = ("teach", PROJECT, "--texts", "first.conll", "--task", "entities", "--labels", "PER,LOC")
    for argv in (made, ("teach", PROJECT, "--texts", "second.conll")):
        if status := main(list(argv)):
            return status
        tell("added")
    try:
        with closing(teacher.Teacher(Project(PROJECT))) as own:
            answer_all(own)
    except StructronError as error:
        os.write(2, f"error: {error}\n".encode())
        return 2
    return main(["teach", PROJECT, "--export", OUTPUT, "--train", MODEL])


def answer_all(own: teacher.Teacher) -> None:
    """Answer, skip, undo, add a label, until nothing is left to ask."""
    steps = 0
    while (question := own.ask(*ME)) is not None:
        steps += 1
        sentence, count = question["sentence"], len(question["words"])
        if steps == 4:
            own.answer(*ME, sentence, None)
            tell("skipped", sentence)
            own.add_label("ORG")
            tell("label")
            continue
        known = {"labels": ["B-PER", *["O"] * (count - 1)]}
        own.answer(*ME, sentence, known, question["predicted"])
        tell("answered", sentence, known)
        if steps == 2:
            back = own.undo(*ME)
            tell("undone", back and back["sentence"])
        rest(own)


def rest(own: teacher.Teacher) -> None:
    """Wait until the model has learned, so that calls come in the same order every time."""
    end = time.monotonic() + 20
    while own.is_learning and time.monotonic() < end:
        time.sleep(0.002)


def tell(*what: Any) -> None:
    """Say that something is saved."""
    os.write(1, (json.dumps(what) + "\n").encode())


@dataclass
class State:
    """What is in a project, or should be."""

    sentences: int = 0
    answers: list[list] = field(default_factory=list)  # [sentence, what is known, whether it was undone]
    labels: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path) -> "State":
        """That of a file, which has to be whole; none: nothing."""
        if not path.exists():
            return cls()
        with closing(sqlite3.connect(path)) as base:
            for check, right in (("integrity_check", [("ok",)]), ("foreign_key_check", [])):
                assert base.execute(f"PRAGMA {check}").fetchall() == right, check
        with closing(Project(path)) as project:
            answers = [
                [sentence, json.loads(after or "null"), bool(undone)]
                for sentence, after, undone in project.rows("SELECT sentence, after, undone FROM answers ORDER BY id")
            ]
            last = {sentence: known for sentence, known, undone in answers if not undone}
            items = project.items("TRUE ORDER BY id")
            for item in items[: SIZES[0]]:
                right = (None, NEW) if item.id not in last else (last[item.id], DONE if last[item.id] else SKIPPED)
                assert (item.known, item.done) == right, f"sentence {item.id}: {item.known}, {item.done}"
            assert sum(len(own) for _, _, own in project.documents()) == len(items), "sentences without a text"
            return cls(len(items), answers, project.labels())

    def after(self, told: list[list]) -> "State":
        """What should be there after what was told."""
        for kind, *given in told:
            if kind == "added":
                self.sentences += SIZES[bool(self.sentences)]
                self.labels = ["PER", "LOC"]
            elif kind in ("answered", "skipped"):
                self.answers.append([given[0], given[1] if kind == "answered" else None, False])
            elif kind == "undone":
                next(own for own in reversed(self.answers) if not own[2])[2] = True
            else:
                self.labels.append("ORG")
        return self

    def is_next(self, other: "State") -> bool:
        """Whether the other one is this one, or this one with one thing more."""
        undone = [[*own[:2], own[2] or k + 1 == len(self.answers)] for k, own in enumerate(self.answers)]
        more = [
            other.answers[:-1] == self.answers and not other.answers[-1][2] if other.answers else False,
            other.answers == undone != self.answers,
        ]
        first = not self.sentences
        added = other.sentences == self.sentences + SIZES[not first]
        label = other.labels == [*self.labels, "ORG"] or (first and added and other.labels == ["PER", "LOC"])
        changes = [other.sentences != self.sentences, other.answers != self.answers, other.labels != self.labels]
        possible = [added, any(more), label]
        wrong = any(change and not fine for change, fine in zip(changes, possible, strict=True))
        return not wrong and (sum(changes) <= 1 or (first and not changes[1]))


SESSION = "teach"


class SessionWalk:
    """Trials of the session; its interface is that of `writes.Walk`."""

    name = SESSION

    def __init__(self, folder: Path, found: Found):
        self.folder, self.found = folder, found
        folder.mkdir(exist_ok=True)
        whole = self.run(session)
        assert whole.status == 0, self.said()
        self.calls = len(whole.calls)
        self.told = self.saved()
        assert self.wrong(0, "", "") is None, self.wrong(0, "", "")

    def said(self) -> str:
        return (self.folder / "said").read_text("utf-8", "replace")

    def saved(self) -> list[list]:
        """What was told."""
        return [json.loads(line) for line in self.said().splitlines() if line.startswith("[")]

    def run(self, work: Callable[[Path], int], n: int = 0, error: int = 0, fresh: bool = True) -> Ended:
        """A session in a copy of this process, or something else with what it left."""
        place = self.folder / "work"
        if fresh:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            for name, text in (("first.conll", FIRST), ("second.conll", SECOND), (OUTPUT, OLD)):
                (place / name).write_text(text)

        def quietly() -> int:
            said = os.open(self.folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            for stream in (1, 2):
                os.dup2(said, stream)
            return work(place)

        return Watch(place, quietly, n, error).run()

    def try_call(self, n: int, way: str, error: int) -> None:
        """One trial."""
        ended = self.run(session, n, error)
        if len(ended.calls) < n:
            self.found.add("not reached")
            return
        call = ended.calls[n - 1]
        try:
            wrong = self.wrong(ended.status, way, call)
        except Exception as failure:
            wrong = f"{type(failure).__name__}: {failure}"
        self.found.add("session", wrong and f"teach, {way} at call {n} ({call}): {wrong}")

    def wrong(self, status: int, way: str, call: str) -> str | None:
        """What should be otherwise; None: nothing."""
        place, said, told = self.folder / "work", self.said(), self.saved()
        left = [path.name for path in place.rglob(LEFT)]
        expected, there = State().after(told), State.of(place / PROJECT)
        if not expected.is_next(there):
            return f"{there}, though after {told}: {said}"
        for name, text in (("first.conll", FIRST), ("second.conll", SECOND)):
            if (place / name).read_text() != text:
                return f"{name} has changed"
        if (place / PROJECT).exists():
            with closing(Project(place / PROJECT)) as project:
                new = export(project, "conll")
        content = (place / OUTPUT).read_text()
        if content != OLD and content != new:
            return f"the export is neither old nor new: {content!r}"
        if (place / MODEL).exists():
            structron.load(place / MODEL)
        if way == "kill":
            again = self.run(session_again, fresh=False)
            if again.status or [*place.rglob(LEFT)]:
                return f"left of a killed run after the next: {left}; status {again.status}: {self.said()}"
            return None if status == -signal.SIGKILL else f"status {status}"
        if status not in (0, 2) or "Traceback" in said:
            return f"status {status}: {said}"
        if status == 2 and sum("error: " in line for line in said.splitlines()) != 1:
            return f"status 2 without one line: {said}"
        if not call.startswith("unlink ") and left:  # what cannot be removed stays until the next run
            return f"left: {left}"
        if status == 0 and content != new:
            return f"status 0, and the old export: {said}"
        return None


def session_again(folder: Path) -> int:
    """What comes after a kill: the same command, and all that is left to answer."""
    os.chdir(folder)
    command._serve = lambda opened, *_: opened.close() or 0  # type: ignore[assignment,func-returns-value]
    if not Path(PROJECT).exists():
        return session(folder)
    with closing(teacher.Teacher(Project(PROJECT))) as own:
        answer_all(own)
    return main(["teach", PROJECT, "--export", OUTPUT, "--train", MODEL])
