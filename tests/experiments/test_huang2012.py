"""The experiment of Huang, Fayong & Guo (2012): Figure 1, and what is read off training runs."""

from collections import Counter
from pathlib import Path

import pytest

from structron.experiments import huang2012
from structron.experiments.frame import Report, Trial
from structron.experiments.huang2012 import parsing, tagging
from structron.experiments.huang2012.loop import iterate, show_loop
from structron.experiments.huang2012.methods import EWT, METHODS, WSJ
from structron.experiments.huang2012.parsing import Found, show_parsing, time_share

# -- Figure 1 ------------------------------------------------------------------------------------------------------


def test_figure_1_is_the_papers():
    """z, ΔΦ, w·ΔΦ, valid, new w: the four rows that the paper prints, and the loop that it says comes after them."""
    found = [(r["z"], r["delta"], r["product"], r["valid"], r["w"]) for r in iterate(1, "standard", 8)]
    assert found[:4] == [
        ("NNN.", (-1, 1), 0, True, (-1, 1)),
        ("NVN.", (1, 1), 0, True, (0, 2)),
        ("NNN.", (-1, 1), 2, False, (-1, 3)),
        ("NVN.", (1, 1), 2, False, (0, 4)),
    ]
    assert [row[0] for row in found] == ["NNN.", "NVN."] * 4
    assert found[-1][-1] == (0, 8)


@pytest.mark.parametrize(("beam", "update"), [(None, "standard"), (2, "early")])
def test_figure_1_ends_where_the_search_is_exact_or_updates_are_valid(beam, update):
    found = iterate(beam, update)
    assert [record["updated"] for record in found] == [True, True, False]
    assert all(record["valid"] for record in found)
    assert found[-1]["z"] == "NNV."


def test_figure_1_validity_is_the_sign_of_the_product():
    report = Report()
    show_loop(report)
    (table,), results = report.tables, report.content["figure1"]
    for records in results.values():
        assert all(record["valid"] == (record["product"] <= 0) for record in records)
    assert [row[0] for row in table.rows if row[0]] == list(results)
    assert "(-1, +1)" in str(table)


# -- what is read off trials ---------------------------------------------------------------------------------------


def made_trial(method: str, dev: list[float], seconds: list[float], invalid: list[int], **more) -> Trial:
    """Ten updates a pass."""
    figures = zip(dev, seconds, invalid, strict=True)
    history = [{"dev": d, "seconds": s, "updates": 10, "invalid": k} for d, s, k in figures]
    return Trial(method, more.get("beam", 8), history, merge=more.get("merge", True), test=80.0)


def test_time_to_where_early_ends():
    early = made_trial("early", [70.0, 80.0, 85.0], [2.0, 3.0, 5.0], [0, 0, 0])
    assert time_share(early, made_trial("max-violation", [84.0, 86.0], [2.0, 2.5], [0, 0])) == 0.45
    assert time_share(early, made_trial("max-violation", [84.0, 84.9], [2.0, 2.5], [0, 0])) is None
    assert time_share(early, early) == 1.0


def parsing_of(share: float, gap: float, invalid: int, merged: float) -> Found:
    """Trials with these figures: time share and gap of max-violation, invalid updates of 10, what merging gives."""
    others = [method for method in METHODS if method not in ("standard", "max-violation")]
    trials = [made_trial(method, [85.0], [10.0], [0]) for method in others]
    trials.append(made_trial("max-violation", [85.0], [10 * share], [0]))
    trials.append(made_trial("standard", [85.0 - gap], [1.0], [invalid]))
    trials.append(made_trial("max-violation", [85.0 - merged], [1.0], [0], merge=False))
    return {(trial.method, trial.beam, trial.merge): trial for trial in trials}


def report_in(folder: Path) -> Report:
    return Report(folder, {"parsing": {}})


@pytest.mark.parametrize(
    ("figures", "met"),
    [
        ((0.5, 5.0, 2, 0.0), [True] * 4),
        ((0.51, 4.9, 1, -0.1), [False] * 4),
        ((0.1, 13.0, 7, 0.5), [True, True, False, True]),
    ],
    ids=["met", "missed", "too-many-invalid"],
)
def test_targets_of_parsing(figures, met, tmp_path, capsys):
    report = report_in(tmp_path)
    show_parsing(WSJ, parsing_of(*figures), report)
    assert [target["met"] for target in report.targets] == met
    lines = report.target_lines()
    assert all(line.startswith(f"target parsing {WSJ}, beam 8: ") for line in lines)
    assert [line.endswith(": met") for line in lines] == met
    assert f": measured {figures[0]:.2f}: " in lines[0]
    assert report.text().count("Parsing wsj-sample-dep") == 4
    assert capsys.readouterr().out.count("Parsing wsj-sample-dep") == 4


def test_a_level_that_was_not_reached_is_said_so(tmp_path):
    found, report = parsing_of(0.1, 5.0, 2, 0.0), report_in(tmp_path)
    found["early", 8, True].history[0]["dev"] = 85.5
    show_parsing(WSJ, found, report)
    assert report.target_lines()[0].endswith("measured not reached in 1 passes (85.00 against 85.50): not met")


