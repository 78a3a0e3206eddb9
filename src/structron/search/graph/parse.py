"""From a sentence to its best tree: prune, score, search, in compiled code.

x ──rank_arcs──▶ heads worth a look ──score──▶ parts ──a search of trees/search.py──▶ heads ──▶ relations

Each of these steps is a kernel by itself, and whoever parses takes them as pointers: none is compiled twice, and only
those that a setting needs.
"""

from typing import Any

import numpy as np
from numba import types

from structron.kernels.jit import WithFunctionPointers, helper, ir_inline, kernel
from structron.kernels.reference import FunctionPointer, reference
from structron.search.graph.features import encode
from structron.search.graph.relations import choose_relations, score_relations
from structron.search.graph.scores import rank_arcs, score_arcs, score_grand, score_siblings, score_triples
from structron.search.graph.scratch import ParseScratch, ParseSettings
from structron.search.trees.eisner import LONG, eisner, eisner_among
from structron.search.trees.parts import has_capacity, index_arcs
from structron.search.trees.search import SIGNATURE, compiled_search

_SCRATCH, _LIST = reference(ParseScratch), types.int64[::1]
_COUNT, _FLAG, _COST = types.int64, types.int64, types.float64
PREPARE = types.int64(FunctionPointer(SIGNATURE), _SCRATCH, types.int64[:, ::1], _COUNT, _COUNT, _FLAG, _COST)
SCORE = types.void(_SCRATCH, _COUNT, _FLAG, _COST)
CHOOSE = types.void(_SCRATCH, _COUNT, _FLAG, _COST, _LIST, _LIST)
STEPS = (PREPARE, SCORE, SIGNATURE, CHOOSE)
"""The signatures of what `steps_of` gives."""


# -- pruning -------------------------------------------------------------------------------------------------------


@helper
def keep_best(scores, n, keep, allowed, order):
    """Allow the `keep` best heads of each word. order: scratch memory for n + 1."""
    for m in range(1, n + 1):
        count = 0
        for h in range(n + 1):
            if h == m:
                continue
            k = count
            while k > 0 and scores[order[k - 1], m] < scores[h, m]:
                if k < keep:
                    order[k] = order[k - 1]
                k -= 1
            if k < keep:
                order[k] = h
                count = min(count + 1, keep)
        for k in range(count):
            allowed[order[k], m] = True


@helper
def allow(allowed, n, every):
    """Allow all heads, or none."""
    for h in range(n + 1):
        for m in range(n + 1):
            allowed[h, m] = every


@ir_inline
def allow_gold(gold, n, cost, allowed, scores):
    """Allow the heads of the gold tree, and add a cost to those of all others; neither where a head is open (-1)."""
    for m in range(1, n + 1):
        if gold.heads[m] < 0:
            continue
        allowed[gold.heads[m], m] = True
        for h in range(n + 1):
            if h != gold.heads[m]:
                scores[h, m] += np.float32(cost)


@ir_inline
def rank_heads(scratch, x, start, n, learning, cost):
    """Read the n words from `start` on, and allow the heads that the fast model, or while learning the gold tree, finds
    worth a look; False: there is no room for the arcs.

    In long sentences arcs are numbered, and the word before each is allowed too: a chain of words is always a tree.
    """
    allowed, scores, arcs = scratch.allowed, scratch.charts.scores, scratch.arcs
    encode(scratch.sentence, x, start, n)
    allow(allowed, n, False)
    rank_arcs(scratch.sentence, n, scratch.words, scores)
    if learning:
        allow_gold(scratch.gold, n, cost, allowed, scores)
    keep_best(scores, n, scratch.setting.keep, allowed, scratch.order)
    if n > LONG:
        for m in range(1, n + 1):
            allowed[m - 1, m] = True
        if not index_arcs(allowed, n, arcs):
            return False
        for h in range(n + 1):
            for m in range(n + 1):
                if arcs.number[h, m] < 0:
                    scores[h, m] = -np.inf
    return True


@ir_inline
def number_arcs(scratch, n):
    """Allow the heads of the fast model's best tree too, and number all arcs; 0: there is no room for their parts."""
    for m in range(1, n + 1):
        scratch.allowed[scratch.ranked[m], m] = True
    return 1 if index_arcs(scratch.allowed, n, scratch.arcs) and has_capacity(scratch.parts, scratch.arcs.need) else 0


def prepare_pruned(search, scratch, x, start, n, learning, cost):
    """Read the n words from `start` on, and number the arcs worth a look; 0: there is no room for them.

    scratch.ranked: the best tree of the fast model, which is always among them.
    """
    if not rank_heads(scratch, x, start, n, learning, cost):
        return 0
    charts, single_root = scratch.charts, scratch.setting.single_root
    if n > LONG:
        eisner_among(scratch.arcs, charts.scores, n, single_root, charts.chart, scratch.ranked)
    else:
        eisner(charts.scores, n, single_root, charts.chart, scratch.ranked)
    return number_arcs(scratch, n)


