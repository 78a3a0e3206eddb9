"""Standard updates in parsing: why greedy search does better with them than a beam of 2, which the paper has not.

Explanations are tried, each by trainings of its own: merging, averaging, the treebank, and the invalid updates
themselves, which are left out (`skip`) or made early ones (hybrid). And a closer look at updates: closer.py.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structron.experiments.frame import Claim, Job, Ledger, Sample, Table, Trial, Verdict, ahead, has, mean, verdict
from structron.experiments.huang2012 import methods, parsing
from structron.experiments.huang2012.closer import BEAMS, SKIP
from structron.experiments.huang2012.methods import HYBRID, MAX_VIOLATION, PAPER, STANDARD, WSJ, Scale

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "as in the paper": (STANDARD, {}),
    "search without merging": (STANDARD, {"merge": False}),
    "last weights, no means": (STANDARD, {"average": "none"}),
    "invalid updates left out": (SKIP, {}),
    "invalid updates made early ones (hybrid)": (HYBRID, {}),
    "max-violation": (MAX_VIOLATION, {}),
}
"""Update and options by name; the first and the last are trained for other tables too, and looked at closely."""


def plan(scale: Scale, data: Path) -> Iterator[Job]:
    """Every variant at every beam; two of them on other treebanks, where they are there."""
    for seed in scale.seeds:
        for update, more in list(VARIANTS.values())[1:-1]:
            for beam in BEAMS:
                closer = True if update in (STANDARD, SKIP) else None
                if (update, beam) != (HYBRID, parsing.BEAM):
                    yield parsing.parse_job(scale, WSJ, update, beam, seed, closer=closer, **more)
        for corpus in (one for one in scale.other_treebanks if has(data, one, "train")):
            for update in (STANDARD, SKIP):
                yield from (parsing.parse_job(scale, corpus, update, beam, seed) for beam in BEAMS)


def rows(ledger: Ledger) -> Iterator[tuple[str, list[list[Trial]]]]:
    """What was tried, and its trials at each beam; all beams are there."""
    others = sorted({trial["corpus"] for trial in ledger.of(parsing.PARSE)} - set(parsing.COLUMNS))
    wanted = [(name, WSJ, update, more) for name, (update, more) in VARIANTS.items()]
    for corpus in others:
        wanted += [
            (f"{corpus}{text}", corpus, u, {}) for u, text in ((STANDARD, ""), (SKIP, ", invalid ones left out"))
        ]
    for name, corpus, update, more in wanted:
        own = [parsing.found(ledger, corpus, update, beam, **more) for beam in BEAMS]
        if all(own):
            yield name, own


def greedy_ahead(own: list[list[Trial]]) -> Verdict:
    """Whether greedy search is ahead of a beam of 2."""
    one, two, *_ = (Sample.of(trials, "dev") for trials in own)
    return ahead(one, two)


def tables(ledger: Ledger) -> Iterator[Table]:
    """Where the anomaly is, and where it is not; then a closer look."""
    table, by_verdict = Table.of(PAPER["anomaly"]), dict[str, list[str]]()
    for name, own in rows(ledger):
        found = greedy_ahead(own)
        table.add(name, *(str(Sample.of(trials, "dev")) for trials in own), found.why)
        by_verdict.setdefault(found.verdict, []).append(name)
    if not table.rows:
        return
    for text, word in (("Greedy ahead of beam 2", verdict.REPRODUCED), ("Beam 2 ahead", verdict.NOT_REPRODUCED)):
        table.notes.append(f"{text}: {'; '.join(by_verdict.get(word, ['nowhere']))}.")
    pairs = [[parsing.found(ledger, WSJ, update, beam) for update in (STANDARD, SKIP)] for beam in BEAMS]
    if all(map(all, pairs)):
        worth = [methods.means(old, "dev")[0] - methods.means(new, "dev")[0] for old, new in pairs]
        shown = ", ".join(f"{gain:+.2f} at beam {beam}" for beam, gain in zip(BEAMS, worth, strict=True))
        table.notes.append(f"What invalid updates are worth, against none in their place: {shown}.")
    yield table
    table = Table.of(PAPER["closer"])
    for name, own in rows(ledger):
        for beam, trials in zip(BEAMS, own, strict=True):
            if all("growth" in trial.figures for trial in trials):
                firsts = [trial["first"] for trial in trials if "first" in trial.figures]
                figures = (methods.late(trials), *methods.means(trials, "invalid_by", "valid_by", "growth"))
                crossed = [mean([trial["crossed"][str(other)] for trial in trials]) for other in BEAMS]
                table.add(f"{name}, {beam}", *figures, mean(firsts) if firsts else None, *crossed)
    if table.rows:
        yield table


def claims(ledger: Ledger) -> Iterator[Claim]:
    """What the paper says of invalid updates: that they are what is wrong with the standard update."""
    for beam in (1, parsing.BEAM):
        for key, update in (("harm", SKIP), ("instead", HYBRID)):
            yield methods.versus(key, [parsing.found(ledger, WSJ, one, beam) for one in (update, STANDARD)], beam=beam)
