"""Kazama & Torisawa (2007): tables beside the paper's, and the verdict on each of its claims, from the ledger."""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from structron.experiments.frame import (
    Claim,
    Ledger,
    Picture,
    Sample,
    Table,
    Verdict,
    ahead,
    effects_of,
    level,
    mean,
    paper_of,
    together,
)
from structron.experiments.frame import within as lies_within
from structron.experiments.frame.statistics import student_interval
from structron.experiments.frame.verdict import PAPERS, UNDECIDED, interval_of
from structron.experiments.kazama2007 import models
from structron.experiments.kazama2007.corpora import AUTOMATIC, CONLL2003, ENGLISH, SHUFFLED
from structron.experiments.kazama2007.models import AVERAGED, CANDIDATE, CRF, MARGIN, N_TEST, PERCEPTRON, PROPOSED, N
from structron.experiments.kazama2007.plan import BOUNDS, PART, TRAIN, TUNED, Found, corpora_of
from structron.experiments.kazama2007.rerank import KINDS, OURS, RERANKING_1, RERANKING_2, SMALLER_N

PAPER = paper_of("kazama2007")
ROWS = (
    *(CRF, PERCEPTRON, AVERAGED, MARGIN, CANDIDATE, PROPOSED),
    *(models.AVERAGED_MARGIN, models.SENTENCES),
)
SHORT = {SHUFFLED: "Dutch", ENGLISH: "English", CONLL2003: "CoNLL-2003"}
MOST_TIMES, LEAST_TIMES, LITTLE = 1.81, 3.0, 0.26
"""Of the paper: how many times as long as the margin perceptron the proposed algorithm trains, how many times as long
as that re-ranking does, and how much F1 the BPM start changes."""

Scores = dict[int | None, Any]
"""Figures by seed; None: there is nothing that a seed could change."""
Side = Callable[[Found], Scores]


def number(c: float | None) -> str | None:
    return None if c is None else f"{c:g}"


def sample(found: Scores, part: str = "test") -> Sample:
    own = list(found.values())
    blocks = np.sum([one[f"{part}_blocks"] for one in own], axis=0) if own else None
    return Sample([one[part] for one in own], blocks)


def both(found: Scores) -> tuple[str | None, str | None]:
    """Dev and test F1."""
    return (str(sample(found, "dev")), str(sample(found))) if found else (None, None)


def shared(a: Scores, b: Scores) -> tuple[Scores, Scores]:
    """Both with the seeds that they share; what has none is compared with every seed of the other."""
    a, b = (dict.fromkeys(other, one[None]) if None in one else one for one, other in ((a, b), (b, a)))
    seeds = [seed for seed in a if seed in b]
    return {seed: a[seed] for seed in seeds}, {seed: b[seed] for seed in seeds}


def average(found: Scores, name: str) -> int:
    return round(mean([one[name] for one in found.values()]))


def final(found: Found, method: str, **how: Any) -> Scores:
    return {trial.options.get("seed"): trial for trial in found.final(method, **how)}


def by_n(found: Found, n: int) -> Scores:
    """The proposed algorithm with n candidates in testing."""
    own = found.final(PROPOSED)
    return {trial["seed"]: trial["by_n"][str(n)] for trial in own if str(n) in trial.figures.get("by_n", {})}


def numbers_of(found: Found) -> list[int]:
    return sorted({int(n) for trial in found.final(PROPOSED) for n in trial.figures.get("by_n", {})})


def reranked(found: Found, kind: str, n: int = N_TEST) -> Scores:
    return {trial["seed"]: trial[kind]["by_n"][str(n)] for trial in found.reranked()}


# -- tables ------------------------------------------------------------------------------------------------------------


def tables(ledger: Ledger) -> Iterator[Table]:
    """All tables of each corpus."""
    for corpus in corpora_of(ledger):
        found = Found(ledger, corpus)
        for make in (table2, parts_table, table3, table5, table6, table7, bpm_table, margins_table):
            table = make(found)
            if table.rows:
                yield table


def table2(found: Found) -> Table:
    sizes = found.ledger.of(TRAIN, corpus=found.corpus)[0]["sizes"]
    parts = ", ".join(f"{split} {size}" for split, size in sizes.items())
    table = Table.of(PAPER["table2"], corpus=SHORT[found.corpus], parts=parts)
    for method in ROWS:
        plain = method in (PERCEPTRON, AVERAGED)
        for start in (False, True) if plain else (None,):
            if own := final(found, method, bpm=start):
                name, spent = (
                    f"{method}, BPM start" if start else method,
                    (average(own, "learning"), average(own, "passes")),
                )
                table.add(name, number(found.chosen(method)), *both(own), *spent)
    return table


