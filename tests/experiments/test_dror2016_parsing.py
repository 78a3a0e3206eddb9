"""The experiment of Dror & Reichart (2016) on treebanks: its choices, its trainings, its tables, what it writes."""

import json
import math
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from structron import GraphParser
from structron.data.toy_english import toy_english, write_conllu
from structron.experiments import dror2016, dror2016_parsing
from structron.experiments.dror2016_choice import AVERAGED, CONTROL, CSP, MEAN, Scores
from structron.experiments.dror2016_parsing import (
    B_WM,
    CORPORA,
    CROSSING,
    ENFORCED,
    Bank,
    Corpus,
    ParserTrials,
    ParsingScale,
    Trained,
    Training,
    front,
    hold_out,
    plan,
    train,
    try_bank,
    try_crossing,
    usable,
)
from structron.experiments.dror2016_table2 import (
    COMPARED,
    PAPER,
    PAPERS,
    PRINTED_MEANS,
    SHOWN,
    SHOWN_MEAN,
    TEST,
    TOP,
    Parsed,
    compare,
    compare_orders,
    comparison_table,
    crossing_table,
    extra_table,
    figures,
    order_table,
    paper_means,
    summary,
    targets,
)
from structron.experiments.runs import Report

EWT, BASQUE, OLD_BASQUE, SPANISH = (
    next(corpus for corpus in CORPORA if corpus.name == name)
    for name in ("ud-english-ewt", "ud-basque-bdt", "conll2007-basque", "conll2007-spanish")
)
SCALE = ParsingScale(400, 150, 200, {1: (1.0, 3.0), 2: (2.0,)}, 2)
TABLE1 = (1, (1.0, 2.0), 1, {"train": 80, "dev": 30, "test": 30})

# -- choices -------------------------------------------------------------------------------------------------------


def made(weighted: dict[float, tuple[float, float]], csp: float = 70.0, control: float = 71.0) -> ParserTrials:
    """The averaged figures are 5 higher; enforced is as B-WM."""
    plain = {CSP: Scores(math.nan, csp), AVERAGED: Scores(math.nan, csp + 5)}
    scores = {beta: Scores(*pair) for beta, pair in weighted.items()}
    means = {beta: Scores(pair[0] + 5, pair[1] + 5) for beta, pair in weighted.items()}
    variants = {B_WM: scores, ENFORCED: scores, B_WM + MEAN: means, ENFORCED + MEAN: means}
    variants[CONTROL] = {1: Scores(60, control - 9), 2: Scores(61, control)}
    return ParserTrials({beta: 10 * beta for beta in scores}, plain=plain, variants=variants)


@pytest.mark.parametrize(
    ("weighted", "beta", "own", "top", "test"),
    [
        ({0.5: (80.0, 70.0), 1.0: (79.9, 72.0), 2.0: (79.89, 75.0)}, 0.5, 70, 72, 75),
        ({0.5: (79.0, 71.0), 1.0: (80.0, 70.0)}, 1.0, 70, 70, 71),
        ({0.5: (80.0, 70.0), 1.0: (80.0, 73.0)}, 0.5, 70, 73, 73),
        ({1.0: (80.0, 70.0)}, 1.0, 70, 70, 70),
    ],
    ids=["within-a-tenth", "not-within", "equals", "one"],
)
def test_which_beta_counts(weighted, beta, own, top, test):
    trials = made(weighted)
    assert trials.chosen(B_WM) == beta
    found = figures(trials)
    assert [found[name] for name in (SHOWN, TOP, TEST)] == [own, top, test]
    assert (found[CSP], found[AVERAGED], found[CONTROL], found[SHOWN_MEAN]) == (70, 75, 71, own + 5)


def test_scores_without_dev_data_are_written_as_null():
    assert json.loads(json.dumps(made({1.0: (80, 70)}).as_dict()))[CSP] == [None, 70]


# -- data ----------------------------------------------------------------------------------------------------------


