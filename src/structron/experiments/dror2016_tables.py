"""Dror & Reichart (2016), Table 1: our figures beside the paper's, and what they amount to."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structron.data.hmm import DATASETS
from structron.experiments.common import Table
from structron.experiments.dror2016_choice import AVERAGED, CONTROL, CSP, MEAN, base_of, spelled
from structron.experiments.dror2016_stats import sign_flip_test
from structron.experiments.dror2016_synthetic import POSTERIOR, Outcome
from structron.experiments.runs import Report

ORDER = ("b-wm", "b-wmr", "a-wm", "a-wmr")
PAPER: dict[str, dict[str, tuple[float, float, int | None]]] = {
    "simple(++), learnable(+++)": {
        "b-wm": (75.47, 3.05, 9),
        "b-wmr": (75.96, 2.42, 8),
        "a-wm": (74.18, 2.16, 7),
        "a-wmr": (75.17, 3.07, 7),
        CSP: (72.24, 3.45, None),
    },
    "simple(++), learnable(++)": {
        "b-wm": (63.18, 1.32, 9),
        "b-wmr": (63.02, 2.49, 9),
        "a-wm": (61.65, 2.30, 9),
        "a-wmr": (61.02, 1.93, 8),
        CSP: (57.89, 2.85, None),
    },
    "simple(+), learnable(+)": {
        "b-wm": (28.48, 1.9, 5),
        "b-wmr": (24.31, 5.2, 4),
        "a-wm": (30.45, 1.0, 6),
        "a-wmr": (25.8, 3.18, 2),
        CSP: (25.27, 8.55, None),
    },
}
"""Accuracy, its standard deviation, wins of ten."""
SLACK = 0.5
"""By how much a β may be worse on test data than the best there and still count as generalising."""
COLUMNS = ("method", "dev", "acc.", "std", "- CSP", "p", "wins", "gener.", "misled", "- control", "p")
PAPERS = ("paper's acc.", "std", "wins")
NOTES = [
    "dev, acc.: mean accuracy on dev and test data, β chosen on dev data for each data set; std: over the data sets.",
    "- CSP: mean difference to the plain perceptron, of averaged rows to the averaged one; p: exact sign-flip test.",
    f"gener.: the chosen β is within {SLACK} of the best on test data. misled: ahead on dev data but not on test data.",
    f"control: {CONTROL}, on dev data, of as many orders of the training data as there are β to choose from.",
    "posterior: decoding by the HMM that made the data. Averaged rows and the control are ours.",
]


def mean_of(outcomes: Sequence[Outcome], method: str, part: str) -> float:
    return float(np.mean([getattr(outcome.scores_of(method), part) for outcome in outcomes]))


def gains(outcomes: Sequence[Outcome], method: str, base: str) -> list[float]:
    """On each data set, by how much a method is ahead of another on test data."""
    return [o.scores_of(method).test - o.scores_of(base).test for o in outcomes]


def summary(outcomes: Sequence[Outcome], method: str) -> dict[str, Any]:
    """What a row of the table says of a method."""
    tests = [outcome.scores_of(method).test for outcome in outcomes]
    row: dict[str, Any] = {
        "method": method,
        "dev": mean_of(outcomes, method, "dev"),
        "test": float(np.mean(tests)),
        "std": float(np.std(tests, ddof=1)) if len(tests) > 1 else 0.0,
    }
    if method in outcomes[0].variants:
        ahead = gains(outcomes, method, base_of(method))
        row |= {"gain": float(np.mean(ahead)), "p": sign_flip_test(ahead), "wins": sum(gain > 0 for gain in ahead)}
        row["generalises"] = sum(outcome.generalises(method, SLACK) for outcome in outcomes)
        row["misled"] = sum(outcome.misleads(method) for outcome in outcomes)
        row["chosen"] = [outcome.chosen(method) for outcome in outcomes]
    if method in ORDER:
        ahead = gains(outcomes, method, CONTROL)
        row |= {"control_gain": float(np.mean(ahead)), "control_p": sign_flip_test(ahead)}
    return row


def summaries(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The rows of one set-up, in the paper's order, then what is ours."""
    methods = [*ORDER, CSP, CONTROL, *(name + MEAN for name in ORDER), AVERAGED, POSTERIOR]
    return [summary(outcomes, method) for method in methods]


def table_of(setup: str, rows: Sequence[dict[str, Any]], count: int) -> Table:
    table = Table(f"Synthetic data, {setup} (Table 1), {count} data sets", COLUMNS + PAPERS, notes=list(NOTES))
    for row in rows:
        accuracy, std, wins = PAPER[setup].get(row["method"], (None, None, None))
        paper = (accuracy, std, None if wins is None else f"{wins}/{DATASETS}")
        table.rows.append((spelled(row["method"]), row["dev"], row["test"], row["std"], *compared(row, count), *paper))
    return table


def compared(row: dict[str, Any], count: int) -> list[str | None]:
    """The cells of a row that compare it with others."""
    cells: list[str | None] = [None] * 7
    if "gain" in row:
        counts = (f"{row[name]}/{count}" for name in ("wins", "generalises", "misled"))
        cells[:5] = [f"{row['gain']:+.2f}", f"{row['p']:.3f}", *counts]
    if "control_gain" in row:
        cells[5:] = [f"{row['control_gain']:+.2f}", f"{row['control_p']:.3f}"]
    return cells


def best_variant(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The paper's variant with the highest mean accuracy on dev data: test data choose nothing."""
    return max((row for row in rows if row["method"] in ORDER), key=lambda row: row["dev"])


def paper_gain(setup: str) -> float:
    """How far the paper's best variant is ahead of its CSP."""
    return max(PAPER[setup][name][0] for name in ORDER) - PAPER[setup][CSP][0]


def comparison(found: dict[str, list[dict[str, Any]]], report: Report) -> None:
    """The target: the best variant ahead of the perceptron in two of three set-ups. The control is no target."""
    said, ahead = [], 0
    for setup, rows in found.items():
        best = best_variant(rows)
        ahead += best["gain"] > 0
        paper, control = f"paper {paper_gain(setup):+.2f}", f"control {best['control_gain']:+.2f}"
        said.append(f"{spelled(best['method'])} {best['gain']:+.2f} (p {best['p']:.3f}, {paper}, to the {control})")
    what = "synthetic: the variant that is best on dev data ahead of CSP in at least two of three set-ups"
    report.target(what, "; ".join(said), ahead >= 2)
