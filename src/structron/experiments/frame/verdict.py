"""Whether a claim of a paper holds here: computed, by one rule, from what was measured.

**A is ahead of B.** The effect is the mean difference of their scores. *Reproduced*: it is above 0, with p ≤ 0.05 and a
95 % interval that excludes 0. *Not reproduced*: the same below 0. Otherwise *smaller* if the interval ends below the
paper's effect, which rules out an effect of that size, and *not decidable* if it does not, or if the paper has no
figure. Over six or more data sets, p is that of the sign-flip test, and the interval holds all differences that this
test does not reject. On one data set, p is that of a randomisation test over 25 blocks of the scored data, and the
interval is 1.96 standard errors, over blocks and seeds together. Seeds never count as data sets. Differences are in
points.

**A figure lies within bounds**, which come from the paper's figures: *reproduced* if its 95 % interval does, *not
reproduced* if the interval lies outside, otherwise *not decidable*. Counts and proofs have no interval: they hold or
do not.

**Several parts.** Reproduced if all are; otherwise the worst of them, in the order not reproduced, smaller, not
decidable. p is the largest p of the parts; if some contradict the paper, the smallest of those times the number of
parts.

The second p is Holm's, over all papers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from structron.errors import StructronError
from structron.experiments.frame.ledger import Trial
from structron.experiments.frame.statistics import block_error, block_test, mean, sign_flip_interval, sign_flip_test

REPRODUCED, NOT_REPRODUCED, SMALLER, UNDECIDED = "reproduced", "not reproduced", "smaller", "not decidable"
MISSING = "not run"
LEVEL = 0.05
ENOUGH = 6
"""Data sets from which on the sign-flip test can find something: with five, p is 0.06 at least."""
NORMAL = 1.959964
Bounds = tuple[float, float]
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Sample:
    """What a method reached: a score for each seed or data set, and counts by block of the data if they are kept.

    blocks: int[blocks, counts], the sum over seeds.   datasets: the scores are those of different data sets.
    """

    scores: Sequence[float]
    blocks: np.ndarray | None = None
    datasets: bool = False

    @classmethod
    def of(cls, trials: Sequence[Trial], part: str = "test") -> "Sample":
        """The scores of trials with different seeds on a part of the data: figures `<part>` and `<part>_blocks`.

        Trials are put in the order of their seeds, so that samples of two methods can be paired.
        """
        own = sorted(trials, key=lambda trial: trial.options.get("seed", 0))
        blocks = [np.array(trial[f"{part}_blocks"]) for trial in own if f"{part}_blocks" in trial.figures]
        counts = np.sum(blocks, axis=0) if blocks and len(blocks) == len(own) else None
        return cls([trial[part] for trial in own], counts)

    @property
    def mean(self) -> float:
        return mean(self.scores)

    @property
    def spread(self) -> float:
        """The standard deviation over seeds or data sets."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else 0.0

    def __bool__(self) -> bool:
        return len(self.scores) > 0

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.spread:.2f}" if len(self.scores) > 1 else f"{self.mean:.2f}"


