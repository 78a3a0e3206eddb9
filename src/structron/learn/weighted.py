"""Weighted violations in exact search over chains (Dror & Reichart 2016): an update of learn/chain.py."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from structron.search.chain.scores import load_all
from structron.search.chain.viterbi import search_for
from structron.update.perceptron import INVALID
from structron.update.swvp import Mixed, Swvp, make_mixed
from structron.update.swvp_chain import LEARN, learn_with_function


@dataclass
class WeightedViolations:
    """Algorithm 2, sentence by sentence, also where sentences stand in documents."""

    swvp: Swvp
    longest: int  # tokens of a sentence
    mixed: Mixed = field(init=False)
    whole_documents: ClassVar[bool] = False
    figures: ClassVar[dict[str, int]] = {"invalid": INVALID}
    """invalid: updates that were no violations."""

    def __post_init__(self) -> None:
        self.mixed = make_mixed(self.longest)

    def __repr__(self) -> str:
        return str(self.swvp)

    def learn(self, learner: Any, sequence: np.ndarray, lo: int, hi: int) -> int:
        """Learn from the examples sequence[lo:hi]; returns the place where it had to stop for want of rows."""
        data = (learner.chains, learner.gold, learner.weights(), learner.order, sequence, lo, hi)
        scratch = (learner.work, learner.stats, self.swvp.rule, self.mixed)
        if callable(self.swvp.jj):
            return learn_with_function(*data, learner.labels, *scratch, self.swvp.jj)
        labels = len(learner.labels)
        load_all(data[2], learner.order, labels, learner.work)
        return LEARN(search_for(learner.chains, learner.order, learner.work), *data, labels, *scratch)
