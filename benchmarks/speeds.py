"""The table of speeds in the documentation, from what runs of the benchmark found.

    python -m benchmarks.speeds [results/bench.json …]      takes over the rows of these runs, then writes the table

results/speed.json keeps the last figures of every row, with version, processor and load of the run that they are from,
so that parts can be measured one at a time. A test compares the page with it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import number

ROOT = Path(__file__).resolve().parent.parent
KEPT, PAGE = ROOT / "results" / "speed.json", ROOT / "docs" / "speed.md"
BEGIN, END = "<!-- speeds: python -m benchmarks.speeds -->\n", "<!-- end of speeds -->\n"
TITLES = {
    "pass": "a pass over CoNLL-2000",
    "file_to_model": "CoNLL-2000, from file to saved model, 10 passes, `--runs 1`",
    "default_runs": "… with the defaults of `train`: four runs",
    "peak": "… peak memory, `--runs 1`",
    "size": "… model file",
    "predict": "chunking, from tokens to labels",
    "predict_file": "… from file to file, start-up and all",
    "segments_training_cpu": "CoNLL-2000 by segments, training, processor time",
    "segments_predict": "… from tokens to labels",
    "joint_training_cpu": "tags and chunks together, training, processor time",
    "joint_predict": "… from tokens to labels",
    "tag_fit": "EWT XPOS, training, NLTK 5 passes, ours 10 (order 1, one run)",
    "tag_predict": "EWT XPOS, from tokens to labels",
    "entities_training": "Dutch entities, rows to model, local features alone, 12 passes",
    "recogniser_training": "… the recogniser's defaults",
    "recogniser_predict": "… from tokens to labels",
    "sentences_training": "… with every sentence a document of its own, rows to model",
    "ud-hungarian-szeged_UDPipe_structron": "Hungarian, from raw text to trees",
    "ud-hungarian-szeged_UDPipe_structron --fast": "… with `train pipeline --fast`",
    "tutorial": "sklearn-crfsuite's tutorial on Dutch, dicts to model",
    "predict_one": "start: `predict` of one sentence beside `import numba`",
}
"""Rows that the page shows, in its order, if they were ever measured."""


def rows_of(run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is kept of a run's rows."""
    if run["quick"]:
        raise ValueError("a quick run: its figures are of few passes; expected a full one")
    machine = run["environment"]
    said = {"version": machine["versions"].get("structron"), "load": machine["load"], "repeat": run["repeat"]}
    kept = ("unit", "peer", "theirs", "ours", "ratio")
    return {row["key"]: {name: row[name] for name in kept} | said for row in run["rows"]}


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The table in Markdown."""
    lines = ["| measure | peer | structron | ratio |", "| --- | --- | --- | --- |"]
    for key, title in TITLES.items():
        if key in rows:
            row = rows[key]
            theirs, ours = (f"{number(float(f'{row[side]:.3g}'))} {row['unit']}" for side in ("theirs", "ours"))
            lines.append(f"| {title} | {row['peer']} {theirs} | {ours} | {row['ratio']:.2f} |")
    return "\n".join(lines) + "\n"


def written(text: str, rows: dict[str, dict[str, Any]]) -> str:
    """A text with the table in its place."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no place for the table; expected {BEGIN.strip()} and {END.strip()}")
    return f"{before}{begin}\n{table(rows)}\n{end}{after}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speeds", description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path, metavar="FILE", help="what runs of the benchmark wrote")
    given = parser.parse_args(argv)
    rows = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    try:
        for path in given.runs:
            rows |= rows_of(json.loads(path.read_text(encoding="utf-8")))
        text = written(PAGE.read_text(encoding="utf-8"), rows)
    except (OSError, ValueError, KeyError) as problem:
        print(f"benchmarks.speeds: {problem}", file=sys.stderr)
        return 2
    KEPT.write_text(json.dumps(rows, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
