"""Dror & Reichart (2016), Table 2: our figures beside the paper's, and what they amount to.

B-WM: β chosen on dev data. Top B-WM: of the β within 0.1 UAS of the best on dev data the best on test data. Test B-WM:
the best on test data. The last two look at the test data: the paper gives them to show what could be reached.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from structron.experiments.dror2016.choice import (
    AVERAGED,
    CONTROL,
    CSP,
    MEAN,
    PAPER,
    Trials,
    against,
    cells_of,
    claim,
    spelled,
)
from structron.experiments.dror2016.parsing import B_WM, CORPORA, CROSSING, HELD_OUT, WORK, collected, drawn
from structron.experiments.frame import Claim, Ledger, Sample, Table, ahead, level, mean

SLACK = 0.1
LEVEL = 0.22
"""UAS by which two methods may differ in the mean and still be called level: the gain that the paper names in its
discussion."""
SHOWN = spelled(B_WM)
TOP, TEST = f"Top {SHOWN}", f"Test {SHOWN}"
HELD, BY_ERRORS, BOTH = f"{SHOWN} enforced", f"{SHOWN} scaled", f"{SHOWN} scaled, enforced"
REMEDIES = (BY_ERRORS, HELD, BOTH)
PAPERS = (CSP, SHOWN, TOP, TEST)
NAMES = {1: "first", 2: "second"}
OURS = (*REMEDIES, CONTROL, AVERAGED, *(method + MEAN for method in (SHOWN, *REMEDIES)))
COMPARED = (
    *((method, CSP) for method in (SHOWN, TOP, TEST, *REMEDIES, CONTROL)),
    *((method, SHOWN) for method in REMEDIES),
    *((method, CONTROL) for method in (SHOWN, *REMEDIES)),
    *((method + MEAN, AVERAGED) for method in (SHOWN, *REMEDIES)),
    (AVERAGED, CSP),
)
BOTH_ORDERS = (CSP, SHOWN, BY_ERRORS, HELD, AVERAGED)

Figures = Mapping[str, Mapping[str, float]]
"""By treebank (of the paper: by language), the test UAS of every column."""


def figures(trials: Trials) -> dict[str, float]:
    """The test UAS that stand in a row of Table 2, as far as they are there."""
    found = {name.replace(B_WM, SHOWN): trials.scores_of(name).test for name in trials.models}
    for end in ("", MEAN):
        if trials.has(B_WM + end):
            most, best = (trials.best_on_test(B_WM + end, *slack) for slack in ((SLACK,), ()))
            found |= {TOP + end: most, TEST + end: best}
    return found


def figures_at(ledger: Ledger, order: int) -> Figures:
    """Of the treebanks that have CSP and B-WM."""
    return {name: figures(trials) for name, trials in collected(ledger, order).items() if trials.has(CSP, B_WM)}


def paper_figures(order: int) -> Figures:
    known = PAPER["parsing"]["orders"][str(order)]
    return {language: dict(zip(PAPERS, row, strict=True)) for language, row in known.items()}


def pair(rows: Figures, one: str, other: str) -> tuple[Sample, Sample]:
    """Two columns, over the treebanks that have both."""
    both = [row for row in rows.values() if one in row and other in row]
    return Sample([row[one] for row in both], datasets=True), Sample([row[other] for row in both], datasets=True)


def orders_of(first: Figures, second: Figures, method: str) -> tuple[Sample, Sample]:
    """A column at second and at first order, over the treebanks that have both."""
    both = [name for name in first if method in first[name] and method in second.get(name, {})]
    scores = ([rows[name][method] for name in both] for rows in (second, first))
    a, b = (Sample(own, datasets=True) for own in scores)
    return a, b


def means(rows: Figures, columns: Sequence[str]) -> list[float | None]:
    return [mean(own) if (own := [row[name] for row in rows.values() if name in row]) else None for name in columns]


# -- tables --------------------------------------------------------------------------------------------------------


def order_table(ledger: Ledger, order: int) -> Table:
    """Half of Table 2, with averaged weights, as the paper's parser has them."""
    entry, rows, trials = PAPER["parsing"], figures_at(ledger, order), collected(ledger, order)
    one = ledger.of(WORK, order=order)[0]
    sizes = ", ".join(f"{size} of {part}" for size, part in zip(one["tokens"], ("train", "dev", "test"), strict=True))
    names = {"order": NAMES[order], "passes": one.options["passes"], "sizes": sizes, "slack": SLACK}
    table = Table.of(entry, printed=", ".join(map(str, entry["printed"][str(order)])), **names)
    known = entry["orders"][str(order)]
    for name, row in rows.items():
        beta, tried = trials[name].chosen(B_WM + MEAN), len(trials[name].models[B_WM])
        own = [row[column + MEAN] for column in PAPERS]
        table.add(name, *own, f"{beta:g} of {tried}", paper=known.get(CORPORA[name].language))
    known_means = means(paper_figures(order), PAPERS)
    table.add("mean (the paper's: of nine)", *means(rows, [name + MEAN for name in PAPERS]), None, paper=known_means)
    if drawn(ledger):
        table.notes.append(
            f"Without dev data: {', '.join(drawn(ledger))}. Up to {HELD_OUT} training sentences, drawn at random, are "
            f"their dev data; {SHOWN} and the control are trained on the others, CSP on all, as in the paper."
        )
    return table


