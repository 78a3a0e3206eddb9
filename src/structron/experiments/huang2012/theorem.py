"""Huang, Fayong & Guo (2012), Theorems 1, 2, 4, 5 and 6, executed: no more than R²/δ² updates on separable data.

Short sentences of toy English with a handful of tags, so that every confusion set can be written out: Φ counts words
with their tags and pairs of tags.

    C_s: whole wrong outputs      C_g: prefixes whose last tag alone is wrong      C_b: prefixes that are wrong anywhere
"""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from structron.data.toy_english import toy_english
from structron.experiments.huang2012.loop import LAST, PLACE, advance, start
from structron.search.beam.problem import SearchProblem
from structron.tasks.own.beam import BeamLearner

TAGS = "NVDo"
"""Nouns, verbs, what stands before nouns, and the rest: by the first letter of Penn tags."""
LETTERS = {"N": "N", "E": "N", "V": "V", "M": "V", "D": "D", "J": "D", "C": "D", "P": "D"}
STEPS = 400
SETTINGS: tuple[tuple[str, str, int | None, str], ...] = (
    ("Theorem 1: exact search, standard", "C_s", None, "standard"),
    ("Theorem 4: greedy search, early", "C_g", 1, "early"),
    ("Theorem 6: beam 2, early", "C_b", 2, "early"),
    ("Theorem 2: greedy search, max-violation", "C_b", 1, "max-violation"),
    ("Theorem 2: beam 2, max-violation", "C_b", 2, "max-violation"),
    ("Theorem 2: beam 2, latest", "C_b", 2, "latest"),
    ("Theorem 2: beam 2, hybrid", "C_b", 2, "hybrid"),
    ("Theorem 2: beam 2, laso", "C_b", 2, "laso"),
)
"""What is trained, and the confusion set that its violations are from."""


def legal(x, table, states, s, out):
    """Any tag for every word."""
    if states[s, PLACE] == x.shape[0]:
        return 0
    for tag in range(table[0]):
        out[tag] = tag
    return table[0]


def atoms(x, table, states, s, out):
    place = states[s, PLACE]
    out[0] = x[place, 0] if place < x.shape[0] else -1
    out[1] = states[s, LAST]


def problem(words: int) -> SearchProblem:
    return SearchProblem(
        actions=list(TAGS),
        width=3,
        start=start,
        legal=legal,
        advance=advance,
        atoms=atoms,
        atom_names={"word": words, "last": len(TAGS) + 1},
        templates=["word", "last"],
        table=[len(TAGS)],
        max_steps=lambda n: n,
        name="tagging",
    )


def make_data(seed: int, sentences: int, longest: int) -> tuple[list[tuple[list[int], list[int]]], int]:
    """Sentences as numbers of words and of tags, no two of the same words; and how many words there are."""
    numbers: dict[str, int] = {}
    data: dict[tuple[int, ...], list[int]] = {}
    for sentence in toy_english(200 * sentences, seed):
        if len(data) < sentences and len(sentence.words) <= longest:
            words = tuple(numbers.setdefault(word.lower(), len(numbers)) for word in sentence.words)
            data.setdefault(words, [TAGS.index(LETTERS.get(tag[0], "o")) for tag in sentence.pos])
    return [(list(words), tags) for words, tags in data.items()], len(numbers)


def features(words: list[int], outputs: np.ndarray, size: int) -> np.ndarray:
    """Φ of prefixes of one length, a row each."""
    count, length, tags = len(outputs), outputs.shape[1], len(TAGS)
    before = np.concatenate([np.zeros((count, 1), int), outputs + 1], axis=1)[:, :length]
    phi, rows = np.zeros((count, (size + tags + 1) * tags)), np.arange(count)[:, None]
    np.add.at(phi, (rows, np.array(words[:length]) * tags + outputs), 1)
    np.add.at(phi, (rows, (size + before) * tags + outputs), 1)
    return phi


def confusions(data: list[tuple[list[int], list[int]]], size: int) -> dict[str, np.ndarray]:
    """ΔΦ of every triple of the three confusion sets (Definitions 1, 5 and 7), each once."""
    found: dict[str, list[np.ndarray]] = {"C_s": [], "C_g": [], "C_b": []}
    for words, tags in data:
        for length in range(1, len(words) + 1):
            outputs, gold = np.array(list(product(range(len(TAGS)), repeat=length))), np.array(tags[:length])
            wrong = (outputs != gold).any(axis=1)
            last = wrong & (outputs[:, :-1] == gold[:-1]).all(axis=1)
            delta = features(words, gold[None], size) - features(words, outputs, size)
            for name, taken in (("C_s", wrong & (length == len(words))), ("C_g", last), ("C_b", wrong)):
                found[name].append(delta[taken])
    return {name: np.unique(np.concatenate(own), axis=0) for name, own in found.items()}


def separation(triples: np.ndarray) -> tuple[np.ndarray, float]:
    """(a unit vector u, its margin min u·ΔΦ): nearly the largest margin there is, or none above 0.

    Gilbert's algorithm: the point of the convex hull of all ΔΦ that is nearest to 0 is δ(S) u.
    """
    point = triples[np.argmin((triples**2).sum(axis=1))].astype(float)
    for _ in range(STEPS):
        step = triples[np.argmin(triples @ point)] - point
        if (length := step @ step) == 0 or point @ point + point @ step >= (1 - 1e-4) * (point @ point):
            break
        point = point + np.clip(-(point @ step) / length, 0, 1) * step
    u = point / max(float(np.linalg.norm(point)), 1e-12)
    return u, float((triples @ u).min())


def bounds(data: Path | None, *, seed: int, sentences: int = 12, longest: int = 5) -> dict[str, Any]:
    """Updates until none is left, beside the bound, for each setting whose confusion set can be separated."""
    examples, size = make_data(seed, sentences, longest)
    sets, found, own = confusions(examples, size), [], problem(size)
    separators = {name: separation(triples) for name, triples in sets.items()}
    rows = [(np.array(words)[:, None], [TAGS[tag] for tag in tags]) for words, tags in examples]
    for name, kind, beam, update in SETTINGS:
        radius, margin = float(np.linalg.norm(sets[kind], axis=1).max()), separators[kind][1]
        if margin > 0:
            learner = BeamLearner(own, beam=beam, update=update, average="none", passes=1000).fit(rows)
            counts = {key: sum(record[key] for record in learner.history_) for key in ("updates", "invalid")}
            ended = learner.stopped_ == "converged"
            scenario = {"name": name, "R": radius, "delta": margin, "bound": (radius / margin) ** 2, "ended": ended}
            found.append(scenario | counts)
    u = separators["C_b"][0]
    implied = {name: float((triples @ u).min()) for name, triples in sets.items()}
    return {"scenarios": found, "margins": {name: pair[1] for name, pair in separators.items()}, "implied": implied}
