"""Huang, Fayong & Guo (2012), section 6.2: incremental dependency parsing, where exact search is out of reach.

Arc-standard with the 50 templates of the authors' program and the dynamic programming of Huang & Sagae (2010),
unlabelled. The 28 templates that Huang & Sagae print are a row of comparison.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments import frame
from structron.experiments.frame import (
    SPLITS,
    Claim,
    Curve,
    Drawing,
    Job,
    Ledger,
    Picture,
    Rows,
    Sample,
    Table,
    Trial,
    Verdict,
    within,
)
from structron.experiments.frame.ledger import Figures
from structron.experiments.frame.verdict import interval_of
from structron.experiments.huang2012 import methods
from structron.experiments.huang2012.methods import (
    EARLY,
    EWT,
    GREEK,
    HYBRID,
    LATEST,
    MAX_VIOLATION,
    METHODS,
    PAPER,
    STANDARD,
    THREE,
    WSJ,
    Scale,
    claim,
)
from structron.experiments.huang2012.tagging import TAG
from structron.tasks.shift_reduce.parser import Parser

COLUMNS = {WSJ: ("word", "pos", "head"), EWT: ("form", "xpos", "head"), GREEK: ("form", "upos", "head")}
BEAM = 8
"""The paper's beam for Table 3."""
PARSE = "huang2012.parsing:parse"
PRINTED = "printed"
PRINTED_TEMPLATES = """
    s0.w|s0.t  s0.w  s0.t  s1.w|s1.t  s1.w  s1.t  q0.w|q0.t  q0.w  q0.t  s0.w|s1.w  s0.t|s1.t  s0.t|q0.t  s0.w|s0.t|s1.t
    s0.t|s1.w|s1.t  s0.w|s1.w|s1.t  s0.w|s0.t|s1.w  s0.w|s0.t|s1.w|s1.t  s0.t|q0.t|q1.t  s1.t|s0.t|q0.t  s0.w|q0.t|q1.t
    s1.t|s0.w|q0.t  s1.t|s1l.t|s0.t  s1.t|s1r.t|s0.t  s1.t|s0.t|s0r.t  s1.t|s1l.t|s0.w  s1.t|s1r.t|s0.w
    s1.t|s0.w|s0l.t  s2.t|s1.t|s0.t
"""
"""The 28 templates in Table 1 of Huang & Sagae (2010); the authors' program reads 22 more."""
PLAIN: dict[str, Any] = dict.fromkeys(("merge", "count_merged", "templates", "shuffle"))
AUTHORS = {"count_merged": True, "shuffle": False}
"""What the authors' program does unless asked otherwise: merged states count in the beam, and nothing is shuffled."""
SHARE, INVALID = 4.6 / 15.4, (45.0, 55.0)
"""What the claims ask for. SHARE: the hours of Figure 6. INVALID: what rounds to the 50 % of Figure 5."""
NEVER = float("inf")
SHOWN_POINTS = 12.0
"""Progress curves show so many points of UAS below the best: early passes would press the rest together."""


@cache
def load(data: Path, corpus: str, sentences: int | None = None, dev_sentences: int | None = None) -> tuple[Rows, ...]:
    train, dev, test = (frame.load_rows(data, corpus, split, COLUMNS[corpus]) for split in SPLITS)
    return train[:sentences], dev[:dev_sentences], test


def parse(
    data: Path,
    *,
    corpus: str,
    update: str,
    templates: str = "huang",
    sentences: int | None = None,
    dev_sentences: int | None = None,
    **how: Any,
) -> Figures:
    """A parser under a beam. templates: a preset, or PRINTED.   how: beam, seed, passes, patience, merge,
    count_merged, shuffle."""
    columns, given = COLUMNS[corpus], PRINTED_TEMPLATES.split() if templates == PRINTED else templates
    parser = Parser(templates=given, labelled=False, margin=None, columns=columns, pos=columns[1])
    train, dev, test = load(data, corpus, sentences, dev_sentences)
    return frame.learn(parser.set_params(update=update, **how), train, dev, test)


