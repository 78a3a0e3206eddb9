"""Learning from n-best candidates with local and non-local features: Kazama & Torisawa (2007), section 4.

    {yⁿ} = n-best_y w·Φˡ(x_i, y)                                  search/chain/kbest.py
    y'  = argmax_{y ∈ {yⁿ}} w·Φᵃ(x_i, y),   y'' = 2nd-best_{y ∈ {yⁿ}} w·Φᵃ(x_i, y)
    if y' ≠ y_i and w·Φᵃ(x_i, y_i) - w·Φᵃ(x_i, y') ≤ Cᵃ:     w = w + Φᵃ(x_i, y_i) - Φᵃ(x_i, y')       (A)
    else if w·Φᵃ(x_i, y_i) - w·Φᵃ(x_i, y'') ≤ Cᵃ:            w = w + Φᵃ(x_i, y_i) - Φᵃ(x_i, y'')      (A)
    else                                                                                              (B)
        if y¹ ≠ y_i:                                          w = w + Φˡ(x_i, y_i) - Φˡ(x_i, y¹)
        else if w·Φˡ(x_i, y_i) - w·Φˡ(x_i, y²) ≤ Cˡ:          w = w + Φˡ(x_i, y_i) - Φˡ(x_i, y²)

Algorithm 4.2 is all of it, Algorithm 4.1 (the candidate algorithm) is without (B). (B) as printed is aggressive; the
conservative one only acts as long as the correct labelling is not among the candidates.

A document gives one update of thousands of local features for many sentences at once, and few of them a pass. With
"sentences" the two parts share the work: (A) corrects the non-local weights alone, and the local ones are learned by
Algorithm 3.1 from every sentence of the document afterwards (ours; local convergence is that of Algorithm 3.1).
"""

from typing import NamedTuple

import numpy as np

from structron.features.phrases import FEATURES, Counts, Phrases, Scheme, is_silent
from structron.kernels.jit import WithFunctionPointers, entry, helper, plain
from structron.kernels.reference import Doubles, Doubles2, Flags, Ints, by_reference
from structron.search.chain.kbest import N_BEST, NO_CAPACITY, SECOND, NBestScratch, Near, Trellis, change, fill_trellis
from structron.search.chain.scores import DIFFERENCE, EncodedChains, Weights, Work
from structron.search.chain.viterbi import SEARCH
from structron.update.margin import learn_example
from structron.update.perceptron import CORRECT, NEAR, TIME, TOKENS, UPDATES, WRONG_TOKENS, has_capacity

SENTENCES = "sentences"
LOCAL_UPDATES = ("aggressive", "conservative", "none", SENTENCES)
AGGRESSIVE, CONSERVATIVE, _, BY_SENTENCES = range(4)
"""The same as numbers."""


class NBestStep(NamedTuple):
    """An update: which candidate to move away from, and whether by its local features only, (B)."""

    candidate: int
    local: bool


@by_reference
class DocumentExamples(NamedTuple):
    """What learning from documents needs."""

    chains: EncodedChains
    gold: Ints
    weights: Weights
    order: int
    labels: int
    work: Work
    trellis: Trellis
    z: Ints  # int64[tokens of a document]: scratch
    stats: Ints
    scheme: Scheme  # of the labels
    phrases: Phrases  # of the documents
    wanted: Flags  # bool[features]
    asked: int  # whether any is wanted
    g: Doubles2  # float64[2, features]: weights of non-local features, and their sums for the mean
    kinds: int  # classes of entities, and none
    candidates: int
    margin: float
    local_margin: float
    local_update: int
    local_updates: Ints  # int64[1]: counts (B), and updates by single sentences
    counts: Counts
    values: Doubles2  # float64[candidates + 1, features]: of each candidate, then of the correct labelling
    total: Doubles  # float64[candidates + 1]: their scores
    own: Ints  # int64[STATS]: scratch memory for the counts of sentences
    scratch: NBestScratch
    near: Near
    full: Ints  # int64[1]: whether the capacity for candidates has run out


