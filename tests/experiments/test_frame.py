"""What all experiments share: tables, reports, figures, statistics, and what is read off a training."""

import json
import sys

import numpy as np
import pytest

from structron.data.toy_english import toy_english, write_conllu
from structron.errors import StructronError
from structron.experiments.frame import (
    Line,
    Report,
    Table,
    Trial,
    draw_grid,
    draw_lines,
    has,
    invalid_share,
    last_tenth,
    load_rows,
    reporting,
    sign_flip_test,
)

PNG = b"\x89PNG\r\n"


# -- tables and reports --------------------------------------------------------------------------------------------


def test_table_lines_up():
    table = Table("Title", ("Method", "paper", "ours"), notes=["a note"])
    table.add("a", 93.5)
    table.add("longer", paper=(3, 100.0))
    lines = ["Title", "  Method  paper    ours", "  a       93.50       –", "  longer      3  100.00", "  a note"]
    assert str(table).splitlines() == lines


def test_a_table_of_a_papers_file():
    entry = {"title": "{corpus} (Table 1)", "columns": ["Method", "ours", "paper"], "notes": ["of {corpus}"]}
    table = Table.of(entry | {"figures": {"a": [93.5]}}, corpus="toys")
    table.add("a", 1)
    table.add("b", 2)
    assert (table.title, table.notes, table.rows) == ("toys (Table 1)", ["of toys"], [("a", 1, 93.5), ("b", 2, None)])


def test_a_report_ends_with_its_targets(tmp_path, capsys):
    with reporting("Nobody (1999)", tmp_path / "new", True, "two sentences") as report:
        report.content["figure"] = 1
        report.show(Table("Title", ("Method",)))
        report.target("at least {least}", "3", True, least=2)
        report.target("at least 4", "3", False)
    out, err = capsys.readouterr()
    lines = ["target at least 2: measured 3: met", "target at least 4: measured 3: not met"]
    assert out.splitlines()[-2:] == lines
    assert "quick: two sentences" in err
    assert "the targets are meant for the whole run" in err
    assert (tmp_path / "new" / "tables.txt").read_text().splitlines()[-2:] == lines
    results = json.loads((tmp_path / "new" / "results.json").read_text())
    assert results == report.content
    assert results | {"paper": "Nobody (1999)", "quick": True, "finished": True, "figure": 1} == results


def test_an_interrupt_keeps_what_was_done(tmp_path, capsys):
    def work() -> None:
        with reporting("Nobody (1999)", tmp_path, False, "") as report:
            report.content["done"] = 1
            report.show(Table("Title", ("Method",)))
            report.content["lost"] = 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert f"interrupted: what was done is in {tmp_path}" in capsys.readouterr().err
    results = json.loads((tmp_path / "results.json").read_text())
    assert (results["finished"], results["done"], "lost" in results) == (False, 1, False)
    assert "Title" in (tmp_path / "tables.txt").read_text()


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StructronError, match="cannot make the folder"):
        reporting("", tmp_path / "file" / "o", False, "").__enter__()


# -- figures -------------------------------------------------------------------------------------------------------

LINES = [Line("a", range(1, 4), [3.0, 1.0, 2.0]), Line("b", range(1, 4), [3.0, 1.0, 2.0], min, 2.0)]


@pytest.mark.parametrize(
    ("draw", "given"),
    [
        (draw_lines, ("Title", "x", "y", LINES)),
        (draw_lines, ("Title", "x", "y", LINES[:1], 0.0)),
        (draw_grid, ("Title", "x", "y", (1, 5), [[94.0, 92.0], [90.0, 94.5]], "F1")),
    ],
    ids=["lines", "one-line", "grid"],
)
def test_figures_are_drawn_where_that_is_possible(draw, given, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    report = Report(tmp_path)
    report.figure("a.png", draw, *given)
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    report.figure("b.png", draw, *given)
    assert "no figure b.png: this needs matplotlib" in capsys.readouterr().err
    assert report.files[2:] == ["a.png"]
    with pytest.raises(StructronError, match=r"structron\[plot\]"):
        draw(tmp_path / "b.png", *given)


# -- corpora and trainings -----------------------------------------------------------------------------------------


def test_rows_have_the_named_columns_of_conllu(tmp_path):
    sentences = toy_english(20, seed=5)
    (tmp_path / "toy").mkdir()
    write_conllu(tmp_path / "toy" / "dev.conllu", sentences)
    rows = load_rows(tmp_path, "toy", "dev", ("form", "xpos"))
    assert rows == [[list(pair) for pair in zip(s.words, s.pos, strict=True)] for s in sentences]
    assert last_tenth(rows) == (rows[:18], rows[18:])
    assert has(tmp_path, "toy", "dev")
    assert not has(tmp_path, "toy", "test")


def made(dev: list[float], seconds: list[float], invalid: list[int]) -> Trial:
    """Ten updates a pass."""
    figures = zip(dev, seconds, invalid, strict=True)
    return Trial("standard", 8, [{"dev": d, "seconds": s, "updates": 10, "invalid": k} for d, s, k in figures])


def test_best_pass_time_and_invalid_shares():
    trial = made([80.0, 82.5, 82.5, 81.0], [1.0, 2.0, 4.0, 8.0], [1, 2, 3, 4])
    assert (trial.best, trial.best_pass, trial.best_seconds) == (82.5, 2, 3.0)
    assert (trial.seconds(1), trial.seconds()) == (1.0, 15.0)
    assert (trial.first_pass(80.0), trial.first_pass(82.6)) == (1, None)
    assert invalid_share(trial.history) == 25.0
    assert trial.late_invalid == 40.0
    assert made([80.0] * 6, [1.0] * 6, [9, 9, 9, 9, 1, 3]).late_invalid == 20.0


def test_exact_search_and_passes_without_updates_have_no_invalid_updates():
    trial = Trial("standard", None, [{"dev": 1.0, "seconds": 1.0, "updates": 5}])
    assert trial.late_invalid == 0.0
    assert trial.as_dict()["beam"] == "inf"
    converged = Trial("early", 1, [{"dev": 1.0, "seconds": 1.0, "updates": 0, "invalid": 0}])
    assert converged.late_invalid == 0.0


# -- significance --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("differences", "p"),
    [([1, 1, 1], 2 / 8), ([1, 2, -1], 6 / 8), ([0, 0], 1), ([], 1), ([0.1] * 10, 2 / 1024), ([3.0], 1)],
    ids=["same-sign", "mixed", "zero", "none", "ten", "one"],
)
def test_sign_flips_by_hand(differences, p):
    """1, 2, -1: the sums are ±4, ±2 twice and 0 twice, of which six are at least as far from 0 as 2."""
    assert sign_flip_test(differences) == pytest.approx(p)


def test_many_differences_are_drawn():
    """Zeros change nothing but that assignments are drawn: p is about that of all assignments of the others."""
    values = np.random.default_rng(0).normal(0.3, 1, 16)
    assert sign_flip_test([*values, *[0.0] * 4]) == pytest.approx(sign_flip_test(values), abs=0.01)
