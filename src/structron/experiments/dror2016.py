"""Dror & Reichart (2016): the structured weighted violations perceptron.

Table 1 beside the paper's: three set-ups of hidden Markov data, ten data sets each, the four variants at ten β beside
the plain perceptron (CSP), all with the weights after the last pass. The paper has neither averaged weights nor a
perceptron that is chosen from as many models as a variant; both are here. The data are made here and need no corpora.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structron.data.hmm import DATASETS, SETUPS, SPLIT
from structron.experiments.common import make_folder, say, write_json
from structron.experiments.dror2016_synthetic import BETAS, CSP, Outcome, try_all
from structron.experiments.dror2016_tables import comparison, summaries, table_of
from structron.experiments.runs import Report
from structron.io import atomic_write_bytes

RESULTS = Path("results/dror2016")
NEEDS_CORPORA = False
MINUTES = 10


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done on synthetic data: data sets of each set-up, the β tried, passes."""

    datasets: int
    betas: Sequence[float]
    passes: int
    items: dict[str, int]


FULL = Scale(DATASETS, BETAS, 10, SPLIT)
QUICK = Scale(2, (0.5, 2.0, 5.0), 4, SPLIT)


def synthetic(scale: Scale, report: Report) -> dict[str, Any]:
    """Table 1. Data sets are independent of each other: as many are worked on as there are cores."""
    begin, used = time.perf_counter(), time.process_time()

    def work(job: tuple[str, int]) -> Outcome:
        outcome = try_all(*job, scale.passes, scale.betas, scale.items)
        csp = outcome.scores_of(CSP).test
        best = max(outcome.scores_of(name).test for name in outcome.variants)
        figures = f"CSP {csp:.2f}, everything else up to {best:.2f}, posterior {outcome.ceiling.test:.2f}"
        say(f"{job[0]}, data set {job[1] + 1} of {scale.datasets}: {figures} ({time.perf_counter() - begin:.0f} s)")
        return outcome

    jobs = [(setup, number) for number in range(scale.datasets) for setup in SETUPS]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        outcomes = list(pool.map(work, jobs))
    found = {setup: summaries([o for o in outcomes if o.setup == setup]) for setup in SETUPS}
    for setup, rows in found.items():
        report.show(table_of(setup, rows, scale.datasets))
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    comparison(found, report)
    what, measured = (
        f"synthetic: all trainings under {MINUTES} minutes",
        f"{seconds:.0f} s ({used:.0f} s of processors)",
    )
    report.target(what, measured, seconds < 60 * MINUTES)
    return {
        "passes": scale.passes,
        "betas": list(scale.betas),
        "items": scale.items,
        "seconds": round(seconds, 1),
        "processor_seconds": round(used, 1),
        "table1": found,
        "outcomes": [outcome.as_dict() for outcome in outcomes],
    }


def run(data: Path | None = None, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write them and `results.json` to `out`; return what the JSON file holds."""
    scale, report = QUICK if quick else FULL, Report()
    folder = make_folder(out or RESULTS)
    if quick:
        say(f"quick: {scale.datasets} data sets of each set-up, {len(scale.betas)} β, {scale.passes} passes")
    results = {
        "paper": "Dror & Reichart (2016)",
        "quick": quick,
        "synthetic": synthetic(scale, report),
        "targets": report.targets,
    }
    write_json(folder / "results.json", results)
    atomic_write_bytes(folder / "tables.txt", report.text().encode())
    say(f"results.json and tables.txt are in {folder}")
    if quick:
        say("quick: the targets are meant for the whole run; fewer data sets and passes change what is measured")
    print("\n".join(report.target_lines()), flush=True)
    return results