def test_whole_sentences_from_the_front():
    sentences = [[["w"]] * n for n in (3, 4, 5)]
    assert [len(front(sentences, tokens)) for tokens in (2, 3, 6, 7, 12, None)] == [0, 1, 1, 2, 3, 3]


@pytest.mark.parametrize(("count", "drawn"), [(6, 2), (7, 2), (2999, 999), (4000, 1000)])
def test_sentences_are_drawn(count, drawn):
    sentences = [[[str(k)]] for k in range(count)]
    held, rest = hold_out(sentences)
    assert len(held) == drawn
    assert sorted(held + rest, key=lambda s: int(s[0][0])) == sentences
    assert held == sorted(held, key=lambda s: int(s[0][0])) != sentences[:drawn]
    assert (held, rest) == hold_out(sentences)


def write_corpus(data: Path, name: str, dev: bool = True, sentences: int = 80) -> None:
    folder, toys = data / name, toy_english(sentences)
    folder.mkdir(parents=True)
    lo, hi = sentences // 2, 3 * sentences // 4
    write_conllu(folder / "train.conllu", toys[:lo])
    write_conllu(folder / "test.conllu", toys[hi:])
    if dev:
        write_conllu(folder / "dev.conllu", toys[lo:hi])


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Toy treebanks under the names of real ones: one with crossing search, one without dev data."""
    found = tmp_path_factory.mktemp("corpora")
    for corpus in (EWT, BASQUE, SPANISH):
        write_corpus(found, corpus.name, dev=corpus is not SPANISH)
    (found / "ud-arabic-padt").mkdir()
    return found


def test_what_is_there_is_used(data, tmp_path):
    found, absent = usable(data)
    assert found == [EWT, BASQUE, SPANISH]
    assert set(absent) == {corpus.name for corpus in CORPORA} - {corpus.name for corpus in found}
    for nothing in (tmp_path, None):
        assert usable(nothing) == ([], [corpus.name for corpus in CORPORA])


def test_a_treebank_with_dev_data(data):
    bank = Bank.load(data, EWT, SCALE)
    assert bank.own_dev
    sizes = {name: size["tokens"] for name, size in bank.sizes().items()}
    assert 350 < sizes["train"] == sizes["train without dev"] <= 400
    assert 0 < sizes["dev"] <= 150 < sizes["test"] <= 200


def test_a_treebank_without_dev_data(data):
    """What was drawn for dev data is kept from all but CSP, and the cut comes after the draw."""
    bank = Bank.load(data, SPANISH, ParsingScale(None, None, None, {1: (1.0,)}, 1))
    assert not bank.own_dev
    assert len(bank.whole) == 40
    assert (len(bank.dev), len(bank.rest)) == (13, 27)
    assert not any(sentence in bank.rest for sentence in bank.dev)
    cut = Bank.load(data, SPANISH, ParsingScale(100, None, None, {1: (1.0,)}, 1))
    assert cut.rest == bank.rest[: len(cut.rest)] != cut.whole == bank.whole[: len(cut.whole)]


# -- trainings -----------------------------------------------------------------------------------------------------


def test_what_is_trained(data):
    found = plan(Bank.load(data, EWT, SCALE), SCALE)
    first = [Training(1, method, beta) for method in (B_WM, ENFORCED) for beta in (1.0, 3.0)]
    second = [Training(2, CSP, 1), Training(2, B_WM, 2.0), Training(2, ENFORCED, 2.0)]
    assert found == [Training(1, CSP, 1), Training(1, CONTROL, 2), *first, *second]
    assert Training(2, CONTROL, 1) in plan(Bank.load(data, SPANISH, SCALE), SCALE)
    weighted = {"order": 2, "seed": 1, "swvp": "b-wm", "beta": 3.0}
    assert Training(2, B_WM, 3.0).options() == {**weighted, "enforce": False}
    assert Training(2, ENFORCED, 3.0).options() == {**weighted, "enforce": True}
    assert Training(1, CONTROL, 4).options() == {"order": 1, "seed": 4, "projective": True}
    assert Training(1, CROSSING, 1).options()["projective"] is False


@pytest.mark.parametrize("method", [CSP, CROSSING])
@pytest.mark.parametrize("order", [1, 2])
def test_scores_are_those_of_a_parser(data, order, method):
    """Last weights and mean weights, each from a training of its own."""
    bank = Bank.load(data, EWT, SCALE)
    found = train(bank, Training(order, method, 1), 3, Event())
    for scores, average in ((found.last, "none"), (found.mean, "mean")):
        options = {"projective": method == CSP, "labelled": False, "bits": 22, "pos": "xpos"}
        parser = GraphParser(order=order, passes=3, runs=1, average=average, **options).fit(bank.whole)
        assert scores == Scores(parser.score(bank.dev), parser.score(bank.test))


def test_csp_learns_from_the_dev_sentences_where_there_are_no_others(data):
    bank = Bank.load(data, SPANISH, SCALE)
    csp, control = (train(bank, Training(1, method, 1), 2, Event()) for method in (CSP, CONTROL))
    assert math.isnan(csp.last.dev)
    assert math.isnan(csp.mean.dev)
    parser = GraphParser(order=1, passes=2, runs=1, average="none", labelled=False, bits=22, pos="xpos").fit(bank.rest)
    assert control.last == Scores(parser.score(bank.dev), parser.score(bank.test))


def test_several_roots_in_another_encoding(tmp_path):
    folder = tmp_path / OLD_BASQUE.name
    folder.mkdir()
    rows = [("Año", "N", 0), ("bi", "D", 1), ("etxe", "N", 0), ("da", "V", 3)]
    lines = "".join(f"{k}\t{w}\t_\t{t}\t{t}\t_\t{h}\tx\t_\t_\n" for k, (w, t, h) in enumerate(rows, 1)) + "\n"
    for split in ("train", "test"):
        (folder / f"{split}.conll").write_bytes((lines * 9).encode("iso-8859-1"))
    bank = Bank.load(tmp_path, OLD_BASQUE, SCALE)
    assert bank.whole[0][0][1] == "Año"
    found = train(bank, Training(1, CSP, 1), 3, Event())
    assert (found.last.test, found.mean.test) == (100, 100)


def test_another_beta_is_another_model(data):
    bank = Bank.load(data, EWT, SCALE)
    found = {beta: train(bank, Training(1, B_WM, beta), 3, Event()) for beta in (0.5, 5.0)}
    parser = GraphParser(order=1, passes=3, runs=1, labelled=False, bits=22, pos="xpos", swvp="b-wm", beta=5.0)
    parser.fit(bank.whole)
    assert found[5.0].mean == Scores(parser.score(bank.dev), parser.score(bank.test))
    assert found[0.5] != found[5.0]


def test_a_training_can_be_stopped(data):
    stop = Event()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        train(Bank.load(data, EWT, SCALE), Training(1, CSP, 1), 1000, stop)


def test_scores_go_where_they_belong():
    one, two = Scores(1, 2), Scores(3, 4)
    trials, drawn = ParserTrials(), ParserTrials()
    for method, value in ((CSP, 1), (CONTROL, 2), (B_WM, 0.5), (ENFORCED, 3.0)):
        trials.enter(Training(1, method, value), Trained(one, two, 7.0), own_dev=True)
    assert trials.plain == {CSP: one, AVERAGED: two}
    control, means = {CONTROL: {1: one, 2: one}}, {B_WM + MEAN: {0.5: two}, ENFORCED + MEAN: {3.0: two}}
    assert trials.variants == control | {B_WM: {0.5: one}, ENFORCED: {3.0: one}} | means
    assert trials.broken == {0.5: 7.0}
    drawn.enter(Training(1, CSP, 1), Trained(one, two), own_dev=False)
    assert not drawn.variants


def fake(bank: Bank, training: Training, passes: int, stop: Event) -> Trained:
    """Made-up scores: dev data like large β and seeds, test data do not."""
    scores = Scores(50 + training.value, 60 + training.order - training.value)
    return Trained(scores, scores)


def test_orders_come_as_soon_as_they_are_done(data, monkeypatch):
    monkeypatch.setattr(dror2016_parsing, "train", fake)
    found = dict(try_bank(Bank.load(data, BASQUE, SCALE), SCALE))
    assert list(found) == [1, 2]
    assert found[1].variants[CONTROL] == {1: Scores(51, 60), 2: Scores(52, 59)}
    assert figures(found[1])[SHOWN] == 58
    assert figures(found[1])[TEST] == 60
    assert try_crossing(data, BASQUE, SCALE) == {1: (60, 60), 2: (61, 61)}


# -- tables --------------------------------------------------------------------------------------------------------


def test_the_papers_figures_are_copied_right():
    """Against its own row of averages, where that is one, and the counts in its text."""
    wins = {1: {TOP: 5, TEST: 6}, 2: {SHOWN: 5, TOP: 7, TEST: 7}}
    too_high = {1: (0.77, 0.77, 0.77, 0.78), 2: (0, 0, 0, 0.1)}
    for order, rows in PAPER.items():
        means = np.array(paper_means(order))
        assert means + too_high[order] == pytest.approx(PRINTED_MEANS[order], abs=0.012)
        named = {language: dict(zip(PAPERS, values, strict=True)) for language, values in rows.items()}
        for name, count in wins[order].items():
            assert compare(named, name, CSP)["wins"] == count


def parsed() -> Parsed:
    """B-WM is ahead of CSP by 1 and 2 at order 1, by -1 and 2 at order 2; of the control by 0 and 1, -2 and 1."""
    found = Parsed(SCALE, [EWT, BASQUE, SPANISH], drawn=[SPANISH.name])
    found.trials = {
        1: {EWT.name: made({1.0: (80.0, 71.0)}), BASQUE.name: made({1.0: (80.0, 72.0)})},
        2: {EWT.name: made({2.0: (80, 70)}, 71, 72), BASQUE.name: made({2.0: (80, 73)}, 71, 72)},
    }
    found.crossing = {BASQUE.name: {1: (75, 76), 2: (76, 75.5)}}
    return found


def test_comparisons_by_hand():
    found = parsed()
    rows = found.figures(1)
    assert compare(rows, SHOWN, CSP) == {"method": SHOWN, "base": CSP, "gain": 1.5, "p": 0.5, "wins": 2, "of": 2}
    assert compare(found.figures(2), SHOWN, CSP) | {"gain": 0.5, "p": 1.0, "wins": 1} == compare(
        found.figures(2), SHOWN, CSP
    )
    assert compare(rows, SHOWN, CONTROL)["gain"] == 0.5
    assert compare_orders(found, CSP) == {
        "method": CSP, "order 1": 70, "order 2": 71, "gain": 1, "p": 0.5, "wins": 2, "of": 2,
    }  # fmt: skip
    assert json.loads(json.dumps(summary(found)))["crossing"] == {BASQUE.name: {"1": [75, 76], "2": [76, 75.5]}}


def test_orders_are_compared_where_both_are_there():
    found = parsed()
    del found.trials[2][BASQUE.name]
    assert compare_orders(found, CSP)["of"] == 1
    del found.trials[2]
    assert compare_orders(found, CSP) | {"gain": 0, "of": 0} == compare_orders(found, CSP)


def test_the_tables():
    found = parsed()
    lines = order_table(found, 1).plain().splitlines()
    english, basque, mean = (line.split() for line in lines[2:5])
    assert english == [EWT.name, "70.00", *["71.00"] * 3, "1", "86.34", "86.40", "86.70", "86.70"]
    assert basque[-4:] == ["79.47", "79.54", "79.54", "79.54"]
    assert mean[5:] == ["70.00", *["71.50"] * 3, "–", "82.92", "82.87", "83.00", "83.01"]
    text = " ".join([*lines, extra_table(found, 1).plain()])
    assert extra_table(found, 2).rows[-1] == ("mean", 71, 71.5, "20.0", 71.5, 72, 76, 76.5, 76.5)
    for told in (
        "400 of train, 150 of dev, 200 of test",
        "β: 1, 3 ",
        "Without dev data: conll2007-spanish",
        "2 orders",
    ):
        assert told in text
    differences = comparison_table(found)
    assert len(differences.rows) == 2 * len(COMPARED)
    assert differences.rows[0] == ("B-WM - CSP", 1, "+1.50", "0.500", "2/2", "-0.04", "0.254", "4/9")
    assert [row[-1] for row in crossing_table(found).rows] == ["+1.00", "-0.50"]


def test_a_language_that_the_paper_does_not_have():
    found = Parsed(SCALE, [SPANISH], trials={1: {SPANISH.name: made({1.0: (80, 71)})}})
    assert order_table(found, 1).rows[0][-4:] == (None,) * 4
    assert not crossing_table(found).rows


def test_the_targets():
    report = Report()
    targets(parsed(), report)
    assert [target["met"] for target in report.targets] == [True, True, True, False]
    assert report.targets[2]["measured"] == "ud-basque-bdt +1.00"
    assert report.targets[0]["measured"] == "+1.00 (p 0.500, ahead on 2/2)"


# -- the whole -----------------------------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(dror2016, "QUICK", dror2016.Scale(*TABLE1, SCALE))


def test_both_tables(data, tmp_path, tiny, capsys):
    dror2016.run(data, True, tmp_path)
    shown, said = capsys.readouterr()
    results = json.loads((tmp_path / "results.json").read_text())
    found = results["parsing"]
    assert results["finished"]
    assert "left out, since" in said
    assert "wsj-sample-dep" in found["left_out"]
    assert list(found["treebanks"]) == [EWT.name, BASQUE.name, SPANISH.name]
    for name, entry in found["treebanks"].items():
        assert entry["own_dev"] == (name != SPANISH.name)
        assert entry["order 1"][B_WM].keys() == {"1", "3"}
        assert entry["order 1"][CONTROL].keys() == {"1", "2"}
        assert entry["order 2"][B_WM].keys() == {"2"}
        assert found["table2"]["1"][name][CSP] == pytest.approx(entry["order 1"][CSP][1], abs=1e-3)
    assert list(found["crossing"]) == [BASQUE.name]
    assert found["treebanks"][BASQUE.name]["crossing"] == found["crossing"][BASQUE.name]
    assert len(results["targets"]) == 6
    text = (tmp_path / "tables.txt").read_text()
    for told in ("Parsing, first order", "Parsing, second order", "second order over first", "non-projective beside"):
        assert told in text
        assert told in shown


def test_an_interrupt_keeps_the_treebanks_that_are_done(data, tmp_path, tiny, monkeypatch, capsys):
    def interrupted(bank: Bank, training: Training, *given) -> Trained:
        if (bank.corpus, training.order) == (BASQUE, 2):
            raise KeyboardInterrupt
        return fake(bank, training, *given)

    monkeypatch.setattr(dror2016_parsing, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dror2016.run(data, True, tmp_path)
    assert "interrupted: what was done is in" in capsys.readouterr().err
    results = json.loads((tmp_path / "results.json").read_text())
    assert not results["finished"]
    assert "table1" in results["synthetic"]
    orders = {name: [key for key in entry if "order" in key] for name, entry in results["parsing"]["treebanks"].items()}
    assert orders == {EWT.name: ["order 1", "order 2"], BASQUE.name: ["order 1"]}
    assert "Table 1" in (tmp_path / "tables.txt").read_text()


def test_a_folder_without_treebanks(tmp_path, tiny, capsys):
    dror2016.run(tmp_path, True, tmp_path / "out")
    assert f"Table 2 needs treebanks; {tmp_path} has none" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "results.json").read_text())["finished"]


@pytest.mark.corpora
@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_real_treebanks_can_be_learned_from(corpora, corpus: Corpus):
    if corpus in usable(corpora)[0]:
        bank = Bank.load(corpora, corpus, ParsingScale(2000, 500, 500, {1: (1.0,)}, 1))
        assert train(bank, Training(1, CSP, 1), 2, Event()).mean.test > 40
