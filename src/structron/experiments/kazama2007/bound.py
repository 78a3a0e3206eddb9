"""Kazama & Torisawa (2007), section 4.3: how many updates Algorithm 4.2 makes on separable data, against the bound.

    k ≤ (2C + R²) / δ²

    Φˡ(x_i, y_i)·Uˡ - Φˡ(x_i, y)·Uˡ ≥ δ     for all i and all y ≠ y_i; ‖Uˡ‖ = 1, and Uˡ has local features only
    ‖Φᵃ(x_i, y_i) - Φᵃ(x_i, y)‖ ≤ R         for all i and all y; Φᵃ has the local and the non-local features

After that the correct labelling is before every other of the n best by at least γ' ≥ δ·C / (2C + R²), for weights of
length 1.
"""

import math
from typing import Any

import numpy as np

from structron.experiments.frame.tiny import labellings, longest, phi, separator
from structron.tasks.chain.labeler import Tagger
from structron.text.sentences import Document

LABELS, WORDS = 2, 6


def bound(margin: float, radius: float, delta: float) -> float:
    """The most updates; margin: C."""
    return (2 * margin + radius**2) / delta**2


def least_margin(margin: float, radius: float, delta: float) -> float:
    """What the margin γ' is at least when there are no more updates."""
    return delta * margin / (2 * margin + radius**2)


def agreement(document: Any, labels: Any) -> dict[str, float]:
    """The non-local features: of every two equal words of different sentences, whether their labels agree."""
    found = {"agree": 0.0, "differ": 0.0}
    rows = [(s, token, label) for s, row in enumerate(labels) for token, label in zip(document[s], row, strict=True)]
    for k, (s, token, label) in enumerate(rows):
        for t, other, name in rows[:k]:
            if s != t and token[0] == other[0]:
                found["agree" if label == name else "differ"] += 1
    return found


def make_documents(count: int, seed: int) -> list[list[list[int]]]:
    """Documents of two sentences, as words. What the label of a word is depends on the word: they can be separated."""
    rng = np.random.default_rng(seed)
    return [[rng.integers(WORDS, size=int(rng.integers(1, 4))).tolist() for _ in range(2)] for _ in range(count)]


def right_label(word: int) -> int:
    return word % LABELS


def vectors(document: list[list[int]], labelling: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Φˡ and Φᵃ of a labelling of all words of a document."""
    cut = len(document[0])
    parts = (labelling[:cut], labelling[cut:])
    each = [phi(words, part, WORDS, LABELS) for words, part in zip(document, parts, strict=True)]
    local = np.sum(each, axis=0)
    shared = agreement([[(word,) for word in words] for words in document], parts)
    return local, np.concatenate([local, [shared["agree"], shared["differ"]]])


def differences(documents: list[list[list[int]]]) -> tuple[np.ndarray, np.ndarray]:
    """ΔΦˡ and ΔΦᵃ of every wrong labelling of every document, a row each."""
    rows: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for document in documents:
        words = [word for sentence in document for word in sentence]
        gold = tuple(map(right_label, words))
        right = vectors(document, gold)
        for labelling in labellings(len(words), LABELS):
            if labelling != gold:
                for own, y, z in zip(rows, right, vectors(document, labelling), strict=True):
                    own.append(y - z)
    return np.stack(rows[0]), np.stack(rows[1])


def check(documents: int = 8, margin: float = 10.0, candidates: int = 4, seed: int = 1) -> dict[str, Any]:
    """Algorithm 4.2 until no update is left, on generated documents; all figures of the bound by enumeration."""
    made = make_documents(documents, seed)
    local, total = differences(made)
    delta, radius = float((local @ separator(local)).min()), longest(total)
    rows = [Document([[[f"w{word}", f"L{right_label(word)}"] for word in s] for s in document]) for document in made]
    own: dict[str, Any] = {"templates": ["w[0]"], "order": 1, "average": "none", "runs": 1, "shuffle": False}
    how: dict[str, Any] = {"candidates": candidates, "test_candidates": candidates, "local_update": "aggressive"}
    tagger = Tagger(passes=10_000, margin=margin, non_local=[agreement], **own, **how).fit(rows)
    updates = sum(record["updates"] for record in tagger.history_)
    size = float(np.sqrt((tagger.model_.w.astype(float) ** 2).sum() + (tagger.model_.g**2).sum()))
    lists = [found for found in tagger.nbest(rows, candidates) if len(found) > 1]
    reached = min((found[0][1] - found[1][1] for found in lists), default=math.inf) / size
    most, least = bound(margin, radius, delta), least_margin(margin, radius, delta)
    converged = tagger.stopped_ == "converged" and tagger.score(rows) == 100.0
    return {
        "updates": updates,
        "local_updates": sum(record["local_updates"] for record in tagger.history_),
        "passes": len(tagger.history_),
        "C": margin,
        "R": radius,
        "delta": delta,
        "bound": most,
        "margin": reached if lists else None,
        "least_margin": least,
        "holds": bool(converged and delta > 0 and updates <= most and reached >= least),
    }
