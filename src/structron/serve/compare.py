"""Two models on the same annotated sentences, which are a file given at the start or what a user has pasted."""

import io
import math
from typing import Any

from structron.errors import StructronError
from structron.eval.compare import compare as compare_models
from structron.io.doc import Doc, docs_from_conllu
from structron.serve.analyse import check_text
from structron.serve.beam import format_of, items_of
from structron.serve.library import Annotated, Shelved
from structron.text.trees import check_tree

MOST_DIFFERENCES = 400
"""Differences that are shown."""


def compare(a: Shelved, b: Shelved, source: Annotated | str | None) -> dict[str, Any]:
    """Scores, whether they differ by more than chance, and the sentences on which the models differ."""
    if source is None or source == "":
        raise StructronError("no sentences; expected data, a file by its name, or text")
    if isinstance(source, str):
        check_text(source)
        text, name, format = source, "text", format_of(source)
    else:
        text, name, format = source.text(), source.name, source.format
    first, second = (_items(model, text, name, format) for model in (a, b))
    found = compare_models(a.estimator, b.estimator, first, other=second, names=[a.name, b.name]).to_json()
    scores = [{key: value for key, value in own.items() if _plain(value)} for own in found["scores"]]
    return found | {
        "scores": scores,
        "of": len(found["differences"]),
        "differences": found["differences"][:MOST_DIFFERENCES],
    }


def _plain(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _items(model: Shelved, text: str, name: str, format: str) -> list[Any]:
    if not model.estimator.texts:
        return items_of(model, text, name, format, True)
    if format != "conllu":
        raise StructronError(f"{name}: expected CoNLL-U, which has tokens and spaces")
    docs = list(docs_from_conllu(io.StringIO(text, newline="\n"), name))
    _check_trees(docs, name)
    return docs


def _check_trees(docs: list[Doc], name: str) -> None:
    """Refuse the first sentence whose heads do not form a tree."""
    for number, sentence in enumerate((sentence for doc in docs for sentence in doc.sentences), 1):
        heads = [word.head for word in sentence.words]
        known = [head for head in heads if head is not None]
        if len(known) == len(heads) and (problem := check_tree(known, False)):
            raise StructronError(f"{name}: sentence {number}: word {problem[0] + 1}: {problem[1]}")
