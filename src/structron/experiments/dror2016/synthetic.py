"""Dror & Reichart (2016), synthetic data: every training on one data set that a hidden Markov model made.

Features of (y', y, x): {x, y, y', (x,y), (y,y'), (x,y,y')}. That of x alone is the same for all labels and left out.
That of y' alone fires at a token for the label before it; here it stands one token earlier, for the label itself, at
all tokens but the last: the same counts for every labelling. (y,y') is always there.

The paper trains until convergence, which data with noise do not have, and says that its models converged within ten
iterations: here training is ten passes, and unaveraged weights are those after the last one.
"""

from collections.abc import Sequence

import numpy as np

from structron.data.hmm import SPLIT, Dataset, Pair, dataset, posterior_decode
from structron.experiments.dror2016.choice import AVERAGED, CONTROL, CSP, MEAN, POSTERIOR, SEED, Scores, Trials
from structron.features.extract import TemplateExtractor
from structron.features.templates import parse_templates
from structron.learn.chain import ChainLearner
from structron.learn.loop import Options, pass_order
from structron.search.chain.viterbi import decode
from structron.tasks.chain.constraints import make_dictionary
from structron.update.swvp import VARIANTS, Swvp

COLUMNS = ("symbol", "inside", "state")
TEMPLATES = ("symbol[0]", "symbol.digit[0]", "inside.digit[0]", "symbol[0]&y")


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

    def __init__(self, data: Dataset, items: dict[str, int] = SPLIT):
        self.items = items
        parts = [tuple(array[: items[name]] for array in getattr(data, name)) for name in SPLIT]
        x, y = (np.concatenate([part[k] for part in parts]) for k in range(2))
        extractor = TemplateExtractor(COLUMNS, COLUMNS[-1], parse_templates(list(TEMPLATES)))
        prepared = extractor.prepare(rows_of((x, y)), labelled=True)
        labels = sorted(prepared.label_types)
        gold = np.array([labels.index(label) for label in prepared.label_types], np.int64)[prepared.label_ids]
        everything = np.ones((len(labels) + 1, len(labels)), bool)
        dictionary = make_dictionary(prepared, gold, len(labels), 0)
        self.learner = ChainLearner(prepared, gold, labels, 1, everything, everything, dictionary)

    def trained(self, swvp: Swvp | None, passes: int, seed: int = SEED) -> ChainLearner:
        """A learner after so many passes over the training items."""
        learner = self.learner.twin()
        learner.swvp = swvp
        for number in range(1, passes + 1):
            sequence, place = pass_order(Options(seed=seed), number, self.items["train"]), 0
            learner.begin_pass()
            while place < len(sequence):
                place = learner.learn(sequence, place)
        return learner

    def scores(self, learner: ChainLearner, average: bool = False) -> Scores:
        """Accuracy with the last weights, or with their mean."""
        learner.average = "mean" if average else "none"
        chains, weights = learner.chains, learner.weights()._replace(w=learner.present())
        train, end = self.items["train"], len(chains.starts) - 1
        out, scores = np.zeros(len(learner.gold), np.int64), np.zeros(end, np.float32)
        decode(chains, weights, learner.order, train, end, len(learner.labels), learner.work, out, scores)
        right = 100.0 * (out == learner.gold)
        first, second = (int(chains.starts[train + more]) for more in (0, self.items["dev"]))
        return Scores(float(right[first:second].mean()), float(right[second:].mean()))


def ceiling(data: Dataset, items: dict[str, int] = SPLIT) -> Scores:
    """What the HMM that made the data reaches by posterior decoding: nothing is better per position in the long run."""
    pairs = [tuple(array[: items[name]] for array in getattr(data, name)) for name in ("dev", "test")]
    return Scores(*(float(100 * (posterior_decode(data.hmm, x) == y).mean()) for x, y in pairs))


def try_all(setup: str, number: int, passes: int, betas: Sequence[float], items: dict[str, int] = SPLIT) -> Trials:
    """Train everything on one data set."""
    data, trials = dataset(setup, number), Trials()
    bench = Bench(data, items)
    trials.enter(POSTERIOR, SEED, ceiling(data, items))
    for seed in range(SEED, SEED + len(betas)):
        learner = bench.trained(None, passes, seed)
        trials.enter(CONTROL, seed, bench.scores(learner))
        if seed == SEED:
            trials.enter(CSP, seed, trials.models[CONTROL][seed])
            trials.enter(AVERAGED, seed, bench.scores(learner, average=True))
    for variant in VARIANTS:
        for beta in betas:
            learner = bench.trained(Swvp(variant, beta), passes)
            trials.enter(variant, beta, bench.scores(learner))
            trials.enter(variant + MEAN, beta, bench.scores(learner, average=True))
    return trials
