"""Huang, Fayong & Guo (2012), section 6.2: incremental dependency parsing, where exact search is out of reach.

Arc-standard with the paper's templates and the dynamic programming of Huang & Sagae (2010), unlabelled.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from structron.experiments import frame
from structron.experiments.frame import SPLITS, Claim, Curve, Drawing, Job, Ledger, Rows, Sample, Table, Trial, within
from structron.experiments.frame.ledger import Figures
from structron.experiments.huang2012 import methods
from structron.experiments.huang2012.closer import RULES, look_closer
from structron.experiments.huang2012.methods import (
    EARLY,
    EWT,
    MAX_VIOLATION,
    METHODS,
    PAPER,
    STANDARD,
    WSJ,
    Scale,
    claim,
)
from structron.experiments.huang2012.tagging import TAG
from structron.tasks.shift_reduce.parser import Parser

COLUMNS = {WSJ: ("word", "pos", "head"), EWT: ("form", "xpos", "head")}
OTHER_COLUMNS = ("form", "upos", "head")
BEAM = 8
"""The paper's beam for Table 3."""
PARSE = "huang2012.parsing:parse"
TIME_SHARE, GAP, LEVEL, INVALID = 0.5, 5.0, 0.5, (40.0, 60.0)
"""What the claims ask for: see paper.toml."""
SHOWN_POINTS = 12.0
"""Progress curves show so many points of UAS below the best: early passes would press the rest together."""


@cache
def load(data: Path, corpus: str, sentences: int | None = None, dev_sentences: int | None = None) -> tuple[Rows, ...]:
    train, dev, test = (frame.load_rows(data, corpus, split, COLUMNS.get(corpus, OTHER_COLUMNS)) for split in SPLITS)
    return train[:sentences], dev[:dev_sentences], test


def parse(
    data: Path,
    *,
    corpus: str,
    update: str,
    closer: bool = False,
    sentences: int | None = None,
    dev_sentences: int | None = None,
    **how: Any,
) -> Figures:
    """A parser under a beam. closer: look at its updates too.   how: beam, seed, passes, patience, merge, average."""
    columns = COLUMNS.get(corpus, OTHER_COLUMNS)
    parser = Parser(templates="huang", labelled=False, margin=None, columns=columns, pos=columns[1])
    train, dev, test = load(data, corpus, sentences, dev_sentences)
    figures = frame.learn(parser.set_params(update=RULES.get(update, update), **how), train, dev, test)
    return figures | look_closer(parser, dev) if closer else figures


def plan(scale: Scale) -> Iterator[Job]:
    """Table 3 on both treebanks, seed by seed, then other beams, and search without merging."""
    for seed in scale.seeds:
        for method in METHODS:
            yield parse_job(scale, WSJ, method, BEAM, seed, closer=True if method == STANDARD else None)
        for corpus in scale.parsing:
            if corpus != WSJ:
                yield from (parse_job(scale, corpus, m, BEAM, seed) for m in (STANDARD, EARLY, MAX_VIOLATION))
    for seed in scale.seeds:
        for beam in scale.parsing_beams:
            yield parse_job(scale, WSJ, STANDARD, beam, seed, closer=True)
            yield parse_job(scale, WSJ, MAX_VIOLATION, beam, seed)
        yield parse_job(scale, WSJ, MAX_VIOLATION, BEAM, seed, merge=False)


def parse_job(scale: Scale, corpus: str, method: str, beam: int, seed: int, **more: Any) -> Job:
    passes, patience = scale.parsing.get(corpus, scale.parsing[WSJ])
    own = {"corpus": corpus, "update": method, "beam": beam, "seed": seed, "passes": passes, "patience": patience}
    sizes = {"sentences": scale.sentences, "dev_sentences": scale.dev_sentences}
    cost = (10.0 + 8.0 * beam) * (3 if corpus == EWT else 1)
    return methods.job("parsing:parse", cost, **own, **sizes, **more)


def found(ledger: Ledger, corpus: str, method: str, beam: int = BEAM, **more: Any) -> list[Trial]:
    """By seed; with means and merging unless something else is said."""
    options = {"merge": None, "average": None} | more
    return methods.by_seed(ledger.of(PARSE, corpus=corpus, update=method, beam=beam, **options))


def standard_trials(ledger: Ledger, corpus: str) -> dict[int, list[Trial]]:
    return methods.standard_trials(ledger, PARSE, corpus=corpus, merge=None, average=None)


def tables(ledger: Ledger) -> Iterator[Table]:
    """Table 3 and how soon each method is where early update ends; every beam; merging; Figure 5."""
    for corpus in COLUMNS:
        at_beam = {method: own for method in METHODS if (own := found(ledger, corpus, method))}
        if not at_beam:
            continue
        table = Table.of(PAPER["table3"], corpus=corpus, about=PAPER["table3"]["about"][corpus])
        early = at_beam.get(EARLY, [])
        for method, own in at_beam.items():
            it, seconds = methods.means(own, "best_pass", "seconds")
            scores = [str(Sample.of(own, part)) for part in ("dev", "test")]
            table.add(method, f"{it:.1f}", seconds, *scores, methods.shown(methods.as_early(early, own)[1]))
        table.notes.append(methods.capped([trial for own in at_beam.values() for trial in own]))
        yield table
        yield from beam_tables(ledger, corpus)
        yield from methods.invalid_table(f"Parsing {corpus}", standard_trials(ledger, corpus))


