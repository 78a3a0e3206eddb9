"""Huang, Fayong & Guo (2012), section 6.2: incremental dependency parsing, where exact search is out of reach.

Arc-standard with the paper's templates and the dynamic programming of Huang & Sagae (2010), unlabelled.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structron.experiments.frame import SPLITS, Line, Report, Rows, Table, Trial, draw_lines, learn, load_rows
from structron.experiments.huang2012 import methods
from structron.experiments.huang2012.methods import EARLY, EWT, MAX_VIOLATION, PAPER, STANDARD, WSJ, Scale
from structron.tasks.shift_reduce.parser import Parser

CORPORA = {WSJ: ("word", "pos", "head"), EWT: ("form", "xpos", "head")}
BEAM = 8
"""The paper's beam for Table 3."""
TIME_SHARE, GAP = 0.5, 5.0
INVALID = (20.0, 60.0)
SHOWN_POINTS = 12.0
"""Progress curves show so many points of UAS below the best: early passes would press the rest together."""

Found = dict[tuple[str, int | None, bool], Trial]
"""Trials by method, beam, and whether equivalent states are merged."""


def load(data: Path, corpus: str, scale: Scale) -> list[Rows]:
    train, dev, test = (load_rows(data, corpus, split, CORPORA[corpus]) for split in SPLITS)
    return [train[: scale.sentences], dev[: scale.dev_sentences], test]


def attempt_all(corpus: str, parts: Sequence[Rows], scale: Scale) -> Found:
    """All methods at the paper's beam; two of them at every beam; max-violation without merging."""
    train, dev, test = parts
    unmerged = scale.unmerged_beams[corpus]
    early, other, other_beams = scale.parsing_passes[corpus]
    wanted = [(method, BEAM, True) for method in methods.METHODS]
    beams = [beam for beam in scale.parsing_beams if beam != BEAM]
    wanted += [(method, beam, True) for beam in beams for method in (STANDARD, MAX_VIOLATION)]
    wanted += [(MAX_VIOLATION, beam, False) for beam in unmerged]
    columns = CORPORA[corpus]
    options: dict[str, Any] = {"templates": "huang", "labelled": False, "columns": columns, "pos": columns[1]}
    found: Found = {}
    for method, beam, merge in wanted:
        passes = other_beams if beam != BEAM else early if method == EARLY else other
        parser = Parser(passes=passes, update=method, beam=beam, merge=merge, **options)
        trial = found[method, beam, merge] = learn(f"parsing {corpus}", parser, train, dev)
        if beam == BEAM or (method == MAX_VIOLATION and beam in unmerged):
            trial.test = parser.score(test)
    return found


def time_share(early: Trial, other: Trial) -> float | None:
    """The time in which `other` reaches early's best dev score, of the time that early needs; None: it does not."""
    needed = other.first_pass(early.best)
    return None if needed is None else other.seconds(needed) / max(early.best_seconds, 1e-9)


def show_parsing(corpus: str, found: Found, report: Report) -> None:
    """Table 3 and how soon each method is where early update ends, every beam, merging, Figures 5 and 6, targets."""
    report.content["parsing"][corpus] = [trial.as_dict() for trial in found.values()]
    table = Table.of(PAPER["table3"], corpus=corpus, about=PAPER["table3"]["about"][corpus])
    at_beam = [trial for (_, beam, merge), trial in found.items() if beam == BEAM and merge]
    for trial in at_beam:
        figures = (trial.best_pass, trial.best_seconds, *trial.reached)
        table.add(trial.method, *figures, time_share(found[EARLY, BEAM, True], trial))
    report.show(table)
    table = Table.of(PAPER["beams"], corpus=corpus)
    standard = sorted((t for t in found.values() if t.method == STANDARD), key=lambda trial: trial.beam or 0)
    for old in standard:
        name, new = str(old.beam), found[MAX_VIOLATION, old.beam, True]
        pair = (old.best, old.best_pass, new.best, new.best_pass)
        table.add(name, *table.paper.get(name, (None,)), *pair, new.best - old.best, paper=())
    passes = {len(trial.history) for trial in found.values() if trial.method in (STANDARD, MAX_VIOLATION)}
    if len(passes) > 1:
        table.notes.append(f"beam {BEAM} had {max(passes)} passes, the others {min(passes)}")
    report.show(table)
    table = Table.of(PAPER["merging"], corpus=corpus)
    for (method, beam, merge), plain in found.items():
        if not merge:
            (dev, test), own = found[method, beam, True].reached, plain.reached
            table.add(str(beam), dev, test, *own, dev - own[0], test - own[1])
    if table.rows:
        report.show(table)
    methods.show_invalid(f"Parsing {corpus}", corpus, standard, report)
    draw_progress(corpus, at_beam, report)
    targets(corpus, found, report)


def draw_progress(corpus: str, trials: Sequence[Trial], report: Report) -> None:
    """Figure 6: dev UAS against learning time."""
    lines = []
    for trial in trials:
        times = [trial.seconds(passes) for passes in range(1, len(trial.history) + 1)]
        lines.append(Line(trial.method, times, [record["dev"] for record in trial.history], max))
    lowest, floor = min(min(line.y) for line in lines), max(trial.best for trial in trials) - SHOWN_POINTS
    title = f"Parsing {corpus}, beam {BEAM}: progress (Figure 6)"
    given = (title, "learning time/s", "dev UAS/%", lines, floor if lowest < floor else None)
    report.figure(f"figure6-{corpus}.png", draw_lines, *given)


def targets(corpus: str, found: Found, report: Report) -> None:
    """What the paper leads us to expect, with what was measured."""
    early, new, old = (found[method, BEAM, True] for method in (EARLY, MAX_VIOLATION, STANDARD))
    wanted, where = PAPER["targets"], f"parsing {corpus}, beam {BEAM}"
    ratio, gap, (low, high) = time_share(early, new), new.best - old.best, INVALID
    missed = f"not reached in {len(new.history)} passes ({new.best:.2f} against {early.best:.2f})"
    shown, met = (missed, False) if ratio is None else (f"{ratio:.2f}", ratio <= TIME_SHARE)
    report.target(wanted["time"], shown, met, where=where)
    report.target(wanted["gap"], f"{gap:.2f}", gap >= GAP, where=where, gap=GAP)
    met = low <= old.late_invalid <= high
    report.target(wanted["invalid"], f"{old.late_invalid:.1f} %", met, where=where, low=low, high=high)
    plain = found.get((MAX_VIOLATION, BEAM, False))
    if plain is not None:
        dev, test = (a - b for a, b in zip(new.reached, plain.reached, strict=True))
        report.target(wanted["merging"], f"{dev:+.2f} (test {test:+.2f})", dev >= 0, where=where)
