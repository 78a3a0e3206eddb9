"""No command costs the user a file: outputs that are inputs or other outputs, however they are spelled."""

import io
import os
import shutil
import sys
import threading
from pathlib import Path

import pytest
from cli_helpers import Toy, write

import structron
from structron.cli import papers, places
from structron.errors import StructronError
from structron.experiments.frame.pictures import Picture
from structron.experiments.frame.report import Experiment
from structron.io.modelfile import is_model
from toy import toy_docs

SPELLINGS = ("same", "relative", "dotted", "symlink", "folder link", "hard link")


def spelled(path: Path, how: str) -> str:
    """Another name of a file."""
    beside = path.parent.parent / "beside"
    beside.mkdir(exist_ok=True)
    link = beside / f"{how.replace(' ', '-')}-{path.name}"
    if how == "relative":
        return os.path.relpath(path)
    if how == "dotted":
        return str(path.parent / ".." / path.parent.name / path.name)
    if how == "symlink":
        link.symlink_to(path)
    elif how == "hard link":
        link.hardlink_to(path)
    elif how == "folder link":
        link.symlink_to(path.parent)
        return str(link / path.name)
    else:
        return str(path)
    return str(link)


@pytest.fixture
def files(toy: Toy, tmp_path) -> dict[str, Path]:
    """An own copy of every kind of file that a command reads."""
    folder = tmp_path / "files"
    folder.mkdir()
    shutil.copy(toy / "train.conll", folder / "train.conll")
    shutil.copy(toy / "dev.conll", folder / "dev.conll")
    shutil.copy(toy.chunker, folder / "model.structron")
    write(folder / "templates.txt", "w[0]\n")
    write(folder / "names.txt", "Anna\n")
    write(folder / "clusters.txt", "Anna\t01\n")
    write(folder / "lexicon.txt", "Anna\tAnna\tPROPN\n")
    write(folder / "text.txt", "It was late.")
    write(folder / "bank.conllu", "".join(doc.to_conllu() for doc in toy_docs(8, 3)))
    write(folder / "bank.ner", "It O\n\n")
    structron.Tokenizer(passes=1, runs=1).fit(toy_docs(8, 3)).save(folder / "tokenizer.structron")
    return {path.name: path for path in folder.iterdir()}


def commands(files: dict[str, Path]) -> list[tuple[list[str | Path], list[str], list[str]]]:
    """Every command that writes, the files that it reads, and the options that write."""
    train = ["train", "chunker", "--train", files["train.conll"], "--dev", files["dev.conll"], "--passes", "1"]
    train += ["--templates", files["templates.txt"], "--gazetteer", f"PER={files['names.txt']}"]
    train += ["--clusters", files["clusters.txt"], "--lexicon", files["lexicon.txt"]]
    warm = [*train[:6], "--warm-start", files["model.structron"]]
    bank, ner = files["bank.conllu"], files["bank.ner"]
    pipeline = ["train", "pipeline", "--train", bank, "--entities", ner, "--dev", files["text.txt"]]
    predict = ["predict", files["model.structron"], files["dev.conll"]]
    annotate = ["annotate", files["text.txt"], "--model", files["tokenizer.structron"]]
    confusion = ["evaluate", files["model.structron"], files["dev.conll"]]
    outputs = ["--model", "--log", "--checkpoint"]
    return [
        (train, ["train.conll", "dev.conll", "templates.txt", "names.txt", "clusters.txt", "lexicon.txt"], outputs),
        (warm, ["train.conll", "dev.conll", "model.structron"], outputs),
        (pipeline, ["bank.conllu", "bank.ner", "text.txt"], outputs),
        (predict, ["model.structron", "dev.conll"], ["--output"]),
        (annotate, ["text.txt", "tokenizer.structron"], ["--output"]),
        (["inspect", files["model.structron"]], ["model.structron"], ["--plot"]),
        ([*confusion, "--confusion"], ["model.structron", "dev.conll"], ["--plot"]),
    ]


def contents(files: dict[str, Path]) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in files.items()}


@pytest.mark.parametrize("how", SPELLINGS)
def test_no_output_is_an_input(refuses, files, tmp_path, how):
    before = contents(files)
    for command, inputs, outputs in commands(files):
        for option in outputs:
            for name in inputs:
                given = spelled(files[name], how)
                others = ["--model", tmp_path / "m"] if option in ("--log", "--checkpoint") else []
                refuses(*command, *others, option, given, says=f"{option} {given}: is also the input ")
                assert contents(files) == before
                assert sorted(path.name for path in tmp_path.iterdir()) == ["beside", "files"]
                shutil.rmtree(tmp_path / "beside")


