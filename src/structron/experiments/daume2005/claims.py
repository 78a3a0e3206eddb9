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
    main_size,
    of,
    paired,
    part_size,
    sweep_trials,
    theorem_trials,
    widest_margin,
)
from structron.experiments.daume2005.tasks import EXPECTED, LASO, LASO_A, OUR_LASO, PAPER, TASKS
from structron.experiments.daume2005.theorem import bound_of
from structron.experiments.frame import (
    Claim,
    Ledger,
    Sample,
    Trial,
    Verdict,
    ahead,
    effects_of,
    level,
    mean,
    together,
    within,
)
from structron.experiments.frame.statistics import student_interval
from structron.experiments.frame.verdict import MISSING, OURS, PAPERS, UNDECIDED, interval_of

SUTTON = 93.9
"""Chunk F of the factorial CRF that the paper compares with."""
LEVEL, GAIN, WIDE, WIDEST = 0.2, 0.1, 0.2, 10
"""Differences of F that the paper calls small: over α (± 0.1), from exact search with LaSO-A, and
between testing beams in Table 3, from WIDEST on."""
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
        "enough": enough_outcome(ledger),
        "cost": cost_outcome(ledger),
        "semicrf": likelihood_outcome(ledger),
        "expectation": expectation_outcome(ledger),
        "passes": passes_outcome(ledger),
        "sutton": sutton_outcome(ledger),
        **grid_outcomes(ledger),
    }
    for name, entry in PAPER["claims"].items():
        shown, verdict = outcomes[name] if name in outcomes else compared(ledger, entry)
        text = entry["text"].replace("{sentences}", f"{expectation_size(ledger):g}")
        yield Claim(entry["where"], text, entry["paper"], shown, verdict, entry.get("kind", PAPERS), name)
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
    case; else what was trained only so decides nothing."""
    shown, verdicts, pairs = [], [], entry["ahead"]
    for pair, paper in zip_longest(pairs, effects_of(entry["paper"])):
        if merged:
            found, only_merged = [of(ledger, task, method, beam_of(beam)) for task, method, beam in pair], False
        else:
            found, only_merged = as_printed(ledger, pair)
        a, b = paired(found[0], found[1], "test")
        at = "exact" if pair[0][2] == "inf" else f"beam {pair[0][2]}"
        name = "" if len(pairs) == 1 else f"{pair[0][1]}, {at}"
        verdicts.append(unfit(a, at) if only_merged else ahead(a, b, paper, name))
        shown.append(f"{a} against {b}" if a else "–")
    return "; ".join(shown), together(verdicts)


def beam_of(name: Any) -> int | None:
    return None if name == "inf" else name


def unfit(found: Sample, at: str) -> Verdict:
    """Of trainings that merge states, where the paper's search does not."""
    return Verdict(UNDECIDED, note=f"{at}: only merged") if found else Verdict(MISSING)


def bound_outcome(ledger: Ledger, steps: str) -> Outcome:
    """Corrections stay below a bound."""
    found = theorem_trials(ledger)
    if steps not in found:
        return NOTHING
    margin, one = widest_margin(found), found[steps]
    if margin is None:
        return f"{one['left']} left after {one['passes']} passes", Verdict(UNDECIDED, note="not separated")
    bound = bound_of(steps, margin, one["step"])
    return f"{one['corrections']} ≤ {bound:.4g}, γ = {margin:.3e}", within(
        one["corrections"], high=bound, unit=" corrections"
    )


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
    """The greater half of the values of α against the smaller, in the mean over all their trainings, on dev data: the
    best against the worst of several would differ by chance."""
    shown, verdicts = [], []
    for task in TASKS:
        trials = sorted(sweep_trials(ledger, task), key=lambda trial: (trial["constants"][0], trial["seed"]))
        own = [trial for trial in trials if is_usual(trial["constants"])]
        values = sorted({trial["constants"][0] for trial in own})
        middle, half = len(values) // 2, len(own) // 2
        if len(values) > 1 and len(values) % 2 == 0 and own[half - 1]["constants"][0] == values[middle - 1]:
            low, high = (pooled(part) for part in (own[:half], own[half:]))
            shown.append(f"{task} {high} against {low}")
            verdicts.append(level(high, low, LEVEL, " points", task))
    return ("; ".join(shown), together(verdicts)) if shown else NOTHING


def pooled(trials: Sequence[Trial]) -> Sample:
    """Trainings with different constants as if they were seeds of one."""
    return Sample([trial["dev"] for trial in trials], np.sum([trial["dev_blocks"] for trial in trials], axis=0))


def is_usual(constants: Sequence[float]) -> bool:
    """B = 1/α and C = √2."""
    return bool(np.allclose(constants[1:], (1 / constants[0], np.sqrt(2)), atol=1e-3))


