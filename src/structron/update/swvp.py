"""The structured weighted violations perceptron: Dror & Reichart (2016), Algorithm 2, for chains with exact search.

What is not of chains (JJ, γ, condition 2) serves every search; mixed.py does the rest for beams.

    repeat, for each (x, y):
        z = argmax_u w·Φ(x, u)                                           predict_example(…)
        if z ≠ y:
            JJ ⊆ 2^[L]                                                   define_jj(…), or a user's function
            m^J = z on J, y elsewhere, for J ∈ JJ                        mix(…)
            γ = SETGAMMA()                                               set_gamma(…)
            w = w + Σ_J γ(m^J)·ΔΦ(x, y, m^J)                             correct_mixed(…)

JJ. What m^J is depends only on the wrong positions in J: a sub-structure is a list of wrong positions, and those J that
make the same m^J are one. J without any (m^J = y) do not count. `errors`, the paper's choice: every wrong position by
itself. `spans`: runs of consecutive ones. `prefixes`: all up to the k-th, for each k. `whole`: all of them at once;
then m^J = z, γ = 1, and this is Collins' perceptron, bit for bit.

γ, from d_J = w·ΔΦ(x, y, m^J), normalised to sum 1 (the paper's formula for WMR does not):

    WM     |d_J|^β                                 uniform where all d_J are 0, as before the first update
    WMR    ((|JJ| - r) / |JJ|)^β                   r: how many |d| are larger; equal ones share a rank

The aggressive variants (a-) know violations only, d_J ≤ 0, also where JJ is counted; the balanced ones (b-) all of JJ.
Where nothing qualifies, the update is that of the whole output (section 4.2, property 3).

Theorem 1 asks for w·Σ γ(m^J)·ΔΦ(x, y, m^J) ≤ 0. Aggressive updates have it. Balanced ones may not, which the paper lets
pass; such updates are counted as invalid. `enforce` mixes in as little of the whole output's update, whose d ≤ 0, as it
takes.

Only the factors around J tell m^J from y: d of a single position costs O(1) factors, that of a list O(its length).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple

import numpy as np

from structron.errors import StructronError, unknown
from structron.kernels.jit import compiled
from structron.search.chain.scores import load_all, score_difference, score_token
from structron.search.chain.viterbi import search
from structron.update.perceptron import (
    INVALID,
    TIME,
    TOKENS,
    UPDATES,
    WRONG_TOKENS,
    add_difference,
    add_factor,
    count_wrong,
    has_room,
    load_changed,
)

VARIANTS = ("a-wm", "b-wm", "a-wmr", "b-wmr")
FAMILIES = ("errors", "spans", "prefixes", "whole")
ERRORS, SPANS, PREFIXES, WHOLE = range(4)
NO_ROOM = -1

Family = Callable[[list, list], Iterable[Iterable[int]]]
"""A user's JJ: a function of the correct and the predicted labels of a sentence that gives lists of positions."""


def family_name(jj: str | Family) -> str:
    """JJ as signatures and files name it: code is not stored, training on asks for the function of this name."""
    return getattr(jj, "__name__", type(jj).__name__) if callable(jj) else jj


class Rule(NamedTuple):
    """JJ and SETGAMMA as the kernels read them."""

    family: int  # a place in FAMILIES; a user's function comes with its own lists
    ranked: bool  # WMR, else WM
    aggressive: bool  # violations only, else all
    beta: float
    enforce: bool


class Mixed(NamedTuple):
    """The sub-structures of one sentence and what is known of each; room for the longest sentence of a batch."""

    places: np.ndarray  # int64: J number k is places[first[k]:last[k]], wrong positions in ascending order
    first: np.ndarray  # int64[count]
    last: np.ndarray  # int64[count]
    delta: np.ndarray  # float64[count]: d_J = w·ΔΦ(x, y, m^J)
    gamma: np.ndarray  # float64[count]
    m: np.ndarray  # int64[n]: m^J
    around: np.ndarray  # int64[n]: the tokens whose factors tell m^J from y


