"""The structured weighted violations perceptron: Dror & Reichart (2016), Algorithm 2, whatever the search.

    repeat, for each (x, y):
        z = argmax_u w·Φ(x, u)                            the search
        if z ≠ y:
            JJ ⊆ 2^[L]                                    define_jj(…), or a user's function
            m^J = z on J, y elsewhere, for J ∈ JJ
            d_J = w·ΔΦ(x, y, m^J)                         ┐
            γ = SETGAMMA()                                ├ weigh(…)
            w = w + Σ_J γ(m^J)·ΔΦ(x, y, m^J)              ┘

What a mixture is, and what its features differ by, depends on the search; the rest is here. A search fills
jj.delta[k] for every mixture and, as number `count`, for the whole output (J = [L], m^J = z); `weigh` sets jj.gamma[k]
from them; then the search adds γ times each difference. Chains: swvp_chain.py, beams: mixed.py, trees: swvp_trees.py.

JJ. What m^J is depends only on the wrong positions in J: a sub-structure is a list of wrong positions. J without any
(m^J = y) change nothing, but are counted in |JJ|. `errors`, the paper's choice: every position by itself. `spans`: runs
of consecutive wrong ones. `prefixes`: the wrong ones up to the k-th, for each k. `whole`: all of them at once; then
m^J = z, γ = 1, and this is Collins' perceptron, bit for bit. A user's JJ is a set of sets: one that is given twice
counts once.

γ, normalised to sum 1 (the paper's formula for WMR does not):

    WM     |d_J|^β                                 uniform where all d_J are 0, as before the first update
    WMR    ((|JJ| - r) / |JJ|)^β                   r: how many |d| are larger; equal ones share a rank

The balanced variants (b-) take all of JJ: for `errors` |JJ| = L, right positions have d = 0. The aggressive variants
(a-) put the violations, m^J ≠ y and d_J ≤ 0, in the place of JJ. Sums run over J with m^J ≠ y.
Where nothing qualifies, the update is that of the whole output (section 4.2, property 3).

Theorem 1 asks for w·Σ γ(m^J)·ΔΦ(x, y, m^J) ≤ 0. Aggressive updates have it. Balanced ones may not, which the paper lets
pass; such updates are counted as invalid. `enforce` mixes in as little of the whole output's update, whose d ≤ 0, as it
takes. `scaled` (ours) multiplies γ by the number of wrong positions: an update with one error then has the length that
it has in a sentence with ten.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple

import numpy as np

from structron.errors import StructronError, unknown
from structron.kernels.jit import helper
from structron.kernels.reference import Doubles, Ints, by_reference

VARIANTS = ("a-wm", "b-wm", "a-wmr", "b-wmr")
FAMILIES = ("errors", "spans", "prefixes", "whole")
ERRORS, SPANS, PREFIXES, WHOLE = range(4)
STATE, COUNT, WRONG = range(3)
"""Places in `Weighing.own`: whose JJ it is; of a user's, how many sub-structures there are, and wrong positions."""
BUILT_IN, TO_ASK, ASKED = range(3)

Family = Callable[[list, list], Iterable[Iterable[int]]]
"""A user's JJ: a function of the correct and the predicted labels of a sentence that gives lists of positions."""


def family_name(jj: str | Family) -> str:
    """JJ as signatures and files name it: code is not stored, training on asks for the function of this name."""
    return getattr(jj, "__name__", type(jj).__name__) if callable(jj) else jj


@by_reference
class SwvpRule(NamedTuple):
    """JJ and SETGAMMA as the kernels read them."""

    family: int  # a place in FAMILIES; a user's function comes with its own lists
    ranked: bool  # WMR, else WM
    aggressive: bool  # violations only, else all
    beta: float
    enforce: bool
    scaled: bool


