"""Huang, Fayong & Guo (2012), section 6.1: part-of-speech tagging under beams of different widths.

A trigram tagger with the features of Ratnaparkhi (1996), as in Collins (2002), except that words seen once are all one
unknown word; their spelling features stay.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from structron.experiments import frame
from structron.experiments.frame import (
    Claim,
    Curve,
    Drawing,
    Job,
    Ledger,
    Rows,
    Sample,
    Table,
    Trial,
    mean,
    together,
)
from structron.experiments.frame.ledger import Figures
from structron.experiments.huang2012 import methods
from structron.experiments.huang2012.methods import (
    EARLY,
    EWT,
    MAX_VIOLATION,
    METHODS,
    PAPER,
    STANDARD,
    THREE,
    Scale,
    claim,
)
from structron.features.templates import load_templates
from structron.tasks.chain.labeler import Tagger

COLUMNS = ("form", "known", "xpos")
UNKNOWN = "<unk>"
FIVE = METHODS[:-1]
"""The paper's methods; LaSO is only in the comparison of parsers."""
TAG = "huang2012.tagging:tag"
ENOUGH_BEAM, NEAR_ZERO = 4, 0.5
"""From that beam on the paper's curve of invalid updates is at 0 %, as far as its figure shows."""


@cache
def load(data: Path, sentences: int | None = None, dev_sentences: int | None = None) -> tuple[Rows, ...]:
    """The three parts, tokens with a column in which rare words are unknown."""
    train, dev, test = (frame.load_rows(data, EWT, split, (COLUMNS[0], COLUMNS[-1])) for split in frame.SPLITS)
    train = train[:sentences]
    counts = Counter(word for sentence in train for word, _ in sentence)
    return tuple(hide_rare(rows, counts) for rows in (train, dev[:dev_sentences], test))


def hide_rare(rows: Rows, counts: Counter[str]) -> Rows:
    """(word, tag) → (word, the word or unknown, tag); a word of dev or test that was seen once is unknown as well."""
    return [[[word, word if counts[word] > 1 else UNKNOWN, tag] for word, tag in sentence] for sentence in rows]


def templates() -> list[str]:
    """Ratnaparkhi's, with the words (not their spelling) taken from the column in which rare ones are unknown."""
    return [re.sub(r"^w\[", f"{COLUMNS[1]}[", str(template)) for template in load_templates("collins-pos")]


def tag(data: Path, *, sentences: int | None = None, dev_sentences: int | None = None, **how: Any) -> Figures:
    """A tagger under a beam, or with exact search. how: update, beam, seed, passes, patience."""
    tagger = Tagger(order=2, runs=1, cutoff=0, columns=COLUMNS, label=COLUMNS[-1], templates=templates())
    return frame.learn(tagger.set_params(**({"beam": None} | how)), *load(data, sentences, dev_sentences))


def plan(scale: Scale) -> Iterator[Job]:
    """Seed by seed, so that every comparison has its first figures early."""
    passes, patience = scale.tagging
    sizes = {"sentences": scale.tagging_sentences, "dev_sentences": scale.dev_sentences}
    for seed in scale.seeds:
        wanted: list[tuple[str, int | None]] = [(STANDARD, None)]
        wanted += [(method, beam) for method, beams in scale.tagging_beams.items() for beam in beams]
        if seed == scale.seeds[0]:
            wanted += [(method, beam) for method in THREE for beam in scale.tagging_once]
        for method, beam in wanted:
            own = {"update": method, "beam": beam, "seed": seed, "passes": passes, "patience": patience}
            yield methods.job("tagging:tag", 15.0 + 8.0 * (beam or 2), **own, **sizes)


def found(ledger: Ledger, method: str, beam: int | None) -> list[Trial]:
    return methods.by_seed(ledger.of(TAG, update=method, beam=beam))


def chosen(ledger: Ledger, method: str) -> list[Trial]:
    """The beam of a method that is best on dev data, in the mean over seeds, among those with the most seeds."""
    by_beam = [found(ledger, method, beam) for beam in methods.beams_of(ledger.of(TAG, update=method))]
    most = max(map(len, by_beam), default=0)
    return max((own for own in by_beam if len(own) == most), key=lambda own: mean([t["dev"] for t in own]), default=[])