@pytest.mark.parametrize("how", [*SPELLINGS[:5], "case"])
def test_no_output_is_another_output(refuses, files, tmp_path, monkeypatch, how):
    command = commands(files)[0][0]
    place = tmp_path / "files" / "new"
    other = spelled(place, how) if how != "case" else str(tmp_path / "files" / "NEW")
    monkeypatch.setattr(places, "ignores_case", lambda folder: how == "case")
    for one, two in (("--model", "--log"), ("--model", "--checkpoint"), ("--log", "--checkpoint")):
        more = [] if one == "--model" else ["--model", tmp_path / "m"]
        refuses(*command, *more, one, place, two, other, says=f"{one} {place}: is also the output {two} {other}")
        assert not place.exists()
    if how == "case":
        monkeypatch.setattr(places, "ignores_case", lambda folder: False)
        assert not places.same_file(place, other)


def test_a_model_replaces_models_only(run, refuses, files, tmp_path):
    command = commands(files)[0][0]
    notes = write(tmp_path / "notes.txt", "all my work")
    says = f"--model {notes}: already exists and is not a model; expected another name"
    for text in (b"all my work", b"\x05" + bytes(7) + b"[[[[[", b"\x02" + bytes(7) + b"{}"):
        write(notes, text)
        refuses(*command, "--model", notes, says=says)
        assert notes.read_bytes() == text
    old = write(tmp_path / "old", files["model.structron"].read_bytes()[:-10])
    assert is_model(old)
    for place in (old, write(tmp_path / "empty", "")):
        assert run(*command, "--model", place, "--quiet").status == 0
        assert structron.load(place).task == "chunker"


def test_a_model_of_another_task_is_replaced_by_force_alone(run, refuses, files):
    model, train = files["model.structron"], ["--train", files["train.conll"], "--passes", "1"]
    before = model.read_bytes()
    refuses(
        "train",
        "tagger",
        *train,
        "--columns",
        "word,pos,chunk",
        "--label",
        "pos",
        "--model",
        model,
        says="is a chunker model; expected another name, or --force",
    )
    assert model.read_bytes() == before
    again = ["train", "chunker", *train, "--model", model]
    assert run(*again).status == 0
    assert run("train", "segments", *train, "--model", model, "--force").status == 0
    assert structron.load(model).task == "segments"


def test_other_outputs_replace_their_own_kind_only(run, refuses, files, tmp_path):
    """A log, a picture and labelled text: none of them takes the place of a model, nor the first two that of a text."""
    model, train, log = files["model.structron"], files["train.conll"], tmp_path / "log"
    given = ["train", "chunker", "--train", train, "--passes", "1", "--model", tmp_path / "m"]
    for kept in (model, files["templates.txt"]):
        refuses(*given, "--log", kept, says=f"--log {kept}: already exists and is not a log; expected another name")
    assert [run(*given, "--log", log).status for _ in range(2)] == [0, 0]
    assert log.read_text().count("\n") == 1
    log.write_text('{"pass": 1, "up')  # killed in the middle of its first line
    assert run(*given, "--log", log).status == 0
    refuses(
        "predict", model, train, "--output", tmp_path / "m", says="already exists and is a model; expected another name"
    )
    picture = write(tmp_path / "h.svg", "notes")
    refuses("inspect", tmp_path / "m", "--plot", picture, says="already exists and is not a picture")
    picture.unlink()
    assert [run("inspect", tmp_path / "m", "--plot", picture).status for _ in range(2)] == [0, 0]


def test_an_output_may_be_a_pipe(run, files, tmp_path):
    """To see what it is would take what is written to it, or wait for ever."""
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert run("predict", files["model.structron"], files["dev.conll"], "--output", pipe).status == 0
    reader.join(100)
    assert read[0].count(b"\n") == files["dev.conll"].read_bytes().count(b"\n")


def test_checkpoints_leave_the_files_of_others_alone(run, refuses, files, tmp_path):
    command = commands(files)[0][0]
    folder = tmp_path / "c"
    folder.mkdir()
    for name in ("state.structron", "best-1.structron", "BEST-2.structron"):
        refuses(*command, "--checkpoint", folder, "--model", folder / name, says="is also a file of --checkpoint")
        refuses(*command, "--checkpoint", folder, "--model", tmp_path / "m", "--log", folder / name, says="--log ")
    precious = write(folder / "best-7.structron", "mine")
    refuses(
        *command,
        "--checkpoint",
        folder,
        "--model",
        tmp_path / "m",
        says="contains best-7.structron, which is not part of a checkp",
    )
    precious.unlink()
    (folder / "parser").mkdir()
    pipeline = commands(files)[2][0]
    refuses(
        *pipeline,
        "--checkpoint",
        folder,
        "--model",
        tmp_path / "m",
        says="contains parser, which is not part of a checkpoint",
    )
    assert run(*command, "--checkpoint", folder, "--model", folder / "m", "--quiet").status == 0


