"""Dror & Reichart (2016), Table 1: our figures beside the paper's, the readings of its third set-up, and verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import inf
from typing import Any

import numpy as np

from structron.data.hmm import SETUPS
from structron.experiments.dror2016.choice import (
    AVERAGED,
    CONTROL,
    CSP,
    MEAN,
    ORDERS,
    OVER_BETAS,
    PAPER,
    POSTERIOR,
    Accuracies,
    Trials,
    against,
    cells_of,
    claim,
    paired,
    spelled,
)
from structron.experiments.dror2016.readings import READINGS, VARIANT
from structron.experiments.dror2016.synthetic import ORDER
from structron.experiments.frame import Claim, Ledger, Picture, Sample, Table, Verdict, ahead, mean, together, within
from structron.experiments.frame.statistics import sampled, share_interval, student_interval
from structron.experiments.frame.verdict import REPRODUCED

WORK, READING, SPECIAL = "dror2016.synthetic:table1", "dror2016.readings:try_reading", "dror2016.synthetic:special_case"
KNOWN = PAPER["synthetic"]["setups"]
FIRST, SECOND, THIRD = SETUPS
SLACK = 0.5
"""By how much a β may be worse on test data than the best there and still count as generalising, in the paper too."""
KINDS = {"b": "balanced", "a": "aggressive"}
OFTEN, MISLED, GENERAL = 70.0, share_interval(1, 120)[1], share_interval(120, 120)[0]
"""Per cent, of the paper: the fewest wins of a variant in the first two set-ups; and the ends of the intervals of its
counts, 1 of 120 and 120 of 120."""


def outcomes_of(ledger: Ledger, setup: str) -> list[Trials]:
    """The data sets of a set-up, in the order of their numbers."""
    return [Trials.of(one["models"]) for one in sorted(ledger.of(WORK, setup=setup), key=lambda one: one["number"])]


def generalises(outcome: Trials, method: str) -> bool:
    return outcome.scores_of(method).test >= outcome.best_on_test(method) - SLACK


def is_misled(outcome: Trials, method: str, base: str = CSP) -> bool:
    """Ahead of the perceptron on dev data but not on test data."""
    a, b = outcome.scores_of(method), outcome.scores_of(base)
    return a.dev is not None and b.dev is not None and a.dev > b.dev and a.test <= b.test


def dev_mean(outcomes: Sequence[Trials], method: str) -> float:
    return mean([outcome.scores_of(method).dev or 0.0 for outcome in outcomes])


def best_variant(outcomes: Sequence[Trials]) -> str:
    """The variant that dev data choose for a set-up."""
    return max(ORDER, key=lambda method: dev_mean(outcomes, method))


# -- tables --------------------------------------------------------------------------------------------------------


def table_of(setup: str, outcomes: Sequence[Trials]) -> Table:
    """The rows of one set-up, in the paper's order, then what is ours."""
    count = len(outcomes)
    table = Table.of(PAPER["synthetic"], setup=setup, count=count, slack=SLACK, control=CONTROL)
    table.paper = KNOWN[setup]
    for method in (*ORDER, CSP, CONTROL, *(name + MEAN for name in ORDER), AVERAGED, POSTERIOR):
        base = AVERAGED if method.endswith(MEAN) else CSP
        own, other, control = paired(outcomes, method, base, CONTROL)
        cells: list[str | None] = [None] * 7
        if method.removesuffix(MEAN) in ORDER or method == CONTROL:
            kept, misled = zip(
                *((generalises(one, method), is_misled(one, method, base)) for one in outcomes), strict=True
            )
            cells[:5] = [*cells_of(own, other), f"{sum(kept)}/{count}", f"{sum(misled)}/{count}"]
        if method in ORDER:
            cells[5:] = cells_of(own, control)[:2]
        table.add(spelled(method), dev_mean(outcomes, method), own.mean, own.spread, *cells)
    return table


def reached(ledger: Ledger, reading: str, setup: str, method: str) -> Sample:
    """Test accuracies under a reading."""
    trials = ledger.of(READING, name=reading, setup=setup)
    return Sample([trial[method] for trial in sorted(trials, key=lambda trial: trial["number"])])


def readings_table(ledger: Ledger) -> Table:
    """Two columns for each set-up, and the most that could be reached in the third."""
    table = Table.of(PAPER["readings"], variant=spelled(VARIANT))
    for name in READINGS:
        found = [reached(ledger, name, setup, method) for setup in (THIRD, FIRST, SECOND) for method in (CSP, VARIANT)]
        if all(found):
            most = reached(ledger, name, THIRD, POSTERIOR).mean
            table.add(name, PAPER["readings"]["texts"][name], *map(str, found), most)
    known = [f"{KNOWN[setup][row][0]:.2f}" for setup in (THIRD, FIRST, SECOND) for row in (CSP, spelled(VARIANT))]
    table.add("the paper", None, *known)
    return table


