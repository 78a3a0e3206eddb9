"""Dror & Reichart (2016), Table 1: every training on data that a hidden Markov model made.

Features of (y', y, x): {x, y, y', (x,y), (y,y'), (x,y,y')}. That of x alone is the same for all labels and left out.
That of y' alone fires at a token for the label before it; here it stands one token earlier, for the label itself, at
all tokens but the last: the same counts for every labelling. (y,y') is always there.

The paper trains until convergence, which data with noise do not have, and says that its models converged within ten
iterations: here training is ten passes, and unaveraged weights are those after the last one.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structron.data.hmm import SETUPS, SPLIT, Dataset, Pair, dataset, posterior_decode
from structron.experiments.dror2016.choice import AVERAGED, CONTROL, CSP, MEAN, POSTERIOR, SEED, Accuracies, Trials
from structron.experiments.frame import learn_once
from structron.learn.chain import ChainLearner
from structron.learn.loop import Schedule, pass_order
from structron.learn.weighted import WeightedViolations
from structron.search.chain.viterbi import decode
from structron.tasks.chain.labeler import Tagger
from structron.update.perceptron import TIME
from structron.update.swvp import Swvp

COLUMNS = ("symbol", "inside", "state")
TEMPLATES = ("symbol[0]", "symbol.digit[0]", "inside.digit[0]", "symbol[0]&y")
ORDER = ("b-wm", "b-wmr", "a-wm", "a-wmr")
PASSES = 10
Items = Mapping[str, int]


def rows_of(pair: Pair) -> list[list[tuple[str, str, str]]]:
    """Items as sentences of (symbol, whether another one follows, state)."""
    inside = ["1"] * (pair[0].shape[1] - 1) + ["-"]
    return [
        [(f"x{a}", more, f"y{b}") for a, more, b in zip(symbols, inside, states, strict=True)]
        for symbols, states in zip(pair[0].tolist(), pair[1].tolist(), strict=True)
    ]


class Bench:
    """One data set, encoded once for all trainings. Items to learn from come first, then those of dev, then test.

    Features of the others have numbers too, but weights come into being with updates, and these are of the first only.
    """

    def __init__(self, data: Dataset, items: Items = SPLIT, templates: Sequence[str] = TEMPLATES):
        self.items = items
        self.parts = [tuple(array[: items[name]] for array in getattr(data, name)) for name in SPLIT]
        x, y = (np.concatenate([part[k] for part in self.parts]) for k in range(2))
        tagger = Tagger(columns=COLUMNS, templates=list(templates), order=1, cutoff=0, runs=1, passes=1, jobs=1)
        self.learner: ChainLearner = tagger.fit(rows_of((x, y))).learner_

    def train(
        self, swvp: Swvp | None, passes: int, seed: int = SEED, shuffle: bool = True
    ) -> tuple[ChainLearner, float, float]:
        """A learner after so many passes over the training items; updates that broke condition 2 in all passes and
        items with an update in the last one, in per cent."""
        learner, broken, updates, found = self.learner.fresh_copy(), 0, 0, {"updates": 0}
        if swvp is not None:
            learner.update = WeightedViolations(swvp, int(learner.sizes.max()))
        for number in range(1, passes + 1):
            order = pass_order(Schedule(seed=seed, shuffle=shuffle), number, self.items["train"])
            found = learn_once(learner, order)
            broken, updates = broken + found.get("invalid", 0), updates + found["updates"]
        return learner, 100 * broken / max(1, updates), 100 * found["updates"] / self.items["train"]

    def right(self, learner: ChainLearner, average: bool = False) -> list[np.ndarray]:
        """Of dev and test items, [item, position]: whether the label is right, with the last weights or their mean."""
        w = learner.store.mean(int(learner.stats[TIME]) if average else 0)
        chains, weights = learner.chains, learner.weights()._replace(w=w)
        train, end = self.items["train"], len(chains.starts) - 1
        out, scores = np.zeros(len(learner.gold), np.int64), np.zeros(end, np.float32)
        decode(chains, weights, learner.order, train, end, len(learner.labels), learner.work, out, scores)
        right = (out == learner.gold).reshape(end, -1)[train:]
        return [right[: self.items["dev"]], right[self.items["dev"] :]]

    def tried(self, swvp: Swvp | None, passes: int, seed: int = SEED) -> tuple[Accuracies, Accuracies]:
        """A training, scored with its last weights and with their mean."""
        learner, *shares = self.train(swvp, passes, seed)
        last, mean = ([100 * float(part.mean()) for part in self.right(learner, own)] for own in (False, True))
        return Accuracies(last[0], last[1], *shares), Accuracies(mean[0], mean[1], *shares)


def table1(
    data: Path | None,
    *,
    setup: str,
    number: int,
    betas: Sequence[float],
    passes: int = PASSES,
    items: Items = SPLIT,
) -> dict[str, Any]:
    """A job: train everything on one data set. What its HMM decodes is the best per position in the long run."""
    drawn, trials = dataset(setup, number), Trials()
    bench = Bench(drawn, items)
    ceiling = [float(100 * (posterior_decode(drawn.hmm, x) == y).mean()) for x, y in bench.parts[1:]]
    trials.enter(POSTERIOR, SEED, Accuracies(*ceiling))
    for seed in range(SEED, SEED + len(betas)):
        last, mean = bench.tried(None, passes, seed)
        trials.enter(CONTROL, seed, last)
        if seed == SEED:
            trials.enter(CSP, seed, last)
            trials.enter(AVERAGED, seed, mean)
    for variant in ORDER:
        for beta in betas:
            last, mean = bench.tried(Swvp(variant, beta), passes)
            trials.enter(variant, beta, last)
            trials.enter(variant + MEAN, beta, mean)
    return {"models": trials.plain()}


def special_case(data: Path | None, *, passes: int = PASSES, items: Items = SPLIT) -> dict[str, Any]:
    """A job: JJ = {[L]} beside the plain perceptron; the largest difference of a weight, by set-up."""
    found = {}
    for setup in SETUPS:
        bench = Bench(dataset(setup, 0), items)
        a, b = (bench.train(swvp, passes)[0].store.mean(0) for swvp in (None, Swvp("b-wm", jj="whole")))
        found[setup] = float(np.abs(a - b).max()) if a.shape == b.shape else np.inf
    return {"differences": found}
