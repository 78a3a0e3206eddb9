"""A sample of what `make torture` tries in full; more of its faults are in cli/test_cli_faults.py."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from torture.frame import Found, environment
from torture.sessions import SessionWalk, State
from torture.syscalls import is_possible
from torture.writes import WAYS, Scene, Walk


def attacked(part: str, trials: int, ledger: Path) -> str:
    """What a part of the torture says of so many trials."""
    command = [sys.executable, "-m", "torture", part, "--trials", str(trials), "--ledger", str(ledger)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied")
def test_killed_runs_end_with_the_same_bytes(tmp_path):
    assert "kills: 3 tried: " in attacked("kills", 3, tmp_path / "ledger")


@pytest.mark.slow
@pytest.mark.skipif(not is_possible(), reason="no process may watch another's calls here")
def test_outputs_are_old_or_new_whichever_call_fails(tmp_path):
    said = attacked("writes", 25, tmp_path / "ledger")
    assert "writes: 25 tried: " in said
    assert " new file" in said
    assert " old file" in said


@pytest.mark.skipif(not is_possible(), reason="no process may watch another's calls here")
def test_what_is_written_in_place_is_found_out(tmp_path):
    """The walk can fail: this file is neither the old nor the new one for a while."""

    def write_in_place(folder: Path) -> int:
        with open(folder / "out", "w") as stream:
            stream.write("new")
        return 0

    (tmp_path / "walk").mkdir()
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "input").write_text("old")
    found = Found()
    walk = Walk(Scene("in place", write_in_place, "out", "input"), tmp_path / "inputs", tmp_path / "walk", found)
    for n in range(1, walk.calls + 1):
        walk.try_call(n, "kill", 0)
    assert found.trials == walk.calls
    assert any("neither the old nor the new file: 0 bytes" in failure for failure in found.failures)
    assert found.counts["old file"] > 0


@pytest.mark.skipif(not is_possible(), reason="no process may watch another's calls here")
def test_a_session_of_teaching_loses_nothing(tmp_path):
    """Some of its calls; `make torture` visits all of them."""
    found = Found()
    walk = SessionWalk(tmp_path, found)
    for number, way in enumerate(("kill", "EIO", "kill", "ENOSPC"), 1):
        walk.try_call(number * walk.calls // 5, way, WAYS[way])
    assert found.failures == []
    assert found.trials == 4


def test_what_a_session_loses_is_found_out():
    """The judgement of a state can fail."""
    told = [["added"], ["answered", 1, {"labels": ["O"]}]]
    there = State(3, [[1, {"labels": ["O"]}, False]], ["PER", "LOC"])
    assert State().after(told) == there
    assert State().is_next(State(3, [], ["PER", "LOC"]))
    assert there.is_next(replace(there, answers=[[1, {"labels": ["O"]}, True]]))
    assert there.is_next(replace(there, sentences=5))
    for lost in (
        replace(there, answers=[]),
        replace(there, sentences=4),
        replace(there, labels=["PER"]),
        replace(there, answers=[[1, None, False]]),
        replace(there, sentences=5, labels=["PER", "LOC", "ORG"]),
        replace(there, answers=[*there.answers, [2, None, False], [3, None, False]]),
    ):
        assert not there.is_next(lost), lost
    assert not State().is_next(State(0, [], ["PER", "LOC"]))
