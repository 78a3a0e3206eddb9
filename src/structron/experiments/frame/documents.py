"""The pages about the papers, written from files of results: tables in docs/results.md, verdicts in docs/papers.md."""

from collections.abc import Mapping, Sequence
from typing import Any

from structron.errors import StructronError
from structron.experiments.frame import verdict
from structron.experiments.frame.ledger import Ledger
from structron.experiments.frame.report import Experiment, markdown_rows
from structron.experiments.frame.verdict import (
    LEVEL,
    MISSING,
    NOT_REPRODUCED,
    OURS,
    PAPERS,
    REPRODUCED,
    SMALLER,
    THEOREM,
    UNDECIDED,
    Claim,
    holm,
)

HEAD = """# What holds up

The claims of five papers, and what comes out here, 10 to 24 years later. `structron papers --write docs` writes this
page from `results/`; the tables are in [results.md](results.md).

{counts}

{chance}

How a verdict is found:

{rule}
"""
ANSWERS = {
    THEOREM: {REPRODUCED: "holds", NOT_REPRODUCED: "**broken**"},
    OURS: {REPRODUCED: "yes", NOT_REPRODUCED: "no", SMALLER: "no", UNDECIDED: "open"},
}
WORDS = (REPRODUCED, SMALLER, NOT_REPRODUCED, UNDECIDED)


def marks(name: str) -> tuple[str, str]:
    return f"<!-- tables of {name} -->", f"<!-- end of {name} -->"


def renewed(text: str, experiment: Experiment, ledger: Ledger) -> str:
    """A page with the tables of today between the marks of a paper; each note stands there once."""
    begin, end = marks(experiment.name)
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise StructronError(f"no place for the tables of {experiment.name}; expected the lines {begin} and {end}")
    tables: list[str] = []
    known: set[str] = set()
    for table in experiment.tables(ledger):
        tables.append(table.markdown(known).rstrip("\n"))
        known.update(table.notes)
    return "\n\n".join([f"{before}{begin}", provenance(ledger), *tables, f"{end}{after}"])


def provenance(ledger: Ledger) -> str:
    """What the tables are made from."""
    hours, versions = sum(trial.seconds for trial in ledger) / 3600, sorted({trial.version for trial in ledger})
    spent = f"{len(ledger.trials)} trials, {hours:.1f} hours of processor time, version {', '.join(versions)}"
    if not ledger.trials:
        return "Not run yet."
    unfinished = "" if ledger.finished else " **The full run is not finished.**"
    return f"From `results/{ledger.path.name}`: {spent}.{unfinished}"


def papers_page(found: Sequence[tuple[Experiment, Ledger]]) -> str:
    """Every claim with its verdict, the papers' own, the theorems and our own questions apart."""
    rule = (verdict.__doc__ or "").partition("\n\n")[2].strip()
    claims = {experiment.name: list(experiment.claims(ledger)) for experiment, ledger in found}
    every = [(name, claim) for name, own in claims.items() for claim in own if claim.kind == PAPERS]
    corrected = holm([claim.verdict.p for _, claim in every])
    holms = {(name, claim.key): p for (name, claim), p in zip(every, corrected, strict=True)}
    counts = counts_table([(experiment, claims[experiment.name]) for experiment, _ in found])
    parts = [HEAD.format(rule=rule, counts=counts, chance=chance([claim for _, claim in every], corrected))]
    for experiment, ledger in found:
        about = f"`{experiment.command}`. {provenance(ledger)} Pseudo-code: `{experiment.code}`."
        own = claims[experiment.name]
        pieces = [f"## {experiment.title}", summary(experiment.page), picture_line(experiment, ledger)]
        pieces += [claims_table(own, {key: p for (name, key), p in holms.items() if name == experiment.name})]
        pieces += [reasons(experiment.page), short_table("Theorems, executed", THEOREM, own)]
        pieces += [short_table("Our own questions", OURS, own), about]
        parts.append("\n\n".join(piece for piece in pieces if piece) + "\n")
    return "\n".join(parts)


