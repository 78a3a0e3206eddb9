"""From a sentence to its best tree: prune, score, search, in compiled code.

x ──rank_arcs──▶ heads worth a look ──score──▶ parts ──a search of trees/search.py──▶ heads ──▶ relations
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import Pointed, compiled
from structron.search.graph.features import look_at
from structron.search.graph.relations import choose_relations, score_relations
from structron.search.graph.scores import rank_arcs, score_arcs, score_parts
from structron.search.trees.eisner import LONG, eisner, eisner_among, make_chart
from structron.search.trees.kbest import k_best
from structron.search.trees.parts import index_arcs
from structron.search.trees.search import SIGNATURE


class Setting(NamedTuple):
    """How to search. keep: how many heads of each word pruning leaves, 0: all.

    margin: what a word with a wrong head or relation is worth to the search while learning.
    """

    order: int
    grandparents: bool
    projective: bool
    single_root: bool
    keep: int
    margin: float = 0.0


@compiled
def keep_best(scores, n, keep, allowed):
    """Allow the `keep` best heads of each word."""
    order = np.empty(n + 1, np.int64)
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


@compiled
def prune(look, n, setting, gold_heads, heads):
    """A mask of the heads worth a look; heads: the best tree of the fast model, which is always among them.

    While learning the gold tree is so too. In long sentences that tree is the best one of the heads worth a look and of
    the word before each: a chain of words is always a tree.
    """
    allowed = np.zeros((n + 1, n + 1), np.bool_)
    if setting.keep == 0:
        allowed[:] = True
        return allowed
    scores = np.empty((n + 1, n + 1), np.float32)
    rank_arcs(look, n, scores)
    if gold_heads.shape[0] > 0:
        for m in range(1, n + 1):
            allowed[gold_heads[m], m] = True
            for h in range(n + 1):
                if h != gold_heads[m]:
                    scores[h, m] += np.float32(setting.margin)
    keep_best(scores, n, setting.keep, allowed)
    if n > LONG:
        for m in range(1, n + 1):
            allowed[m - 1, m] = True
        arcs = index_arcs(allowed, n)
        for h in range(n + 1):
            for m in range(n + 1):
                if arcs.number[h, m] < 0:
                    scores[h, m] = -np.inf
        eisner_among(arcs, scores, n, setting.single_root, make_chart(n), heads)
        return allowed
    eisner(scores, n, setting.single_root, make_chart(n), heads)
    for m in range(1, n + 1):
        allowed[heads[m], m] = True
    return allowed


@compiled
def weigh(look, n, setting, relations, gold_heads, gold, ranked):
    """The arcs of n words that are worth a look, and the scores of their parts, each arc with its best relation.

    gold_heads, gold: empty, or while learning the gold tree, whose rivals get a cost. ranked: see `prune`.
    """
    arcs = index_arcs(prune(look, n, setting, gold_heads, ranked), n)
    scores = np.empty(arcs.head.shape[0] - 1, np.float32)
    score_arcs(look, arcs, n, scores)
    score_relations(look, arcs, n, relations, gold_heads, gold, setting.margin, scores)
    return arcs, score_parts(look, arcs, n, scores, setting)


@compiled
def parse(search, look, n, setting, relations, gold_heads, gold, heads, found, ranked):
    """Write the best heads and relations of n words (places 1 … n); the score.

    search: see trees/search.py. gold_heads, gold, ranked: see `weigh`.
    """
    arcs, parts = weigh(look, n, setting, relations, gold_heads, gold, ranked)
    score = search(arcs, parts, n, setting.single_root, heads)
    choose_relations(look, n, relations, gold_heads, gold, setting.margin, heads, found)
    return score


@compiled
def parse_at(search, templates, x, start, n, w, shift, setting, relations, gold_heads, gold, heads, found, ranked):
    """Write the heads and relations of the n words from `start` on, and the heads of the fast model.

    gold_heads, gold, and those that are written: of all words; the first two may be empty.
    """
    look = look_at(templates, x, start, n, w, shift)
    own = np.zeros((3, n + 1), np.int64)
    known = n + 1 if gold_heads.shape[0] > 0 else 0
    right = np.zeros((2, known), np.int64)
    for i in range(1, known):
        right[0, i], right[1, i] = gold_heads[start + i - 1], gold[start + i - 1]
    parse(search, look, n, setting, relations, right[0], right[1], own[0], own[1], own[2])
    for i in range(n):
        heads[start + i], found[start + i], ranked[start + i] = own[0, i + 1], own[1, i + 1], own[2, i + 1]


def parse_some(search, templates, x, starts, sequence, lo, hi, w, shift, setting, relations, heads, found, ranked):
    """Write the heads and relations of the sentences sequence[lo:hi], and the heads of the fast model, of all words."""
    unknown = np.zeros(0, np.int64)
    for k in range(lo, hi):
        start, n = starts[sequence[k]], starts[sequence[k] + 1] - starts[sequence[k]]
        given = (templates, x, start, n, w, shift, setting, relations)
        parse_at(search, *given, unknown, unknown, heads, found, ranked)


def parse_best(search, templates, x, start, n, w, shift, setting, relations, k):
    """The k best trees of the n words of x from `start` on, best first: heads and relations, both int64[trees, n + 1]
    (places 1 … n), and scores. A tree's relations are chosen as those of the best one are."""
    look, unknown = look_at(templates, x, start, n, w, shift), np.zeros(0, np.int64)
    arcs, parts = weigh(look, n, setting, relations, unknown, unknown, np.zeros(n + 1, np.int64))
    heads, scores = k_best(search, arcs, parts, n, setting.projective, setting.single_root, k)
    found = np.zeros_like(heads)
    for t in range(heads.shape[0]):
        choose_relations(look, n, relations, unknown, unknown, setting.margin, heads[t], found[t])
    return heads, found, scores


PARSE = Pointed(parse_some, SIGNATURE)
PARSE_BEST = Pointed(parse_best, SIGNATURE)
