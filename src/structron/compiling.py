"""What a user sees while kernels are compiled: which one, how many of them, and about how long it will take.

Numba says when it begins and ends to compile a function; kernels from its cache are not mentioned, so a program whose
kernels are all there shows nothing.

    with Compiling({"structron.search.chain.viterbi.forward": 1.3, …}):      seconds that each was measured to take
        …                                                                     a bar while anything is compiled
"""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from numba.core import event as numba_event

from structron.kernels.jit import compiled, is_cold
from structron.progress import SHOWN

USUAL = 0.5
"""Seconds for a kernel that nobody has measured."""
EVERY = 8.0
"""Seconds between two lines where there is no terminal for a bar."""
PACKAGE = "structron."


@dataclass
class Estimate:
    """What is to be compiled, and how long that takes on this machine, judged by what is done."""

    costs: Mapping[str, float]
    left: dict[str, float] = field(default_factory=dict)  # the expected seconds of kernels that are to be compiled
    done: float = 0.0  # the expected seconds of those that are compiled
    spent: float = 0.0  # the seconds that these took
    kernels: int = 0  # how many are compiled

    @property
    def total(self) -> float:
        """The expected seconds of all."""
        return self.done + sum(self.left.values())

    @property
    def pace(self) -> float:
        """How much slower than expected; one second of expectation counts as met, so that it does not jump about."""
        return (self.spent + 1) / (self.done + 1)

    def add(self, kernel: str) -> None:
        """One more kernel has to be compiled, whether it was expected or not."""
        self.left.setdefault(kernel, self.costs.get(kernel, USUAL))

    def finish(self, kernel: str, seconds: float) -> None:
        """A kernel is compiled, for which so many seconds were needed beside those for others inside it."""
        self.done += self.left.pop(kernel, 0.0)
        self.spent += seconds
        self.kernels += 1

    def seconds_left(self, kernel: str = "", begun: float = 0.0) -> float:
        """About how long it will still take; the present kernel has taken so long, and may take half of that again."""
        rest = self.pace * sum(cost for name, cost in self.left.items() if name != kernel)
        return rest + max(self.pace * self.left.get(kernel, 0.0) - begun, begun / 2)


def is_to_be_compiled(name: str) -> bool:
    """Whether a kernel, by its full name, is neither in this process nor in the cache.

    One whose module is not loaded yet is to be compiled; one that its module no longer has never is.
    """
    module, _, function = name.rpartition(".")
    if module not in sys.modules:
        return True
    kernel = getattr(sys.modules[module], function, None)
    if kernel is None:
        return False
    try:
        return is_cold(kernel if hasattr(kernel, "signatures") else compiled(kernel))
    except Exception:
        return True


