"""Dror & Reichart (2016): the models of all methods on one data set, and how one of them is chosen.

A variant is a model for each β; dev data choose among them. The plain perceptron (CSP) has nothing to choose and is a
single model. Its last weights are a matter of luck, so there is a control: CSP, the best on dev data of as many orders
of the training data as a variant has β.
"""

import math
from dataclasses import dataclass, field
from typing import Any

CSP, CONTROL = "CSP", "CSP best order"
MEAN = " averaged"
"""What the mean of all weights of a method is called."""
AVERAGED = CSP + MEAN


@dataclass(frozen=True, slots=True)
class Scores:
    """Accuracy of one model, in per cent; dev NaN: it has seen the dev data."""

    dev: float
    test: float


def base_of(method: str) -> str:
    """The perceptron that a variant is compared with: last weights with last weights, means with means."""
    return AVERAGED if method.endswith(MEAN) else CSP


def spelled(method: str) -> str:
    """A method as the paper writes it."""
    return method.replace(method.removesuffix(MEAN), method.removesuffix(MEAN).upper()) if "wm" in method else method


@dataclass(slots=True)
class Trials:
    """All models of one data set: the plain perceptron's last and mean weights, every variant's at every β; and as if
    it were another variant, the perceptron's last weights for other orders, under their seeds."""

    plain: dict[str, Scores] = field(default_factory=dict, kw_only=True)
    variants: dict[str, dict[float, Scores]] = field(default_factory=dict, kw_only=True)

    def chosen(self, variant: str) -> float:
        """The β that is best on dev data; among equals the smallest."""
        found = self.variants[variant]
        return max(found, key=lambda beta: (found[beta].dev, -beta))

    def scores_of(self, method: str) -> Scores:
        """Those of a method; of a variant, with the β chosen on dev data."""
        if method in self.variants:
            return self.variants[method][self.chosen(method)]
        return self.plain[method]

    def best_on_test(self, variant: str, slack: float = math.inf) -> float:
        """The highest test score of all β that are on dev data within `slack` of the best there."""
        found = self.variants[variant].values()
        least = max(scores.dev for scores in found) - slack
        return max(scores.test for scores in found if scores.dev >= least - 1e-9)

    def generalises(self, variant: str, slack: float) -> bool:
        """Whether no β is better on test data than the chosen one, or by that much at most."""
        return self.scores_of(variant).test >= self.best_on_test(variant) - slack

    def misleads(self, variant: str) -> bool:
        """Whether the variant is better than the perceptron on dev data, but not on test data."""
        found, base = self.scores_of(variant), self.scores_of(base_of(variant))
        return found.dev > base.dev and found.test <= base.test

    def as_dict(self) -> dict[str, Any]:
        """Pairs of dev and test, of variants under their β."""
        plain = {name: shown(scores) for name, scores in self.plain.items()}
        return plain | {name: {f"{b:g}": shown(s) for b, s in found.items()} for name, found in self.variants.items()}


def shown(scores: Scores) -> list[float | None]:
    return [None if math.isnan(value) else round(value, 3) for value in (scores.dev, scores.test)]
