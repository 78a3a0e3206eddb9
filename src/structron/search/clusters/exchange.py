"""Exchange clustering: words change classes as long as the classes say more of each other.

A text is a walk through classes. Classes are good if a class tells much about the next one: their average mutual
information (Brown et al. 1992) is, but for what depends on the words alone,

    F = Σ φ(N(g, h)) − Σ φ(N(g, ·)) − Σ φ(N(·, h))          φ(n) = n log n

where N(g, h) says how often class h follows class g. A word is taken out of its class, and put where F becomes largest
(Martin, Liermann & Ney 1998). Many words are looked at side by side, against counts that stand still (`propose`); what
they propose is then done one by one, if it still gains (`exchange`). So the outcome does not depend on the threads.
"""

from typing import Any, NamedTuple

import numpy as np

from structron.kernels.jit import helper, kernel
from structron.kernels.reference import Doubles, Ints, Ints2, Numbers, by_reference

TABLE = 1 << 16
"""Counts whose φ is looked up."""
LEAST_GAIN = 1e-7
"""What a change has to gain: less is a rounding error."""


@by_reference
class Bigrams(NamedTuple):
    """Which words follow, and come before, each word, and how often."""

    right_start: Ints  # int64[words + 1]
    right_word: Numbers  # int32[bigrams]
    right_count: Numbers  # int32[bigrams]
    left_start: Ints
    left_word: Numbers
    left_count: Numbers


@by_reference
class Classes(NamedTuple):
    """The counts of classes, and where the word that is looked at stands."""

    of_word: Ints  # int64[words]
    pairs: Ints2  # int64[classes, classes]: N(g, h)
    turned: Ints2  # int64[classes, classes]: the same, turned over
    first: Ints  # int64[classes]: N(g, ·)
    second: Ints  # int64[classes]: N(·, h)
    phi: Doubles  # float64[TABLE]
    right: Ints  # int64[classes]: how often each class follows the word
    left: Ints  # int64[classes]: or comes before it
    right_list: Ints  # int64[classes]: those that do
    left_list: Ints
    sizes: Ints  # int64[5]: of both lists; how often the word follows itself; what right and left add up to


def phi_table() -> np.ndarray:
    """φ of the numbers below TABLE."""
    n = np.arange(TABLE, dtype=np.float64)
    return n * np.log(np.maximum(n, 1))


def counted(bigrams: Bigrams, of_word: np.ndarray, classes: int) -> Classes:
    """The counts of classes of words."""
    words = np.repeat(np.arange(len(of_word)), np.diff(bigrams.right_start))
    place = of_word[words] * classes + of_word[bigrams.right_word]
    pairs = np.bincount(place, bigrams.right_count, classes * classes).astype(np.int64).reshape(classes, classes)
    turned = np.ascontiguousarray(pairs.T)
    around: Any = [np.zeros(size, np.int64) for size in (*[classes] * 4, 5)]
    return Classes(of_word.copy(), pairs, turned, pairs.sum(1), pairs.sum(0), phi_table(), *around)


def copied(classes: Classes) -> Classes:
    """The same, to be changed while others look at it."""
    own: dict[str, Any] = classes._asdict()
    return Classes(**{name: part if name in ("of_word", "phi") else part.copy() for name, part in own.items()})


def information(classes: Classes) -> float:
    """The average mutual information of neighbouring classes, in bits."""
    total = float(classes.first.sum())
    if not total:
        return 0.0
    own = [own[own > 0] / total for own in (classes.pairs, classes.first, classes.second)]
    joint, first, second = (float((p * np.log2(p)).sum()) for p in own)
    return joint - first - second


@helper
def phi_of(classes, n):
    """n log n."""
    return classes.phi[n] if n < TABLE else n * np.log(np.float64(n))


