"""Daumé & Marcu (2005): learning as search optimisation.

Tables 1 to 3 on the CoNLL-2000 data, eq. (2) as printed and our version of it, updates of other kinds at the same beam,
α, B and C of ALMA swept, and the theorems checked on a part of the data. From a part of the data, too: a semi-Markov
CRF, expectations in place of the mean, no averaging, features as printed, and goals as in Figure 2. The last tenth of
the training data chooses the pass; models learn from the rest and are tested as they are.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structron.data.corpora import find
from structron.experiments.daume2005.claims import claims
from structron.experiments.daume2005.outcome import CONVERGE, FIELD, GOALS, TRAIN, drawings, picture, tables
from structron.experiments.daume2005.tasks import (
    ALPHA,
    EXPECTED,
    LASO,
    LASO_A,
    OTHERS,
    OUR_LASO,
    OURS,
    PAPER,
    PART,
    TASKS,
    THEIRS,
)
from structron.experiments.daume2005.theorem import STEPS
from structron.experiments.frame import Experiment, Job, Ledger


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done. sentences, scored: of training data, of dev and test data (None: all).   own_beams: of segments
    with our templates.   passes, patience: a training stops when its dev score has not gained for so many passes, or at
    the cap; the same for all.   seeds: where methods are compared; elsewhere it is one.   sweep_…: of the sweeps of
    ALMA's constants.   factors: of B and C.

    Saved: trainings see 5000 of 8043 sentences, for eq. (2) as printed over 50 hypotheses or a lattice takes a minute
    and more a pass; segments with our templates have two seeds, no beam 25, and exact search for the perceptron alone;
    sweeps learn from 1000 sentences, those of B and C with one seed, and merge states. Without merging, other beams
    have one seed. Features as printed, fields, and goals that are tested when they leave the queue have a part of the
    data. The whole: about 140 minutes of one core.
    """

    sentences: int | None = 5000
    scored: int | None = None
    segment_beams: tuple[int | None, ...] = (1, 5, 25, None)
    joint_beams: tuple[int, ...] = (1, 5, 10, 25, 50)
    own_beams: tuple[int, ...] = (1, 5)
    expected: tuple[str, ...] = (EXPECTED,)
    """Methods with the expectation over the lattice, with exact search."""
    passes: int = 15
    patience: int = 3
    seeds: int = 3
    unmerged: tuple[tuple[str, str, int], ...] = (
        *(("segments", method, 5) for method in (*LASO, *OTHERS)),
        *(("joint", method, 10) for method in (*LASO, *OTHERS)),
    )
    """Task, method and beam of what is trained without merging, as the paper searches."""
    unmerged_seeds: tuple[int, ...] = (1, 2, 3)
    unmerged_once: tuple[tuple[str, str, int], ...] = (
        *(("segments", method, 25) for method in LASO),
        *(("joint", method, beam) for beam in (5, 25, 50) for method in LASO),
    )
    """The same, with one seed."""
    part: tuple[tuple[str, str, str, int | None, Mapping[str, Any]], ...] = PART
    part_sentences: int = 1000
    """What is trained from a part of the data alone, each with one seed, for questions that need many trainings."""
    variances: tuple[float, ...] = (1.0, 10.0)
    iterations: int = 40
    goal_sentences: int = 200
    goal_passes: int = 3
    goal_queues: tuple[tuple[str, int], ...] = (("beam", 5), ("first-goal", 5), ("cut", 5))
    sweep_sentences: int = 1000
    sweep_seeds: int = 2
    alphas: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    factors: tuple[float, ...] = (0.25, 0.5, 2, 4)
    theorem_sentences: int = 1000
    theorem_passes: int = 400


Wanted = tuple[str, str, str, int | None, int]
"""Task, features, method, beam, seed."""
FULL = Scale()
QUICK = Scale(
    sentences=400,
    scored=300,
    segment_beams=(1, 5, None),
    joint_beams=(1, 5, 10),
    passes=3,
    patience=2,
    seeds=1,
    expected=(),
    unmerged_seeds=(1,),
    unmerged=(("joint", "LaSO-P", 10), ("joint", "early", 10)),
    unmerged_once=(("joint", "LaSO-A", 5), ("joint", "LaSO-A", 10)),
    variances=(10.0,),
    iterations=15,
    part=PART[:8],
    part_sentences=200,
    goal_sentences=100,
    goal_passes=1,
    goal_queues=(("beam", 2), ("cut", 2)),
    sweep_sentences=200,
    sweep_seeds=1,
    alphas=(0.5, 0.9),
    factors=(2,),
    theorem_sentences=60,
    theorem_passes=60,
)


