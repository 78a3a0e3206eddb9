"""Word clusters from vectors: k-means, then a tree of the clusters, so that the first bits of a path are coarser ones.

Vectors are compared by their directions. The most frequent words are the first centres; of two clusters that become one
in the tree, the union adds least to the squared distances (Ward 1963).
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from structron.errors import StructronError, quoted
from structron.search.clusters.merging import paths_of

BLOCK_WORDS = 4096
"""Words that are compared with all centres at a time."""
LAST_PASS_CHANGES = 1000
"""A pass is the last where no more than one word in so many changes its cluster."""
TINY = 1e-12


def read_vectors(lines: Iterable[str], name: str, most: int | None = None) -> tuple[list[str], np.ndarray]:
    """Words and vectors in the text format of word2vec and fastText: a word and its numbers on every line, after a line
    that says how many there are of both, or none. Vectors of zeros are left out."""
    words: dict[str, None] = {}
    rows: list[np.ndarray] = []
    size = 0
    for number, line in enumerate(lines, 1):
        word, *texts = line.rstrip("\r\n ").split(" ")
        if number == 1 and len(texts) == 1 and word.isdigit() and texts[0].isdigit():
            continue
        if len(words) == most:
            break
        if size and len(texts) > size:  # a word with spaces in it
            word, texts = " ".join([word, *texts[:-size]]), texts[-size:]
        try:
            row = np.array(texts, np.float32)
        except ValueError:
            row = np.zeros(0, np.float32)
        size = size or len(row)
        if not len(row) or len(row) != size or not np.isfinite(row).all() or "\t" in word:
            expected = f"a word and {size} numbers" if size else "a word and its numbers, as word2vec writes them"
            raise StructronError(f"{name}:{number}: {quoted(line.rstrip())}; expected {expected}")
        if word and word not in words and row.any():
            words[word] = None
            rows.append(row)
    if len(words) < 2:
        raise StructronError(f"{name}: {len(words)} words with vectors; expected two or more")
    return list(words), np.array(rows)


def cluster_vectors(
    vectors: np.ndarray, classes: int = 512, passes: int = 20, tell: Callable[[str], Any] = lambda text: None
) -> list[str]:
    """The path of each vector's cluster. tell: is told how far the work is."""
    found = vectors / np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.finfo(vectors.dtype).tiny)
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), TINY)  # squares of what is at most 1
    many = min(classes, len(found))
    centres, nearest = found[:many].astype(np.float32), np.full(len(found), -1)
    for done in range(1, passes + 1):
        before, (nearest, close) = nearest, _nearest(found, centres)
        changed = int((nearest != before).sum())
        tell(f"pass {done}: mean cosine {close:.4f}, {changed} of {len(found)} words moved")
        if changed * LAST_PASS_CHANGES <= len(found):
            break
        sums, sizes = _sums(found, nearest, many)
        full = sizes > 0
        centres[full] = sums[full] / np.maximum(np.linalg.norm(sums[full], axis=1, keepdims=True), TINY)
    sums, sizes = _sums(found, nearest, many)
    used = np.flatnonzero(sizes)
    paths = paths_of(_ward(sums[used] / sizes[used, None], sizes[used]), len(used))
    number = np.zeros(many, np.int64)
    number[used] = np.arange(len(used))
    return [paths[k] for k in number[nearest].tolist()]


def _nearest(found: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, float]:
    """The nearest centre of each vector, and the mean of their cosines."""
    nearest, total = np.zeros(len(found), np.int64), 0.0
    for lo in range(0, len(found), BLOCK_WORDS):
        cosines = found[lo : lo + BLOCK_WORDS] @ centres.T
        nearest[lo : lo + BLOCK_WORDS] = cosines.argmax(axis=1)
        total += float(cosines.max(axis=1).sum(dtype=np.float64))
    return nearest, total / len(found)


def _sums(found: np.ndarray, nearest: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
    """The sum of the vectors of each cluster, and how many there are."""
    order = np.argsort(nearest, kind="stable")
    sizes = np.bincount(nearest, minlength=many)
    sums = np.zeros((many, found.shape[1]))
    used = np.flatnonzero(sizes)
    starts = np.cumsum(sizes)[used] - sizes[used]
    sums[used] = np.add.reduceat(found[order].astype(np.float64), starts, axis=0)
    return sums, sizes


def _ward(means: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Which two clusters become one, in order: those whose union adds least to the squared distances."""
    means, weights = means.copy(), sizes.astype(np.float64)
    merged = np.zeros((max(len(means) - 1, 0), 2), np.int64)

    def costs(k: int) -> np.ndarray:
        apart = ((means - means[k]) ** 2).sum(axis=1)
        return np.where(alive, apart * weights * weights[k] / (weights + weights[k]), np.inf)

    alive = np.ones(len(means), bool)
    cost = np.array([costs(k) for k in range(len(means))])
    np.fill_diagonal(cost, np.inf)
    for k in range(len(merged)):
        a, b = sorted(divmod(int(cost.argmin()), len(means)))
        merged[k] = a, b
        means[a] = (weights[a] * means[a] + weights[b] * means[b]) / (weights[a] + weights[b])
        weights[a] += weights[b]
        alive[b] = False
        cost[b], cost[:, b] = np.inf, np.inf
        cost[a] = cost[:, a] = costs(a)
        cost[a, a] = np.inf
    return merged