def table3(found: Found) -> Table:
    table = Table.of(PAPER["table3"], corpus=SHORT[found.corpus], c=number(found.chosen(PROPOSED)))
    for n in numbers_of(found):
        own = by_n(found, n)
        table.add(str(n), *both(own), average(own, "labelling"))
    return table


def table5(found: Found) -> Table:
    """Given tags beside those of a tagger; the given ones are the better ones, as TagChunk's are in the paper."""
    table = Table.of(PAPER["table5"], corpus=SHORT[found.corpus])
    for method in (MARGIN, PROPOSED):
        worse, better = shared(final(found, method, tags=AUTOMATIC), final(found, method))
        if worse:
            table.add(method, *both(worse), *both(better))
    return table


def table6(found: Found) -> Table:
    trials = found.reranked()
    oracle = ", ".join(f"n' = {n} {score:.2f}" for n, score in trials[0]["oracle"].items()) if trials else ""
    table = Table.of(PAPER["table6"], corpus=SHORT[found.corpus], oracle=oracle)

    def add(method: str, n: int | None, c: float | None, own: Scores) -> None:
        if own:
            table.add(method, n, number(c), *both(own), paper=table.paper.get(f"{method}, {n}" if n else method, ()))

    if not trials:
        return table
    add(MARGIN, None, found.chosen(MARGIN), final(found, MARGIN))
    large = max(int(n) for n in trials[0][RERANKING_1]["by_n"])
    for kind in KINDS:
        for n in (N_TEST, SMALLER_N) if kind.startswith(RERANKING_1) else (N_TEST, large):
            add(kind, n, trials[0][kind]["c"], reranked(found, kind, n))
    for n in dict.fromkeys((N_TEST, *numbers_of(found)[-1:])):
        add(PROPOSED, n, found.chosen(PROPOSED), by_n(found, n))
    return table


def seconds_of(found: Found) -> dict[str, float]:
    """Of training, with the margin perceptron's C; re-ranking trains a first model of everything, five of parts, and
    the second. Empty until all are there."""
    margin, proposed, again = found.tried(MARGIN).get(found.chosen(MARGIN) or 0), found.same_c(), found.reranked()
    if margin is None or proposed is None or not again:
        return {}
    alone = {MARGIN: margin["learning"], PROPOSED: proposed["learning"]}
    return alone | {kind: again[0]["learning"] + again[0][kind]["learning"] for kind in KINDS}


def table7(found: Found) -> Table:
    seconds, c = seconds_of(found), found.chosen(MARGIN)
    table = Table.of(PAPER["table7"], corpus=SHORT[found.corpus], c=number(c))
    if not seconds:
        return table
    own: dict[str, Any] = {MARGIN: found.tried(MARGIN)[c or 0], PROPOSED: found.same_c()}
    for method in (MARGIN, *KINDS[:2], PROPOSED):
        one = own.get(method) or found.reranked()[0][method]["by_n"][str(N_TEST)]
        ratio = f"{seconds[method] / seconds[MARGIN]:.2f}"
        passes = own[method]["passes"] if method in own else None
        table.add(method, one["dev"], one["test"], round(seconds[method]), ratio, passes)
    return table


def bpm_table(found: Found) -> Table:
    table = Table.of(PAPER["bpm"], corpus=SHORT[found.corpus])
    for method in (PERCEPTRON, AVERAGED, MARGIN, PROPOSED):
        start, none = shared(*(final(found, method, bpm=bpm) for bpm in (True, False)))
        if start:
            table.add(method, *both(start), *both(none))
    return table


def margins_table(found: Found) -> Table:
    """Every C that was tried."""
    table = Table.of(PAPER["margins"], corpus=SHORT[found.corpus])

    def add(method: str, tried: Sequence[tuple[float, float]]) -> None:
        if tried:
            table.add(method, "  ".join(f"{c:g}: {dev:.2f}" for c, dev in tried))

    for method in TUNED:
        add(method, sorted((c, trial["dev"]) for c, trial in found.tried(method).items()))
    for trial in found.final(CRF):
        add(CRF, trial["tried"])
    for trial in found.reranked():
        for kind in KINDS:
            add(kind, trial[kind]["tried"])
    return table


