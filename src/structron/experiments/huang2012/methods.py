"""Huang, Fayong & Guo (2012): the methods, how much of everything is done, and Figure 5, updates that are invalid."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from structron.experiments.frame import Line, Report, Table, Trial, draw_lines, invalid_share, paper_of

PAPER = paper_of("huang2012")
STANDARD, EARLY, MAX_VIOLATION = "standard", "early", "max-violation"
METHODS = (STANDARD, EARLY, "hybrid", "latest", MAX_VIOLATION, "laso")
WSJ, EWT = "wsj-sample-dep", "ud-english-ewt"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done: sentences to learn from and of dev (None: all), beams, and passes.

    Passes are those of early update and of other methods; in parsing also those at other beams than the paper's. Early
    update learns from prefixes, so its passes are short and it needs more of them (38 in the paper against 12).
    """

    sentences: int | None = None
    dev_sentences: int | None = None
    tagging_sentences: int | None = None
    tagging_beams: tuple[int, ...] = (1, 2, 4, 7, 10)
    tagging_passes: tuple[int, int] = (6, 6)
    parsing_beams: tuple[int, ...] = (1, 2, 4, 8)
    parsing_passes: dict[str, tuple[int, int, int]] = field(default_factory=lambda: {WSJ: (30, 12, 8), EWT: (16, 6, 3)})
    unmerged_beams: dict[str, tuple[int, ...]] = field(default_factory=lambda: {WSJ: (8,), EWT: ()})


def show_invalid(what: str, name: str, trials: Sequence[Trial], report: Report) -> None:
    """Figure 5 by figures and drawn: the share of standard updates that are no violations, a row or curve per beam."""
    own = [t for t in trials if t.method == STANDARD and t.beam is not None and t.merge]
    table, lines = Table.of(PAPER["figure5"], what=what), []
    for trial in own:
        shares = [invalid_share([record]) for record in trial.history]
        lines.append(Line(f"beam {trial.beam}", range(1, len(shares) + 1), shares))
        places = (0, min(1, len(shares) - 1), len(shares) // 2, len(shares) - 1)
        table.add(str(trial.beam), *(shares[place] for place in places), trial.late_invalid)
    report.show(table)
    axes = ("pass", "invalid standard updates/%")
    report.figure(f"figure5-{name}.png", draw_lines, f"{what}: invalid updates (Figure 5)", *axes, lines, 0.0)
