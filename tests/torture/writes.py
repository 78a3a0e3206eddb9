"""Every system call that touches a file of the user's, one after the other: it fails, or the process is killed there.

Each command and each call from Python begins with old outputs in place. Afterwards every output is the old or the new
file, to the byte, and every input is as it was. A command whose call failed ends well, with new outputs, or with one
line, with status 2; nothing is left beside its outputs, unless removing it was what failed, and what a kill leaves is
gone after the next run. Of `structron teach` a session is tried (sessions.py).

A trial is one call, one way. A walk visits all of them; with fewer trials the first ones of an order that goes back
and forth, so that any part of it is spread over all calls.
"""

import errno
import math
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

import structron
from structron.cli import main as structron_main
from structron.data.toy_english import toy_english, write_conll
from torture.frame import Found, Job, chunks, found_by, print_found, print_trials, tried
from torture.sessions import SESSION, SessionWalk
from torture.syscalls import Ended, Watch, is_possible
from toy import toy_docs

FULL = 1_000_000
"""More than there are: all of them."""
PART = 50
PATIENCE = 3600
GOLDEN = 0.618
"""The share of a walk between one trial and the next."""
WAYS = {"kill": 0, "EIO": errno.EIO, "ENOSPC": errno.ENOSPC}
"""What becomes of a call: the process is killed, or the call fails with this."""
LEFT = ".structron-*"


@dataclass(frozen=True)
class Scene:
    """Work on files in a folder, and what it writes."""

    name: str
    work: Callable[[Path], int]
    output: str
    old: str  # what the output is before: the content of this file


def command(*argv: str) -> Callable[[Path], int]:
    """A command of the command line, in the folder of its files."""

    def work(folder: Path) -> int:
        os.chdir(folder)
        return structron_main(list(argv))

    return work


def learn_more(folder: Path) -> int:
    """Learn more and save, from Python."""
    try:
        tagger = structron.load(folder / "tagger.structron")
        tagger.partial_fit([[("b", "Y"), ("a", "X")]])
        tagger.save(folder / "out.structron")
    except structron.StructronError as error:
        os.write(2, f"error: {error}\n".encode())
        return 2
    return 0


TRAIN = (
    "train",
    "tagger",
    "--train",
    "train.conll",
    "--passes",
    "2",
    "--runs",
    "1",
    "--jobs",
    "1",
    "--quiet",
    "--model",
)
SAFE = ("--dev", "dev.conll", "--log", "log.jsonl", "--checkpoint", "state", "--resume")
SCENES = (
    Scene("train", command(*TRAIN, "out.structron"), "out.structron", "other.structron"),
    Scene("train with log", command(*TRAIN, "out.structron", *SAFE), "out.structron", "other.structron"),
    Scene(
        "predict", command("predict", "tagger.structron", "dev.conll", "-o", "out.conll"), "out.conll", "train.conll"
    ),
    Scene("predict gz", command("predict", "tagger.structron", "dev.conll", "-o", "out.gz"), "out.gz", "train.conll"),
    Scene(
        "annotate", command("annotate", "-m", "nlp.structron", "text.txt", "-o", "out.conllu"), "out.conllu", "text.txt"
    ),
    Scene("partial_fit", learn_more, "out.structron", "other.structron"),
)


def warm_up() -> None:
    """Load what copies of this process need."""
    import_module("structron.cli.train")
    structron.Tagger(passes=1).fit([[("a", "X"), ("b", "Y")], [("b", "Y")]])


def prepare(folder: Path) -> None:
    """The inputs of all scenes."""
    warm_up()
    folder.mkdir()
    write_conll(str(folder / "train.conll"), toy_english(20, 1), ("word", "pos"))
    write_conll(str(folder / "dev.conll"), toy_english(5, 2), ("word", "pos"))
    (folder / "text.txt").write_text("The dog barks. She didn't see Paris.\n", "utf-8")
    (folder / "docs.conllu").write_text("".join(doc.to_conllu() for doc in toy_docs(40, 1)), "utf-8")
    docs = ("train", "pipeline", "--train", "docs.conllu", "--without", "entities", "--jobs", "1", "--quiet")
    for argv in [
        (*TRAIN, "tagger.structron", "--seed", "1"),
        (*TRAIN, "other.structron", "--seed", "2"),
        (*docs, "--model", "nlp.structron"),
    ]:
        assert Watch(folder, lambda argv=argv: command(*argv)(folder)).run().status == 0, argv


