"""Kazama & Torisawa (2007): tables beside the paper's, and targets, from what a corpus's JSON file holds."""

from typing import Any

from structron.experiments.common import Table
from structron.experiments.kazama2007_paper import (
    AVERAGED,
    AVERAGED_MARGIN,
    AVERAGED_PROPOSED,
    BPM_EFFECT,
    CANDIDATE,
    CRF,
    MARGIN,
    N_LARGE,
    N_TEST,
    PERCEPTRON,
    PROPOSED,
    RERANKING_1,
    RERANKING_2,
    SENTENCES,
    TABLE2,
    TABLE3,
    TABLE6,
    TABLE7,
    N,
)
from structron.experiments.kazama2007_study import same, without
from structron.experiments.runs import Report

ROWS = (CRF, PERCEPTRON, AVERAGED, MARGIN, AVERAGED_MARGIN, CANDIDATE, PROPOSED, AVERAGED_PROPOSED, SENTENCES)
TUNED = (MARGIN, CANDIDATE, PROPOSED, RERANKING_1, RERANKING_2)
TIMES_MARGIN = 3
"""How much slower than the margin perceptron the proposed algorithm may be."""

Results = dict[str, Any]


def number(c: float | None) -> str | None:
    return None if c is None else f"{c:g}"


def show_tables(found: Results, report: Report) -> None:
    """All tables of a corpus that has been worked through."""
    for table in (table2(found), table3(found), table6(found), table7(found), bpm_table(found), margins_table(found)):
        report.show(table)


def table2(found: Results) -> Table:
    columns = ("method", "C", "dev F", "test F", "train/s", "passes", "paper's C", "dev F", "test F")
    table = Table(f"{found['corpus']}: local and non-local features (Table 2)", columns)
    for method in ROWS:
        trial = found["chosen"][method]
        dev, test, c = TABLE2.get(method, (None, None, None))
        figures = (number(trial["c"]), trial["dev"], trial["test"], trial["seconds"], trial["passes"])
        table.rows.append((method, *figures, number(c), dev, test))
    sizes = found["sizes"]
    parts = ", ".join(f"{split} {sizes[split]['documents']}" for split in sizes)
    table.notes = [
        f"Documents: {parts}. The paper: CoNLL-2003 English, 964, 216 and 231 documents, gazetteers.",
        f"n = {N}, n' = {N_TEST}. C was chosen on dev data, of the CRF the variance of its prior (in place of C).",
        "The CRF (python-crfsuite) has the node features and bare label bigrams, but no edge features.",
        "Averaged margin perceptron and averaged proposed are not in the paper; they have the C of the others.",
        "Sentence by sentence: averaged, local features learned as `train entities` does; not in the paper either.",
    ]
    return table


def table3(found: Results) -> Table:
    table = Table(
        f"{found['corpus']}: candidates in testing, proposed algorithm (Table 3)",
        ("n'", "dev F", "test F", "s", "paper's dev F", "test F"),
    )
    for n, scores in found["table3"].items():
        table.rows.append((n, scores["dev"], scores["test"], scores["seconds"], *TABLE3.get(int(n), (None, None))))
    table.notes = [f"s: labelling dev and test data. C = {number(found['chosen'][PROPOSED]['c'])}; paper 5657."]
    return table


def table6(found: Results) -> Table:
    chosen, table3 = found["chosen"], found["table3"]
    table = Table(
        f"{found['corpus']}: re-ranking (Table 6)",
        ("method", "n'", "C", "dev F", "test F", "paper's C", "dev F", "test F"),
    )
    rows: list[tuple[str, int | None, float, float]] = [(MARGIN, None, chosen[MARGIN]["dev"], chosen[MARGIN]["test"])]
    rows += [(kind, N_TEST, chosen[kind]["dev"], chosen[kind]["test"]) for kind in (RERANKING_1, RERANKING_2)]
    rows.append((RERANKING_2, N_LARGE, *found["reranking"]["large"]))
    largest = max(map(int, table3))
    rows += [(PROPOSED, n, table3[str(n)]["dev"], table3[str(n)]["test"]) for n in dict.fromkeys((N_TEST, largest))]
    for method, n, dev, test in rows:
        paper = TABLE6.get((method, n), (None, None, None))
        c = number(chosen[method]["c"])
        table.rows.append((method, n, c, dev, test, number(paper[2]), *paper[:2]))
    oracle = ", ".join(f"n' = {n} {score:.2f}" for n, score in found["reranking"]["oracle"].items())
    table.notes = [
        "The paper's figures are those with the tags of TagChunk.",
        f"Second models learn from lists of {N} candidates that models of the other four fifths made.",
        "Of a list the candidate with the fewest wrong words stands for y*: the gold labelling is seldom in it.",
        "Re-ranking 1 divides the first model's score, so that its C is of another kind than the others'.",
        f"The candidates with the fewest wrong words on dev data: {oracle}.",
    ]
    return table


