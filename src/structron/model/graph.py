"""A finished graph-based parser's weights, and parsing with them on one thread or several."""

from typing import Any

import numpy as np

from structron.io.tensors import Sizes, Tensor, Tensors
from structron.kernels.jit import compiled, is_cold
from structron.search.graph.parse import PARSE, PARSE_BEST, Setting
from structron.search.graph.relations import Relations
from structron.search.graph.templates import Codes
from structron.search.trees.search import compiled_search, search_of
from structron.threads import for_each, stretches
from structron.weights.hashed import declared_vector, shift_of, vector_of, vector_tensors

Tree = tuple[np.ndarray, np.ndarray, float]
"""Heads and relations of a sentence's words, and the score."""


class GraphModel:
    """A vector of weights that parses."""

    def __init__(self, templates: Codes, relations: Relations, bits: int, w: np.ndarray):
        self.templates, self.relations, self.bits, self.w = templates, relations, bits, w

    @staticmethod
    def is_cold(setting: Setting | None = None) -> bool:
        """Whether the compiler has to be waited for; with a setting for its search too, which is compiled by itself."""
        if setting is None:
            return PARSE.is_cold()
        search = search_of(setting.order, setting.grandparents, setting.projective)
        return PARSE.is_cold() or is_cold(compiled(search))

    def decode(self, x: np.ndarray, starts: np.ndarray, setting: Setting, jobs: int) -> tuple[np.ndarray, np.ndarray]:
        """Heads and relations of all words."""
        heads, found, ranked = (np.zeros(len(x), np.int64) for _ in range(3))
        every = np.arange(len(starts) - 1)
        search = compiled_search(setting.order, setting.grandparents, setting.projective)

        def parse(stretch: tuple[int, int]) -> None:
            model: Any = (self.w, shift_of(self.bits), setting, self.relations)
            PARSE(search, self.templates, x, starts, every, *stretch, *model, heads, found, ranked)

        for_each(parse, stretches(starts, jobs), jobs)
        return heads, found

    def nbest(self, x: np.ndarray, starts: np.ndarray, setting: Setting, n: int, jobs: int) -> list[list[Tree]]:
        """The n best trees of each sentence (fewer where there are no more), best first, that of `decode` before all.

        A score is that of the search: the sum over the parts, every arc with the relation that suits its words best.
        """
        search = compiled_search(setting.order, setting.grandparents, setting.projective)

        def parse(one: tuple[int, int]) -> list[Tree]:
            start, words = int(starts[one[0]]), int(starts[one[1]] - starts[one[0]])
            model: Any = (self.w, shift_of(self.bits), setting, self.relations)
            heads, relations, scores = PARSE_BEST(search, self.templates, x, start, words, *model, n)
            return list(zip(heads[:, 1:], relations[:, 1:], scores.tolist(), strict=True))

        return for_each(parse, [(s, s + 1) for s in range(len(starts) - 1)], jobs)

    @property
    def features(self) -> int:
        """Weights that are not 0."""
        return int(np.count_nonzero(self.w))

    # -- files ---------------------------------------------------------------------------------------------------

    def tensors(self) -> Tensors:
        """The arrays of a model file."""
        relations = self.relations
        lists = {"relation_first": relations.first, "relation_possible": relations.possible}
        return vector_tensors(self.w) | lists

    @staticmethod
    def declared(tags: int, relations: int, bits: int) -> tuple[dict[str, Tensor], Sizes]:
        """The arrays of a model with so many tags and relations."""
        declared = {
            "relation_first": Tensor("int64", "lists+1", least=0, rises="possible"),
            "relation_possible": Tensor("int64", "possible", least=0, below=relations),
        }
        return declared_vector(bits, relations) | declared, {"lists": 2 * tags * tags}

    @classmethod
    def from_tensors(cls, templates: Codes, tags: int, count: int, bits: int, tensors: Tensors) -> "GraphModel":
        """The inverse of `tensors`, of arrays that were checked; ValueError: an arc can have no relation."""
        first, possible = tensors["relation_first"], tensors["relation_possible"]
        if count and (first[1:] == first[:-1]).any():
            raise ValueError("relations do not fit together")
        return cls(templates, Relations(count, tags, first, possible), bits, vector_of(tensors, bits, count))
