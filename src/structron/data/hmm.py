"""The hidden Markov data of Dror & Reichart (2016), "Structured Weighted Violations Perceptron Algorithm".

Section 6 and its footnote 6 give three set-ups. A set-up is two lists of probabilities, one for the rows of the
transition matrix and one for those of the emission matrix; every row is a permutation of its list, and the
first state is uniform. What the paper leaves open is read as follows:

- `P(y'|y) = perm(...)`: each row of each matrix is permuted on its own, so that states differ.
- No two states have the same most probable symbol (emissions are drawn again until that holds). Without it the
  HMM's own posterior decoding averages 72 % and 58 % in the first two set-ups, below the accuracies that the
  paper's learners reach; with it 84 % and 70 %, varying about as little as the paper's results do.
- Each of the ten data sets of a set-up has an HMM of its own.
- The emission list of simple(+), learnable(+) adds up to 0.9 as printed; it is divided by 0.9, which keeps its
  ratios. Posterior decoding then reaches about 92 %, or 91 % without the rule above, where the paper's learners
  reach 25-30 %: experiments/dror2016/readings.py tries what could explain that.
- The split is the paper's: 7000 items to train on, 2000 for development, 1000 to test, all of length 8.

The best any learner can do per position is the posterior decoding of the HMM that made the data.
"""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from structron.errors import StructronError, unknown

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int32]
Pair: TypeAlias = tuple[Ints, Ints]

LENGTH = 8
DATASETS = 10
SPLIT = {"train": 7000, "dev": 2000, "test": 1000}
SETUPS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "simple(++), learnable(+++)": ((0.7, 0.2, 0.1), (0.75, 0.1, 0.05, 0.05, 0.05)),
    "simple(++), learnable(++)": ((0.5, 0.3, 0.2), (0.6, 0.15, 0.1, 0.1, 0.05)),
    "simple(+), learnable(+)": ((0.7, 0.2, 0.1) + (0.0,) * 4, (0.4, 0.2, 0.1, 0.1, 0.1) + (0.0,) * 15),
}


@dataclass(frozen=True, slots=True)
class HMM:
    """A first-order hidden Markov model over C_y states and C_x symbols."""

    initial: Floats  # [C_y]
    transition: Floats  # [C_y, C_y]: row y holds P(y' | y)
    emission: Floats  # [C_y, C_x]: row y holds P(x | y)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Three (x, y) pairs of int32 arrays [items, length], and the HMM they were drawn from."""

    train: Pair
    dev: Pair
    test: Pair
    hmm: HMM


def hmm_setup(name: str, rng: np.random.Generator) -> HMM:
    """An HMM of a set-up named as in the paper, its rows permuted at random; the start is uniform."""
    if name not in SETUPS:
        raise unknown("HMM set-up", name, SETUPS)
    transition, emission = (np.array(row) / sum(row) for row in SETUPS[name])
    return make_hmm(transition, emission, rng)


def make_hmm(transition: Floats, emission: Floats, rng: np.random.Generator, distinct: bool = True) -> HMM:
    """An HMM whose rows are permutations of two lists. distinct: no two states have the same most probable symbol."""
    states = len(transition)
    emissions = _permuted_rows(emission, states, rng)
    while distinct and len(set(emissions.argmax(axis=1).tolist())) < states:
        emissions = _permuted_rows(emission, states, rng)
    return HMM(np.full(states, 1 / states), _permuted_rows(transition, states, rng), emissions)


def _permuted_rows(row: Floats, count: int, rng: np.random.Generator) -> Floats:
    order = rng.random((count, len(row))).argsort(axis=1, kind="stable")
    return row[order]


def sample(hmm: HMM, count: int, length: int, rng: np.random.Generator) -> Pair:
    """Draw `count` items: observations x and states y, both int32 [count, length]."""
    x = np.empty((count, length), np.int32)
    y = np.empty((count, length), np.int32)
    for i in range(length):
        rows = hmm.transition[y[:, i - 1]] if i else np.broadcast_to(hmm.initial, (count, len(hmm.initial)))
        y[:, i] = _draw(rows, rng)
        x[:, i] = _draw(hmm.emission[y[:, i]], rng)
    return x, y


def _draw(rows: Floats, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """One index per row of probabilities; an index of probability zero is never drawn."""
    bounds = rows.cumsum(axis=1)
    rolls = rng.random((len(rows), 1)) * bounds[:, -1:]
    return (bounds <= rolls).sum(axis=1)


def dataset(name: str, number: int, seed: int = 0) -> Dataset:
    """Data set `number` (0 to 9 are the paper's ten) of a set-up, from an HMM of its own."""
    if name not in SETUPS:
        raise unknown("HMM set-up", name, SETUPS)
    if number < 0 or seed < 0:
        raise StructronError(f"an HMM data set needs number >= 0 and seed >= 0, not {number} and {seed}")
    rng = np.random.default_rng([seed, list(SETUPS).index(name), number])
    hmm = hmm_setup(name, rng)
    return Dataset(**{part: sample(hmm, count, LENGTH, rng) for part, count in SPLIT.items()}, hmm=hmm)


def posterior_decode(hmm: HMM, x: Ints) -> Ints:
    """The most probable state of each position given the whole item, by forward-backward."""
    likelihood = hmm.emission.T[x]  # [items, length, C_y]
    forward = np.empty_like(likelihood)
    for i in range(x.shape[1]):
        before = forward[:, i - 1] @ hmm.transition if i else hmm.initial
        forward[:, i] = _scaled(before * likelihood[:, i])
    posterior = forward.copy()
    backward = np.ones_like(forward[:, 0])
    for i in range(x.shape[1] - 2, -1, -1):
        backward = _scaled((backward * likelihood[:, i + 1]) @ hmm.transition.T)
        posterior[:, i] *= backward
    return posterior.argmax(axis=2).astype(np.int32)


def _scaled(weights: Floats) -> Floats:
    """Rows that add up to one, against underflow in long items."""
    total = weights.sum(axis=1, keepdims=True)
    if not total.all():
        item = int(np.flatnonzero(total[:, 0] == 0)[0])
        raise StructronError(f"item {item} has probability zero under this HMM")
    return weights / total


def write_conll(path: str | PathLike[str], x: Ints, y: Ints) -> None:
    """Write `word label` columns, an observation as `x3`, a state as `y1`, and a blank line after each item."""
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for symbols, states in zip(x.tolist(), y.tolist(), strict=True):
            file.writelines(f"x{symbol} y{state}\n" for symbol, state in zip(symbols, states, strict=True))
            file.write("\n")
