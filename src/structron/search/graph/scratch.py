"""The scratch memory that parsing needs: made once for many sentences, and again where one needs more."""

from typing import NamedTuple

import numpy as np

from structron.kernels.reference import Flags2, Floats3, Floats4, Ints, by_reference
from structron.search.graph.features import SentenceCodes, make_sentence_codes
from structron.search.graph.relations import Relations
from structron.search.graph.templates import TRIPLE, Codes
from structron.search.trees.parts import Arcs, Parts, make_arcs
from structron.search.trees.search import Charts, make_charts
from structron.weights.hashed import CELLS

FIRST_PARTS = 1 << 22
"""Parts of one kind that there is room for before they are counted."""


@by_reference
class ParseSettings(NamedTuple):
    """How to search. keep: how many heads of each word pruning leaves, 0: all. Flags are 0 or 1."""

    order: int
    grandparents: int
    projective: int
    single_root: int
    keep: int


@by_reference
class Tree(NamedTuple):
    """Heads and relations of the words 1 … n, tree or not, and the sibling next to each, which follows from them."""

    heads: Ints  # int64[n + 1]
    relation: Ints  # int64[n + 1]
    inner: Ints  # int64[n + 1], see siblings_of


def make_tree(words: int) -> Tree:
    """Scratch memory for sentences of up to that many words."""
    return Tree(*(np.zeros(words + 1, np.int64) for _ in range(3)))


@by_reference
class ParseScratch(NamedTuple):
    """All that kernels write while they parse one sentence after the other, and what they read."""

    setting: ParseSettings
    relations: Relations
    sentence: SentenceCodes
    arcs: Arcs
    parts: Parts
    charts: Charts
    nothing: Parts  # no parts: see `find_arcs`
    allowed: Flags2  # bool[n + 1, n + 1]           the heads worth a look
    order: Ints  # int64[n + 1]                     the best heads of one word, best first
    words: Floats3  # float32[2, n + 1, CELLS]      see scores.add_words
    related: Floats4  # float32[2, 2, n + 1, relations]    see relations.add_relations_of_words
    gold: Tree  # while learning
    found: Tree
    ranked: Ints  # int64[n + 1]                    the heads of the fast model's best tree
    mixed: Tree  # see update/swvp_trees.py
    changed: Ints  # int64[n + 1]                   see update/trees.py


def first_need(words: int, keep: int) -> np.ndarray:
    """How many arcs and parts (see parts.Arcs) sentences of up to so many words have at most, or likely have."""
    heads = min(words, keep + 3) if keep else words
    arcs = words * heads
    siblings = arcs * (heads // 2 + 1)
    return np.clip([arcs, siblings, arcs * heads + words, siblings * heads + words], 1, FIRST_PARTS).astype(np.int64)


def make_scratch(
    templates: Codes,
    relations: Relations,
    setting: ParseSettings,
    w: np.ndarray,
    shift: np.uint64,
    words: int,
    need: np.ndarray | None = None,
) -> ParseScratch:
    """Scratch memory for sentences of up to so many words. need: of arcs and parts, see parts.Arcs."""
    need = first_need(words, setting.keep) if need is None else need
    second, third = setting.order == 2, setting.order == 2 and setting.grandparents
    kinds = (True, second, third, third and templates.size[TRIPLE] > 0)
    parts = Parts(*(np.zeros(many if own else 0, np.float32) for many, own in zip(need.tolist(), kinds, strict=True)))
    nothing = Parts(*(np.zeros(0, np.float32) for _ in range(4)))
    return ParseScratch(
        setting,
        relations,
        make_sentence_codes(templates, words, relations.tags, w, shift),
        make_arcs(words, int(need[0])),
        parts,
        make_charts(setting.order, bool(setting.grandparents), bool(setting.projective), words, need, setting.keep > 0),
        nothing,
        np.zeros((words + 1, words + 1), np.bool_),
        np.zeros(words + 1, np.int64),
        np.zeros((2, words + 1, CELLS), np.float32),
        np.zeros((2, 2, words + 1, relations.size), np.float32),
        make_tree(words),
        make_tree(words),
        np.zeros(words + 1, np.int64),
        make_tree(words),
        np.zeros(words + 1, np.int64),
    )


def larger(scratch: ParseScratch) -> ParseScratch:
    """More scratch memory, for the sentence that needed it, and a little more."""
    have = [len(scratch.parts.arc), len(scratch.parts.sibling), len(scratch.parts.grand), len(scratch.parts.triple)]
    need = np.maximum(np.array(have, np.int64), scratch.arcs.need + scratch.arcs.need // 8)
    sentence, words = scratch.sentence, len(scratch.order) - 1
    given = (sentence.templates, scratch.relations, scratch.setting, sentence.w, sentence.shift)
    return make_scratch(*given, words, need)