def tables(ledger: Ledger) -> Iterator[Table]:
    for setup in SETUPS:
        if outcomes := outcomes_of(ledger, setup):
            yield table_of(setup, outcomes)
    if ledger.of(READING):
        yield readings_table(ledger)


# -- claims --------------------------------------------------------------------------------------------------------


def theory(ledger: Ledger) -> Iterator[Claim]:
    """What sections 4 and 5 say of the algorithm, where trainings can show it."""
    found = ledger.of(SPECIAL)
    most = max(found[-1]["differences"].values()) if found else None
    yield claim(
        "special",
        "–" if most is None else f"largest difference of a weight {most:g}",
        within(most, high=0, name="largest difference of a weight"),
    )
    outcomes = [outcome for setup in SETUPS for outcome in outcomes_of(ledger, setup)]
    models: dict[str, list[Accuracies]] = {"a": [], "b": []}
    for outcome, method in product(outcomes, ORDER):
        models[method[0]] += outcome.models[method].values()
    most = max((model.broken for model in models["a"]), default=None)
    balanced = f"balanced: {mean([model.broken for model in models['b']]):.1f} % in the mean"
    ours = "–" if most is None else f"aggressive: {most:.1f} % at most; {balanced}"
    yield claim("conditions", ours, within(most, high=0, unit=" %", name="of the aggressive updates"))
    active = [model.active for model in models["b"]]
    shown = f"{min(active):.1f} to {max(active):.1f} % of the items" if active else "–"
    yield claim(
        "converged", shown, within(max(active, default=None), high=0.0, unit=" %", name="of the items, at most")
    )


def claims(ledger: Ledger) -> Iterator[Claim]:
    found = {setup: outcomes_of(ledger, setup) for setup in SETUPS}
    there = {setup: outcomes for setup, outcomes in found.items() if outcomes}
    best = {setup: best_variant(outcomes) if outcomes else ORDER[0] for setup, outcomes in found.items()}
    yield from (superior(setup, outcomes, best[setup]) for setup, outcomes in found.items())
    for kind, setup in product(KINDS, SETUPS):
        yield every_claim(kind, setup, found[setup])
    yield stable_claim(found)
    yield wins_claim([outcome for setup in (FIRST, SECOND) for outcome in found[setup]])
    choices = [(outcome, name) for outcomes in there.values() for outcome in outcomes for name in ORDER]
    misled, general = ([judge(*choice) for choice in choices] for judge in (is_misled, generalises))
    yield claim("misled", f"{sum(misled)} of {len(misled)}", share(misled, high=MISLED), most=f"{MISLED:.1f}")
    names: dict[str, Any] = {"slack": SLACK, "least": f"{GENERAL:.1f}"}
    yield claim("generalises", f"{sum(general)} of {len(general)}", share(general, low=GENERAL), "", **names)
    yield from level_claims(ledger, found[THIRD])
    every = [(setup, outcomes, best[setup]) for setup, outcomes in found.items()]
    yield questions("over-betas", [(*one[:2], one[2] + OVER_BETAS, ORDERS) for one in every])
    yield questions("control", [(*one, CONTROL) for one in every])
    yield questions("averaged", [(*one[:2], one[2] + MEAN, AVERAGED) for one in every])


def questions(name: str, rows: Sequence[tuple[str, Sequence[Trials], str, str]]) -> Claim:
    """One method is ahead of another in every set-up."""
    verdicts = []
    for setup, outcomes, one, other in rows:
        a, b = paired(outcomes, one, other)
        verdicts.append(ahead(a, b, name=setup))
    return claim(name, "", together(verdicts))


def superior(setup: str, outcomes: Sequence[Trials], best: str) -> Claim:
    known = max(KNOWN[setup][spelled(name)][0] for name in ORDER) - KNOWN[setup][CSP][0]
    a, b = paired(outcomes, best, ORDERS)
    names = {"setup": setup, "known": f"{known:+.2f}"}
    return claim("superior", f"{spelled(best)} {against(a, b)}", ahead(a, b, known), setup, **names)


def every_claim(kind: str, setup: str, outcomes: Sequence[Trials]) -> Claim:
    """Every balanced, or aggressive, variant that is ahead of CSP in the paper."""
    known = {name: KNOWN[setup][spelled(name)][0] - KNOWN[setup][CSP][0] for name in ORDER if name[0] == kind}
    named = [name for name in known if known[name] > 0]
    verdicts = []
    for name in named:
        a, b = paired(outcomes, name, ORDERS)
        verdicts.append(ahead(a, b, known[name], spelled(name)))
    gains = ", ".join(f"{known[name]:+.2f}" for name in named)
    names = {"setup": setup, "variants": " and ".join(map(spelled, named)), "known": gains}
    return claim("every", "", together(verdicts), f"{KINDS[kind]} {setup}", **names, kind=KINDS[kind])