def plan(scale: Scale, data: Path) -> Iterator[Job]:
    """With the first seed everything; with the others what claims compare, the headline first."""
    once = scale.seeds[0]
    there = [corpus for corpus in scale.parsing if corpus == WSJ or frame.has(data, corpus, "train")]
    for seed in scale.seeds:
        for corpus in (corpus for corpus in there if seed in scale.parsing_seeds[corpus]):
            yield from (parse_job(scale, corpus, method, BEAM, seed) for method in THREE)
            if corpus == WSJ:
                yield parse_job(scale, WSJ, STANDARD, 1, seed)
    for seed, size in product(scale.speed_seeds, scale.parsing_sizes):
        yield from (parse_job(scale, WSJ, method, BEAM, seed, sentences=size) for method in (EARLY, MAX_VIOLATION))
    for seed in scale.level_seeds:
        yield from (parse_job(scale, WSJ, method, BEAM, seed) for method in (HYBRID, LATEST))
    for beam in scale.parsing_beams:
        yield from (parse_job(scale, WSJ, method, beam, once) for method in (STANDARD, MAX_VIOLATION))
    yield from (parse_job(scale, WSJ, method, BEAM, once, shuffle=False) for method in (STANDARD, MAX_VIOLATION))
    yield parse_job(scale, WSJ, MAX_VIOLATION, BEAM, once, merge=False)
    yield from (parse_job(scale, WSJ, method, BEAM, once, **AUTHORS) for method in scale.authors)
    for method, beam in product((STANDARD, MAX_VIOLATION), (1, BEAM)):
        yield parse_job(scale, WSJ, method, beam, once, templates=PRINTED)


def parse_job(scale: Scale, corpus: str, method: str, beam: int, seed: int, **more: Any) -> Job:
    passes, patience = scale.parsing.get(corpus, scale.parsing[WSJ])
    own = {"corpus": corpus, "update": method, "beam": beam, "seed": seed, "passes": passes, "patience": patience}
    sizes = {"sentences": scale.sentences, "dev_sentences": scale.dev_sentences}
    cost = (15.0 + 12.0 * beam) * (3 if corpus == EWT else 1)
    return methods.job("parsing:parse", cost, **own, **(sizes | more))


def found(ledger: Ledger, corpus: str, method: str, beam: int = BEAM, **more: Any) -> list[Trial]:
    """By seed; as in the paper unless something else is said. Of a plan with fewer sentences all trials have that
    number: the most that there is counts."""
    options = PLAIN | more
    own = methods.by_seed(ledger.of(PARSE, corpus=corpus, update=method, beam=beam, **options))
    most = max((trial.options.get("sentences") or NEVER for trial in own), default=NEVER)
    return own if "sentences" in more else [t for t in own if (t.options.get("sentences") or NEVER) == most]


def standard_trials(ledger: Ledger, corpus: str) -> dict[int, list[Trial]]:
    beams = methods.beams_of(ledger.of(PARSE, corpus=corpus, update=STANDARD))
    return {beam: own for beam in beams if (own := found(ledger, corpus, STANDARD, beam))}


def sizes_of(ledger: Ledger) -> dict[str, tuple[list[Trial], list[Trial]]]:
    """Max-violation and early, by how much there is to learn from, the smallest first."""
    sizes = sorted({t.options.get("sentences") or NEVER for t in ledger.of(PARSE, corpus=WSJ, update=EARLY)})
    names = [(WSJ, size) for size in sizes] + [(corpus, NEVER) for corpus in COLUMNS if corpus != WSJ]
    rows = {}
    for corpus, size in names:
        more: dict[str, Any] = {} if size == NEVER else {"sentences": size}
        pair = [found(ledger, corpus, method, **more) for method in (MAX_VIOLATION, EARLY)]
        if all(pair) and "examples" in pair[0][0]["passes"]:
            learned = min(size, pair[0][0]["passes"]["examples"][0])
            rows[f"{corpus}, {learned:.0f} sentences"] = (pair[0], pair[1])
    return rows


