"""Non-local features: what a whole document and a whole labelling of it show (Kazama & Torisawa 2007, section 5).

They are counts by a pair of classes (a, b), 0 standing for "no entity", after Finkel et al. (2005) and Krishnan &
Manning (2006). A phrase is a sequence of words that begins and ends with a word that is not in lower case; its
occurrences are entities of class a, or all outside (0), or parts of longer entities.

    phrase               pairs of occurrences of a phrase with the classes a and b, divided by the number of the others
    phrase-majority      occurrences of a phrase of class a, where most of them are of class b
    sub-phrase           occurrences of class b of a phrase, times the share of class a among longer entities it is in
    sub-phrase-majority  an occurrence of class b, where most of the longer entities are of class a
    conjunction          neighbours joined by a comma, "and" or "or", the left one of class a, the right one of class b

All but the last are sums over the phrases that occur more than once. So the features of a candidate are those of
another labelling, with the phrases counted again whose tokens have another label: what n-best makes cheap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structron import schemes
from structron.kernels.jit import compiled

FAMILIES = ("phrase", "phrase-majority", "sub-phrase", "sub-phrase-majority", "conjunction")
PHRASE, PHRASE_MAJORITY, SUB_PHRASE, SUB_PHRASE_MAJORITY, CONJUNCTION = range(5)
CONJUNCTIONS = frozenset([",", "and", "or", "&", "/", "en", "of", "und", "oder", "y", "e", "o", "et", "ou"])
"""Commas, and the words for "and" and "or" in some languages."""
LONGEST = 6
"""Longest phrase that is compared, in words."""
OTHER = -1


class Scheme(NamedTuple):
    """What labels say, by their numbers."""

    kind: np.ndarray  # int64[labels]: class, from 1 on; 0: outside
    opens: np.ndarray  # bool[labels]: always begins an entity (B, S, U)
    closes: np.ndarray  # bool[labels]: always ends one (E, S, L, U)


class Phrases(NamedTuple):
    """The repeated phrases of a document; rows are its tokens."""

    first: np.ndarray  # int64[rows]: the row where the sentence begins
    last: np.ndarray  # int64[rows]: the row where it ends
    length: np.ndarray  # int64[phrases]
    ptr: np.ndarray  # int64[phrases + 1]: occurrences of phrase q begin at at[ptr[q]:ptr[q+1]]
    at: np.ndarray  # int64
    over_ptr: np.ndarray  # int64[rows + 1]: phrases with an occurrence over row i are over[over_ptr[i]:over_ptr[i+1]]
    over: np.ndarray  # int64
    joint: np.ndarray  # int64[pairs, 2]: rows of words that a conjunction joins: the one before it, the one after it
    proper: np.ndarray  # bool[rows]: not in lower case


@dataclass(frozen=True, slots=True)
class Inventory:
    """The classes of entities and the numbers of the features."""

    classes: list[str]
    scheme: Scheme
    families: list[str]

    @classmethod
    def of(cls, labels: Sequence[str], families: Sequence[str]) -> "Inventory":
        """labels: of a chunk scheme, IOB2 or IOBES and their kin."""
        split = [schemes.split(label) for label in labels]
        classes = sorted({kind for _, kind in split if kind})
        number = {kind: k for k, kind in enumerate(classes, 1)}
        kinds = np.array([number.get(kind, 0) for _, kind in split], np.int64)
        opens = np.array([letter in "BSU" for letter, _ in split])
        closes = np.array([letter in "ESLU" for letter, _ in split])
        return cls(classes, Scheme(kinds, opens, closes), list(families))

    @property
    def names(self) -> list[str]:
        """The name of every feature."""
        kinds = ["O", *self.classes]
        return [f"{family}={a},{b}" for family in FAMILIES for a in kinds for b in kinds]

    @property
    def wanted(self) -> np.ndarray:
        """bool[features]: whether a feature's family is asked for."""
        block = (len(self.classes) + 1) ** 2
        return np.repeat([family in self.families for family in FAMILIES], block)


