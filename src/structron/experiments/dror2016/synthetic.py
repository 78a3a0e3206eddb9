"""Dror & Reichart (2016), Table 1: every training on data that a hidden Markov model made, beside the paper's figures.

Features of (y', y, x): {x, y, y', (x,y), (y,y'), (x,y,y')}. That of x alone is the same for all labels and left out.
That of y' alone fires at a token for the label before it; here it stands one token earlier, for the label itself, at
all tokens but the last: the same counts for every labelling. (y,y') is always there.

The paper trains until convergence, which data with noise do not have, and says that its models converged within ten
iterations: here training is ten passes, and unaveraged weights are those after the last one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structron.data.hmm import SPLIT, Dataset, Pair, dataset, posterior_decode
from structron.experiments.dror2016 import choice
from structron.experiments.dror2016.choice import AVERAGED, CONTROL, CSP, MEAN, POSTERIOR, SEED, Scores, Trials, spelled
from structron.experiments.frame import Report, Table, comparison, learn_once, mean, sign_flip_test
from structron.learn.chain import ChainLearner
from structron.learn.loop import Schedule, pass_order
from structron.learn.weighted import WeightedViolations
from structron.search.chain.viterbi import decode
from structron.tasks.chain.labeler import Tagger
from structron.update.perceptron import TIME
from structron.update.swvp import VARIANTS, Swvp

PAPER = choice.PAPER["synthetic"]
COLUMNS = ("symbol", "inside", "state")
TEMPLATES = ["symbol[0]", "symbol.digit[0]", "inside.digit[0]", "symbol[0]&y"]
ORDER = ("b-wm", "b-wmr", "a-wm", "a-wmr")
SLACK = 0.5
"""By how much a β may be worse on test data than the best there and still count as generalising."""


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
        self.parts = [tuple(array[: items[name]] for array in getattr(data, name)) for name in SPLIT]
        x, y = (np.concatenate([part[k] for part in self.parts]) for k in range(2))
        tagger = Tagger(columns=COLUMNS, templates=TEMPLATES, order=1, cutoff=0, runs=1, passes=1)
        self.learner: ChainLearner = tagger.fit(rows_of((x, y))).learner_

    def trained(self, swvp: Swvp | None, passes: int, seed: int = SEED) -> ChainLearner:
        """A learner after so many passes over the training items."""
        learner = self.learner.twin()
        if swvp is not None:
            learner.update = WeightedViolations(swvp, int(learner.sizes.max()))
        for number in range(1, passes + 1):
            learn_once(learner, pass_order(Schedule(seed=seed), number, self.items["train"]))
        return learner

    def scores(self, learner: ChainLearner, average: bool = False) -> Scores:
        """Accuracy with the last weights, or with their mean."""
        w = learner.store.mean(int(learner.stats[TIME]) if average else 0)
        chains, weights = learner.chains, learner.weights()._replace(w=w)
        train, end = self.items["train"], len(chains.starts) - 1
        out, scores = np.zeros(len(learner.gold), np.int64), np.zeros(end, np.float32)
        decode(chains, weights, learner.order, train, end, len(learner.labels), learner.work, out, scores)
        right = 100.0 * (out == learner.gold)
        first, second = (int(chains.starts[train + more]) for more in (0, self.items["dev"]))
        return Scores(float(right[first:second].mean()), float(right[second:].mean()))


def try_all(setup: str, number: int, passes: int, betas: Sequence[float], items: dict[str, int] = SPLIT) -> Trials:
    """Train everything on one data set. What its HMM decodes is the best per position in the long run."""
    data, trials = dataset(setup, number), Trials()
    bench = Bench(data, items)
    ceiling = [float(100 * (posterior_decode(data.hmm, x) == y).mean()) for x, y in bench.parts[1:]]
    trials.enter(POSTERIOR, SEED, Scores(*ceiling))
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


def summary(outcomes: Sequence[Trials], method: str) -> dict[str, Any]:
    """What a row of the table says of a method: means are compared with the averaged perceptron, others with CSP."""
    base = [outcome.scores_of(AVERAGED if method.endswith(MEAN) else CSP) for outcome in outcomes]
    found = [outcome.scores_of(method) for outcome in outcomes]
    tests = [scores.test for scores in found]
    row: dict[str, Any] = {"method": method, "dev": mean([scores.dev for scores in found]), "test": mean(tests)}
    row["std"] = float(np.std(tests, ddof=1)) if len(tests) > 1 else 0.0
    if method.removesuffix(MEAN) in ORDER or method == CONTROL:
        row |= comparison([a.test - b.test for a, b in zip(found, base, strict=True)])
        best = [outcome.best_on_test(method) for outcome in outcomes]
        row["generalises"] = sum(a.test >= top - SLACK for a, top in zip(found, best, strict=True))
        row["misled"] = sum(a.dev > b.dev and a.test <= b.test for a, b in zip(found, base, strict=True))
        row["chosen"] = [outcome.chosen(method) for outcome in outcomes]
    if method in ORDER:
        ahead = [test - outcome.scores_of(CONTROL).test for test, outcome in zip(tests, outcomes, strict=True)]
        row |= {"control_gain": mean(ahead), "control_p": sign_flip_test(ahead)}
    return row


def summaries(outcomes: Sequence[Trials]) -> list[dict[str, Any]]:
    """The rows of one set-up, in the paper's order, then what is ours."""
    methods = [*ORDER, CSP, CONTROL, *(name + MEAN for name in ORDER), AVERAGED, POSTERIOR]
    return [summary(outcomes, method) for method in methods]


def table_of(setup: str, rows: Sequence[dict[str, Any]], count: int) -> Table:
    names = {"setup": setup, "count": count, "slack": SLACK, "control": CONTROL}
    table = Table.of(PAPER, **names)
    table.paper = PAPER["setups"][setup]
    for row in rows:
        cells: list[str | None] = [None] * 7
        if "gain" in row:
            counts = (f"{row[name]}/{count}" for name in ("wins", "generalises", "misled"))
            cells[:5] = [f"{row['gain']:+.2f}", f"{row['p']:.3f}", *counts]
        if "control_gain" in row:
            cells[5:] = [f"{row['control_gain']:+.2f}", f"{row['control_p']:.3f}"]
        table.add(spelled(row["method"]), row["dev"], row["test"], row["std"], *cells)
    return table


def target(found: dict[str, list[dict[str, Any]]], report: Report) -> None:
    """The variant that is best on dev data (test data choose nothing) ahead of CSP in two of three set-ups."""
    said, ahead = [], 0
    for setup, rows in found.items():
        best = max((row for row in rows if row["method"] in ORDER), key=lambda row: row["dev"])
        ahead += best["gain"] > 0
        paper = PAPER["setups"][setup]
        known = max(paper[spelled(name)][0] for name in ORDER) - paper[CSP][0]
        compared = f"p {best['p']:.3f}, paper {known:+.2f}, to the control {best['control_gain']:+.2f}"
        said.append(f"{spelled(best['method'])} {best['gain']:+.2f} ({compared})")
    report.target(choice.PAPER["targets"]["synthetic"], "; ".join(said), ahead >= 2)