@dataclass(frozen=True, slots=True)
class Swvp:
    """A variant of the algorithm, checked. jj: a name in FAMILIES, or a user's function."""

    variant: str
    beta: float = 1.0
    jj: str | Family = "errors"
    enforce: bool = False

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise unknown("swvp", self.variant, VARIANTS)
        number = isinstance(self.beta, int | float | np.number) and not isinstance(self.beta, bool)
        if not number or not 0 < self.beta < math.inf:
            raise StructronError(f"beta: {self.beta!r}; expected a number above 0, for instance 1")
        if not callable(self.jj) and self.jj not in FAMILIES:
            known = ", ".join(FAMILIES)
            raise StructronError(f"jj: {self.jj!r}; expected {known}, or a function(y, z) -> lists of positions")

    @property
    def family(self) -> str:
        """The name of JJ."""
        return family_name(self.jj)

    @property
    def rule(self) -> Rule:
        family = WHOLE if callable(self.jj) else FAMILIES.index(self.jj)
        ranked, aggressive = self.variant.endswith("r"), self.variant.startswith("a")
        return Rule(family, ranked, aggressive, float(self.beta), bool(self.enforce))

    @property
    def valid(self) -> bool:
        """Whether condition 2 holds whenever the whole output's update is a violation."""
        return self.rule.aggressive or self.enforce

    def __str__(self) -> str:
        return f"swvp-{self.variant}-{self.beta:g}-{self.family}{'-enforced' if self.enforce else ''}"


def make_swvp(estimator: Any) -> Swvp | None:
    """The weighted violations that an estimator's parameters ask for."""
    if estimator.swvp is None:
        return None
    return Swvp(estimator.swvp, estimator.beta, estimator.jj, estimator.enforce)


def make_mixed(longest: int) -> Mixed:
    """Room for sentences of up to that many tokens."""
    n = max(longest, 1)
    whole, real = [np.zeros(n, np.int64) for _ in range(5)], [np.zeros(n) for _ in range(2)]
    return Mixed(whole[0], whole[1], whole[2], real[0], real[1], whole[3], whole[4])


# -- JJ and its mixed assignments ----------------------------------------------------------------------------------


@compiled
def define_jj(family, y, z, n, jj):
    """The sub-structures of a built-in family; returns how many there are."""
    wrong = 0
    for j in range(n):
        if y[j] != z[j]:
            jj.places[wrong] = j
            wrong += 1
    return group_wrong(family, wrong, jj)


@compiled
def group_wrong(family, wrong, jj):
    """The same, where the first so many of jj.places are the wrong positions."""
    count, begin = 0, 0
    for k in range(wrong):
        run_ends = k + 1 == wrong or jj.places[k + 1] > jj.places[k] + 1
        if family == ERRORS or family == PREFIXES or (family == SPANS and run_ends) or k + 1 == wrong:
            jj.first[count], jj.last[count] = begin, k + 1
            begin = 0 if family == PREFIXES else k + 1
            count += 1
    return count


@compiled
def mix(jj, k, labels_on_j):
    """m = these labels on J: z to make m^J of y, y to go back."""
    for p in range(jj.first[k], jj.last[k]):
        jj.m[jj.places[p]] = labels_on_j[jj.places[p]]


@compiled
def factors_around(jj, k, order, n):
    """List the tokens whose factors see a label of J, each position and the `order` next; returns how many."""
    count, done = 0, 0
    for p in range(jj.first[k], jj.last[k]):
        end = min(jj.places[p] + order + 1, n)
        for i in range(max(jj.places[p], done), end):
            jj.around[count] = i
            count += 1
        done = end
    return count