@helper
def look_at(bigrams, classes, w):
    """Count the classes around a word, but for itself."""
    for j in range(classes.sizes[0]):
        classes.right[classes.right_list[j]] = 0
    for j in range(classes.sizes[1]):
        classes.left[classes.left_list[j]] = 0
    many, same, total = 0, 0, 0
    for q in range(bigrams.right_start[w], bigrams.right_start[w + 1]):
        n = bigrams.right_count[q]
        if bigrams.right_word[q] == w:
            same = n
            continue
        h = classes.of_word[bigrams.right_word[q]]
        if classes.right[h] == 0:
            classes.right_list[many] = h
            many += 1
        classes.right[h] += n
        total += n
    classes.sizes[0], classes.sizes[2], classes.sizes[3] = many, same, total
    many, total = 0, 0
    for q in range(bigrams.left_start[w], bigrams.left_start[w + 1]):
        n = bigrams.left_count[q]
        if bigrams.left_word[q] == w:
            continue
        h = classes.of_word[bigrams.left_word[q]]
        if classes.left[h] == 0:
            classes.left_list[many] = h
            many += 1
        classes.left[h] += n
        total += n
    classes.sizes[1], classes.sizes[4] = many, total


@helper
def put(classes, g, sign):
    """Put the word that is looked at into class g (1), or take it out (-1)."""
    same = sign * classes.sizes[2]
    for j in range(classes.sizes[0]):
        h = classes.right_list[j]
        n = sign * classes.right[h]
        classes.pairs[g, h] += n
        classes.turned[h, g] += n
    for j in range(classes.sizes[1]):
        h = classes.left_list[j]
        n = sign * classes.left[h]
        classes.pairs[h, g] += n
        classes.turned[g, h] += n
    classes.pairs[g, g] += same
    classes.turned[g, g] += same
    classes.first[g] += sign * classes.sizes[3] + same
    classes.second[g] += sign * classes.sizes[4] + same


@helper
def gain(classes, k):
    """By how much F grows, but for a constant, if the word that is looked at, now in no class, is put into class k."""
    total = 0.0
    for j in range(classes.sizes[0]):
        h = classes.right_list[j]
        n = classes.pairs[k, h]
        total += phi_of(classes, n + classes.right[h]) - phi_of(classes, n)
    for j in range(classes.sizes[1]):
        h = classes.left_list[j]
        n = classes.turned[k, h]
        total += phi_of(classes, n + classes.left[h]) - phi_of(classes, n)
    n, right, left, same = classes.pairs[k, k], classes.right[k], classes.left[k], classes.sizes[2]
    total += phi_of(classes, n + right + left + same) + phi_of(classes, n)
    total -= phi_of(classes, n + right) + phi_of(classes, n + left)
    n = classes.first[k]
    total -= phi_of(classes, n + classes.sizes[3] + same) - phi_of(classes, n)
    n = classes.second[k]
    return total - phi_of(classes, n + classes.sizes[4] + same) + phi_of(classes, n)


@kernel
def propose(bigrams, classes, lo, hi, many, out):
    """The best class, of the first so many, for each of words lo … hi - 1. The counts are as before in the end."""
    for w in range(lo, hi):
        look_at(bigrams, classes, w)
        own = classes.of_word[w]
        put(classes, own, -1)
        best, most = own, gain(classes, own) + LEAST_GAIN
        for k in range(many):
            found = gain(classes, k)
            if found > most:
                best, most = k, found
        out[w - lo] = best
        put(classes, own, 1)


@kernel
def exchange(bigrams, classes, lo, hi, wanted):
    """Put each of words lo … hi - 1 into the class that was proposed, where that gains; returns how many changed."""
    changed = 0
    for w in range(lo, hi):
        own, k = classes.of_word[w], wanted[w - lo]
        if own == k:
            continue
        look_at(bigrams, classes, w)
        put(classes, own, -1)
        if gain(classes, k) > gain(classes, own) + LEAST_GAIN:
            classes.of_word[w] = k
            changed += 1
            own = k
        put(classes, own, 1)
    return changed
