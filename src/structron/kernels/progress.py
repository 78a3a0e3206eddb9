"""What a user sees while kernels are compiled: a bar on a terminal, a line now and then elsewhere.

    prepare("use english")      compile what that needs, on all cores, and say how long it will take
    with Compiling(): …         what is compiled meanwhile, one kernel after the other: what the list does not have

Kernels from the cache are not mentioned, so a program whose kernels are all there shows nothing.
"""

import contextlib
import math
import sys
import threading
import time
from collections.abc import Iterator
from typing import IO, Any

from numba.core import event as numba_event

from structron.kernels import ahead
from structron.kernels.listed import every_kernel
from structron.runtime.progress import SHOWN, is_quiet

LINE_SECONDS = 8.0
"""Seconds between two lines where there is no terminal for a bar."""
PACKAGE = "structron."


class Display:
    """A text that changes, and how much is done: a bar on a terminal, lines elsewhere."""

    def __init__(self, stream: IO[str] | None = None):
        self.stream = stream or sys.stderr
        self.text, self.share = "", 0.0
        self.bar: Any = None
        self.told = -math.inf

    def update(self, text: str, share: float | None) -> None:
        """share: between 0 and 1; None: nobody knows."""
        self.text, self.share = text, share or 0.0
        if self.stream is None:
            return
        if self.stream.isatty():
            if self.bar is None and not SHOWN:
                self.bar = _bar(self, self.stream, share is not None)
                self.bar.start()
        elif time.monotonic() - self.told >= LINE_SECONDS:
            self.told = time.monotonic()
            with contextlib.suppress(OSError, ValueError):
                print(text, file=self.stream, flush=True)

    def hide(self) -> None:
        """The bar is gone; lines stay."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def _bar(owner: Display, stream: IO[str], measured: bool) -> Any:
    """A bar that looks at what is compiled whenever it is drawn."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    class Bar(Progress):
        def get_renderables(self) -> Iterator[Any]:
            for task in self.tasks:
                task.completed, task.description = owner.share, owner.text
            yield from super().get_renderables()

    columns = (BarColumn(bar_width=24), TextColumn("{task.description}", markup=False))
    console = Console(file=stream, soft_wrap=True)
    bar = Bar(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    bar.add_task("", total=1.0 if measured else None)
    return bar


# -- on all cores, from the list ---------------------------------------------------------------------------------------


def prepare(*wanted: str, show: bool = True, workers: int | None = None) -> int:
    """Compile what somebody needs ("use TASK", "train TASK", "more TASK") and the cache lacks, on all cores.

    Returns how many kernels were compiled: none where that takes a moment only, or there is one core.
    """
    if ahead.complete.issuperset(wanted):
        return 0
    display = Display()

    def tell(progress: ahead.CompileProgress) -> None:
        if show and not is_quiet() and progress.first is not None:
            display.update(text_of(progress), progress.compiled / max(progress.seconds, 1e-9))

    try:
        return ahead.prepare(wanted, tell, workers)
    finally:
        display.hide()


def text_of(progress: ahead.CompileProgress) -> str:
    """How many kernels are compiled, where, and how long it will take."""
    cores = f"{progress.workers} cores" if progress.workers > 1 else "1 core"
    number = f"{progress.done} of {progress.kernels}"
    return f"compiling on {cores} (first run only): {number} kernels, about {max(progress.left(), 1):.0f} s left"


# -- one after the other, as Numba says --------------------------------------------------------------------------------


class Compiling:
    """Shows what this process compiles while it is entered."""

    def __init__(self, show: bool = True, stream: IO[str] | None = None):
        self.show, self.display = show, Display(stream)
        self.stack: list[str] = []
        self.begun: float | None = None
        self.kernels = 0  # how many are compiled
        self.over = threading.Event()

    def __enter__(self) -> "Compiling":
        if self.show:
            LISTENER.target = self
        return self

    def __exit__(self, *error: object) -> None:
        LISTENER.target = None
        self.over.set()
        self.display.hide()

    def start(self, kernel: str) -> None:
        """A kernel begins to be compiled, maybe inside another."""
        self.stack.append(kernel)
        if self.begun is None:
            self.begun = time.monotonic()
            threading.Thread(target=self._watch, daemon=True).start()
        self._update()

    def end(self) -> None:
        """The innermost kernel is compiled."""
        self.stack.pop()
        self.kernels += 1
        if not self.stack:
            self.display.hide()

    def _update(self) -> None:
        with contextlib.suppress(IndexError):  # a kernel may be done just now
            seconds, name = time.monotonic() - (self.begun or 0.0), self.stack[0].removeprefix(PACKAGE)
            self.display.update(f"compiling {name} (first run only), {seconds:.0f} s so far", None)

    def _watch(self) -> None:
        """Lines go on while one kernel takes long."""
        while not self.over.wait(min(LINE_SECONDS, 1.0)):
            if self.stack:
                self._update()


def shown(show: bool = True) -> contextlib.AbstractContextManager[Any]:
    """Show what is compiled, unless somebody does already."""
    return Compiling(show) if show and LISTENER.target is None else contextlib.nullcontext()


class CompileListener(numba_event.Listener):
    """Hears what Numba says, for one display at a time."""

    target: Compiling | None = None
    kernels: list[tuple[str, float]]
    """What is being compiled, the innermost last, and since when."""
    ended = -math.inf
    """When something was compiled last."""

    def __init__(self) -> None:
        self.kernels = []

    def on_start(self, event: Any) -> None:
        name = _name(event)
        self.kernels.append((name, time.monotonic()))
        if self.target is not None and name:
            self.target.start(name)

    def on_end(self, event: Any) -> None:
        if self.kernels:
            self.kernels.pop()
        self.ended = time.monotonic()
        if self.target is not None and self.target.stack and self.target.stack[-1] == _name(event):
            self.target.end()


def seconds_left() -> float | None:
    """When all that is being compiled will be there, as far as can be told: in this process, and by others for it.
    None: nothing is being compiled."""
    left = [progress.left() for progress in [*ahead.Compilers.under_way]]
    for name, begun in LISTENER.kernels[:1]:
        known = [own.seconds for own in every_kernel() if own.function == name]
        left.append(max(known, default=0.0) - (time.monotonic() - begun))
    return max(1.0, *left) if left else None


def compiled_since(begin: float) -> bool:
    """Whether anything was compiled by this process after a moment (`time.monotonic`)."""
    return LISTENER.ended >= begin


def _name(event: Any) -> str:
    """The full name of a kernel; "": one of Numba's own functions, or one that says how fast the machine is."""
    function = getattr(event.data.get("dispatcher"), "py_func", None)
    module = getattr(function, "__module__", None) or ""
    if function is None or module.startswith("numba") or module == ahead.__name__:
        return ""
    return f"{module}.{function.__qualname__}"


LISTENER = CompileListener()
"""The one listener: Numba keeps it for good."""
numba_event.register("numba:compile", LISTENER)
