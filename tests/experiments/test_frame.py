"""What all experiments share: jobs and the ledger of their trials, verdicts, tables, figures, statistics, pages."""

import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structron
from structron.data.toy_english import toy_english, write_conllu
from structron.errors import StructronError
from structron.experiments.frame import (
    Claim,
    Curve,
    Drawing,
    Experiment,
    Job,
    Ledger,
    Sample,
    Table,
    Trial,
    Verdict,
    ahead,
    draw_grid,
    draw_lines,
    first_pass,
    has,
    invalid_share,
    last_tenth,
    late_counts,
    late_invalid,
    learn,
    load_rows,
    paper_of,
    searched,
    sign_flip_test,
    spent,
    together,
    within,
)
from structron.experiments.frame.documents import marks, papers_page, renewed, shown_p
from structron.experiments.frame.pictures import Picture
from structron.experiments.frame.report import run
from structron.experiments.frame.statistics import (
    block_counts,
    block_error,
    block_test,
    sampled,
    score_of,
    share_interval,
    sign_flip_interval,
    student_interval,
)
from structron.experiments.frame.verdict import Effect, effects_of, holm, level, number
from structron.experiments.frame.work import time_left, work_off

PNG = b"\x89PNG\r\n"


# -- jobs and their ledger -----------------------------------------------------------------------------------------


@pytest.fixture
def calls(monkeypatch) -> Counter:
    """Counts what is worked on in an experiment of nobody's."""
    found: Counter = Counter()

    def square(data: Path | None, x: int, seed: int = 1) -> dict:
        found[x, seed] += 1
        if x < 0:
            raise KeyboardInterrupt
        return {"dev": float(x * x), "test": 1.0}

    module = ModuleType("structron.experiments.nobody1999")
    module.square = square  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return found


def square(x: int, **options: int) -> Job:
    return Job("nobody1999:square", {"x": x, **options})


def test_a_job_has_one_name_whatever_the_order_of_its_options():
    assert Job("a:b", {"x": 1, "y": None}).key == Job("a:b", {"y": None, "x": 1}, cost=5).key
    assert Job("a:b", {"x": 1}).key != Job("a:b", {"x": "1"}).key


def test_trials_are_kept_and_not_made_again(calls, tmp_path, capsys):
    jobs = [square(2), square(3), square(3), square(3, seed=2)]
    work_off(lambda: jobs, Ledger(tmp_path / "a.json", "Nobody"), None, jobs=1)
    ledger = Ledger(tmp_path / "a.json", "Nobody")
    work_off(lambda: [*jobs, square(4)], ledger, None, jobs=1)
    assert calls == {(2, 1): 1, (3, 1): 1, (3, 2): 1, (4, 1): 1}
    assert [trial["dev"] for trial in ledger.of("nobody1999:square", x=3)] == [9.0, 9.0]
    assert len(ledger.of("nobody1999:square", seed=None)) == 3
    assert ledger.get(square(5)) is None
    assert "going on: 3 trials" in (said := capsys.readouterr().err)
    assert "[1 of 1, about 0 s left] square, x 4, dev 16.00, test 1.00" in said
    head = json.loads((tmp_path / "a.json").read_text())
    assert (head["paper"], head["quick"], len(head["trials"])) == ("Nobody", False, 4)
    assert {trial["version"] for trial in head["trials"]} == {structron.__version__}


def test_the_file_does_not_depend_on_the_order_of_work(calls, tmp_path):
    texts = set()
    for k, order in enumerate(itertools.permutations([square(1), square(2), square(3)])):
        ledger = Ledger(tmp_path / f"{k}.json", "Nobody")
        for job in order:
            ledger.enter(job, {"dev": 1.0}, 2.0)
        texts.add(ledger.path.read_text())
    assert len(texts) == 1


