"""The pages about the papers, written from files of results: tables in docs/results.md, verdicts in docs/papers.md."""

from collections.abc import Sequence

from structron.errors import StructronError
from structron.experiments.frame import verdict
from structron.experiments.frame.ledger import Ledger
from structron.experiments.frame.report import Experiment, markdown_rows

HEAD = """# What holds up

Five papers, their claims in the order of each paper, and what comes out here, 10 to 24 years later. Written by
`structron papers --write docs` from the files in `results/`; the tables behind it are in [results.md](results.md).

How a verdict is found:

{rule}
"""


def marks(name: str) -> tuple[str, str]:
    return f"<!-- tables of {name} -->", f"<!-- end of {name} -->"


def renewed(text: str, experiment: Experiment, ledger: Ledger) -> str:
    """A page with the tables of today between the marks of a paper."""
    begin, end = marks(experiment.name)
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise StructronError(f"no place for the tables of {experiment.name}; expected the lines {begin} and {end}")
    tables = "\n\n".join(table.markdown() for table in experiment.tables(ledger))
    return f"{before}{begin}\n\n{provenance(ledger)}\n\n{tables}\n\n{end}{after}"


def provenance(ledger: Ledger) -> str:
    """What the tables are made from."""
    hours, versions = sum(trial.seconds for trial in ledger) / 3600, sorted({trial.version for trial in ledger})
    spent = f"{len(ledger.trials)} trials, {hours:.1f} hours of processor time, version {', '.join(versions)}"
    if not ledger.trials:
        return "Not run yet."
    unfinished = "" if ledger.finished else " **The full run is not finished**: this is what there is so far."
    return f"From `results/{ledger.path.name}`: {spent}.{unfinished}"


def papers_page(found: Sequence[tuple[Experiment, Ledger]]) -> str:
    """Every claim with its verdict."""
    rule = (verdict.__doc__ or "").partition("\n\n")[2].strip()
    parts = [HEAD.format(rule=rule)]
    for experiment, ledger in found:
        lines = [["where", "claim", "paper", "here", "verdict"]]
        for claim in experiment.claims(ledger):
            why = f" ({claim.verdict.why})" if claim.verdict.why else ""
            lines.append([claim.where, claim.text, claim.paper, claim.ours, f"**{claim.verdict}**{why}"])
        about = f"`{experiment.command}`. {provenance(ledger)} The pseudo-code stands in `{experiment.code}`."
        parts.append(f"## {experiment.title}\n\n{about}\n\n{markdown_rows(lines)}\n")
    return "\n".join(parts)