class Walk:
    """Trials of one scene."""

    def __init__(self, scene: Scene, inputs: Path, folder: Path, found: Found):
        self.name, self.scene, self.inputs, self.folder, self.found = scene.name, scene, inputs, folder, found
        self.old = (inputs / scene.old).read_bytes()
        whole = self.run()
        assert whole.status == 0, self.said()
        self.calls, self.new = len(whole.calls), self.output.read_bytes()
        assert self.new != self.old

    @property
    def output(self) -> Path:
        return self.folder / "work" / self.scene.output

    def said(self) -> str:
        return (self.folder / "said").read_text("utf-8", "replace")

    def run(self, n: int = 0, error: int = 0, fresh: bool = True) -> Ended:
        """The work, with old files in place, in a copy of this process."""
        work = self.folder / "work"
        if fresh:
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(self.inputs, work)
            shutil.copyfile(self.inputs / self.scene.old, self.output)

        def quietly() -> int:
            streams = (
                os.open(os.devnull, os.O_RDONLY),
                os.open(self.folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            )
            for stream, source in enumerate((*streams, streams[1])):
                os.dup2(source, stream)
            return self.scene.work(work)

        return Watch(work, quietly, n, error).run()

    def try_call(self, n: int, way: str, error: int) -> None:
        """One trial."""
        ended = self.run(n, error)
        if len(ended.calls) < n:
            self.found.add("not reached")
            return
        call = ended.calls[n - 1]
        wrong = self._wrong(ended.status, way, call)
        outcome = "new file" if self.output.exists() and self.output.read_bytes() == self.new else "old file"
        self.found.add(outcome, wrong and f"{self.scene.name}, {way} at call {n} ({call}): {wrong}")

    def _wrong(self, status: int, way: str, call: str) -> str | None:
        """What should be otherwise; None: nothing."""
        work, said = self.folder / "work", self.said()
        if not self.output.exists():
            return "no file"
        content = self.output.read_bytes()
        if content not in (self.old, self.new):
            return f"neither the old nor the new file: {len(content)} bytes"
        for path in self.inputs.iterdir():
            if (work / path.name).read_bytes() != path.read_bytes():
                return f"{path.name} has changed"
        left = [path.name for path in work.rglob(LEFT)]
        if way == "kill":
            if left and (self.run(fresh=False).status or [*work.rglob(LEFT)]):
                return f"left of a killed run after the next: {', '.join(left)}"
            return None if status == -signal.SIGKILL else f"status {status}"
        if call.startswith("unlink "):  # what cannot be removed stays until the next run
            left = []
        if status not in (0, 2) or "Traceback" in said:
            return f"status {status}: {said}"
        if status == 0 and content != self.new:
            return f"status 0, and the old file: {said}"
        if status == 2 and sum("error: " in line for line in said.splitlines()) != 1:
            return f"status 2 without one line: {said}"
        return f"left: {', '.join(left)}" if left else None


def attempt(walk: Walk | SessionWalk, number: int) -> str:
    """The trial of a number: what became of it. Neighbours in number are far from each other in the walk."""
    n, way = place_of(number, walk.calls)
    before, walk.found = walk.found, Found()
    walk.try_call(n, way, WAYS[way])
    found, walk.found = walk.found, before
    return f"failed: {found.failures[0]}" if found.failures else f"{walk.name}/{next(iter(found.counts))}"


def place_of(number: int, calls: int) -> tuple[int, str]:
    """The call and the way of a trial: every one for one number below 3 × `calls`."""
    trials = calls * len(WAYS)
    step = next(k for k in range(int(trials * GOLDEN) or 1, 2 * trials + 1) if math.gcd(k, trials) == 1)
    place = number * step % trials
    return place // len(WAYS) + 1, [*WAYS][place % len(WAYS)]


def jobs(trials: int, seed: int, folder: Path) -> Iterator[Job]:
    """So many trials, spread over all scenes by their calls."""
    if not is_possible():
        return
    inputs = folder / "inputs"
    known = found_by("writes", inputs, patience=PATIENCE)
    if known.failures:
        raise SystemExit(known.failures[0])
    whole, before = known.compared.total(), 0
    part = min(1.0, trials / (whole * len(WAYS)))
    for name, calls in known.compared.items():
        share = round((before + calls) * len(WAYS) * part) - round(before * len(WAYS) * part)
        before += calls
        for begin, end in chunks(0, share, PART):
            job = f"writes {name} {begin}–{end - 1} of {calls * len(WAYS)}"
            yield Job(job, partial(some, name, calls, inputs, folder / f"{name} {begin}", begin, end))


def some(name: str, calls: int, inputs: Path, folder: Path, first: int, last: int) -> Found:
    """Some trials of a scene, in a process of their own: one with threads has no copies that do much."""
    folder.mkdir()
    found = Found.of(tried("writes", name, inputs, folder, first=first, last=last, patience=PATIENCE))
    found.compared[f"calls of {name}"] = calls if not first else 0
    shutil.rmtree(folder)
    return found


def walk_of(name: str, inputs: Path, folder: Path) -> Walk | SessionWalk:
    """The walk through a scene."""
    if name == SESSION:
        return SessionWalk(folder, Found())
    return Walk(next(scene for scene in SCENES if scene.name == name), inputs, folder, Found())


def main(*given: str) -> None:
    """Make the inputs and count the calls of all scenes, or try some of one."""
    if len(given) == 1:
        inputs, found = Path(given[0]), Found()
        prepare(inputs)
        for name in (*(scene.name for scene in SCENES), SESSION):
            with tempfile.TemporaryDirectory() as folder:
                found.compared[name] = walk_of(name, inputs, Path(folder)).calls
        print_found(found)
    else:
        name, inputs, folder, first, last = given
        warm_up()
        print_trials(range(int(first), int(last)), partial(attempt, walk_of(name, Path(inputs), Path(folder))))


if __name__ == "__main__":
    main(*sys.argv[1:])
