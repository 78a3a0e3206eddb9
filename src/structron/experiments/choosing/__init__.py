"""Choosing what to label: how many words a person looks at, and how many labels they correct, until a model is good.

A simulated person labels some sentences from nothing, then round by round what a criterion of `structron choose` picks;
the model's predictions are filled in, and the person corrects them. Scores are on dev data. `words` asks for two words
of a sentence, and so for more sentences in a round: about as many words as the others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structron.data.corpora import find
from structron.experiments.frame import Claim, Curves, Experiment, Job, Ledger, Table, Trial, mean
from structron.experiments.partial.trials import TASKS

ASK = "choosing.trials:ask"
CRITERIA = ("random", "doubt-per-word", "words", "disagreement")
SHARE = 0.95
"""Of the score of a model of all the pool: what is to be reached."""


@dataclass(frozen=True, slots=True)
class Size:
    """Of a simulation. numbers: sentences in a round for each criterion, about as many words; those that are chosen are
    shorter than those that are drawn."""

    pool: int
    rounds: int
    numbers: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done. scored: of dev data; start: sentences that are labelled from nothing."""

    sizes: dict[str, Size] = field(
        default_factory=lambda: {
            "chunks": Size(4000, 18, (25, 40, 300, 40)),
            "upos": Size(4000, 20, (50, 60, 300, 60)),
            "entities": Size(6000, 30, (100, 60, 400, 60)),
        }
    )
    scored: int = 1000
    start: int = 20
    seeds: int = 3
    passes: int = 5


FULL = Scale()
QUICK = Scale({name: Size(200, 2, (20, 20, 100, 20)) for name in FULL.sizes}, 100, 20, 1, 2)


def plan(ledger: Ledger, scale: Scale, data: Path | None) -> Iterator[Job]:
    """Every criterion in every task; a seed for all before the next one."""
    for name in scale.sizes:
        find(data or Path(), TASKS[name].corpus, "train")
    for seed in range(1, scale.seeds + 1):
        for place, by in enumerate(CRITERIA):
            for name, size in scale.sizes.items():
                sizes = {"pool": size.pool, "start": scale.start, "number": size.numbers[place], "rounds": size.rounds}
                options = {"task": name, "by": by, "seed": seed, "passes": scale.passes, "scored": scale.scored}
                yield Job(ASK, options | sizes, cost=60)


def reached(trial: Trial) -> int | None:
    """The round in which a simulation has reached the share of the final score."""
    wanted = SHARE * trial["final"]
    return next((k for k, score in enumerate(trial["scores"]) if score >= wanted), None)


def tables(ledger: Ledger) -> Iterator[Table]:
    """What it takes, a row for each criterion: means of the seeds, and the words of each seed."""
    for name, task in TASKS.items():
        found = ledger.of(ASK, task=name)
        if not found:
            continue
        finals, words = (round(mean([trial[what] for trial in found]), 2) for what in ("final", "all"))
        table = Table(
            f"{task.title}: until {SHARE * finals:.2f} {task.metric}, 95 % of what all {words:,.0f} words give",
            ["by", "words read", "of random's", "corrections", "of typing random's", "words read, by seed"],
        )
        usual = _words([trial for trial in found if trial["by"] == "random"])
        for by in CRITERIA:
            if own := [trial for trial in found if trial["by"] == by]:
                table.add(by, *_cells(own, usual))
        yield table


def _words(trials: Sequence[Trial]) -> list[tuple[float, bool]]:
    """The words that each simulation took; of one that does not get there all that it looked at, and False."""
    rounds = [(trial, reached(trial)) for trial in trials]
    return [(trial["words"][-1 if k is None else k], k is not None) for trial, k in rounds]


def _cells(own: Sequence[Trial], usual: Sequence[tuple[float, bool]]) -> list[Any]:
    """Words, corrections, and both as shares of the words that are read at random: so many labels are typed there."""
    took = _words(own)
    there, read = all(well for _, well in took), mean([words for words, _ in took])
    seeds = ", ".join(f"{'' if well else 'over '}{words:,.0f}" for words, well in took)
    done = mean([trial["corrections"][-1 if (k := reached(trial)) is None else k] for trial in own])
    base = mean([words for words, _ in usual]) if usual and all(well for _, well in usual) else None
    shares = [f"{100 * count / base:.0f} %" if base and there else None for count in (read, done)]
    texts = [f"{'' if there else 'over '}{count:,.0f}" for count in (read, done)]
    return [texts[0], shares[0], texts[1], shares[1], seeds]


def picture(ledger: Ledger) -> Curves | None:
    """Scores by words read, means of the seeds round by round."""
    found = [(task, ledger.of(ASK, task=name)) for name, task in TASKS.items()]
    panels: list[Any] = [(task.title.partition(",")[0], _curves(own), {}) for task, own in found if own]
    return Curves("What choosing saves", panels) if panels else None


def _curves(found: Sequence[Trial]) -> dict[str, list[tuple[float, float]]]:
    curves = {}
    for by in CRITERIA:
        if own := [trial for trial in found if trial["by"] == by]:
            rounds = range(min(len(trial["scores"]) for trial in own))
            curves[by] = [(mean([t["words"][k] for t in own]), mean([t["scores"][k] for t in own])) for k in rounds]
    return curves


def claims(ledger: Ledger) -> Iterator[Claim]:
    """None: no paper is rerun."""
    yield from ()


EXPERIMENT = Experiment(
    name="choosing",
    title="Choosing what to label",
    plan=plan,
    tables=tables,
    claims=claims,
    full=FULL,
    quick=QUICK,
    code="src/structron/tasks/choosing.py",
    picture=picture,
)