@pytest.mark.parametrize(("invalid", "met"), [(0, True), (1, False)])
def test_target_of_tagging_looks_at_beams_from_4_on(invalid, met, tmp_path):
    report = report_in(tmp_path)
    trials = [
        made_trial("standard", [90.0], [1.0], [9], beam=1),
        made_trial("standard", [91.0], [1.0], [invalid], beam=4),
    ]
    tagging.show_tagging(trials, report)
    assert [target["met"] for target in report.targets] == [met]


# -- data ----------------------------------------------------------------------------------------------------------


def test_words_seen_once_are_unknown_but_keep_their_spelling():
    train = [[["a", "X"], ["b", "Y"]], [["a", "X"]]]
    counts = Counter(word for sentence in train for word, _ in sentence)
    assert tagging.hide_rare(train, counts) == [[["a", "a", "X"], ["b", "<unk>", "Y"]], [["a", "a", "X"]]]
    assert tagging.hide_rare([[["c", "X"], ["b", "X"]]], counts) == [[["c", "<unk>", "X"], ["b", "<unk>", "X"]]]
    texts = tagging.templates()
    assert {text for text in texts if text.startswith("known")} == {f"known[{k}]" for k in range(-2, 3)}
    assert {"prefix4[0]", "suffix4[0]", "hyphen[0]"} < set(texts)
    assert not any(text.startswith("w[") for text in texts)


def test_unknown_words_are_counted_in_the_sentences_that_are_learned_from(toy_data):
    train, dev, test = tagging.load(toy_data, huang2012.Scale(tagging_sentences=60, dev_sentences=20))
    assert (len(train), len(dev), len(test)) == (60, 20, 60)
    counts = Counter(token[0] for sentence in train for token in sentence)
    for word, known, _ in (token for sentence in [*train, *test] for token in sentence):
        assert known == (word if counts[word] > 1 else "<unk>")


@pytest.mark.corpora
def test_the_small_treebank_has_all_splits_and_heads(corpora):
    train, dev, test = parsing.load(corpora, WSJ, huang2012.FULL)
    assert (len(train), len(dev), len(test)) == (3396, 273, 245)
    assert {len(row) for sentence in dev for row in sentence} == {3}
    assert all(row[2].isdigit() for sentence in train for row in sentence)


def test_every_beam_without_merging_is_also_searched_with_it():
    for scale in (huang2012.FULL, huang2012.QUICK):
        assert all(set(beams) <= set(scale.parsing_beams) for beams in scale.unmerged_beams.values())
        assert scale.unmerged_beams.keys() == scale.parsing_passes.keys() == {WSJ, EWT}


# -- the whole -----------------------------------------------------------------------------------------------------


def test_every_method_is_tried_at_every_beam(run):
    results = run("huang2012").results
    tagged = [(trial["method"], trial["beam"]) for trial in results["tagging"]]
    five = ("standard", "early", "hybrid", "latest", "max-violation")
    assert tagged == [("standard", "inf"), *((method, beam) for method in five for beam in (1, 4))]
    for corpus in (WSJ, EWT):
        parsed = [(trial["method"], trial["beam"], trial["merge"]) for trial in results["parsing"][corpus]]
        others = [("standard", 1, True), ("max-violation", 1, True)]
        unmerged = [("max-violation", 8, False)] if corpus == WSJ else []
        assert parsed == [*((method, 8, True) for method in METHODS), *others, *unmerged]
        passes = [len(trial["passes"]["dev"]) for trial in results["parsing"][corpus]]
        assert passes == [3 if method == "early" else 2 for method in METHODS] + [1, 1] + [2] * len(unmerged)


def test_only_standard_updates_are_invalid(run):
    results = run("huang2012").results
    invalid = dict.fromkeys(METHODS, 0)
    for trial in (*results["tagging"], *results["parsing"][WSJ], *results["parsing"][EWT]):
        assert trial["dev"] == max(trial["passes"]["dev"]) == trial["passes"]["dev"][trial["best_pass"] - 1]
        invalid[trial["method"]] += sum(filter(None, trial["passes"]["invalid"]))
    assert invalid.pop("standard") > 0
    assert not any(invalid.values())


def test_one_beam_of_each_method_is_tested(run):
    """The best on dev data, and nothing else: test data choose nothing."""
    results = run("huang2012").results
    best: dict = {}
    for trial in results["tagging"]:
        key = (trial["method"], trial["beam"] == "inf")
        best[key] = max(best.get(key, 0.0), trial["dev"])
    tested = {(t["method"], t["beam"] == "inf"): t["dev"] for t in results["tagging"] if t["test"] is not None}
    assert tested == best
    for corpus in (WSJ, EWT):
        assert all((trial["test"] is None) == (trial["beam"] == 1) for trial in results["parsing"][corpus])
