"""A labeller to and from a model file: parameters in the header, arrays in the tensors, no code."""

import inspect
import zlib
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from structron import modelfile
from structron.errors import StructronError, unknown
from structron.features.extract import ComputedAtom, TemplateExtractor
from structron.features.gazetteer import Gazetteer
from structron.features.templates import parse_templates
from structron.tasks.beam_chain import BeamChainModel
from structron.tasks.chain_model import ChainModel
from structron.tasks.labeler import ChainLabeler, Model


class Tasks(MutableMapping[str, Any]):
    """The estimator of every task, imported when it is asked for: a tagger does not wait for the parser."""

    def __init__(self, kinds: Mapping[str, Any]):
        self.kinds = dict(kinds)  # classes, or the names of those that stand in the module of their task

    def __getitem__(self, task: str) -> Any:
        kind = self.kinds[task]
        return getattr(import_module(f"structron.tasks.{task}"), kind) if isinstance(kind, str) else kind

    def __setitem__(self, task: str, kind: Any) -> None:
        self.kinds[task] = kind

    def __delitem__(self, task: str) -> None:
        del self.kinds[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.kinds)


TASKS = Tasks({"tagger": "Tagger", "chunker": "Chunker", "parser": "Parser"})
NOT_STORED = ("templates", "gazetteers", "atoms", "verbose", "jobs", "check")


def parameters(labeler: ChainLabeler) -> dict[str, Any]:
    """The constructor's parameters and their present values."""
    names = [name for name in inspect.signature(ChainLabeler.__init__).parameters if name != "self"]
    return {name: getattr(labeler, name) for name in names}


def header_of(labeler: ChainLabeler, model: Model) -> dict[str, Any]:
    extractor = labeler.extractor_
    options = {name: value for name, value in parameters(labeler).items() if name not in NOT_STORED}
    options["columns"], options["label"] = extractor.columns, extractor.label
    options["forbid"] = [list(pair) for pair in labeler.forbid]
    return {
        "task": labeler.task,
        "options": options,
        "word": extractor.word,
        "templates": [str(t) for t in extractor.templates],
        "gazetteers": [[g.name, g.lowercase] for g in extractor.gazetteers.values()],
        "atoms": sorted(extractor.atoms),
        "scheme": labeler.scheme_,
        "history": getattr(labeler, "history_", []),
        "best_pass": getattr(labeler, "best_pass_", 0),
        "stopped": getattr(labeler, "stopped_", ""),
        "signature": getattr(labeler, "signature_", ""),
        "source": getattr(labeler, "source_", {}),
        **model.header(),
    }


def tensors_of(labeler: ChainLabeler, model: Model) -> dict[str, np.ndarray]:
    tensors = model.tensors()
    for k, gazetteer in enumerate(labeler.extractor_.gazetteers.values()):
        packed = zlib.compress("\n".join(gazetteer.phrases()).encode())
        tensors[f"gazetteer_{k}"] = np.frombuffer(packed, np.uint8)
    return tensors


def load(path: str | Path, atoms: Mapping[str, ComputedAtom] | None = None, task: str | None = None) -> Any:
    """Read a model file. Functions given as `atoms` in training are code, are not in the file, and are given again."""
    header, tensors = modelfile.load(path)
    found = header.get("task")
    if task is not None and found != task:
        raise StructronError(f"{path}: a {found} model; expected a {task} model")
    if found not in list(TASKS):
        raise StructronError(f"{path}: {unknown('task', found, TASKS)}")
    try:
        if found == "parser":
            from structron.tasks.parser_storage import parser_of

            return parser_of(header, tensors)
        missing = set(header["atoms"]) - set(atoms or {})
        if not missing:
            return _labeler(header, tensors, atoms)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, zlib.error) as error:
        raise StructronError(f"{path}: damaged model file ({error})") from None
    raise StructronError(
        f"{path}: give the functions of its atoms again: load(path, atoms={{{', '.join(sorted(missing))}: …}})"
    )


def _labeler(
    header: dict[str, Any], tensors: dict[str, np.ndarray], atoms: Mapping[str, ComputedAtom] | None
) -> ChainLabeler:
    """A labeller like the one that was saved; with the same parameters it can be trained again or further."""
    labeler = TASKS[header["task"]](**header["options"])
    gazetteers = []
    for k, (name, lowercase) in enumerate(header["gazetteers"]):
        phrases = zlib.decompress(tensors[f"gazetteer_{k}"].tobytes()).decode().split("\n")
        gazetteers.append(Gazetteer.from_phrases(name, phrases, lowercase))
    templates = parse_templates(header["templates"])
    columns, label = header["options"]["columns"], header["options"]["label"]
    if header["word"] not in columns or label not in columns:
        raise ValueError("columns do not fit together")
    labeler.extractor_ = TemplateExtractor(columns, label, templates, header["word"], gazetteers, atoms)
    beamed = header.get("search") == "beam"
    labeler.model_ = BeamChainModel.from_file(header, tensors) if beamed else ChainModel.from_file(header, tensors)
    if beamed and len(header["extra_name_heads"]) != len(labeler.extractor_.paired.templates):
        raise ValueError("features do not fit the templates")
    labeler.templates, labeler.atoms = header["templates"], atoms
    labeler.gazetteers = {gazetteer.name: gazetteer for gazetteer in gazetteers} or None
    labeler.scheme_, labeler.source_ = header["scheme"], header["source"]
    labeler.history_, labeler.best_pass_ = header["history"], header["best_pass"]
    labeler.stopped_, labeler.signature_ = header["stopped"], header["signature"]
    return labeler
