"""A sample of what `make torture` tries in full: crafted models stand in test_mutations.py, mistakes in
tasks/test_own_guard.py."""

from itertools import pairwise

import pytest

from torture.__main__ import main, run
from torture.frame import Found, Job, tried
from torture.inputs import Given
from torture.ledger import Ledger, report
from torture.writes import WAYS, place_of


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
    assert run("models", trials.jobs("one", "two"), Ledger(path), 1, seed=1).trials == 4
    with path.open("a") as stream:
        stream.write('{"part": "models", "name": "thr')  # killed while it wrote
    found = run("models", trials.jobs("one", "two", "three"), Ledger(path), 2, seed=1)
    assert trials.done == ["one", "two", "three"]
    assert found.counts == {"a/refused": 3, "b/used": 3}


def test_what_failed_is_tried_again_and_reported(tmp_path):
    path, trials = tmp_path / "ledger", Trials(bad="two")
    assert run("models", trials.jobs("one", "two"), Ledger(path), 1, seed=3).failures == ["failed: it broke"]
    assert "- 1 ×: `failed: it broke`" in report(Ledger(path).lines())
    trials.bad = ""
    assert run("models", trials.jobs("one", "two"), Ledger(path), 1, seed=3).failures == []
    assert trials.done == ["one", "two", "two"]
    said = report(Ledger(path).lines())
    assert "| 3 | 4 | 2 refused, 2 used | 0 |" in said
    assert "| a | 2 | 0 |" in said
    assert "1 trials failed before, and do not now." in said


def test_runs_of_several_days_stand_side_by_side(tmp_path, capsys):
    page, first, second = tmp_path / "torture.md", tmp_path / "first", tmp_path / "second"
    first.write_text('{"begun": "2026-01-01 00:00:00"}\n')
    for path, names, seed in ((first, ("one",), 1), (second, ("two", "three"), 2)):
        run("models", Trials().jobs(*names), Ledger(path), 1, seed)
        assert main(["--report", str(page), "--ledger", str(path)]) == 0
    run("models", Trials().jobs("four"), Ledger(first), 1, 1)  # the first run goes on: its line is made again
    for _ in range(2):
        assert main(["--report", str(page), "--ledger", str(first)]) == 0
    said = page.read_text()
    assert "| 1 | 4 | 2 refused, 2 used | 0 |" in said
    assert "| 2 | 4 | 2 refused, 2 used | 0 |" in said
    assert "| a | 4 | 0 |" in said
    assert len((tmp_path / "torture.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("calls", [1, 2, 12, 355])
def test_a_walk_visits_every_call_in_every_way(calls):
    places = [place_of(number, calls) for number in range(3 * calls)]
    assert sorted(places) == sorted((n, way) for n in range(1, calls + 1) for way in WAYS)
    if calls > 100:  # any hundredth of a walk is spread over all of it
        seen = sorted(n for n, _ in places[50:60])
        assert max(b - a for a, b in pairwise([0, *seen, calls])) < calls / 3
