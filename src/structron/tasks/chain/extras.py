"""What templates say of tokens to be combined with the labels before: `w[0]` of the template `y[-2]|w[0]`.

Each such part of a template is a column of the engine's input: the number of what it says of a token, -1 where it says
nothing that is known.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from structron.features.encode import Hashes
from structron.features.extract import PreparedTemplates
from structron.features.index import Numbered, look_up, number_features
from structron.features.names import Names
from structron.io.tensors import Tensor, Tensors, texts, under
from structron.kernels.table import build_table

LABEL_PART = re.compile(r"(\|?y\[-\d\])+(?==)|&y(?==)")
"""Where the name of a feature says that it is combined with labels before."""


class Extras:
    """The columns: what their values stand for, and their names, which may be written when they are first asked for."""

    def __init__(self, keys: Sequence[np.ndarray], names: Sequence[Names] | Callable[[], Sequence[Names]]):
        self.keys, self._names = list(keys), names  # keys: uint64 of each column

    def __getstate__(self) -> dict[str, Any]:
        """Names are written before they are pickled."""
        return {"keys": self.keys, "_names": self.names}

    @cached_property
    def names(self) -> list[Names]:
        return list(self._names() if callable(self._names) else self._names)

    @cached_property
    def tables(self) -> list[np.ndarray]:
        return [build_table(keys) for keys in self.keys]

    @property
    def sizes(self) -> list[int]:
        """How many values each has."""
        return list(map(len, self.keys))

    def columns(self, prepared: PreparedTemplates, lo: int, hi: int) -> list[np.ndarray]:
        """The columns of sentences lo … hi - 1."""
        tables = enumerate(self.tables)
        return [as_column(look_up(table, prepared.pair_column(c, lo, hi))) for c, table in tables]

    def text(self, c: int, value: int) -> str:
        """What a value of a column stands for, by name."""
        return LABEL_PART.sub("", self.names[c].take(np.array([value])).all()[0], 1)

    # -- files ---------------------------------------------------------------------------------------------------

    def heads(self) -> list[list[str]]:
        """For a model's header."""
        return [names.heads for names in self.names]

    def tensors(self) -> Tensors:
        """For a model file."""
        found: Tensors = {}
        for c, (keys, names) in enumerate(zip(self.keys, self.names, strict=True)):
            found |= under(f"extra_{c}_", {"keys": keys} | names.tensors())
        return found

    @staticmethod
    def declared(heads: Any) -> dict[str, Tensor]:
        """The arrays that go with the heads of a header."""
        found: dict[str, Tensor] = {}
        for c, own in enumerate(heads):
            found[f"extra_{c}_keys"] = Tensor("uint64", f"extra {c}", least=1, spread=True)
            found |= Names.declared(f"extra {c}", texts(own, "names"), f"extra_{c}_")
        return found

    @classmethod
    def from_file(cls, heads: Any, tensors: Tensors) -> "Extras":
        """The inverse of `heads` and `tensors`, of arrays that were checked."""
        names = [Names.from_tensors(own, tensors, f"extra_{c}_") for c, own in enumerate(heads)]
        return cls([tensors[f"extra_{c}_keys"] for c in range(len(names))], names)


def number_extras(
    prepared: PreparedTemplates, cutoff: int, known: Extras | None = None
) -> tuple[Extras, list[np.ndarray]]:
    """Number what the paired templates say of training data, after what was known before; and the columns of it."""
    found: list[Numbered] = []
    for c in range(len(prepared.paired.templates)):

        def hashes(lo: int, hi: int, c: int = c) -> Hashes:
            return prepared.pair_column(c, lo, hi)

        found.append(number_features(hashes, prepared.starts, cutoff, known.keys[c] if known else None))

    def names() -> list[Names]:
        before = known.names if known else [None] * len(found)
        pairs = zip(found, before, strict=True)
        return [f.names(np.arange(len(f.keys)), old, lambda k, t: prepared.names(k, t, True)) for f, old in pairs]

    columns = [as_column((f.ptr, f.numbers, f.values)) for f in found]
    return Extras([f.keys for f in found], names), columns


def as_column(hashes: Hashes) -> np.ndarray:
    """What a template says of each token, as numbers: -1 where it says nothing that is known."""
    ptr, numbers, _ = hashes
    column = np.full(len(ptr) - 1, -1, np.int64)
    column[np.diff(ptr) > 0] = numbers
    return column