def beam_tables(ledger: Ledger, corpus: str) -> Iterator[Table]:
    """Other beams, and no merging."""
    table = Table.of(PAPER["beams"], corpus=corpus)
    standard = standard_trials(ledger, corpus)
    for beam, old in standard.items():
        if new := found(ledger, corpus, MAX_VIOLATION, beam):
            its = [f"{methods.means(own, 'best_pass')[0]:.1f}" for own in (old, new)]
            a, b = Sample.of(old, "dev"), Sample.of(new, "dev")
            paper = table.paper.get(str(beam), (None,))
            table.add(str(beam), *paper, str(a), its[0], str(b), its[1], b.mean - a.mean, paper=())
    if len(table.rows) > 1:
        yield table
    table = Table.of(PAPER["merging"], corpus=corpus)
    pair = [found(ledger, corpus, MAX_VIOLATION), found(ledger, corpus, MAX_VIOLATION, merge=False)]
    if all(pair):
        scores = [Sample.of(own, part) for own in pair for part in ("dev", "test")]
        verdict = frame.ahead(scores[1], scores[3])
        table.add(str(BEAM), *map(str, scores), f"{verdict.why}")
        yield table


def claims(ledger: Ledger) -> Iterator[Claim]:
    """Figures 5 and 6, Table 3, and what section 6.2 says of beams."""
    for corpus in COLUMNS:
        early, new, old = (found(ledger, corpus, method) for method in (EARLY, MAX_VIOLATION, STANDARD))
        if not (early and new and old):
            continue
        a, b, c = (Sample.of(own) for own in (new, old, early))
        names, (low, high) = {"corpus": corpus}, INVALID
        verdict = frame.together([frame.ahead(a, b), within(a.mean - b.mean, low=GAP)])
        yield claim("gap", f"{a} against {b}", verdict, gap=GAP, **names)
        yield methods.versus("best", [new, early], **names)
        share = methods.as_early(early, new)[1]
        yield claim("third", methods.shown(share), within(share, high=TIME_SHARE), share=TIME_SHARE, **names)
        yield methods.at_most("own", [new, early], "seconds", TIME_SHARE, **names)
        others = {method: Sample.of(own) for method in METHODS[2:4] if (own := found(ledger, corpus, method))}
        if others:
            worst = max(abs(sample.mean - c.mean) for sample in others.values())
            ours = f"{', '.join(f'{method} {sample}' for method, sample in others.items())}, early {c}"
            yield claim("level", ours, within(worst, high=LEVEL), level=LEVEL, **names)
        share = methods.late(old)
        yield claim("half", f"{share:.1f} %", within(share, low, high, " %"), low=low, high=high, **names)
    yield methods.versus("widening", [found(ledger, WSJ, STANDARD, beam) for beam in (BEAM, 1)], "dev")
    gaps = {}
    for what, beam, where in (("tagging", 7, {"work": TAG}), ("parsing", BEAM, {"work": PARSE, "corpus": WSJ})):
        pair = [ledger.of(update=m, beam=beam, merge=None, average=None, **where) for m in (MAX_VIOLATION, STANDARD)]
        if all(pair):
            new_dev, old_dev = (methods.means(trials, "dev")[0] for trials in pair)
            gaps[what] = new_dev - old_dev
    ours = ", ".join(f"{what} {gap:+.2f}" for what, gap in gaps.items())
    more = gaps["parsing"] - gaps["tagging"] if len(gaps) > 1 else None
    yield claim("harder", ours, within(more, low=0.0))


def drawings(ledger: Ledger) -> Iterator[Drawing]:
    """Figure 5, and Figure 6: dev UAS against learning time, of the first seed."""
    for corpus in COLUMNS:
        first = [own[0] for method in METHODS if (own := found(ledger, corpus, method))]
        if not first:
            continue
        yield from methods.invalid_drawing(f"Parsing {corpus}", corpus, standard_trials(ledger, corpus))
        lines = []
        for trial in first:
            dev = trial["passes"]["dev"]
            times = [frame.seconds_until(trial, passes) for passes in range(1, len(dev) + 1)]
            lines.append(Curve(trial["update"], times, dev, max))
        lowest, floor = min(min(line.y) for line in lines), max(trial["dev"] for trial in first) - SHOWN_POINTS
        axes = ("learning time/s", "dev UAS/%")
        given = (f"Parsing {corpus}, beam {BEAM}: progress (Figure 6)", *axes, lines, floor if lowest < floor else None)
        yield Drawing(f"figure6-{corpus}", frame.draw_lines, given)