def test_a_plan_goes_on_from_what_it_sees(calls, tmp_path):
    """It wants the next number as long as the last one's square is below 30."""
    ledger = Ledger(tmp_path / "a.json", "Nobody")

    def plan() -> list[Job]:
        return [square(1), *(square(trial["x"] + 1) for trial in list(ledger) if trial["dev"] < 30)]

    work_off(plan, ledger, None, jobs=1)
    assert sorted(calls) == [(x, 1) for x in range(1, 7)]


def test_an_interrupt_keeps_what_was_done(calls, tmp_path):
    path = tmp_path / "a.json"
    with pytest.raises(KeyboardInterrupt):
        work_off(lambda: [square(2), square(-1)], Ledger(path, "Nobody"), None, jobs=1)
    assert [trial["x"] for trial in Ledger(path, "Nobody")] == [2]


def test_a_process_finds_what_we_find(tmp_path):
    """Its work here is to read what the paper of that name reports."""
    job, ledger = Job("frame.tools:paper_of"), Ledger(tmp_path / "a.json", "Nobody")
    work_off(lambda: [job], ledger, "huang2012", jobs=2)  # type: ignore[arg-type]
    assert ledger.trials[job.key].figures == paper_of("huang2012")


def test_the_time_that_is_left(calls, tmp_path):
    ledger = Ledger(tmp_path / "a.json", "Nobody")
    ledger.enter(square(1), {}, 4.0)
    ledger.enter(square(2), {}, 6.0)
    assert time_left([square(3), square(4), Job("nobody1999:other", cost=7)], ledger) == 5 + 5 + 7


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "not a file of results"),
        ('{"paper": "Nobody", "quick": false, "trials": [{"a": 1}]}', "not a file of results"),
        ('{"paper": "Nobody", "quick": true, "trials": []}', "results of a quick run of Nobody"),
        ('{"paper": "Another", "quick": false, "trials": []}', "results of a full run of Another"),
    ],
)
def test_files_that_are_no_ledger(text, error, tmp_path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(StructronError, match=error):
        Ledger(tmp_path / "a.json", "Nobody")
    assert (tmp_path / "a.json").read_text() == text


# -- an experiment from end to end -----------------------------------------------------------------------------------


def made(**changes: object) -> Experiment:
    """One that squares numbers."""

    def tables(ledger: Ledger) -> list[Table]:
        table = Table("Squares", ("x", "square"), notes=["of whole numbers"])
        for trial in ledger:
            table.add(str(trial["x"]), trial["dev"])
        return [table]

    def claims(ledger: Ledger) -> list[Claim]:
        return [Claim("Table 1", "Squares grow.", "yes", "4.00", within(4.0, 1, 9))]

    options: dict = {"plan": lambda ledger, scale, data: [square(x) for x in scale], "tables": tables, "claims": claims}
    options |= {"full": (1, 2, 3), "quick": (1, 2), "code": "squares.py", "needs_corpora": False}
    return Experiment("nobody1999", "Nobody (1999)", **(options | changes))


def test_what_is_printed_and_written(calls, tmp_path, capsys):
    ledger = run(made(), None, True, tmp_path / "new", jobs=1)
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines()[:4]] == [
        ["Squares"],
        ["x", "square"],
        ["1", "1.00"],
        ["2", "4.00"],
    ]
    assert out.splitlines()[-1] == "Table 1: Squares grow. Paper: yes. Here: 4, needs 1 to 9. reproduced"
    assert "verdicts are meant for the full run" in err
    assert ledger.path == tmp_path / "new" / "nobody1999.json"


def test_trials_of_another_scale_are_laid_aside(calls, tmp_path):
    run(made(full=(1, 2)), None, False, tmp_path, jobs=1)
    ledger = run(made(full=(2, 3)), None, False, tmp_path, jobs=1)
    assert [[trial["x"] for trial in own.values()] for own in (ledger.trials, ledger.spare)] == [[2, 3], [1]]
    ledger = run(made(full=(1, 3)), None, False, tmp_path, jobs=1)
    assert sorted(trial["x"] for trial in ledger) == [1, 3]
    assert set(calls.values()) == {1}