@dataclass(frozen=True, slots=True)
class Effect:
    """A figure that decides. low, high: its 95 % interval; None: it is exact, or there is none. paper: the paper's.
    p: of a difference. bounds: where a figure has to lie. name: which one of several it is."""

    verdict: str
    value: float
    low: float | None = None
    high: float | None = None
    paper: float | None = None
    p: float | None = None
    bounds: Bounds | None = None
    unit: str = ""
    name: str = ""

    @property
    def ends(self) -> Bounds | None:
        """Of the interval, if there is one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def figure(self) -> str:
        """With its interval: "+0.52 [+0.24, +0.81]", "beam 4: 1.97 [1.83, 2.12]"."""
        plus = self.bounds is None
        text = f"{number(self.value, plus)}{'' if self.need else self.unit}"
        if self.low is not None and self.high is not None:
            text += f" [{number(self.low, plus)}, {number(self.high, plus)}]"
        return f"{self.name}: {text}" if self.name else text

    @property
    def need(self) -> str:
        """Its bounds: "needs ≤ 0.50 %"; nothing if there are none."""
        if self.bounds is None or not np.isfinite(self.bounds).any():
            return ""
        low, high = map(number, self.bounds)
        ends = f"≤ {high}" if low == "-∞" else f"≥ {low}" if high == "∞" else f"{low} to {high}"
        return f"needs {ends}{self.unit}"

    def __str__(self) -> str:
        return f"{self.figure}, {self.need}" if self.need else self.figure


def number(value: float, plus: bool = False) -> str:
    """To be read: two decimals below 100, none above, powers of ten from a million on."""
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 1e6:
        power = int(np.log10(abs(value)))
        return f"{value / 10**power:.1f} × 10{str(power).translate(SUPERSCRIPTS)}"
    if float(value).is_integer() and not plus:
        return f"{value:,.0f}"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    return f"{value:{'+' if plus else ''},.{digits}f}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """verdict: one of the five.   effects: the figures that decided.   note: or the reason in words."""

    verdict: str
    effects: tuple[Effect, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        return self.verdict

    @property
    def why(self) -> str:
        """Bounds that are those of all figures stand once."""
        needs, shown = {one.need for one in self.effects}, list(map(str, self.effects))
        if len(self.effects) > 1 and len(needs) == 1 and "" not in needs:
            shown = ["; ".join(one.figure for one in self.effects) + f", each {needs.pop()}"]
        return "; ".join([*shown, *([self.note] if self.note else [])])

    @property
    def p(self) -> float | None:
        """Of the claim as a whole. Where all of several have to hold, the largest p; where some go the other way, the
        smallest of theirs, times the number of all (Bonferroni)."""
        tested = [one for one in self.effects if one.p is not None]
        against = [one.p for one in tested if one.verdict == NOT_REPRODUCED and one.p is not None]
        if against:
            return min(1.0, len(tested) * min(against))
        return max((one.p for one in tested if one.p is not None), default=None)

    def named(self, name: str) -> "Verdict":
        """With a name before every figure."""
        return replace(self, effects=tuple(replace(one, name=f"{name} {one.name}".strip()) for one in self.effects))


def ahead(a: Sample, b: Sample, paper: float | None = None, name: str = "", unit: str = "") -> Verdict:
    """A is ahead of B; scores are paired, seed by seed or data set by data set. paper: by how much there."""
    if not a or not b or len(a.scores) != len(b.scores):
        return Verdict(MISSING)
    gains = [x - y for x, y in zip(a.scores, b.scores, strict=True)]
    p, interval = None, None
    if a.datasets and b.datasets:
        if len(gains) >= ENOUGH:
            p, interval = sign_flip_test(gains), sign_flip_interval(gains, LEVEL)
    elif a.blocks is not None and b.blocks is not None:
        check_blocks(a.blocks, b.blocks)
        p = block_test(a.blocks, b.blocks)
        seeds = float(np.var(gains, ddof=1)) / len(gains) if len(gains) > 1 else 0.0
        half = NORMAL * float(np.sqrt(block_error(a.blocks, b.blocks) ** 2 + seeds))
        interval = (mean(gains) - half, mean(gains) + half)
    low, high = interval or (None, None)
    word = UNDECIDED
    if p is not None and low is not None and high is not None:
        if p <= LEVEL and (low > 0 or high < 0):
            word = REPRODUCED if low > 0 else NOT_REPRODUCED
        elif paper is not None and high < paper:
            word = SMALLER
    return Verdict(word, (Effect(word, mean(gains), low, high, paper, p, None, unit, name),))


def check_blocks(a: np.ndarray, b: np.ndarray) -> None:
    """Blocks can be paired only if they are of the same data: as much gold, the last of the counts, in each."""
    if a.shape != b.shape or (a[:, -1] != b[:, -1]).any():
        raise StructronError(
            "results: two trainings were scored on different blocks; expected the same in both: remove the older trials"
        )


def within(
    value: float | None,
    low: float = -np.inf,
    high: float = np.inf,
    unit: str = "",
    interval: Bounds | None = None,
    name: str = "",
) -> Verdict:
    """A figure lies within bounds."""
    if value is None:
        return Verdict(MISSING)
    least, most = interval or (value, value)
    inside, outside = low <= least and most <= high, most < low or least > high
    word = REPRODUCED if inside else NOT_REPRODUCED if outside else UNDECIDED
    bottom, top = interval or (None, None)
    return Verdict(word, (Effect(word, value, bottom, top, bounds=(low, high), unit=unit, name=name),))


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """All of several hold."""
    words = [one.verdict for one in verdicts]
    effects = tuple(effect for one in verdicts for effect in one.effects)
    note = "; ".join(dict.fromkeys(one.note for one in verdicts if one.note))
    word = next((w for w in (NOT_REPRODUCED, MISSING, SMALLER, UNDECIDED) if w in words), REPRODUCED)
    return Verdict(word if words else MISSING, effects, note)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Each p corrected for all of them (Holm 1979); None stays None."""
    order = sorted((p, k) for k, p in enumerate(values) if p is not None)
    found: list[float | None] = [None] * len(values)
    most = 0.0
    for rank, (p, k) in enumerate(order):
        most = max(most, min(1.0, (len(order) - rank) * p))
        found[k] = most
    return found


