"""Kazama & Torisawa (2007): tables beside the paper's, and targets, from what a corpus's JSON file holds."""

from typing import Any

from structron.experiments.frame import Report, Table, paper_of
from structron.experiments.kazama2007 import models
from structron.experiments.kazama2007.models import MARGIN, N_TEST, NO_BPM, PROPOSED, RERANKING_1, RERANKING_2, SAME_C

PAPER = paper_of("kazama2007")
ROWS = (
    *(models.CRF, models.PERCEPTRON, models.AVERAGED, MARGIN, models.AVERAGED_MARGIN),
    *(models.CANDIDATE, PROPOSED, models.AVERAGED_PROPOSED, models.SENTENCES),
)
TUNED = (MARGIN, models.CANDIDATE, PROPOSED, RERANKING_1, RERANKING_2)
TIMES_MARGIN = 3
"""How much slower than the margin perceptron the proposed algorithm may be."""

Results = dict[str, Any]


def number(c: float | None) -> str | None:
    return None if c is None else f"{c:g}"


def show_tables(found: Results, report: Report) -> None:
    """All tables of a corpus that has been worked through."""
    for table in (table2(found), table3(found), table6(found), table7(found), *other_tables(found)):
        report.show(table)


def table2(found: Results) -> Table:
    parts = ", ".join(f"{split} {sizes['documents']}" for split, sizes in found["sizes"].items())
    table = Table.of(PAPER["table2"], corpus=found["corpus"], parts=parts)
    for method in ROWS:
        trial = found["chosen"][method]
        table.add(method, number(trial["c"]), *(trial[name] for name in ("dev", "test", "seconds", "passes")))
    return table


def table3(found: Results) -> Table:
    c = number(found["chosen"][PROPOSED]["c"])
    table = Table.of(PAPER["table3"], corpus=found["corpus"], c=c)
    for n, scores in found["table3"].items():
        table.add(n, scores["dev"], scores["test"], scores["seconds"])
    return table


def table6(found: Results) -> Table:
    chosen, more = found["chosen"], found["table3"]
    oracle = ", ".join(f"n' = {n} {score:.2f}" for n, score in found["reranking"]["oracle"].items())
    table = Table.of(PAPER["table6"], corpus=found["corpus"], oracle=oracle)

    def add(method: str, n: int | None, dev: float, test: float) -> None:
        known = table.paper.get(method if n is None else f"{method}, {n}", ())
        table.add(method, n, number(chosen[method]["c"]), dev, test, paper=known)

    for method, n in ((MARGIN, None), (RERANKING_1, N_TEST), (RERANKING_2, N_TEST)):
        add(method, n, chosen[method]["dev"], chosen[method]["test"])
    add(RERANKING_2, models.N_LARGE, *found["reranking"]["large"])
    for n in dict.fromkeys((N_TEST, max(map(int, more)))):
        add(PROPOSED, n, more[str(n)]["dev"], more[str(n)]["test"])
    return table


def timed_trials(found: Results) -> dict[str, tuple[dict[str, Any], float]]:
    """The trials of Table 7 and their seconds; re-ranking trains a first model of everything, five of parts, and the
    second."""
    chosen = found["chosen"]
    before = chosen[MARGIN]["seconds"] + found["reranking"]["first_seconds"]
    alone, again = (MARGIN, SAME_C(PROPOSED)), (RERANKING_1, SAME_C(RERANKING_2))
    trials = [(chosen[name], 0) for name in alone] + [(chosen[name], before) for name in again]
    return {trial["method"]: (trial, more + trial["seconds"]) for trial, more in trials}


def table7(found: Results) -> Table:
    trials = timed_trials(found)
    margin, proposed = (trials[method][0]["passes"] for method in (MARGIN, PROPOSED))
    names = {"corpus": found["corpus"], "c": number(trials[MARGIN][0]["c"]), "margin": margin, "proposed": proposed}
    table = Table.of(PAPER["table7"], **names)
    for method in table.paper:
        trial, seconds = trials[method]
        table.add(method, trial["dev"], trial["test"], seconds, seconds / trials[MARGIN][1], trial["pass_seconds"])
    return table


def other_tables(found: Results) -> tuple[Table, Table]:
    """The effect of the BPM start, and every C that was tried."""
    chosen = found["chosen"]
    names = {"corpus": found["corpus"]}
    bpm = Table.of(PAPER["bpm"], bpm=chosen[MARGIN]["bpm"], **names)
    for method in bpm.paper:
        trials = (chosen[method], chosen[NO_BPM(method)])
        bpm.add(method, *(t[split] for t in trials for split in ("dev", "test")))
    margins = Table.of(PAPER["margins"], **names)
    for method in TUNED:
        own = [t for t in found["trials"] if (t["method"], t["bpm"]) == (method, chosen[method]["bpm"])]
        tried = sorted((t["c"], t["dev"]) for t in own)
        margins.add(method, "  ".join(f"{c:g}: {dev:.2f}" for c, dev in tried))
    return bpm, margins


def targets(every: list[Results], report: Report) -> None:
    """What is asked for, corpus by corpus and of all together."""
    gains, wanted = {}, PAPER["targets"]
    for found in every:
        trials, test = timed_trials(found), {method: found["chosen"][method]["test"] for method in ROWS}
        names = {"corpus": found["corpus"], "c": number(found["chosen"][MARGIN]["c"]), "times": TIMES_MARGIN}
        for what, a, b in (("margin", MARGIN, models.AVERAGED), ("candidate", PROPOSED, models.CANDIDATE)):
            shown = f"{test[a]:.2f} and {test[b]:.2f} ({test[a] - test[b]:+.2f})"
            report.target(wanted[what], shown, test[a] > test[b], **names)
        gains[found["corpus"]] = test[PROPOSED] - test[MARGIN]
        ratio = trials[PROPOSED][1] / trials[MARGIN][1]
        report.target(wanted["time"], f"{ratio:.2f}", ratio <= TIMES_MARGIN, **names)
    shown = ", ".join(f"{name} {gain:+.2f}" for name, gain in gains.items())
    report.target(wanted["proposed"], shown, any(gain > 0 for gain in gains.values()))
