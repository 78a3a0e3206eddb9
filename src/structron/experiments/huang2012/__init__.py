"""Huang, Fayong & Guo (2012): updates that fix violations, under search that is not exact.

Tables 1 to 3 beside the paper's, Figures 4 to 6 as PNG, the endless loop of Figure 1, and the theorems executed.
"""

from collections.abc import Iterator
from pathlib import Path

from structron.data.corpora import find
from structron.errors import StructronError
from structron.experiments.frame import SPLITS, Claim, Drawing, Experiment, Job, Ledger, Table
from structron.experiments.huang2012 import methods, parsing, tagging, theory
from structron.experiments.huang2012.methods import EWT, GREEK, HYBRID, LATEST, THREE, WSJ, Scale

FULL = Scale()
QUICK = Scale(
    seeds=(1, 2),
    tagging_sentences=1000,
    sentences=500,
    dev_sentences=200,
    tagging_beams=dict.fromkeys(THREE, (1, 2)) | {HYBRID: (2,), LATEST: (2,)},
    tagging_once=(7,),
    tagging=(6, 2),
    parsing={WSJ: (8, 2), EWT: (6, 2), GREEK: (6, 2)},
    parsing_seeds=dict.fromkeys((WSJ, EWT, GREEK), (1, 2)),
    parsing_beams=(1,),
    parsing_sizes=(250,),
    speed_seeds=(1,),
    level_seeds=(1,),
    bounds=2,
)


def plan(ledger: Ledger, scale: Scale, data: Path | None) -> Iterator[Job]:
    """Everything is wanted from the start: when training has gone on long enough is for each training to see."""
    if data is None:
        raise StructronError("huang2012 needs corpora; expected --data D, a folder that holds them")
    for corpus in (WSJ, EWT):
        for split in SPLITS:
            find(data, corpus, split)
    yield from theory.plan(scale)
    yield from parsing.plan(scale, data)
    yield from tagging.plan(scale)


def tables(ledger: Ledger) -> Iterator[Table]:
    for part in (theory, tagging, parsing):
        yield from part.tables(ledger)


def claims(ledger: Ledger) -> Iterator[Claim]:
    for part in (theory, tagging, parsing):
        yield from part.claims(ledger)


def drawings(ledger: Ledger) -> Iterator[Drawing]:
    yield from tagging.drawings(ledger)
    yield from parsing.drawings(ledger)


EXPERIMENT = Experiment(
    name="huang2012",
    title="Huang, Fayong & Guo (2012)",
    plan=plan,
    tables=tables,
    claims=claims,
    drawings=drawings,
    full=FULL,
    quick=QUICK,
    code="src/structron/update/violation.py",
    picture=parsing.picture,
    page=methods.PAPER,
)
