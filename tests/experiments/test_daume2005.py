"""The experiment of Daumé & Marcu (2005): its trials, its grid, its theorem."""

import numpy as np
import pytest

from structron.data.toy_english import toy_english
from structron.evaluate import chunk_scores
from structron.experiments.daume2005 import tasks
from structron.experiments.daume2005.tasks import EARLY, JOINT, LASO_A, LASO_P, PAPER, STANDARD
from structron.experiments.daume2005.theorem import bound, check_theorem, make_learner, margin_of
from structron.experiments.frame import Report, Trial, learn_once
from structron.update import alma


def test_every_method_is_tried_at_every_beam(run):
    results = run("daume2005").results
    assert [(t["method"], t["beam"]) for t in results["segments"]] == [
        ("perceptron", "inf"),
        *((method, beam) for method in (LASO_P, LASO_A) for beam in (1, 5, "inf")),
        *((EARLY, 5), (STANDARD, 5)),
    ]
    assert [(t["method"], t["beam"]) for t in results["joint"]] == [
        *((method, beam) for method in (LASO_P, LASO_A) for beam in (1, 10)),
        *((EARLY, 10), (STANDARD, 10)),
    ]
    assert np.shape(results["grid"]) == (2, 2)
    diagonal = {t["beam"]: t["test"] for t in results["joint"] if t["method"] == LASO_A}
    assert [results["grid"][k][k] for k in range(2)] == [diagonal[1], diagonal[10]]


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
    tasks.diagonal_target((1, 5), figures, report)
    assert [target["met"] for target in report.targets] == [met]


def test_the_papers_tables_agree_with_each_other():
    assert PAPER["grid"]["figures"]["1"][0] == PAPER["joint"]["figures"]["LaSO-A 1"][-1]


# -- Theorem 4 -----------------------------------------------------------------------------------------------------


def test_the_bound_is_the_papers():
    """15 932 corrections, margin 1.299e-2: at most 17 724 (17 711 from the rounded margin)."""
    assert bound(1.299e-2) == pytest.approx(17724, rel=1e-3)
    assert bound(0.5, 1.0) == pytest.approx(2 / 0.25 + 4)


def rows(count: int) -> list:
    return [[list(row) for row in zip(s.words, s.pos, s.chunks, strict=True)] for s in toy_english(count, 9)]


def test_the_margin_is_where_mistakes_begin():
    learner = make_learner(rows(8))
    while learn_once(learner)["updates"]:
        pass
    before = learner.pace.copy()
    margin = margin_of(learner)
    assert 0 < margin < 1
    assert (learner.pace == before).all()
    for lowered, wrong in ((0.999 * margin, False), (1.001 * margin, True)):
        learner.pace[alma.ALPHA], learner.pace[alma.B] = 0.5, 2 * lowered
        learner.pace[alma.C], learner.pace[alma.GENERATION] = 0.0, 1.0
        assert bool(learn_once(learner)["updates"]) == wrong
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
        assert "Not separated after 1 passes" in str(report.tables[0])
    else:
        assert found["left"] == 0
        assert 0 < found["corrections"] <= found["safe_bound"]
        assert report.targets[0]["met"]
