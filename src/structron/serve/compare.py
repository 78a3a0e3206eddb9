"""Two models on the same annotated sentences, which are a file given at the start or what a user has pasted."""

from typing import Any

from structron.cli.texts import check_trees
from structron.comparison import compare as compare_models
from structron.doc import docs_from_conllu
from structron.errors import StructronError
from structron.serve.analyse import check_text
from structron.serve.beam import format_of, items_of
from structron.serve.library import Annotated, Shelved

MOST = 400
"""Differences that are shown."""


def compare(a: Shelved, b: Shelved, source: Annotated | str | None) -> dict[str, Any]:
    raise StructronError("later")
