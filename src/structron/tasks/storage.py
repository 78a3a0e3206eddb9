"""A labeller to and from a model file: parameters in the header, arrays in the tensors, no code."""

import inspect
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from structron.errors import StructronError, unknown
from structron.features.documents import name_of
from structron.features.extract import ComputedAtom, TemplateExtractor
from structron.features.gazetteer import Gazetteer
from structron.features.templates import parse_templates
from structron.io import modelfile
from structron.model.chain import ChainModel
from structron.model.documents import NonLocalModel
from structron.tasks.chain.beam import BeamChainModel
from structron.tasks.chain.labeler import ChainLabeler, Model
from structron.update.swvp import family_name


class Tasks(MutableMapping[str, Any]):
    """The estimator of every task, imported when it is asked for: a tagger does not wait for the parser."""

    def __init__(self, kinds: Mapping[str, Any]):
        self.kinds = dict(kinds)  # classes, or the names of those that stand in the module of their task

    def __getitem__(self, task: str) -> Any:
        kind = self.kinds[task]
        if not isinstance(kind, str):
            return kind
        module, _, name = kind.rpartition(".")
        return getattr(import_module(f"structron.tasks.{module}"), name)

    def __setitem__(self, task: str, kind: Any) -> None:
        self.kinds[task] = kind

    def __delitem__(self, task: str) -> None:
        del self.kinds[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.kinds)


TASKS = Tasks(
    {
        "tagger": "chain.tagger.Tagger",
        "chunker": "chain.chunker.Chunker",
        "segments": "segments.chunker.SegmentChunker",
        "joint": "joint.tagger.JointTagger",
        "entities": "entities.EntityRecognizer",
        "parser": "shift_reduce.parser.Parser",
        "graph-parser": "graph.parser.GraphParser",
    }
)
NOT_STORED = ("templates", "gazetteers", "atoms", "verbose", "jobs", "check", "non_local")


def parameters(labeler: ChainLabeler) -> dict[str, Any]:
    """The constructor's parameters and their present values."""
    own = dict(inspect.signature(type(labeler).__init__).parameters)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in own.values()):
        own = {**inspect.signature(ChainLabeler.__init__).parameters, **own}
    taken = [name for name, parameter in own.items() if parameter.kind is not parameter.VAR_KEYWORD]
    return {name: getattr(labeler, name) for name in taken if name != "self"}


def header_of(labeler: ChainLabeler, model: Model) -> dict[str, Any]:
    extractor = labeler.extractor_
    options = {name: value for name, value in parameters(labeler).items() if name not in NOT_STORED}
    options["columns"], options["label"] = extractor.columns, extractor.label
    if "forbid" in options:
        options["forbid"] = [list(pair) for pair in labeler.forbid]
    if "jj" in options:
        options["jj"] = family_name(labeler.jj)
    return {
        "task": labeler.task,
        "options": options,
        "word": extractor.word,
        "templates": [str(t) for t in extractor.templates],
        "gazetteers": gazetteer_header(extractor.gazetteers.values()),
        "atoms": sorted(extractor.atoms),
        "scheme": labeler.scheme_,
        **history_header(labeler),
        **model.header(),
    }


def history_header(estimator: Any) -> dict[str, Any]:
    """How a model came about; a checkpoint's has no end yet."""
    return {
        "history": getattr(estimator, "history_", []),
        "best_pass": getattr(estimator, "best_pass_", 0),
        "stopped": getattr(estimator, "stopped_", ""),
        "signature": getattr(estimator, "signature_", ""),
        "source": getattr(estimator, "source_", {}),
    }


def gazetteer_header(gazetteers: Iterable[Gazetteer]) -> list[list[Any]]:
    return [[gazetteer.name, gazetteer.lowercase] for gazetteer in gazetteers]


def gazetteer_tensors(gazetteers: Iterable[Gazetteer]) -> dict[str, np.ndarray]:
    """The phrases of each gazetteer, compressed."""
    tensors = {}
    for k, gazetteer in enumerate(gazetteers):
        packed = zlib.compress("\n".join(gazetteer.phrases()).encode())
        tensors[f"gazetteer_{k}"] = np.frombuffer(packed, np.uint8)
    return tensors


