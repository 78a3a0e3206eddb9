"""Dror & Reichart (2016): the models of all methods on one data set, and how one of them is chosen.

A variant is a model for each β; dev data choose among them. The plain perceptron (CSP) has nothing to choose and is a
single model. Its last weights are a matter of luck, so there is a control: CSP, the best on dev data of as many orders
of the training data as a variant has β.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from structron.experiments.frame import paper_of

PAPER = paper_of("dror2016")
CSP, CONTROL, POSTERIOR = "CSP", "CSP best order", "posterior"
MEAN = " averaged"
"""What the mean of all weights of a method is called."""
AVERAGED = CSP + MEAN
SEED = 1


class Scores(NamedTuple):
    """Accuracy of one model, in per cent; dev NaN: it has seen the dev data. broken: updates against condition 2."""

    dev: float
    test: float
    broken: float | None = None


def spelled(method: str) -> str:
    """A method as the paper writes it."""
    return method.replace(method.removesuffix(MEAN), method.removesuffix(MEAN).upper()) if "wm" in method else method


@dataclass(slots=True)
class Trials:
    """The models of one data set by method, and there by β; those of a perceptron under the seeds of their orders."""

    models: dict[str, dict[float, Scores]] = field(default_factory=dict)

    def enter(self, method: str, value: float, scores: Scores) -> None:
        self.models.setdefault(method, {})[value] = scores

    def chosen(self, method: str) -> float:
        """The β that is best on dev data; among equals the smallest."""
        found = self.models[method]
        return max(found, key=lambda beta: (found[beta].dev, -beta))

    def scores_of(self, method: str) -> Scores:
        """Those of a method with the β chosen on dev data."""
        return self.models[method][self.chosen(method)]

    def best_on_test(self, method: str, slack: float = math.inf) -> float:
        """The highest test score of all β that are on dev data within `slack` of the best there."""
        found = self.models[method].values()
        least = max(scores.dev for scores in found) - slack
        return max(scores.test for scores in found if scores.dev >= least - 1e-9)

    def as_dict(self) -> dict[str, Any]:
        """Pairs of dev and test, of variants under their β."""
        found: dict[str, Any] = {}
        for method, models in self.models.items():
            pairs = {
                f"{value:g}": [None if math.isnan(score) else round(score, 3) for score in scores[:2]]
                for value, scores in models.items()
            }
            found[method] = pairs[f"{SEED}"] if method in (CSP, AVERAGED, POSTERIOR) else pairs
        return found
