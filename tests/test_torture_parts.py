"""A sample of what `make torture` tries in full: crafted models stand in test_mutations.py, mistakes in
tasks/test_own_guard.py."""

import pytest

from torture.__main__ import run
from torture.frame import Found, Job, tried
from torture.inputs import Given
from torture.ledger import Ledger


@pytest.mark.slow
@pytest.mark.parametrize(("task", "first"), [("chunker", 100), ("lemmatizer", 108)])
def test_mutated_inputs_are_taken_or_refused_in_a_line(task, first, tmp_path):
    Given(task, tmp_path).train()
    outcomes = tried("inputs", task, tmp_path, first=first, last=first + 12, patience=600)
    assert len(outcomes) == 12
    assert [outcome for outcome in outcomes if outcome.startswith("failed")] == []
    assert {"done", "refused"} == {outcome.partition("/")[2] for outcome in outcomes}


class Trials:
    """Jobs that count how often they are done; `bad`: the one that fails."""

    def __init__(self, bad: str = ""):
        self.bad, self.done = bad, []

    def jobs(self, *names: str) -> list[Job]:
        return [Job(name, lambda name=name: self._do(name)) for name in names]

    def _do(self, name: str) -> Found:
        self.done.append(name)
        return Found.of(["failed: it broke" if name == self.bad else "a/refused", "b/used"])


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    path, trials = tmp_path / "build" / "ledger", Trials()
    assert run("models", trials.jobs("one", "two"), Ledger(path), 1).trials == 4
    with path.open("a") as stream:
        stream.write('{"part": "models", "name": "thr')  # killed while it wrote
    found = run("models", trials.jobs("one", "two", "three"), Ledger(path), 2)
    assert trials.done == ["one", "two", "three"]
    assert found.counts == {"a/refused": 3, "b/used": 3}


def test_what_failed_is_tried_again_and_reported(tmp_path):
    path, trials = tmp_path / "ledger", Trials(bad="two")
    assert run("models", trials.jobs("one", "two"), Ledger(path), 1).failures == ["failed: it broke"]
    assert "- 1 ×: `failed: it broke`" in Ledger(path).report()
    trials.bad = ""
    assert run("models", trials.jobs("one", "two"), Ledger(path), 1).failures == []
    assert trials.done == ["one", "two", "two"]
    report = Ledger(path).report()
    assert "| models | 4 | 2 refused, 2 used | 0 |" in report
    assert "| a | 2 | 0 |" in report
    assert "1 trials failed before, and do not now." in report