def plan(ledger: Ledger, scale: Scale, data: Path | None) -> Iterator[Job]:
    """First what methods are compared by; then the theorems, our templates, the sweeps, and the other beams."""
    for split in ("train", "test"):
        find(data or Path(), "conll2000", split)
    seeds = range(1, scale.seeds + 1)
    wanted: list[Wanted] = []
    wanted += [("joint", OURS, method, 10, seed) for seed in seeds for method in (*LASO, *OTHERS, *OUR_LASO)]
    wanted += [("segments", THEIRS, method, 5, seed) for seed in seeds for method in (*LASO, *OTHERS)]
    wanted += [("segments", OURS, method, 5, seed) for seed in seeds[:2] for method in (*LASO, *OUR_LASO)]
    wanted += [("segments", THEIRS, method, 5, 1) for method in OUR_LASO]
    wanted += [("segments", OURS, method, 5, 1) for method in OTHERS]
    yield from (training(scale, *one) for one in wanted)
    yield from unmerged(scale)
    yield from theorems(scale)
    yield from sweeps(scale)
    wide: list[Wanted] = [("joint", OURS, method, beam, 1) for beam in scale.joint_beams for method in LASO]
    wide += [("segments", OURS, method, beam, 1) for beam in scale.own_beams for method in LASO]
    wide += [("segments", THEIRS, method, beam, 1) for beam in scale.segment_beams for method in LASO]
    wide += [("segments", features, "perceptron", None, 1) for features in (THEIRS, OURS)]
    wide += [("segments", THEIRS, method, None, 1) for method in (*OUR_LASO, *scale.expected)]
    yield from (training(scale, *one) for one in wide)
    scored = {"scored": scale.scored} if scale.scored else {}
    how = {"variances": list(scale.variances), "iterations": scale.iterations, "sentences": scale.part_sentences}
    yield Job(FIELD, how | scored, cost=300)
    for task, features, method, bound, more in scale.part:
        yield training(scale, task, features, method, bound, 1, sentences=scale.part_sentences, **more)
    for queue, beam in scale.goal_queues:
        sizes = {"sentences": scale.goal_sentences, "passes": scale.goal_passes}
        yield Job(GOALS, {"queue": queue, "beam": beam, **sizes, **scored}, cost=200)


def training(scale: Scale, task: str, features: str, method: str, beam: int | None, seed: int, **more: Any) -> Job:
    """LaSO-A of the joint task is tested with other beams too, whether states are merged or not."""
    options: dict[str, Any] = {"task": task, "features": features, "method": method, "beam": beam, "seed": seed}
    options |= {"passes": scale.passes, "patience": scale.patience}
    options |= {"sentences": scale.sentences, "scored": scale.scored} | more
    if (task, method, seed) == ("joint", LASO_A, 1) and not more.keys() - {"merge"}:
        options["beams"] = list(scale.joint_beams)
    return Job(TRAIN, {name: value for name, value in options.items() if value is not None}, cost=100)


def unmerged(scale: Scale) -> Iterator[Job]:
    """As the paper searches; greedy LaSO-A is there for Table 3, where other beams test it."""
    features = {"segments": THEIRS, "joint": OURS}
    for task, method, beam in (*scale.unmerged, ("joint", LASO_A, 1), *scale.unmerged_once):
        yield training(scale, task, features[task], method, beam, 1, merge=False)
    for seed in scale.unmerged_seeds[1:]:
        for task, method, beam in scale.unmerged:
            yield training(scale, task, features[task], method, beam, seed, merge=False)


def sweeps(scale: Scale) -> Iterator[Job]:
    """α with the paper's B and C; B, then C, with α = 0.9."""
    kept = (ALPHA, 1 / ALPHA, math.sqrt(2))
    seeds = range(1, scale.sweep_seeds + 1)
    wanted = [((alpha, 1 / alpha, kept[2]), seed) for seed in seeds for alpha in scale.alphas]
    wanted += [((ALPHA, factor * kept[1], kept[2]), 1) for factor in scale.factors]
    wanted += [((ALPHA, kept[1], factor * kept[2]), 1) for factor in scale.factors]
    for constants, seed in wanted:
        more = {"constants": [round(value, 4) for value in constants], "sentences": scale.sweep_sentences}
        for task, features in (("segments", THEIRS), ("joint", OURS)):
            yield training(scale, task, features, LASO_A, TASKS[task].beam, seed, **more)


def theorems(scale: Scale) -> Iterator[Job]:
    for steps in STEPS:
        options = {"steps": steps, "sentences": scale.theorem_sentences, "passes": scale.theorem_passes}
        yield Job(CONVERGE, options | ({"scored": scale.scored} if scale.scored else {}), cost=90)


EXPERIMENT = Experiment(
    name="daume2005",
    title="Daumé & Marcu (2005)",
    plan=plan,
    tables=tables,
    claims=claims,
    drawings=drawings,
    full=FULL,
    quick=QUICK,
    code="src/structron/update/fixing.py",
    picture=picture,
    page=PAPER,
    needs={"scipy": "sklearn"},
)
