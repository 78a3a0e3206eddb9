"""Dror & Reichart (2016): the structured weighted violations perceptron.

Table 1 beside the paper's: three set-ups of hidden Markov data, ten data sets each, the four variants at ten β beside
the plain perceptron (CSP), all with the weights after the last pass. These data are made here and need no corpora.

Table 2 beside the paper's: dependency parsing of first and second order, B-WM beside CSP, on the treebanks there are.

The paper has neither averaged weights nor a perceptron that is chosen from as many models as a variant; both are here.
Results are written anew after every data set and treebank: an interrupt loses nothing that was done.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from structron.data.hmm import DATASETS, SETUPS, SPLIT
from structron.experiments.common import make_folder, say, write_json
from structron.experiments.dror2016_choice import CONTROL, CSP, Trials
from structron.experiments.dror2016_parsing import B_WM, ENFORCED, Bank, ParsingScale, try_bank, try_crossing, usable
from structron.experiments.dror2016_synthetic import BETAS, POSTERIOR, Outcome, try_all
from structron.experiments.dror2016_table2 import Parsed, report_parsing, summary
from structron.experiments.dror2016_tables import comparison, summaries, table_of
from structron.experiments.runs import Report
from structron.io import atomic_write_bytes

RESULTS = Path("results/dror2016")
NEEDS_CORPORA = False
MINUTES = 10


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done: on synthetic data the data sets of each set-up, the β tried, passes; and in parsing."""

    datasets: int
    betas: Sequence[float]
    passes: int
    items: dict[str, int]
    parsing: ParsingScale


FEW = (0.5, 1.0, 2.0)
"""A training of a parser takes up to a minute: fewer β than in the paper, and little data rather than few passes, since
weighted updates take more passes than plain ones to learn the same."""
FULL = Scale(DATASETS, BETAS, 10, SPLIT, ParsingScale(15_000, 6_000, 15_000, {1: FEW, 2: FEW}, 12))
FEWER: dict[int, Sequence[float]] = {1: (1.0, 3.0), 2: (1.0, 3.0)}
QUICK = Scale(2, (0.5, 2.0, 5.0), 4, SPLIT, ParsingScale(3_000, 2_000, 2_000, FEWER, 3, 3_000, 2_000, 3))


class Results:
    """What `results.json` holds, and the files: they can be written at any time."""

    def __init__(self, folder: Path, quick: bool):
        self.folder, self.report = folder, Report()
        self.content: dict[str, Any] = {"paper": "Dror & Reichart (2016)", "quick": quick, "finished": False}

    def section(self, name: str, **content: Any) -> dict[str, Any]:
        self.content[name] = content
        return content

    def write(self, finished: bool = False) -> None:
        self.content |= {"finished": finished, "targets": self.report.targets}
        write_json(self.folder / "results.json", self.content)
        atomic_write_bytes(self.folder / "tables.txt", self.report.text().encode())


def synthetic(scale: Scale, results: Results) -> None:
    """Table 1. Data sets are independent of each other: as many are worked on as there are cores."""
    begin, used = time.perf_counter(), time.process_time()
    section = results.section("synthetic", passes=scale.passes, betas=list(scale.betas), items=scale.items, outcomes=[])
    outcomes: list[Outcome] = []

    def work(job: tuple[str, int]) -> Outcome:
        outcome = try_all(*job, scale.passes, scale.betas, scale.items)
        csp, top = (outcome.scores_of(name).test for name in (CSP, POSTERIOR))
        best = max(outcome.scores_of(name).test for name in outcome.variants)
        figures = f"CSP {csp:.2f}, everything else up to {best:.2f}, posterior {top:.2f}"
        say(f"{job[0]}, data set {job[1] + 1} of {scale.datasets}: {figures} ({time.perf_counter() - begin:.0f} s)")
        return outcome

    jobs = [(setup, number) for number in range(scale.datasets) for setup in SETUPS]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for outcome in pool.map(work, jobs):
            outcomes.append(outcome)
            section["outcomes"].append(outcome.as_dict())
            results.write()
    found = {setup: summaries([o for o in outcomes if o.setup == setup]) for setup in SETUPS}
    for setup, rows in found.items():
        results.report.show(table_of(setup, rows, scale.datasets))
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    section |= {"seconds": round(seconds, 1), "processor_seconds": round(used, 1), "table1": found}
    comparison(found, results.report)
    what = f"synthetic: all trainings under {MINUTES} minutes"
    results.report.target(what, f"{seconds:.0f} s ({used:.0f} s of processors)", seconds < 60 * MINUTES)
    results.write()


def parsing(data: Path | None, scale: ParsingScale, results: Results) -> None:
    """Table 2, on the treebanks that are there."""
    corpora, absent = usable(data)
    section = results.section("parsing", left_out=absent)
    if data is None or not corpora:
        say(
            f"Table 1 alone: Table 2 needs treebanks; {f'{data} has none' if data else 'no folder of corpora is given'}"
        )
        return
    if absent:
        say(f"parsing: left out, since {data} does not have them: {', '.join(absent)}")
    begin, parsed = time.perf_counter(), Parsed(scale, corpora)
    section |= {"scale": asdict(scale), "treebanks": {}}
    for corpus in corpora:
        bank = Bank.load(data, corpus, scale)
        parsed.drawn += [] if bank.own_dev else [corpus.name]
        entry = section["treebanks"].setdefault(corpus.name, {"sizes": bank.sizes(), "own_dev": bank.own_dev})
        for order, trials in try_bank(bank, scale):
            parsed.trials.setdefault(order, {})[corpus.name] = trials
            entry[f"order {order}"] = trials.as_dict()
            say(f"{corpus.name}, order {order}: {progress_of(trials)} ({time.perf_counter() - begin:.0f} s)")
            results.write()
    for corpus in filter(lambda corpus: corpus.crossing, corpora):
        parsed.crossing[corpus.name] = found = try_crossing(data, corpus, scale)
        section["treebanks"][corpus.name]["crossing"] = {str(order): pair for order, pair in found.items()}
        shown = ", ".join(f"order {order} {pair[1] - pair[0]:+.2f}" for order, pair in found.items())
        say(f"{corpus.name}, non-projective over projective: {shown} ({time.perf_counter() - begin:.0f} s)")
        results.write()
    report_parsing(parsed, results.report)
    section |= {"seconds": round(time.perf_counter() - begin, 1), **summary(parsed)}


def progress_of(trials: Trials) -> str:
    csp, found, held, control = (trials.scores_of(name).test for name in (CSP, B_WM, ENFORCED, CONTROL))
    return f"CSP {csp:.2f}, B-WM {found:.2f}, enforced {held:.2f}, best order of CSP {control:.2f}"


def run(data: Path | None = None, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write them and `results.json` to `out`; return what the JSON file holds."""
    scale = QUICK if quick else FULL
    results = Results(make_folder(out or RESULTS), quick)
    if quick:
        say(f"quick: {scale.datasets} data sets of each set-up, {len(scale.betas)} β, {scale.passes} passes")
    try:
        synthetic(scale, results)
        parsing(data, scale.parsing, results)
    except KeyboardInterrupt:
        say(f"interrupted: what was done is in {results.folder}")
        raise
    results.write(finished=True)
    say(f"results.json and tables.txt are in {results.folder}")
    if quick:
        say("quick: the targets are meant for the whole run; fewer data and passes change what is measured")
    print("\n".join(results.report.target_lines()), flush=True)
    return results.content