@by_reference
class Mixed(NamedTuple):
    """The sub-structures of one sentence and what is known of each; room for the longest sentence of a batch.

    There are `count` of them, and after them the whole output: all wrong positions.
    """

    places: Ints  # int64: J number k is places[first[k]:last[k]], wrong positions in ascending order
    first: Ints  # int64[count + 1]
    last: Ints  # int64[count + 1]
    delta: Doubles  # float64[count + 1]: d_J = w·ΔΦ(x, y, m^J)
    gamma: Doubles  # float64[count + 1]
    m: Ints  # int64[n]: m^J (chains)
    around: Ints  # int64[n]: the tokens whose factors tell m^J from y (chains)
    size: Ints  # int64[1]: |JJ|, those J with m^J = y included


@by_reference
class Weighing(NamedTuple):
    """What the learner of a beam needs for weighted violations (mixed.py)."""

    rule: SwvpRule
    jj: Mixed
    exchangeable: int  # of the problem
    own: Ints  # int64[3]: STATE, COUNT, WRONG


@dataclass(frozen=True, slots=True)
class Swvp:
    """A variant of the algorithm, checked. jj: a name in FAMILIES, or a user's function."""

    variant: str
    beta: float = 1.0
    jj: str | Family = "errors"
    enforce: bool = False
    scaled: bool = False

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
    def rule(self) -> SwvpRule:
        family = WHOLE if callable(self.jj) else FAMILIES.index(self.jj)
        ranked, aggressive = self.variant.endswith("r"), self.variant.startswith("a")
        return SwvpRule(family, ranked, aggressive, float(self.beta), bool(self.enforce), bool(self.scaled))

    @property
    def valid(self) -> bool:
        """Whether condition 2 holds whenever the whole output's update is a violation."""
        return self.rule.aggressive or self.enforce

    def __str__(self) -> str:
        how = f"{'-enforced' if self.enforce else ''}{'-scaled' if self.scaled else ''}"
        return f"swvp-{self.variant}-{self.beta:g}-{self.family}{how}"


def make_mixed(longest: int) -> Mixed:
    """Scratch memory for sentences of up to that many tokens."""
    places, m, around = (np.zeros(longest, np.int64) for _ in range(3))
    first, last = (np.zeros(longest + 1, np.int64) for _ in range(2))
    return Mixed(places, first, last, np.zeros(longest + 1), np.zeros(longest + 1), m, around, np.zeros(1, np.int64))


# -- JJ ------------------------------------------------------------------------------------------------------------


@helper
def define_jj(family, y, z, n, jj):
    """The sub-structures of a built-in family; returns how many there are."""
    wrong = 0
    for j in range(n):
        if y[j] != z[j]:
            jj.places[wrong] = j
            wrong += 1
    return group_wrong(family, wrong, n, jj)


@helper
def group_wrong(family, wrong, n, jj):
    """The same, where the first `wrong` of jj.places are the wrong ones of n positions."""
    count, begin = 0, 0
    for k in range(wrong):
        run_ends = k + 1 == wrong or jj.places[k + 1] > jj.places[k] + 1
        if family == ERRORS or family == PREFIXES or (family == SPANS and run_ends) or k + 1 == wrong:
            jj.first[count], jj.last[count] = begin, k + 1
            begin = 0 if family == PREFIXES else k + 1
            count += 1
    jj.first[count], jj.last[count] = 0, wrong
    jj.size[0] = n if family == ERRORS else count
    return count


def substructures(given: Any, wrong: set[int], n: int) -> tuple[list[tuple[int, ...]], int]:
    """What a user's function gave: the wrong positions of every J that has any; and |JJ|. JJ is a set of sets."""
    try:
        lists = list(dict.fromkeys(frozenset(index(j) for j in positions) for positions in given))
    except TypeError:
        text = f"{given!r}"
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        raise StructronError(f"jj: the function returned {shown}; expected lists of positions") from None
    outside = [j for positions in lists for j in positions if not 0 <= j < n]
    if outside:
        raise StructronError(
            f"jj: the function returned position {outside[0]}; expected 0 to {n - 1}, the positions of the sequence"
        )
    return [tuple(sorted(own)) for positions in lists if (own := positions & wrong)], len(lists)


