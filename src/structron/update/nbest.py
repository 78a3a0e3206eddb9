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

from structron.features.phrases import is_silent, non_local_features
from structron.kernels.jit import compiled
from structron.search.chain.kbest import FIRST_ROOM, change, make_differences, n_best, room_for
from structron.search.chain.scores import load_all, score_difference
from structron.update.margin import learn_example
from structron.update.perceptron import NEAR, TIME, TOKENS, UPDATES, WRONG_TOKENS, correct, has_room

SENTENCES = "sentences"
LOCAL_UPDATES = ("aggressive", "conservative", "none", SENTENCES)
AGGRESSIVE, CONSERVATIVE, _, BY_SENTENCES = range(4)
"""The same as numbers."""


class Step(NamedTuple):
    """An update: which candidate to move away from, and whether by its local features only, (B)."""

    candidate: int
    local: bool


class Documents(NamedTuple):
    """What learning from documents has beside chains and weights."""

    scheme: object  # of the labels (features/phrases.py)
    phrases: object  # of the documents
    wanted: np.ndarray  # bool[features]
    g: np.ndarray  # float64[2, features]: weights of non-local features, and their sums for the mean
    kinds: int  # classes of entities, and none
    candidates: int
    margin: float
    local_margin: float
    local_update: int
    local_updates: np.ndarray  # int64[1]: counts (B), and updates by single sentences


def find_update(
    local: np.ndarray,
    total: np.ndarray,
    correct: tuple[int, float, float],
    margin: float,
    local_margin: float,
    local_update: str = "aggressive",
) -> Step | None:
    """The update that the algorithms make, if any.

    local, total: scores of the candidates, best local score first, without and with non-local features.
    correct: the place of the correct labelling among them (-1: not there), and its two scores.
    """
    how = LOCAL_UPDATES.index(local_update)
    gold, gold_local, gold_total = correct
    right = (int(gold), float(gold_local), float(gold_total))
    candidate, by_local = choose_update(local, total, len(local), right, float(margin), float(local_margin), how)
    return Step(candidate, by_local) if candidate >= 0 else None


@compiled
def two_best(total, count):
    """The first candidate with the highest score and the next best after it, -1 if there is none."""
    best, second = 0, -1
    for k in range(1, count):
        if total[k] > total[best]:
            best, second = k, best
        elif second < 0 or total[k] > total[second]:
            second = k
    return best, second


@compiled
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


@compiled
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


@compiled
def note_gold(differences, count, y, best, tokens):
    """Enter the correct labels y as one more labelling; returns the differences and how many y has."""
    used = differences.ptr[count]
    differences = room_for(differences, used, tokens)
    first = used
    for i in range(tokens - 1, -1, -1):
        if y[i] != best[i]:
            differences.at[used], differences.label[used] = i, y[i]
            used += 1
    differences.ptr[count + 1] = used
    return differences, used - first


@compiled
def count_different(differences, k, y, z, wrong):
    """How many labels of labelling k are not those of y; z, the best one, has `wrong` others."""
    for d in range(differences.ptr[k], differences.ptr[k + 1]):
        i = differences.at[d]
        wrong += np.int64(differences.label[d] != y[i]) - np.int64(z[i] != y[i])
    return wrong


@compiled
def learn_document(chains, gold, weights, order, first, last, e, labels, work, trellis, z, stats, given, differences):
    """Algorithm 4.1 or 4.2 for document e of sentences first … last-1; returns `differences`, perhaps with more room.

    Where no labelling has non-local features, two candidates tell whether there is an update.
    """
    origin, tokens = chains.starts[first], chains.starts[last] - chains.starts[first]
    y, by_sentences, g = gold[origin : origin + tokens], given.local_update == BY_SENTENCES, given.g
    silent = is_silent(given.phrases, e) or not given.wanted.any()
    n = min(given.candidates, 2) if silent and by_sentences else given.candidates
    losses = np.empty(n + 1)
    count, _, differences = n_best(chains, weights, order, first, last, labels, n, work, trellis, losses, differences)
    best = trellis.z[:tokens]
    differences, wrong = note_gold(differences, count, y, best, tokens)
    place = place_of(differences, count)
    right = -losses[place] if place >= 0 else 0.0
    if place < 0:
        right = score_difference(chains, weights, order, first, last, y, best, labels)
    values = np.zeros((count + 1, g.shape[1]))
    total = np.empty(count + 1)
    if not silent:
        changes = (differences.ptr, differences.at, differences.label)
        non_local_features(given.scheme, given.phrases, e, best, *changes, count + 1, given.kinds, values)
    for k in range(count + 1):
        losses[k] = -losses[k] if k < count else right
        total[k] = losses[k]
        added = 0.0
        for f in range(g.shape[1]):
            if given.wanted[f]:
                added += values[k, f] * g[0, f]
        total[k] += added
    scores = (place, right, total[count])
    step, local = choose_update(losses, total, count, scores, given.margin, given.local_margin, given.local_update)
    wrong = count_different(differences, two_best(total, count)[0], y, best, wrong)
    stats[TIME] += 1
    stats[TOKENS] += tokens
    stats[WRONG_TOKENS] += wrong
    if step < 0:
        return differences
    if not by_sentences:
        z[:tokens] = best
        change(z, differences, step)
        correct(chains, gold, weights, order, first, last, z, labels, work, stats[TIME])
    for f in range(0 if local else g.shape[1]):
        if given.wanted[f]:
            amount = values[count, f] - values[step, f]
            g[0, f] += amount
            g[1, f] += amount * (stats[TIME] - 1)
    stats[UPDATES] += 1
    stats[NEAR] += wrong == 0
    given.local_updates[0] += local
    return differences


@compiled
def learn_documents(chains, units, gold, weights, order, sequence, lo, hi, labels, work, trellis, z, stats, given):
    """One stretch of a pass over documents, as `perceptron.learn`."""
    load_all(weights, order, labels, work)
    differences = make_differences(given.candidates, FIRST_ROOM)
    near, own = np.empty_like(work.z), np.zeros_like(stats)
    for k in range(lo, hi):
        e = sequence[k]
        first, last = units[e], units[e + 1]
        if not has_room(chains, weights, chains.starts[first], chains.starts[last]):
            return k
        differences = learn_document(
            chains, gold, weights, order, first, last, e, labels, work, trellis, z, stats, given, differences
        )
        if given.local_update == BY_SENTENCES:
            learn_sentences(
                chains, gold, weights, order, first, last, labels, work, z, near, stats, own, given.local_margin
            )
            given.local_updates[0] += own[UPDATES]
    return hi


@compiled
def learn_sentences(chains, gold, weights, order, first, last, labels, work, z, near, stats, own, margin):
    """Algorithm 3.1 for every sentence of a document: the local features only. own: room for their counts."""
    own[:] = 0
    own[TIME] = stats[TIME]
    for s in range(first, last):
        learn_example(chains, gold, weights, order, s, s + 1, labels, work, z, near, own, margin)
    stats[TIME] = own[TIME]
    stats[UPDATES] += own[UPDATES]
