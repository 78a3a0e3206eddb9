"""Collins (2002): perceptron against maximum entropy, averaged or not, with and without a count cut-off (section 4).

Figure 4 (development data) and the final test figures, each beside the paper's; learning curves; voting beside
averaging; and the theorems of section 3, executed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from structron.data.corpora import find
from structron.experiments.collins2002.comparison import TASKS
from structron.experiments.collins2002.report import PAPER, THEOREM, claims, drawings, picture, tables
from structron.experiments.collins2002.settings import CUTOFFS, FAMILIES, PERCEPTRON, final_job, trial_of
from structron.experiments.frame import Experiment, Job, Ledger

NOISE = (0.02, 0.1)
SORTED = "pos"
"""The task whose corpus is sorted, by genre."""
COST = {"np": (2.0, 0.2), "pos": (8.0, 0.4)}
"""About the seconds of a pass and of an iteration."""


@dataclass(frozen=True, slots=True)
class Scale:
    """passes: of the perceptron.   gis, lbfgs: the iterations of ME that are tried first; while the last of them is the
    best, they are doubled, so many times at most.   sentences: of each corpus to learn from; None: all.   examples,
    draws: of the theorems.   votes: sentences to learn from and to test on."""

    passes: int
    gis: int
    lbfgs: int
    doublings: int
    sentences: int | None
    examples: int
    draws: int
    votes: tuple[int, int]
    close: tuple[tuple[str, str], ...] = ()
    """Tasks and methods of ME that are scored closely around the best iteration, as often as the perceptron."""
    mixed: tuple[int, ...] = ()
    """Cut-offs with which tagging is learned from shuffled data, too."""


FULL = Scale(60, 800, 200, 2, None, 1000, 30, (1000, 1000), tuple(product(TASKS, ("gis", "lbfgs"))), (0,))
"""About 70 minutes of a processor. Examples come in corpus order, so there are no seeds to repeat. Saved: voting on a
ninth of the data, as every vector has to search every sentence."""
QUICK = Scale(4, 20, 10, 0, 1000, 300, 3, (100, 100))


def plan(ledger: Ledger, scale: Scale, data: Path | None) -> Iterator[Job]:
    """Each setting of a task, with its test figures as soon as dev data have chosen; the paper's methods come first."""
    assert data is not None
    for own in TASKS.values():
        for split in own.splits:
            find(data, own.corpus, split)
    for toy, examples in ((True, scale.examples // 10), (False, scale.examples)):
        yield Job(f"{THEOREM}:theorem1", {"toy": toy, "sentences": examples}, 5)
    for noise in NOISE:
        yield Job(f"{THEOREM}:theorem2", {"sentences": 2 * scale.examples, "noise": noise}, 5)
    how = {"sentences": scale.examples, "noise": NOISE[0] / 4, "draws": scale.draws}
    yield Job(f"{THEOREM}:theorem3", how, 1.2 * scale.draws)
    for family in FAMILIES:
        for cutoff in CUTOFFS:
            for task in TASKS:
                yield from jobs_of(ledger, scale, task, family, cutoff)
    votes = {"sentences": scale.votes[0], "test_sentences": scale.votes[1]}
    for task in TASKS:
        yield Job(f"{THEOREM}:voting", {"task": task, **votes}, 60)
    yield Job(f"{THEOREM}:voting", {"task": SORTED, **votes, "mixed": True}, 60)
    for cutoff in scale.mixed:
        work, options = FAMILIES["Perc"]
        again: dict[str, Any] = {
            "task": SORTED,
            "cutoff": cutoff,
            **options,
            "sentences": scale.sentences,
            "passes": scale.passes,
        }
        yield Job(work, again | {"mixed": True}, COST[SORTED][0] * scale.passes)


def jobs_of(ledger: Ledger, scale: Scale, task: str, family: str, cutoff: int) -> Iterator[Job]:
    """A training; more iterations while the last are the best; the training on all data if there is one."""
    work, options = FAMILIES[family]
    how: dict[str, Any] = {"task": task, "cutoff": cutoff, **options, "sentences": scale.sentences}
    if work == PERCEPTRON:
        yield Job(work, how | {"passes": scale.passes}, COST[task][0] * scale.passes)
    else:
        first, trial = scale.gis if options["method"] == "gis" else scale.lbfgs, None
        for limit in (first << k for k in range(scale.doublings + 1)):
            job = Job(work, how | {"limit": limit}, COST[task][1] * limit)
            yield job
            trial = ledger.get(job)
            if trial is None or trial["best"] < limit:
                break
        if trial is None:
            return
        if (task, options["method"]) in scale.close and trial["best"] < limit:
            limit = 2 * trial["best"]
            job = Job(work, how | {"limit": limit, "close": True}, 2 * COST[task][1] * limit)
            yield job
            if ledger.get(job) is None:
                return
    trial = trial_of(ledger, task, family, cutoff)
    if trial is not None and (final := final_job(trial)):
        yield final


EXPERIMENT = Experiment(
    name="collins2002",
    title="Collins (2002)",
    plan=plan,
    tables=tables,
    claims=claims,
    drawings=drawings,
    full=FULL,
    quick=QUICK,
    code="src/structron/update/perceptron.py",
    picture=picture,
    page=PAPER,
    needs={"scipy": "sklearn"},
)
