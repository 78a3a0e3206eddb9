"""Daumé & Marcu (2005): what the paper claims, and whether it holds here. `paper.toml` has the texts, and for claims
that one method is ahead of another which ones."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from structron.experiments.daume2005.outcome import (
    FIELD,
    RIVALS,
    as_printed,
    beams_of,
    grid_of,
    of,
    paired,
    part_size,
    sweep_of,
    theorem_trials,
    widest_margin,
)
from structron.experiments.daume2005.tasks import EXPECTED, LASO, LASO_A, OUR_LASO, PAPER, TASKS
from structron.experiments.daume2005.theorem import bound_of
from structron.experiments.frame import Claim, Ledger, Sample, Verdict, ahead, effects_of, level, mean, together, within
from structron.experiments.frame.statistics import student_interval
from structron.experiments.frame.verdict import MISSING, OURS, PAPERS, UNDECIDED, interval_of

SUTTON = 93.9
"""Chunk F of the factorial CRF that the paper compares with."""
LEVEL, GAIN, WIDE = 0.2, 0.1, 0.2
"""Differences of F that the paper calls small: over α (± 0.1), from exact search with LaSO-A, and
between testing beams in Table 3."""
SLOWER, SOONER = (20 * 60 + 12) / (2 * 60 + 4), 7 / 3
"""How many times as long the paper's exact search takes to train; the least ratio of passes in Table 2."""
AGAIN = ("exact", "inexact", "joint_laso")
"""Claims about LaSO that are judged once more with our version of eq. (2)."""
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
        "alpha": sweep_outcome(ledger),
        "enough": exact_outcome(ledger, "test"),
        "cost": exact_outcome(ledger, "seconds"),
        "semicrf": likelihood_outcome(ledger),
        "expectation": expectation_outcome(ledger),
        "passes": passes_outcome(ledger),
        "sutton": sutton_outcome(ledger),
        **grid_outcomes(ledger),
    }
    for name, entry in PAPER["claims"].items():
        shown, verdict = outcomes[name] if name in outcomes else compared(ledger, entry)
        yield Claim(entry["where"], entry["text"], entry["paper"], shown, verdict, entry.get("kind", PAPERS), name)
    for name in AGAIN:
        entry = PAPER["claims"][name]
        pairs = entry["ahead"]
        ours = [[(task, f"our {m}" if m in LASO else m, beam) for task, m, beam in pair] for pair in pairs]
        shown, verdict = compared(ledger, {"ahead": ours, "paper": ""}, merged=True)
        if verdict.verdict != MISSING and any(method in OUR_LASO for pair in ours for _, method, _ in pair):
            text = entry["text"].replace("LaSO-", "our LaSO-")
            yield Claim(entry["where"], text, "", shown, verdict, OURS, f"our {name}")


def compared(ledger: Ledger, entry: Mapping[str, Any], merged: bool = False) -> Outcome:
    """The first of every pair of (task, method, beam) is better than the second on test data. merged: states are in any
    case; else only where there are no others."""
    shown, verdicts, pairs = [], [], entry["ahead"]
    for pair, paper in zip_longest(pairs, effects_of(entry["paper"])):
        if merged:
            found = [of(ledger, task, method, None if beam == "inf" else beam) for task, method, beam in pair]
        else:
            found, merged_here = as_printed(ledger, pair)
        a, b = paired(found[0], found[1], "test")
        at = "exact" if pair[0][2] == "inf" else f"beam {pair[0][2]}"
        name = "" if len(pairs) == 1 else f"{pair[0][1]}, {at}"
        if not merged and merged_here:
            name = f"{name}, merged".lstrip(", ")
        verdicts.append(ahead(a, b, paper, name))
        shown.append(f"{a} against {b}" if a else "–")
    return "; ".join(shown), together(verdicts)


def bound_outcome(ledger: Ledger, steps: str) -> Outcome:
    """Corrections stay below a bound."""
    found = theorem_trials(ledger)
    if steps not in found:
        return NOTHING
    margin, one = widest_margin(found), found[steps]
    if margin is None:
        return f"{one['left']} left after {one['passes']} passes", Verdict(UNDECIDED, note="not separated")
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
    verdict = Verdict(UNDECIDED, note="the bound is above 1") if bound >= 1 else within(error, high=bound)
    return f"{error:.2f} ≤ {bound:.4g}", verdict


