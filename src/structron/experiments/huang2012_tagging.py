"""Huang, Fayong & Guo (2012), section 6.1: part-of-speech tagging under beams of different widths.

A trigram tagger with the features of Ratnaparkhi (1996), as in Collins (2002), except that words seen once are all one
unknown word; their spelling features stay.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structron.experiments.common import Rows, Table, load_rows
from structron.experiments.huang2012_scale import EARLY, METHODS, STANDARD, Scale
from structron.experiments.runs import Report, Run, learn, shown_beam
from structron.features.templates import template_lines
from structron.tasks.chain.tagger import Tagger

CORPUS = "ud-english-ewt"
COLUMNS = ("form", "known", "xpos")
UNKNOWN = "<unk>"
TAGGING_METHODS = METHODS[:-1]
"""The paper's five; LaSO is only in the comparison of parsers."""
ENOUGH_BEAM, NEAR_ZERO = 4, 5.0
"""Invalid standard updates, in per cent, are to be as good as gone at this beam and above."""

PAPER_DEV = {
    1: {STANDARD: (12, 96.27), EARLY: (13, 96.97), "max-violation": (7, 96.97)},
    2: {STANDARD: (6, 97.07), EARLY: (6, 97.15), "max-violation": (3, 97.20)},
    7: {STANDARD: (4, 97.17), EARLY: (7, 97.19), "max-violation": (4, 97.20)},
}
"""Table 1: passes and accuracy on dev data."""
PAPER_TEST = {
    "exact": ("inf", 6, "162 m", 97.17, 97.28),
    EARLY: (4, 6, "37 m", 97.22, 97.35),
    "hybrid": (5, 5, "30 m", 97.18, 97.19),
    "latest": (7, 5, "45 m", 97.17, 97.13),
    "max-violation": (2, 3, "26 m", 97.20, 97.33),
}
"""Table 2: beam, passes, time, dev and test accuracy; standard updates with exact search are its baseline."""


@dataclass(frozen=True, slots=True)
class Tagging:
    """The three parts, tokens with a column in which rare words are unknown."""

    train: Rows
    dev: Rows
    test: Rows

    @classmethod
    def load(cls, data: Path, scale: Scale) -> "Tagging":
        columns = (COLUMNS[0], COLUMNS[-1])
        train, dev, test = (load_rows(data, CORPUS, split, columns) for split in ("train", "dev", "test"))
        train = train[: scale.tagging_sentences]
        counts = Counter(word for sentence in train for word, _ in sentence)
        return cls(*(hide_rare(rows, counts) for rows in (train, dev[: scale.dev_sentences], test)))

    def run(self, method: str, beam: int | None, passes: int) -> tuple[Run, Tagger]:
        options: dict[str, Any] = {"order": 2, "runs": 1, "cutoff": 0, "columns": COLUMNS, "label": COLUMNS[-1]}
        tagger = Tagger(passes=passes, update=method, beam=beam, templates=templates(), **options)
        return learn("tagging", tagger, self.train, self.dev), tagger

    def runs(self, scale: Scale) -> list[Run]:
        """Every method at every beam, and exact search; what a method does best on dev data is tested."""
        early, other = scale.tagging_passes
        found = []
        for method, beams in [(STANDARD, (None,)), *((method, scale.tagging_beams) for method in TAGGING_METHODS)]:
            tried = [self.run(method, beam, early if method == EARLY else other) for beam in beams]
            best, tagger = max(tried, key=lambda pair: pair[0].best)
            best.test = tagger.score(self.test)
            found += [run for run, _ in tried]
        return found


def hide_rare(rows: Rows, counts: Counter[str]) -> Rows:
    """(word, tag) → (word, the word or unknown, tag); a word of dev or test that was seen once is unknown as well."""
    return [[[word, word if counts[word] > 1 else UNKNOWN, tag] for word, tag in sentence] for sentence in rows]


def templates() -> list[str]:
    """Ratnaparkhi's, with the words (not their spelling) taken from the column in which rare ones are unknown."""
    lines = [line for line in template_lines("collins-pos") if line and not line.startswith("#")]
    return [line.replace("w[", f"{COLUMNS[1]}[") if line.startswith("w[") else line for line in lines]


# -- tables --------------------------------------------------------------------------------------------------------


def tagging_tables(runs: Sequence[Run], report: Report) -> None:
    report.show(dev_table(runs))
    report.show(test_table(runs))
    report.show(invalid_table(runs))
    wide = [run for run in runs if run.method == STANDARD and run.beam is not None and run.beam >= ENOUGH_BEAM]
    if wide:
        worst = max(wide, key=lambda run: run.late_invalid)
        what = f"tagging, beam {ENOUGH_BEAM} and more: late standard updates that are invalid at most {NEAR_ZERO:.0f} %"
        measured = f"{worst.late_invalid:.1f} % (beam {worst.beam})"
        report.target(what, measured, worst.late_invalid <= NEAR_ZERO)


def dev_table(runs: Sequence[Run]) -> Table:
    """Table 1 and, as figures, Figure 4."""
    columns = ("beam, method", "paper's it", "paper's dev", "our it", "our dev", "time/s")
    table = Table("Tagging, development data: best accuracy/% and the pass that gave it (Table 1, Figure 4)", columns)
    finite = sorted({run.beam for run in runs if run.beam is not None})
    for beam in (*finite, None):
        for run in (run for run in runs if run.beam == beam):
            paper = PAPER_DEV.get(beam or 0, {}).get(run.method, (None, None))
            name = f"{'exact' if beam is None else beam}, {run.method}"
            table.rows.append((name, *paper, run.best_pass, run.best, run.best_seconds))
    table.notes = [
        "EWT is web text, and less of it, not the Wall Street Journal: levels do not carry over, differences may.",
        "Order 2, Ratnaparkhi's features, no cut-off, words seen once unknown, averaged, order shuffled (seed 1).",
    ]
    return table


def test_table(runs: Sequence[Run]) -> Table:
    """Table 2: each method at the beam that was best on dev data."""
    columns = ("method", "b", "it", "time/s", "dev", "test", "paper's b", "it", "time", "dev", "test")
    table = Table("Tagging, test data: accuracy/% (Table 2)", columns)
    for run in (run for run in runs if run.test is not None):
        key = "exact" if run.beam is None else run.method
        paper = PAPER_TEST.get(key, (None,) * 5)
        name = f"{run.method}, exact search" if run.beam is None else run.method
        ours = (shown_beam(run.beam), run.best_pass, run.best_seconds, run.best)
        table.rows.append((name, *ours, run.test or 0.0, *paper))
    table.notes = ["time: learning up to the best pass, without scoring dev data. Exact search is Viterbi's algorithm."]
    return table


def invalid_table(runs: Sequence[Run]) -> Table:
    """Figure 5, tagging."""
    own = [run for run in runs if run.method == STANDARD and run.beam is not None]
    return invalid_shares("Tagging: invalid standard updates/% (Figure 5)", own)


def invalid_shares(title: str, runs: Sequence[Run]) -> Table:
    """A row per beam: the share after the first, the second, the middle and the last pass, and of late passes."""
    table = Table(title, ("beam", "pass 1", "pass 2", "middle", "last", "late passes"))
    for run in runs:
        shares = run.invalid
        places = (0, min(1, len(shares) - 1), len(shares) // 2, len(shares) - 1)
        table.rows.append((str(run.beam), *(shares[place] for place in places), run.late_invalid))
    table.notes = ["late passes: the last third. Paper: falls to 0 % in tagging, to about 50 % in parsing at beam 8."]
    return table
