"""The experiment of Dror & Reichart (2016): its features, its choices, its test of significance, what it writes."""

import json
from collections import Counter

import numpy as np
import pytest

import structron
from structron.cli import experiment
from structron.data.hmm import SETUPS, dataset
from structron.experiments import dror2016
from structron.experiments.dror2016_choice import AVERAGED, CONTROL, CSP, Scores, spelled
from structron.experiments.dror2016_parsing import CORPORA, ParsingScale
from structron.experiments.dror2016_stats import sign_flip_test
from structron.experiments.dror2016_synthetic import (
    COLUMNS,
    POSTERIOR,
    TEMPLATES,
    Bench,
    Outcome,
    ceiling,
    rows_of,
    try_all,
)
from structron.experiments.dror2016_tables import (
    ORDER,
    PAPER,
    best_variant,
    comparison,
    paper_gain,
    summaries,
    table_of,
)
from structron.experiments.runs import Report
from structron.search.chain.scores import score_difference
from structron.update.perceptron import add_difference
from structron.update.swvp import VARIANTS, Swvp

NAMES = list(SETUPS)
ITEMS = {"train": 80, "dev": 30, "test": 30}
TINY = dror2016.Scale(2, (1.0, 2.0), 1, ITEMS, ParsingScale(100, 50, 50, {1: (1.0,), 2: (1.0,)}, 1))


def definition(x: list[int], y: list[int]) -> Counter:
    """Section 6: indicators {x_i, y_i, y_(i-1), (x_i, y_i), (y_i, y_(i-1)), (x_i, y_i, y_(i-1))}, summed over i."""
    found: Counter = Counter()
    for i, (symbol, state) in enumerate(zip(x, y, strict=True)):
        before = y[i - 1] if i else None
        found.update(
            [
                ("x", symbol),
                ("y", state),
                ("y'", before),
                ("xy", symbol, state),
                ("yy'", state, before),
                ("xyy'", symbol, state, before),
            ]
        )
    return found


def minus(a: Counter, b: Counter) -> Counter:
    found = Counter(a)
    found.subtract(b)
    return found


@pytest.mark.parametrize("setup", NAMES)
def test_features_are_the_papers(setup):
    """ΔΦ(y, z)·ΔΦ(y, z') by the kernels and by the definition, for random z and z'."""
    data, rng = dataset(setup, 0), np.random.default_rng(1)
    bench = Bench(data, ITEMS)
    states = len(data.hmm.initial)
    assert bench.learner.labels == [f"y{k}" for k in range(states)]
    for s in range(5):
        x, y = data.train[0][s].tolist(), data.train[1][s]
        z, other = rng.integers(states, size=(2, 8))
        learner = bench.learner.twin()
        weights, start = learner.weights(), int(learner.chains.starts[s])
        where = (learner.chains, weights, 1)
        add_difference(*where, start, 8, y.astype(np.int64), z, 1.0, 1, states, learner.work)
        found = score_difference(*where, s, s + 1, y.astype(np.int64), other, states)
        a, b = (minus(definition(x, y.tolist()), definition(x, labels.tolist())) for labels in (z, other))
        assert found == sum(a[name] * b[name] for name in a)


@pytest.mark.parametrize("average", ["none", "mean"])
@pytest.mark.parametrize("swvp", [None, "b-wm"])
def test_scores_are_those_of_a_labeller(swvp, average):
    data = dataset(NAMES[0], 1)
    train, dev, test = (
        rows_of(tuple(array[: ITEMS[part]] for array in getattr(data, part))) for part in ("train", "dev", "test")
    )
    options = {"order": 1, "runs": 1, "cutoff": 0, "average": average, "passes": 3, "columns": COLUMNS}
    labeler = structron.Tagger(templates=list(TEMPLATES), swvp=swvp, beta=2.0, **options).fit(train)
    bench = Bench(data, ITEMS)
    learner = bench.trained(Swvp(swvp, 2.0) if swvp else None, 3)
    scores = bench.scores(learner, average == "mean")
    assert scores.dev == pytest.approx(labeler.score(dev))
    assert scores.test == pytest.approx(labeler.score(test))


def test_everything_is_tried_on_a_data_set():
    outcome = try_all(NAMES[1], 0, 2, (0.5, 3.0), ITEMS)
    assert outcome.variants.keys() == {CONTROL, *VARIANTS, *(f"{name} averaged" for name in VARIANTS)}
    assert all(set(found) == {0.5, 3.0} for name, found in outcome.variants.items() if name != CONTROL)
    assert outcome.variants[CONTROL][1] == outcome.plain[CSP]
    assert outcome.plain[POSTERIOR] == ceiling(dataset(NAMES[1], 0), ITEMS)
    assert outcome == try_all(NAMES[1], 0, 2, (0.5, 3.0), ITEMS)
    assert json.loads(json.dumps(outcome.as_dict()))["b-wm"].keys() == {"0.5", "3"}


# -- choices -------------------------------------------------------------------------------------------------------


def made(variant: dict[float, tuple[float, float]], csp: tuple[float, float] = (70, 70), number: int = 0) -> Outcome:
    """All variants alike, all averages too."""
    scores = {beta: Scores(*pair) for beta, pair in variant.items()}
    names = [*VARIANTS, *(f"{name} averaged" for name in VARIANTS)]
    plain = {POSTERIOR: Scores(90, 91), CSP: Scores(*csp), AVERAGED: Scores(*csp)}
    control = {1: Scores(*csp), 2: Scores(csp[0] + 1, csp[1] + 2)}
    variants = {CONTROL: control, **dict.fromkeys(names, scores)}
    return Outcome(NAMES[0], number, plain=plain, variants=variants)