def counts_table(found: Sequence[tuple[Experiment, Sequence[Claim]]]) -> str:
    """How many claims have which verdict; theorems that hold; questions with an answer."""
    lines = [["paper", "claims", *WORDS, "theorems that hold", "own questions answered"]]
    total = [0] * 9
    for experiment, claims in found:
        kinds = {kind: [str(c.verdict) for c in claims if c.kind == kind] for kind in (PAPERS, THEOREM, OURS)}
        row = [len(kinds[PAPERS]), *(kinds[PAPERS].count(word) for word in WORDS)]
        row += [kinds[THEOREM].count(REPRODUCED), len(kinds[THEOREM])]
        row += [sum(word not in (UNDECIDED, MISSING) for word in kinds[OURS]), len(kinds[OURS])]
        total = [a + b for a, b in zip(total, row, strict=True)]
        lines.append(counts_row(experiment.title.partition(":")[0], row))
    return markdown_rows([*lines, counts_row("all", total)])


def counts_row(name: str, row: Sequence[int]) -> list[str]:
    *words, held, theorems, answered, questions = row
    return [name, *map(str, words), f"{held} of {theorems}", f"{answered} of {questions}"]


def chance(claims: Sequence[Claim], corrected: Sequence[float | None]) -> str:
    """What would be found if nothing were true, and what is left after Holm's correction."""
    tested = [(claim, p) for claim, p in zip(claims, corrected, strict=True) if p is not None]
    decided = [(claim, p) for claim, p in tested if str(claim.verdict) in (REPRODUCED, NOT_REPRODUCED)]
    kept = sum(p <= LEVEL for _, p in decided)
    return (
        f"{len(tested)} of the {len(claims)} claims have a p-value. By chance alone about {LEVEL * len(tested):.0f} "
        f"would be decided; {len(decided)} are, and {kept} survive Holm's correction."
    )


def summary(page: Mapping[str, Any]) -> str:
    return " ".join(one["text"] for one in page.get("summary", ()))


def reasons(page: Mapping[str, Any]) -> str:
    """Why something is not reproduced."""
    lines = [f"- {one['text']}" for one in page.get("reasons", ())]
    return "\n".join(["**Why not**", "", *lines]) if lines else ""


def picture_of(experiment: Experiment, ledger: Ledger) -> str:
    """The paper's figures and ours side by side, as SVG; empty while there are none."""
    drawn = experiment.picture(ledger)
    return drawn.svg() if drawn is not None and drawn.rows else ""


def picture_line(experiment: Experiment, ledger: Ledger) -> str:
    drawn = experiment.picture(ledger)
    return f"![{drawn.title}](pictures/paper-{experiment.name}.svg)" if drawn is not None and drawn.rows else ""


def claims_table(claims: Sequence[Claim], corrected: Mapping[str, float | None]) -> str:
    lines = [["where", "claim", "paper", "here (95 % interval)", "p; Holm", "verdict"]]
    for claim in claims:
        if claim.kind == PAPERS:
            p, both = claim.verdict.p, corrected.get(claim.key)
            shown = "" if p is None or both is None else f"{shown_p(p)}; {shown_p(both)}"
            lines.append([claim.where, claim.text, claim.known, claim.here, shown, f"**{claim.verdict}**"])
    return markdown_rows(lines)


def short_table(title: str, kind: str, claims: Sequence[Claim]) -> str:
    """Theorems or questions, with their answers."""
    lines = [["where", "claim" if kind == THEOREM else "question", "here", "answer"]]
    for claim in claims:
        if claim.kind == kind:
            word = str(claim.verdict)
            lines.append([claim.where, claim.text, claim.here, ANSWERS[kind].get(word, word)])
    return f"**{title}**\n\n{markdown_rows(lines)}" if len(lines) > 1 else ""


def shown_p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