@compiled
def mixed_delta(chains, weights, order, start, n, y, z, jj, k, labels):
    """d_J = w·Φ(x, y) - w·Φ(x, m^J); jj.m holds y before and after."""
    mix(jj, k, z)
    total = 0.0
    for a in range(factors_around(jj, k, order, n)):
        i = jj.around[a]
        total += score_token(chains, weights, order, start + i, i, y, labels)
        total -= score_token(chains, weights, order, start + i, i, jj.m, labels)
    mix(jj, k, y)
    return total


@compiled
def add_mixed(chains, weights, order, start, n, y, z, jj, k, time, labels, work):
    """w += γ(m^J)·ΔΦ(x, y, m^J); jj.m holds y before and after."""
    mix(jj, k, z)
    for a in range(factors_around(jj, k, order, n)):
        i = jj.around[a]
        add_factor(chains, weights, order, start + i, i, y, jj.m, jj.gamma[k], time, labels, work)
    mix(jj, k, y)


# -- SETGAMMA ------------------------------------------------------------------------------------------------------


@compiled
def qualifies(delta, rule):
    return delta <= 0 or not rule.aggressive


@compiled
def rank_share(delta, count, k, qualified, rule):
    """(|JJ| - r) / |JJ| of J number k."""
    larger = 0
    for other in range(count):
        larger += qualifies(delta[other], rule) and abs(delta[other]) > abs(delta[k])
    return (qualified - larger) / qualified


@compiled
def set_gamma(delta, count, rule, gamma):
    """γ from d; returns the weight of the whole output's update: 1 where no J qualifies, else 0."""
    qualified, top, total = 0, 0.0, 0.0
    for k in range(count):
        if qualifies(delta[k], rule):
            qualified += 1
            top = max(top, abs(delta[k]))
    for k in range(count):
        if not qualifies(delta[k], rule):
            gamma[k] = 0.0
        elif rule.ranked:
            gamma[k] = rank_share(delta, count, k, qualified, rule) ** rule.beta
        else:
            gamma[k] = (abs(delta[k]) / top) ** rule.beta if top > 0 else 1.0
        total += gamma[k]
    for k in range(count):
        gamma[k] = gamma[k] / total if total > 0 else 0.0
    return 1.0 if qualified == 0 else 0.0


@compiled
def weighted_delta(delta, count, gamma):
    """w·Σ γ(m^J)·ΔΦ(x, y, m^J), which condition 2 wants to be 0 or less."""
    total = 0.0
    for k in range(count):
        total += gamma[k] * delta[k]
    return total


@compiled
def enforce_condition(delta, count, gamma, whole):
    """Make room in γ for the least share of the whole output's update (its d: whole) that makes condition 2 hold."""
    mixed = weighted_delta(delta, count, gamma)
    if mixed <= 0:
        return 0.0
    share = mixed / (mixed - whole) if whole < 0 else 1.0
    for k in range(count):
        gamma[k] *= 1.0 - share
    return share


# -- Algorithm 2 ---------------------------------------------------------------------------------------------------


@compiled
def predict_example(chains, gold, weights, order, s, labels, work, stats):
    """Line 4 for sentence s: z in work.z; returns how many of its labels are wrong, or that rows may run out."""
    start, stop = chains.starts[s], chains.starts[s + 1]
    if not has_room(chains, weights, start, stop):
        return NO_ROOM
    search(chains, weights, order, s, labels, work, 0.0)
    wrong = count_wrong(gold, start, stop - start, work.z)
    stats[TIME] += 1
    stats[TOKENS] += stop - start
    stats[UPDATES] += wrong > 0
    stats[WRONG_TOKENS] += wrong
    return wrong


