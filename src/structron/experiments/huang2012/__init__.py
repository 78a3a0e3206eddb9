"""Huang, Fayong & Guo (2012): updates that fix violations, under search that is not exact.

Tables 1 to 3 beside the paper's, Figures 4 to 6 as PNG, the endless loop of Figure 1, and at the end the targets with
what was measured.
"""

from pathlib import Path
from typing import Any

from structron.experiments.frame import reporting
from structron.experiments.huang2012 import parsing, tagging
from structron.experiments.huang2012.loop import show_loop
from structron.experiments.huang2012.methods import EWT, WSJ, Scale

FULL = Scale()
QUICK = Scale(
    sentences=800,
    dev_sentences=300,
    tagging_sentences=2000,
    tagging_beams=(1, 4),
    tagging_passes=(4, 4),
    parsing_beams=(1, 8),
    parsing_passes={WSJ: (10, 5, 5), EWT: (10, 5, 5)},
)


def run(data: Path, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write them, `results.json` and the figures to `out`; return what the JSON file holds."""
    scale = QUICK if quick else FULL
    tagged = tagging.load(data, scale)
    banks = {corpus: parsing.load(data, corpus, scale) for corpus in scale.parsing_passes}
    less = f"{scale.tagging_sentences} sentences for tagging, {scale.sentences} for parsing, fewer passes"
    with reporting("Huang, Fayong & Guo (2012)", out or Path("results/huang2012"), quick, less) as report:
        report.content["parsing"] = {}
        show_loop(report)
        tagging.show_tagging(tagging.attempt_all(tagged, scale), report)
        for corpus, parts in banks.items():
            parsing.show_parsing(corpus, parsing.attempt_all(corpus, parts, scale), report)
    return report.content
