"""A parser to and from a model file: options and names in the header, alphabets and weights in the tensors, no code."""

import inspect
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structron.features.alphabets import Alphabet, ParserInput
from structron.io import modelfile
from structron.model.beam import BeamModel
from structron.search.beam.states import VALUE_BITS
from structron.tasks.shift_reduce.parser import Parser
from structron.tasks.storage import history_header
from structron.tasks.tree_parser import TreeParser
from structron.tasks.treebank import Roles
from structron.update.swvp import family_name

NOT_STORED = ("self", "templates", "verbose", "jobs", "check")


def save(parser: Parser, model: BeamModel, path: Path) -> None:
    """Write the parser with a model that it has learned, atomically."""
    modelfile.save(path, header_of(parser), tensors_of(parser, model))


def header_of(parser: Parser) -> dict[str, Any]:
    header = tree_header(parser) | {"root": parser.root_, "templates": parser.templates_}
    header["options"]["update"] = parser.update_name
    return header


def tree_header(parser: TreeParser) -> dict[str, Any]:
    """What every parser's header has."""
    names = [name for name in inspect.signature(type(parser).__init__).parameters if name not in NOT_STORED]
    given = {name: getattr(parser, name) for name in names}
    options = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    roles = parser.roles_
    return {
        "task": parser.task,
        "options": options | {"columns": roles.columns, "pos": roles.tag, "jj": family_name(parser.jj)},
        "word": roles.word,
        "head": roles.head,
        "relation": roles.relation,
        "relations": parser.relations_,
        "lifted": parser.lifted_,
        "inputs": parser.input_.extra,
        **history_header(parser),
    }


def tensors_of(parser: Parser, model: BeamModel) -> dict[str, np.ndarray]:
    tensors = model.tensors() | alphabet_tensors(parser)
    if parser.seen_ is not None:
        tensors["seen"] = np.packbits(parser.seen_)
    return tensors


def alphabet_tensors(parser: TreeParser) -> dict[str, np.ndarray]:
    """The alphabet of every column of x, compressed."""
    packed = [zlib.compress(json.dumps(alphabet.texts).encode()) for alphabet in parser.input_.alphabets]
    return {f"alphabet_{k}": np.frombuffer(text, np.uint8) for k, text in enumerate(packed)}


def restore_tree_parser(parser: TreeParser, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    """Give a parser what `tree_header` and `alphabet_tensors` hold; ValueError where it does not fit together."""
    columns = _texts(header["options"]["columns"], "columns")
    relation = header["relation"]
    parser.roles_ = Roles(columns, header["word"], header["options"]["pos"], header["head"], relation)
    parser.relations_, parser.lifted_ = _texts(header["relations"], "relations"), bool(header["lifted"])
    extra = _texts(header["inputs"], "inputs")
    parser.input_ = ParserInput(columns, parser.word_, parser.tag_, extra, parser.outputs_)
    if set(parser.input_.read) & set(parser.outputs_):
        raise ValueError("inputs do not fit")
    parser.input_.alphabets = [_alphabet(tensors[f"alphabet_{k}"]) for k in range(len(parser.input_.names))]
    parser.notes_, parser.source_ = [], dict(header["source"])
    parser.history_, parser.best_pass_ = list(header["history"]), int(header["best_pass"])
    parser.stopped_, parser.signature_ = str(header["stopped"]), str(header["signature"])


def parser_of(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Parser:
    """A parser like the one that was saved; raises ValueError or the like where the parts do not fit together."""
    parser = Parser(**header["options"])
    parser._check_parameters()
    restore_tree_parser(parser, header, tensors)
    parser.root_ = header["root"]
    if not parser.relations_ or isinstance(header["relation"], str) != isinstance(parser.root_, str):
        raise ValueError("relations do not fit together")
    parser.templates = parser.templates_ = _texts(header["templates"], "templates")
    parser.seen_ = _seen(parser, tensors["seen"]) if "seen" in tensors else None
    parser.problem_ = parser._make_problem()
    parser.model_ = _model(parser, tensors)
    return parser


def _texts(given: Any, what: str) -> list[str]:
    """A list of different texts."""
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given) or len({*given}) < len(given):
        raise ValueError(f"{what} do not fit")
    return given


def _alphabet(packed: np.ndarray) -> Alphabet:
    if packed.dtype != np.uint8:
        raise ValueError("alphabets do not fit")
    texts: Sequence[str] = _texts(json.loads(zlib.decompress(packed.tobytes())), "alphabets")
    return Alphabet(texts)


def _seen(parser: Parser, packed: np.ndarray) -> np.ndarray:
    tags, relations = parser.input_.sizes()["t"], len(parser.relations_)
    size = 2 * tags * tags * relations
    if packed.dtype != np.uint8 or packed.shape != (-(-size // 8),):
        raise ValueError("relations of tags do not fit")
    return np.unpackbits(packed, count=size).astype(np.bool_).reshape(2, tags, tags, relations)


def _model(parser: Parser, tensors: dict[str, np.ndarray]) -> BeamModel:
    """The weights; keys that no template makes, or in another order than the one that they are saved in, are damage."""
    keys, weight = tensors["keys"], tensors["weight"]
    if len(tensors["anchored_keys"]) or keys.dtype != np.uint64 or weight.dtype != np.float32:
        raise ValueError("weights do not fit together")
    template = (keys >> np.uint64(VALUE_BITS)).astype(np.int64)
    count = len(parser.problem_.composition.texts)
    if (keys[1:] <= keys[:-1]).any() or (template < 1).any() or (template > count).any():
        raise ValueError("features do not fit")
    return BeamModel.from_tensors(parser.problem_, tensors)
