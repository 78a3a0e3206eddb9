"""The program itself: exit status, pipes, Ctrl-C, bugs. What only a process can show is shown by `structron` itself."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_helpers import Ran, process, write

import structron
from structron import experiments
from structron.cli import evaluate
from structron.experiments import frame
from structron.io import modelfile

SCRIPT = Path(sys.executable).with_name("structron")


@pytest.mark.skipif(not SCRIPT.exists(), reason="the package is not installed as a program")
def test_installed_program(toy):
    found = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, check=True)
    assert found.stdout == f"structron {structron.__version__}\n"
    found = subprocess.run([SCRIPT, "evaluate", toy.chunker, "nowhere.conll"], capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr.startswith("structron: error: nowhere.conll: ")
    assert found.stderr.count("\n") == 1


def test_one_sentence_through_a_pipe(toy):
    found = process("predict", toy.chunker, input="The DT\ndog NN\nsleeps VBZ\n")
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[:2] == ["The DT B-NP", "dog NN I-NP"]


def test_closed_pipe_is_no_error(toy, tmp_path):
    big = write(tmp_path / "big.conll", Path(toy / "test.conll").read_bytes() * 300)
    command = [sys.executable, "-m", "structron", "predict", toy.chunker, str(big)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_full_disk_is_one_line(toy):
    command = [sys.executable, "-m", "structron", "evaluate", toy.chunker, toy / "test.conll"]
    with open("/dev/full", "w") as full:
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 2
    says = "standard output: could not be written (no space left on device); expected a file or a pipe"
    assert found.stderr == f"structron: error: {says}\n"


def test_interrupted_training_saves_the_best_model(toy, tmp_path):
    model, log = tmp_path / "m.structron", tmp_path / "log"
    never_learned = "it PRP B-NP\n\nit PRP O\n\n"
    train = write(tmp_path / "train.conll", Path(toy / "train.conll").read_text() + never_learned)
    files = ["--train", str(train), "--dev", toy / "dev.conll", "--model", str(model), "--log", str(log)]
    running = subprocess.Popen(
        [sys.executable, "-m", "structron", "train", "chunker", *files, "--passes", "1000000"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 200
        while not (log.exists() and log.read_text().count("\n") >= 3) and time.monotonic() < deadline:
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=300)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "interrupted: the best model so far" in err
    assert "Traceback" not in err
    labeler = structron.load(model)
    assert labeler.stopped_ == "interrupted"
    scores = {record["pass"]: record["dev"] for record in labeler.history_}
    assert scores.get(labeler.best_pass_) in (None, max(scores.values()))


def test_interrupt_elsewhere(run, toy, monkeypatch):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate, "run", interrupted)
    assert run("evaluate", toy.tagger, "x") == Ran(130, "", "structron: interrupted\n")


def test_bug_is_one_line_unless_asked_for_more(run, toy, monkeypatch):
    def broken(**_):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(evaluate, "run", broken)
    found = run("evaluate", toy.tagger, "x")
    assert found.status == 1
    assert found.err == "structron: error: RuntimeError: two lines (perhaps a bug; -v shows the traceback)\n"
    assert "Traceback" in run("evaluate", toy.tagger, "x", "-v").err


def test_mistake_shows_its_traceback_if_asked_for(run, toy):
    found = run("evaluate", toy.tagger, "nowhere", "-v")
    assert found.status == 2
    assert "Traceback" in found.err
    assert found.err.splitlines()[-1].startswith("structron: error: nowhere: ")


def test_bad_models(toy, tmp_path, refuses):
    header, arrays = modelfile.load(toy.chunker)
    modelfile.save(tmp_path / "other", {**header, "task": "poet"}, arrays)
    write(tmp_path / "text", b"hello, I am no model")
    says = {"missing": "no such file or bundled model", "text": "not a structron model", "other": "unknown task 'poet'"}
    for name, piece in says.items():
        for command, *file in (["predict", toy / "test.conll"], ["evaluate", toy / "test.conll"], ["inspect"]):
            refuses(command, tmp_path / name, *file, says=[tmp_path / name, piece])


def test_inspect_works_in_any_encoding(toy):
    found = process("inspect", toy.chunker, "--top", "2", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert found.returncode == 0, found.stderr
    assert r"\u2192" in found.stdout


def test_experiment(tmp_path, run, refuses, monkeypatch):
    monkeypatch.delenv("STRUCTRON_DATA", raising=False)
    made = "Experiment('nobody1999', 'Nobody (1999)', lambda *given: (), list, list, None, None, 'nowhere.py')"
    write(tmp_path / "nobody1999.py", f"from structron.experiments.frame import Experiment\nEXPERIMENT = {made}\n")
    write(tmp_path / "helper.py", "")
    assert frame  # is imported: the folder of experiments is another from here on
    monkeypatch.setattr(experiments, "__path__", [str(tmp_path)])
    (tmp_path / "data").mkdir()
    found = run("experiment", "nobody1999", "--data", tmp_path / "data", "--quick", "--out", tmp_path / "o")
    assert (found.status, found.out) == (0, "")
    assert f"written to {tmp_path / 'o'}: nobody1999.json" in found.err
    refuses("papers", "--results", tmp_path / "o", says="results of a quick run")
    run("experiment", "nobody1999", "--data", tmp_path / "data", "--out", tmp_path / "full")
    assert "## Nobody (1999)" in run("papers", "--results", tmp_path / "full").out
    refuses("experiment", "somebody2000", "--data", tmp_path, says="expected one of: nobody1999")
    refuses("experiment", "nobody1999", "--data", tmp_path / "none", says=[tmp_path / "none", "no such folder"])
    refuses("experiment", "nobody1999", says="--data")