def test_pages_are_written_from_the_ledger(calls, tmp_path):
    experiment = made()
    ledger = run(experiment, None, False, tmp_path, jobs=1)
    begin, end = marks("nobody1999")
    text = f"# Results\n{begin}\nold\n{end}\nprose\n"
    page = renewed(text, experiment, ledger)
    assert "old" not in page
    assert "| 3 | 9.00 |" in page
    assert "3 trials" in page
    assert "not finished" not in page
    ledger.finished = False
    assert "The full run is not finished" in renewed(text, experiment, ledger)
    ledger.finished = True
    assert page.endswith(f"{end}\nprose\n")
    assert renewed(page, experiment, ledger) == page
    with pytest.raises(StructronError, match="no place for the tables of nobody1999"):
        renewed("# Results", experiment, ledger)
    verdicts = papers_page([(experiment, ledger)])
    assert "| Table 1 | Squares grow. | yes | 4, needs 1 to 9 |  | **reproduced** |" in verdicts
    assert "| Nobody (1999) | 1 | 1 | 0 | 0 | 0 | 0 of 0 | 0 of 0 |" in verdicts
    assert "`squares.py`" in verdicts
    assert "p ≤ 0.05" in verdicts


def test_a_folder_that_cannot_be_made(calls, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StructronError, match="cannot make the folder"):
        run(made(), None, False, tmp_path / "file" / "o")


def test_what_an_experiment_needs_is_asked_for_first(calls, tmp_path):
    with pytest.raises(StructronError, match=r"structron\[bench\]"):
        run(made(needs={"no_such_module": "bench"}), None, False, tmp_path / "o")
    assert not (tmp_path / "o").exists()


# -- tables ----------------------------------------------------------------------------------------------------------


def test_table_lines_up():
    table = Table("Title", ("Method", "paper", "ours"), notes=["a note"])
    table.add("a", 93.5)
    table.add("longer", paper=(3, 100.0))
    lines = ["Title", "  Method  paper    ours", "  a       93.50       –", "  longer      3  100.00", "  a note"]
    assert str(table).splitlines() == lines
    rows = ["| Method | paper | ours |", "| --- | --- | --- |", "| a | 93.50 | – |", "| longer | 3 | 100.00 |"]
    assert table.markdown().splitlines()[2:6] == rows


def test_a_table_of_a_papers_file():
    entry = {"title": "{corpus} (Table 1)", "columns": ["Method", "ours", "paper"], "notes": ["of {corpus}"]}
    table = Table.of(entry | {"figures": {"a": [93.5]}}, corpus="toys")
    table.add("a", 1)
    table.add("b", 2)
    assert (table.title, table.notes, table.rows) == ("toys (Table 1)", ["of toys"], [("a", 1, 93.5), ("b", 2, None)])


# -- figures -------------------------------------------------------------------------------------------------------

LINES = [Curve("a", range(1, 4), [3.0, 1.0, 2.0]), Curve("b", range(1, 4), [3.0, 1.0, 2.0], min, 2.0)]


