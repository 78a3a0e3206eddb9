"""Collins (2002): the rows of Figure 4, the jobs behind them, and what the ledger has found for them."""

from dataclasses import dataclass

import numpy as np

from structron.experiments.collins2002.comparison import TASKS
from structron.experiments.frame import Job, Ledger, Sample, Trial
from structron.experiments.frame.ledger import Figures
from structron.experiments.frame.statistics import score_of

CUTOFFS = (0, 5)
PERCEPTRON, MAXENT = "collins2002.comparison:perceptron", "collins2002.comparison:maximum_entropy"
FAMILIES = {
    "Perc": (PERCEPTRON, {"features": "seen"}),
    "ME": (MAXENT, {"method": "gis"}),
    "Perc, all pairs": (PERCEPTRON, {"features": "all"}),
    "ME by L-BFGS": (MAXENT, {"method": "lbfgs"}),
    "ME with prior": (MAXENT, {"method": "prior"}),
}
"""The two methods as the paper has them, then ours."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of Figure 4; average: avg or noavg, nothing for ME."""

    family: str
    cutoff: int
    average: str = ""
    mixed: bool | None = None
    """Training sentences in another order than the corpus's; None: they are not."""

    def __str__(self) -> str:
        return ", ".join(
            part for part in (self.family, self.average, f"cc={self.cutoff}", "shuffled" * bool(self.mixed)) if part
        )


def settings_of(family: str) -> list[Setting]:
    averages = ("avg", "noavg") if FAMILIES[family][0] == PERCEPTRON else ("",)
    return [Setting(family, cutoff, average) for cutoff in CUTOFFS for average in averages]


def trial_of(ledger: Ledger, task: str, family: str, cutoff: int, mixed: bool | None = None) -> Trial | None:
    """The longest of the trainings, or the one that looked closely at its best iterations."""
    work, options = FAMILIES[family]
    trials = ledger.of(work, task=task, cutoff=cutoff, mixed=mixed, **options)
    return max(trials, key=lambda t: (bool(t.options.get("close")), t.options.get("limit", 0)), default=None)


def final_job(trial: Trial) -> Job | None:
    """The training on train and dev for as long as was best on dev, if the test figures need one."""
    if "dev" in TASKS[trial["task"]].splits:
        return None
    how = {name: value for name, value in trial.options.items() if name not in ("passes", "limit", "close")}
    if trial.work == PERCEPTRON:
        how |= {name: trial[name]["best"] for name in ("avg", "noavg")}
    else:
        how["iterations"] = trial["best"]
    return Job(f"{trial.work}_on_all", how, trial.seconds)


def find(ledger: Ledger, task: str, setting: Setting) -> Figures | None:
    """What a setting reached on dev and, if that is there, on test data."""
    trial = trial_of(ledger, task, setting.family, setting.cutoff, setting.mixed)
    if trial is None:
        return None
    job = final_job(trial)
    final = ledger.get(job) if job else None
    parts = [one.figures[setting.average] if setting.average else one.figures for one in (trial, final) if one]
    return {name: value for part in parts for name, value in part.items()} | {"setting": setting}


def best_of(ledger: Ledger, task: str, family: str) -> Figures | None:
    """The setting that dev data choose."""
    found = [one for setting in settings_of(family) if (one := find(ledger, task, setting))]
    return max(found, key=lambda one: one["dev"], default=None)


def sample(figures: Figures | None, *parts: str) -> Sample:
    """The score on the parts of the data together; empty if one is missing."""
    if figures is None or not all(part in figures for part in parts):
        return Sample([])
    blocks = np.concatenate([figures[f"{part}_blocks"] for part in parts])
    return Sample([float(score_of(blocks.sum(axis=0)))], blocks)
