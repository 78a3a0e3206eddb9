"""Partial labels: what a label is worth in a sentence of which the others are open.

A share of the labels of the training data is known. Either it is spread over all sentences, and the model learns from
them as they are (spread) or fills the open ones by its own predictions first (filled), or it comes in whole sentences
(sentences). Scores are on dev data.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from structron.data.corpora import find
from structron.experiments.frame import Claim, Experiment, Job, Ledger, Table, mean
from structron.experiments.partial.trials import METHODS, TASKS

TRAIN = "partial.trials:train"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done. sentences, scored: of training and of dev data."""

    sentences: int = 3000
    scored: int = 1000
    shares: tuple[int, ...] = (5, 10, 25, 50)
    seeds: int = 3
    passes: int = 5


FULL, QUICK = Scale(), Scale(300, 200, (10, 50), 1, 2)


def plan(ledger: Ledger, scale: Scale, data: Path | None) -> Iterator[Job]:
    """Every method at every share, and all labels known."""
    for task in TASKS.values():
        find(data or Path(), task.corpus, "train")
    for name, task in TASKS.items():
        for seed in range(1, scale.seeds + 1):
            for share in (*scale.shares, 100):
                for method in METHODS if share < 100 else METHODS[:1]:
                    options = {"task": name, "method": method, "share": share, "seed": seed, "passes": scale.passes}
                    sizes = {"sentences": min(scale.sentences, task.most), "scored": scale.scored}
                    yield Job(TRAIN, options | sizes, cost=10)


def tables(ledger: Ledger) -> Iterator[Table]:
    """Mean scores, a row for each share and a column for each method."""
    for name, task in TASKS.items():
        found = ledger.of(TRAIN, task=name)
        columns = ["labels known", "labels", *METHODS, "spread − sentences, by seed"]
        table = Table(f"{task.title}: {task.metric} on dev data, mean of the seeds", columns)
        for share in sorted({trial["share"] for trial in found}):
            own = [trial for trial in found if trial["share"] == share]
            by = {method: [t["dev"] for t in own if t["method"] == method] for method in METHODS}
            cells = [mean(scores) if scores else None for scores in by.values()]
            gains = [f"{a - b:+.2f}" for a, b in zip(by["spread"], by["sentences"], strict=False)]
            table.add(f"{share} %", round(mean([t["labels"] for t in own])), *cells, ", ".join(gains) or None)
        if table.rows:
            yield table


def claims(ledger: Ledger) -> Iterator[Claim]:
    """None: no paper is rerun."""
    yield from ()


EXPERIMENT = Experiment(
    name="partial",
    title="Partial labels",
    plan=plan,
    tables=tables,
    claims=claims,
    full=FULL,
    quick=QUICK,
    code="src/structron/learn/partial.py",
)