@pytest.mark.parametrize(
    ("draw", "given"),
    [
        (draw_lines, ("Title", "x", "y", LINES)),
        (draw_lines, ("Title", "x", "y", LINES[:1], 0.0)),
        (draw_grid, ("Title", "x", "y", (1, 5), [[94.0, 92.0], [90.0, 94.5]], "F1")),
    ],
    ids=["lines", "one-line", "grid"],
)
def test_figures_are_drawn_where_that_is_possible(draw, given, calls, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    experiment = made(drawings=lambda ledger: [Drawing("a", draw, given)])
    run(experiment, None, False, tmp_path, jobs=1)
    assert (tmp_path / "nobody1999-a.png").read_bytes().startswith(PNG)
    assert "nobody1999.json, nobody1999-a.png" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    run(experiment, None, False, tmp_path, jobs=1)
    assert "no figure nobody1999-a.png: this needs matplotlib" in capsys.readouterr().err
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


def trained(dev: list[float], update: str = "standard", **counts: list) -> Trial:
    return Trial("tagging", {"seed": 1, "update": update}, {"passes": {"dev": dev, **counts}}, 1.0, "1")


def test_passes_until_a_level_and_invalid_shares():
    """Ten updates a pass."""
    trial = trained([80.0, 82.5, 82.5, 81.0], updates=[10] * 4, invalid=[1, 2, 3, 4])
    assert (first_pass(trial, 80.0), first_pass(trial, 82.5), first_pass(trial, 82.6)) == (1, 2, None)
    assert (invalid_share(trial), invalid_share(trial, 1, 3), late_invalid(trial)) == (25.0, 25.0, 40.0)
    trial = trained([80.0] * 6, updates=[10] * 6, invalid=[9, 9, 9, 9, 1, 3])
    assert (late_invalid(trial), late_counts(trial)) == (20.0, (4, 20))


def test_time_up_to_the_best_pass_is_a_share_of_all():
    """8 s for four passes of which the second is the best, and 3 s for three with the third."""
    trials = [
        Trial("a", {}, {"passes": {"dev": [1.0] * n}, "best_pass": k}, s, "1") for n, k, s in ((4, 2, 8), (3, 3, 3))
    ]
    assert spent(trials) == (4 + 3) / 2


def test_early_updates_end_searches():
    """Ten examples: of four gold falls off after a quarter, then of two halfway; other rules search to the end."""
    counts = {"fell_off": [4, 2, 0], "fell_at": [0.25, 0.5, 0], "examples": [10] * 3}
    early, other = (trained([1.0] * 3, update, **counts) for update in ("early", "max-violation"))
    assert [searched(early, passes) for passes in (1, 2, 3)] == pytest.approx([0.7, 1.6, 2.6])
    assert searched(other, 2) == 2
    assert searched(trained([1.0], "early"), 1) == 1  # older trials do not say where


@pytest.mark.parametrize("counts", [{"updates": [5]}, {"updates": [0], "invalid": [0]}], ids=["exact", "converged"])
def test_exact_search_and_passes_without_updates_have_no_invalid_updates(counts):
    assert late_invalid(trained([1.0], **counts)) == 0.0


def test_a_training_as_figures():
    rows = [[list(pair) for pair in zip(s.words, s.pos, strict=True)] for s in toy_english(90, seed=5)]
    tagger = structron.Tagger(passes=3, runs=1, columns=("word", "pos"))
    found = learn(tagger, rows[:40], rows[40:65], rows[65:])
    assert found["dev"] == max(found["passes"]["dev"]) == pytest.approx(tagger.score(rows[40:65]))
    assert found["best_pass"] == 1 + found["passes"]["dev"].index(found["dev"])
    assert found["seconds"] == pytest.approx(
        sum(one["cpu_seconds"] for one in tagger.history_[: found["best_pass"]]), abs=1e-2
    )
    assert score_of(np.sum(found["test_blocks"], axis=0)) == pytest.approx(found["test"])
    assert json.loads(json.dumps(found)) == found


# -- significance --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("differences", "p"),
    [([1, 1, 1], 2 / 8), ([1, 2, -1], 6 / 8), ([0, 0], 1), ([], 1), ([0.1] * 10, 2 / 1024), ([3.0], 1)],
    ids=["same-sign", "mixed", "zero", "none", "ten", "one"],
)
def test_sign_flips_by_hand(differences, p):
    """1, 2, -1: the sums are ±4, ±2 twice and 0 twice, of which six are at least as far from 0 as 2."""
    assert sign_flip_test(differences) == pytest.approx(p)


