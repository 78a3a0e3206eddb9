"""`structron precompile`: compile the kernels of tasks into the cache, after an install or before a batch job."""

import time
from collections.abc import Sequence

from structron.errors import unknown
from structron.kernels.listed import every_kernel
from structron.kernels.progress import prepare
from structron.runtime.progress import say
from structron.runtime.threads import cores
from structron.tasks.registry import TRAINABLE

PARTS = ("english", *TRAINABLE)
"""The bundled model, and the tasks."""


def run(parts: Sequence[str] = (), jobs: int | None = None) -> None:
    """Compile all that each part needs, on all cores, and print the names of the parts."""
    for part in parts:
        if part not in PARTS:
            raise unknown("task", part, TRAINABLE)
    names, begin = parts or PARTS, time.perf_counter()
    needs = {need for own in every_kernel() for need in own.needs}
    wanted = sorted(need for need in needs if not parts or need.split()[1] in parts)
    done = prepare(*wanted, workers=jobs or cores())
    print(*names, sep="\n", flush=True)
    taken = (
        f"{done} kernels compiled, {time.perf_counter() - begin:.1f} s" if done else "everything is compiled already"
    )
    say(f"{taken}: no command will wait for the compiler")