def test_beta_is_chosen_on_dev_data():
    outcome = made({0.5: (71, 80), 1.0: (72, 60), 2.0: (72, 75)})
    assert outcome.chosen("a-wm") == 1.0
    assert outcome.scores_of("a-wm") == Scores(72, 60)
    assert outcome.scores_of(POSTERIOR).test == 91
    assert outcome.scores_of(CONTROL) == Scores(71, 72)


@pytest.mark.parametrize(
    ("variant", "generalises", "misleads"),
    [
        ({0.5: (72, 75), 1.0: (71, 74)}, True, False),
        ({0.5: (72, 75), 1.0: (71, 75.5)}, True, False),
        ({0.5: (72, 75), 1.0: (71, 75.6)}, False, False),
        ({0.5: (72, 70), 1.0: (71, 69)}, True, True),
        ({0.5: (69, 68), 1.0: (68, 72)}, False, False),
    ],
    ids=["best", "nearly", "not", "misled", "behind-on-dev"],
)
def test_generalisation(variant, generalises, misleads):
    outcome = made(variant)
    assert outcome.generalises("b-wm", 0.5) == generalises
    assert outcome.misleads("b-wm") == misleads


def test_a_table_and_its_figures():
    outcomes = [made({1.0: (72, 74)}, number=0), made({1.0: (73, 71)}, (70, 72), 1)]
    rows = summaries(outcomes)
    first, csp = rows[0], next(row for row in rows if row["method"] == CSP)
    assert (first["method"], first["test"], first["gain"], first["wins"]) == ("b-wm", 72.5, 1.5, 1)
    assert first["std"] == pytest.approx(np.sqrt(4.5))
    assert first["control_gain"] == -0.5
    assert (first["generalises"], first["misled"]) == (2, 1)
    assert "gain" not in csp
    text = table_of(NAMES[0], rows, 2).plain()
    for shown in ("B-WM", "B-WM averaged", "75.47", "9/10", "72.24", "+1.50", "1/2", "posterior"):
        assert shown in text
    assert len(table_of(NAMES[0], rows, 2).rows) == 12


def test_the_papers_own_gains():
    assert [round(paper_gain(setup), 2) for setup in SETUPS] == [3.72, 5.29, 5.18]
    assert {name for setup in PAPER.values() for name in setup} == {*ORDER, CSP}
    assert [spelled(name) for name in ("a-wmr", "a-wmr averaged", AVERAGED)] == ["A-WMR", "A-WMR averaged", AVERAGED]


@pytest.mark.parametrize(("ahead", "met"), [((1, 1, -1), True), ((1, -1, -1), False)])
def test_the_target_goes_by_dev_data(ahead, met):
    """The variant with the best dev accuracy counts, though another is better on test data."""
    found = {}
    for setup, gain in zip(SETUPS, ahead, strict=True):
        rows = [{"method": m, "dev": 60, "gain": 9, "p": 0.5, "control_gain": 0, "control_p": 1} for m in ORDER]
        rows[2] |= {"dev": 61, "gain": gain}
        assert best_variant(rows)["method"] == "a-wm"
        found[setup] = rows
    report = Report()
    comparison(found, report)
    assert [target["met"] for target in report.targets] == [met]


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


# -- the whole -----------------------------------------------------------------------------------------------------


def test_the_whole_experiment_without_corpora(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dror2016, "QUICK", TINY)
    monkeypatch.delenv("STRUCTRON_DATA", raising=False)
    assert "dror2016" in experiment.papers()
    experiment.run("dror2016", None, True, tmp_path / "out")
    shown, said = capsys.readouterr()
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["finished"]
    assert "Table 1 alone: Table 2 needs treebanks; no folder of corpora is given" in said
    assert results["parsing"] == {"left_out": [corpus.name for corpus in CORPORA]}
    assert list(results["synthetic"]["table1"]) == NAMES
    assert len(results["synthetic"]["outcomes"]) == 6
    assert len(results["targets"]) == 2
    for text in (*NAMES, "A-WMR averaged", CONTROL, "target synthetic: the variant"):
        assert text in shown
        assert text in (tmp_path / "out" / "tables.txt").read_text()


def test_an_interrupt_keeps_the_data_sets_that_are_done(tmp_path, monkeypatch, capsys):
    def interrupted(setup, number, *given):
        if (setup, number) == (NAMES[1], 1):
            raise KeyboardInterrupt
        return made({1.0: (72, 74)}, number=number)

    monkeypatch.setattr(dror2016, "QUICK", TINY)
    monkeypatch.setattr(dror2016, "try_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dror2016.run(None, True, tmp_path)
    assert f"interrupted: what was done is in {tmp_path}" in capsys.readouterr().err
    results = json.loads((tmp_path / "results.json").read_text())
    assert not results["finished"]
    assert [outcome["number"] for outcome in results["synthetic"]["outcomes"]] == [0, 0, 0, 1]
    assert results["synthetic"]["outcomes"][0][POSTERIOR] == [90, 91]


def test_papers_about_corpora_still_ask_for_them(monkeypatch):
    monkeypatch.delenv("STRUCTRON_DATA", raising=False)
    with pytest.raises(structron.StructronError, match="collins2002 needs real corpora"):
        experiment.run("collins2002")
