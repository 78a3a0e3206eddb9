"""Kazama & Torisawa (2007): tables beside the paper's, and targets, from what a corpus's JSON file holds."""

from typing import Any

from structron.experiments.frame import Report, Table
from structron.experiments.kazama2007 import paper
from structron.experiments.kazama2007.paper import MARGIN, N_TEST, NO_BPM, PROPOSED, RERANKING_1, RERANKING_2, SAME_C, N

ROWS = (
    *(paper.CRF, paper.PERCEPTRON, paper.AVERAGED, MARGIN, paper.AVERAGED_MARGIN),
    *(paper.CANDIDATE, PROPOSED, paper.AVERAGED_PROPOSED, paper.SENTENCES),
)
TUNED = (MARGIN, paper.CANDIDATE, PROPOSED, RERANKING_1, RERANKING_2)
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
    columns = ("method", "C", "dev F", "test F", "train/s", "passes", "paper's C", "dev F", "test F")
    table = Table(f"{found['corpus']}: local and non-local features (Table 2)", columns)
    for method in ROWS:
        trial = found["chosen"][method]
        dev, test, c = paper.TABLE2.get(method, (None, None, None))
        figures = (trial[name] for name in ("dev", "test", "seconds", "passes"))
        table.add(method, number(trial["c"]), *figures, paper=(number(c), dev, test))
    parts = ", ".join(f"{split} {sizes['documents']}" for split, sizes in found["sizes"].items())
    table.notes = [
        f"Documents: {parts}. The paper: CoNLL-2003 English, 964, 216 and 231 documents, gazetteers.",
        f"n = {N}, n' = {N_TEST}. C was chosen on dev data, of the CRF the variance of its prior (in place of C).",
        "The CRF (python-crfsuite) has the node features and bare label bigrams, but no edge features.",
        "Averaged margin perceptron and averaged proposed are not in the paper; they have the C of the others.",
        "Sentence by sentence: averaged, local features learned as `train entities` does; not in the paper either.",
    ]
    return table


def table3(found: Results) -> Table:
    columns = ("n'", "dev F", "test F", "s", "paper's dev F", "test F")
    table = Table(f"{found['corpus']}: candidates in testing, proposed algorithm (Table 3)", columns)
    for n, scores in found["table3"].items():
        table.add(n, scores["dev"], scores["test"], scores["seconds"], paper=paper.TABLE3.get(int(n)))
    table.notes = [f"s: labelling dev and test data. C = {number(found['chosen'][PROPOSED]['c'])}; paper 5657."]
    return table


def table6(found: Results) -> Table:
    chosen, more = found["chosen"], found["table3"]
    columns = ("method", "n'", "C", "dev F", "test F", "paper's C", "dev F", "test F")
    table = Table(f"{found['corpus']}: re-ranking (Table 6)", columns)

    def add(method: str, n: int | None, dev: float, test: float) -> None:
        known = paper.TABLE6.get((method, n))
        table.add(method, n, number(chosen[method]["c"]), dev, test, paper=known and (number(known[2]), *known[:2]))

    for method, n in ((MARGIN, None), (RERANKING_1, N_TEST), (RERANKING_2, N_TEST)):
        add(method, n, chosen[method]["dev"], chosen[method]["test"])
    add(RERANKING_2, paper.N_LARGE, *found["reranking"]["large"])
    for n in dict.fromkeys((N_TEST, max(map(int, more)))):
        add(PROPOSED, n, more[str(n)]["dev"], more[str(n)]["test"])
    oracle = ", ".join(f"n' = {n} {score:.2f}" for n, score in found["reranking"]["oracle"].items())
    table.notes = [
        "The paper's figures are those with the tags of TagChunk.",
        f"Second models learn from lists of {N} candidates that models of the other four fifths made.",
        "Of a list the candidate with the fewest wrong words stands for y*: the gold labelling is seldom in it.",
        "Re-ranking 1 divides the first model's score, so that its C is of another kind than the others'.",
        f"The candidates with the fewest wrong words on dev data: {oracle}.",
    ]
    return table