def test_samples_with_replacement_by_hand():
    """Of 0 and 1 the mean is 0, 1/2 or 1 with 1/4, 1/2 and 1/4; samples of one thing alone are left out."""
    values = np.array([0.0, 1.0])
    assert sampled(lambda picks: float(values[picks].mean()), 2) == (0.5, (0.5, 0.5))
    many = np.arange(400.0)
    mean, (low, high) = sampled(lambda picks: float(many[picks].mean()), 400)
    assert mean == 199.5
    assert (high - low) / 2 == pytest.approx(1.96 * many.std() / 20, rel=0.1)


def test_many_differences_are_drawn():
    """Zeros change nothing but that assignments are drawn: p is about that of all assignments of the others."""
    values = np.random.default_rng(0).normal(0.3, 1, 16)
    assert sign_flip_test([*values, *[0.0] * 4]) == pytest.approx(sign_flip_test(values), abs=0.01)


def test_blocks_by_hand():
    """Two blocks: exchanging none or both gives the difference found, 10; one of them 0: p is a half."""
    a, b = np.array([[9, 10], [8, 10]]), np.array([[8, 10], [7, 10]])
    assert block_test(a, b) == pytest.approx(0.5, abs=0.02)
    assert block_test(a, a) == 1
    assert block_test(np.array([[9, 10]] * 10), np.array([[8, 10]] * 10)) == pytest.approx(2 / 1024, abs=0.002)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=6))
def test_exchanging_blocks_is_enumerated(rows):
    """Against all exchanges, for F1 from (right, found too many, missed) in each block of two methods."""
    a = np.array([[right, right + more, right + missed] for right, more, missed in rows])
    b = a[::-1].copy()

    def f1(counts: np.ndarray) -> float:
        right, found, gold = counts.sum(axis=0)
        return 200 * right / (found + gold)

    differences = []
    for swapped in itertools.product((False, True), repeat=len(a)):
        one = np.array([b[k] if swap else a[k] for k, swap in enumerate(swapped)])
        other = np.array([a[k] if swap else b[k] for k, swap in enumerate(swapped)])
        differences.append(abs(f1(one) - f1(other)))
    expected = np.mean([difference >= differences[0] - 1e-9 for difference in differences])
    assert block_test(a, b) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("task", ["chunks", "pairs", "trees"])
def test_blocks_add_up_to_the_score(task):
    sentences = toy_english(60, seed=5)
    make: dict[str, tuple[Callable, tuple[str, ...]]] = {
        "chunks": (structron.Chunker, ("words", "pos", "chunks")),
        "pairs": (structron.JointTagger, ("words", "pos", "chunks")),
        "trees": (structron.Parser, ("words", "pos", "heads", "relations")),
    }
    kind, columns = make[task]
    rows = [[list(map(str, row)) for row in zip(*(getattr(s, c) for c in columns), strict=True)] for s in sentences]
    names = ("word", "pos", "head", "deprel") if task == "trees" else ("word", "pos", "chunk")
    model = kind(passes=1, columns=names).fit(rows[:30])
    guess = model.predict(rows[30:])
    scores, counts = model.evaluate(rows[30:], guess=guess), np.sum(block_counts(model, rows[30:], guess), axis=0)
    assert score_of(counts) == pytest.approx(scores.uas if task == "trees" else scores.f1)


# -- verdicts --------------------------------------------------------------------------------------------------------

