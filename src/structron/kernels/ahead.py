"""Compiling kernels before they are needed, on all cores.

    prepare(["use english"])      kernels of the list that are not in the cache ──▶ processes, one for each core
                                                                                     each takes the longest that is left

A process reads the number of a kernel from its input, compiles it into the cache, and says when that is done. It
compiles a known function first, so that the time that is left can be told from the beginning.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import IO, Any, ClassVar

from structron.kernels import cache, fingerprint
from structron.kernels.jit import DISABLE_JIT, kernel, plain
from structron.kernels.listed import ListedKernel, every_kernel, needed_for, read, the
from structron.runtime.threads import cores

WORTH_IT = 3.0
"""Seconds of compiling below which processes of their own are not worth their start."""
START = 1.0
"""Seconds of the list that a process takes for its first kernel beside the kernel: more of the compiler is imported."""
PLAIN = "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING"
"""Colours of errors that nobody sees take a twentieth of the time, where colorama is installed."""
TRUST = 10.0
"""Seconds of compiling that say as much about a machine as what it takes for a known function."""
EVERY = 0.1
"""Seconds between two looks at what is done."""
Show = Callable[["Progress"], None]
_complete: set[str] = set()
"""What was found to lack no kernel: nobody looks for it a second time."""


@dataclass
class Progress:
    """How far the processes are."""

    kernels: int
    seconds: float  # of processor time that the list expects for all
    workers: int
    begun: float = field(default_factory=time.monotonic)
    first: float | None = (
        None  # the pace of this machine, seconds for each second of the list, as the first process said
    )
    done: int = 0
    compiled: float = 0.0  # seconds of the list
    spent: float = 0.0  # seconds by the clock for that
    running: dict[int, tuple[ListedKernel, float]] = field(default_factory=dict)

    @property
    def pace(self) -> float:
        """Seconds by the clock for each second of the list: what was said first, and what was seen since."""
        return (TRUST * (self.first or 1.0) + self.spent) / (TRUST + self.compiled)

    def left(self) -> float:
        """Seconds by the clock until all is compiled."""
        now, pace = time.monotonic(), self.pace
        part = sum(min(0.9 * own.seconds, (now - since) / pace) for own, since in self.running.values())
        longest = max((own.seconds - (now - since) / pace for own, since in self.running.values()), default=0.0)
        return pace * max((self.seconds - self.compiled - part) / self.workers, longest, 0.0)


def cold(wanted: Iterable[str]) -> list[ListedKernel]:
    """The kernels that somebody needs and that no cache has, those that take longest first."""
    folders = [{*os.listdir(folder)} for folder in cache.folders() if folder.is_dir()]
    found = ((own, fingerprint.listed_name(own)) for own in needed_for(wanted))
    return [own for own, name in found if not any(name in files for files in folders)]


def prepare(wanted: Iterable[str], show: Show | None = None, workers: int | None = None) -> int:
    """Compile what somebody needs and the cache lacks, if that takes long enough for processes of their own.

    wanted: "use TASK", "train TASK", "more TASK".   show: called now and then.   Returns how many were compiled.
    """
    unknown = [name for name in wanted if name not in _complete]
    needed, crew = cold(unknown) if unknown else [], Crew.at_work
    if not needed:
        _complete.update(unknown)
        return 0
    if crew is not None:
        return crew.hurry(needed, show)
    count = _workers(needed, workers)
    if not count:
        return 0
    with Crew(needed, count) as crew:
        while crew.watch():
            if show is not None:
                show(crew.progress)
    return crew.progress.done


@contextlib.contextmanager
def meanwhile(wanted: Iterable[str]) -> Iterator[None]:
    """Compile what will be needed while something else is done; `prepare` then waits only for what it is asked for.

    wanted: as for `prepare`; what comes first is compiled first.
    """
    needed = [*dict.fromkeys(own for name in wanted for own in cold([name]))]
    count = _workers(needed, None)
    if not count or Crew.at_work is not None:
        yield
        return
    with Crew(needed, count) as crew:
        watching = threading.Thread(target=crew.watch_on, daemon=True)
        Crew.at_work = crew
        watching.start()
        try:
            yield
        finally:
            Crew.at_work = None
            crew.over.set()
            watching.join()


def _workers(needed: Sequence[ListedKernel], wanted: int | None) -> int:
    """How many processes are to compile; 0: none is worth its start, or none can be started."""
    count = min(wanted or cores(), len(needed))
    if DISABLE_JIT or not sys.executable or sum(own.seconds for own in needed) < WORTH_IT:
        return 0
    return count if count > 1 or wanted else 0


class Crew:
    """Processes that compile kernels, each the next that is waiting; leaving it ends them."""

    at_work: ClassVar["Crew | None"] = None
    """Those that compile in the background."""

    def __init__(self, kernels: Sequence[ListedKernel], workers: int):
        self.waiting = list(kernels)
        self.progress = Progress(len(kernels), sum(own.seconds for own in kernels) + START * workers, workers)
        self.begun: set[int] = set()  # processes that have compiled something
        self.heard: SimpleQueue[tuple[int, str]] = SimpleQueue()
        self.processes: list[subprocess.Popen[str]] = []
        self.alive: set[int] = set()
        self.order = threading.Lock()  # of what waits and what is being compiled
        self.over = threading.Event()

    def __enter__(self) -> "Crew":
        command = [sys.executable, "-c", f"from {__name__} import work; work()"]
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        for k in range(self.progress.workers):
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "PYTHONPATH": path, PLAIN: "1"},
                start_new_session=True,  # Ctrl-C is for us, who end them
            )
            self.processes.append(process)
            self.alive.add(k)
            threading.Thread(target=self._listen, args=(k, process.stdout), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]

    def _listen(self, k: int, lines: IO[str]) -> None:
        with contextlib.suppress(ValueError):
            for line in lines:
                self.heard.put((k, line.strip()))
        self.heard.put((k, ""))

    def watch(self) -> bool:
        """Hand out work for a moment; False: all is done, or nobody is left to do it."""
        until = time.monotonic() + EVERY
        while self.alive and (rest := until - time.monotonic()) > 0:
            with contextlib.suppress(Empty):
                self._hear(*self.heard.get(timeout=rest))
        return bool(self.alive)

    def watch_on(self) -> None:
        """Hand out work until all is done, or nobody waits for it any more."""
        while not self.over.is_set() and self.watch():
            pass

    def hurry(self, needed: Sequence[ListedKernel], show: Show | None = None) -> int:
        """Compile these first, and wait until that is done; returns how many there were."""
        with self.order:
            wanted = {*needed} & {*self.waiting, *(own for own, _ in self.progress.running.values())}
            first = [own for own in needed if own in wanted]
            self.waiting = [
                *(own for own in first if own in self.waiting),
                *(own for own in self.waiting if own not in wanted),
            ]
        view = Progress(len(first), sum(own.seconds for own in first), self.progress.workers)
        while self.alive:
            with self.order:
                view.running = {k: found for k, found in self.progress.running.items() if found[0] in wanted}
                left = [own for own in self.waiting if own in wanted] + [own for own, _ in view.running.values()]
            view.done, view.compiled = len(first) - len(left), view.seconds - sum(own.seconds for own in left)
            view.first, view.spent = self.progress.pace, self.progress.pace * view.compiled
            if not left:
                break
            if show is not None:
                show(view)
            time.sleep(EVERY)
        return view.done

    def _hear(self, k: int, line: str) -> None:
        progress = self.progress
        with self.order:
            own, since = progress.running.pop(k, (None, 0.0))
        if not line:  # it has ended, by itself or not; what it was at is compiled when it is needed
            self.alive.discard(k)
            return
        what, _, seconds = line.partition(" ")
        if what == "ready":
            progress.first = float(seconds) if progress.first is None else progress.first
        elif own is not None:
            progress.done += 1
            progress.compiled += own.seconds + START * (k not in self.begun)
            self.begun.add(k)
            progress.spent += time.monotonic() - since
        self._give(k)

    def _give(self, k: int) -> None:
        stream: Any = self.processes[k].stdin
        with self.order:
            own = self.waiting.pop(0) if self.waiting else None
            if own is not None:
                self.progress.running[k] = own, time.monotonic()
        with contextlib.suppress(OSError):
            if own is None:
                stream.close()
            else:
                stream.write(f"{every_kernel().index(own)}\n")
                stream.flush()


# -- in the processes --------------------------------------------------------------------------------------------------


def work() -> None:
    """Compile the kernels whose numbers come in, one by one."""
    print("ready", calibrate(), flush=True)
    for line in sys.stdin:
        with contextlib.suppress(Exception):  # one that cannot be compiled here is left for whoever calls it
            compile_listed(every_kernel()[int(line)])
        print("done", flush=True)


def compile_listed(own: ListedKernel) -> float:
    """Compile a kernel into the cache; returns the seconds that it took."""
    begin = time.process_time()
    arguments = read(own.arguments)
    signature = read(own.returns)(*arguments) if own.returns else arguments
    kernel(plain(the(own.function)), allocates=own.allocates).compile(signature)
    return time.process_time() - begin


CALIBRATION = 0.15
"""Seconds of a machine that takes as long for all as the list says."""


def calibrate() -> float:
    """How long this machine takes for what takes a second by the list."""
    from numba import njit, types

    def loop(a, b, n):
        total = 0.0
        for i in range(n):
            for j in range(i):
                if a[i, j] > b[j]:
                    total += a[i, j] * b[i]
        return total

    njit(lambda x: x + 1).compile((types.int64,))  # the compiler is imported
    begin = time.process_time()
    njit(loop).compile((types.float64[:, ::1], types.float64[::1], types.int64))
    return (time.process_time() - begin) / CALIBRATION
