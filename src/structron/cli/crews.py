"""Workers that write one file at a time, each with its model loaded once: processes of this machine, or Ray's actors.

    tasks ──work──▶ crew.give(worker, task) … crew.next() ──▶ what became of each

A worker that dies is replaced, and its file is begun again; a file that fails is reported, and the others go on.
"""

import contextlib
import gc
import multiprocessing
import os
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from structron.errors import StructronError
from structron.io.limits import VARIABLE, longest_sentence
from structron.runtime.streams import leave_signals
from structron.runtime.threads import uncollected

TRIES = 3
"""How often a file is begun whose worker dies."""


@dataclass(frozen=True, slots=True)
class Order:
    """How every worker makes its writer: a class whose `write(file, output, jobs)` writes one file, and its options."""

    kind: type
    options: dict[str, Any]
    longest: int = field(default_factory=longest_sentence)  # characters; processes of a cluster do not inherit it


class Task(NamedTuple):
    """One file, and the threads that a worker may use for it."""

    file: str
    output: str
    jobs: int = 1


class Answer(NamedTuple):
    """What became of a worker's task."""

    worker: int
    error: str | None = None
    died: bool = False


class Crew(Protocol):
    """Several workers, known by their numbers."""

    size: int

    def give(self, worker: int, task: Task) -> None:
        """Let an idle worker begin with a task."""

    def next(self) -> Answer:
        """Wait for the next worker that is done, or dead."""

    def close(self) -> None:
        """End all workers, whatever they do."""


def work(crew: Crew, tasks: Iterable[Task]) -> Iterator[tuple[Task, str | None]]:
    """Each task when it is done, with its error if it failed, in any order."""
    waiting, idle = deque(tasks), list(range(crew.size))
    busy: dict[int, Task] = {}
    begun: Counter[Task] = Counter()
    while waiting or busy:
        while waiting and idle:
            worker, task = idle.pop(), waiting.popleft()
            begun[task] += 1
            busy[worker] = task
            crew.give(worker, task)
        answer = crew.next()
        task = busy.pop(answer.worker)
        idle.append(answer.worker)
        if answer.died and begun[task] < TRIES:
            waiting.append(task)
            continue
        del begun[task]
        yield task, f"{task.file}: {answer.error} ({TRIES} times)" if answer.died else answer.error


class Hand:
    """What a worker is, wherever it runs."""

    def __init__(self, order: Order):
        self.problem, self.writer = "", None
        os.environ[VARIABLE] = str(order.longest)
        with uncollected():
            try:
                self.writer = order.kind(**order.options)
            except Exception as error:
                self.problem = described(error)
        gc.freeze()

    def here(self) -> bool:
        """Whether it exists at all."""
        return True

    def write(self, task: Task) -> str | None:
        """Write a file; returns what is wrong with it."""
        if self.writer is None:
            return f"{task.file}: {self.problem}"
        try:
            with uncollected():
                self.writer.write(task.file, Path(task.output), task.jobs)
        except Exception as error:
            text = described(error)
            return text if task.file in text else f"{task.file}: {text}"
        finally:
            gc.collect()
        return None


def described(error: Exception) -> str:
    """An error in one line."""
    text = " ".join(str(error).split("\n"))
    return text if isinstance(error, StructronError | OSError) else f"{type(error).__name__}: {text} (a bug?)"


# -- processes -------------------------------------------------------------------------------------------------------


class Processes:
    """Workers that are processes of this machine: Python's lock would let threads wait for each other."""

    def __init__(self, order: Order, size: int):
        self.order, self.size = order, size
        self._context = multiprocessing.get_context("spawn")
        self._members: dict[int, tuple[Any, Connection]] = {}
        self._busy: dict[Any, int] = {}

    def _member(self, worker: int) -> tuple[Any, Connection]:
        """A worker that lives, as far as is known."""
        if worker in self._members and not self._members[worker][0].is_alive():
            del self._members[worker]
        if worker not in self._members:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_serve, args=(theirs, self.order), daemon=True)
            process.start()
            theirs.close()
            self._members[worker] = process, ours
        return self._members[worker]

    def give(self, worker: int, task: Task) -> None:
        link = self._member(worker)[1]
        with contextlib.suppress(OSError):  # it died just now: `next` will see it
            link.send(task)
        self._busy[link] = worker

    def next(self) -> Answer:
        link: Any = wait(list(self._busy))[0]
        worker = self._busy.pop(link)
        try:
            return Answer(worker, link.recv())
        except (EOFError, OSError):
            process, _ = self._members.pop(worker)
            process.join()
            return Answer(worker, f"its process died (exit status {process.exitcode})", died=True)

    def close(self) -> None:
        for process, link in self._members.values():
            link.close()
            process.kill()
        for process, _ in self._members.values():
            process.join()
        self._members, self._busy = {}, {}


def _serve(link: Connection, order: Order) -> None:
    """The life of a process: one task after the other, until nobody asks any more."""
    leave_signals()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    hand = Hand(order)
    try:
        while True:
            link.send(hand.write(link.recv()))
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


# -- Ray -------------------------------------------------------------------------------------------------------------


class Actors:
    """Workers that are actors of a Ray cluster. Files are on disks that all machines share."""

    def __init__(self, order: Order, size: int, ray: Any):
        self.order, self.size, self.ray = order, size, ray
        self._kind = ray.remote(num_cpus=1, max_restarts=0)(Hand)
        self._members: dict[int, Any] = {}
        self._asked: dict[Any, int] = {}
        try:
            ray.get(self._member(0).here.remote())
        except ray.exceptions.RayError as error:
            self.close()
            reason = str(error).strip().splitlines()[-1][:200]
            raise StructronError(
                f"--ray: a worker could not start ({reason}); expected the same structron on every machine"
            ) from None

    def _member(self, worker: int) -> Any:
        if worker not in self._members:
            self._members[worker] = self._kind.remote(self.order)
        return self._members[worker]

    def give(self, worker: int, task: Task) -> None:
        self._asked[self._member(worker).write.remote(task)] = worker

    def next(self) -> Answer:
        (done,), _ = self.ray.wait(list(self._asked), num_returns=1)
        worker = self._asked.pop(done)
        try:
            return Answer(worker, self.ray.get(done))
        except self.ray.exceptions.RayError as error:
            self.ray.kill(self._members.pop(worker))
            return Answer(worker, f"its worker died ({type(error).__name__})", died=True)

    def close(self) -> None:
        for member in self._members.values():
            self.ray.kill(member)
        self._members, self._asked = {}, {}