def stable_claim(found: Mapping[str, Sequence[Trials]]) -> Claim:
    """CSP's standard deviation over data sets is the mean of those with ten orders of the training data; the interval
    is that of samples of the data sets with replacement."""
    verdicts = []
    for setup, outcomes in found.items():
        if outcomes:
            own = np.array([paired(outcomes, name)[0].scores for name in ORDER])
            seeds = sorted(set.intersection(*(set(outcome.models[CONTROL]) for outcome in outcomes)))
            csp = np.array([[outcome.models[CONTROL][seed].test for outcome in outcomes] for seed in seeds])
            more, ends = sampled(partial(spread_difference, own, csp), len(outcomes))
            verdicts.append(within(more, high=0.0, unit=" points", interval=ends, name=setup))
    return claim("stable", "", together(verdicts))


def spread_difference(own: np.ndarray, csp: np.ndarray, picks: np.ndarray) -> float:
    """The largest standard deviation of a variant over some data sets less CSP's; a row for each variant, or for each
    order."""
    widest, usual = (scores[:, picks].std(axis=1, ddof=1) for scores in (own, csp))
    return float(widest.max() - usual.mean())


def share(found: Sequence[bool], low: float = -inf, high: float = inf) -> Verdict:
    if not found:
        return within(None)
    ends = share_interval(sum(found), len(found))
    return within(100 * sum(found) / len(found), low, high, " %", ends)


def wins_claim(outcomes: Sequence[Trials]) -> Claim:
    """How often variants are ahead of CSP; the interval is over data sets, each with all its variants."""
    samples = paired(outcomes, *ORDER, ORDERS)
    *own, csp = (sample.scores for sample in samples)
    shares = [100 * mean([score > base for score in scores]) for *scores, base in zip(*own, csp, strict=True)]
    verdict = within(mean(shares) if shares else None, low=OFTEN, unit=" %", interval=student_interval(shares))
    return claim("wins", f"{mean(shares):.0f} % of the comparisons" if shares else "–", verdict, often=f"{OFTEN:g}")


def level_claims(ledger: Ledger, outcomes: Sequence[Trials]) -> Iterator[Claim]:
    """The level of the third set-up as we read it, and then under the other readings."""
    csp, known = (KNOWN[THIRD][spelled(method)][0] for method in (CSP, VARIANT))
    names = {"variant": spelled(VARIANT), "csp": csp, "known": known}
    found = paired(outcomes, CSP, VARIANT)
    yield claim("third", ", ".join(map(str, found)) if outcomes else "–", near(THIRD, found), **names)
    reads = {
        name: {setup: [reached(ledger, name, setup, method) for method in (CSP, VARIANT)] for setup in SETUPS}
        for name in READINGS
        if name != "as in Table 1"
    }
    tried = [name for name, own in reads.items() if all(map(all, own.values()))]
    third = [name for name in tried if near(THIRD, reads[name][THIRD]).verdict == REPRODUCED]
    verdict = within(len(third) if tried else None, low=1, unit=" of them")
    yield claim("reading", (", ".join(third) or "none") if tried else "–", verdict, "", **names, count=len(reads))


def near(setup: str, found: Sequence[Sample]) -> Verdict:
    """Whether CSP and the variant are at the paper's level in a set-up, within its own standard deviation; intervals
    are over data sets."""
    pairs = [(sample, *KNOWN[setup][spelled(name)][:2]) for sample, name in zip(found, (CSP, VARIANT), strict=True)]
    verdicts = []
    for own, at, by in pairs:
        ends = student_interval(own.scores)
        verdicts.append(within(own.mean if own else None, at - by, at + by, " %", ends))
    return together(verdicts)


def picture(ledger: Ledger) -> Picture | None:
    """Table 1: gains over CSP, here over its mean of ten orders."""
    drawn = Picture("Synthetic data: accuracy of each variant less that of CSP (Table 1)", "points", same=True)
    for setup in SETUPS:
        if outcomes := outcomes_of(ledger, setup):
            drawn.add(setup)
            for name in ORDER:
                known = KNOWN[setup][spelled(name)][0] - KNOWN[setup][CSP][0]
                a, b = paired(outcomes, name, ORDERS)
                (effect,) = ahead(a, b).effects
                drawn.add(spelled(name), known, effect.value, effect.ends)
    return drawn if drawn.rows else None
