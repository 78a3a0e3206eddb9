"""The experiment of Daumé & Marcu (2005): its tables, its grid, its theorem, what it prints and writes."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from structron.data.toy_english import toy_english, write_conll
from structron.evaluate import chunk_scores
from structron.experiments import daume2005
from structron.experiments.daume2005 import grid, tasks
from structron.experiments.daume2005.tasks import EARLY, JOINT, LASO_A, LASO_P, SEGMENTS, STANDARD
from structron.experiments.daume2005.theorem import bound, check_theorem, make_learner, margin_of, one_pass
from structron.experiments.frame import Report, Trial
from structron.update import alma

TINY = daume2005.Scale(60, (1, 5, None), (1, 10), (2, 2), 12, 60)


@pytest.fixture(scope="module")
def toy_corpora(tmp_path_factory) -> Path:
    """Toy English where the experiment looks for CoNLL-2000."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "conll2000").mkdir()
    sentences = toy_english(100, 4)
    for split, part in (("train", sentences[:60]), ("test", sentences[60:])):
        write_conll(folder / "conll2000" / f"{split}.conll", part)
    return folder


def test_the_whole_experiment_on_toy_data(toy_corpora, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(daume2005, "QUICK", TINY)
    results = daume2005.run(toy_corpora, quick=True, out=tmp_path / "out")
    shown = capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == json.loads(json.dumps(results))
    assert {(t["method"], t["beam"]) for t in results["segments"]} == {
        ("perceptron", "inf"),
        *((method, beam) for method in (LASO_P, LASO_A) for beam in (1, 5, "inf")),
        (EARLY, 5),
        (STANDARD, 5),
    }
    assert {(t["method"], t["beam"]) for t in results["joint"]} == {
        *((method, beam) for method in (LASO_P, LASO_A) for beam in (1, 10)),
        (EARLY, 10),
        (STANDARD, 10),
    }
    assert np.shape(results["grid"]) == (2, 2)
    diagonal = {t["beam"]: t["test"] for t in results["joint"] if t["method"] == LASO_A}
    assert [results["grid"][k][k] for k in range(2)] == [diagonal[1], diagonal[10]]
    for text in ("Table 1", "Table 2", "Table 3", "Theorem 4", "target segments, ALMA, beam 5"):
        assert text in shown
    assert "Table 3" in (tmp_path / "out" / "tables.txt").read_text()
    if "matplotlib" in sys.modules:
        assert (tmp_path / "out" / "table3.png").read_bytes().startswith(b"\x89PNG")


def made(method: str, beam: int, f1: float) -> Trial:
    scores = chunk_scores([["B-X"] * 100], [["B-X"] * round(f1) + ["O"] * (100 - round(f1))])
    history = [{"dev": f1, "seconds": 125.7, "updates": 1}]
    return Trial(method, beam, history, test=f1, scores=scores, test_seconds=1.0)


@pytest.mark.parametrize(("f1", "met"), [((95, 94, 93, 92), True), ((94, 95, 93, 92), False)])
def test_targets_of_a_task(f1, met):
    """ALMA's score and time, and the order of methods."""
    report = Report()
    methods = (LASO_A, LASO_P, EARLY, STANDARD)
    tasks.targets(JOINT, {(m, 10): made(m, 10, f) for m, f in zip(methods, f1, strict=True)}, report)
    score = made(LASO_A, 10, f1[0]).scores.f1
    assert [target["met"] for target in report.targets] == [score >= 93.8, True, met]
    assert report.targets[1]["measured"] == "2:05"
    tasks.targets(JOINT, {}, report)
    assert len(report.targets) == 3


@pytest.mark.parametrize(
    ("figures", "met"), [([[94.0, 92.0], [90.0, 94.5]], True), ([[94.0, 94.1], [90.0, 94.5]], False)]
)
def test_the_diagonal(figures, met):
    report = Report()
    grid.diagonal_target((1, 5), figures, report)
    assert [target["met"] for target in report.targets] == [met]


def test_tables_name_the_papers_figures():
    assert "94.40" in tasks.table_of(SEGMENTS, {(LASO_A, 5): made(LASO_A, 5, 94)}).plain()
    assert tasks.table_of(JOINT, {}).rows == []
    assert grid.PAPER[0][0] == JOINT.paper[LASO_A, 1][-1]


# -- Theorem 4 -----------------------------------------------------------------------------------------------------


def test_the_bound_is_the_papers():
    """15 932 corrections, margin 1.299e-2: at most 17 724 (17 711 from the rounded margin)."""
    assert bound(1.299e-2) == pytest.approx(17724, rel=1e-3)
    assert bound(0.5, 1.0) == pytest.approx(2 / 0.25 + 4)


def rows(count: int) -> list:
    return [[list(row) for row in zip(s.words, s.pos, s.chunks, strict=True)] for s in toy_english(count, 9)]


def test_the_margin_is_where_mistakes_begin():
    learner = make_learner(rows(8))
    while one_pass(learner):
        pass
    before = learner.pace.copy()
    margin = margin_of(learner)
    assert 0 < margin < 1
    assert (learner.pace == before).all()
    for lowered, wrong in ((0.999 * margin, False), (1.001 * margin, True)):
        learner.pace[alma.ALPHA], learner.pace[alma.B] = 0.5, 2 * lowered
        learner.pace[alma.C], learner.pace[alma.GENERATION] = 0.0, 1.0
        assert bool(one_pass(learner)) == wrong
        learner.pace[:] = before


@pytest.mark.parametrize("passes", [300, 1], ids=["separated", "not-separated"])
def test_corrections_stay_below_the_bound(passes):
    report = Report()
    check_theorem(rows(10), passes, report)
    found = report.content["theorem4"]
    if passes == 1:
        assert found["left"] > 0
        assert "margin" not in found
        assert not report.targets
        assert "Not separated after 1 passes" in report.tables[0].plain()
    else:
        assert found["left"] == 0
        assert 0 < found["corrections"] <= found["safe_bound"]
        assert report.targets[0]["met"]
