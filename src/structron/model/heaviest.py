"""What weighs most in a model: one way to find it, over what a model says of its rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structron.errors import shown
from structron.text.numbers import ShortFloats

NAMELESS = "Compact models do not store the names of features; those without a name are left out."


@dataclass(frozen=True, slots=True, repr=False)
class Weight(ShortFloats):
    """A feature's weight for a label or an action.

    Examples:
        >>> from structron.model.heaviest import Weight
        >>> print(Weight("w[0]=dog", "NOUN", 2.5))
        w[0]=dog → NOUN
    """

    feature: str
    label: str
    weight: float

    def __str__(self) -> str:
        return f"{self.feature} → {self.label}"


@dataclass(frozen=True, slots=True)
class Heaviest:
    """The features with the largest weights, positive or negative, largest first.

    `labels` has those of each label or action. Only models of label sequences have the others: label pairs and triples,
    features paired with the previous label, and features of whole documents.

    Examples:
        >>> from structron import Tagger
        >>> train = [[("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [("a", "DET"), ("cat", "NOUN")]]
        >>> tagger = Tagger(templates=["w[0]"], cutoff=0, runs=1).fit(train)
        >>> found = tagger.inspect("VERB", top=1)
        >>> print(found.labels["VERB"][0])
        w[0]=barks → VERB
    """

    labels: dict[str, list[Weight]]
    transitions: list[Weight] = field(default_factory=list)
    trigrams: list[Weight] = field(default_factory=list)
    pairs: list[Weight] = field(default_factory=list)
    non_local: list[tuple[str, float]] = field(default_factory=list)

    @property
    def nameless(self) -> bool:
        """Whether names are missing: compact models store few or none."""
        return any(not w.feature for weights in self.labels.values() for w in weights)

    def groups(self) -> dict[str, list[tuple[float, str]]]:
        """The weights and names of each label's features, and of the other kinds that there are."""
        named = {label: [(w.weight, w.feature) for w in own if w.feature] for label, own in self.labels.items()}
        groups = {label: own for label, own in named.items() if own or not self.nameless}
        groups |= {
            "label pairs": [(w.weight, str(w)) for w in self.transitions],
            "label triples": [(w.weight, str(w)) for w in self.trigrams],
            "features paired with the previous label": [(w.weight, str(w)) for w in self.pairs],
            "features of whole documents": [(weight, name) for name, weight in self.non_local],
        }
        return {title: rows for title, rows in groups.items() if rows or title in self.labels}

    def __str__(self) -> str:
        """A table: a line for each feature, those of a label below its name."""
        tables = [
            "\n".join([shown(title), *(f"{weight:12.4f}  {shown(name)}" for weight, name in rows)])
            for title, rows in self.groups().items()
        ]
        return "\n\n".join(tables + [NAMELESS] * self.nameless)

    def _repr_html_(self) -> str:
        from structron.show.weights import weights_to_html

        return weights_to_html(self.groups())


def largest(weights: np.ndarray, top: int) -> np.ndarray:
    """The places of the largest weights by size, equal ones in their order, without those that are zero."""
    places = np.flatnonzero(weights)
    size = np.abs(weights[places])
    if top < len(size):
        most = size >= np.partition(size, len(size) - top)[len(size) - top]
        places, size = places[most], size[most]
    return places[np.argsort(-size, kind="stable")][:top]


def heaviest_of(model: Any, columns: Mapping[str, Sequence[int]], top: int, name: Callable[[int], str]) -> Heaviest:
    """The heaviest features of a model's columns of weights, those behind each label or action added up."""
    labels = {}
    for own, given in columns.items():
        places, weights = model.entries_of(given)
        labels[own] = [Weight(name(int(places[k])), own, float(weights[k])) for k in largest(weights, top).tolist()]
    return Heaviest(labels)


def heaviest(
    weights: np.ndarray, label: str, top: int, name: Callable[[int], str], places: Sequence[int] | None = None
) -> list[Weight]:
    """The heaviest of some features for a label. name: of a feature by its place; places: of these alone."""
    own = weights if places is None else weights[places]
    best = largest(own, top).tolist()
    found = best if places is None else [int(places[k]) for k in best]
    return [Weight(name(place), label, float(own[k])) for place, k in zip(found, best, strict=True)]