def find_update(
    local: np.ndarray,
    total: np.ndarray,
    correct: tuple[int, float, float],
    margin: float,
    local_margin: float,
    local_update: str = "aggressive",
) -> NBestStep | None:
    """The update that the algorithms make, if any.

    local, total: scores of the candidates, best local score first, without and with non-local features.
    correct: the place of the correct labelling among them (-1: not there), and its two scores.
    """
    how = LOCAL_UPDATES.index(local_update)
    gold, gold_local, gold_total = correct
    right = (int(gold), float(gold_local), float(gold_total))
    choose = entry(choose_update)
    candidate, by_local = choose(local, total, len(local), right, float(margin), float(local_margin), how)
    return NBestStep(candidate, by_local) if candidate >= 0 else None


@helper
def two_best(total, count):
    """The first candidate with the highest score and the next best after it, -1 if there is none."""
    best, second = 0, -1
    for k in range(1, count):
        if total[k] > total[best]:
            best, second = k, best
        elif second < 0 or total[k] > total[second]:
            second = k
    return best, second


@helper
def choose_update(local, total, count, right, margin, local_margin, local_update):
    """`find_update` for the first `count` candidates: which of them, -1 for none, and whether by (B)."""
    gold, gold_local, gold_total = right
    best, second = two_best(total, count)
    if best != gold and gold_total - total[best] <= margin:
        return best, False
    if second >= 0 and gold_total - total[second] <= margin:
        return second, False
    if local_update > CONSERVATIVE or (local_update == CONSERVATIVE and gold >= 0):
        return -1, False
    if gold != 0:
        return 0, True
    if count > 1 and gold_local - local[1] <= local_margin:
        return 1, True
    return -1, False


@helper
def place_of(differences, count):
    """The place among `count` candidates of the one with the differences that stand after theirs, or -1."""
    ptr, at, label = differences.ptr, differences.at, differences.label
    first, size = ptr[count], ptr[count + 1] - ptr[count]
    for k in range(count):
        same = ptr[k + 1] - ptr[k] == size
        for d in range(size if same else 0):
            if at[ptr[k] + d] != at[first + d] or label[ptr[k] + d] != label[first + d]:
                same = False
                break
        if same:
            return k
    return -1


@helper
def note_gold(differences, count, y, best, tokens):
    """Enter the correct labels y as one more labelling; returns how many differences it has, or NO_ROOM."""
    used = first = differences.ptr[count]
    if used + tokens > differences.at.shape[0]:
        return np.int64(NO_CAPACITY)
    for i in range(tokens - 1, -1, -1):
        if y[i] != best[i]:
            differences.at[used], differences.label[used] = i, y[i]
            used += 1
    differences.ptr[count + 1] = used
    return used - first


@helper
def count_different(differences, k, y, z, wrong):
    """How many labels of labelling k are not those of y; z, the best one, has `wrong` others."""
    for d in range(differences.ptr[k], differences.ptr[k + 1]):
        i = differences.at[d]
        wrong += np.int64(differences.label[d] != y[i]) - np.int64(z[i] != y[i])
    return wrong


@helper
def score_candidates(features, given, e, best, count, right, silent):
    """given.total: the scores of the candidates of document e under all features, then that of the correct labelling;
    given.scratch.losses: under the local ones alone. right: that of the correct labelling."""
    g, values, total = given.g, given.values, given.total
    losses, differences = given.scratch.losses, given.scratch.differences
    if silent:
        for k in range(count + 1):
            for f in range(g.shape[1]):
                values[k, f] = 0.0
    else:
        ptr, at, label = differences.ptr, differences.at, differences.label
        features(given.scheme, given.phrases, e, best, ptr, at, label, count + 1, given.kinds, given.counts, values)
    for k in range(count + 1):
        losses[k] = -losses[k] if k < count else right
        total[k] = losses[k]
        added = 0.0
        for f in range(g.shape[1]):
            if given.wanted[f]:
                added += values[k, f] * g[0, f]
        total[k] += added


