"""Huang, Fayong & Guo (2012): updates that fix violations, under search that is not exact.

Tables 1 to 3 beside the paper's, Figures 4 to 6 as PNG, the endless loop of Figure 1, and at the end the targets with
what was measured. Tagging and parsing are in modules of their own.
"""

from pathlib import Path
from typing import Any

from structron.errors import StructronError
from structron.experiments.common import make_folder, need, say, write_json
from structron.experiments.huang2012_figures import draw_beams, draw_invalid, draw_progress
from structron.experiments.huang2012_loop import loop_table
from structron.experiments.huang2012_parsing import BEAM, EWT, WSJ, Parsing, parsing_tables
from structron.experiments.huang2012_scale import Scale
from structron.experiments.huang2012_tagging import Tagging, tagging_tables
from structron.experiments.runs import Report, Run
from structron.io import atomic_write_bytes

RESULTS = Path("results/huang2012")

FULL = Scale(
    sentences=None,
    dev_sentences=None,
    tagging_beams=(1, 2, 4, 7, 10),
    tagging_passes=(6, 6),
    parsing_beams=(1, 2, 4, 8),
    parsing_passes={WSJ: (30, 12, 8), EWT: (16, 6, 3)},
    unmerged_beams={WSJ: (8,), EWT: ()},
)
QUICK = Scale(
    sentences=800,
    dev_sentences=300,
    tagging_beams=(1, 4),
    tagging_passes=(4, 4),
    parsing_beams=(1, 8),
    parsing_passes={WSJ: (10, 5, 5), EWT: (10, 5, 5)},
    unmerged_beams={WSJ: (8,), EWT: ()},
    tagging_sentences=2000,
)


def run(data: Path, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write them, `results.json` and the figures to `out`; return what the JSON file holds."""
    scale, report = QUICK if quick else FULL, Report()
    tagging = Tagging.load(data, scale)
    banks = [Parsing.load(data, corpus, scale) for corpus in scale.parsing_passes]
    folder = make_folder(out or RESULTS)
    if quick:
        say(f"quick: {scale.tagging_sentences} sentences for tagging, {scale.sentences} for parsing, fewer passes")
    table, loop = loop_table()
    report.show(table)
    tagged = tagging.runs(scale)
    tagging_tables(tagged, report)
    for bank in banks:
        bank.run_all(scale)
        parsing_tables(bank, report)
    results = {
        "paper": "Huang, Fayong & Guo (2012)",
        "quick": quick,
        "figure1": loop,
        "tagging": [run.as_dict() for run in tagged],
        "parsing": {bank.corpus: [run.as_dict() for run in bank.runs] for bank in banks},
        "targets": report.targets,
    }
    write_json(folder / "results.json", results)
    atomic_write_bytes(folder / "tables.txt", report.text().encode())
    figures(folder, tagged, banks)
    if quick:
        say("quick: the targets are meant for the whole run; fewer sentences and passes change what is measured")
    print("\n".join(report.target_lines()), flush=True)
    return results


def figures(folder: Path, tagged: list[Run], banks: list[Parsing]) -> None:
    """Figures 4 to 6; without matplotlib there are the tables alone, and a line that says so."""
    try:
        need("matplotlib", "plot")
    except StructronError as error:
        say(f"results.json and tables.txt are in {folder}; no figures: {error}")
        return
    draw_beams(folder / "figure4-tagging.png", tagged)
    draw_invalid(folder / "figure5-tagging.png", "Tagging: invalid updates (Figure 5)", tagged)
    for bank in banks:
        name = bank.corpus
        title = f"Parsing {name}: invalid updates (Figure 5)"
        draw_invalid(folder / f"figure5-{name}.png", title, bank.standard())
        title = f"Parsing {name}, beam {BEAM}: progress (Figure 6)"
        draw_progress(folder / f"figure6-{name}.png", title, bank.at_beam())
    say(f"results.json, tables.txt and figures are in {folder}")
