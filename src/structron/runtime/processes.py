"""Workers outside this process: each makes something once, and is then called as often as somebody likes.

    pool.call(worker, …) ──▶ future          ProcessPool: processes of this machine; RayPool (cluster.py): a cluster

A worker is a function, with whatever that has loaded. What it raises, its future raises. A worker that dies does not
take the pool with it: what it was asked raises WorkerDied, and its next call begins another in its place.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from typing import IO, Any, NoReturn, Protocol, TypeVar

from structron.errors import StructronError
from structron.runtime.interrupts import Held, first_done
from structron.runtime.streams import leave_signals
from structron.runtime.threads import in_order

Task = TypeVar("Task")
PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class WorkerDied(Exception):
    """A worker is gone, and with it what it was asked."""


class WorkerPool(Protocol):
    """Several workers, known by their numbers."""

    size: int

    def call(self, worker: int, *given: Any) -> "Future[Any]":
        """Ask a worker, which is begun if it is not there."""

    def close(self) -> None:
        """End all workers, whatever they do."""


def as_done(pool: WorkerPool, waiting: deque[Task], tries: int = 1) -> Iterator[tuple[Task, "Future[Any]"]]:
    """Each task with its future when that is done, in any order; tasks may be put to those that wait meanwhile.

    tries: how often a task is begun whose worker dies.
    """
    idle, running = list(range(pool.size)), dict[Future[Any], tuple[int, Task]]()
    begun: Counter[int] = Counter()  # by identity: tasks need not be hashable
    while waiting or running:
        while waiting and idle:
            worker, task = idle.pop(), waiting.popleft()
            begun[id(task)] += 1
            running[pool.call(worker, task)] = worker, task
        for future in first_done(running):
            worker, task = running.pop(future)
            idle.append(worker)
            if isinstance(future.exception(), WorkerDied) and begun[id(task)] < tries:
                waiting.append(task)
            else:
                del begun[id(task)]
                yield task, future


def on_copies(run: Callable[[Any], Any], work: Iterable[Any], jobs: int) -> Generator[Any, None, None]:
    """What `run` makes of each piece of endless work, in order, on `jobs` copies of this process (see `in_order`)."""
    pool, idle = ProcessPool(lambda: run, jobs, fork=True), SimpleQueue[int]()
    for worker in range(jobs):
        idle.put(worker)

    def ask(piece: Any) -> Any:
        worker = idle.get()
        try:
            return pool.call(worker, piece).result()
        finally:
            idle.put(worker)

    with contextlib.closing(pool), contextlib.closing(in_order(ask, work, jobs)) as found:
        try:
            yield from found
        except WorkerDied:
            raise StructronError("a process died; expected enough memory, or --jobs 1") from None


# -- processes of this machine -----------------------------------------------------------------------------------------


class ProcessPool:
    """Workers that are processes, so that none waits for another's Python lock. They end with this process.

    Fresh ones are begun when they are first called, and know nothing of the program that begins them but where modules
    are found: `make` is pickled. Copies of this process are begun at once; what it has loaded is theirs too. They are
    for Linux: elsewhere a process cannot be copied (Windows), or should not (macOS).
    """

    def __init__(
        self,
        make: Callable[[], Callable[..., Any]],
        size: int,
        fork: bool = False,
        silent: bool = False,
        environment: Mapping[str, str] | None = None,
    ):
        """make: called where a worker is, gives what is to be called.   silent: nobody sees their standard error."""
        self.make, self.size, self.fork, self.silent = make, size, fork, silent
        self.environment = environment or {}
        self.members: dict[int, _Member] = {}
        self._change = threading.Lock()
        if fork:
            with Held():
                processes: list[_Copy] = []
                for _ in range(size):
                    processes.append(_Copy(make, processes, silent))
                self.members = {worker: _Member(process) for worker, process in enumerate(processes)}

    def call(self, worker: int, *given: Any) -> "Future[Any]":
        data = pickle.dumps(given, pickle.HIGHEST_PROTOCOL)
        with Held():
            with self._change:
                member = self.members.get(worker)
                if member is None or (member.dead and not self.fork):
                    member = self.members[worker] = _Member(self._start())
                    member.send(pickle.dumps(self.make, pickle.HIGHEST_PROTOCOL))
            return member.ask(data)

    def close(self) -> None:
        with Held():
            with self._change:
                members, self.members = list(self.members.values()), {}
            for member in members:
                member.process.kill()
            for member in members:
                member.close()

    def _start(self) -> "subprocess.Popen[bytes]":
        paths = [path for path in sys.path if isinstance(path, str)]
        code = f"import sys; sys.path[:] = {[*paths, PACKAGE]!r}; from {__name__} import serve; serve()"
        return subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if self.silent else None,
            env={**os.environ, **self.environment},
            start_new_session=True,  # Ctrl-C is for us, who end them
        )


class _Member:
    """A process, and a thread that takes its answers."""

    def __init__(self, process: "subprocess.Popen[bytes] | _Copy"):
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.dead = process, False
        self.calls: IO[bytes] = process.stdin
        self.answers: IO[bytes] = process.stdout
        self._asked: deque[Future[Any]] = deque()
        self._change = threading.Lock()
        self._listening = threading.Thread(target=self._listen, name="structron-worker", daemon=True)
        self._listening.start()

    def ask(self, data: bytes) -> "Future[Any]":
        future: Future[Any] = Future()
        with self._change:
            if self.dead:
                future.set_exception(self._death())
            else:
                self._asked.append(future)
                self.send(data)
        return future

    def send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # it died just now: the thread that listens says so
            pickle.dump(data, self.calls, pickle.HIGHEST_PROTOCOL)
            self.calls.flush()

    def close(self) -> None:
        """Wait for the end of a process that was killed."""
        self._listening.join()
        with contextlib.suppress(OSError):
            self.calls.close()

    def _listen(self) -> None:
        with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                data = pickle.load(self.answers)
                with self._change:
                    future = self._asked.popleft()
                try:
                    found, failure = pickle.loads(data)
                except Exception as error:
                    found, failure = None, error
                if failure is None:
                    future.set_result(found)
                else:
                    future.set_exception(failure)
                del data, future, found, failure
        self.process.wait()
        self.answers.close()
        with self._change:
            self.dead, asked = True, list(self._asked)
        for future in asked:
            future.set_exception(self._death())

    def _death(self) -> WorkerDied:
        return WorkerDied(f"its process died (exit status {self.process.returncode})")


class _Copy:
    """A copy of this process, with what `subprocess.Popen` has of one."""

    def __init__(self, make: Callable[[], Callable[..., Any]], others: Iterable["_Copy"], silent: bool = False):
        """others: copies that were made before, whose ends are when nobody else holds the other end of their pipes."""
        calls, ours = os.pipe()
        theirs, answers = os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if not self.pid:
            _live_as_copy(make, calls, answers, [theirs, ours], others, silent)
        os.close(calls)
        os.close(answers)
        self.stdin, self.stdout = os.fdopen(ours, "wb"), os.fdopen(theirs, "rb")

    def kill(self) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


# -- in the processes --------------------------------------------------------------------------------------------------


def serve() -> NoReturn:
    """The life of a fresh process: what it prints goes to standard error, since its output is ours."""
    leave_signals()
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    _work(pickle.load(calls), calls, answers)


def _live_as_copy(
    make: Callable[[], Callable[..., Any]],
    calls: int,
    answers: int,
    ours: Iterable[int],
    others: Iterable[_Copy],
    silent: bool,
) -> NoReturn:
    try:
        leave_signals()
        if silent:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
        for end in ours:
            os.close(end)
        for other in others:
            other.stdin.close()
            other.stdout.close()
        _work(make, os.fdopen(calls, "rb"), os.fdopen(answers, "wb"))
    finally:
        os._exit(1)


def _work(make: bytes | Callable[[], Callable[..., Any]], calls: IO[bytes], answers: IO[bytes]) -> NoReturn:
    """One call after the other, until nobody is there any more who could ask."""
    asked: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_hear, args=(calls, asked), daemon=True).start()
    run, failure = _tried(lambda: (pickle.loads(make) if isinstance(make, bytes) else make)())
    while True:
        data = asked.get()
        found, error = (None, failure) if failure is not None else _tried(lambda data=data: run(*pickle.loads(data)))  # type: ignore[misc]
        pickle.dump(_packed(found, error), answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()
        del data, found, error


def _hear(calls: IO[bytes], asked: "SimpleQueue[bytes]") -> None:
    """Take what comes in, and end the process when nothing more can."""
    try:
        while True:
            asked.put(pickle.load(calls))
    finally:
        os._exit(1)


def _tried(act: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return act(), None
    except Exception as error:
        if not isinstance(error, StructronError):
            error.add_note(f"in a process of structron:\n{traceback.format_exc()}")
        return None, error


def _packed(found: Any, error: Exception | None) -> bytes:
    """An answer as bytes; an error that cannot be sent is told in words."""
    try:
        data = pickle.dumps((found, error), pickle.HIGHEST_PROTOCOL)
        if error is not None:
            pickle.loads(data)
        return data
    except Exception:
        text = "".join(traceback.format_exception(error)) if error is not None else traceback.format_exc()
        kind = StructronError(str(error)) if isinstance(error, StructronError) else RuntimeError(text)
        return pickle.dumps((None, kind), pickle.HIGHEST_PROTOCOL)