@compiled
def correct_mixed(chains, gold, weights, order, s, jj, count, rule, labels, work, stats):
    """Lines 7 to 11 for sentence s and the sub-structures in jj: γ from the weights as they are, then the update."""
    start, stop = chains.starts[s], chains.starts[s + 1]
    n, time = stop - start, stats[TIME]
    y, z = gold[start:stop], work.z[: stop - start]
    for i in range(n):
        jj.m[i] = y[i]
    for k in range(count):
        jj.delta[k] = mixed_delta(chains, weights, order, start, n, y, z, jj, k, labels)
    whole = set_gamma(jj.delta, count, rule, jj.gamma)
    if rule.enforce and whole == 0:
        d = score_difference(chains, weights, order, s, s + 1, y, z, labels)
        whole = enforce_condition(jj.delta, count, jj.gamma, d)
    elif whole == 0:
        stats[INVALID] += weighted_delta(jj.delta, count, jj.gamma) > 0
    for k in range(count):
        if jj.gamma[k] > 0:
            add_mixed(chains, weights, order, start, n, y, z, jj, k, time, labels, work)
    if whole > 0:
        add_difference(chains, weights, order, start, n, y, z, whole, time, labels, work)
    load_changed(weights, order, labels, work)


@compiled
def learn_swvp(chains, gold, weights, order, sequence, lo, hi, labels, work, stats, rule, jj):
    """One stretch of a pass over sentences, as `perceptron.learn`: a document is one sentence after the other."""
    load_all(weights, order, labels, work)
    for k in range(lo, hi):
        s = sequence[k]
        wrong = predict_example(chains, gold, weights, order, s, labels, work, stats)
        if wrong == NO_ROOM:
            return k
        if wrong > 0:
            start, stop = chains.starts[s], chains.starts[s + 1]
            count = define_jj(rule.family, gold[start:stop], work.z, stop - start, jj)
            correct_mixed(chains, gold, weights, order, s, jj, count, rule, labels, work, stats)
    return hi


def learn_with_function(
    chains: Any,
    gold: np.ndarray,
    weights: Any,
    order: int,
    sequence: np.ndarray,
    lo: int,
    hi: int,
    labels: Sequence[str],
    work: Any,
    stats: np.ndarray,
    rule: Rule,
    jj: Mixed,
    family: Family,
) -> int:
    """The same with a user's JJ, which is asked for every sentence with a mistake; labels: their names."""
    names = np.array(labels, object)
    load_all(weights, order, len(labels), work)
    for k in range(lo, hi):
        s = int(sequence[k])
        wrong = predict_example(chains, gold, weights, order, s, len(labels), work, stats)
        if wrong == NO_ROOM:
            return k
        if wrong > 0:
            start, stop = int(chains.starts[s]), int(chains.starts[s + 1])
            y, z = gold[start:stop], work.z[: stop - start]
            given = family(names[y].tolist(), names[z].tolist())
            lists = substructures(given, set(np.flatnonzero(y != z).tolist()), stop - start)
            own = pack_substructures(lists, jj)
            correct_mixed(chains, gold, weights, order, s, own, len(lists), rule, len(labels), work, stats)
    return hi


def substructures(given: Any, wrong: set[int], n: int) -> list[tuple[int, ...]]:
    """What a user's function gave, as the wrong positions of each J; every mixed assignment once."""
    try:
        lists = [{index(j) for j in positions} for positions in given]
    except TypeError:
        text = f"{given!r}"
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        raise StructronError(f"jj: the function gave {shown}; expected lists of positions") from None
    outside = [j for positions in lists for j in positions if not 0 <= j < n]
    if outside:
        raise StructronError(f"jj: the function gave position {outside[0]}; expected 0 to {n - 1}: the sequence's own")
    return list(dict.fromkeys(tuple(sorted(found)) for positions in lists if (found := positions & wrong)))


def pack_substructures(lists: Sequence[tuple[int, ...]], jj: Mixed) -> Mixed:
    """The lists as the kernels read them, with the room of `jj` for the rest."""
    ends = np.cumsum([len(positions) for positions in lists], dtype=np.int64)
    places = np.array([j for positions in lists for j in positions], np.int64)
    first = np.concatenate([np.zeros(1, np.int64), ends])[: len(lists)]
    count = len(lists)
    return jj._replace(places=places, first=first, last=ends, delta=np.zeros(count), gamma=np.zeros(count))
