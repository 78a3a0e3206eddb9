"""A joint tagger to and from a model file: options and names in the header, guesses and weights in the tensors."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.io import modelfile
from structron.tasks.chain.beam import constraints_of, extras_of, weights_of
from structron.tasks.joint.inputs import Guesser, JointTemplates, Roles
from structron.tasks.joint.model import JointModel, Pairs
from structron.tasks.joint.problem import make_problem
from structron.tasks.joint.tagger import JointTagger
from structron.tasks.storage import NOT_STORED, gazetteer_header, gazetteer_tensors, gazetteers_of, history_header
from structron.update.swvp import family_name


def save(tagger: JointTagger, model: JointModel, path: Path) -> None:
    """Write the tagger with a model that it has learned, atomically."""
    modelfile.save(path, header_of(tagger, model), tensors_of(tagger, model))


def header_of(tagger: JointTagger, model: JointModel) -> dict[str, Any]:
    roles, gazetteers = tagger.roles_, tagger.extractor_.gazetteers.values()
    names = [name for name in inspect.signature(JointTagger.__init__).parameters if name not in ("self", *NOT_STORED)]
    options = {name: getattr(tagger, name) for name in names} | {"jj": family_name(tagger.jj)}
    return {
        "task": tagger.task,
        "options": options | {"columns": roles.columns, "pos": roles.tag, "label": roles.chunk},
        "templates": tagger.templates_.texts,
        "gazetteers": gazetteer_header(gazetteers),
        "scheme": tagger.scheme_,
        "tags": model.pairs.tags,
        "chunks": model.pairs.chunks,
        "name_heads": model.names.heads,
        "extra_name_heads": [own.heads for own in model.extra_names],
        **history_header(tagger),
    }


def tensors_of(tagger: JointTagger, model: JointModel) -> dict[str, np.ndarray]:
    tensors = model.tensors() | gazetteer_tensors(tagger.extractor_.gazetteers.values())
    return tensors | {"pairs": model.pairs.pairs, "guesses": tagger.guesser_.tensor()}


def joint_of(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> JointTagger:
    """A tagger like the one that was saved; raises ValueError or the like where the parts do not fit together."""
    options = header["options"]
    tagger = JointTagger(**options)
    tagger._check_parameters()
    tagger.roles_ = Roles.settle(options["columns"], options["pos"], options["label"])
    tagger.templates_ = JointTemplates.of(header["templates"], tagger.roles_)
    tagger.guesser_ = Guesser.of_tensor(tensors["guesses"])
    gazetteers = gazetteers_of(header, tensors)
    tagger.extractor_ = tagger._make_extractor(gazetteers)
    tagger.model_ = _model(tagger, header, tensors)
    tagger.templates, tagger.notes_ = header["templates"], []
    tagger.gazetteers = {gazetteer.name: gazetteer for gazetteer in gazetteers} or None
    tagger.scheme_, tagger.source_ = header["scheme"], header["source"]
    tagger.history_, tagger.best_pass_ = header["history"], header["best_pass"]
    tagger.stopped_, tagger.signature_ = header["stopped"], header["signature"]
    return tagger


def _model(tagger: JointTagger, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> JointModel:
    pairs = _pairs(header, tensors)
    allowed, dictionary = constraints_of(tensors, len(pairs.chunks), len(pairs.tags))
    if len(header["extra_name_heads"]) != len(tagger.extractor_.paired.templates):
        raise ValueError("parts do not fit together")
    extra_keys, extra_names = extras_of(header, tensors)
    history = tagger.templates_.history
    try:
        problem = make_problem(pairs.tags, pairs.chunks, pairs.pairs, history, list(map(len, extra_keys)), allowed)
    except StructronError as error:
        raise ValueError(error) from None
    base, names = weights_of(problem, header, tensors, extra_keys, extra_names)
    given = (problem.actions, 1, history, base, allowed, dictionary, extra_keys, names, extra_names)
    return JointModel(*given, pairs=pairs)


def _pairs(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Pairs:
    """Tags, chunk labels and pairs; every tag and every chunk label is part of a pair."""
    tags, chunks, pairs = header["tags"], header["chunks"], tensors["pairs"]
    for labels in (tags, chunks):
        if not labels or len(set(labels)) < len(labels) or not all(isinstance(label, str) for label in labels):
            raise ValueError("labels do not fit")
    if pairs.dtype != np.int64 or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError("pairs do not fit")
    for k, labels in enumerate((tags, chunks)):
        if not np.array_equal(np.unique(pairs[:, k]), np.arange(len(labels))):
            raise ValueError("pairs do not fit")
    return Pairs(list(tags), list(chunks), pairs)
