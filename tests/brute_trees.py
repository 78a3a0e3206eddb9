"""Every dependency tree over a few words, and its score under random parts: what searches are compared with."""

import itertools
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from structron.kernels.jit import entry
from structron.search.trees.arborescence import arborescence, make_contraction
from structron.search.trees.eisner import eisner, make_chart
from structron.search.trees.parts import Arcs, Parts, index_arcs, make_arcs, rank, side
from structron.search.trees.search import compiled_search, make_charts


@cache
def all_trees(n: int) -> np.ndarray:
    """Every tree over n words, any number of children of the root: int64[trees, n], the head of each word."""
    found = []
    for heads in itertools.product(range(n + 1), repeat=n):
        for word in range(1, n + 1):
            steps, at = 0, word
            while at and steps <= n:
                at, steps = heads[at - 1], steps + 1
            if at:
                break
        else:
            found.append(heads)
    return np.array(found, np.int64).reshape(-1, n)


@cache
def trees(n: int, projective: bool, single_root: bool) -> np.ndarray:
    """Those of `all_trees` without crossing arcs, or with one root; crossing as one would see it in a drawing."""
    kept = all_trees(n)
    if single_root:
        kept = kept[(kept == 0).sum(axis=1) == 1]
    if not projective:
        return kept
    spans = np.stack([np.minimum(kept, np.arange(1, n + 1)), np.maximum(kept, np.arange(1, n + 1))])
    left, right = spans[:, :, :, None], spans[:, :, None, :]
    crossing = (left[0] < right[0]) & (right[0] < left[1]) & (left[1] < right[1])
    return kept[~crossing.any(axis=(1, 2))]


@st.composite
def any_trees(draw, longest: int) -> list[int]:
    """The heads of a tree with one root over up to so many words."""
    order = draw(st.permutations(range(1, draw(st.integers(1, longest)) + 1)))
    heads = [0] * len(order)
    for place, word in enumerate(order[1:], 1):
        heads[word - 1] = order[draw(st.integers(0, place - 1))]
    return heads


class Scores:
    """Random scores of parts by words; whole numbers make ties."""

    def __init__(self, seed: int, n: int, whole: bool, grand: bool, triple: bool, sibling: bool = True):
        rng = np.random.default_rng(seed)
        self.n = n

        def table(rank: int) -> np.ndarray:
            shape = (n + 2,) * rank
            return (rng.integers(-3, 4, shape) if whole else rng.normal(size=shape)).astype(np.float32)

        arc, beside, above, third = table(2), table(3), table(3), table(4)
        self.arc = lambda h, m: arc[h, m]
        self.sibling = (lambda h, s, m: beside[h, s, m]) if sibling else None
        self.grand = (lambda g, h, m: above[g, h, m]) if grand else None
        self.triple = (lambda g, h, s, m: third[g, h, s, m]) if triple else None

    def of(self, heads) -> float:
        """The sum over all parts of a tree, straight from their definition."""
        above, total = [-1, *heads], 0.0
        for m in range(1, self.n + 1):
            h = above[m]
            between = [s for s in range(min(h, m) + 1, max(h, m)) if above[s] == h]
            s = (max(between) if h < m else min(between)) if between else -1
            total += float(self.arc(h, m))
            total += float(self.sibling(h, s, m)) if self.sibling else 0.0
            total += float(self.grand(above[h], h, m)) if self.grand else 0.0
            total += float(self.triple(above[h], h, s, m)) if self.triple else 0.0
        return total

    def parts(self, arcs):
        return make_parts(arcs, self.arc, self.sibling, self.grand, self.triple)


def some_arcs(seed: int, n: int, share: float, projective: bool = True) -> np.ndarray:
    """A mask that leaves a tree."""
    rng = np.random.default_rng(seed)
    allowed = rng.random((n + 1, n + 1)) < share
    possible = trees(n, projective, True)
    allowed[possible[rng.integers(len(possible))], np.arange(1, n + 1)] = True
    return allowed


def stands_in(heads: np.ndarray, candidates: np.ndarray) -> bool:
    """Whether a tree is one of them."""
    return bool((candidates == heads).all(axis=1).any())


def best_of(scores: np.ndarray, projective: bool, single_root: bool) -> float:
    n = len(scores) - 1
    candidates = trees(n, projective, single_root)
    return float(scores.astype(np.float64)[candidates, np.arange(1, n + 1)].sum(axis=1).max())


def score_of(scores: np.ndarray, heads: np.ndarray) -> float:
    return float(scores.astype(np.float64)[heads, np.arange(1, len(scores))].sum())


def random_scores(seed: int, n: int, whole: bool) -> np.ndarray:
    """Whole numbers make ties."""
    rng = np.random.default_rng(seed)
    return (rng.integers(-3, 4, (n + 1, n + 1)) if whole else rng.normal(size=(n + 1, n + 1))).astype(np.float32)


# -- kernels as functions of plain scores ------------------------------------------------------------------------------


def arcs_of(allowed: np.ndarray) -> Arcs:
    """The arcs that a mask allows."""
    n = len(allowed) - 1
    arcs = make_arcs(n, n * n)
    assert entry(index_arcs)(allowed, n, arcs)
    return arcs


def search_for(kind: tuple[int, bool, bool], arcs: Arcs, parts: Parts, n: int, single_root: bool, heads: Any) -> float:
    """The search of a kind (order, grandparents, projective), in room of its own."""
    charts = make_charts(*kind, n, arcs.need, False)
    return compiled_search(*kind)(arcs, parts, charts, n, int(single_root), heads)


def make_parts(arcs: Arcs, arc: Any, sibling: Any = None, grand: Any = None, triple: Any = None) -> Parts:
    """Scores of parts by functions of words: arc(h, m), sibling(h, s, m), grand(g, h, m), triple(g, h, s, m).

    s or g is -1 where there is none.
    """
    count = int(arcs.need[0])
    found: dict[str, list[float]] = {"arc": [], "sibling": [], "grand": [], "triple": []}
    inner = {}
    for b in range(count):
        h, m = int(arcs.head[b]), int(arcs.word[b])
        start, step, _ = side(arcs, h, m > h)
        inner[b] = [-1, *(int(arcs.word[start + step * k]) for k in range(rank(arcs, b)))]
        found["arc"].append(arc(h, m))
        found["sibling"] += [sibling(h, s, m) for s in inner[b] if sibling]
    for a in range(count + 1):
        g, h = int(arcs.head[a]), int(arcs.word[a])
        below = range(arcs.first[h], arcs.first[h + 1])
        found["grand"] += [grand(g, h, int(arcs.word[b])) for b in below if grand]
        found["triple"] += [triple(g, h, s, int(arcs.word[b])) for b in below if triple for s in inner[b]]
    return Parts(*(np.array(found[name], np.float32) for name in Parts._fields))


def best_projective(scores: Any, single_root: bool = False) -> tuple[np.ndarray, float]:
    """The heads (those of the words alone) and the score of the best projective tree."""
    given = np.ascontiguousarray(scores, np.float32)
    n = len(given) - 1
    heads = np.empty(n + 1, np.int64)
    score = entry(eisner)(given, n, int(single_root), make_chart(n), heads)
    return heads[1:], float(score)


def best_tree(scores: Any, single_root: bool = False) -> tuple[np.ndarray, float]:
    """The heads (those of the words alone) and the score of the best tree, crossing arcs or not."""
    given = np.ascontiguousarray(scores, np.float32)
    n = len(given) - 1
    heads = np.empty(n + 1, np.int64)
    score = entry(arborescence)(given, n, int(single_root), make_contraction(n), heads)
    return heads[1:], float(score)
