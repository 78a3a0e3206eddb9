"""Dror & Reichart (2016), Table 1: our figures beside the paper's, and what they amount to."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structron.data.hmm import DATASETS, SETUPS
from structron.experiments.dror2016.choice import AVERAGED, CONTROL, CSP, MEAN, POSTERIOR, Trials, base_of, spelled
from structron.experiments.frame import Report, Table, comparison, mean, sign_flip_test

ORDER = ("b-wm", "b-wmr", "a-wm", "a-wmr")
FIGURES: tuple[tuple[tuple[float, float, int | None], ...], ...] = (
    ((75.47, 3.05, 9), (75.96, 2.42, 8), (74.18, 2.16, 7), (75.17, 3.07, 7), (72.24, 3.45, None)),
    ((63.18, 1.32, 9), (63.02, 2.49, 9), (61.65, 2.30, 9), (61.02, 1.93, 8), (57.89, 2.85, None)),
    ((28.48, 1.9, 5), (24.31, 5.2, 4), (30.45, 1.0, 6), (25.8, 3.18, 2), (25.27, 8.55, None)),
)
PAPER = {setup: dict(zip((*ORDER, CSP), rows, strict=True)) for setup, rows in zip(SETUPS, FIGURES, strict=True)}
"""By set-up and method: accuracy, its standard deviation, wins of ten."""
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


def gains(outcomes: Sequence[Trials], method: str, base: str) -> list[float]:
    """On each data set, by how much a method is ahead of another on test data."""
    return [o.scores_of(method).test - o.scores_of(base).test for o in outcomes]


def summary(outcomes: Sequence[Trials], method: str) -> dict[str, Any]:
    """What a row of the table says of a method."""
    scores = [outcome.scores_of(method) for outcome in outcomes]
    tests = [one.test for one in scores]
    row: dict[str, Any] = {"method": method, "dev": mean([one.dev for one in scores]), "test": mean(tests)}
    row["std"] = float(np.std(tests, ddof=1)) if len(tests) > 1 else 0.0
    if method.removesuffix(MEAN) in ORDER or method == CONTROL:
        row |= comparison(gains(outcomes, method, base_of(method)))
        row["generalises"] = sum(outcome.generalises(method, SLACK) for outcome in outcomes)
        row["misled"] = sum(outcome.misleads(method) for outcome in outcomes)
        row["chosen"] = [outcome.chosen(method) for outcome in outcomes]
    if method in ORDER:
        ahead = gains(outcomes, method, CONTROL)
        row |= {"control_gain": mean(ahead), "control_p": sign_flip_test(ahead)}
    return row


def summaries(outcomes: Sequence[Trials]) -> list[dict[str, Any]]:
    """The rows of one set-up, in the paper's order, then what is ours."""
    methods = [*ORDER, CSP, CONTROL, *(name + MEAN for name in ORDER), AVERAGED, POSTERIOR]
    return [summary(outcomes, method) for method in methods]


def table_of(setup: str, rows: Sequence[dict[str, Any]], count: int) -> Table:
    table = Table(f"Synthetic data, {setup} (Table 1), {count} data sets", COLUMNS + PAPERS, notes=NOTES)
    for row in rows:
        cells: list[str | None] = [None] * 7
        if "gain" in row:
            counts = (f"{row[name]}/{count}" for name in ("wins", "generalises", "misled"))
            cells[:5] = [f"{row['gain']:+.2f}", f"{row['p']:.3f}", *counts]
        if "control_gain" in row:
            cells[5:] = [f"{row['control_gain']:+.2f}", f"{row['control_p']:.3f}"]
        accuracy, std, wins = PAPER[setup].get(row["method"], (None, None, None))
        paper = (accuracy, std, None if wins is None else f"{wins}/{DATASETS}")
        table.add(spelled(row["method"]), row["dev"], row["test"], row["std"], *cells, paper=paper)
    return table


def best_variant(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The paper's variant with the highest mean accuracy on dev data: test data choose nothing."""
    return max((row for row in rows if row["method"] in ORDER), key=lambda row: row["dev"])


def paper_gain(setup: str) -> float:
    """How far the paper's best variant is ahead of its CSP."""
    return max(PAPER[setup][name][0] for name in ORDER) - PAPER[setup][CSP][0]


def target(found: dict[str, list[dict[str, Any]]], report: Report) -> None:
    """The best variant ahead of the perceptron in two of three set-ups. The control is no target."""
    said, ahead = [], 0
    for setup, rows in found.items():
        best = best_variant(rows)
        ahead += best["gain"] > 0
        paper, control = f"paper {paper_gain(setup):+.2f}", f"control {best['control_gain']:+.2f}"
        said.append(f"{spelled(best['method'])} {best['gain']:+.2f} (p {best['p']:.3f}, {paper}, to the {control})")
    what = "synthetic: the variant that is best on dev data ahead of CSP in at least two of three set-ups"
    report.target(what, "; ".join(said), ahead >= 2)