BLOCKS = np.array([[90, 100]] * 25)


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (Sample([93.0, 93.2, 93.1], BLOCKS + [1, 0]), Sample([92.0, 92.2, 92.5], BLOCKS), "reproduced"),
        (Sample([92.0, 92.2, 92.5], BLOCKS), Sample([93.0, 93.2, 93.1], BLOCKS + [1, 0]), "not reproduced"),
        (Sample([93.0, 93.2, 92.1], BLOCKS + [1, 0]), Sample([92.0, 92.2, 92.5], BLOCKS), "not decidable"),
        (Sample([92.6, 92.6, 92.6], BLOCKS + [1, 0]), Sample([92.0, 92.2, 92.5], BLOCKS), "reproduced"),
        (Sample([93.0, 93.2, 93.1], BLOCKS), Sample([92.0, 92.2, 92.5], BLOCKS), "not decidable"),
        (Sample([93.0, 93.2, 93.1]), Sample([92.0, 92.2, 92.5]), "not decidable"),
        (Sample([2.0] * 9 + [0.0], datasets=True), Sample([1.0] * 10, datasets=True), "reproduced"),
        (Sample([2.0] * 5, datasets=True), Sample([1.0] * 5, datasets=True), "not decidable"),
        (Sample([2.0] * 9), Sample([1.0] * 9), "not decidable"),
        (Sample([]), Sample([]), "not run"),
        (Sample([1.0]), Sample([1.0, 2.0]), "not run"),
    ],
    ids=[
        *("ahead", "behind", "a-seed-is-not", "seeds-agree", "p", "three-seeds"),
        *("ten-data-sets", "five-data-sets", "nine-seeds", "none", "unpaired"),
    ],
)
def test_a_is_ahead_of_b(a, b, verdict):
    assert ahead(a, b).verdict == verdict


def test_blocks_of_different_data_are_not_paired():
    """As much gold in every block, or the results were cut in another way."""
    a, b = Sample([90.0], BLOCKS), Sample([90.0], np.roll(BLOCKS + np.eye(25, 2, dtype=int) * 5, 1, axis=0))
    with pytest.raises(StructronError, match="different blocks"):
        ahead(a, b)
    with pytest.raises(StructronError, match="different blocks"):
        ahead(a, Sample([90.0], BLOCKS[:24]))


def test_samples_pair_trials_by_their_seeds():
    def trial(seed: int, score: float) -> Trial:
        return Trial("a", {"seed": seed}, {"test": score, "test_blocks": [[seed, 10]]}, 1.0, "1")

    sample = Sample.of([trial(2, 5.0), trial(1, 7.0)])
    assert sample.scores == [7.0, 5.0]
    assert sample.blocks is not None
    assert sample.blocks.tolist() == [[3, 20]]
    assert str(sample) == "6.00 ± 1.41"
    assert not Sample.of([])


def test_smaller_is_told_from_not_decidable():
    """Level data: the paper's effect is outside the interval, inside it, or not known."""
    a, b = (Sample([90.0], np.array([[9 + (k + shift) % 2, 10] for k in range(26)])) for shift in (0, 1))
    (effect,) = ahead(a, b).effects
    assert effect.low < 0 < effect.high < 10
    assert [str(ahead(a, b, paper)) for paper in (10.0, effect.high / 2, None)] == ["smaller", *["not decidable"] * 2]


@settings(max_examples=20)
@given(st.lists(st.integers(-30, 50), min_size=6, max_size=9))
def test_the_interval_holds_what_the_sign_flip_test_does_not_reject(values):
    low, high = sign_flip_interval(values, 0.05)
    spread = max(high - low, 1.0)
    for inside, shift in ((True, low + 1e-3 * spread), (False, low - 1e-3 * spread), (False, high + 1e-3 * spread)):
        rejected = sign_flip_test([value - shift for value in values]) <= 0.05
        assert rejected != inside or high - low < 1e-2


def test_the_error_of_blocks_is_that_of_a_mean():
    """Differences of 0 and 2 points in equal blocks: 1 / √25, nearly; a constant difference has no error."""
    a = np.array([[80 + 2 * (k % 2), 100] for k in range(24)])
    b = np.array([[80, 100]] * 24)
    assert block_error(a, b) == pytest.approx(1 / np.sqrt(24), rel=0.05)
    assert block_error(b + [1, 0], b) == pytest.approx(0, abs=1e-9)
    (effect,) = ahead(Sample([81.0, 81.0], a), Sample([80.0, 80.2], b)).effects
    seeds = np.var([1.0, 0.8], ddof=1) / 2
    assert effect.high - effect.value == pytest.approx(1.96 * np.sqrt(block_error(a, b) ** 2 + seeds), rel=1e-3)


