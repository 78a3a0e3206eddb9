"""Pages of the documentation as notebooks: `python tools/notebooks.py` writes examples/notebooks anew.

Their blocks of code and commands become cells, with what they printed; a cell of commands begins each line with `!`.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers import ROOT
from pages import RUNS, Block, Reader, blocks, pieces

FOLDER = ROOT / "examples" / "notebooks"
NOTEBOOKS = {
    "1-tutorial": ROOT / "docs" / "tutorial.md",
    "2-your-own-problem": ROOT / "docs" / "cookbook" / "own-problem.md",
    "3-updates-under-a-beam": ROOT / "docs" / "lesson-beam.md",
    "4-writing-an-update-rule": ROOT / "docs" / "update-rule.md",
    "5-active-learning": ROOT / "docs" / "cookbook" / "active-learning.md",
}
"""Pages that need no files but those that they make."""


def notebook(page: Path, printed: dict[int, str]) -> dict:
    """A page as a notebook; printed: what the block of a line printed."""
    text, place, cells = page.read_text(encoding="utf-8"), 0, []
    run = {block.line: block for block in blocks(page) if block.kind in RUNS and block.reason is None}
    for begin, end, *_ in pieces(text):
        block = run.get(text.count("\n", 0, begin) + 1)
        if begin < place or block is None:
            continue
        cells += _prose(page, text[place:begin])
        cells.append(_code(block, printed.get(block.line, "")))
        place = end
        if block.output is not None:  # it stands below the cell
            place = next(stop for start, stop, *_ in pieces(text) if start >= end)
    cells += _prose(page, text[place:])
    for k, cell in enumerate(cells):
        cell["id"] = f"cell-{k:03}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    head = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": head, "nbformat": 4, "nbformat_minor": 5}


def _prose(page: Path, text: str) -> list[dict]:
    """Text between cells; links lead from the folder of the notebooks."""

    def moved(link: re.Match) -> str:
        if re.match(r"[a-z]+:|#", link[1]):
            return link[0]
        path, mark, place = link[1].partition("#")
        return f"]({Path(os.path.relpath(page.parent / path, FOLDER)).as_posix()}{mark}{place})"

    text = re.sub(r"\]\(([^)\s]+)\)", moved, re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)).strip()
    return [{"cell_type": "markdown", "metadata": {}, "source": _lines(text)}] if text else []


def _code(block: Block, printed: str) -> dict:
    text = block.text.rstrip("\n")
    if block.kind == "sh":
        text = re.sub(r"^(?=[^#\s])", "!", re.sub(r"\\\n\s*", " ", text), flags=re.MULTILINE)
    outputs = [{"name": "stdout", "output_type": "stream", "text": _lines(printed)}] if printed else []
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": outputs,
        "source": _lines(text),
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    os.environ.setdefault("STRUCTRON_CHECK", "0")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(Path(folder), filled=False)
        for name, page in NOTEBOOKS.items():
            printed = {block.line: out for block, out in reader.run(page)}
            text = json.dumps(notebook(page, printed), indent=1, ensure_ascii=False) + "\n"
            (FOLDER / f"{name}.ipynb").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
