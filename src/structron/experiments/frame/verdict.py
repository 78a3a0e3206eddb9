"""Whether a claim of a paper holds here: computed, by one rule, from what was measured.

**A is ahead of B.** Both have a score for each seed, or for each data set. The claim is *reproduced* if A is ahead, and
*not reproduced* if B is, in each case for every seed and with p ≤ 0.05; else it is *not decidable* with these data.
With few seeds p is that of a randomisation test over blocks of the scored data: if the methods were alike, their
outputs on a block could be exchanged. With six and more data sets it is the sign-flip test over them, and the sign need
not be the same for every one of them.

**A figure lies within bounds** that are stated with the claim: reproduced if it does, not reproduced if it does not. So
are theorems: a bound holds or does not.

**Several at once.** Reproduced if all are; not reproduced if one is not; else not decidable.

*Not run* means that trials for a claim are missing; while a full run is not finished, other verdicts may still change.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structron.experiments.frame.ledger import Trial
from structron.experiments.frame.statistics import block_test, mean, sign_flip_test

REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "not decidable"
MISSING = "not run"
LEVEL = 0.05
ENOUGH = 6
"""Data sets from which on the sign-flip test can find something: with five, p is 0.06 at least."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a method reached: a score for each seed or data set, and counts by block of the data if they are kept.

    blocks: int[blocks, counts], the sum over seeds.
    """

    scores: Sequence[float]
    blocks: np.ndarray | None = None

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
class Verdict:
    """verdict: one of the four.   why: the figures that decided."""

    verdict: str
    why: str = ""

    def __str__(self) -> str:
        return self.verdict


def ahead(a: Sample, b: Sample) -> Verdict:
    """A is ahead of B; scores are paired, seed by seed or data set by data set."""
    if not a or not b or len(a.scores) != len(b.scores):
        return Verdict(MISSING)
    gains = [x - y for x, y in zip(a.scores, b.scores, strict=True)]
    many = len(gains) >= ENOUGH
    if many or a.blocks is None or b.blocks is None:
        p = sign_flip_test(gains)
    else:
        p = block_test(a.blocks, b.blocks)
    wins = sum(gain > 0 for gain in gains)
    why = f"{mean(gains):+.2f}, p {p:.3f}, ahead in {wins} of {len(gains)}"
    for sign, word in ((1, REPRODUCED), (-1, NOT_REPRODUCED)):
        if p <= LEVEL and sign * mean(gains) > 0 and (many or all(sign * gain > 0 for gain in gains)):
            return Verdict(word, why)
    return Verdict(UNDECIDED, why)


def within(value: float | None, low: float = -np.inf, high: float = np.inf, unit: str = "") -> Verdict:
    """A figure lies within bounds."""
    if value is None:
        return Verdict(MISSING)
    bounds = (
        f"at most {high:g}" if low == -np.inf else f"at least {low:g}" if high == np.inf else f"{low:g} to {high:g}"
    )
    return Verdict(REPRODUCED if low <= value <= high else NOT_REPRODUCED, f"{value:.4g}{unit}; {bounds}{unit}")


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """All of several hold."""
    words = [one.verdict for one in verdicts]
    why = "; ".join(one.why for one in verdicts if one.why)
    for word in (NOT_REPRODUCED, MISSING, UNDECIDED):
        if word in words:
            return Verdict(word, why)
    return Verdict(REPRODUCED if words else MISSING, why)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper, in the order of the paper. where: "Table 2".   text: what is claimed.   paper, ours: the
    figures."""

    where: str
    text: str
    paper: str
    ours: str
    verdict: Verdict