def exact_pair(ledger: Ledger) -> tuple[list[Trial], list[Trial], bool]:
    """LaSO-A for segments with exact search and with beam 5; whether states are merged in the beam."""
    (exact, beam), merged = as_printed(ledger, [("segments", LASO_A, width) for width in ("inf", 5)])
    return exact, beam, merged


def enough_outcome(ledger: Ledger) -> Outcome:
    exact, beam, merged = exact_pair(ledger)
    if not exact or not beam:
        return NOTHING
    x, y = paired(exact, beam, "test")
    return f"{x} against {y}", unfit(y, "beam 5") if merged else level(x, y, GAIN, " points")


def cost_outcome(ledger: Ledger) -> Outcome:
    """Processor time of a pass, scoring included; exact search has one seed, so the interval is over those of the
    beam."""
    exact, beam, _ = exact_pair(ledger)
    if not exact or not beam:
        return NOTHING
    (longer, *_), shorter = ([one.seconds / len(one["passes"]["dev"]) for one in own] for own in (exact, beam))
    logs = [math.log(longer / seconds) for seconds in shorter]
    found = student_interval(logs)
    ends = None if found is None else (math.exp(found[0]), math.exp(found[1]))
    verdict = within(math.exp(mean(logs)), low=SLOWER, unit=" times", interval=ends)
    shown = f"{longer:.1f} s a pass against {mean(shorter):.1f} s"
    return shown, verdict if ends else Verdict(UNDECIDED, verdict.effects, "one seed")


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


def expectation_size(ledger: Ledger) -> float:
    """Sentences that expectations were learned from: all of the paper's tables, or a part."""
    size = main_size(ledger)
    return size if of(ledger, "segments", EXPECTED, None, sentences=size) else part_size(ledger)


def expectation_outcome(ledger: Ledger) -> Outcome:
    """Exact LaSO-P by forward-backward against the perceptron, from as many sentences."""
    size = expectation_size(ledger)
    new, old = (of(ledger, "segments", method, None, sentences=size) for method in (EXPECTED, "perceptron"))
    a, b = paired(new, old, "test")
    return f"{a} against {b}" if a else "–", ahead(a, b)


def passes_outcome(ledger: Ledger) -> Outcome:
    """How soon LaSO-P and LaSO-A are at their best, all beams of the joint task; the interval is over beams."""
    beams = beams_of(ledger, "joint", LASO_A)
    found_pairs = [as_printed(ledger, [("joint", method, beam) for method in LASO]) for beam in beams]
    pairs = [pair for pair, merged in found_pairs if all(pair) and not merged]
    means = [[mean([trial["best_pass"] for trial in own]) for own in pair] for pair in pairs]
    if not means:
        return NOTHING
    perceptron, alma = (mean([pair[k] for pair in means]) for k in (0, 1))
    found = student_interval([math.log(a / b) for a, b in means])
    ends = None if found is None else (math.exp(found[0]), math.exp(found[1]))
    verdict = within(perceptron / alma, low=SOONER, unit=" times", interval=ends)
    return f"pass {alma:.1f} against {perceptron:.1f}", verdict


def sutton_outcome(ledger: Ledger) -> Outcome:
    """LaSO-A at every beam, beside a published figure."""
    shown, verdicts = [], []
    for beam in beams_of(ledger, "joint", LASO_A):
        (trials,), merged = as_printed(ledger, [("joint", LASO_A, beam)])
        own, name = Sample.of(trials), f"beam {beam}"
        shown.append(f"{own.mean:.2f}")
        verdict = within(own.mean, low=SUTTON, interval=interval_of(own), name=name)
        verdicts.append(unfit(own, name) if merged else verdict)
    return (", ".join(shown), together(verdicts)) if shown else NOTHING


def grid_outcomes(ledger: Ledger) -> dict[str, Outcome]:
    """Table 3: one of the beams is 1, or both are 10 and more."""
    rows, columns, grid = grid_of(ledger)
    at = {(beam, other): grid[i][j] for i, beam in enumerate(rows) for j, other in enumerate(columns)}
    found = dict.fromkeys(("greedy_training", "greedy_testing", "wide"), NOTHING)
    for name, (own, other) in {"greedy_training": (1, 5), "greedy_testing": (5, 1)}.items():
        if (own, own) in at and (own, other) in at:
            a, b = at[own, own], at[own, other]
            found[name] = f"{a} against {b}", ahead(a, b, effects_of(PAPER["claims"][name]["paper"])[0])
    wide = [(at[i, j], at[i, i]) for i, j in at if min(i, j) >= WIDEST and i != j and (i, i) in at]
    if wide:
        a, b = max(wide, key=lambda pair: abs(pair[0].mean - pair[1].mean))
        found["wide"] = f"{abs(a.mean - b.mean):.2f} at most", level(a, b, WIDE, " points")
    return found
