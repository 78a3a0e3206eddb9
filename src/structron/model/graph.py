"""A finished graph-based parser's weights, and parsing with them on one thread or several."""

from typing import Any

import numpy as np

from structron.kernels.jit import compiled, is_cold
from structron.kernels.table import aligned_zeros
from structron.search.graph.features import LOG_CELLS
from structron.search.graph.parse import PARSE, PARSE_BEST, Setting
from structron.search.graph.relations import Relations
from structron.search.graph.templates import Codes
from structron.search.trees.search import compiled_search, search_of
from structron.threads import for_each, stretches

LEAST_BITS, MOST_BITS = 10, 30
Tree = tuple[np.ndarray, np.ndarray, float]
"""Heads and relations of a sentence's words, and the score."""


def room_for(bits: int, relations: int) -> int:
    """Weights of a vector of 2^bits places: the rows of relations may reach beyond the last one."""
    return (1 << bits) + max(1 << LOG_CELLS, relations)


def shift_of(bits: int) -> np.uint64:
    """How far to shift a code to get the number of its row."""
    return np.uint64(64 - bits + LOG_CELLS)


def make_vector(bits: int, relations: int, kind: type) -> np.ndarray:
    return aligned_zeros((1, room_for(bits, relations)), kind)[0]


class GraphModel:
    """A vector of weights that parses."""

    def __init__(self, templates: Codes, relations: Relations, bits: int, w: np.ndarray):
        self.templates, self.relations, self.bits, self.w = templates, relations, bits, w

    @staticmethod
    def is_cold(setting: Setting | None = None, nbest: bool = False) -> bool:
        """Whether the compiler has to be waited for; with a setting for its search too, which is compiled by itself.

        nbest: for `nbest`, which has a kernel of its own, instead of `decode`.
        """
        kernel = PARSE_BEST if nbest else PARSE
        if setting is None:
            return kernel.is_cold()
        search = search_of(setting.order, setting.grandparents, setting.projective)
        return kernel.is_cold() or is_cold(compiled(search))

    def decode(self, x: np.ndarray, starts: np.ndarray, setting: Setting, jobs: int) -> tuple[np.ndarray, np.ndarray]:
        """Heads and relations of all words."""
        heads, found, ranked = (np.zeros(len(x), np.int64) for _ in range(3))
        every, unknown = np.arange(len(starts) - 1), np.zeros(0, np.int64)
        search = compiled_search(setting.order, setting.grandparents, setting.projective)

        def parse(stretch: tuple[int, int]) -> None:
            model: Any = (self.w, shift_of(self.bits), setting, self.relations)
            PARSE(search, self.templates, x, starts, every, *stretch, *model, unknown, unknown, heads, found, ranked)

        for_each(parse, stretches(starts), jobs)
        return heads, found

    def nbest(self, x: np.ndarray, starts: np.ndarray, setting: Setting, n: int, jobs: int) -> list[list[Tree]]:
        """The n best trees of each sentence (fewer where there are no more), best first, that of `decode` before all.

        A score is that of the search: the sum over the parts, every arc with the relation that suits its words best.
        """
        found: list[list[Tree]] = [[] for _ in range(len(starts) - 1)]
        search = compiled_search(setting.order, setting.grandparents, setting.projective)

        def parse(one: tuple[int, int]) -> None:
            start, words = int(starts[one[0]]), int(starts[one[1]] - starts[one[0]])
            model: Any = (self.w, shift_of(self.bits), setting, self.relations)
            heads, relations, scores = PARSE_BEST(search, self.templates, x, start, words, *model, n)
            found[one[0]] = list(zip(heads[:, 1:], relations[:, 1:], scores.tolist(), strict=True))

        for_each(parse, [(s, s + 1) for s in range(len(found))], jobs)
        return found

    @property
    def features(self) -> int:
        """Weights that are not 0."""
        return int(np.count_nonzero(self.w))

    # -- files ---------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, np.ndarray]:
        places = np.flatnonzero(self.w)
        return {
            "place": places.astype(np.uint32),
            "weight": self.w[places],
            "relation_first": self.relations.first,
            "relation_possible": self.relations.possible,
        }

    @classmethod
    def from_tensors(
        cls, templates: Codes, tags: int, count: int, bits: int, tensors: dict[str, np.ndarray]
    ) -> "GraphModel":
        """Raises ValueError when the parts do not fit together."""
        places, weight = tensors["place"], tensors["weight"]
        first, possible = tensors["relation_first"], tensors["relation_possible"]
        w = make_vector(bits, count, np.float32)
        fits = (
            places.dtype == np.uint32
            and weight.dtype == np.float32
            and places.ndim == 1
            and places.shape == weight.shape
            and bool(np.isfinite(weight).all())
            and (not len(places) or int(places[-1]) < len(w))
            and bool((places[1:] > places[:-1]).all())
        )
        lists = (
            first.dtype == possible.dtype == np.int64
            and first.shape == (2 * tags * tags + 1,)
            and possible.ndim == 1
            and first[0] == 0
            and first[-1] == len(possible)
            and bool((np.diff(first) >= (count > 0)).all())
            and (not len(possible) or 0 <= possible.min() <= possible.max() < count)
        )
        if not fits or not lists:
            raise ValueError("weights do not fit together")
        w[places] = weight
        return cls(templates, Relations(count, tags, first, possible), bits, w)
