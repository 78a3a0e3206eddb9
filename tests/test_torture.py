"""A sample of what `make torture` tries in full; more of its faults are in cli/test_cli_faults.py."""

import os
import subprocess
import sys

import pytest

from torture.frame import environment


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied")
def test_killed_runs_end_with_the_same_bytes(tmp_path):
    command = [sys.executable, "-m", "torture", "kills", "--trials", "3", "--ledger", str(tmp_path / "ledger")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kills: 3 tried: " in done.stdout
