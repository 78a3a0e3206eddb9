"""`structron experiment`: a paper's tables again. A paper is a package of `structron.experiments`, found by name."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from structron import experiments
from structron.data.corpora import ENVIRONMENT, corpora_dir
from structron.errors import StructronError, unknown
from structron.experiments.frame import report
from structron.experiments.frame.report import Experiment

PAPER = re.compile("[a-z]+[0-9]{4}")
OTHERS = {"partial": Path("howto") / "partial-labels.md", "choosing": Path("howto") / "what-to-label.md"}
"""Experiments of our own, and the page of each."""
RESULTS = Path("results")


def papers() -> list[str]:
    """The papers there are, author and year, the oldest first; `frame`, which they all stand on, is none."""
    found = (entry.name for entry in iter_modules(experiments.__path__) if PAPER.fullmatch(entry.name))
    return sorted(found, key=lambda name: (name[-4:], name))


def experiment_of(paper: str) -> Experiment:
    if paper not in (*papers(), *OTHERS):
        raise unknown("paper", paper, [*papers(), *OTHERS])
    return import_module(f"structron.experiments.{paper}").EXPERIMENT


def run(
    paper: str, data: Path | None = None, quick: bool = False, out: Path | None = None, jobs: int | None = None
) -> None:
    experiment = experiment_of(paper)
    folder = corpora_dir(str(data) if data else None)
    if folder is None and experiment.needs_corpora:
        raise StructronError(f"{paper} needs real corpora: give their folder with --data or in {ENVIRONMENT}")
    report.run(experiment, folder, quick, out or (RESULTS / "quick" if quick else RESULTS), jobs)