def extra_table(ledger: Ledger, order: int) -> Table:
    """What the paper does not have."""
    table, rows, trials = (
        Table.of(PAPER["extra"], order=NAMES[order]),
        figures_at(ledger, order),
        collected(ledger, order),
    )
    shares = {name: [getattr(trials[name].scores_of(B_WM), share) for share in ("broken", "active")] for name in rows}
    for name, row in rows.items():
        own = [f"{share:.1f}" for share in shares[name]]
        table.add(name, row[CSP], row[SHOWN], *own, *(row.get(column) for column in OURS))
    last = [f"{mean(column):.1f}" for column in zip(*shares.values(), strict=True)]
    table.add("mean", *means(rows, (CSP, SHOWN)), *last, *means(rows, OURS))
    return table


def sweep_table(ledger: Ledger) -> Table | None:
    """Every β, where more were tried than elsewhere."""
    found = {(name, order): own for order in NAMES for name, own in collected(ledger, order).items() if own.has(B_WM)}
    most = max((len(own.models[B_WM]) for own in found.values()), default=0)
    swept = {key: own for key, own in found.items() if len(own.models[B_WM]) == most and own.has(CSP)}
    if most < 2 or not swept:
        return None
    entry = PAPER["sweep"]
    betas = sorted({beta for own in swept.values() for beta in own.models[B_WM]})
    table = Table(entry["title"], [*entry["columns"], *(f"β {beta:g}" for beta in betas)], notes=entry["notes"])
    for (name, order), own in swept.items():
        table.add(
            name,
            order,
            own.scores_of(CSP).test,
            *(own.models[B_WM][beta].test if beta in own.models[B_WM] else None for beta in betas),
        )
    return table


def crossing_table(ledger: Ledger) -> Table | None:
    table = Table.of(PAPER["crossing"])
    for order in NAMES:
        for name, own in collected(ledger, order).items():
            if own.has(CROSSING, CSP):
                flat, crossing = (own.scores_of(method + MEAN).test for method in (CSP, CROSSING))
                table.add(name, order, flat, crossing, f"{crossing - flat:+.2f}")
    return table if table.rows else None


def tables(ledger: Ledger) -> Iterator[Table]:
    there = [order for order in NAMES if figures_at(ledger, order)]
    if not there:
        return
    for order in there:
        yield order_table(ledger, order)
        yield extra_table(ledger, order)
    table = Table.of(PAPER["differences"])
    for order in there:
        for names in COMPARED:
            papers = cells_of(*pair(paper_figures(order), *names)) if {*names} <= {*PAPERS} else []
            if cells := cells_of(*pair(figures_at(ledger, order), *names)):
                table.add(" - ".join(names), order, *cells, paper=papers)
    yield table
    table, rows = Table.of(PAPER["orders"]), [figures_at(ledger, order) for order in NAMES]
    for method in BOTH_ORDERS:
        second, first = orders_of(rows[0], rows[1], method)
        papers = cells_of(*orders_of(paper_figures(1), paper_figures(2), method)) if method in PAPERS else []
        if first:
            table.add(method, first.mean, second.mean, *cells_of(second, first), paper=papers)
    yield table
    yield from filter(None, (sweep_table(ledger), crossing_table(ledger)))


# -- claims --------------------------------------------------------------------------------------------------------


def claims(ledger: Ledger) -> Iterator[Claim]:
    """The paper's with averaged weights on both sides; then what is ours."""
    rows = {order: figures_at(ledger, order) for order in NAMES}

    def known(a: Sample, b: Sample) -> str:
        gain, _, wins = cells_of(a, b)
        return f"{gain}, ahead in {wins}"

    def compared(name: str, order: int, one: str, other: str, near: float | None = None) -> Claim:
        a, b = pair(rows[order], one + MEAN, other + MEAN)
        names: dict[str, Any] = {"order": NAMES[order], "one": one, "other": other, "level": LEVEL}
        paper = None
        if {one, other} <= {*PAPERS}:
            there = pair(paper_figures(order), one, other)
            names["figures"], paper = known(*there), there[0].mean - there[1].mean
        verdict = ahead(a, b, paper, unit=" UAS") if near is None else level(a, b, near, " UAS")
        return claim(name, against(a, b), verdict, f"{order} {one}", **names)

    for order in NAMES:
        yield compared("level", order, SHOWN, CSP, LEVEL)
        yield from (compared("improves", order, method, CSP) for method in (TOP, TEST))
    second, first = orders_of(rows[1], rows[2], AVERAGED)
    papers = orders_of(paper_figures(1), paper_figures(2), CSP)
    verdict = ahead(second, first, papers[0].mean - papers[1].mean, unit=" UAS")
    yield claim("second", against(second, first), verdict, figures=known(*papers))
    for order in NAMES:
        yield from (compared("remedy", order, method, CSP, LEVEL) for method in (BY_ERRORS, HELD))
