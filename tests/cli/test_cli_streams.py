"""Streams through `predict` and `annotate`: the same bytes on any number of threads, soon, and in constant memory."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import write

import structron
from structron.cli import predict
from structron.tasks.pipeline import stream
from toy import toy_docs


@pytest.mark.parametrize("more", [[], ["--confidence"], ["--nbest", "2"], ["--forced"]])
@pytest.mark.parametrize("system", ["here", "threads"])
def test_jobs_do_not_change_a_byte(toy, run, monkeypatch, tmp_path, more, system):
    """Neither as processes, where those can be copied, nor as threads."""
    if system == "threads":
        monkeypatch.setattr(sys, "platform", "other")
    head, end = "\ufeff# a comment of many words\n\n".encode(), b"\n# this is the end\n\n"
    file = write(tmp_path / "f.conll", head + Path(toy / "test.conll").read_bytes() * 3 + end)
    one = run("predict", toy.chunker, file, *more, "--jobs", "1")
    assert one.status == 0
    monkeypatch.setattr(predict, "BATCH_TOKENS", 60)
    monkeypatch.setattr(predict, "BLOCK_LINES", 50)
    for jobs in ([], ["--jobs", "2"], ["--jobs", "7"]):
        assert run("predict", toy.chunker, file, *more, *jobs) == one


@pytest.mark.parametrize("size", [60, 100, 1000])
def test_what_comes_before_a_bad_line_is_written(toy, run, monkeypatch, size):
    monkeypatch.setattr(predict, "BATCH_TOKENS", size)
    monkeypatch.setattr(predict, "BLOCK_LINES", 50)
    text = Path(toy / "test.conll").read_bytes()
    found = run("predict", toy.chunker, "--jobs", "3", stdin=text + b"bad line with many columns\n\n")
    line = text.count(b"\n") + 1
    assert (found.status, found.err) == (
        2,
        f"structron: error: <stdin>:{line}: 5 columns where 3 were expected\n",
    )
    whole = run("predict", toy.chunker, stdin=text).out
    assert whole.startswith(found.out)
    assert len(found.out) > 0.5 * len(whole)


def test_a_process_that_dies_is_one_line(toy, run, monkeypatch, tmp_path):
    file = write(tmp_path / "f.conll", Path(toy / "test.conll").read_bytes() * 3)
    monkeypatch.setattr(predict, "BATCH_TOKENS", 60)
    monkeypatch.setattr(predict.Predictor, "_block", lambda *given: os.kill(os.getpid(), signal.SIGKILL))
    found = run("predict", toy.chunker, file, "--jobs", "2", "-o", tmp_path / "out")
    if sys.platform == "linux":
        assert (found.status, found.err.count("\n")) == (2, 1)
        assert "a process died" in found.err
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("lines", [[], ["--lines"]])
def test_threads_do_not_change_an_analysis(run, monkeypatch, tmp_path, lines):
    structron.Pipeline(folds=2, without=["parser"]).fit(toy_docs(40, 3)).save(tmp_path / "m")
    text = write(tmp_path / "t.txt", "\n\n".join(doc.text for doc in toy_docs(30, 8)))
    monkeypatch.setattr(stream, "BLOCK_CHARACTERS", 100)
    args = ["annotate", text, "-m", tmp_path / "m", *lines]
    one = run(*args, "--jobs", "1")
    assert one.status == 0
    assert one.out.count("# sent_id") > 20
    assert run(*args, "--jobs", "4") == run(*args) == one
    analysed = write(tmp_path / "t.conllu", one.out.replace("# newpar", "# newdoc"))
    kept = ["annotate", analysed, "-m", tmp_path / "m", "--keep", "tokens"]
    assert run(*kept, "--jobs", "4") == run(*kept, "--jobs", "1")


PEAK = """
import resource, sys
from structron.cli import main
status = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_memory_does_not_depend_on_the_length(toy, tmp_path):
    """A stream of 8 MB takes no more than one of 2 MB."""
    text = Path(toy / "test.conll").read_bytes()
    peaks = []
    for size in (2_000_000, 8_000_000):
        file = write(tmp_path / "f.conll", text * (size // len(text)))
        with file.open("rb") as stream:
            done = subprocess.run(
                [sys.executable, "-c", PEAK, "predict", toy.chunker, "--jobs", "2"],
                stdin=stream,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=300,
                check=True,
            )
        peaks.append(int(done.stderr))
    assert peaks[1] <= 1.1 * peaks[0]
