"""Documents: sentences that belong together, labelled as one sequence (Kazama & Torisawa 2007)."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any


class Document(list):
    """A list of sentences that make one sequence: what is said in one of them bears on the labels of the others."""


def sentences_of(items: Iterable[Any]) -> list[Sequence]:
    """The sentences of sentences and documents, one after the other."""
    return [sentence for item in items for sentence in (item if isinstance(item, Document) else (item,))]


def regroup(items: Sequence[Any], found: Sequence[Any]) -> list[Any]:
    """What was found for each sentence, in the shape of the items: a list per document."""
    if not any(isinstance(item, Document) for item in items):
        return list(found)
    rest = iter(found)
    return [list(islice(rest, len(item))) if isinstance(item, Document) else next(rest) for item in items]
