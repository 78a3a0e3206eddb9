"""Daumé & Marcu (2005): what the paper claims, and whether it holds here. `paper.toml` has the texts, and for claims
that one method is ahead of another which ones."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from structron.experiments.daume2005.outcome import (
    beams_of,
    grid_of,
    of,
    paired,
    sweep_of,
    theorem_trials,
    widest_margin,
)
from structron.experiments.daume2005.tasks import ALPHA, LASO, LASO_A, PAPER, TASKS
from structron.experiments.daume2005.theorem import bound_of
from structron.experiments.frame import Claim, Ledger, Sample, Verdict, ahead, mean, together, within
from structron.experiments.frame.verdict import MISSING, UNDECIDED

SUTTON = 93.9
"""Chunk F of the factorial CRF that the paper compares with."""
CLEAR, TOLERANCE = 2, 0.3
"""How many times longer is clearly longer; differences of F that seeds and the size of the data can make."""
Outcome = tuple[str, Verdict]
"""Our figures, and what they say."""
NOTHING: Outcome = ("–", Verdict(MISSING))


def claims(ledger: Ledger) -> Iterator[Claim]:
    """In the order of the paper."""
    outcomes = {
        "theorem1": bound_outcome(ledger, "perceptron"),
        "corollary3": error_outcome(ledger, "perceptron"),
        "theorem4": bound_outcome(ledger, "Theorem 4"),
        "corollary5": bound_outcome(ledger, "Corollary 5"),
        "corollary6": error_outcome(ledger, "Corollary 5"),
        "constants": sweep_outcome(ledger, others=True),
        "alpha": sweep_outcome(ledger),
        "enough": exact_outcome(ledger, "test"),
        "cost": exact_outcome(ledger, "seconds"),
        "passes": passes_outcome(ledger),
        "sutton": sutton_outcome(ledger),
        **grid_outcomes(ledger),
    }
    for name, entry in PAPER["claims"].items():
        shown, verdict = outcomes[name] if name in outcomes else ahead_outcome(ledger, entry["ahead"])
        yield Claim(entry["where"], entry["text"], entry["paper"], shown, verdict)


Pairs = Sequence[Sequence[Sequence[Any]]]
"""Of (task, method, beam)."""


def ahead_outcome(ledger: Ledger, pairs: Pairs) -> Outcome:
    """The first of every pair is better than the second on test data; beside it, where it was run, our LaSO's verdict,
    which does not count."""
    shown, verdict = compared(ledger, pairs)
    ours = [[(task, f"our {m}" if m in LASO else m, beam) for task, m, beam in pair] for pair in pairs]
    beside, other = compared(ledger, ours)
    if other.verdict != MISSING and any(method in LASO for pair in pairs for _, method, _ in pair):
        shown += f" (our LaSO: {beside}: {other})"
    return shown, verdict


def compared(ledger: Ledger, pairs: Pairs) -> Outcome:
    shown, verdicts = [], []
    for pair in pairs:
        own, other = (of(ledger, task, method, None if beam == "inf" else beam) for task, method, beam in pair)
        a, b = paired(own, other, "test")
        verdicts.append(ahead(a, b))
        shown.append(f"{a} against {b}" if a else "–")
    return "; ".join(shown), together(verdicts)


def bound_outcome(ledger: Ledger, steps: str) -> Outcome:
    """Corrections stay below a bound."""
    found = theorem_trials(ledger)
    if steps not in found:
        return NOTHING
    margin, one = widest_margin(found), found[steps]
    if margin is None:
        return f"{one['left']} left after {one['passes']} passes", Verdict(UNDECIDED, "not separated")
    bound = bound_of(steps, margin, one["step"])
    return f"{one['corrections']} ≤ {bound:.4g}, γ = {margin:.3e}", within(one["corrections"], high=bound)


def error_outcome(ledger: Ledger, steps: str) -> Outcome:
    """Errors on test data stay below a bound; above 1 it cannot be missed."""
    found = theorem_trials(ledger)
    margin = widest_margin(found)
    if steps not in found or margin is None:
        return NOTHING
    one = found[steps]
    bound, error = 2 / (one["sentences"] + 1) * bound_of(steps, margin, one["step"]), one["test_error"]
    verdict = Verdict(UNDECIDED, "the bound is above 1") if bound >= 1 else within(error, high=bound)
    return f"{error:.2f} ≤ {bound:.4g}", verdict


def sweep_outcome(ledger: Ledger, others: bool = False) -> Outcome:
    """How far apart the values of α are on dev data; others: how far the best B or C is ahead of the usual ones, with
    the first seed, which all have."""
    shown, verdicts = [], []
    for task in TASKS:
        own = {key: sample.scores[0] if others else sample.mean for key, sample in sweep_of(ledger, task).items()}
        scores = {key: score for key, score in own.items() if (key[0] == ALPHA if others else is_usual(key))}
        usual = [score for key, score in scores.items() if key[0] == ALPHA and is_usual(key)]
        if len(scores) > 1 and usual:
            low, high = usual[0] if others else min(scores.values()), max(scores.values())
            shown.append(f"{task} {low:.2f}{', best ' if others else ' to '}{high:.2f}")
            verdicts.append(within(high - low, high=TOLERANCE))
    return ("; ".join(shown), together(verdicts)) if shown else NOTHING


def is_usual(constants: Sequence[float]) -> bool:
    """B = 1/α and C = √2."""
    return bool(np.allclose(constants[1:], (1 / constants[0], np.sqrt(2)), atol=1e-3))


def exact_outcome(ledger: Ledger, figure: str) -> Outcome:
    """LaSO-A for segments, exact search and beam 5: F on test data, or the time of learning up to the best pass."""
    exact, beam = (of(ledger, "segments", LASO_A, beam) for beam in (None, 5))
    if not exact or not beam:
        return NOTHING
    if figure == "test":
        x, y = paired(exact, beam, figure)
        return f"{x} against {y}", within(x.mean - y.mean, high=TOLERANCE)
    longer, shorter = (mean([trial[figure] for trial in own]) for own in (exact, beam))
    return f"{longer:.0f} s against {shorter:.0f} s", within(longer / shorter, low=CLEAR, unit=" times")


def passes_outcome(ledger: Ledger) -> Outcome:
    """How soon LaSO-P and LaSO-A are at their best, all beams of the joint task."""
    found = [[t["best_pass"] for b in beams_of(ledger, "joint", m) for t in of(ledger, "joint", m, b)] for m in LASO]
    if not all(found):
        return NOTHING
    perceptron, alma = map(mean, found)
    return f"pass {alma:.1f} against {perceptron:.1f}", within(perceptron / alma, low=CLEAR, unit=" times")


def sutton_outcome(ledger: Ledger) -> Outcome:
    """LaSO-A at every beam, beside a published figure."""
    found = [Sample.of(of(ledger, "joint", LASO_A, beam)).mean for beam in beams_of(ledger, "joint", LASO_A)]
    verdicts = [within(round(score, 1), low=SUTTON) for score in found]
    return (", ".join(f"{score:.2f}" for score in found), together(verdicts)) if found else NOTHING


def grid_outcomes(ledger: Ledger) -> dict[str, Outcome]:
    """Table 3: one of the beams is 1, or both are 10 and more."""
    beams, grid = grid_of(ledger)
    if not {1, 5, 10} <= set(beams):
        return dict.fromkeys(("greedy_training", "greedy_testing", "wide"), NOTHING)
    one, five, wide = beams.index(1), beams.index(5), [k for k, beam in enumerate(beams) if beam >= 10]
    pairs = {
        "greedy_training": (grid[one][one], grid[one][five]),
        "greedy_testing": (grid[five][five], grid[five][one]),
    }
    found = {name: (f"{a} against {b}", ahead(a, b)) for name, (a, b) in pairs.items()}
    most = max(abs(grid[i][j].mean - grid[i][i].mean) for i in wide for j in wide)
    return found | {"wide": (f"{most:.2f} at most", within(most, high=TOLERANCE))}
