"""Dror & Reichart (2016): the structured weighted violations perceptron.

Table 1 beside the paper's: three set-ups of hidden Markov data, ten data sets each, the four variants at ten β beside
the plain perceptron (CSP), all with the weights after the last pass. These data are made here and need no corpora.

Table 2 beside the paper's: dependency parsing of first and second order, B-WM beside CSP, on the treebanks there are.

The paper has neither averaged weights nor a perceptron that is chosen from as many models as a variant; both are here.
Results are written anew after every data set and treebank.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from structron.data.hmm import DATASETS, SETUPS, SPLIT
from structron.experiments.dror2016.choice import CONTROL, CSP, PAPER, POSTERIOR, Trials
from structron.experiments.dror2016.parsing import B_WM, ENFORCED, Bank, ParsingScale, try_bank, try_crossing, usable
from structron.experiments.dror2016.synthetic import summaries, table_of, target, try_all
from structron.experiments.dror2016.table2 import Parsed, report_parsing
from structron.experiments.frame import Report, reporting, say

NEEDS_CORPORA = False
MINUTES = 10
BETAS = tuple(0.5 * k for k in range(1, 11))
FEW = (0.5, 1.0, 2.0)
"""A training of a parser takes up to a minute: fewer β than in the paper, and little data rather than few passes, since
weighted updates take more passes than plain ones to learn the same."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done: on synthetic data the data sets of each set-up, the β tried, passes; and in parsing."""

    datasets: int
    betas: Sequence[float]
    passes: int
    items: dict[str, int]
    parsing: ParsingScale


FULL = Scale(DATASETS, BETAS, 10, SPLIT, ParsingScale(15_000, 6_000, 15_000, {1: FEW, 2: FEW}, 12))
FEWER: dict[int, Sequence[float]] = {1: (1.0, 3.0), 2: (1.0, 3.0)}
QUICK = Scale(2, (0.5, 2.0, 5.0), 4, SPLIT, ParsingScale(3_000, 2_000, 2_000, FEWER, 3, 3_000, 2_000, 3))


def run_synthetic(scale: Scale, report: Report) -> None:
    """Table 1. Data sets are independent of each other: as many are worked on as there are cores."""
    begin, used = time.perf_counter(), time.process_time()
    section: dict[str, Any] = {"passes": scale.passes, "betas": list(scale.betas), "items": scale.items, "outcomes": []}
    report.content["synthetic"] = section
    outcomes: dict[str, list[Trials]] = {setup: [] for setup in SETUPS}

    def work(job: tuple[str, int]) -> Trials:
        found = try_all(*job, scale.passes, scale.betas, scale.items)
        csp, top = (found.scores_of(name).test for name in (CSP, POSTERIOR))
        best = max(found.scores_of(name).test for name in found.models if name != POSTERIOR)
        figures = f"CSP {csp:.2f}, everything else up to {best:.2f}, posterior {top:.2f}"
        say(f"{job[0]}, data set {job[1] + 1} of {scale.datasets}: {figures} ({time.perf_counter() - begin:.0f} s)")
        return found

    jobs = [(setup, number) for number in range(scale.datasets) for setup in SETUPS]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for (setup, number), found in zip(jobs, pool.map(work, jobs), strict=True):
            outcomes[setup].append(found)
            section["outcomes"].append({"setup": setup, "number": number} | found.as_dict())
            report.write()
    rows = {setup: summaries(found) for setup, found in outcomes.items()}
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    section |= {"seconds": round(seconds, 1), "processor_seconds": round(used, 1), "table1": rows}
    for setup in SETUPS:
        report.show(table_of(setup, rows[setup], scale.datasets))
    target(rows, report)
    shown = f"{seconds:.0f} s ({used:.0f} s of processors)"
    report.target(PAPER["targets"]["minutes"], shown, seconds < 60 * MINUTES, minutes=MINUTES)


def run_parsing(data: Path | None, scale: ParsingScale, report: Report) -> None:
    """Table 2, on the treebanks that are there."""
    corpora, absent = usable(data)
    section: dict[str, Any] = {"left_out": absent}
    report.content["parsing"] = section
    if data is None or not corpora:
        where = f"{data} has none" if data else "no folder of corpora is given"
        say(f"Table 1 alone: Table 2 needs treebanks; {where}")
        return
    if absent:
        say(f"parsing: left out, since {data} does not have them: {', '.join(absent)}")
    begin, parsed = time.perf_counter(), Parsed(scale)
    section |= {"scale": asdict(scale), "treebanks": {}}

    def note(what: str) -> None:
        say(f"{what} ({time.perf_counter() - begin:.0f} s)")
        report.write()

    for corpus in corpora:
        bank = Bank.load(data, corpus, scale)
        parsed.drawn += [] if bank.own_dev else [corpus.name]
        entry = section["treebanks"].setdefault(corpus.name, {"sizes": bank.sizes(), "own_dev": bank.own_dev})
        for order, trials in try_bank(bank, scale):
            parsed.trials.setdefault(order, {})[corpus.name] = trials
            broken = {f"{beta:g}": round(scores.broken or 0.0, 2) for beta, scores in trials.models[B_WM].items()}
            entry[f"order {order}"] = trials.as_dict() | {"broken": broken}
            shown = ", ".join(f"{name} {trials.scores_of(name).test:.2f}" for name in (CSP, B_WM, ENFORCED, CONTROL))
            note(f"{corpus.name}, order {order}: {shown}")
    for corpus in filter(lambda corpus: corpus.crossing, corpora):
        parsed.crossing[corpus.name] = found = try_crossing(data, corpus, scale)
        section["treebanks"][corpus.name]["crossing"] = found
        shown = ", ".join(f"order {order} {pair[1] - pair[0]:+.2f}" for order, pair in found.items())
        note(f"{corpus.name}, non-projective over projective: {shown}")
    section |= {"seconds": round(time.perf_counter() - begin, 1), **report_parsing(parsed, report)}


def run(data: Path | None = None, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write them and `results.json` to `out`; return what the JSON file holds."""
    scale = QUICK if quick else FULL
    less = f"{scale.datasets} data sets of each set-up, {len(scale.betas)} β, {scale.passes} passes"
    with reporting("Dror & Reichart (2016)", out or Path("results/dror2016"), quick, less) as report:
        run_synthetic(scale, report)
        run_parsing(data, scale.parsing, report)
    return report.content