def gazetteers_of(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> list[Gazetteer]:
    """The gazetteers that a file holds."""
    found = []
    for k, (name, lowercase) in enumerate(header["gazetteers"]):
        phrases = zlib.decompress(tensors[f"gazetteer_{k}"].tobytes()).decode().split("\n")
        found.append(Gazetteer.from_phrases(name, phrases, lowercase))
    return found


def tensors_of(labeler: ChainLabeler, model: Model) -> dict[str, np.ndarray]:
    return model.tensors() | gazetteer_tensors(labeler.extractor_.gazetteers.values())


def load(
    path: str | Path,
    atoms: Mapping[str, ComputedAtom] | None = None,
    task: str | None = None,
    non_local: Iterable[Callable] = (),
) -> Any:
    """Read a model file. Functions (`atoms`, `non_local`) are code, are not in the file, and have to be given again."""
    header, tensors = modelfile.load(path)
    found = header.get("task")
    if task is not None and found != task:
        raise StructronError(f"{path}: a {found} model; expected a {task} model")
    if found not in list(TASKS):
        raise StructronError(f"{path}: {unknown('task', found, TASKS)}")
    try:
        if found == "parser":
            from structron.tasks.shift_reduce.storage import parser_of

            return parser_of(header, tensors)
        if found == "graph-parser":
            from structron.tasks.graph.storage import graph_parser_of

            return graph_parser_of(header, tensors)
        if found == "joint":
            from structron.tasks.joint.storage import joint_of

            return joint_of(header, tensors)
        functions = {name_of(function): function for function in non_local if callable(function)}
        asked = f"atoms again: load(path, atoms={{{', '.join(header['atoms'])}: …}})"
        missing = set(header["atoms"]) - set(atoms or {})
        if not missing:
            asked = f"documents again: load(path, non_local=[{', '.join(header.get('non_local_functions', []))}])"
            missing = set(header.get("non_local_functions", [])) - set(functions)
        if not missing:
            return _labeler(header, tensors, atoms, [functions[name] for name in header.get("non_local_functions", [])])
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, zlib.error) as error:
        raise StructronError(f"{path}: damaged model file ({error})") from None
    raise StructronError(f"{path}: give the functions of its {asked}")


def _labeler(
    header: dict[str, Any],
    tensors: dict[str, np.ndarray],
    atoms: Mapping[str, ComputedAtom] | None,
    functions: Sequence[Callable] = (),
) -> ChainLabeler:
    """A labeller like the one that was saved; with the same parameters it can be trained again or further."""
    labeler = TASKS[header["task"]](**header["options"])
    gazetteers = gazetteers_of(header, tensors)
    templates = parse_templates(header["templates"])
    columns, label = header["options"]["columns"], header["options"]["label"]
    if header["word"] not in columns or label not in columns:
        raise ValueError("columns do not fit together")
    labeler.extractor_ = TemplateExtractor(columns, label, templates, header["word"], gazetteers, atoms)
    search = header.get("search")
    if search == "non-local":
        labeler.model_ = NonLocalModel.from_file(header, tensors, functions)
    else:
        labeler.model_ = _model_kind(search).from_file(header, tensors)
    if "non_local" in parameters(labeler):
        labeler.non_local = [*header.get("non_local", []), *functions]
    if search == "beam" and len(header["extra_name_heads"]) != len(labeler.extractor_.paired.templates):
        raise ValueError("features do not fit the templates")
    labeler.templates, labeler.atoms = header["templates"], atoms
    labeler.gazetteers = {gazetteer.name: gazetteer for gazetteer in gazetteers} or None
    labeler.scheme_, labeler.source_ = header["scheme"], header["source"]
    labeler.history_, labeler.best_pass_ = header["history"], header["best_pass"]
    labeler.stopped_, labeler.signature_ = header["stopped"], header["signature"]
    return labeler


def _model_kind(search: str | None) -> Any:
    """The class of a labeller's model, by what its file says of the search."""
    if search == "segments":
        from structron.tasks.segments.model import SegmentModel

        return SegmentModel
    return BeamChainModel if search == "beam" else ChainModel
