"""A finished graph-based parser's weights, and parsing with them on one thread or several."""

import contextlib
from typing import Any

import numpy as np

from structron.io.tensors import Sizes, Tensor, Tensors
from structron.kernels.jit import is_cold
from structron.runtime.threads import batches, for_each
from structron.search.graph.parse import PARSE, WEIGH, steps_of
from structron.search.graph.relations import Relations
from structron.search.graph.scratch import ParseScratch, ParseSettings, larger, make_scratch
from structron.search.graph.templates import Codes
from structron.search.trees.kbest import k_best
from structron.weights.hashed import declared_vector, shift_of, vector_of, vector_tensors

LEAST_WORDS, MOST_WORDS = 63, 255
"""Room is made for sentences of so many words at least, and kept if it is for so many at most."""
Tree = tuple[np.ndarray, np.ndarray, float]
"""Heads and relations of a sentence's words, and the score."""


class GraphModel:
    """A vector of weights that parses."""

    def __init__(self, templates: Codes, relations: Relations, bits: int, w: np.ndarray):
        self.templates, self.relations, self.bits, self.w = templates, relations, bits, w
        self.idle: list[ParseScratch] = []  # that nobody parses in now

    @staticmethod
    def is_cold(setting: ParseSettings | None = None) -> bool:
        """Whether the compiler has to be waited for; with a setting for its search too, which is compiled by itself."""
        steps = () if setting is None else steps_of(setting)
        return PARSE.is_cold() or any(is_cold(getattr(step, "dispatcher", step)) for step in steps)

    def _enter(self, setting: ParseSettings, words: int) -> ParseScratch:
        """Room to parse sentences of up to so many words: to make it takes longer than to parse a short one."""
        with contextlib.suppress(IndexError):
            scratch = self.idle.pop()
            if scratch.setting == setting and scratch.sentence.w is self.w and len(scratch.order) > words:
                return scratch
        model = (self.templates, self.relations, setting, self.w, shift_of(self.bits))
        return make_scratch(*model, max(words, LEAST_WORDS))

    def _leave(self, scratch: ParseScratch) -> None:
        """Keep the room for other sentences, unless it is very large."""
        if len(scratch.order) <= MOST_WORDS:
            self.idle.append(scratch)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"idle": []}

    def decode(
        self, x: np.ndarray, starts: np.ndarray, setting: ParseSettings, jobs: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Heads and relations of all words."""
        heads, found = (np.zeros(len(x), np.int64) for _ in range(2))
        steps, lengths = steps_of(setting), np.diff(starts)

        def parse(batch: tuple[int, int]) -> None:
            lo, hi = batch
            scratch = self._enter(setting, int(lengths[lo:hi].max(initial=0)))
            while (lo := PARSE(*steps, scratch, x, starts, lo, hi, heads, found)) < hi:
                scratch = larger(scratch)
            self._leave(scratch)

        for_each(parse, batches(starts, jobs), jobs)
        return heads, found

    def nbest(self, x: np.ndarray, starts: np.ndarray, setting: ParseSettings, n: int, jobs: int) -> list[list[Tree]]:
        """The n best trees of each sentence (fewer where there are no more), best first, that of `decode` before all.

        A score is that of the search: the sum over the parts, every arc with the relation that suits its words best. A
        tree's relations are chosen as those of the best one are.
        """
        prepare, score, search, choose = steps_of(setting)

        def parse(one: tuple[int, int]) -> list[Tree]:
            start, words = int(starts[one[0]]), int(starts[one[1]] - starts[one[0]])
            scratch = self._enter(setting, words)
            while not WEIGH(prepare, score, search, scratch, x, start, words):
                scratch = larger(scratch)
            trees = (
                scratch.arcs,
                scratch.parts,
                scratch.charts,
                words,
                bool(setting.projective),
                bool(setting.single_root),
            )
            heads, scores = k_best(search, *trees, n)
            relations = np.zeros_like(heads)
            for own, found in zip(heads, relations, strict=True):
                choose(scratch, words, 0, 0.0, own, found)
            self._leave(scratch)
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