@helper
def learn_document(search, n_best, features, difference, correct, first, last, e, given):
    """Algorithm 4.1 or 4.2 for document e of sentences first … last-1; False: there is no room for all candidates.

    Where no labelling has non-local features, two candidates tell whether there is an update.
    """
    chains, gold, weights, order, labels = given.chains, given.gold, given.weights, given.order, given.labels
    work, trellis, z, stats, g, total = given.work, given.trellis, given.z, given.stats, given.g, given.total
    differences, losses, best = given.scratch.differences, given.scratch.losses, given.trellis.z
    origin, tokens = chains.starts[first], chains.starts[last] - chains.starts[first]
    y, by_sentences = gold[origin : origin + tokens], given.local_update == BY_SENTENCES
    silent = is_silent(given.phrases, e) or given.asked == 0
    n = min(given.candidates, 2) if silent and by_sentences else given.candidates
    score = fill_trellis(search, chains, weights, order, first, last, labels, work, trellis)
    count = n_best(chains, weights, first, last, n, score, trellis, given.scratch)
    wrong = note_gold(differences, count, y, best, tokens) if count != NO_CAPACITY else np.int64(NO_CAPACITY)
    if wrong == NO_CAPACITY:
        return False
    place = place_of(differences, count)
    right = -losses[place] if place >= 0 else 0.0
    if place < 0:
        right = difference(chains, weights, order, first, last, y, best, labels)
    score_candidates(features, given, e, best, count, right, silent)
    scores = (place, right, total[count])
    step, local = choose_update(losses, total, count, scores, given.margin, given.local_margin, given.local_update)
    wrong = count_different(differences, two_best(total, count)[0], y, best, wrong)
    stats[TIME] += 1
    stats[TOKENS] += tokens
    stats[WRONG_TOKENS] += wrong
    if step < 0:
        return True
    if not by_sentences:
        for i in range(tokens):
            z[i] = best[i]
        change(z, differences, step)
        correct(chains, gold, weights, order, first, last, z, labels, work, stats[TIME])
    for f in range(0 if local else g.shape[1]):
        if given.wanted[f]:
            amount = given.values[count, f] - given.values[step, f]
            g[0, f] += amount
            g[1, f] += amount * (stats[TIME] - 1)
    stats[UPDATES] += 1
    stats[NEAR] += wrong == 0
    given.local_updates[0] += local
    return True


@helper
def learn_sentences(
    search, second, correct, chains, gold, weights, order, first, last, labels, work, near, z, stats, own, margin
):
    """Algorithm 3.1 for every sentence of a document: the local features only. own: room for their counts."""
    for k in range(own.shape[0]):
        own[k] = 0
    own[TIME] = stats[TIME]
    for s in range(first, last):
        learn_example(
            search, second, correct, chains, gold, weights, order, s, s + 1, labels, work, near, z, own, margin
        )
    stats[TIME] = own[TIME]
    stats[UPDATES] += own[UPDATES]


def learn_documents(search, n_best, features, difference, second, correct, units, sequence, lo, hi, given):
    """One batch of a pass over documents, as `perceptron.learn`. given.full: whether it stopped for want of room for
    candidates."""
    chains, gold, weights, order, labels = given.chains, given.gold, given.weights, given.order, given.labels
    work, near, z, stats, own, margin = given.work, given.near, given.z, given.stats, given.own, given.local_margin
    given.full[0] = 0
    for k in range(lo, hi):
        e = sequence[k]
        begin, end = units[e], units[e + 1]
        if not has_capacity(chains, weights, chains.starts[begin], chains.starts[end]):
            return k
        if not learn_document(search, n_best, features, difference, correct, begin, end, e, given):
            given.full[0] = 1
            return k
        if given.local_update != BY_SENTENCES:
            continue
        learn_sentences(
            search, second, correct, chains, gold, weights, order, begin, end, labels, work, near, z, stats, own, margin
        )
        given.local_updates[0] += own[UPDATES]
    return hi


LEARN_DOCUMENTS = WithFunctionPointers(learn_documents, SEARCH, N_BEST, FEATURES, DIFFERENCE, SECOND, CORRECT)
LEARN_SENTENCES = WithFunctionPointers(plain(learn_sentences), SEARCH, SECOND, CORRECT)