def prepare_by_search(search, scratch, x, start, n, learning, cost):
    """The same where trees are searched by Eisner's algorithm anyway: search is `find_arcs`."""
    if not rank_heads(scratch, x, start, n, learning, cost):
        return 0
    search(scratch.arcs, scratch.nothing, scratch.charts, n, scratch.setting.single_root, scratch.ranked)
    return number_arcs(scratch, n)


def prepare_all(search, scratch, x, start, n, learning, cost):
    """The same where all arcs are worth a look."""
    encode(scratch.sentence, x, start, n)
    allow(scratch.allowed, n, True)
    return 1 if index_arcs(scratch.allowed, n, scratch.arcs) and has_capacity(scratch.parts, scratch.arcs.need) else 0


# -- scores --------------------------------------------------------------------------------------------------------


@ir_inline
def score_labelled(scratch, n, learning, cost):
    """The scores of arcs, each with its best relation. While learning the rivals of the gold tree get a cost."""
    scores = scratch.parts.arc
    score_arcs(scratch.sentence, scratch.arcs, n, scratch.words, scores)
    score_relations(
        scratch.sentence, scratch.arcs, n, scratch.relations, scratch.gold, learning, cost, scratch.related, scores
    )


def score_first_order(scratch, n, learning, cost):
    """The scores of arcs."""
    score_labelled(scratch, n, learning, cost)


def score_with_siblings(scratch, n, learning, cost):
    """The scores of arcs and sibling parts."""
    score_labelled(scratch, n, learning, cost)
    score_siblings(scratch.sentence, scratch.arcs, n, scratch.parts.sibling)


def score_with_grandparents(scratch, n, learning, cost):
    """The scores of all parts."""
    score_labelled(scratch, n, learning, cost)
    score_siblings(scratch.sentence, scratch.arcs, n, scratch.parts.sibling)
    score_grand(scratch.sentence, scratch.arcs, n, scratch.parts.grand)
    if scratch.parts.triple.shape[0] > 0:
        score_triples(scratch.sentence, scratch.arcs, n, scratch.parts.triple)


def choose_all(scratch, n, learning, cost, heads, found):
    """Write the relations of a tree. learning, cost: see `score_labelled`."""
    choose_relations(scratch.sentence, n, scratch.relations, scratch.gold, learning, cost, heads, found)


PREPARE_PRUNED, PREPARE_BY_SEARCH, PREPARE_ALL = (
    kernel(own, signature=PREPARE) for own in (prepare_pruned, prepare_by_search, prepare_all)
)
SCORE_ARCS, SCORE_SIBLINGS, SCORE_GRANDPARENTS = (
    kernel(own, signature=SCORE) for own in (score_first_order, score_with_siblings, score_with_grandparents)
)
CHOOSE_RELATIONS = kernel(choose_all, signature=CHOOSE)


def steps_of(setting: ParseSettings) -> tuple[Any, ...]:
    """The kernels that parse so: the first arguments of `parse`."""
    search = compiled_search(setting.order, bool(setting.grandparents), bool(setting.projective))
    first = setting.order == 1
    prepare = PREPARE_ALL if not setting.keep else PREPARE_BY_SEARCH if first and setting.projective else PREPARE_PRUNED
    score = SCORE_ARCS if first else SCORE_GRANDPARENTS if setting.grandparents else SCORE_SIBLINGS
    return prepare, score, search, CHOOSE_RELATIONS


# -- from words to trees -------------------------------------------------------------------------------------------


@ir_inline
def weigh(prepare, score, search, scratch, x, start, n, learning, cost):
    """The scores of all parts of the n words from `start` on; False: there is no room for them.

    learning: scratch.gold has the gold tree; each wrong word then adds a cost to the score of a tree.
    """
    if prepare(search, scratch, x, start, n, learning, cost) == 0:
        return False
    score(scratch, n, learning, cost)
    return True


@ir_inline
def parse(prepare, score, search, choose, scratch, x, start, n, learning, cost):
    """Write the heads and relations of the n words from `start` on into scratch.found; False: there is no room."""
    if not weigh(prepare, score, search, scratch, x, start, n, learning, cost):
        return False
    search(scratch.arcs, scratch.parts, scratch.charts, n, scratch.setting.single_root, scratch.found.heads)
    choose(scratch, n, learning, cost, scratch.found.heads, scratch.found.relation)
    return True


def parse_some(prepare, score, search, choose, scratch, x, starts, lo, hi, heads, relations):
    """Write the heads and relations of the sentences lo … hi - 1, of all words; returns where it stopped: before a
    sentence for which there is no room."""
    for k in range(lo, hi):
        start, n = starts[k], starts[k + 1] - starts[k]
        if not parse(prepare, score, search, choose, scratch, x, start, n, 0, 0.0):
            return k
        for i in range(n):
            heads[start + i], relations[start + i] = scratch.found.heads[i + 1], scratch.found.relation[i + 1]
    return hi


def weigh_one(prepare, score, search, scratch, x, start, n):
    """`weigh`, for `k_best`."""
    return weigh(prepare, score, search, scratch, x, start, n, 0, 0.0)


PARSE = WithFunctionPointers(parse_some, *STEPS)
WEIGH = WithFunctionPointers(weigh_one, *STEPS[:3])
