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
another labelling, with the phrases and pairs counted again whose tokens have another label: what n-best makes cheap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import types

from structron.kernels.jit import helper, ir_inline, kernel
from structron.kernels.reference import Doubles2, Flags, Ints, Ints2, by_reference, reference
from structron.text import schemes

FAMILIES = ("phrase", "phrase-majority", "sub-phrase", "sub-phrase-majority", "conjunction")
PHRASE, PHRASE_MAJORITY, SUB_PHRASE, SUB_PHRASE_MAJORITY, CONJUNCTION = range(5)
CONJUNCTIONS = frozenset([",", "and", "or", "&", "/", "en", "of", "und", "oder", "y", "e", "o", "et", "ou"])
"""Commas, and the words for "and" and "or" in some languages."""
MAX_PHRASE_WORDS = 6
"""Longest phrase that is compared, in words."""
OTHER = -1


@by_reference
class Scheme(NamedTuple):
    """What labels say, by their numbers."""

    kind: Ints  # int64[labels]: class, from 1 on; 0: outside
    opens: Flags  # bool[labels]: always begins an entity (B, S, U)
    closes: Flags  # bool[labels]: always ends one (E, S, L, U)


@by_reference
class Phrases(NamedTuple):
    """The repeated phrases of documents that lie one after the other; tokens and phrases count through all of them."""

    starts: Ints  # int64[documents + 1]: where each begins
    opens: Flags  # bool[tokens]: the first of a sentence
    closes: Flags  # bool[tokens]: the last of one
    proper: Flags  # bool[tokens]: not in lower case
    first: Ints  # int64[documents + 1]: phrases of document d are first[d] … first[d+1] - 1
    length: Ints  # int64[phrases]
    ptr: Ints  # int64[phrases + 1]: occurrences of phrase q begin at at[ptr[q]:ptr[q+1]]
    at: Ints  # int64
    over_ptr: Ints  # int64[tokens + 1]: phrases with an occurrence over token i: over[over_ptr[i]:over_ptr[i+1]]
    over: Ints  # int64
    joint: Ints2  # int64[pairs, 2]: words that a conjunction joins: the one before it, the one after it
    first_joint: Ints  # int64[documents + 1]: pairs of document d are first_joint[d] … first_joint[d+1] - 1
    across_ptr: Ints  # int64[tokens + 1]: pairs that begin before token i, or there, and do not end before it
    across: Ints  # int64


@by_reference
class Counts(NamedTuple):
    """Memory for counting the features of documents."""

    own: Doubles2  # float64[phrases of a document + 1, classes]: occurrences that are entities, or outside
    longer: Doubles2  # those that lie within an entity
    seen: Ints  # int64[phrases]: the labelling for which each was last looked at
    seen_pair: Ints  # int64[pairs]


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


def find_phrases(
    words: np.ndarray, proper: np.ndarray, joins: np.ndarray, starts: np.ndarray, units: np.ndarray
) -> Phrases:
    """The repeated phrases of all documents, in the order of their lengths, then of their words.

    words: numbers of word types; starts: of sentences, the end included; units: sentences where documents begin.
    """
    tokens, lengths = len(words), np.diff(starts)
    last = np.repeat(starts[1:] - 1, lengths)
    document = np.repeat(np.arange(len(units) - 1), np.diff(starts[units]))
    opens, closes = np.zeros(tokens, bool), np.zeros(tokens, bool)
    opens[starts[:-1][lengths > 0]] = closes[starts[1:][lengths > 0] - 1] = True
    most, places = int(words.max(initial=0)) + 1, np.flatnonzero(proper)
    same, found, length, sizes = document[places], [], [], []
    for n in range(1, MAX_PHRASE_WORDS + 1):
        fits = places + n - 1 <= last[places]
        places, same = places[fits], same[fits]
        # the same n words in the same document; what occurs once has no longer sequences that occur twice
        _, same, counts = np.unique(same * most + words[places + n - 1], return_inverse=True, return_counts=True)
        repeated = counts[same] > 1
        places, same = places[repeated], same[repeated]
        ends = proper[places + n - 1]
        by_phrase = np.argsort(same[ends], kind="stable")
        found.append(places[ends][by_phrase])
        sizes.append(np.unique(same[ends], return_counts=True)[1])
        length.append(np.full(len(sizes[-1]), n))
    at, size, long = np.concatenate(found), np.concatenate(sizes), np.concatenate(length)
    begin = np.cumsum(size) - size
    order = np.argsort(document[at[begin]], kind="stable")
    first = np.searchsorted(document[at[begin]][order], np.arange(len(units)))
    ptr = np.concatenate([[0], np.cumsum(size[order])]).astype(np.int64)
    at = at[np.repeat(begin[order] - ptr[:-1], size[order]) + np.arange(int(ptr[-1]))]
    over = _over(tokens, np.repeat(np.arange(len(order)), size[order]), at, np.repeat(long[order], size[order]))
    joint = _joined(joins, last)
    first_joint = np.searchsorted(document[joint[:, 0]], np.arange(len(units)))
    across = _over(tokens, np.arange(len(joint)), joint[:, 0], joint[:, 1] - joint[:, 0] + 1)
    return Phrases(
        starts[units], opens, closes, proper, first, long[order], ptr, at, *over, joint, first_joint, *across
    )