def test_intervals_by_hand():
    assert student_interval([1.0, 2.0, 3.0]) == pytest.approx((2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5))
    assert student_interval([1.0]) is None
    assert share_interval(0, 10) == pytest.approx((0, 27.75), abs=0.01)  # as in tables of Wilson's interval
    assert share_interval(5, 10) == pytest.approx((23.66, 76.34), abs=0.01)


def test_holm_by_hand():
    """0.01 · 3, then 0.02 · 2, then 0.03 · 1, which may not be smaller."""
    assert holm([0.03, None, 0.01, 0.02]) == pytest.approx([0.04, None, 0.03, 0.04])
    assert holm([0.5, 0.9]) == [1.0, 1.0]


def test_the_p_of_several_comparisons():
    """All have to hold: the largest; where one goes the other way, the smallest of those, times their number."""
    yes, no = (
        Verdict(word, (Effect(word, 1.0, 0.5, 1.5, p=p),))
        for word, p in (("reproduced", 0.01), ("not reproduced", 0.02))
    )
    assert together([yes, yes]).p == 0.01
    assert together([yes, no]).p == 0.04
    assert within(1.0, 0, 2).p is None


def test_a_bound_counts_with_the_interval_of_the_figure():
    verdicts = [within(1.0, high=2.0, interval=ends) for ends in ((0.5, 1.9), (0.5, 2.1), (2.1, 3.0))]
    assert list(map(str, verdicts)) == ["reproduced", "not decidable", "not reproduced"]
    a = Sample([90.0], BLOCKS)
    assert str(level(a, a, 0.1)) == "reproduced"
    assert str(level(Sample([90.0]), Sample([90.0]), 0.1)) == "not decidable"  # no interval


def test_figures_are_written_to_be_read():
    values = (0.0, -0.284, 11.0, 89.5941, 713.2, 11469.8, 3068330.0)
    assert [number(value) for value in values] == ["0", "-0.28", "11", "89.59", "713.2", "11,470", "3.1 × 10⁶"]
    assert str(Effect("reproduced", 0.5, 0.25, 0.75)) == "+0.50 [+0.25, +0.75]"
    assert within(1.97, high=0.5, unit=" %", name="beam 4").why == "beam 4: 1.97, needs ≤ 0.50 %"
    assert [shown_p(p) for p in (0.0004, 0.0123, 0.5)] == ["< 0.001", "0.012", "0.50"]
    assert effects_of("94.3 against 93.4; 3 against 5") == [0.9, -2.0]


def test_a_picture_has_a_point_for_every_figure():
    drawn = Picture("Title <1>", "F1/%")
    drawn.add("group")
    drawn.add("a", 90.0, 80.0, (79.0, 81.5))
    drawn.add("b", None, 82.0)
    root = ElementTree.fromstring(drawn.svg())
    circles = [(float(c.get("cx")), float(c.get("cy"))) for c in root.findall(".//{*}circle")]
    assert len(circles) == 3
    assert circles[0][1] == circles[1][1] < circles[2][1]
    assert circles[1][0] < circles[2][0]  # 80 is left of 82
    assert "Title &lt;1&gt;" in drawn.svg()


def test_bounds_and_several_claims_at_once():
    yes, no, open_, absent = within(1.0, 0, 2), within(3.0, 0, 2), Verdict("not decidable"), within(None)
    assert [str(one) for one in (yes, no, absent)] == ["reproduced", "not reproduced", "not run"]
    assert [str(together(list(few))) for few in ([yes, yes], [yes, open_], [open_, no], [yes, absent], [])] == [
        "reproduced",
        "not decidable",
        "not reproduced",
        "not run",
        "not run",
    ]
