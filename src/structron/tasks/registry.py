"""The estimator of every task by name, and the way from a model file back to it."""

import os
from collections import UserDict
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structron.errors import StructronError, meant, unknown
from structron.io import modelfile
from structron.tasks import options

if TYPE_CHECKING:
    from structron.search.beam.problem import SearchProblem


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
        "tokenizer": "tokenizer.Tokenizer",
        "splitter": "scripts.Splitter",
        "lemmatizer": "scripts.Lemmatizer",
        "pipeline": "pipeline.pipeline.Pipeline",
        "sequence-labeler": "attributes.AttributeLabeler",
        "problem": "own.beam.BeamLearner",
        "queue problem": "own.queue.QueueLearner",
    }
)
ENDING = ".structron"
OWN = ("problem", "queue problem")
"""Tasks that a user defines in Python; the command line knows nothing of their data."""
TRAINABLE = tuple(options.TASKS)
"""Those that the command line trains."""


def load(
    path: str | Path,
    *,
    task: str | None = None,
    atoms: Mapping[str, Callable] | None = None,
    non_local: Sequence[Callable] | None = None,
    problem: "SearchProblem | Callable[[Any], SearchProblem] | None" = None,
    heuristic: Callable | None = None,
) -> Any:
    """Read a model file, or a bundled model by its name.

    A model file contains no code, so the functions that a model was trained with have to be passed again.

    Args:
        path: The file, or the name of a bundled model ("english").
        task: Refuse models of any other task.
        atoms: Your own features of words, by name, as for `Tagger(atoms=…)`.
        non_local: Your own features of whole documents, as for `EntityRecognizer(non_local=…)`.
        problem: Your own search problem, or a function that builds it from what was saved as `extra`.
        heuristic: The heuristic of a `QueueLearner` with A*.

    Returns:
        The trained estimator.

    Examples:
        >>> import structron
        >>> nlp = structron.load("english")
        >>> [word.upos for word in nlp("He flew to Paris.").words]
        ['PRON', 'VERB', 'ADP', 'PROPN', 'PUNCT']
    """
    code = {"atoms": atoms, "non_local": non_local, "problem": problem, "heuristic": heuristic}
    place = path_of(path)
    if not os.path.lexists(place):
        expected = f"; expected a file that structron has written, or {' or '.join(bundled()) or 'a bundled model'}"
        raise StructronError(f"{path}: no such file or bundled model{meant(path, bundled()) or expected}")
    header, tensors = modelfile.load(place)
    found = header.get("task")
    if task is not None and found != task:
        raise StructronError(f"{path}: a {found} model; expected a {task} model")
    if found not in list(TASKS):
        raise StructronError(f"{path}: {unknown('task', found, TASKS)}")
    return TASKS[found]._read(path, header, tensors, **{name: own for name, own in code.items() if own is not None})


def bundled() -> list[str]:
    """The names of the models that come with the package."""
    folder = resources.files("structron") / "models"
    found = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return sorted(name.removesuffix(ENDING) for name in found if name.endswith(ENDING))


def path_of(path: str | Path) -> str | Path:
    """The file of a model that comes with the package; any other path stays as it is."""
    if str(path) in bundled() and not Path(path).exists():
        return str(resources.files("structron") / "models" / f"{path}{ENDING}")
    return path
