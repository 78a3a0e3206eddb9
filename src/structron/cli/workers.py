"""A worker that writes one file at a time, its model loaded once: a process of this machine, or an actor of Ray."""

import gc
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from structron.errors import StructronError
from structron.io.limits import VARIABLE, longest_sentence
from structron.runtime.threads import uncollected


@dataclass(frozen=True, slots=True)
class Order:
    """How every worker makes its writer: a class whose `write(file, output, jobs)` writes one file, and its options."""

    kind: type
    options: dict[str, Any]
    longest: int = field(default_factory=longest_sentence)  # characters; workers elsewhere do not inherit it


class FileTask(NamedTuple):
    """One file, and the threads that a worker may use for it."""

    file: str
    output: str
    jobs: int = 1


class FileWorker:
    """Writes files, wherever it runs; gives what is wrong with one."""

    def __init__(self, order: Order):
        self.problem, self.writer = "", None
        os.environ[VARIABLE] = str(order.longest)
        with uncollected():
            try:
                self.writer = order.kind(**order.options)
            except Exception as error:
                self.problem = described(error)
        gc.freeze()

    def __call__(self, task: FileTask) -> str | None:
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
    return text if isinstance(error, StructronError | OSError) else f"{type(error).__name__}: {text} (perhaps a bug)"
