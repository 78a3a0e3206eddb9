"""Dror & Reichart (2016), Table 1, third set-up: what could explain accuracies of 25 to 30 %.

As the data are read here, every learner is at 90 % there. A *reading* is another way to make the data, to learn or to
count. All are tried in all three set-ups: what explains the third must not ruin the first two.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from structron.data.hmm import HMM, LENGTH, SETUPS, SPLIT, Dataset, Floats, make_hmm, posterior_decode, sample
from structron.experiments.dror2016.choice import CSP
from structron.experiments.dror2016.synthetic import PASSES, TEMPLATES, Bench, Items
from structron.update.swvp import Swvp

VARIANT = "a-wm"
"""The paper's best variant in the third set-up."""
SPAN = {"rest spread": slice(None), "rest to one symbol": slice(1)}
"""Where the tenth goes that the list of emissions lacks: to all symbols that have nothing, or to one of them."""


@dataclass(frozen=True, slots=True)
class Variation:
    """What is otherwise than in Table 1. distinct: no two states share their most probable symbol. alike: which
    matrices have one permutation for all rows. swapped: symbols are predicted from states. apart: dev and test data
    come from an HMM of their own. symbols: whether features see them. whole: an item counts if all of it is right."""

    distinct: bool = True
    rest: str | None = None
    alike: tuple[str, ...] = ()
    swapped: bool = False
    apart: bool = False
    symbols: bool = True
    shuffle: bool = True
    passes: int | None = None
    train: int | None = None
    whole: bool = False


READINGS: Mapping[str, Variation] = {
    "as in Table 1": Variation(),
    "no filter": Variation(distinct=False),
    "rest spread": Variation(distinct=False, rest="rest spread"),
    "rest to one symbol": Variation(distinct=False, rest="rest to one symbol"),
    "states emit alike": Variation(distinct=False, alike=("emission",)),
    "one permutation for all rows": Variation(distinct=False, alike=("emission", "transition")),
    "symbols from states": Variation(distinct=False, swapped=True),
    "test data of another HMM": Variation(distinct=False, apart=True),
    "features without symbols": Variation(distinct=False, symbols=False),
    "items in one order": Variation(distinct=False, shuffle=False),
    "first pass": Variation(distinct=False, passes=1),
    "70 items": Variation(distinct=False, train=70),
    "whole items": Variation(distinct=False, whole=True),
}


def hmm_of(setup: str, reading: Variation, rng: np.random.Generator) -> HMM:
    transition, emission = (np.array(row) for row in SETUPS[setup])
    if reading.rest is not None:
        empty = np.flatnonzero(emission == 0)[SPAN[reading.rest]]
        emission[empty] = (1 - emission.sum()) / max(1, len(empty))
    hmm = make_hmm(transition / transition.sum(), emission / emission.sum(), rng, reading.distinct)
    return replace(hmm, **{name: _alike(getattr(hmm, name)) for name in reading.alike})


def _alike(matrix: Floats) -> Floats:
    return np.broadcast_to(matrix[0], matrix.shape).copy()


def data_of(setup: str, number: int, reading: Variation, items: Items) -> tuple[Dataset, Callable[[np.ndarray], Any]]:
    """A data set (as in Table 1: the same one), and what the HMM behind its dev and test data would say."""
    rng = np.random.default_rng([0, list(SETUPS).index(setup), number])
    hmm = hmm_of(setup, reading, rng)
    parts = {"train": sample(hmm, items["train"], LENGTH, rng)}
    hmm = hmm_of(setup, reading, rng) if reading.apart else hmm
    parts |= {name: sample(hmm, items[name], LENGTH, rng) for name in ("dev", "test")}
    if reading.swapped:
        parts = {name: (y, x) for name, (x, y) in parts.items()}
        return Dataset(**parts, hmm=hmm), lambda states: hmm.emission.argmax(axis=1)[states]
    return Dataset(**parts, hmm=hmm), lambda symbols: posterior_decode(hmm, symbols)


def try_reading(
    data: Path | None,
    *,
    name: str,
    setup: str,
    number: int,
    passes: int = PASSES,
    beta: float = 1.0,
    items: Items = SPLIT,
) -> dict[str, Any]:
    """A job: test accuracy of CSP, of the paper's best variant, and of the HMM itself."""
    reading = READINGS[name]
    items = dict(items) | ({"train": min(reading.train, items["train"])} if reading.train else {})
    drawn, best = data_of(setup, number, reading, items)
    bench = Bench(drawn, items, TEMPLATES if reading.symbols else TEMPLATES[1:3])

    def accuracy(right: np.ndarray) -> float:
        return round(100 * float((right.all(axis=1) if reading.whole else right).mean()), 4)

    found = {"posterior": accuracy(best(drawn.test[0]) == drawn.test[1])}
    for method, swvp in ((CSP, None), (VARIANT, Swvp(VARIANT, beta))):
        learner, *_ = bench.train(swvp, reading.passes or passes, shuffle=reading.shuffle)
        found[method] = accuracy(bench.right(learner)[1])
    return found