def find_phrases(words: np.ndarray, proper: np.ndarray, joins: np.ndarray, starts: np.ndarray) -> Phrases:
    """The repeated phrases of a document. words: numbers of word types; starts: of sentences, the end included."""
    rows = len(words)
    lengths = np.diff(starts)
    first, last = np.repeat(starts[:-1], lengths), np.repeat(starts[1:] - 1, lengths)
    ids = np.zeros(rows, np.int64)
    length, at, sizes = [], [], []
    for n in range(1, LONGEST + 1):
        if rows < n:
            break
        _, ids = np.unique(ids[: rows - n + 1] * (int(words.max(initial=0)) + 1) + words[n - 1 :], return_inverse=True)
        places = np.arange(rows - n + 1)
        fits = (places + n - 1 <= last[places]) & proper[places] & proper[places + n - 1]
        found = places[fits]
        by_phrase = np.argsort(ids[found], kind="stable")
        counts = np.unique(ids[found], return_counts=True)[1]
        repeated = np.repeat(counts > 1, counts)
        at.append(found[by_phrase][repeated])
        sizes.append(counts[counts > 1])
        length.append(np.full(int((counts > 1).sum()), n))
    flat = np.concatenate([*at, np.empty(0, np.int64)]).astype(np.int64)
    ptr = np.cumsum(np.concatenate([[0], *sizes])).astype(np.int64)
    long = np.concatenate([*length, np.empty(0, np.int64)]).astype(np.int64)
    over_ptr, over = _phrases_over(rows, ptr, flat, long)
    return Phrases(first, last, long, ptr, flat, over_ptr, over, _joined(joins, last), proper)


