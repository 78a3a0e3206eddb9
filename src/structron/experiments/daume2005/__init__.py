"""Daumé & Marcu (2005): learning as search optimisation.

Tables 1 to 3 beside the paper's on the CoNLL-2000 data, the heat map of Table 3 as PNG, updates of other kinds at the
same beam, Theorem 4 checked on a part of the data, and at the end the targets with what was measured. The last tenth of
the training data chooses the pass; models learn from the rest and are tested as they are.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structron.experiments.daume2005.tasks import JOINT, SEGMENTS, compare, cross
from structron.experiments.daume2005.theorem import check_theorem
from structron.experiments.frame import last_tenth, load_rows, reporting


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


def run(data: Path, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write them, `results.json` and the heat map to `out`; return what the JSON file holds."""
    scale = QUICK if quick else FULL
    train, test = (load_rows(data, "conll2000", split)[: scale.sentences] for split in ("train", "test"))
    parts = (*last_tenth(train), test)
    less = f"{scale.sentences} sentences, fewer passes and beams"
    with reporting("Daumé & Marcu (2005)", out or Path("results/daume2005"), quick, less) as report:
        compare(SEGMENTS, scale.segment_beams, scale.passes, parts, report)
        joint = compare(JOINT, scale.joint_beams, scale.passes, parts, report)
        cross(joint, scale.joint_beams, test, report)
        check_theorem(parts[0][: scale.theorem_sentences], scale.theorem_passes, report)
    return report.content
