"""Non-local features of documents: the built-in ones (features/phrases.py) and a user's own functions.

A user's feature is a function f(document, labels): the words and the labels of a document, each a list of lists, one
per sentence. It returns names of features, or a mapping from names to numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from structron.errors import StructronError, unknown
from structron.features.phrases import (
    FAMILIES,
    Inventory,
    differences_of,
    make_counts,
    non_local_features,
    phrases_of,
)
from structron.text.sentences import Document

NonLocal = str | Callable[[Document, list[list[str]]], Any]


def check_sources(sources: Any) -> list[NonLocal]:
    """The features asked for, each a name or a function, none twice."""
    if isinstance(sources, str) or callable(sources):
        sources = [sources]
    found = list(sources)
    for source in found:
        if isinstance(source, str) and source not in FAMILIES:
            raise unknown("non-local feature", source, FAMILIES)
        if not isinstance(source, str) and not callable(source):
            raise StructronError(f"non-local feature {source!r}: expected a name or a function of (document, labels)")
    names = [name_of(source) for source in found]
    if len(set(names)) < len(names):
        raise StructronError(f"non-local features: {', '.join(names)}: a name occurs twice")
    return found


def name_of(source: NonLocal) -> str:
    """The name of a built-in feature, or of a user's function."""
    return source if isinstance(source, str) else getattr(source, "__name__", type(source).__name__)


class Opened:
    """Prepared documents, with what non-local features need to know of each."""

    def __init__(self, prepared: Any):
        self.prepared, self.words = prepared, np.asarray(prepared.word_ids, np.int64)
        self.starts, self.units = prepared.starts, prepared.units
        self.phrases = phrases_of(prepared)

    def sentences(self, unit: int) -> np.ndarray:
        """int64[sentences + 1]: the bounds of a document's sentences among all tokens."""
        return self.starts[self.units[unit] : self.units[unit + 1] + 1]

    def document(self, unit: int) -> Document:
        """The words of a document."""
        bounds, types = self.sentences(unit).tolist(), self.prepared.word_types
        return Document([types[w] for w in self.words[lo:hi].tolist()] for lo, hi in pairwise(bounds))


class NonLocalFeatures:
    """Numbers non-local features and counts them in labellings."""

    def __init__(self, labels: Sequence[str], sources: Sequence[NonLocal], names: Sequence[str] = ()):
        """names: of the features from users' functions whose weights a model has learned."""
        self.labels, self.sources = list(labels), check_sources(sources)
        self.inventory = Inventory.of(labels, [s for s in self.sources if isinstance(s, str)])
        self.functions = {name_of(s): s for s in self.sources if not isinstance(s, str)}
        self.wanted = self.inventory.wanted
        self.kinds = len(self.inventory.classes) + 1
        """The classes of entities, and none."""
        self.number = {name: len(self.wanted) + k for k, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self.wanted) + len(self.number)

    @property
    def names(self) -> list[str]:
        """The name of every feature, in the order of the weights."""
        return [*self.inventory.names, *self.number]

    def of(self, opened: Opened, unit: int, rows: np.ndarray, learning: bool = False) -> np.ndarray:
        """float64[rows, features]: the features of labellings of a document; while learning, new ones get numbers."""
        built_in = np.zeros((len(rows), len(self.wanted)))
        if self.wanted.any():
            z, others = rows[0].astype(np.int64), differences_of(rows)
            where = (self.inventory.scheme, opened.phrases, unit)
            counts = make_counts(opened.phrases, self.kinds)
            non_local_features(*where, z, *others, len(rows), self.kinds, counts, built_in)
            built_in[:, ~self.wanted] = 0.0
        if not self.functions:
            return built_in
        found = [self._computed(opened, unit, row) for row in rows]
        if learning:
            for values in found:
                for name in values:
                    self.number.setdefault(name, len(self.wanted) + len(self.number))
        out = np.zeros((len(rows), len(self)))
        out[:, : len(self.wanted)] = built_in
        for k, values in enumerate(found):
            for name, value in values.items():
                if name in self.number:
                    out[k, self.number[name]] = value
        return out

    def _computed(self, opened: Opened, unit: int, row: np.ndarray) -> dict[str, float]:
        """The features that the user's functions give a labelling."""
        document = opened.document(unit)
        bounds = (opened.sentences(unit) - opened.sentences(unit)[0]).tolist()
        labels = [[self.labels[y] for y in row[lo:hi].tolist()] for lo, hi in pairwise(bounds)]
        found: dict[str, float] = {}
        for name, function in self.functions.items():
            words = " ".join(document[0][:5]) if document else ""
            where = f"non-local feature {name!r}: document {unit + 1} ({words} …)"
            try:
                values = function(document, labels)
                items = values.items() if isinstance(values, Mapping) else [(text, 1.0) for text in values]
                pairs = [(f"{name}={text}", float(value)) for text, value in items]
            except Exception as error:
                raise StructronError(f"{where}: {error!r}") from error
            for text, value in pairs:
                if not np.isfinite(value):
                    raise StructronError(f"{where}: {text} is {value}; expected a finite number")
                found[text] = found.get(text, 0.0) + value
        return found