class Compiling:
    """Shows what is compiled while it is entered; `expected`: seconds by the kernel's full name, of those to come."""

    clock = staticmethod(time.monotonic)

    def __init__(self, expected: Mapping[str, float] | None = None, show: bool = True, stream: IO[str] | None = None):
        self.estimate = Estimate(dict(expected or {}))
        self.show, self.stream = show, stream
        self.stack: list[list[Any]] = []  # kernel, its begin, seconds of kernels inside it
        self.begun: float | None = None
        self.bar: Any = None
        self.lines: threading.Thread | None = None
        self.idle = threading.Event()

    def __enter__(self) -> "Compiling":
        if self.show:
            _listen(self)
        return self

    def __exit__(self, *error: object) -> None:
        _listen(None)
        self._hide()

    # -- what Numba says ------------------------------------------------------------------------------------------

    def start(self, kernel: str) -> None:
        """A kernel begins to be compiled, maybe inside another."""
        if self.begun is None:
            self.begun = self.clock()
            for name in filter(is_to_be_compiled, self.estimate.costs):
                self.estimate.add(name)
        self.estimate.add(kernel)
        self.stack.append([kernel, self.clock(), 0.0])
        if len(self.stack) == 1:
            self._appear()

    def end(self) -> None:
        """The innermost kernel is compiled."""
        kernel, begin, inside = self.stack.pop()
        seconds = self.clock() - begin
        self.estimate.finish(kernel, max(seconds - inside, 0.0))
        if self.stack:
            self.stack[-1][2] += seconds
        else:
            self._hide()

    # -- what is shown --------------------------------------------------------------------------------------------

    def text(self) -> str:
        """What is compiled at the moment and how long it will take; where nobody has measured it, how long it took."""
        now, (kernel, begin, inside) = self.clock(), self.stack[-1] if self.stack else ("", self.clock(), 0.0)
        name, count = kernel.removeprefix(PACKAGE), len(self.estimate.left)
        if not self.estimate.costs:
            return f"compiling {name} (first run only), {now - (self.begun or now):.0f} s so far"
        left = self.estimate.seconds_left(kernel, now - begin - inside)
        number = f"{self.estimate.kernels + 1} of {self.estimate.kernels + max(count, 1)}"
        return f"compiling {name} ({number}, first run only), about {max(left, 1):.0f} s left"

    def share(self) -> float:
        """How much is done, between 0 and 1."""
        if not self.stack:
            return 0.0
        kernel, begin, inside = self.stack[-1]
        cost = self.estimate.left.get(kernel, 0.0)
        part = min((self.clock() - begin - inside) / max(self.estimate.pace, 0.1), 0.9 * cost)
        return (self.estimate.done + part) / max(self.estimate.total, 1e-9)

    def _appear(self) -> None:
        stream = self.stream or sys.stderr
        if not stream.isatty():
            if self.lines is None:
                print(self.text(), file=stream, flush=True)
                self.lines = threading.Thread(target=self._tell, args=(stream,), daemon=True)
                self.lines.start()
            return
        if not SHOWN:
            self.bar = _bar(self, stream)
            self.bar.start()

    def _hide(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
        if _listening() is not self:
            self.idle.set()

    def _tell(self, stream: IO[str]) -> None:
        """A line now and then, for a log."""
        while not self.idle.wait(EVERY):
            with contextlib.suppress(IndexError, RuntimeError):  # a kernel may be done just now
                if self.stack:
                    print(self.text(), file=stream, flush=True)


def _bar(owner: Compiling, stream: IO[str]) -> Any:
    """A bar that looks at what is compiled whenever it is drawn."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    class Bar(Progress):
        def get_renderables(self) -> Iterator[Any]:
            for task in self.tasks:
                task.completed, task.description = owner.share(), owner.text()
                task.total = 1.0 if owner.estimate.costs else None
            yield from super().get_renderables()

    columns = (BarColumn(bar_width=24), TextColumn("{task.description}", markup=False))
    console = Console(file=stream, soft_wrap=True)
    bar = Bar(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    bar.add_task("", total=1.0)
    return bar


# -- the way from Numba ------------------------------------------------------------------------------------------------


def _listening() -> Compiling | None:
    return EAR.target


def shown(show: bool = True) -> contextlib.AbstractContextManager[Any]:
    """Show what is compiled, unless somebody does already."""
    return Compiling(show=show) if show and _listening() is None else contextlib.nullcontext()


def expect(costs: Mapping[str, float]) -> None:
    """Tell whoever shows what is compiled which kernels are to come."""
    if (target := _listening()) is not None:
        target.estimate.costs = {**target.estimate.costs, **costs}


def _listen(target: Compiling | None) -> None:
    """Let what Numba says reach `target`."""
    EAR.target = target


class Ear(numba_event.Listener):
    """Hears what Numba says, for one display at a time."""

    target: Compiling | None = None

    def on_start(self, event: Any) -> None:
        name = _name(event)
        if self.target is not None and name:
            self.target.start(name)

    def on_end(self, event: Any) -> None:
        if self.target is not None and self.target.stack and self.target.stack[-1][0] == _name(event):
            self.target.end()


def _name(event: Any) -> str:
    """The full name of a kernel; "": one of Numba's own functions."""
    function = getattr(event.data.get("dispatcher"), "py_func", None)
    module = getattr(function, "__module__", None) or ""
    return "" if function is None or module.startswith("numba") else f"{module}.{function.__qualname__}"


EAR = Ear()
"""The one listener: Numba keeps it for good."""
numba_event.register("numba:compile", EAR)
