"""What commands show beside results: the mistakes a model is surest of, how learning went; and how to be quiet."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_helpers import SMALL, process

import structron
from structron.cli.show import curve
from structron.cli.show.mistakes import _by_comparison, passages
from structron.data.toy_english import toy_english, write_conllu


def errors_of(run, *argv) -> list[dict]:
    found = run("evaluate", *argv, "--json")
    assert found.status == 0, found.err
    return json.loads(found.out)["errors"]


def test_the_surest_mistakes_come_first(run, toy):
    listed = errors_of(run, toy.chunker, toy / "test.conll", "--errors", "1000")
    assert [error["margin"] for error in listed] == sorted((e["margin"] for e in listed), reverse=True)
    assert errors_of(run, toy.chunker, toy / "test.conll", "--errors", "2") == listed[:2]
    lines = Path(toy / "test.conll").read_text(encoding="utf-8").splitlines()
    model = structron.load(toy.chunker)
    rows = [line.split() for line in lines]
    for error in listed:
        number = int(error["where"].rpartition(":")[2])
        words = error["words"].split()
        assert [rows[number - 1 + k][0] for k in range(len(words))] == words
        assert [rows[number - 1 + k][2] for k in range(len(words))] == error["gold"].split()
        assert error["gold"] != error["guess"]
    sentences = [[row[:2] for row in own] for own in _sentences(rows)]
    gold = [[row[2] for row in own] for own in _sentences(rows)]
    guess, margins = model.predict_with_margins(sentences)
    wrong = [
        sure
        for right, own, margin in zip(gold, guess, margins, strict=True)
        for a, b, sure in zip(right, own, margin, strict=True)
        if a != b
    ]
    assert listed[0]["margin"] == pytest.approx(max(wrong), abs=1e-3)


def _sentences(rows: list[list[str]]) -> list[list[list[str]]]:
    found: list[list[list[str]]] = [[]]
    for row in rows:
        found[-1].append(row) if row else found.append([])
    return [own for own in found if own]


def test_mistakes_in_context(run, toy):
    found = run("evaluate", toy.chunker, toy / "test.conll", "--errors", "1")
    lines = found.out.splitlines()
    place = lines.index("the most confident mistakes, largest margin first:")
    assert re.fullmatch(r".*test\.conll:\d+  margin [\d.]+", lines[place + 1])
    assert re.search(r"\[[^\]]+\]", lines[place + 2])
    assert re.fullmatch(r"   [A-Z-]+( [A-Z-]+)*, gold [A-Z-]+( [A-Z-]+)*", lines[place + 3])
    assert "the most confident mistakes" not in run("evaluate", toy.chunker, toy / "test.conll").out


def test_a_model_without_mistakes_says_so(run, toy, tmp_path):
    labelled = tmp_path / "own.conll"
    run("predict", toy.chunker, toy / "test.conll", "--output", labelled)
    assert run("evaluate", toy.chunker, labelled, "--errors", "3").out.endswith("no mistakes\n")


def test_mistakes_of_trees_compare_the_best_trees(run, refuses, toy, tmp_path):
    """A parser has no margins of its own."""
    model = tmp_path / "m"
    write_conllu(tmp_path / "few.conllu", toy_english(30, seed=9))
    files = ["--train", tmp_path / "few.conllu", "--model", model]
    assert run("train", "parser", *files, "--passes", "1", "--quiet").status == 0
    listed = errors_of(run, model, toy / "test.conllu", "--errors", "5")
    assert len(listed) == 5
    assert all(re.fullmatch(r"root|\S+ of \S+", error["gold"]) for error in listed)
    assert all(" " not in error["words"] for error in listed)
    refuses("evaluate", "english", toy / "test.conllu", "--errors", "3", says=["--errors", "not available", "tagger"])


def test_margin_by_comparison():
    best = [(["a", "b", "c"], 9.0), (["a", "x", "c"], 7.5), (["a", "x", "y"], 4.0)]
    assert _by_comparison(["a", "b", "c"], best) == [(5.0, True), (1.5, False), (5.0, False)]


@pytest.mark.parametrize(
    ("gold", "guess", "chunks", "expected"),
    [
        ("D N V", "D V V", False, [(1, 2)]),
        ("B-NP I-NP O B-VP", "B-NP B-NP O B-VP", True, [(0, 2)]),
        ("B-NP O O B-VP", "O O O B-VP", True, [(0, 1)]),
        ("B-NP I-NP B-VP O", "B-NP I-NP I-NP O", True, [(0, 3)]),
        ("B-NP O B-NP", "B-VP O B-VP", True, [(0, 1), (2, 3)]),
    ],
)
def test_passages_of_mistakes(gold, guess, chunks, expected):
    assert list(passages(gold.split(), guess.split(), chunks)) == expected


# -- how learning went -------------------------------------------------------------------------------------------------


def history(*dev: float) -> list[dict]:
    return [{"pass": k, "wrong_tokens": 100 // k, "tokens": 1000, "updates": 5, "dev": d} for k, d in enumerate(dev, 1)]


def test_curve():
    lines = curve.learning_curve(history(80.0, 90.0, 85.0, 95.0), "f1").splitlines()
    assert lines[0].split() == ["wrong", "in", "training,", "%", "dev", "f1"]
    assert len(lines) == 2 + curve.ROWS
    assert lines[1].split() == ["10.00", "██", "95.00", "██"]
    assert lines[-2].split() == ["2.50", "████▅▅▁▁", "80.00", "▁▁██████"]
    assert lines[-1].split() == ["1", "4", "1", "4"]


def test_curve_of_few_or_very_many_passes():
    assert curve.learning_curve(history(80.0, 90.0), "f1") == ""
    assert curve.learning_curve(history(1.0, 1.0, 1.0), "f1")
    wide = curve.learning_curve(history(*range(1, 501)), "f1").splitlines()
    assert max(map(len, wide)) < 100
    assert wide[-1].split() == ["1", "500", "1", "500"]
    plain = curve.learning_curve([{"pass": k, "updates": 9 - k} for k in range(1, 5)], "uas", curve.PLAIN)
    assert plain.isascii()
    assert "updates" in plain


def test_curve_is_for_terminals(monkeypatch, capsys):
    curve.show(history(1.0, 2.0, 3.0), "f1")
    assert capsys.readouterr().err == ""
    written: list[str] = []
    terminal = SimpleNamespace(isatty=lambda: True, encoding="ascii", write=written.append, flush=lambda: None)
    monkeypatch.setattr(sys, "stderr", terminal)
    curve.show(history(1.0, 2.0, 3.0), "f1")
    assert "".join(written).isascii()
    assert "dev f1" in "".join(written)


@pytest.mark.parametrize("color", [True, False])
def test_training_on_a_terminal(toy, tmp_path, color):
    """A bar, lines, and the curve at the end; NO_COLOR takes the colours away."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    environment |= {} if color else {"NO_COLOR": "1"}
    files = ["--train", toy / "train.conll", "--dev", toy / "dev.conll", "--model", str(tmp_path / "m")]
    command = [sys.executable, "-m", "structron", "train", "chunker", *files, "--passes", "3"]
    running = subprocess.Popen(command, stderr=slave, stdout=slave, env=environment)
    os.close(slave)
    text = b""
    while True:
        try:
            text += os.read(master, 65536)
        except OSError:
            break
    os.close(master)
    assert running.wait(300) == 0
    shown = text.decode()
    assert "pass 3/3" in shown
    assert "dev f1" in shown
    assert "█" in shown
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9](;[0-9]+)*m", shown)) == color


# -- quiet -------------------------------------------------------------------------------------------------------------


def test_quiet_commands_say_nothing_but_results(run, toy, entities, tmp_path):
    plain = tmp_path / "plain.conll"
    plain.write_text("Paris NN O\nsleeps VBZ O\n\n")
    loud, silent = (run("predict", entities / "model", plain, *flags) for flags in ([], ["--quiet"]))
    assert "no document boundaries" in loud.err
    assert (silent.out, silent.err) == (loud.out, "")
    for name in ("a", "b"):
        (tmp_path / f"{name}.conll").write_text(plain.read_text())
    many = ["predict", toy.chunker, str(tmp_path / "[ab].conll"), "--output-dir"]
    assert "2 files written" in run(*many, tmp_path / "loud").err
    assert run(*many, tmp_path / "silent", "-q").err == ""
    found = process("train", "chunker", "--train", toy / "train.conll", "--model", tmp_path / "m", *SMALL)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_precompile(run, refuses):
    found = run("precompile", "chunker")
    assert (found.status, found.out) == (0, "chunker\n")
    assert "no command will wait for the compiler" in found.err
    assert run("precompile", "chunker", "--quiet").err == ""
    refuses("precompile", "poet", says=["unknown task 'poet'", "tagger, chunker"])