def test_files_behind_standard_streams(files, monkeypatch):
    source, other = files["dev.conll"], files["train.conll"]
    with source.open("rb") as stream, other.open("ab") as out:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
        with pytest.raises(StructronError, match=r"--output .*: is also the input <stdin>"):
            places.check_places({"FILE": "-"}, {"--output": source})
        with pytest.raises(StructronError, match=r"standard output: is also the input .*train.conll"):
            places.check_places({"FILE": other}, {"--output": "-"})
        places.check_places({"FILE": "-"}, {"--output": "-"})
        places.check_places({"FILE": "-"}, {"--output": other})


@pytest.mark.parametrize("flag", ["--train", "--model", "--dev", "--log"])
def test_a_file_has_a_name(refuses, tmp_path, flag):
    given = {"--train": tmp_path / "train", "--model": tmp_path / "m", flag: ""}
    refuses("train", "chunker", *(text for pair in given.items() for text in pair), says="an empty name; expected a f")


def test_devices_may_be_named_twice():
    places.check_places({"FILE": "/dev/null"}, {"--output": "/dev/null", "--log": "/dev/null"})


def test_the_demo_leaves_other_files_alone(refuses, tmp_path):
    precious = write(tmp_path / "train.conll", "mine")
    refuses("demo", "--task", "tagger", "--out", tmp_path, says="contains other files; expected a new folder")
    assert precious.read_text() == "mine"


def test_the_pages_leave_other_files_alone(run, refuses, tmp_path, monkeypatch):
    """Pages and pictures of papers replace their own kind."""
    drawn = Picture("its table", "%")
    drawn.add("a row", 1.0, 2.0, (1.5, 2.5))
    paper = Experiment(
        "own2000", "Own (2000)", lambda *_: (), list, list, None, None, "own.py", picture=lambda _: drawn
    )
    monkeypatch.setattr(papers, "papers", lambda: ["own2000"])
    monkeypatch.setattr(papers, "experiment_of", lambda name: paper)
    folder = tmp_path / "w"
    (folder / "pictures").mkdir(parents=True)
    (tmp_path / "r").mkdir()
    given = ("papers", "--results", tmp_path / "r", "--write", folder)
    refuses(*given, says=[folder / "results.md", "cannot be read"])
    tables = write(folder / "results.md", "mine")
    refuses(*given, says=[f"{tables}: no place for the tables of own2000; expected the lines <!-- tables of own2000"])
    write(tables, "A page.\n<!-- tables of own2000 -->\n<!-- end of own2000 -->\n")
    mine = {folder / "papers.md": "a page that begins with '# What holds up'"}
    mine |= {folder / "pictures" / "paper-own2000.svg": "a picture"}
    for path, kind in mine.items():
        write(path, "# My papers\n")
        refuses(*given, says=f"--write {path}: already exists and is not {kind}; expected another name, or remove it")
        assert (path.read_text(), "Not run yet" in tables.read_text()) == ("# My papers\n", False)
        path.unlink()
    ledger = write(tmp_path / "r" / "other.json", "{}")
    (folder / "papers.md").symlink_to(ledger)
    refuses(*given, says=f"is also the input --results {ledger}")
    assert ledger.read_text() == "{}"
    (folder / "papers.md").unlink()
    ledger.unlink()
    for _ in range(2):
        assert run(*given).status == 0
        assert "## Own (2000)" in (folder / "papers.md").read_text()
        assert all(path.stat().st_size for path in mine)


def test_a_run_that_was_killed_before_its_first_state_is_resumed(run, refuses, files, tmp_path):
    """The best model of a pass is written before the state of that pass."""
    command, folder = commands(files)[0][0], tmp_path / "c"
    folder.mkdir()
    shutil.copy(files["model.structron"], folder / "best-1.structron")
    argv = [*command, "--checkpoint", folder, "--model", tmp_path / "m", "--quiet"]
    refuses(*argv, says="contains best-1.structron, which is not part of a checkpoint")
    assert run(*argv, "--resume").status == 0
