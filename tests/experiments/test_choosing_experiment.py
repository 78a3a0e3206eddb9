"""The experiment about choosing, at a tiny scale: one simulation, and what tables say of several."""

from structron.cli.experiment import experiment_of
from structron.experiments.choosing import ASK, CRITERIA, FULL, Scale, Size, picture, plan, tables
from structron.experiments.choosing.trials import ask
from structron.experiments.frame import Job, Ledger
from structron.experiments.frame.documents import picture_of

SIZE = Size(60, 2, (5, 5, 15, 5))


def test_one_simulation(toy_data):
    found = ask(toy_data, "chunks", "words", 1, passes=1, scored=20, pool=40, start=5, number=10, rounds=2)
    assert len(found["scores"]) == len(found["words"]) == len(found["corrections"]) == 3
    assert found["words"][0] == found["corrections"][0]
    assert found["words"][1] - found["words"][0] == 20  # two words of ten sentences
    assert found["all"] > found["words"][2]


def test_plan_and_tables(toy_data, tmp_path):
    """Words until 95 % of the final score, and both shares of the words that are read at random."""
    ledger = Ledger(tmp_path / "choosing.json", "Choosing what to label")
    jobs = list(plan(ledger, Scale({"chunks": SIZE}, seeds=2), toy_data))
    assert len(jobs) == 2 * len(CRITERIA)
    assert len(list(plan(ledger, FULL, toy_data))) == 3 * 3 * len(CRITERIA)
    for job in jobs:
        by, seed = job.options["by"], job.options["seed"]
        scores = [50.0, 76.0, 77.0] if by == "random" else [50.0, 60.0, 70.0] if by == "words" else [76.0, 1.0, 1.0]
        words = [10.0 * seed, 100.0 * seed, 200.0]
        ledger.enter(Job(ASK, job.options), {"all": 400.0, "final": 80.0, "scores": scores, "words": words,
                                             "corrections": [7.0, 30.0, 40.0]}, 1.0)  # fmt: skip
    (table,) = tables(ledger)
    assert table.title.endswith("until 76.00 F1, 95 % of what all 400 words give")
    assert [row[:6] for row in table.rows] == [
        ("random", "150", "100 %", "30", "20 %", "100, 200"),
        ("doubt-per-word", "15", "10 %", "7", "5 %", "10, 20"),
        ("words", "over 200", None, "over 40", None, "over 200, over 200"),
        ("disagreement", "15", "10 %", "7", "5 %", "10, 20"),
    ]
    assert picture(ledger).rows[0][1]["random"] == [(15.0, 50.0), (150.0, 76.0), (200.0, 77.0)]
    drawn = picture_of(experiment_of("choosing"), ledger)
    assert drawn.startswith("<svg")
    assert all(by in drawn for by in CRITERIA)
