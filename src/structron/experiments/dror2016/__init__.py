"""Dror & Reichart (2016): the structured weighted violations perceptron.

Table 1 beside the paper's: three set-ups of hidden Markov data, ten data sets each, the four variants at ten β beside
the plain perceptron (CSP), all with the weights after the last pass. These data are made here and need no corpora.
Then readings of the paper that might explain its low accuracies in the third set-up.

Table 2 beside the paper's: dependency parsing of first and second order, B-WM beside CSP, on the treebanks there are.

The paper has neither averaged weights nor a perceptron that is chosen from as many models as a variant; both are here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from structron.data.hmm import DATASETS, SETUPS, SPLIT
from structron.experiments.dror2016 import parsing, table1, table2
from structron.experiments.dror2016.choice import PAPER, claim
from structron.experiments.dror2016.parsing import ParsingScale
from structron.experiments.dror2016.readings import READINGS
from structron.experiments.dror2016.synthetic import ORDER
from structron.experiments.frame import Claim, Experiment, Job, Ledger, Table, Trial, Verdict, mean, within
from structron.experiments.frame.verdict import UNDECIDED

BETAS = tuple(0.5 * k for k in range(1, 11))
FEW_BETAS = (0.5, 1.0, 2.0)
SWEPT = ("ud-greek-gdt", "ud-hungarian-szeged", "ud-italian-partut")
SEEDS = (1, 2, 3)
BOUNDS: Mapping[str, Sequence[Job]] = {
    "theorem-1": [
        Job("dror2016.theory:theorem1", {"variant": variant, "enforce": variant.startswith("b"), "seed": seed}, 1)
        for variant in ORDER
        for seed in SEEDS
    ],
    "theorem-2": [
        Job("dror2016.theory:theorem2", {"variant": variant, "noise": noise, "seed": seed}, 1)
        for variant in ("a-wm", "a-wmr")
        for noise in (0.01, 0.1)
        for seed in SEEDS
    ],
}
"""By the name of a claim, the jobs that execute a bound."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done. On synthetic data: data sets of each set-up, the β tried, passes, items of each part, data sets
    for each other reading. Then parsing.

    Saved in the full run: readings have half of the data sets and one β. Parsing learns from 12,000 tokens in ten
    passes (weighted updates take more passes than plain ones to learn the same: little data rather than few passes),
    and tries three β on all treebanks but three.
    """

    datasets: int
    betas: Sequence[float]
    passes: int
    reading_datasets: int
    parsing: ParsingScale
    items: Mapping[str, int] | None = None


FULL = Scale(DATASETS, BETAS, 10, 5, ParsingScale((12_000, 5_000, 10_000), 10, FEW_BETAS, BETAS, SWEPT))
QUICK = Scale(
    *(2, (0.5, 2.0, 5.0), 4, 1),
    ParsingScale((3_000, 2_000, 2_000), 3, (1.0,), (1.0, 3.0), SWEPT[:1], corpora=3),
    {"train": 2000, "dev": 500, "test": 500},
)


def plan(ledger: Ledger, scale: Scale, data: Path | None) -> Iterator[Job]:
    """Table 1, the bounds, Table 2, the readings."""
    size: dict[str, Any] = {"passes": scale.passes}
    if scale.items and dict(scale.items) != SPLIT:
        size["items"] = dict(scale.items)
    for number in range(scale.datasets):
        for setup in SETUPS:
            options = {"setup": setup, "number": number, "betas": list(scale.betas)}
            yield Job(table1.WORK, options | size, 40 * len(scale.betas) / len(BETAS))
    yield Job(table1.SPECIAL, size, 5)
    for jobs in BOUNDS.values():
        yield from jobs
    for number in range(scale.reading_datasets):
        for name in READINGS:
            for setup in SETUPS:
                yield Job(table1.READING, {"name": name, "setup": setup, "number": number} | size, 3)
    yield from parsing.plan(ledger, scale.parsing, data)


def tables(ledger: Ledger) -> Iterator[Table]:
    yield from table1.tables(ledger)
    yield from table2.tables(ledger)


def bound_claims(ledger: Ledger) -> Iterator[Claim]:
    """A bound is executed: the share of the updates it allows that were made."""
    for name, jobs in BOUNDS.items():
        trials = [trial for job in jobs if (trial := ledger.get(job))]
        shares = [
            100 * trial["updates"] / trial["bound"] if trial.figures.get("done", True) else inf for trial in trials
        ]
        shown = f"{min(shares):.0f} to {max(shares):.0f} % of the bound in {len(shares)} trainings" if shares else "–"
        yield claim(name, shown, within(max(shares, default=None), high=100, unit=" %", name="share of the bound"))
    both = [trial for job in BOUNDS["theorem-2"] if (trial := ledger.get(job))]
    shares = [100 * trial["bound"] / trial["plain_bound"] for trial in both]
    shown = f"{min(shares):.0f} to {max(shares):.0f} %" if shares else "–"
    yield claim("tighter", shown, within(max(shares, default=None), high=100, unit=" %", name="share of CSP's bound"))
    yield unseen_claim(both)


def unseen_claim(trials: Sequence[Trial]) -> Claim:
    """In the first pass every example is unseen when it is searched: how many are wrong, beside the bound, each in the
    mean over trainings."""
    if not trials:
        return claim("unseen", "–", within(None))
    wrong = mean([100 * trial["updates"] / trial["sentences"] for trial in trials])
    bound = mean([100 * 2 * trial["bound"] / (trial["sentences"] + 1) for trial in trials])
    verdict = within(wrong, high=bound, unit=" % wrong")
    if bound >= 100:
        verdict = Verdict(UNDECIDED, note="the bound is above 100 %")
    return claim("unseen", f"{wrong:.1f} % wrong, at most {bound:.0f} %", verdict)


def claims(ledger: Ledger) -> Iterator[Claim]:
    yield from table1.theory(ledger)
    yield from bound_claims(ledger)
    yield from table1.claims(ledger)
    yield from table2.claims(ledger)


EXPERIMENT = Experiment(
    name="dror2016",
    title="Dror & Reichart (2016): the structured weighted violations perceptron",
    plan=plan,
    tables=tables,
    claims=claims,
    full=FULL,
    quick=QUICK,
    code="src/structron/update/swvp.py",
    picture=table1.picture,
    page=PAPER,
    needs_corpora=False,
)