def tables(ledger: Ledger) -> Iterator[Table]:
    """Table 3; every beam; other settings; speed by the size of the data; Figure 5."""
    for corpus in COLUMNS:
        at_beam = {method: own for method in METHODS if (own := found(ledger, corpus, method))}
        if not at_beam:
            continue
        table = Table.of(PAPER["table3"], corpus=corpus, about=PAPER["table3"]["about"][corpus])
        early = at_beam.get(EARLY, [])
        for method, own in at_beam.items():
            (it,), seconds = methods.means(own, "best_pass"), frame.spent(own)
            scores = [str(Sample.of(own, part)) for part in ("dev", "test")]
            speed = methods.Speed.of(own, early)
            table.add(method, f"{it:.1f}", seconds, *scores, methods.shown(speed.ratio(speed.steps)))
        table.notes.append(methods.capped([trial for own in at_beam.values() for trial in own]))
        yield table
        yield from beam_tables(ledger, corpus)
        yield from methods.invalid_table(f"Parsing {corpus}", standard_trials(ledger, corpus))
    table = Table.of(PAPER["speed"])
    for name, (new, old) in sizes_of(ledger).items():
        speed = methods.Speed.of(new, old)
        table.add(
            name, speed.shown(), methods.shown(speed.ratio(speed.passes)), methods.shown(speed.ratio(speed.steps))
        )
    if table.rows:
        yield table


def beam_tables(ledger: Ledger, corpus: str) -> Iterator[Table]:
    """Other beams, and other settings at the widest."""
    table = Table.of(PAPER["beams"], corpus=corpus)
    for beam, old in standard_trials(ledger, corpus).items():
        if new := found(ledger, corpus, MAX_VIOLATION, beam):
            its = [f"{methods.means(own, 'best_pass')[0]:.1f}" for own in (old, new)]
            a, b = Sample.of(old, "dev"), Sample.of(new, "dev")
            paper = table.paper.get(str(beam), (None,))
            table.add(str(beam), *paper, str(a), its[0], str(b), its[1], b.mean - a.mean, paper=())
    if len(table.rows) > 1:
        yield table
    table = Table.of(PAPER["settings"], corpus=corpus)
    for name, more in SETTINGS.items():
        for method, beam in product(THREE, (1, BEAM)):
            if own := found(ledger, corpus, method, beam, **more):
                scores = [Sample.of(own, part).mean for part in ("dev", "test")]
                first = own[0]["passes"]["dev"][0]
                table.add(f"{name}, {method}, beam {beam}", len(own), first, *scores, methods.late(own))
    if len(table.rows) > 4:
        yield table


SETTINGS: dict[str, dict[str, Any]] = {
    "50 templates": {},
    "28 templates": {"templates": PRINTED},
    "corpus order": {"shuffle": False},
    "no merging": {"merge": False},
    "as the authors' program": AUTHORS,
}


def claims(ledger: Ledger) -> Iterator[Claim]:
    """Figures 5 and 6, Table 3, and what section 6.2 says of beams."""
    known = PAPER["table3"]["figures"]
    gap: list[Verdict] = []
    best: list[Verdict] = []
    third: list[Verdict] = []
    half: list[Verdict] = []
    for corpus in COLUMNS:
        early, new, old = (found(ledger, corpus, method) for method in (EARLY, MAX_VIOLATION, STANDARD))
        if not (early and new and old):
            continue
        for verdicts, rival, name in ((gap, old, STANDARD), (best, early, EARLY)):
            a, b = (Sample.of(own) for own in methods.shared([new, rival]))
            verdicts.append(frame.ahead(a, b, known[MAX_VIOLATION][-1] - known[name][-1], corpus))
        third.append(methods.sooner(new, early, SHARE, "steps", corpus))
        half.append(methods.invalid(old, *INVALID, corpus))
    yield claim("gap", "", frame.together(gap))
    yield claim("best", "", frame.together(best))
    yield claim("third", "", frame.together(third), share=SHARE)
    yield growth_claim(ledger)
    yield claim("half", "", frame.together(half))
    early = found(ledger, WSJ, EARLY)
    for method in (HYBRID, LATEST):
        if own := found(ledger, WSJ, method):
            paper = known[method][-1] - known[EARLY][-1]
            texts = {"method": method, "figures": f"{known[method][-1]} against {known[EARLY][-1]}"}
            yield level_claim([own, early], paper, part=method, **texts)
    pair = [found(ledger, WSJ, STANDARD, beam) for beam in (BEAM, 1)]
    yield methods.versus("widening", pair, "dev", paper=known[STANDARD][2] - PAPER["beams"]["figures"]["1"][0])
    gaps = []
    tagged = [ledger.of(TAG, beam=7, update=method) for method in (MAX_VIOLATION, STANDARD)]
    for pair in (tagged, [found(ledger, WSJ, method) for method in (MAX_VIOLATION, STANDARD)]):
        a, b = (Sample.of(own, "dev") for own in methods.shared(pair))
        gaps.append(frame.ahead(a, b))
    yield harder_claim(gaps)