def phrases_of(prepared: Any) -> Phrases:
    """The phrases of prepared documents."""
    types, words = prepared.word_types, np.asarray(prepared.word_ids, np.int64)
    proper = np.array([not w.islower() and any(map(str.isalpha, w)) for w in types] or [False])
    joins = np.array([w.lower() in CONJUNCTIONS for w in types] or [False])
    return find_phrases(words, proper[words], joins[words], prepared.starts, prepared.units)


def make_counts(phrases: Phrases, kinds: int) -> Counts:
    """Memory for the document with the most phrases, and that with the most pairs."""
    most, pairs = (int(np.diff(first).max(initial=0)) for first in (phrases.first, phrases.first_joint))
    own, longer = np.empty((2, most + 1, kinds))
    return Counts(own, longer, np.zeros(most, np.int64), np.zeros(pairs, np.int64))


def _over(tokens: int, number: np.ndarray, at: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each token the numbers of what lies over it: number[k] over the tokens at[k] … at[k] + size[k] - 1."""
    token = np.repeat(at, size) + np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    ptr = np.zeros(tokens + 1, np.int64)
    np.cumsum(np.bincount(token, minlength=tokens), out=ptr[1:])
    return ptr, np.repeat(number, size)[np.argsort(token, kind="stable")]


def _joined(joins: np.ndarray, last: np.ndarray) -> np.ndarray:
    """(token before, token after) of each conjunction inside a sentence; a comma and a word count as one."""
    i = np.flatnonzero(joins[1:] & (last[1:] == last[:-1]) & ~joins[:-1]) + 1
    after = i + 1 + np.append(joins, False)[i + 1]
    inside = after <= last[i]
    return np.stack([i[inside] - 1, after[inside]], axis=1)


@helper(inline=True)
def begins(scheme, z, phrases, origin, i):
    """Whether an entity begins at token i of a document's labelling z, as conlleval reads it; origin: its token 0."""
    kind = scheme.kind[z[i]]
    if kind == 0:
        return False
    if scheme.opens[z[i]] or phrases.opens[origin + i]:
        return True
    return scheme.kind[z[i - 1]] != kind or scheme.closes[z[i - 1]]


@helper(inline=True)
def ends(scheme, z, phrases, origin, i):
    """Whether an entity ends at token i."""
    kind = scheme.kind[z[i]]
    if kind == 0:
        return False
    if scheme.closes[z[i]] or phrases.closes[origin + i]:
        return True
    return scheme.kind[z[i + 1]] != kind or scheme.opens[z[i + 1]]


@ir_inline
def look_at(scheme, z, phrases, origin, i, n):
    """What n tokens from i on are: (class, True) an entity, (0, True) all outside, (class, False) within one."""
    kind = scheme.kind[z[i]]
    for j in range(i + 1, i + n):
        if scheme.kind[z[j]] != kind or (kind > 0 and begins(scheme, z, phrases, origin, j)):
            return OTHER, False
    if kind == 0:
        return 0, True
    return kind, begins(scheme, z, phrases, origin, i) and ends(scheme, z, phrases, origin, i + n - 1)


@helper
def count_phrase(scheme, z, phrases, origin, q, kinds, counts, k):
    """own[k, a], longer[k, a]: the occurrences of phrase q that are, or lie within, an entity of class a."""
    own, longer = counts.own, counts.longer
    for a in range(kinds):
        own[k, a] = longer[k, a] = 0.0
    for j in range(phrases.ptr[q], phrases.ptr[q + 1]):
        kind, whole = look_at(scheme, z, phrases, origin, phrases.at[j] - origin, phrases.length[q])
        if whole:
            own[k, kind] += 1
        elif kind > 0:
            longer[k, kind] += 1


@helper
def add_phrase(counts, k, kinds, amount, out, row):
    """out[row] += amount * the features of a phrase with such counts."""
    own, longer = counts.own, counts.longer
    occurrences = inside = 0.0
    for a in range(kinds):
        occurrences += own[k, a]
        inside += longer[k, a]
    block = kinds * kinds
    if occurrences > 1 and own[k, 0] < occurrences:
        most = majority(own, k, kinds)
        for a in range(kinds):
            if own[k, a] > 0:
                out[row, PHRASE_MAJORITY * block + a * kinds + most] += amount * own[k, a]
                for b in range(a, kinds):
                    pairs = own[k, a] * (own[k, a] - 1) if a == b else 2 * own[k, a] * own[k, b]
                    out[row, PHRASE * block + a * kinds + b] += amount * pairs / (occurrences - 1)
    if occurrences > 0 and inside > 0:
        most = majority(longer, k, kinds)
        for b in range(kinds):
            if own[k, b] > 0:
                out[row, SUB_PHRASE_MAJORITY * block + most * kinds + b] += amount * own[k, b]
                for a in range(1, kinds):
                    out[row, SUB_PHRASE * block + a * kinds + b] += amount * own[k, b] * longer[k, a] / inside


@helper
def majority(counts, k, kinds):
    """The class with the most occurrences; of equals the first, but any class rather than none."""
    most = 1
    for a in range(2, kinds):
        if counts[k, a] > counts[k, most]:
            most = a
    return 0 if counts[k, 0] > counts[k, most] else most


@helper
def add_joint(scheme, z, phrases, origin, p, kinds, amount, out, row):
    """The feature of neighbours that a conjunction joins: two entities, or one and a word that could be one."""
    i, j = phrases.joint[p, 0], phrases.joint[p, 1]
    left = scheme.kind[z[i - origin]] if ends(scheme, z, phrases, origin, i - origin) else 0
    right = scheme.kind[z[j - origin]] if begins(scheme, z, phrases, origin, j - origin) else 0
    if (left > 0 and (right > 0 or phrases.proper[j])) or (right > 0 and phrases.proper[i]):
        out[row, CONJUNCTION * kinds * kinds + left * kinds + right] += amount


@ir_inline
def is_silent(phrases, d):
    """Whether no labelling of document d has features: no phrase occurs twice, and nothing is joined."""
    return phrases.first[d] == phrases.first[d + 1] and phrases.first_joint[d] == phrases.first_joint[d + 1]


@ir_inline
def count_whole(scheme, phrases, d, z, kinds, counts, out):
    """out[0] = the features of the labelling z; own[q], longer[q]: the counts of the document's phrase q."""
    first, origin, row = phrases.first[d], phrases.starts[d], np.int64(0)
    for q in range(phrases.first[d + 1] - first):
        count_phrase(scheme, z, phrases, origin, first + q, kinds, counts, q)
        add_phrase(counts, q, kinds, 1.0, out, row)
    for p in range(phrases.first_joint[d], phrases.first_joint[d + 1]):
        add_joint(scheme, z, phrases, origin, p, kinds, 1.0, out, row)


@ir_inline
def exchange(z, ptr, at, label, k):
    """Labelling k for z, or z again: the labels of the other one wait in `label`."""
    for e in range(ptr[k], ptr[k + 1]):
        i, y = at[e], label[e]
        label[e] = z[i]
        z[i] = y


@ir_inline
def count_changes(scheme, phrases, d, z, ptr, at, label, count, kinds, counts, out):
    """out[k] = out[0], with the phrases and pairs counted again that have another label in labelling k, or beside it.

    seen[q], seen_pair[p]: the labelling for which a phrase or a pair was last looked at.
    """
    q0, p0, origin = phrases.first[d], phrases.first_joint[d], phrases.starts[d]
    seen, seen_pair, spare = counts.seen, counts.seen_pair, phrases.first[d + 1] - q0
    for k in range(1, count):
        for f in range(out.shape[1]):
            out[k, f] = out[0, f]
        for e in range(ptr[k], ptr[k + 1]):
            i = origin + at[e]
            for o in range(phrases.across_ptr[i], phrases.across_ptr[i + 1]):
                p = phrases.across[o]
                if seen_pair[p - p0] != k:
                    seen_pair[p - p0] = k
                    add_joint(scheme, z, phrases, origin, p, kinds, -1.0, out, k)
        exchange(z, ptr, at, label, k)
        for e in range(ptr[k + 1] - 1, ptr[k] - 1, -1):
            i = origin + at[e]
            # the labels of neighbours decide where entities begin and end
            begin, end = i - (not phrases.opens[i]), i + 1 + (not phrases.closes[i])
            for o in range(phrases.over_ptr[begin], phrases.over_ptr[end]):
                q = phrases.over[o]
                if seen[q - q0] != k:
                    seen[q - q0] = k
                    add_phrase(counts, q - q0, kinds, -1.0, out, k)
                    count_phrase(scheme, z, phrases, origin, q, kinds, counts, spare)
                    add_phrase(counts, spare, kinds, 1.0, out, k)
            for o in range(phrases.across_ptr[i], phrases.across_ptr[i + 1]):
                p = phrases.across[o]
                if seen_pair[p - p0] == k:
                    seen_pair[p - p0] = 0
                    add_joint(scheme, z, phrases, origin, p, kinds, 1.0, out, k)
        exchange(z, ptr, at, label, k)


_LIST = types.int64[::1]
FEATURES = types.void(
    reference(Scheme),
    reference(Phrases),
    types.int64,
    *[_LIST] * 4,
    types.int64,
    types.int64,
    reference(Counts),
    types.float64[:, ::1],
)


@kernel(signature=FEATURES)
def non_local_features(scheme, phrases, d, z, ptr, at, label, count, kinds, counts, out):
    """out[k] = the features of labelling k of document d, 0 ≤ k < count: float64[count, features].

    z is the first and is counted whole. Labelling k is z with label[e] at token at[e], ptr[k] ≤ e < ptr[k+1], from the
    last token to the first, and is counted where they differ.
    """
    for f in range(out.shape[1]):
        out[0, f] = 0.0
    for q in range(phrases.first[d + 1] - phrases.first[d]):
        counts.seen[q] = 0
    for p in range(phrases.first_joint[d + 1] - phrases.first_joint[d]):
        counts.seen_pair[p] = 0
    count_whole(scheme, phrases, d, z, kinds, counts, out)
    count_changes(scheme, phrases, d, z, ptr, at, label, count, kinds, counts, out)


@kernel(allocates=True)
def differences_of(rows):
    """Labellings, the first of which the others are compared with, as ptr, at, label of `non_local_features`."""
    count, tokens = rows.shape
    ptr, used = np.zeros(count + 1, np.int64), 0
    for k in range(1, count):
        for i in range(tokens):
            used += rows[k, i] != rows[0, i]
    at, label, used = np.empty(used, np.int64), np.empty(used, np.int64), 0
    for k in range(count):
        for i in range(tokens - 1, -1, -1):
            if rows[k, i] != rows[0, i]:
                at[used], label[used] = i, rows[k, i]
                used += 1
        ptr[k + 1] = used
    return ptr, at, label
