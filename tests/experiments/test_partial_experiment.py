"""The experiment about partial labels, at a tiny scale: what is known, and what tables say of it."""

from structron.cli.experiment import experiment_of
from structron.experiments.frame import Ledger
from structron.experiments.partial import TRAIN, Scale, plan, tables
from structron.experiments.partial.trials import TASKS, filled, spread, whole_sentences

ROWS = [[[f"w{k}{i}", "X" if i % 2 else "Y"] for i in range(1 + k % 5)] for k in range(200)]


def test_as_many_labels_either_way():
    words = sum(map(len, ROWS))
    for share in (10, 50):
        known = sum(row[-1] is not None for sentence in spread(ROWS, share, 1) for row in sentence)
        whole = sum(map(len, whole_sentences(ROWS, share, 1)))
        assert abs(known - words * share / 100) < 0.1 * words
        assert 0 <= whole - words * share / 100 < 5
    assert spread(ROWS, 10, 1) == spread(ROWS, 10, 1) != spread(ROWS, 10, 2)
    assert spread(ROWS, 100, 1) == ROWS


def test_known_labels_stay_when_open_ones_are_filled():
    class Says:
        def predict(self, sentences):
            return [["Z"] * len(own) for own in sentences]

    assert filled(Says(), [[["a", None], ["b", "X"]]]) == [[["a", "Z"], ["b", "X"]]]


def test_plan_and_tables(toy_data, tmp_path):
    """Every method at every share, and one training with all labels; rows have the gain of each seed."""
    experiment, ledger = experiment_of("partial"), Ledger(tmp_path / "partial.json", "Partial labels")
    scale = Scale(shares=(10,), seeds=2)
    jobs = list(plan(ledger, scale, toy_data))
    assert len(jobs) == 2 * len(TASKS) * (3 + 1)
    assert experiment.name == "partial"
    for job in jobs:
        seed, method = job.options["seed"], job.options["method"]
        ledger.enter(job, {"dev": 80.0 + seed + (method == "spread"), "labels": 100}, 1.0)
    rows = [table.rows for table in tables(ledger)]
    assert len(rows) == len(TASKS)
    assert rows[0][0] == ("10 %", 100, 82.5, 81.5, 81.5, "+1.00, +1.00")
    assert rows[0][1] == ("100 %", 100, 82.5, None, None, None)
    assert {trial.work for trial in ledger} == {TRAIN}
