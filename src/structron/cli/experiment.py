"""`structron experiment`: a paper's tables again. A paper is a package of `structron.experiments`, found by name."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from structron import experiments
from structron.data.corpora import ENVIRONMENT, corpora_dir
from structron.errors import StructronError, unknown

PAPER = re.compile("[a-z]+[0-9]{4}")


def papers() -> list[str]:
    """The papers there are, author and year; `frame`, which they all stand on, is none."""
    return sorted(found.name for found in iter_modules(experiments.__path__) if PAPER.fullmatch(found.name))


def run(paper: str, data: Path | None = None, quick: bool = False, out: Path | None = None) -> None:
    if paper not in papers():
        raise unknown("paper", paper, papers())
    folder = corpora_dir(str(data) if data else None)
    module = import_module(f"structron.experiments.{paper}")
    if folder is None and getattr(module, "NEEDS_CORPORA", True):
        raise StructronError(f"{paper} needs real corpora: give their folder with --data or in {ENVIRONMENT}")
    module.run(data=folder, quick=quick, out=out)
