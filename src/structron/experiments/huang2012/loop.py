"""Huang, Fayong & Guo (2012), Figure 1: standard updates under greedy search that never end, though data are separable.

    x = fruit flies fly .    y = N N V .    Y(x) = {N} × {N, V} × {N, V} × {.}    Φ = (#N→N, #V→.)

Everything is computed by the beam engine: the four functions below are the problem, Δ is what an update changed.
"""

from pathlib import Path
from typing import Any

import numpy as np

from structron.search.beam.problem import SearchProblem
from structron.tasks.own.beam import BeamLearner

ACTIONS = "NV."
GOLD, FIRST = "NNV.", "NNN."
"""The correct labels, and those that are found while all weights are 0: the first that are legal."""
PLACE, LAST = 1, 2
ITERATIONS = 30
"""Enough to see that a loop has no end: weights repeat but for a growing number."""
SEPARATOR = (1, 2)
SETTINGS: tuple[tuple[str, int | None, str], ...] = (
    ("greedy, standard", 1, "standard"),
    ("exact, standard", None, "standard"),
    ("beam 2, early", 2, "early"),
    ("greedy, early", 1, "early"),
)


def start(x, table, states, s):
    states[s, PLACE] = 0
    states[s, LAST] = 0


def legal(x, table, states, s, out):
    """N first, N or V in the middle, the full stop at the end."""
    place, last = states[s, PLACE], x.shape[0] - 1
    count = 0
    if place == last:
        out[0] = 2
        count = 1
    elif place < last:
        out[0] = 0
        out[1] = 1
        count = 1 if place == 0 else 2
    return count


def advance(x, table, states, s, action, t):
    states[t, PLACE] = states[s, PLACE] + 1
    states[t, LAST] = action + 1


def atoms(x, table, states, s, out):
    """Each atom is there where its feature can fire: after N before the end, after V at the end."""
    place, label, last = states[s, PLACE], states[s, LAST], x.shape[0] - 1
    out[0] = 0 if label == 1 and place < last else -1
    out[1] = 0 if label == 2 and place == last else -1
    out[2] = label


def problem() -> SearchProblem:
    """Weights for N after N and for the full stop after V; none at all for V."""
    return SearchProblem(
        actions=list(ACTIONS),
        width=3,
        start=start,
        legal=legal,
        advance=advance,
        atoms=atoms,
        atom_names={"after N": 1, "after V": 1, "label": 4},
        templates=["after N", "after V"],
        parts=[[0], [-1], [1]],
        always=["label"],
        max_steps=lambda n: n,
        name="figure 1",
    )


def iterate(beam: int | None, update: str, iterations: int = ITERATIONS) -> list[dict[str, Any]]:
    """What happens in each iteration over the one example, until one without an update.

    Before the first all weights are 0, as they stay when the search finds at once what it is told is correct.
    """
    x = np.zeros((len(GOLD), 1), np.int64)
    learner = BeamLearner(problem(), beam=beam, update=update, average="none", passes=1).fit([(x, list(FIRST))])
    found = []
    for _ in range(iterations):
        z, before = "".join(learner.predict([x])[0]), weights(learner)
        learner.partial_fit([(x, list(GOLD))])
        w, counts = weights(learner), learner.history_[-1]
        delta = (w[0] - before[0], w[1] - before[1])
        record = {"z": z, "delta": delta, "product": before[0] * delta[0] + before[1] * delta[1], "w": w}
        found.append(record | {"updated": counts["updates"] > 0, "valid": counts["invalid"] == 0})
        if not counts["updates"]:
            break
    return found


def weights(learner: BeamLearner) -> tuple[int, int]:
    """(w of N→N, w of V→.)"""
    n_to_n, v_to_dot = (sum(own.weight for own in learner.inspect(action).labels[action]) for action in "N.")
    return int(n_to_n), int(v_to_dot)


def features(z: str) -> tuple[int, int]:
    """Φ = (#N→N, #V→.)"""
    return z.count("NN") + z.count("NNN"), z.count("V.")


def figure1(data: Path | None) -> dict[str, Any]:
    """Figure 1 beside what heals it: exact search, and updates that are violations; and the margin of u = (1, 2)."""
    n_to_n, v_to_dot = features(GOLD)
    wrong = [features(z) for z in ("NNN.", "NVN.", "NVV.")]
    margins = [SEPARATOR[0] * (n_to_n - a) + SEPARATOR[1] * (v_to_dot - b) for a, b in wrong]
    return {"margin": min(margins), "settings": {name: iterate(beam, update) for name, beam, update in SETTINGS}}
