"""A joint tagger to and from a model file: options and names in the header, guesses and weights in the tensors."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np

from structron import modelfile
from structron.beam_model import BeamModel
from structron.errors import StructronError
from structron.features.compose import VALUE_BITS
from structron.features.names import Names
from structron.tasks.chain_model import TENSORS, Dictionary, check_kinds
from structron.tasks.joint import JointTagger
from structron.tasks.joint_input import Guesser, JointTemplates, Roles
from structron.tasks.joint_model import JointModel, Pairs
from structron.tasks.joint_problem import make_problem
from structron.tasks.storage import NOT_STORED, gazetteer_header, gazetteer_tensors, gazetteers_of, history_header


def save(tagger: JointTagger, model: JointModel, path: Path) -> None:
    """Write the tagger with a model that it has learned, atomically."""
    modelfile.save(path, header_of(tagger, model), tensors_of(tagger, model))


def header_of(tagger: JointTagger, model: JointModel) -> dict[str, Any]:
    roles, gazetteers = tagger.roles_, tagger.extractor_.gazetteers.values()
    names = [name for name in inspect.signature(JointTagger.__init__).parameters if name not in ("self", *NOT_STORED)]
    options = {name: getattr(tagger, name) for name in names}
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
    kinds = {name: TENSORS[name] for name in ("allowed", "words", "word_mask", "masks")}
    check_kinds(tensors, kinds)
    allowed, dictionary = tensors["allowed"], Dictionary(tensors["words"], tensors["word_mask"], tensors["masks"])
    fits = (
        allowed.shape == (len(pairs.chunks) + 1, len(pairs.chunks))
        and allowed.any(axis=1).all()
        and dictionary.masks.shape[1:] == (len(pairs.tags),)
        and len(dictionary.masks) > 0
        and dictionary.masks.any(axis=1).all()
        and len(dictionary.mask) == len(dictionary.words)
        and 0 <= dictionary.mask.min(initial=0) <= dictionary.mask.max(initial=0) < len(dictionary.masks)
    )
    if not fits or len(header["extra_name_heads"]) != len(tagger.extractor_.paired.templates):
        raise ValueError("parts do not fit together")
    extra_keys, extra_names = extras_of(header, tensors)
    history = tagger.templates_.history
    try:
        problem = make_problem(pairs.tags, pairs.chunks, pairs.pairs, history, list(map(len, extra_keys)), allowed)
    except StructronError as error:
        raise ValueError(error) from None
    base = BeamModel.from_tensors(problem, tensors)
    names = Names.from_tensors(header["name_heads"], tensors)
    if [len(names), *map(len, extra_names)] != [len(base.anchored_keys), *map(len, extra_keys)]:
        raise ValueError("names do not fit the features")
    template = (base.keys >> np.uint64(VALUE_BITS)).astype(np.int64)
    if (template < 1).any() or (template > len(problem.composition.texts)).any():
        raise ValueError("features do not fit the templates")
    given = (problem.actions, 1, history, base, allowed, dictionary, extra_keys, names, extra_names)
    return JointModel(*given, pairs=pairs)


def extras_of(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> tuple[list[np.ndarray], list[Names]]:
    """What the templates combine with the history: keys and names of each."""
    keys, names = [], []
    for c, heads in enumerate(header["extra_name_heads"]):
        start = f"extra_{c}_"
        part = {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
        check_kinds(part, {"keys": (np.uint64, 1)})
        keys.append(part["keys"])
        names.append(Names.from_tensors(heads, part))
    return keys, names


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
