"""Huang, Fayong & Guo (2012), section 6.1: part-of-speech tagging under beams of different widths.

A trigram tagger with the features of Ratnaparkhi (1996), as in Collins (2002), except that words seen once are all one
unknown word; their spelling features stay.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structron.experiments import frame
from structron.experiments.frame import Report, Rows, Table, Trial
from structron.experiments.huang2012.methods import EARLY, EWT, METHODS, PAPER, STANDARD, Scale, show_invalid
from structron.features.templates import load_templates
from structron.tasks.chain.labeler import Tagger

COLUMNS = ("form", "known", "xpos")
UNKNOWN = "<unk>"
TAGGING_METHODS = METHODS[:-1]
"""The paper's five; LaSO is only in the comparison of parsers."""
ENOUGH_BEAM, NEAR_ZERO = 4, 5.0
"""Invalid standard updates, in per cent, are to be as good as gone at this beam and above."""


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
    return [re.sub(r"^w\[", f"{COLUMNS[1]}[", str(template)) for template in load_templates("collins-pos")]


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
    table = Table.of(PAPER["table1"])
    for trial in sorted(trials, key=lambda trial: (trial.beam is None, trial.beam or 0)):
        name = f"{'exact' if trial.beam is None else trial.beam}, {trial.method}"
        paper = table.paper.get(name, (None, None))
        table.add(name, *paper, trial.best_pass, trial.best, trial.best_seconds, paper=())
    report.show(table)
    table = Table.of(PAPER["table2"])
    for trial in (trial for trial in trials if trial.test is not None):
        ours = (frame.shown_beam(trial.beam), trial.best_pass, trial.best_seconds, trial.best, trial.test)
        table.add(f"{trial.method}, exact search" if trial.beam is None else trial.method, *ours)
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
        shown, names = f"{worst.late_invalid:.1f} % (beam {worst.beam})", {"beam": ENOUGH_BEAM, "share": NEAR_ZERO}
        report.target(PAPER["targets"]["tagging"], shown, worst.late_invalid <= NEAR_ZERO, **names)