def parts_table(found: Found) -> Table:
    """What was learned from a part of the training data."""
    table = Table.of(PAPER["parts"], corpus=SHORT[found.corpus])
    for trial in found.ledger.of(PART, corpus=found.corpus):
        name = f"{trial['method']}{', joined' if trial.options.get('joined') else ''}"
        table.add(name, trial["documents"], trial.figures["passes"], trial["stopped"], trial["dev"], trial["test"])
    return table


def part_of(method: str, joined: bool | None = None) -> Side:
    """What a part of the training data gave."""

    def find(found: Found) -> Scores:
        own = found.ledger.of(PART, corpus=found.corpus, method=method, joined=joined)
        most = max(own, key=lambda trial: trial["documents"], default=None)
        return {} if most is None else {None: most}

    return find


# -- claims ------------------------------------------------------------------------------------------------------------


class Judge:
    """Claims of `paper.toml` with what was found on each corpus; one holds if it holds on all of them."""

    def __init__(self, ledger: Ledger):
        self.ledger, self.corpora = ledger, [Found(ledger, corpus) for corpus in corpora_of(ledger)]

    def claim(self, name: str, results: Sequence[tuple[str, str, Verdict]]) -> Claim:
        """results: for each corpus its name, the figures and the verdict."""
        known = PAPER["claims"][name]
        verdict = together([one.named(corpus) if corpus else one for corpus, _, one in results])
        ours = "; ".join(f"{corpus} {figures}".strip() for corpus, figures, _ in results if figures)
        kind = known.get("kind", PAPERS)
        return Claim(known["where"], known["text"], known["paper"], ours or "–", verdict, kind, name)

    def ahead(self, name: str, *pairs: tuple[Side, Side], only: Collection[str] = ()) -> Claim:
        """In each pair the first method is ahead of the second; several pairs have names in `paper.toml`."""
        entry = PAPER["claims"][name]
        results, known, names = [], effects_of(entry["paper"]), entry.get("pairs", ())
        for found in self.corpora:
            if only and found.corpus not in only:
                continue
            for (first, second), paper, shown in zip_longest(pairs, known, names):
                a, b = map(sample, shared(first(found), second(found)))
                figures = " against ".join(str(one) if one.spread else f"{one.mean:.2f}" for one in (a, b) if one)
                results.append((SHORT[found.corpus], figures, ahead(a, b, paper, shown or "")))
        return self.claim(name, results)

    def times(
        self, name: str, pairs: Callable[[Found], Sequence[tuple[float, float]]], low: float, high: float
    ) -> Claim:
        """A ratio of seconds lies within bounds: the geometric mean over pairs of trainings with one C."""
        results = []
        for found in self.corpora:
            logs = [float(np.log(a / b)) for a, b in pairs(found)]
            value, ends = (float(np.exp(mean(logs))) if logs else None), student_interval(logs)
            interval = None if ends is None else (float(np.exp(ends[0])), float(np.exp(ends[1])))
            verdict = lies_within(value, low, high, " times", interval)
            if logs and interval is None:
                verdict = Verdict(UNDECIDED, verdict.effects, "one pair of trainings")
            results.append((SHORT[found.corpus], "" if value is None else f"{value:.2f} times", verdict))
        return self.claim(name, results)

    def start(self, name: str) -> Claim:
        """The BPM start changes the margin perceptron by no more than in the paper."""
        results = []
        for found in self.corpora:
            a, b = map(sample, shared(*(final(found, MARGIN, bpm=bpm) for bpm in (True, False))))
            results.append((SHORT[found.corpus], f"{a} against {b}" if a else "", level(a, b, LITTLE, " points")))
        return self.claim(name, results)

    def bound(self, name: str, work: str) -> Claim:
        trials = self.ledger.of(work)
        if not trials:
            return self.claim(name, [])
        held, closest = mean([trial["holds"] for trial in trials]), max(t["updates"] / t["bound"] for t in trials)
        figures = f"in {100 * held:.0f} % of {len(trials)} runs; updates at most {100 * closest:.0f} % of the bound"
        return self.claim(
            name, [("", figures, lies_within(100 * held, low=100, unit=" %", name="trainings in which it held"))]
        )


