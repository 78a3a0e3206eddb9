"""Every dependency tree over a few words: what searches for trees are compared with."""

import itertools
from functools import cache

import numpy as np


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
