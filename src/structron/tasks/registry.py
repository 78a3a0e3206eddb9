"""The estimator of every task by name, and the way from a model file back to it."""

from collections import UserDict
from importlib import import_module
from pathlib import Path
from typing import Any

from structron.errors import StructronError, unknown
from structron.io import modelfile


class Tasks(UserDict[str, Any]):
    """The class of every task, imported when it is asked for: a tagger does not wait for the parser."""

    def __getitem__(self, task: str) -> Any:
        kind = self.data[task]
        if isinstance(kind, str):
            module, _, name = kind.rpartition(".")
            kind = getattr(import_module(f"structron.tasks.{module}"), name)
        return kind


TASKS = Tasks(
    {
        "tagger": "chain.labeler.Tagger",
        "chunker": "chain.labeler.Chunker",
        "segments": "segments.chunker.SegmentChunker",
        "joint": "joint.tagger.JointTagger",
        "entities": "entities.EntityRecognizer",
        "parser": "shift_reduce.parser.Parser",
        "graph-parser": "graph.parser.GraphParser",
        "problem": "own.beam.BeamLearner",
        "queue problem": "own.queue.QueueLearner",
    }
)
OWN = ("problem", "queue problem")
"""Tasks that a user defines in Python; the command line knows nothing of their data."""
TRAINABLE = tuple(task for task in TASKS if task not in OWN)
"""Those that the command line trains."""


def load(path: str | Path, *, task: str | None = None, **code: Any) -> Any:
    """Read a model file; `task` refuses models of any other.

    Functions are code and not in the file, so they have to be given again: `atoms`, `non_local`, a problem.
    """
    header, tensors = modelfile.load(path)
    found = header.get("task")
    if task is not None and found != task:
        raise StructronError(f"{path}: a {found} model; expected a {task} model")
    if found not in list(TASKS):
        raise StructronError(f"{path}: {unknown('task', found, TASKS)}")
    return TASKS[found]._read(path, header, tensors, **code)
