"""Daumé & Marcu (2005): learning as search optimisation.

Tables 1 to 3 beside the paper's on the CoNLL-2000 data, the heat map of Table 3 as PNG, updates of other kinds at the
same beam, Theorem 4 checked on a part of the data, and at the end the targets with what was measured. The last tenth of
the training data chooses the pass; models learn from the rest and are tested as they are.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structron.errors import StructronError
from structron.experiments.common import Rows, load_rows, make_folder, need, say, write_json
from structron.experiments.daume2005_figure import draw_grid
from structron.experiments.daume2005_joint import Joint
from structron.experiments.daume2005_segments import Segments
from structron.experiments.daume2005_theorem import theorem_table
from structron.experiments.runs import Report
from structron.io import atomic_write_bytes

RESULTS = Path("results/daume2005")
CORPUS = "conll2000"
DEV_SHARE = 10


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done: sentences (None: all), beams, passes of the perceptron and of ALMA; sentences and passes of the
    theorem. In the paper ALMA needs fewer passes (two or three against seven or eight); here it gains from more.
    """

    sentences: int | None
    segment_beams: tuple[int | None, ...]
    joint_beams: tuple[int, ...]
    passes: tuple[int, int]
    theorem_sentences: int
    theorem_passes: int


FULL = Scale(None, (1, 5, 25, None), (1, 5, 10, 25, 50), (6, 8), 1000, 400)
QUICK = Scale(600, (1, 5, None), (1, 5), (3, 2), 60, 60)


@dataclass(frozen=True, slots=True)
class Data:
    """The parts of the corpus."""

    train: Rows
    dev: Rows
    test: Rows

    @classmethod
    def load(cls, data: Path, sentences: int | None) -> "Data":
        train, test = (load_rows(data, CORPUS, split)[:sentences] for split in ("train", "test"))
        place = len(train) - len(train) // DEV_SHARE
        return cls(train[:place], train[place:], test)


def run(data: Path, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write them, `results.json` and the heat map to `out`; return what the JSON file holds."""
    scale, report = QUICK if quick else FULL, Report()
    parts = Data.load(data, scale.sentences)
    folder = make_folder(out or RESULTS)
    if quick:
        say(f"quick: {scale.sentences} sentences, fewer passes and beams")
    segments = Segments(parts.train, parts.dev, parts.test, scale.passes)
    segments.run_all(scale.segment_beams, report)
    joint = Joint(parts.train, parts.dev, parts.test, scale.passes)
    joint.run_all(scale.joint_beams, report)
    theorem = theorem_table(parts.train[: scale.theorem_sentences], scale.theorem_passes, report)
    results = {
        "paper": "Daumé & Marcu (2005)",
        "quick": quick,
        "segments": [trial.as_dict() for trial in segments.trials],
        "joint": [trial.as_dict() for trial in joint.trials],
        "grid": joint.grid,
        "theorem4": theorem,
        "targets": report.targets,
    }
    write_json(folder / "results.json", results)
    atomic_write_bytes(folder / "tables.txt", report.text().encode())
    try:
        need("matplotlib", "plot")
        draw_grid(folder / "table3.png", joint.beams, joint.grid)
        say(f"results.json, tables.txt and table3.png are in {folder}")
    except StructronError as error:
        say(f"results.json and tables.txt are in {folder}; no figure: {error}")
    if quick:
        say("quick: the targets are meant for the whole run; fewer sentences and passes change what is measured")
    print("\n".join(report.target_lines()), flush=True)
    return results
