"""How far a file is that is being written, and how long it will take."""

import gzip
from types import SimpleNamespace

import pytest

from structron.io.text import Reading, read_lines
from structron.runtime import progress


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


def test_the_time_left_follows_from_what_is_read_and_what_is_done(clock):
    counts = progress.Tally(None, lambda: 0.5)
    assert list(counts.take(["a" * 10, "b" * 30], len)) == ["a" * 10, "b" * 30]
    clock.seconds += 10
    counts.add(10, word=2)  # 10 of 40 characters of the first half: an eighth in 10 s
    assert (str(counts), counts.left()) == ("2 words", ", about 70 s left")
    counts.add(30, word=6)
    assert counts.left() == ", about 10 s left"


@pytest.mark.parametrize(
    ("read", "given", "seconds"),
    [(None, 20, 10), (0.0, 20, 10), (0.5, 0, 10), (0.5, 20, 1), (1.0, 40, 10), (0.01, 20, 10)],
    ids=["unknown", "a stream", "nothing done", "too early", "all done", "hardly anything"],
)
def test_no_time_is_told_that_is_not_known(clock, read, given, seconds):
    counts = progress.Tally(None, None if read is None else lambda: read)
    assert sum(map(len, counts.take(["a" * 40], len))) == 40
    clock.seconds += seconds
    counts.add(given)
    assert counts.left() == ""


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_how_much_of_a_file_is_read(tmp_path, pack):
    text = "".join(f"{k * 7919 % 100_003}\n" for k in range(60_000))
    path = tmp_path / "file"
    path.write_bytes(pack(text.encode()))
    reading, seen = Reading(), []
    lines = read_lines(path, reading=reading)
    for _ in lines:
        seen.append(reading.share)
    assert reading.size == path.stat().st_size
    assert seen == sorted(seen)
    assert 0 < seen[0] < 0.9
    assert seen[-1] == 1.0


def test_a_stream_has_no_size(monkeypatch, tmp_path):
    (tmp_path / "in").write_bytes(b"a\nb\n")
    reading = Reading()
    with open(tmp_path / "in") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert list(read_lines("-", reading=reading)) == ["a\n", "b\n"]
    assert reading.share == 0.0