def _phrases_over(rows: int, ptr: np.ndarray, at: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row the phrases with an occurrence over it."""
    phrase = np.repeat(np.arange(len(length)), np.diff(ptr))
    size = length[phrase]
    row = np.repeat(at, size) + np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    order = np.argsort(row, kind="stable")
    over_ptr = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=over_ptr[1:])
    return over_ptr, np.repeat(phrase, size)[order]


def _joined(joins: np.ndarray, last: np.ndarray) -> np.ndarray:
    """(row before, row after) of each conjunction inside a sentence; a comma and a word count as one."""
    pairs = []
    for i in np.flatnonzero(joins).tolist():
        if i > 0 and joins[i - 1] and last[i - 1] == last[i]:
            continue
        after = i + 2 if i + 1 < len(joins) and joins[i + 1] else i + 1
        if i > 0 and last[i - 1] == last[i] and after <= last[i]:
            pairs.append((i - 1, after))
    return np.array(pairs, np.int64).reshape(-1, 2)


@compiled
def begins(scheme, row, first, i):
    """Whether an entity begins at row i of a labelling, as conlleval reads it."""
    kind = scheme.kind[row[i]]
    if kind == 0:
        return False
    if scheme.opens[row[i]] or i == first[i]:
        return True
    return scheme.kind[row[i - 1]] != kind or scheme.closes[row[i - 1]]


@compiled
def ends(scheme, row, first, last, i):
    """Whether an entity ends at row i."""
    if scheme.kind[row[i]] == 0:
        return False
    return i == last[i] or scheme.closes[row[i]] or scheme.kind[row[i + 1]] == 0 or begins(scheme, row, first, i + 1)


@compiled
def look_at(scheme, row, phrases, i, n):
    """What n tokens from row i on are: (class, True) an entity, (0, True) all outside, (class, False) within one."""
    first, last = phrases.first, phrases.last
    kind = scheme.kind[row[i]]
    for j in range(i, i + n):
        if scheme.kind[row[j]] != kind or (j > i and kind > 0 and begins(scheme, row, first, j)):
            return OTHER, False
    if kind == 0:
        return 0, True
    return kind, begins(scheme, row, first, i) and ends(scheme, row, first, last, i + n - 1)


@compiled
def add_phrase(scheme, row, phrases, q, kinds, own, longer, amount, out):
    """out += amount * the features of phrase q. kinds: classes + 1; own, longer: room for counts of each."""
    for a in range(kinds):
        own[a] = longer[a] = 0.0
    occurrences = inside = 0.0
    for k in range(phrases.ptr[q], phrases.ptr[q + 1]):
        kind, whole = look_at(scheme, row, phrases, phrases.at[k], phrases.length[q])
        if whole:
            own[kind] += 1
            occurrences += 1
        elif kind > 0:
            longer[kind] += 1
            inside += 1
    block = kinds * kinds
    if occurrences > 1 and own[0] < occurrences:
        most = majority(own, kinds)
        for a in range(kinds):
            if own[a] > 0:
                out[PHRASE_MAJORITY * block + a * kinds + most] += amount * own[a]
                for b in range(a, kinds):
                    pairs = own[a] * (own[a] - 1) if a == b else 2 * own[a] * own[b]
                    out[PHRASE * block + a * kinds + b] += amount * pairs / (occurrences - 1)
    if occurrences > 0 and inside > 0:
        most = majority(longer, kinds)
        for b in range(kinds):
            if own[b] > 0:
                out[SUB_PHRASE_MAJORITY * block + most * kinds + b] += amount * own[b]
                for a in range(1, kinds):
                    out[SUB_PHRASE * block + a * kinds + b] += amount * own[b] * longer[a] / inside


@compiled
def majority(counts, kinds):
    """The class with the most occurrences; of equals the first, but any class rather than none."""
    most = 1
    for a in range(2, kinds):
        if counts[a] > counts[most]:
            most = a
    return 0 if counts[0] > counts[most] else most


@compiled
def add_conjunctions(scheme, row, phrases, kinds, out):
    """The features of neighbours that a conjunction joins: two entities, or one and a word that could be one."""
    first, last, proper = phrases.first, phrases.last, phrases.proper
    for k in range(phrases.joint.shape[0]):
        i, j = phrases.joint[k, 0], phrases.joint[k, 1]
        left = scheme.kind[row[i]] if ends(scheme, row, first, last, i) else 0
        right = scheme.kind[row[j]] if begins(scheme, row, first, j) else 0
        if (left > 0 and (right > 0 or proper[j])) or (right > 0 and proper[i]):
            out[CONJUNCTION * kinds * kinds + left * kinds + right] += 1.0


@compiled
def non_local_features(scheme, phrases, rows, count, kinds, out):
    """out[k] = the features of the labelling rows[k] of a document, 0 ≤ k < count: float64[count, features].

    The first is counted whole, the others where they differ from it.
    """
    tokens, number = phrases.first.shape[0], phrases.length.shape[0]
    own, longer = np.zeros(kinds), np.zeros(kinds)
    seen = np.full(number, -1, np.int64)
    block = CONJUNCTION * kinds * kinds
    out[:count] = 0.0
    base, first = rows[0], out[0]
    for q in range(number):
        add_phrase(scheme, base, phrases, q, kinds, own, longer, 1.0, first)
    add_conjunctions(scheme, base, phrases, kinds, first)
    for k in range(1, count):
        row, here = rows[k], out[k]
        for f in range(block):
            here[f] = first[f]
        for i in range(tokens):
            if row[i] == base[i]:
                continue
            # the labels of neighbours decide where entities begin and end
            for j in range(max(i - 1, phrases.first[i]), min(i + 1, phrases.last[i]) + 1):
                for o in range(phrases.over_ptr[j], phrases.over_ptr[j + 1]):
                    q = phrases.over[o]
                    if seen[q] != k:
                        seen[q] = k
                        add_phrase(scheme, base, phrases, q, kinds, own, longer, -1.0, here)
                        add_phrase(scheme, row, phrases, q, kinds, own, longer, 1.0, here)
        add_conjunctions(scheme, row, phrases, kinds, here)
