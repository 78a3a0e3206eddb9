"""What the experiments of all papers do: ask for corpora first, print their tables and targets, and write them."""

import json
import re

import pytest

from structron.cli import experiment
from structron.errors import StructronError
from structron.experiments.frame import paper_of

PAPERS = ["collins2002", "daume2005", "dror2016", "huang2012", "kazama2007"]
PNG = b"\x89PNG\r\n"


def test_every_paper_is_found_and_nothing_else():
    assert experiment.papers() == PAPERS


@pytest.mark.parametrize("paper", [paper for paper in PAPERS if paper != "dror2016"])
def test_papers_about_corpora_ask_for_them_before_any_work(paper, tmp_path, monkeypatch):
    monkeypatch.delenv("STRUCTRON_DATA", raising=False)
    with pytest.raises(StructronError, match=f"{paper} needs real corpora"):
        experiment.run(paper)
    with pytest.raises(StructronError, match=r"no corpus|none of conll2002-dutch"):
        experiment.run(paper, tmp_path, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def entries(found: dict) -> list[dict]:
    """The tables of a `paper.toml`."""
    inner = [entry for value in found.values() if isinstance(value, dict) for entry in entries(value)]
    return [found, *inner] if "title" in found else inner


def pattern(text: str) -> str:
    """Of a text with names in it."""
    return re.sub(r"\\\{.*?\\\}", ".+", re.escape(text))


@pytest.mark.parametrize("paper", PAPERS)
def test_tables_stand_beside_the_papers(paper, run):
    """Every table of the paper's file, with all its notes, and in each row the paper's figures if it has some."""
    blocks = run(paper).printed.split("\n\n")
    for entry in entries(paper_of(paper)):
        found = [block for block in blocks if re.match(pattern(entry["title"]), block)]
        assert found
        for block in found:
            assert all(re.search(pattern(note), block) for note in entry.get("notes", ()))
            rows = {line.strip().partition("  ")[0]: line for line in block.splitlines()}
            for name in entry.get("figures", {}).keys() & rows.keys() if len(entry["columns"]) > 1 else ():
                cells = [f"{value:.2f}" if isinstance(value, float) else str(value) for value in entry["figures"][name]]
                assert all(cell in rows[name] for cell in cells)


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_printed_and_written(paper, run):
    found = run(paper)
    lines = [line for line in found.printed.splitlines() if line.startswith("target ")]
    assert all(line.endswith((": met", ": not met")) for line in lines)
    assert len(lines) == len(found.results["targets"])
    assert (found.folder / "tables.txt").read_text().split() == found.printed.split()
    written = json.loads((found.folder / "results.json").read_text())
    assert written == json.loads(json.dumps(found.results))
    assert written["finished"]
    assert written["quick"]
    pictures = list(found.folder.glob("*.png"))
    assert all(path.read_bytes().startswith(PNG) for path in pictures)
    assert all(path.name in found.said for path in pictures)


@pytest.mark.parametrize(
    ("paper", "pictures"),
    [
        ("collins2002", {"np-curves", "pos-curves"}),
        ("daume2005", {"table3"}),
        (
            "huang2012",
            {"figure4-tagging", "figure5-tagging"}
            | {f"figure{k}-{corpus}" for k in (5, 6) for corpus in ("wsj-sample-dep", "ud-english-ewt")},
        ),
    ],
)
def test_figures_are_drawn(paper, pictures, run):
    pytest.importorskip("matplotlib")
    assert {path.stem for path in run(paper).folder.glob("*.png")} == pictures