def growth_claim(ledger: Ledger) -> Claim:
    """Whether the share of early's steps that max-violation needs is less with all of the first treebank than with its
    smallest part, seed by seed."""
    sizes = {name: methods.Speed.of(*pair).steps for name, pair in sizes_of(ledger).items() if name.startswith(WSJ)}
    if len(sizes) < 2:
        return claim("growth", "", within(None))
    small, *_, large = sizes.values()
    ours = "; ".join(f"{name}: {methods.shown(methods.Speed.ratio(steps))} times" for name, steps in sizes.items())
    pairs = [(a * d, b * c) for (a, b), (c, d) in zip(large, small, strict=False)]
    return claim("growth", ours, methods.at_most(pairs, 1.0))


def level_claim(pair: list[list[Trial]], paper: float, **names: Any) -> Claim:
    """Two methods are level: the interval of their difference lies within the paper's difference."""
    a, b = (Sample.of(own) for own in methods.shared(pair))
    return claim("level", f"{a} against {b}", frame.level(a, b, abs(paper), " points"), **names)


def harder_claim(gaps: list[Verdict]) -> Claim:
    """The gain in parsing less that in tagging; the two were measured on different data, so their errors add up."""
    effects = [effect for gap in gaps for effect in gap.effects if effect.low is not None]
    if len(effects) < 2:
        return claim("harder", "", within(None))
    tagging, parsing = effects
    halves = [(one.high or 0.0) - one.value for one in (tagging, parsing)]
    gain, half = parsing.value - tagging.value, float(np.hypot(halves[0], halves[1]))
    verdict = within(gain, low=0.0, interval=(gain - half, gain + half), unit=" points")
    return claim("harder", f"tagging {tagging.value:+.2f}, parsing {parsing.value:+.2f}", verdict)


def drawings(ledger: Ledger) -> Iterator[Drawing]:
    """Figure 5, and Figure 6: dev UAS against steps of search, of the first seed."""
    for corpus in COLUMNS:
        first = [own[0] for method in METHODS if (own := found(ledger, corpus, method))]
        if not first:
            continue
        yield from methods.invalid_drawing(f"Parsing {corpus}", corpus, standard_trials(ledger, corpus))
        lines = []
        for trial in first:
            dev = trial["passes"]["dev"]
            steps = [frame.searched(trial, passes) for passes in range(1, len(dev) + 1)]
            lines.append(Curve(trial["update"], steps, dev, max))
        lowest, floor = min(min(line.y) for line in lines), max(trial["dev"] for trial in first) - SHOWN_POINTS
        axes = ("steps of search, as passes searched to their ends", "dev UAS/%")
        given = (f"Parsing {corpus}, beam {BEAM}: progress (Figure 6)", *axes, lines, floor if lowest < floor else None)
        yield Drawing(f"figure6-{corpus}", frame.draw_lines, given)


def picture(ledger: Ledger) -> Picture | None:
    """Table 3, and what section 6.2 says of greedy search."""
    drawn = Picture("Parsing, wsj-sample-dep, beam 8: update rules on test data (Table 3)", "UAS/%")
    for method in METHODS:
        if own := Sample.of(found(ledger, WSJ, method)):
            drawn.add(method, PAPER["table3"]["figures"][method][-1], own.mean, interval_of(own))
    if drawn.rows and (own := Sample.of(found(ledger, WSJ, STANDARD, 1), "dev")):
        drawn.add("standard, greedy, dev data", PAPER["beams"]["figures"]["1"][0], own.mean, interval_of(own))
    return drawn if drawn.rows else None