def sweep_outcome(ledger: Ledger) -> Outcome:
    """How far apart the best and the worst α are on dev data."""
    shown, verdicts = [], []
    for task in TASKS:
        own = {key: one for key, one in sweep_of(ledger, task).items() if is_usual(key)}
        if len(own) > 1:
            best, least = (choose(own, key=lambda key: own[key].mean) for choose in (max, min))
            shown.append(f"{task} {own[best].mean:.2f} against {own[least].mean:.2f}")
            (effect,) = ahead(own[best], own[least], name=task).effects
            verdicts.append(within(effect.value, high=LEVEL, interval=effect.ends, name=effect.name))
    return ("; ".join(shown), together(verdicts)) if shown else NOTHING


def is_usual(constants: Sequence[float]) -> bool:
    """B = 1/α and C = √2."""
    return bool(np.allclose(constants[1:], (1 / constants[0], np.sqrt(2)), atol=1e-3))


def exact_outcome(ledger: Ledger, figure: str) -> Outcome:
    """LaSO-A for segments, exact search and beam 5: F on test data, or the time of learning up to the best pass."""
    wanted = [("segments", LASO_A, beam) for beam in ("inf", 5)]
    (exact, beam), merged = as_printed(ledger, wanted)
    if not exact or not beam:
        return NOTHING
    if figure == "test":
        x, y = paired(exact, beam, figure)
        return f"{x} against {y}", level(x, y, GAIN, name="merged" * merged)
    pair = [of(ledger, "segments", LASO_A, width) for width in (None, 5)]  # both merged, with one clock
    longer, shorter = (mean([trial[figure] for trial in own]) for own in pair)
    return f"{longer:.0f} s against {shorter:.0f} s", within(longer / shorter, low=SLOWER, unit=" times")


def likelihood_outcome(ledger: Ledger) -> Outcome:
    """Rivals of the semi-Markov CRF, from as many sentences."""
    field = ledger.of(FIELD)
    sizes = [trial["sentences"] for trial in field]
    if not field:
        return NOTHING
    shown, verdicts = [], []
    known = effects_of(PAPER["claims"]["semicrf"]["paper"])
    for (method, beam), paper in zip(RIVALS, known, strict=True):
        a, b = paired(of(ledger, "segments", method, beam, sentences=sizes[0]), field, "test")
        verdicts.append(ahead(a, b, paper, f"{method}, {'exact' if beam is None else f'beam {beam}'}"))
        shown.append(f"{a} against {b}" if a else "–")
    return "; ".join(shown), together(verdicts)


def expectation_outcome(ledger: Ledger) -> Outcome:
    """Exact LaSO-P by forward-backward against the perceptron, from a part of the data."""
    size = part_size(ledger)
    new, old = (of(ledger, "segments", method, None, sentences=size) for method in (EXPECTED, "perceptron"))
    a, b = paired(new, old, "test")
    return f"{a} against {b}" if a else "–", ahead(a, b)


def passes_outcome(ledger: Ledger) -> Outcome:
    """How soon LaSO-P and LaSO-A are at their best, all beams of the joint task; the interval is over beams."""
    beams = beams_of(ledger, "joint", LASO_A)
    pairs = [as_printed(ledger, [("joint", method, beam) for method in LASO])[0] for beam in beams]
    means = [[mean([trial["best_pass"] for trial in own]) for own in pair] for pair in pairs if all(pair)]
    if not means:
        return NOTHING
    perceptron, alma = (mean([pair[k] for pair in means]) for k in (0, 1))
    found = student_interval([math.log(a / b) for a, b in means])
    ends = None if found is None else (math.exp(found[0]), math.exp(found[1]))
    verdict = within(perceptron / alma, low=SOONER, unit=" times", interval=ends)
    return f"pass {alma:.1f} against {perceptron:.1f}", verdict


def sutton_outcome(ledger: Ledger) -> Outcome:
    """LaSO-A at every beam, beside a published figure."""
    found = {}
    for beam in beams_of(ledger, "joint", LASO_A):
        (trials,), merged = as_printed(ledger, [("joint", LASO_A, beam)])
        found[f"beam {beam}{', merged' * merged}"] = Sample.of(trials)
    verdicts = [within(one.mean, low=SUTTON, interval=interval_of(one), name=name) for name, one in found.items()]
    return (", ".join(f"{one.mean:.2f}" for one in found.values()), together(verdicts)) if found else NOTHING


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
    known = {name: effects_of(PAPER["claims"][name]["paper"])[0] for name in pairs}
    found = {name: (f"{a} against {b}", ahead(a, b, known[name], "merged")) for name, (a, b) in pairs.items()}
    pairs_of_beams = [(grid[i][j], grid[i][i]) for i in wide for j in wide if i != j]
    if not pairs_of_beams:
        return found | {"wide": NOTHING}
    a, b = max(pairs_of_beams, key=lambda pair: abs(pair[0].mean - pair[1].mean))
    return found | {"wide": (f"{abs(a.mean - b.mean):.2f} at most", level(a, b, WIDE, name="merged"))}
