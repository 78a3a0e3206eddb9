"""Small tools of the tests: random problems, models read by name, other processes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

import brute
import structron
from structron.features.extract import Hashes
from structron.features.names import Names
from structron.kernels.table import hash_list
from structron.learn.chain import Chain, ChainLearner, Perceptron, Start
from structron.learn.weighted import WeightedViolations
from structron.model.chain import ChainModel, fixed_rows
from structron.search.chain.scores import (
    FORBIDDEN,
    FORCED_OUT,
    EncodedChains,
    Weights,
    load_all,
    make_work,
)
from structron.tasks.chain.constraints import make_dictionary
from structron.update.swvp import Swvp

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
CORPORA = Path(os.environ.get("STRUCTRON_DATA") or ROOT.parent / "shared" / "data")
SOURCE = str(Path(structron.__file__).parent.parent)
Found = TypeVar("Found")


# -- models by name ------------------------------------------------------------------------------------------------


def weights_of(model: ChainModel, w: np.ndarray | None = None) -> brute.Vector:
    """The weights of a model that are not zero, under the keys of `brute`."""
    w = model.w if w is None else w
    labels, contexts = model.labels, [brute.START, *model.labels]
    found: brute.Vector = {}
    for y, label in enumerate(labels):
        for p, before in enumerate(contexts):
            found["label", before, label] = float(w[p, y])
            for p2, before2 in enumerate(contexts if model.order == 2 else []):
                row = len(contexts) * (1 + p2) + p
                found["labels", before2, before, label] = float(w[row, y])
        for j, name in enumerate(model.names.all()):
            found[name, label] = float(w[model.fixed + j, y])
        for j, name in enumerate(model.pair_names.all()):
            for p, before in enumerate(contexts):
                if model.block_rows[j, p] >= 0:
                    found[name, before, label] = float(w[model.block_rows[j, p], y])
    return brute.clean(found)


def learned(learner: ChainLearner) -> brute.Vector:
    """The weights that a learner would end with now."""
    return weights_of(learner.finish(learner.snapshot()))


def assert_same_weights(found: brute.Vector, expected: brute.Vector, tolerance: float = 0.0) -> None:
    wrong = {
        key: (found.get(key, 0.0), expected.get(key, 0.0))
        for key in found.keys() | expected.keys()
        if abs(found.get(key, 0.0) - expected.get(key, 0.0)) > tolerance * max(1.0, abs(expected.get(key, 0.0)))
    }
    assert not wrong


# -- examples without templates ------------------------------------------------------------------------------------


class PreparedExamples:
    """`brute.Example`s as the learner reads them: features by name, with values."""

    jobs = 1

    def __init__(self, examples: Sequence[brute.Example], values: bool = False, pairs: bool = False):
        self.examples, self.values, self.has_pairs = list(examples), values, pairs
        self.starts = np.cumsum([0, *map(len, self.examples)]).astype(np.int64)
        self.units = np.arange(len(self.starts))
        self.word_types, self.word_ids = ["word"], np.zeros(int(self.starts[-1]), np.int64)

    def _tokens(self, lo: int, hi: int, paired: bool) -> list[list[tuple[str, float]]]:
        if paired:
            return [[(name, 1.0) for name in token] for x in self.examples[lo:hi] for token in x.paired]
        return [token for x in self.examples[lo:hi] for token in x.plain]

    def _hashes(self, lo: int, hi: int, paired: bool) -> Hashes:
        tokens = self._tokens(lo, hi, paired)
        flat = [part for token in tokens for part in token]
        ptr = np.cumsum([0, *map(len, tokens)]).astype(np.int64)
        values = [value for _, value in flat] if self.values and not paired else []
        return ptr, hash_list([name for name, _ in flat]), np.array(values, np.float32)

    def hashes(self, lo: int, hi: int) -> Hashes:
        return self._hashes(lo, hi, False)

    def pair_hashes(self, lo: int, hi: int) -> Hashes:
        if not self.has_pairs:
            return (
                np.zeros(int(self.starts[hi] - self.starts[lo]) + 1, np.int64),
                hash_list([]),
                np.empty(0, np.float32),
            )
        return self._hashes(lo, hi, True)

    def names(self, keys: np.ndarray, tokens: np.ndarray, paired: bool) -> Names:
        known = {name for token in self._tokens(0, len(self.examples), paired) for name, _ in token}
        by_key = dict(zip(hash_list(sorted(known)).tolist(), sorted(known), strict=True))
        return Names.of([by_key[key] for key in keys.tolist()])

    def describe(self, s: int, token: int, paired: bool) -> Iterator[tuple[int, str, float]]:
        raise AssertionError("examples that are given by their features have no text to describe")


def make_learner(
    examples: Sequence[brute.Example],
    labels: Sequence[str],
    order: int,
    values: bool = False,
    pairs: bool = False,
    cutoff: int = 0,
    average: str = "mean",
    start: Start | None = None,
    allowed: np.ndarray | None = None,
    margin: float | None = None,
    units: Sequence[int] | None = None,
    swvp: Swvp | None = None,
) -> ChainLearner:
    """A learner of examples that are given by their features; units: the bounds of documents of several examples."""
    prepared = PreparedExamples(examples, values, pairs)
    if units is not None:
        prepared.units = np.array(units)
    gold = np.array([labels.index(label) for x in examples for label in x.y], np.int64)
    everything = np.ones((len(labels) + 1, len(labels)), bool) if allowed is None else allowed
    dictionary = make_dictionary(prepared, gold, len(labels), 0)
    chain = Chain(list(labels), order, everything, everything, dictionary, cutoff, average)
    longest = int(np.diff(prepared.starts).max(initial=0))
    update = Perceptron(margin) if swvp is None else WeightedViolations(swvp, longest)
    return ChainLearner(prepared, gold, chain, update, start)


def learn_passes(learner: ChainLearner, passes: Sequence[Sequence[int]]) -> list[int]:
    """Run passes in the given orders; returns the updates of each."""
    updates = []
    for sequence in passes:
        learner.begin_pass()
        place, order = 0, np.array(sequence, np.int64)
        while place < len(order):
            place = learner.learn(order, place)
        updates.append(learner.counts()["updates"])
    return updates


def random_examples(
    rng: np.random.Generator,
    labels: Sequence[str],
    sentences: int = 6,
    longest: int = 4,
    vocabulary: int = 5,
    values: bool = False,
    pairs: bool = False,
    shortest: int = 1,
) -> list[brute.Example]:
    """Examples that are hard to learn: features and labels have little to do with each other."""
    found = []
    for _ in range(sentences):
        n = int(rng.integers(shortest, longest + 1))
        plain = []
        for _ in range(n):
            names = rng.integers(vocabulary, size=int(rng.integers(0, 4)))
            amounts = rng.choice([-2.0, -0.5, 0.25, 1.0, 3.0], size=len(names)) if values else np.ones(len(names))
            plain.append([(f"f{k}", float(v)) for k, v in zip(names, amounts, strict=True)])
        paired = [[f"p{k}" for k in rng.integers(vocabulary, size=int(rng.integers(0, 3)))] for _ in range(n)]
        y = tuple(labels[k] for k in rng.integers(len(labels), size=n))
        found.append(brute.Example(plain, paired if pairs else [[] for _ in range(n)], y))
    return found


def learning_problems(**more: st.SearchStrategy) -> st.SearchStrategy[dict]:
    """Kinds of `random_examples`, an order and a seed."""
    given = {
        "seed": st.integers(0, 2**32 - 1),
        "order": st.sampled_from([1, 2]),
        "values": st.booleans(),
        "pairs": st.booleans(),
        "shortest": st.sampled_from([0, 1]),
    }
    return st.fixed_dictionaries(given | more)


# -- random arrays for the kernels ---------------------------------------------------------------------------------


def random_chain(
    rng: np.random.Generator,
    labels: int,
    order: int,
    lengths: Sequence[int],
    whole: bool = True,
    scale: float = 3.0,
    pairs: bool = False,
    values: bool = False,
    forbid: float = 0.0,
    masks: bool = False,
    forced: float = 0.0,
) -> tuple[EncodedChains, Weights]:
    """Encoded sentences with random features, weights and constraints; padding columns hold rubbish on purpose.

    forbid: the share of transitions that are forbidden; every label keeps one that may follow.
    forced: the share of tokens whose label is given.
    """
    contexts, stride = labels + 1, 4 * (labels // 4 + 1)
    fixed, features, blocks = fixed_rows(labels, order), 6, 3 if pairs else 0
    rows = fixed + features + blocks * contexts
    w = rng.integers(-scale, scale + 1, size=(rows, stride)) if whole else rng.normal(0, scale, (rows, stride))
    tokens = int(sum(lengths))
    counts = rng.integers(0, 4, size=tokens)
    pair_counts = rng.integers(0, 3, size=tokens)
    penalty = np.zeros((contexts, stride), np.float32)
    forbidden = rng.random((contexts, labels)) < forbid
    forbidden[np.arange(contexts), rng.integers(labels, size=contexts)] = False
    penalty[:, :labels][forbidden] = FORBIDDEN
    kinds = 3 if masks else 1
    mask_rows = np.zeros((kinds + labels, stride), np.float32)
    for mask in range(1, kinds):
        out = rng.random(labels) < 0.5
        out[rng.integers(labels)] = False
        mask_rows[mask, :labels][out] = FORBIDDEN
    mask_rows[kinds:, :labels][~np.eye(labels, dtype=bool)] = FORCED_OUT
    mask_of = np.empty(0, np.int32)
    if masks or forced:
        free = rng.integers(kinds, size=tokens)
        given = kinds + rng.integers(labels, size=tokens)
        mask_of = np.where(rng.random(tokens) < forced, given, free).astype(np.int32)
    row_of = np.arange(fixed, fixed + features, dtype=np.int32)
    row_of[rng.integers(features)] = -1
    block_rows = np.arange(fixed + features, rows, dtype=np.int32).reshape(blocks, contexts)
    block_rows[rng.random(block_rows.shape) < 0.3] = -1
    chains = EncodedChains(
        starts=np.cumsum([0, *lengths]).astype(np.int64),
        ptr=np.cumsum([0, *counts]).astype(np.int64),
        numbers=rng.integers(features, size=int(counts.sum())).astype(np.int32),
        values=(rng.integers(-4, 5, size=int(counts.sum())) / 4 if values else np.empty(0)).astype(np.float32),
        pair_ptr=np.cumsum([0, *pair_counts]).astype(np.int64) if pairs else np.empty(0, np.int64),
        pair_numbers=rng.integers(max(blocks, 1), size=int(pair_counts.sum()) if pairs else 0).astype(np.int32),
        mask_of=mask_of,
    )
    weights = Weights(
        w=w.astype(np.float32),
        u=np.empty((0, 0), np.float64),
        row_of=row_of,
        block_of=np.arange(blocks, dtype=np.int32),
        block_rows=block_rows,
        size=np.array([rows, blocks], np.int64),
        penalty=penalty,
        masks=mask_rows,
    )
    return chains, weights


def chain_problems(labels: tuple[int, int], longest: int, **more: st.SearchStrategy) -> st.SearchStrategy[dict]:
    """Options of `random_chain`, and a seed: both orders, and every kind of feature and constraint."""
    given = {
        "seed": st.integers(0, 2**32 - 1),
        "labels": st.integers(*labels),
        "order": st.sampled_from([1, 2]),
        "lengths": st.lists(st.integers(0, longest), min_size=1, max_size=3),
        "pairs": st.booleans(),
        "values": st.booleans(),
        "forbid": st.sampled_from([0.0, 0.2, 0.6]),
        "masks": st.booleans(),
    }
    return st.fixed_dictionaries(given | more)


def build_chain(problem: dict, **more: Any) -> tuple[EncodedChains, Weights]:
    options = problem | more
    return random_chain(np.random.default_rng(options.pop("seed")), **options)


def loaded_work(weights: Weights, labels: int, order: int, longest: int) -> Any:
    """Room for a search, with what it needs to know of the weights."""
    work = make_work(longest, labels, weights.w.shape[1], order)
    load_all(weights, order, labels, work)
    return work


# -- other processes -----------------------------------------------------------------------------------------------


def run_python(code: str, *args: str, timeout: float = 300, **environment: str) -> subprocess.CompletedProcess:
    """Run a program in a fresh process that can import what the tests share and the package under test.

    STRUCTRON_SOURCE names the folder of another copy of the package.
    """
    paths = [environment.pop("STRUCTRON_SOURCE", SOURCE), str(TESTS)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
    command = [sys.executable, "-c", code, *args]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout, check=False)


def patiently(start: Callable[[], Found], undo: Callable[[], object], tries: int = 3) -> Found:
    """What a start gives that a machine without time may let fail: Ray gives its own processes half a minute."""
    try:
        return start()
    except Exception:
        undo()
        if tries == 1:
            raise
    return patiently(start, undo, tries - 1)
