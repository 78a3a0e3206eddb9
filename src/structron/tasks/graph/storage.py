"""A graph-based parser to and from a model file: options and names in the header, alphabets and weights in the tensors.

Templates are code: a file says which columns they read, and which kind of code its weights belong to (a digest).
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from structron.io import modelfile
from structron.model.graph import GraphModel
from structron.tasks.graph.parser import GraphParser
from structron.tasks.shift_reduce.storage import alphabet_tensors, restore_tree_parser, tree_header


def save(parser: GraphParser, model: GraphModel, path: Path) -> None:
    """Write the parser with a model that it has learned, atomically."""
    header = tree_header(parser) | {"templates": templates_digest(parser)}
    modelfile.save(path, header, model.tensors() | alphabet_tensors(parser))


def templates_digest(parser: GraphParser) -> str:
    """Tells whether weights belong to these templates."""
    return hashlib.sha256(
        repr(sorted((int(group), texts) for group, texts in parser.texts_.items())).encode()
    ).hexdigest()[:16]


def graph_parser_of(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> GraphParser:
    """A parser like the one that was saved; raises ValueError or the like where the parts do not fit together."""
    parser = GraphParser(**header["options"])
    parser._check_parameters()
    restore_tree_parser(parser, header, tensors)
    if isinstance(header["relation"], str) != bool(parser.relations_):
        raise ValueError("relations do not fit together")
    parser._settle_templates()
    if header["templates"] != templates_digest(parser):
        raise ValueError("features of another version")
    tags, count = parser.input_.sizes()["t"], len(parser.relations_)
    parser.model_ = GraphModel.from_tensors(parser.templates_, tags, count, int(parser.bits), tensors)
    return parser