def pack_substructures(lists: Sequence[tuple[int, ...]], size: int, wrong: Iterable[int], jj: Mixed) -> Mixed:
    """The lists, and after them the whole output, as the kernels read them, with the room of `jj` for the rest.

    size: |JJ|.
    """
    every = [*lists, tuple(sorted(wrong))]
    sizes = np.array([len(positions) for positions in every], np.int64)
    places, last = np.array([j for positions in every for j in positions], np.int64), np.cumsum(sizes)
    scratch = np.zeros(len(every)), np.zeros(len(every))
    own = {"places": places, "first": last - sizes, "last": last, "delta": scratch[0], "gamma": scratch[1]}
    return jj._replace(**own, size=np.array([size], np.int64))


# -- SETGAMMA ------------------------------------------------------------------------------------------------------


@helper
def qualifies(delta, rule):
    return delta <= 0 or not rule.aggressive


@helper
def rank_share(delta, count, k, size, rule):
    """(|JJ| - r) / |JJ| of J number k; size: |JJ|."""
    larger = 0
    for other in range(count):
        larger += qualifies(delta[other], rule) and abs(delta[other]) > abs(delta[k])
    return (size - larger) / size


@helper
def set_gamma(delta, count, size, rule, gamma):
    """γ from d; returns the weight of the whole output's update: 1 where no J qualifies, else 0. size: |JJ|."""
    qualified, top, total = 0, 0.0, 0.0
    for k in range(count):
        if qualifies(delta[k], rule):
            qualified += 1
            top = max(top, abs(delta[k]))
    for k in range(count):
        if not qualifies(delta[k], rule):
            gamma[k] = 0.0
        elif rule.ranked:
            gamma[k] = rank_share(delta, count, k, qualified if rule.aggressive else size, rule) ** rule.beta
        else:
            gamma[k] = (abs(delta[k]) / top) ** rule.beta if top > 0 else 1.0
        total += gamma[k]
    for k in range(count):
        gamma[k] = gamma[k] / total if total > 0 else 0.0
    return 1.0 if qualified == 0 else 0.0


@helper
def weighted_delta(delta, count, gamma):
    """w·Σ γ(m^J)·ΔΦ(x, y, m^J), which condition 2 wants to be 0 or less."""
    total = 0.0
    for k in range(count):
        total += gamma[k] * delta[k]
    return total


@helper
def enforce_condition(delta, count, gamma, whole):
    """Make room in γ for the least share of the whole output's update (its d: whole) that makes condition 2 hold."""
    mixed = weighted_delta(delta, count, gamma)
    if mixed <= 0:
        return 0.0
    share = mixed / (mixed - whole) if whole < 0 else 1.0
    for k in range(count):
        gamma[k] *= 1.0 - share
    return share


@helper
def weigh(jj, count, rule):
    """Set jj.gamma of every mixture and of the whole output from jj.delta; returns w·Σ γ(m^J)·ΔΦ(x, y, m^J)."""
    jj.gamma[count] = set_gamma(jj.delta, count, jj.size[0], rule, jj.gamma)
    mixed = weighted_delta(jj.delta, count, jj.gamma)
    if rule.enforce and mixed > 0:
        jj.gamma[count] = enforce_condition(jj.delta, count, jj.gamma, jj.delta[count])
        mixed = max(0.0, -jj.gamma[count] * jj.delta[count])  # together 0 to the bit, where that is possible
    dot = mixed + jj.gamma[count] * jj.delta[count]
    if rule.scaled:
        wrong = jj.last[count] - jj.first[count]
        dot *= wrong
        for k in range(count + 1):
            jj.gamma[k] *= wrong
    return dot


@helper
def is_invalid(jj, count, dot):
    """Whether mixtures, given what `weigh` returned, break condition 2.

    The whole output's update is not asked: an exact search found it, so that it is a violation but for rounding.
    """
    return dot > 0 and jj.gamma[count] == 0
