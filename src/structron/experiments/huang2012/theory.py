"""Huang, Fayong & Guo (2012), what is proved: Figure 1 and the theorems, as jobs, tables and claims."""

from collections.abc import Iterator
from math import inf
from typing import Any

from structron.experiments.frame import Claim, Job, Ledger, Table, mean, within
from structron.experiments.huang2012 import methods
from structron.experiments.huang2012.methods import PAPER, Scale, claim

LOOP, BOUNDS = "huang2012.loop:figure1", "huang2012.theorem:bounds"
SHOWN = 6
"""Iterations of Figure 1 in the table."""


def plan(scale: Scale) -> Iterator[Job]:
    yield methods.job("loop:figure1", 15.0)
    yield from (methods.job("theorem:bounds", 10.0, seed=seed) for seed in range(1, scale.bounds + 1))


def scenarios(ledger: Ledger) -> dict[str, list[dict[str, Any]]]:
    """What was trained on data that can be separated, by name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for trial in methods.by_seed(ledger.of(BOUNDS)):
        for scenario in trial["scenarios"]:
            found.setdefault(scenario["name"], []).append(scenario)
    return found


def tables(ledger: Ledger) -> Iterator[Table]:
    for trial in ledger.of(LOOP):
        table = Table.of(PAPER["figure1"])
        for name, records in trial["settings"].items():
            for number, record in enumerate(records[:SHOWN], 1):
                change: tuple[Any, ...] = (None, None, None)
                if record["updated"]:
                    delta = "({:+}, {:+})".format(*record["delta"])
                    change = (delta, record["product"], "yes" if record["valid"] else "no")
                w = "({}, {})".format(*record["w"])
                table.add(name if number == 1 else "", number, record["z"], *change, w)
        yield table
    table = Table.of(PAPER["bounds"])
    for name, own in scenarios(ledger).items():
        most = max(own, key=lambda one: one["updates"] / one["bound"])
        figures = [mean([one[key] for one in own]) for key in ("R", "delta")]
        shown = (len(own), most["updates"], f"{most['bound']:.0f}", sum(one["invalid"] for one in own), *figures)
        table.add(name, *shown)
    if table.rows:
        yield table


def claims(ledger: Ledger) -> Iterator[Claim]:
    """Theorems 1 to 6 in their order; Figure 1 proves the third."""
    found, loops = scenarios(ledger), ledger.of(LOOP)
    for number in range(1, 7):
        if number == 3:
            yield from (loop_claim(trial["settings"]["greedy, standard"], trial["margin"]) for trial in loops)
        elif number == 5:
            yield from subset_claim(ledger)
        else:
            own = [one for name, many in found.items() if name.startswith(f"Theorem {number}") for one in many]
            shares = [one["updates"] / one["bound"] if one["ended"] and not one["invalid"] else inf for one in own]
            most = max(own, key=lambda one: one["updates"] / one["bound"], default=None)
            ours = f"{most['updates']} updates, R²/δ² = {most['bound']:.0f} ({len(own)} trainings)" if most else ""
            share = 100 * max(shares) if shares else None
            yield claim(f"theorem{number}", ours, within(share, high=100, unit=" %", name="share of the bound"))


def loop_claim(records: list[dict[str, Any]], margin: float) -> Claim:
    """The loop goes on as long as it is looked at, and data can be separated."""
    updates = sum(record["updated"] for record in records)
    ours = (
        f"{updates} updates in {len(records)} iterations, the last w = ({records[-1]['w'][0]}, {records[-1]['w'][1]})"
    )
    share = 100 * updates / len(records) if margin > 0 else 0.0
    endless = within(share, low=100, unit=" %", name="iterations with an update")
    return claim("theorem3", ours, endless)


def subset_claim(ledger: Ledger) -> Iterator[Claim]:
    """What separates C_b separates the other two."""
    own = [trial["implied"] for trial in ledger.of(BOUNDS) if trial["implied"]["C_b"] > 0]
    least = min((min(one["C_g"], one["C_s"]) - one["C_b"] for one in own), default=None)
    ours = f"{len(own)} beam-separable data sets; margins on C_g and C_s are no smaller" if own else ""
    yield claim("theorem5", ours, within(least, low=0.0, name="their margins less that on beams"))