def interval_of(a: Sample) -> Bounds | None:
    """The 95 % interval of a score: 1.96 standard errors, of blocks and of seeds together."""
    if a.blocks is None:
        return None
    seeds = a.spread**2 / len(a.scores)
    half = NORMAL * float(np.sqrt(block_error(a.blocks, np.zeros_like(a.blocks)) ** 2 + seeds))
    return a.mean - half, a.mean + half


PAPERS, THEOREM, OURS = "paper", "theorem", "ours"
AGAINST = re.compile(r"(\d+(?:\.\d+)?) against (\d+(?:\.\d+)?)")


def effects_of(text: str) -> list[float]:
    """The differences that a paper's figures make: "94.3 against 93.4; 95 against 93"."""
    return [round(float(a) - float(b), 4) for a, b in AGAINST.findall(text)]


def level(a: Sample, b: Sample, near: float, unit: str = "", name: str = "") -> Verdict:
    """The interval of the difference of A and B lies within so much of 0."""
    (effect,) = ahead(a, b).effects or (None,)
    if effect is None:
        return Verdict(MISSING)
    found = within(effect.value, -near, near, unit, effect.ends, name)
    return found if effect.ends is not None else Verdict(UNDECIDED, found.effects)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper, in the order of the paper. where: "Table 2".   text: what is claimed.   paper, ours: the
    figures.   kind: the paper's, a theorem, or a question of ours.   key: its name in `paper.toml`, and which one of
    those with this name it is."""

    where: str
    text: str
    paper: str
    ours: str
    verdict: Verdict
    kind: str = PAPERS
    key: str = ""

    @property
    def known(self) -> str:
        """The paper's figures, with their difference if it is one."""
        gains = [one.paper for one in self.verdict.effects if one.paper is not None]
        if len(gains) == 1 and " against " in self.paper:
            return f"{self.paper} ({gains[0]:+.2f})"
        return self.paper

    @property
    def here(self) -> str:
        """What decided; before a single difference the two figures themselves."""
        effects, why = self.verdict.effects, self.verdict.why
        if len(effects) == 1 and " against " in self.ours:
            return "; ".join(filter(None, [f"{self.ours}: {replace(effects[0], name='')}", self.verdict.note]))
        return why or self.ours
