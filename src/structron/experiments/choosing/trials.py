"""One simulation of a person who labels what a criterion chooses."""

from pathlib import Path

from structron.experiments.frame.ledger import Figures
from structron.experiments.partial.trials import TASKS, corpus_of, trained
from structron.tasks.choosing import Plan, simulate


def ask(
    data: Path,
    task: str,
    by: str,
    seed: int,
    passes: int,
    scored: int,
    pool: int,
    start: int,
    number: int,
    rounds: int,
) -> Figures:
    """Round by round the words that were looked at, the labels that were corrected, and the dev score."""
    rows, dev = corpus_of(data, TASKS[task])
    model = trained(TASKS[task], rows[:start], seed, passes)
    model.options.jobs = 1
    found = simulate(model, rows[:pool], dev[:scored], [by], Plan(start, number, rounds, seed=seed))
    steps = found.curves[by]
    curve = {name: [round(step[name], 3) for step in steps] for name in ("words", "corrections")}
    scores = [round(step["score"], 4) for step in steps]
    return {"all": found.everything["words"], "final": found.everything["score"], "scores": scores, **curve}