def tables(ledger: Ledger) -> Iterator[Table]:
    """Table 1 and Figure 4, Table 2, Figure 5."""
    table = Table.of(PAPER["table1"])
    for beam in methods.beams_of(ledger.of(TAG)):
        early = found(ledger, EARLY, beam)
        for method in FIVE:
            if own := found(ledger, method, beam):
                add_row(table, f"{beam}, {method}", own, early)
    if exact := found(ledger, STANDARD, None):
        add_row(table, "exact, standard", exact, [])
    if not table.rows:
        return
    table.notes.append(methods.capped(ledger.of(TAG)))
    yield table
    table = Table.of(PAPER["table2"])
    rows = [("standard, exact search", exact), *((method, chosen(ledger, method)) for method in FIVE)]
    for name, own in rows:
        if own:
            (it,), seconds = methods.means(own, "best_pass"), frame.spent(own)
            shown = frame.shown_beam(own[0].options.get("beam"))
            table.add(name, shown, f"{it:.1f}", seconds, *(str(Sample.of(own, part)) for part in ("dev", "test")))
    yield table
    yield from methods.invalid_table("Tagging", methods.standard_trials(ledger, TAG))


def add_row(table: Table, name: str, own: list[Trial], early: list[Trial]) -> None:
    (it,), seconds = methods.means(own, "best_pass"), frame.spent(own)
    paper = table.paper.get(name, (None, None))
    speed = methods.Speed.of(own, early)
    share = methods.shown(speed.ratio(speed.passes))
    table.add(name, *paper, f"{it:.1f}", str(Sample.of(own, "dev")), share, seconds, paper=())


def claims(ledger: Ledger) -> Iterator[Claim]:
    """Figure 4, Tables 1 and 2, and the half of Figure 5 that is about tagging."""
    figures, test = PAPER["table1"]["figures"], PAPER["table2"]["figures"]
    for rival, beams in ((STANDARD, (1, 2, 7)), (EARLY, (2, 7))):
        for beam in beams:
            both = [found(ledger, method, beam) for method in (MAX_VIOLATION, rival)]
            a, b = (figures[f"{beam}, {method}"][1] for method in (MAX_VIOLATION, rival))
            names = {"beam": beam, "rival": rival, "figures": f"{a:.2f} against {b:.2f}"}
            yield methods.versus("ahead", both, "dev", a - b, part=f"{beam} {rival}", **names)
    for beam in (1, 2):
        new, old = (found(ledger, method, beam) for method in (MAX_VIOLATION, EARLY))
        a, b = (figures[f"{beam}, {method}"][0] for method in (MAX_VIOLATION, EARLY))
        verdict, speed = methods.sooner(new, old, a / b), methods.Speed.of(new, old)
        yield claim("faster", speed.shown(), verdict, str(beam), share=a / b, beam=beam, figures=f"{a} against {b}")
    exact, best = found(ledger, STANDARD, None), {method: chosen(ledger, method) for method in THREE}
    yield methods.versus("exact", [exact, best[STANDARD]], "dev")
    for method in (EARLY, MAX_VIOLATION):
        a, b = test[method][-1], test["standard, exact search"][-1]
        names = {"method": method, "figures": f"{a} against {b}"}
        yield methods.versus("beams", [best[method], exact], "test", a - b, part=method, **names)
    wide = {beam: own for beam, own in methods.standard_trials(ledger, TAG).items() if beam >= ENOUGH_BEAM}
    ours = ", ".join(f"{methods.late(own):.1f} % at beam {beam}" for beam, own in wide.items())
    verdict = together([methods.invalid(own, -inf, NEAR_ZERO, f"beam {beam}") for beam, own in wide.items()])
    yield claim("zero", ours, verdict, beam=ENOUGH_BEAM, share=NEAR_ZERO)


def drawings(ledger: Ledger) -> Iterator[Drawing]:
    """Figures 4 and 5."""
    lines = []
    for method in FIVE:
        own = {beam: found(ledger, method, beam) for beam in methods.beams_of(ledger.of(TAG, update=method))}
        if own:
            lines.append(Curve(method, list(own), [methods.means(trials, "dev")[0] for trials in own.values()]))
    if lines:
        axes = ("beam", "best dev accuracy/%")
        yield Drawing("figure4", frame.draw_lines, ("Tagging: beams and updates (Figure 4)", *axes, lines))
        yield from methods.invalid_drawing("Tagging", "tagging", methods.standard_trials(ledger, TAG))
