"""Word clusters from raw text: counting, exchange clustering on all cores, and a tree of the classes.

    sentences ──count──▶ words, bigrams ──exchange──▶ classes ──merging──▶ paths

Words that are rarer than the cut-off, and the ends of sentences, are a class each that never changes: they count as
neighbours of others. The outcome does not depend on the number of threads.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from structron.errors import StructronError
from structron.runtime.threads import for_each, slices
from structron.search.clusters.exchange import Bigrams, Classes, copied, counted, exchange, information, propose
from structron.search.clusters.merging import losses, tree_of
from structron.text.numbers import ShortFloats

Sentences = Iterable[Sequence[str]]
FIXED = 2
"""Classes that do not change: of rare words, and of ends of sentences."""
PIECE = 1 << 20
"""Tokens whose bigrams are counted at a time."""
MOST_TYPES = 50_000_000
"""Different words that are counted; where there are more, the rarest are forgotten on the way."""
FIRST_BATCH, LAST_BATCH, SHARE = 64, 8192, 4
"""Words whose proposals are made side by side: a share of those that were looked at before in the pass."""
LAST_PASS_CHANGES = 500
"""A pass is the last where no more than one word in so many changes its class."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a text says of neighbours."""

    words: list[str]  # the most frequent first
    counts: np.ndarray  # int64[words]
    bigrams: Bigrams  # of the words, rare words (one) and ends of sentences
    tokens: int


@dataclass(frozen=True, slots=True, repr=False)
class Clustered(ShortFloats):
    """The classes of words as paths in a tree, and their average mutual information in bits."""

    paths: list[str]  # of each word
    information: float
    passes: int


def count(read: Callable[[], Sentences], least: int = 1, most: int | None = None) -> Counted:
    """Count words and bigrams. read: gives the sentences, once for the words and once for the bigrams; words seen less
    than `least` times, or less than the `most` frequent, are rare."""
    seen: Counter[str] = Counter()
    floor = 1
    for sentence in read():
        seen.update(sentence)
        if len(seen) > MOST_TYPES:
            floor += 1
            seen = Counter({word: n for word, n in seen.items() if n >= floor})
    if not seen:
        raise StructronError("no words in the text; expected words to cluster")
    kept = sorted((word for word, n in seen.items() if n >= least), key=lambda word: (-seen[word], word))[:most]
    if len(kept) < 2:
        raise StructronError(f"{len(kept)} words seen {least} times or more; expected two, or a lower --min-count")
    number = {word: k for k, word in enumerate(kept)}
    keys, times = _pairs(_numbers(read(), number), len(kept) + FIXED)
    counts = np.array([seen[word] for word in kept], np.int64)
    return Counted(kept, counts, _bigrams(keys, times, len(kept) + FIXED), sum(seen.values()))


def _numbers(sentences: Sentences, number: dict[str, int]) -> Iterator[np.ndarray]:
    """The text as numbers of words, in pieces; between sentences stands the last number."""
    rare, end = len(number), len(number) + 1
    piece = [end]
    for sentence in sentences:
        if sentence:
            piece += [number.get(word, rare) for word in sentence]
            piece.append(end)
        if len(piece) >= PIECE:
            yield np.array(piece, np.int64)
            piece = piece[-1:]
    yield np.array(piece, np.int64)


def _pairs(pieces: Iterable[np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of neighbours as one number, and how often it is there. Counts of pieces are joined like those of a
    binary number, so each is sorted anew only a few times."""
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for piece in pieces:
        found.append(np.unique(piece[:-1] * size + piece[1:], return_counts=True))
        while len(found) > 1 and len(found[-2][0]) <= 2 * len(found[-1][0]):
            found.append(_joined(found.pop(), found.pop()))
    while len(found) > 1:
        found.append(_joined(found.pop(), found.pop()))
    return found[0]


def _joined(*given: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    keys, place = np.unique(np.concatenate([keys for keys, _ in given]), return_inverse=True)
    times = np.concatenate([times for _, times in given])
    return keys, np.bincount(place.reshape(-1), times, len(keys)).astype(np.int64)


def _bigrams(keys: np.ndarray, times: np.ndarray, size: int) -> Bigrams:
    first, second = (own.astype(np.int32) for own in np.divmod(keys, size))
    counts = times.astype(np.int32)
    turned = np.argsort(second, kind="stable")
    starts = [np.append(0, np.cumsum(np.bincount(own, minlength=size))).astype(np.int64) for own in (first, second)]
    return Bigrams(starts[0], second, counts, starts[1], first[turned], counts[turned])


# -- clustering --------------------------------------------------------------------------------------------------------


def cluster(
    counted_text: Counted,
    classes: int = 512,
    passes: int = 20,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda text: None,
) -> Clustered:
    """Cluster words into so many classes. tell: is told how far the work is."""
    bigrams, words = counted_text.bigrams, len(counted_text.words)
    many = min(classes, words)
    start = np.append(np.arange(words) % many, [many, many + 1]).astype(np.int64)
    state = counted(bigrams, start, many + FIXED)
    done = 0
    for done in range(1, passes + 1):
        changed = _one_pass(bigrams, state, words, many, jobs)
        tell(f"pass {done}: {information(state):.4f} bits of mutual information, {changed} of {words} words moved")
        if changed * LAST_PASS_CHANGES <= words:
            break
    found = information(state)
    loss, tree = np.zeros((many, many)), copied(state)
    for_each(lambda own: losses(tree, own.start, own.stop, many, loss), slices(many, jobs, 4 * jobs), jobs)
    paths = tree_of(tree, many, loss)
    return Clustered([paths[k] for k in state.of_word[:words].tolist()], found, done)


def _one_pass(bigrams: Bigrams, state: Classes, words: int, many: int, jobs: int) -> int:
    """Let every word change its class once; returns how many did."""
    lo = changed = 0
    wanted = np.zeros(LAST_BATCH, np.int64)
    while lo < words:
        size = min(max(FIRST_BATCH, lo // SHARE), LAST_BATCH, words - lo)

        def look(own: slice, lo: int = lo) -> None:
            propose(bigrams, copied(state), lo + own.start, lo + own.stop, many, wanted[own])

        for_each(look, slices(size, jobs, 1), jobs)
        changed += exchange(bigrams, state, lo, lo + size, wanted)
        lo += size
    return changed
