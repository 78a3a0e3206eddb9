"""Compiling kernels before they are needed, on all cores.

    prepare(["use english"])      kernels of the list that are not in the cache ──▶ processes, one for each core
                                                                                     each takes the longest that is left

A process gets the number of a kernel, compiles it into the cache, and says when that is done. Where it can be, it is a
copy of this one, which has imported the compiler once for all of them. All compile a known function first, so that the
time that is left can be told from the beginning.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import ClassVar, Self

from structron.kernels import cache, fingerprint
from structron.kernels.jit import DISABLE_JIT, kernel, plain
from structron.kernels.listed import ListedKernel, every_kernel, needed_for, read, the
from structron.runtime.processes import ProcessPool, WorkerDied
from structron.runtime.threads import cores

WORTH_IT = 3.0
"""Seconds of compiling below which processes of their own are not worth their start."""
START = 1.5
"""Seconds of the list that a process takes beside its kernels: for helpers that kernels of others have, too."""
PLAIN = "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING"
"""Colours of errors that nobody sees take a twentieth of the time, where colorama is installed."""
TRUST = 10.0
"""Seconds of compiling that say as much about a machine as what it takes for a known function."""
POLL_SECONDS = 0.1
"""Seconds between two looks at what is done."""
Show = Callable[["CompileProgress"], None]
complete: set[str] = set()
"""What was found to lack no kernel: nobody looks for it a second time."""


@dataclass
class CompileProgress:
    """How far the processes are."""

    kernels: int
    seconds: float  # of processor time that the list expects for all
    workers: int
    first: float | None = None  # the pace of this machine, seconds for each second of the list, as the processes said
    done: int = 0
    compiled: float = 0.0  # seconds of the list
    spent: float = 0.0  # seconds by the clock for that
    running: dict[int, tuple[ListedKernel, float]] = field(default_factory=dict)

    @property
    def pace(self) -> float:
        """Seconds by the clock for each second of the list: what was said first, and what was seen since."""
        spent, compiled, now = TRUST * (self.first or 1.0) + self.spent, TRUST + self.compiled, time.monotonic()
        for own, since in list(self.running.values()):  # at once: another thread may hand out work meanwhile
            if now - since > own.seconds * spent / compiled:  # longer than was thought, even if it were done now
                spent, compiled = spent + now - since, compiled + own.seconds
        return spent / compiled

    def left(self) -> float:
        """Seconds by the clock until all is compiled."""
        now, pace = time.monotonic(), self.pace
        running = list(self.running.values())
        part = sum(min(0.9 * own.seconds, (now - since) / pace) for own, since in running)
        longest = max((own.seconds - (now - since) / pace for own, since in running), default=0.0)
        return pace * max((self.seconds - self.compiled - part) / self.workers, longest, 0.0)


def cold(wanted: Iterable[str]) -> list[ListedKernel]:
    """The kernels that somebody needs and that no cache has, those that take longest first."""
    kept = cache.names()
    return [own for own in needed_for(wanted) if fingerprint.listed_name(own) not in kept]


def prepare(wanted: Iterable[str], show: Show | None = None, workers: int | None = None) -> int:
    """Compile what somebody needs and the cache lacks, if that takes long enough for processes of their own.

    wanted: "use TASK", "train TASK", "more TASK".   show: called now and then.   Returns how many were compiled.
    """
    unknown = [name for name in wanted if name not in complete]
    needed, compilers = cold(unknown) if unknown else [], Compilers.at_work
    if not needed:
        complete.update(unknown)
        return 0
    if compilers is not None:
        return compilers.hurry(needed, show)
    count = _workers(needed, workers)
    if not count:
        return 0
    with Compilers(needed, count) as compilers:
        while compilers.watch():
            if show is not None:
                show(compilers.progress)
    return compilers.progress.done


@contextlib.contextmanager
def meanwhile(wanted: Iterable[str]) -> Iterator[None]:
    """Compile what will be needed while something else is done; `prepare` then waits only for what it is asked for.

    wanted: as for `prepare`; what comes first is compiled first.
    """
    needed = [*dict.fromkeys(own for name in wanted for own in cold([name]))]
    count = _workers(needed, None)
    if not count or Compilers.at_work is not None:
        yield
        return
    with Compilers(needed, count) as compilers:
        watching = threading.Thread(target=compilers.watch_on, daemon=True)
        Compilers.at_work = compilers
        watching.start()
        try:
            yield
        finally:
            Compilers.at_work = None
            compilers.over.set()
            watching.join()


def _workers(needed: Sequence[ListedKernel], wanted: int | None) -> int:
    """How many processes are to compile; 0: none is worth its start, or none can be started."""
    count = min(wanted or cores(), len(needed))
    if DISABLE_JIT or not sys.executable or sum(own.seconds for own in needed) < WORTH_IT:
        return 0
    return count if count > 1 or wanted else 0


def can_copy() -> bool:
    """Whether processes that compile may be copies of this one: another thread could be at anything."""
    return sys.platform == "linux" and threading.active_count() == 1


class Compilers:
    """Processes that compile kernels, each the next that is waiting; leaving it ends them."""

    at_work: ClassVar["Compilers | None"] = None
    """Those that compile in the background."""
    under_way: ClassVar[list[CompileProgress]] = []
    """How far all of them are, whoever waits for them."""

    def __init__(self, kernels: Sequence[ListedKernel], workers: int):
        self.waiting = list(kernels)
        self.progress = CompileProgress(len(kernels), sum(own.seconds for own in kernels) + START * workers, workers)
        self.paces: list[float] = []
        copies = can_copy()
        if copies:
            import_compiler()
        self.pool = ProcessPool(worker, workers, fork=copies, silent=True, environment={PLAIN: "1"})
        self.begun: set[int] = set()  # processes that have compiled something
        self.heard: SimpleQueue[tuple[int, Future[float]]] = SimpleQueue()
        self.alive: set[int] = set()
        self.order = threading.Lock()  # of what waits and what is being compiled
        self.over = threading.Event()

    def __enter__(self) -> Self:
        for k in range(self.progress.workers):
            self.alive.add(k)
            self._ask(k, None)
        self.under_way.append(self.progress)
        return self

    def __exit__(self, *error: object) -> None:
        self.under_way.remove(self.progress)
        self.pool.close()

    def _ask(self, k: int, number: int | None) -> None:
        self.pool.call(k, number).add_done_callback(lambda future: self.heard.put((k, future)))

    def watch(self) -> bool:
        """Hand out work for a moment; False: all is done, or nobody is left to do it."""
        until = time.monotonic() + POLL_SECONDS
        while self.alive and (rest := until - time.monotonic()) > 0:
            with contextlib.suppress(Empty):
                self._hear(*self.heard.get(timeout=rest))
        return bool(self.alive)

    def watch_on(self) -> None:
        """Hand out work until all is done, or nobody waits for it any more."""
        while not self.over.is_set() and self.watch():
            pass
        self.pool.close()

    def hurry(self, needed: Sequence[ListedKernel], show: Show | None = None) -> int:
        """Compile these first, and wait until that is done; returns how many there were."""
        with self.order:
            wanted = {*needed} & {*self.waiting, *(own for own, _ in self.progress.running.values())}
            first = [own for own in needed if own in wanted]
            self.waiting = [
                *(own for own in first if own in self.waiting),
                *(own for own in self.waiting if own not in wanted),
            ]
        view = CompileProgress(len(first), sum(own.seconds for own in first), self.progress.workers)
        at_work = True
        while at_work:
            at_work = bool(self.alive)
            with self.order:
                view.running = {k: found for k, found in self.progress.running.items() if found[0] in wanted}
                left = [own for own in self.waiting if own in wanted] + [own for own, _ in view.running.values()]
            view.done, view.compiled = len(first) - len(left), view.seconds - sum(own.seconds for own in left)
            view.first, view.spent = self.progress.pace, self.progress.pace * view.compiled
            if not left:
                break
            if show is not None:
                show(view)
            time.sleep(POLL_SECONDS)
        return view.done

    def _hear(self, k: int, future: "Future[float]") -> None:
        """What a process says; one that cannot compile a kernel leaves it for whoever calls it."""
        progress = self.progress
        with self.order:
            own, since = progress.running.pop(k, (None, 0.0))
        failure = future.exception()
        dead = isinstance(failure, WorkerDied) or (own is None and failure is not None)
        if dead:
            self.alive.discard(k)  # what it was at is compiled when it is needed
        elif own is None:
            self.paces.append(future.result())
        if progress.first is None and self.paces and len(self.paces) >= len(self.alive):
            progress.first = sum(self.paces) / len(self.paces)
        if dead:
            return
        if own is not None:
            progress.done += 1
            progress.compiled += own.seconds + START * (k not in self.begun)
            self.begun.add(k)
            progress.spent += time.monotonic() - since
        self._give(k)

    def _give(self, k: int) -> None:
        with self.order:
            own = self.waiting.pop(0) if self.waiting else None
            if own is not None:
                self.progress.running[k] = own, time.monotonic()
        if own is None:
            self.alive.discard(k)
        else:
            self._ask(k, every_kernel().index(own))


# -- in the processes --------------------------------------------------------------------------------------------------


def worker() -> Callable[[int | None], float]:
    """What a process does: compile the kernel of this number, or (None) say how fast the machine is."""
    return lambda number: calibrate() if number is None else compile_listed(every_kernel()[number])


def compile_listed(own: ListedKernel) -> float:
    """Compile a kernel into the cache; returns the seconds that it took."""
    begin = time.process_time()
    arguments = read(own.arguments)
    signature = read(own.returns)(*arguments) if own.returns else arguments
    kernel(plain(the(own.function)), allocates=own.allocates).compile(signature)
    return time.process_time() - begin


CALIBRATION = 0.15
"""Seconds of a machine that takes as long for all as the list says."""
TIMES = 2
"""How often the known function is compiled."""


def import_compiler() -> None:
    """Import what compiling takes."""
    from numba import njit, types

    njit(lambda x: x + 1).compile((types.int64,))


def calibrate(clock: Callable[[], float] = time.monotonic) -> float:
    """How long this machine takes for what takes a second by the list."""
    from numba import njit, types

    def loop(a, b, n):
        total = 0.0
        for i in range(n):
            for j in range(i):
                if a[i, j] > b[j]:
                    total += a[i, j] * b[i]
        return total

    import_compiler()
    begin = clock()
    for _ in range(TIMES):
        njit(loop).compile((types.float64[:, ::1], types.float64[::1], types.int64))
    return (clock() - begin) / TIMES / CALIBRATION