def training_seconds(found: Results) -> dict[str, float]:
    """The seconds of Table 7; re-ranking trains a first model of everything, five of parts, and the second."""
    chosen = found["chosen"]
    margin = chosen[MARGIN]["seconds"]
    lists = margin + found["reranking"]["first_seconds"]
    return {
        MARGIN: margin,
        RERANKING_1: lists + chosen[RERANKING_1]["seconds"],
        RERANKING_2: lists + chosen[same(RERANKING_2)]["seconds"],
        PROPOSED: chosen[same(PROPOSED)]["seconds"],
    }


def table7(found: Results) -> Table:
    chosen, seconds = found["chosen"], training_seconds(found)
    c = number(chosen[MARGIN]["c"])
    table = Table(
        f"{found['corpus']}: time of training, C = {c} (Table 7)",
        ("method", "dev F", "test F", "time/s", "ratio", "s per pass", "paper's dev F", "test F", "time/s", "ratio"),
    )
    trials = {RERANKING_1: chosen[RERANKING_1], RERANKING_2: chosen[same(RERANKING_2)]}
    trials |= {MARGIN: chosen[MARGIN], PROPOSED: chosen[same(PROPOSED)]}
    for method, (dev, test, time) in TABLE7.items():
        trial = trials[method]
        ours = (trial["dev"], trial["test"], seconds[method], seconds[method] / seconds[MARGIN], trial["pass_seconds"])
        table.rows.append((method, *ours, dev, test, time, time / TABLE7[MARGIN][2]))
    table.notes = [
        "time: from rows in memory to the model, both corpora at once on two cores; the paper's C is 5657.",
        f"Re-ranking 1 has the C of Table 6 in its second model. Passes: margin perceptron {chosen[MARGIN]['passes']}, "
        f"proposed {chosen[same(PROPOSED)]['passes']}.",
    ]
    return table


def bpm_table(found: Results) -> Table:
    pair = ("dev F", "test F", "no BPM: dev F", "test F")
    columns = ("method", *pair, "paper's dev F", *pair[1:])
    table = Table(f"{found['corpus']}: the BPM start (section 6.2)", columns)
    for method, (with_it, without_it) in BPM_EFFECT.items():
        trials = [found["chosen"][name] for name in (method, without(method))]
        figures = [trial[split] for trial in trials for split in ("dev", "test")]
        table.rows.append((method, *figures, *with_it, *without_it))
    table.notes = [f"The mean of {found['chosen'][MARGIN]['bpm']} passes in other orders, or nothing, to start from."]
    return table


def margins_table(found: Results) -> Table:
    """Every C that was tried."""
    table = Table(f"{found['corpus']}: dev F by C", ("method", "dev F at C"))
    for method in TUNED:
        bpm = found["chosen"][method]["bpm"]
        trials = [t for t in found["trials"] if t["method"] == method and t["bpm"] == bpm]
        tried = sorted((t["c"], t["dev"]) for t in trials)
        table.rows.append((method, "  ".join(f"{c:g}: {dev:.2f}" for c, dev in tried)))
    return table


# -- targets -------------------------------------------------------------------------------------------------------


def targets(every: list[Results], report: Report) -> None:
    """What the issue asks for, corpus by corpus where it says so."""
    gains = []
    for found in every:
        name, chosen = found["corpus"], found["chosen"]
        test = {method: chosen[method]["test"] for method in (*ROWS,)}

        def ahead(what: str, a: str, b: str, name: str = name, test: dict[str, float] = test) -> None:
            shown = f"{test[a]:.2f} and {test[b]:.2f} ({test[a] - test[b]:+.2f})"
            report.target(f"{name}: {what}", shown, test[a] > test[b])

        c = number(chosen[MARGIN]["c"])
        ahead(f"margin perceptron (C = {c}) ahead of the averaged one, test F1", MARGIN, AVERAGED)
        ahead("candidate algorithm below the proposed one, test F1", PROPOSED, CANDIDATE)
        gains.append((name, test[PROPOSED] - test[MARGIN]))
        seconds = training_seconds(found)
        ratio = seconds[PROPOSED] / seconds[MARGIN]
        what = f"{name}: proposed algorithm's training at most {TIMES_MARGIN} times the margin perceptron's"
        report.target(what, f"{ratio:.2f}", ratio <= TIMES_MARGIN)
    shown = ", ".join(f"{name} {gain:+.2f}" for name, gain in gains)
    what = "proposed algorithm ahead of the margin perceptron on one corpus at least, test F1"
    report.target(what, shown, any(gain > 0 for _, gain in gains))
