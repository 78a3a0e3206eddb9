"""From a sentence to its best tree: prune, score, search, in compiled code.

x ──rank_arcs──▶ heads worth a look ──score──▶ parts ──eisner, eisner2, arborescence or climb──▶ heads, relations
"""

from typing import NamedTuple

import numpy as np

from structron.kernels import compiled
from structron.search.arborescence import arborescence, make_contraction
from structron.search.eisner import eisner, make_chart
from structron.search.eisner2 import grandparents, siblings
from structron.search.parts import climb, index_arcs
from structron.tasks.graph_relations import choose_relations, score_relations
from structron.tasks.graph_scores import rank_arcs, score_arcs, score_parts


class Setting(NamedTuple):
    """How to search. keep: how many heads of each word pruning leaves, 0: all."""

    order: int
    grandparents: bool
    projective: bool
    single_root: bool
    keep: int
    cost: float


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

    While learning the gold tree is so too.
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
                    scores[h, m] += np.float32(setting.cost)
    keep_best(scores, n, setting.keep, allowed)
    eisner(scores, n, setting.single_root, make_chart(n), heads)
    for m in range(1, n + 1):
        allowed[heads[m], m] = True
    return allowed


@compiled
def search(look, arcs, n, setting, scores, heads):
    """Write the best tree, given the scores of arcs; its score."""
    if setting.order == 2:
        parts = score_parts(look, arcs, n, scores, setting.grandparents)
        if setting.grandparents:
            score = grandparents(arcs, parts, n, setting.single_root, heads)
        else:
            score = siblings(arcs, parts, n, setting.single_root, make_chart(n), heads)
        return score if setting.projective else climb(arcs, parts, n, setting.single_root, heads)
    dense = np.full((n + 1, n + 1), -np.inf, np.float32)
    for b in range(scores.shape[0]):
        dense[arcs.head[b], arcs.word[b]] = scores[b]
    if setting.projective:
        return eisner(dense, n, setting.single_root, make_chart(n), heads)
    return arborescence(dense, n, setting.single_root, make_contraction(n), heads)


@compiled
def parse(look, n, setting, relations, gold_heads, gold, heads, found, ranked):
    """Write the best heads and relations of n words (places 1 … n); the score.

    gold_heads, gold: empty, or while learning the gold tree, whose rivals get a cost. ranked: see `prune`.
    """
    arcs = index_arcs(prune(look, n, setting, gold_heads, ranked), n)
    scores = np.empty(arcs.head.shape[0] - 1, np.float32)
    score_arcs(look, arcs, n, relations.tags, scores)
    score_relations(look, arcs, n, relations, gold_heads, gold, setting.cost, scores)
    score = search(look, arcs, n, setting, scores, heads)
    choose_relations(look, n, relations, gold_heads, gold, setting.cost, heads, found)
    return score
