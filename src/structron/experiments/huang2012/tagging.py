"""Huang, Fayong & Guo (2012), section 6.1: part-of-speech tagging under beams of different widths.

A trigram tagger with the features of Ratnaparkhi (1996), as in Collins (2002), except that words seen once are all one
unknown word; their spelling features stay.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structron import Tagger
from structron.experiments import frame
from structron.experiments.frame import Report, Rows, Table, Trial
from structron.experiments.huang2012.methods import EARLY, EWT, MAX_VIOLATION, METHODS, STANDARD, Scale, show_invalid
from structron.features.templates import template_lines

COLUMNS = ("form", "known", "xpos")
UNKNOWN = "<unk>"
TAGGING_METHODS = METHODS[:-1]
"""The paper's five; LaSO is only in the comparison of parsers."""
ENOUGH_BEAM, NEAR_ZERO = 4, 5.0
"""Invalid standard updates, in per cent, are to be as good as gone at this beam and above."""

PAPER_DEV = {
    1: {STANDARD: (12, 96.27), EARLY: (13, 96.97), MAX_VIOLATION: (7, 96.97)},
    2: {STANDARD: (6, 97.07), EARLY: (6, 97.15), MAX_VIOLATION: (3, 97.20)},
    7: {STANDARD: (4, 97.17), EARLY: (7, 97.19), MAX_VIOLATION: (4, 97.20)},
}
"""Table 1: passes and accuracy on dev data."""
PAPER_TEST = {
    "exact": ("inf", 6, "162 m", 97.17, 97.28),
    EARLY: (4, 6, "37 m", 97.22, 97.35),
    "hybrid": (5, 5, "30 m", 97.18, 97.19),
    "latest": (7, 5, "45 m", 97.17, 97.13),
    MAX_VIOLATION: (2, 3, "26 m", 97.20, 97.33),
}
"""Table 2: beam, passes, time, dev and test accuracy; standard updates with exact search are its baseline."""


def load(data: Path, scale: Scale) -> list[Rows]:
    """The three parts, tokens with a column in which rare words are unknown."""
    train, dev, test = (frame.load_rows(data, EWT, split, (COLUMNS[0], COLUMNS[-1])) for split in frame.SPLITS)
    train = train[: scale.tagging_sentences]
    counts = Counter(word for sentence in train for word, _ in sentence)
    return [hide_rare(rows, counts) for rows in (train, dev[: scale.dev_sentences], test)]


def hide_rare(rows: Rows, counts: Counter[str]) -> Rows:
    """(word, tag) → (word, the word or unknown, tag); a word of dev or test that was seen once is unknown as well."""
    return [[[word, word if counts[word] > 1 else UNKNOWN, tag] for word, tag in sentence] for sentence in rows]


def templates() -> list[str]:
    """Ratnaparkhi's, with the words (not their spelling) taken from the column in which rare ones are unknown."""
    lines = [line for line in template_lines("collins-pos") if line and not line.startswith("#")]
    return [line.replace("w[", f"{COLUMNS[1]}[") if line.startswith("w[") else line for line in lines]


def attempt_all(parts: Sequence[Rows], scale: Scale) -> list[Trial]:
    """Every method at every beam, and exact search; what a method does best on dev data is tested."""
    train, dev, test = parts
    early, other = scale.tagging_passes
    options: dict[str, Any] = {"order": 2, "runs": 1, "cutoff": 0, "columns": COLUMNS, "label": COLUMNS[-1]}
    found = []
    for method, beams in [(STANDARD, (None,)), *((method, scale.tagging_beams) for method in TAGGING_METHODS)]:
        options |= {"update": method, "passes": early if method == EARLY else other, "templates": templates()}
        taggers = [Tagger(beam=beam, **options) for beam in beams]
        trials = [frame.learn("tagging", tagger, train, dev) for tagger in taggers]
        best, tagger = max(zip(trials, taggers, strict=True), key=lambda pair: pair[0].best)
        best.test = tagger.score(test)
        found += trials
    return found


def show_tagging(trials: Sequence[Trial], report: Report) -> None:
    """Table 1 and Figure 4, Table 2, Figure 5."""
    report.content["tagging"] = [trial.as_dict() for trial in trials]
    columns: tuple[str, ...] = ("beam, method", "paper's it", "paper's dev", "our it", "our dev", "time/s")
    table = Table("Tagging, development data: best accuracy/% and the pass that gave it (Table 1, Figure 4)", columns)
    for trial in sorted(trials, key=lambda trial: (trial.beam is None, trial.beam or 0)):
        paper = PAPER_DEV.get(trial.beam or 0, {}).get(trial.method, (None, None))
        name = f"{'exact' if trial.beam is None else trial.beam}, {trial.method}"
        table.add(name, *paper, trial.best_pass, trial.best, trial.best_seconds)
    table.notes = [
        "EWT is web text, and less of it, not the Wall Street Journal: levels do not carry over, differences may.",
        "Order 2, Ratnaparkhi's features, no cut-off, words seen once unknown, averaged, order shuffled (seed 1).",
    ]
    report.show(table)
    columns = ("method", "b", "it", "time/s", "dev", "test", "paper's b", "it", "time", "dev", "test")
    table = Table("Tagging, test data: accuracy/% (Table 2)", columns)
    table.notes = ["time: learning up to the best pass, without scoring dev data. Exact search is Viterbi's algorithm."]
    for trial in (trial for trial in trials if trial.test is not None):
        name, key = (f"{trial.method}, exact search", "exact") if trial.beam is None else (trial.method, trial.method)
        ours = (frame.shown_beam(trial.beam), trial.best_pass, trial.best_seconds, trial.best, trial.test)
        table.add(name, *ours, paper=PAPER_TEST.get(key))
    report.show(table)
    lines = []
    for method in TAGGING_METHODS:
        own = {t.beam: t.best for t in trials if t.method == method and t.beam is not None}
        lines.append(frame.Line(method, list(own), list(own.values())))
    title = "Tagging: beams and updates (Figure 4)"
    report.figure("figure4-tagging.png", frame.draw_lines, title, "beam", "best dev accuracy/%", lines)
    show_invalid("Tagging", "tagging", trials, report)
    wide = [t for t in trials if t.method == STANDARD and t.beam is not None and t.beam >= ENOUGH_BEAM]
    if wide:
        worst = max(wide, key=lambda trial: trial.late_invalid)
        what = f"tagging, beam {ENOUGH_BEAM} and more: late standard updates that are invalid at most {NEAR_ZERO:.0f} %"
        report.target(what, f"{worst.late_invalid:.1f} % (beam {worst.beam})", worst.late_invalid <= NEAR_ZERO)
