"""Dror & Reichart (2016): the models of all methods on one data set, and how one of them is chosen.

A variant is a model for each β; dev data choose among them. The plain perceptron (CSP) has nothing to choose and is a
single model. Its last weights are a matter of luck, so there is a control: CSP, the best on dev data of as many orders
of the training data as a variant has β.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from structron.experiments.frame import Claim, Sample, Verdict, comparison, mean, paper_of
from structron.experiments.frame.verdict import PAPERS

PAPER = paper_of("dror2016")
CSP, CONTROL, POSTERIOR = "CSP", "CSP best order", "posterior"
ORDERS = "CSP mean of orders"
"""The perceptron as it is in the mean over as many orders of the training data as a variant has β."""
OVER_BETAS = " mean over β"
MEAN = " averaged"
"""What the mean of all weights of a method is called."""
AVERAGED = CSP + MEAN
SEED = 1


class Accuracies(NamedTuple):
    """Accuracy of one model, in per cent; dev None: it has seen the dev data. broken: updates against condition 2, of
    all; active: examples that still led to an update in the last pass, in per cent too."""

    dev: float | None
    test: float
    broken: float = 0.0
    active: float = 0.0


def spelled(method: str) -> str:
    """A method as the paper writes it."""
    return method.replace(method.removesuffix(MEAN), method.removesuffix(MEAN).upper()) if "wm" in method else method


@dataclass(slots=True)
class Trials:
    """The models of one data set by method, and there by β; those of a perceptron under the seeds of their orders."""

    models: dict[str, dict[float, Accuracies]] = field(default_factory=dict)

    @classmethod
    def of(cls, figures: Mapping[str, Mapping[str, Sequence[float]]]) -> "Trials":
        """From what `plain` gave."""
        return cls(
            {name: {float(k): Accuracies(*own) for k, own in models.items()} for name, models in figures.items()}
        )

    def plain(self) -> dict[str, dict[str, list[float | None]]]:
        """As figures of a ledger."""
        return {
            name: {f"{k:g}": [None if score is None else round(score, 4) for score in own] for k, own in models.items()}
            for name, models in self.models.items()
        }

    def enter(self, method: str, value: float, scores: Accuracies) -> None:
        self.models.setdefault(method, {})[value] = scores

    def has(self, *methods: str) -> bool:
        return all(method in self.models for method in methods)

    def chosen(self, method: str) -> float:
        """The β that is best on dev data; among equals the smallest."""
        found = self.models[method]
        return max(found, key=lambda beta: (_dev(found[beta]), -beta))

    def scores_of(self, method: str) -> Accuracies:
        """Those of a method with the β chosen on dev data."""
        return self.models[method][self.chosen(method)]

    def best_on_test(self, method: str, slack: float = math.inf) -> float:
        """The highest test score of all β that are on dev data within `slack` of the best there."""
        found = self.models[method].values()
        least = max(map(_dev, found)) - slack
        return max(scores.test for scores in found if _dev(scores) >= least - 1e-9)


def test_score(outcome: Trials, method: str) -> float:
    """With what dev data chose, or in the mean over orders or over β."""
    if method == ORDERS:
        return mean([scores.test for scores in outcome.models[CONTROL].values()])
    if method.endswith(OVER_BETAS):
        return mean([scores.test for scores in outcome.models[method.removesuffix(OVER_BETAS)].values()])
    return outcome.scores_of(method).test


def _dev(scores: Accuracies) -> float:
    return -math.inf if scores.dev is None else scores.dev


def paired(outcomes: Sequence[Trials], *methods: str) -> list[Sample]:
    """The test scores of methods, over the data sets that have all of them."""
    needed = [CONTROL if method == ORDERS else method.removesuffix(OVER_BETAS) for method in methods]
    both = [outcome for outcome in outcomes if outcome.has(*needed)]
    return [Sample([test_score(outcome, method) for outcome in both], datasets=True) for method in methods]


def against(a: Sample, b: Sample) -> str:
    """What stands in the column "here" of a comparison: means. How different data sets are says nothing of it."""
    return f"{a.mean:.2f} against {b.mean:.2f}" if a and b else "–"


def cells_of(a: Sample, b: Sample) -> list[str]:
    """A difference, its p, and how often it is one."""
    if not a:
        return []
    found = comparison([x - y for x, y in zip(a.scores, b.scores, strict=True)])
    return [f"{found['gain']:+.2f}", f"{found['p']:.3f}", f"{found['wins']}/{found['of']}"]


def claim(name: str, ours: str, verdict: Verdict, part: str = "", **names: Any) -> Claim:
    """A claim of `paper.toml`; part: which one of those with its name; names: what {name} stands for in it."""
    entry = PAPER["claims"][name]
    where, text, paper = (entry[key].format(**names) for key in ("where", "text", "paper"))
    return Claim(where, text, paper, ours, verdict, entry.get("kind", PAPERS), f"{name} {part}".strip())