def of(method: str, **how: Any) -> Side:
    return lambda found: final(found, method, **how)


def with_n(n: int | None) -> Side:
    """n: candidates in testing; None: the most that were tried."""
    return lambda found: by_n(found, n or max(numbers_of(found), default=0))


def again(kind: str) -> Side:
    return lambda found: reranked(found, kind)


def claims(ledger: Ledger) -> Iterator[Claim]:
    """In the order of the paper."""
    judge = Judge(ledger)
    margin, proposed = of(MARGIN), of(PROPOSED)
    yield from (judge.bound(name, work) for name, work in zip(("margin_bound", "proposed_bound"), BOUNDS, strict=True))
    yield judge.ahead("crf_perceptron", (of(CRF), of(PERCEPTRON)))
    yield judge.ahead("averaged", (of(AVERAGED), of(PERCEPTRON)))
    yield judge.ahead("margin", (margin, of(AVERAGED)))
    yield judge.ahead("margin_start", *((margin, of(method, bpm=True)) for method in (PERCEPTRON, AVERAGED)))
    yield judge.ahead("crf", (of(CRF), margin))
    yield judge.ahead("proposed", (proposed, margin))
    yield judge.ahead("candidate", (proposed, of(CANDIDATE)))
    for name, pair in (
        ("aggressive", (part_of(PROPOSED), part_of(models.CONSERVATIVE))),
        ("footnote", (part_of(MARGIN, joined=True), part_of(MARGIN))),
        ("edges", (part_of(models.EDGE_CRF), part_of(MARGIN))),
    ):
        fit = [one for one in judge.corpora if name != "footnote" or one.corpus != SHUFFLED]
        if there := [found.corpus for found in fit if all(side(found) for side in pair)]:
            yield judge.ahead(name, pair, only=there)
    yield judge.ahead("more", (with_n(N_TEST), with_n(N)))
    yield judge.ahead("most", (with_n(None), with_n(N)))
    yield judge.claim("related", [("", "", Verdict(UNDECIDED, note=PAPER["claims"]["related"]["why"]))])
    better = [(of(method), of(method, tags=AUTOMATIC)) for method in (MARGIN, PROPOSED)]
    yield judge.ahead("tags", *better, only=[ENGLISH])
    yield judge.ahead("tags_most", (with_n(None), margin), only=[ENGLISH])
    yield judge.ahead("bpm_proposed", (proposed, of(PROPOSED, bpm=False)))
    yield judge.start("bpm_margin")
    yield judge.ahead("reranking", *((again(kind), margin) for kind in (RERANKING_1, RERANKING_2)))
    yield judge.ahead("reranking_2", (again(RERANKING_2), again(RERANKING_1)))
    yield judge.ahead("proposed_reranking", *((proposed, again(kind)) for kind in (RERANKING_1, RERANKING_2)))
    yield judge.ahead("proposed_ours", *((proposed, again(OURS(kind))) for kind in (RERANKING_1, RERANKING_2)))
    yield judge.times("time", same_c_pairs, -np.inf, MOST_TIMES)
    yield judge.times("time_reranking", reranking_pairs, LEAST_TIMES, np.inf)


def same_c_pairs(found: Found) -> list[tuple[float, float]]:
    """Seconds of the proposed algorithm and of the margin perceptron, for every C that both were tried with."""
    proposed, margin = found.tried(PROPOSED), found.tried(MARGIN)
    return [(proposed[c]["learning"], margin[c]["learning"]) for c in sorted(proposed) if c in margin]


def reranking_pairs(found: Found) -> list[tuple[float, float]]:
    """Seconds of re-ranking, once, and of the proposed algorithm, for every C that it was tried with."""
    seconds = seconds_of(found)
    own = found.tried(PROPOSED)
    return [(seconds[RERANKING_1], own[c]["learning"]) for c in sorted(own)] if seconds else []


def picture(ledger: Ledger) -> Picture | None:
    """Table 2."""
    drawn = Picture("Named entities: local and non-local features, test data (Table 2)", "F1/%")
    for corpus in corpora_of(ledger):
        drawn.add(SHORT[corpus])
        for method, figures in PAPER["table2"]["figures"].items():
            own = sample(final(Found(ledger, corpus), method))
            if own:
                drawn.add(method, figures[-1], own.mean, interval_of(own))
    return drawn if drawn.rows else None
