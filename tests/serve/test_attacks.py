"""A sample of the requests that mean no good; `make torture` sends ten thousand."""

import asyncio
import sys
from pathlib import Path

from attacks import attack

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.faults import ANALYSES, SHARES, Storm


def test_mutated_requests_neither_crash_nor_break_out(address, capfd):
    found = attack(int(address.rsplit(":", 1)[1]), 250, seed=7, patience=1.0)
    assert found["200"] > 20
    assert found["422"] > 20
    assert found["404"] > 5
    assert "500" not in found
    assert "Traceback" not in capfd.readouterr().err


def test_no_answer_is_lost_among_faults(address):
    """A sample of `make load`."""
    storm = Storm(int(address.rsplit(":", 1)[1]), 200)
    asyncio.run(storm.run(8))
    assert storm.lost == []
    assert storm.sent >= 200
    assert storm.statuses[200] > 50
    assert set(storm.kinds) <= set(SHARES)
    assert len(storm.kinds) > 5


def test_an_answer_that_is_wrong_counts_as_lost(address):
    storm = Storm(int(address.rsplit(":", 1)[1]), 30)
    storm.first = dict.fromkeys(ANALYSES, b"another answer")
    asyncio.run(storm.run(2))
    assert any("differently" in own for own in storm.lost)
    storm.megabytes = [(k, 100.0 + 10 * (k > 10)) for k in range(20)]
    assert len(storm.mistakes()) == min(3, len(storm.lost)) + 1
