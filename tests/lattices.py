"""Random choices of labels with random weights, and the list of all labellings to compare a search with."""

from dataclasses import dataclass
from itertools import combinations, pairwise, product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from hypothesis import strategies as st

from structron.model.choices import ChoiceModel, only
from structron.search.chain.choices import ChoiceWeights, Labels, Lattice, make_labels
from structron.weights.cells import cells_from, rows_from

FEATURES = 6
Labelling = tuple[int, ...]


@dataclass
class Problem:
    """A lattice and weights by (row, label), or (row, piece of labels) where rows are those of features."""

    lattice: Lattice
    w: dict[tuple[int, int], float]
    names: list[str]
    paired: bool

    @property
    def labels(self) -> int:
        return len(self.names)

    @property
    def kinds(self) -> Labels:
        return make_labels(self.names, True)

    @property
    def pieces(self) -> list[list[int]]:
        """The pieces of each label, in the order in which they are first met."""
        texts = [name.split("|") for name in self.names]
        known = list(dict.fromkeys(text for own in texts for text in own))
        return [[known.index(text) for text in own] for own in texts]

    @property
    def fixed(self) -> int:
        return self.labels + 1

    @property
    def weights(self) -> ChoiceWeights:
        cells = sorted(self.w.items())
        row, label = (np.array([key[k] for key, _ in cells], np.int64) for k in (0, 1))
        weight = np.array([w for _, w in cells], np.float32)
        return ChoiceWeights(
            rows_from(row, label, weight, self.fixed + FEATURES), cells_from(row, label, weight, self.kinds.width)
        )

    @property
    def how(self) -> tuple[Labels, int, bool]:
        return self.kinds, self.fixed, self.paired

    def choices(self, s: int) -> list[list[int]]:
        """The labels that each token of a sentence may have."""
        lattice = self.lattice
        bounds = pairwise(lattice.first[lattice.starts[s] : lattice.starts[s + 1] + 1].tolist())
        return [lattice.choice[lo:hi].tolist() for lo, hi in bounds]

    def features(self, i: int) -> list[int]:
        return self.lattice.numbers[self.lattice.ptr[i] : self.lattice.ptr[i + 1]].tolist()

    def phi(self, s: int, y: Labelling) -> list[tuple[int, int]]:
        """The cells of a labelling, each as often as it counts."""
        start, pieces = int(self.lattice.starts[s]), self.pieces
        tokens = [(pieces[label], self.features(start + i)) for i, label in enumerate(y)]
        found = [(self.fixed + f, piece) for own, features in tokens for f in features for piece in own]
        before = (0, *(label + 1 for label in y))
        return found + (list(zip(before, y, strict=False)) if self.paired else [])

    def score(self, s: int, y: Labelling) -> float:
        """What a search says: features of tokens with one choice do not count."""
        start, single = int(self.lattice.starts[s]), [len(own) == 1 for own in self.choices(s)]
        constant = sum(
            self.w.get((self.fixed + f, piece), 0.0)
            for i in np.flatnonzero(single)
            for f in self.features(start + i)
            for piece in self.pieces[y[i]]
        )
        return sum(self.w.get(cell, 0.0) for cell in self.phi(s, y)) - constant

    def scores(self, s: int) -> dict[Labelling, float]:
        """Every labelling of a sentence; of equal ones the search takes the first."""
        every = [y[::-1] for y in product(*reversed(self.choices(s)))]
        return {y: self.score(s, y) for y in every}

    def best(self, s: int) -> Labelling:
        found = self.scores(s)
        return max(found, key=lambda y: found[y])

    def model(self) -> Any:
        """A model of these weights whose lexicon gives these choices, and sentences for it."""
        cells = sorted(self.w.items())
        row, column = (np.array([key[k] for key, _ in cells], np.int32) for k in (0, 1))
        weight, nothing = np.array([w for _, w in cells], np.float32), cast("Any", None)
        keys = np.arange(1, FEATURES + 1, dtype=np.uint64)
        known = (self.names, self.paired, nothing, keys, row, column, weight, nothing, nothing)
        return Fixed(*known, split=True).of(self.lattice)


class Fixed(ChoiceModel):
    """A model of one lattice."""

    whole: Lattice

    def of(self, lattice: Lattice) -> tuple["Fixed", Any]:
        self.whole = lattice
        return self, SimpleNamespace(starts=lattice.starts, units=np.arange(len(lattice.starts)))

    def lattice(self, prepared: Any, lo: int, hi: int, forced: np.ndarray | None = None) -> Lattice:
        starts, ptr, numbers, first, choice = self.whole
        a, b = int(starts[lo]), int(starts[hi])
        if forced is not None:
            first, choice = only(first, choice, forced)
        first = first[a : b + 1]
        return Lattice(
            starts[lo : hi + 1] - a,
            ptr[a : b + 1] - ptr[a],
            numbers[ptr[a] : ptr[b]],
            first - first[0],
            choice[first[0] : first[-1]],
        )


def random_names(rng: np.random.Generator, labels: int) -> list[str]:
    """Labels of one to three pieces out of a few, each another one."""
    count = labels + 2
    subsets = [own for size in (1, 2, 3) for own in combinations(range(count), size)]
    drawn = rng.permutation(len(subsets))[:labels].tolist()
    return ["|".join(f"P{k}" for k in rng.permutation(subsets[j])) for j in drawn]


def random_problem(
    seed: int, labels: int, lengths: list[int], paired: bool, whole: bool = True, split: bool = False
) -> Problem:
    """Tokens with one label to choose from, some, or all. split: labels consist of pieces."""
    rng = np.random.default_rng(seed)
    names = random_names(rng, labels) if split else [f"y{k}" for k in range(labels)]
    width = make_labels(names, True).width
    tokens = sum(lengths)
    counts, features = rng.integers(1, labels + 1, tokens), rng.integers(0, 4, tokens)
    choice = [rng.permutation(labels)[:count] for count in counts]
    rows = labels + 1 + FEATURES
    drawn = rng.integers(-3, 4, (rows, width)) if whole else rng.normal(0, 3, (rows, width)).astype(np.float32)
    kept = rng.random((rows, width)) < 0.7
    kept[: labels + 1, labels:] = False
    w = {(r, y): float(drawn[r, y]) for r, y in zip(*np.nonzero(kept), strict=True)}
    lattice = Lattice(
        np.cumsum([0, *lengths]).astype(np.int64),
        np.cumsum([0, *features]).astype(np.int64),
        rng.integers(0, FEATURES, int(features.sum())).astype(np.int32),
        np.cumsum([0, *counts]).astype(np.int64),
        np.concatenate([np.zeros(0), *choice]).astype(np.int32),
    )
    return Problem(lattice, w, names, paired)


def problems(**more: Any) -> st.SearchStrategy[Problem]:
    given = {
        "seed": st.integers(0, 2**32 - 1),
        "labels": st.integers(1, 4),
        "lengths": st.lists(st.integers(0, 4), min_size=1, max_size=3),
        "paired": st.booleans(),
        "whole": st.booleans(),
        "split": st.booleans(),
    }
    return st.builds(random_problem, **given | more)