def timed_trials(found: Results) -> dict[str, tuple[dict[str, Any], float]]:
    """The trials of Table 7 and their seconds; re-ranking trains a first model of everything, five of parts, and the
    second."""
    chosen = found["chosen"]
    margin, lists = chosen[MARGIN]["seconds"], found["reranking"]["first_seconds"]
    trials = {MARGIN: chosen[MARGIN], PROPOSED: chosen[SAME_C(PROPOSED)]}
    again = {RERANKING_1: chosen[RERANKING_1], RERANKING_2: chosen[SAME_C(RERANKING_2)]}
    times = {method: (trial, trial["seconds"]) for method, trial in trials.items()}
    return times | {method: (trial, margin + lists + trial["seconds"]) for method, trial in again.items()}


def table7(found: Results) -> Table:
    trials = timed_trials(found)
    ours, papers = ("dev F", "test F", "time/s", "ratio", "s per pass"), ("paper's dev F", "test F", "time/s", "ratio")
    title = f"{found['corpus']}: time of training, C = {number(trials[MARGIN][0]['c'])} (Table 7)"
    table = Table(title, ("method", *ours, *papers))
    for method, (dev, test, time) in paper.TABLE7.items():
        trial, seconds = trials[method]
        times = (seconds, seconds / trials[MARGIN][1], trial["pass_seconds"])
        table.add(method, trial["dev"], trial["test"], *times, dev, test, time, time / paper.TABLE7[MARGIN][2])
    table.notes = [
        "time: from rows in memory to the model, both corpora at once on two cores; the paper's C is 5657.",
        "Re-ranking 1 has the C of Table 6 in its second model. "
        f"Passes: margin perceptron {trials[MARGIN][0]['passes']}, proposed {trials[PROPOSED][0]['passes']}.",
    ]
    return table


def other_tables(found: Results) -> tuple[Table, Table]:
    """The effect of the BPM start, and every C that was tried."""
    chosen = found["chosen"]
    pair = ("dev F", "test F", "no BPM: dev F", "test F")
    bpm = Table(f"{found['corpus']}: the BPM start (section 6.2)", ("method", *pair, "paper's dev F", *pair[1:]))
    bpm.notes = [f"The mean of {chosen[MARGIN]['bpm']} passes in other orders, or nothing, to start from."]
    for method, (with_it, without_it) in paper.BPM_EFFECT.items():
        trials = (chosen[method], chosen[NO_BPM(method)])
        bpm.add(method, *(t[split] for t in trials for split in ("dev", "test")), *with_it, *without_it)
    margins = Table(f"{found['corpus']}: dev F by C", ("method", "dev F at C"))
    for method in TUNED:
        own = [t for t in found["trials"] if (t["method"], t["bpm"]) == (method, chosen[method]["bpm"])]
        tried = sorted((t["c"], t["dev"]) for t in own)
        margins.add(method, "  ".join(f"{c:g}: {dev:.2f}" for c, dev in tried))
    return bpm, margins


def targets(every: list[Results], report: Report) -> None:
    """What is asked for, corpus by corpus and of all together."""
    gains = {}
    for found in every:
        name, trials = found["corpus"], timed_trials(found)
        test = {method: found["chosen"][method]["test"] for method in ROWS}
        c = number(found["chosen"][MARGIN]["c"])
        for what, a, b in (
            (f"margin perceptron (C = {c}) ahead of the averaged one", MARGIN, paper.AVERAGED),
            ("candidate algorithm below the proposed one", PROPOSED, paper.CANDIDATE),
        ):
            shown = f"{test[a]:.2f} and {test[b]:.2f} ({test[a] - test[b]:+.2f})"
            report.target(f"{name}: {what}, test F1", shown, test[a] > test[b])
        gains[name] = test[PROPOSED] - test[MARGIN]
        ratio = trials[PROPOSED][1] / trials[MARGIN][1]
        what = f"{name}: proposed algorithm's training at most {TIMES_MARGIN} times the margin perceptron's"
        report.target(what, f"{ratio:.2f}", ratio <= TIMES_MARGIN)
    shown = ", ".join(f"{name} {gain:+.2f}" for name, gain in gains.items())
    what = "proposed algorithm ahead of the margin perceptron on one corpus at least, test F1"
    report.target(what, shown, any(gain > 0 for gain in gains.values()))
