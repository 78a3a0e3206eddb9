"""Dror & Reichart (2016), Table 1: our figures beside the paper's, the readings of its third set-up, and verdicts."""

from collections.abc import Iterator, Sequence
from itertools import product

from structron.data.hmm import SETUPS
from structron.experiments.dror2016.choice import (
    AVERAGED,
    CONTROL,
    CSP,
    MEAN,
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
from structron.experiments.frame import Claim, Ledger, Sample, Table, Verdict, ahead, mean, together, within
from structron.experiments.frame.verdict import REPRODUCED

WORK, READING, SPECIAL = "dror2016.synthetic:table1", "dror2016.readings:try_reading", "dror2016.synthetic:special_case"
KNOWN = PAPER["synthetic"]["setups"]
FIRST, SECOND, THIRD = SETUPS
SLACK = 0.5
"""By how much a β may be worse on test data than the best there and still count as generalising."""
NEAR = 5.0
"""How far from the paper's accuracy a reading may end, in points."""
OFTEN, MISLED, GENERAL = 7, 5.0, 95.0
"""Wins of ten, and shares of all choices of β in per cent, that claims ask for."""
SETTLED = 1.0
"""Converged: at most so many per cent of the items lead to an update in the last pass."""


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
    yield claim("special", "–" if most is None else f"largest difference of a weight {most:g}", within(most, high=0))
    outcomes = [outcome for setup in SETUPS for outcome in outcomes_of(ledger, setup)]
    models: dict[str, list[Accuracies]] = {"a": [], "b": []}
    for outcome, method in product(outcomes, ORDER):
        models[method[0]] += outcome.models[method].values()
    most = max((model.broken for model in models["a"]), default=None)
    balanced = f"balanced: {mean([model.broken for model in models['b']]):.1f} % in the mean"
    ours = "–" if most is None else f"aggressive: {most:.1f} % at most; {balanced}"
    yield claim("conditions", ours, within(most, high=0, unit=" %"))
    active = [model.active for model in models["b"]]
    shown = f"{min(active):.1f} to {max(active):.1f} % of the items" if active else "–"
    yield claim("converged", shown, within(max(active, default=None), high=SETTLED, unit=" %"), settled=SETTLED)


def claims(ledger: Ledger) -> Iterator[Claim]:
    found = {setup: outcomes_of(ledger, setup) for setup in SETUPS}
    there = {setup: outcomes for setup, outcomes in found.items() if outcomes}
    for setup, outcomes in found.items():
        best = best_variant(outcomes) if outcomes else ORDER[0]
        own, csp = paired(outcomes, best, CSP)
        known = max(KNOWN[setup][spelled(name)][0] for name in ORDER) - KNOWN[setup][CSP][0]
        yield claim(
            "superior", f"{spelled(best)}: {against(own, csp)}", ahead(own, csp), setup=setup, known=f"{known:+.2f}"
        )
    for setup, outcomes in found.items():
        named = [name for name in ORDER if KNOWN[setup][spelled(name)][0] > KNOWN[setup][CSP][0]]
        pairs = {name: paired(outcomes, name, CSP) for name in named}
        shown = ", ".join(f"{spelled(name)} {a.mean - b.mean:+.2f}" for name, (a, b) in pairs.items() if a)
        known_gains = ", ".join(f"{KNOWN[setup][spelled(name)][0] - KNOWN[setup][CSP][0]:+.2f}" for name in named)
        names = {"setup": setup, "variants": ", ".join(map(spelled, named)), "known": known_gains}
        yield claim("every", shown or "–", together([ahead(*both) for both in pairs.values()]), **names)
    for setup, outcomes in found.items():
        spreads = {name: paired(outcomes, name)[0].spread for name in (*ORDER, CSP)}
        known_spreads = [KNOWN[setup][spelled(name)][1] for name in ORDER]
        most = max(spreads[name] for name in ORDER) if outcomes else None
        shown = f"{min(spreads[name] for name in ORDER):.2f} to {most:.2f}, CSP {spreads[CSP]:.2f}" if outcomes else "–"
        names = {
            "setup": setup,
            "known": f"{min(known_spreads):.2f} to {max(known_spreads):.2f}, CSP {KNOWN[setup][CSP][1]}",
        }
        yield claim("stable", shown, within(most, high=spreads[CSP]), **names)
    yield wins_claim({setup: there[setup] for setup in (FIRST, SECOND) if setup in there})
    choices = [(outcome, name) for outcomes in there.values() for outcome in outcomes for name in ORDER]
    misled = [is_misled(*choice) for choice in choices]
    shown = f"{sum(misled)} of {len(misled)}"
    yield claim("misled", shown, share(misled, high=MISLED), most=MISLED)
    general = [generalises(*choice) for choice in choices]
    yield claim(
        "generalises", f"{sum(general)} of {len(general)}", share(general, low=GENERAL), slack=SLACK, least=GENERAL
    )
    yield from level_claims(ledger, found[THIRD])
    for setup, outcomes in found.items():
        best = best_variant(outcomes) if outcomes else ORDER[0]
        own, control = paired(outcomes, best, CONTROL)
        yield claim("control", f"{spelled(best)}: {against(own, control)}", ahead(own, control), setup=setup)
        own, mean_csp = paired(outcomes, best + MEAN, AVERAGED)
        yield claim("averaged", f"{spelled(best)}: {against(own, mean_csp)}", ahead(own, mean_csp), setup=setup)


def share(found: Sequence[bool], **bounds: float) -> Verdict:
    return within(100 * sum(found) / len(found) if found else None, **bounds, unit=" %")


def wins_claim(found: dict[str, list[Trials]]) -> Claim:
    wins = [
        sum(a > b for a, b in zip(*(sample.scores for sample in paired(outcomes, name, CSP)), strict=True))
        / len(outcomes)
        for outcomes in found.values()
        for name in ORDER
    ]
    shown = f"{100 * min(wins):.0f} to {100 * max(wins):.0f} % of the data sets" if wins else "–"
    least = 100 * min(wins) if wins else None
    return claim("wins", shown, within(least, low=10 * OFTEN, unit=" %"), often=OFTEN)


def level_claims(ledger: Ledger, outcomes: Sequence[Trials]) -> Iterator[Claim]:
    """The level of the third set-up as we read it, and then under every other reading."""
    csp, known = (KNOWN[THIRD][spelled(method)][0] for method in (CSP, VARIANT))
    names = {"near": NEAR, "variant": spelled(VARIANT), "csp": csp, "known": known}
    found = paired(outcomes, CSP, VARIANT)
    yield claim("third", ", ".join(map(str, found)) if outcomes else "–", near(THIRD, found), **names)
    fitting, tried = [], False
    for name in READINGS:
        if name != "as in Table 1":
            reads = {setup: [reached(ledger, name, setup, method) for method in (CSP, VARIANT)] for setup in SETUPS}
            others = ", ".join(f"{reads[setup][0].mean:.1f}" for setup in (FIRST, SECOND))
            shown = f"{', '.join(map(str, reads[THIRD]))} (CSP in the first two set-ups: {others})"
            text, verdict = PAPER["readings"]["texts"][name], near(THIRD, reads[THIRD])
            yield claim("reading", shown if all(reads[THIRD]) else "–", verdict, reading=text, **names)
            tried |= all(map(all, reads.values()))
            fitting += [name] * (together([near(*own) for own in reads.items()]).verdict == REPRODUCED)
    shown = (", ".join(fitting) or "none") if tried else "–"
    yield claim("all-levels", shown, within(len(fitting) if tried else None, low=1, unit=" of them"), **names)


def near(setup: str, found: Sequence[Sample]) -> Verdict:
    """Whether CSP and the variant are at the paper's level in a set-up."""
    pairs = [(sample, KNOWN[setup][spelled(name)][0]) for sample, name in zip(found, (CSP, VARIANT), strict=True)]
    return together([within(own.mean if own else None, figure - NEAR, figure + NEAR, " %") for own, figure in pairs])
