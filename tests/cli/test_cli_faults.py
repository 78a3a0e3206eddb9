"""Disks, streams and signals that fail: a side output costs no training, and an error names what failed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import process, write

import structron
from structron.cli import places, train
from structron.errors import StructronError
from structron.io import modelfile, text
from structron.learn.checkpoint import STATE_FILE
from structron.runtime.progress import Progress
from torture.faults import ENDLESS, LIMITED, begun
from torture.frame import command, environment

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
HEAD = "2>&1 | head -1 >/dev/null; exit ${PIPESTATUS[0]}"
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")


def given(toy, model, *more):
    files = ["--train", toy / "train.conll", "--dev", toy / "dev.conll"]
    return ["train", "chunker", *files, "--model", model, "--passes", "2", "--runs", "1", *more]


# -- every output is tried first -----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--model", "--log", "--checkpoint"])
def test_outputs_that_cannot_be_made_are_found_before_training(refuses, toy, tmp_path, monkeypatch, option):
    def untouched(*given, **options):
        raise AssertionError("training has begun")

    monkeypatch.setattr(train, "_fresh", untouched)
    for name, says in (
        ("x" * 300, "file name too long"),
        ("no/such/folder/m", "" if option == "--checkpoint" else "no folder"),
        ("file/m", "no folder" if option != "--checkpoint" else "not a directory"),
    ):
        write(tmp_path / "file", "")
        if option == "--checkpoint" and says == "":
            continue  # it is made
        others = [] if option == "--model" else ["--model", tmp_path / "m"]
        argv = [toy / "train.conll" if one is None else one for one in ("train", "chunker", "--train", None, *others)]
        refuses(*argv, option, tmp_path / name, says=[])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@posix
@pytest.mark.parametrize("option", ["--model", "--log", "--checkpoint"])
def test_folders_that_take_no_files_are_found_before_training(refuses, toy, tmp_path, monkeypatch, option):
    """Read-only and full file systems give every permission, and then an error."""
    place = tmp_path / "folder"
    place.mkdir()
    real = text.secrets.token_hex
    monkeypatch.setattr(text.secrets, "token_hex", lambda n: "missing/" + real(n) if n == 8 else real(n))
    target = place if option == "--checkpoint" else place / "f"
    others = [] if option == "--model" else ["--model", "/dev/null"]
    refuses("train", "chunker", "--train", toy / "train.conll", *others, option, target, says=f"{target}: could not be")


def test_a_model_needs_room(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(text.os, "fsync", full)
    places.check_output(tmp_path / "log")
    with pytest.raises(StructronError, match=r"m: .*no space left"):
        places.check_output(tmp_path / "m", train.DISK_SPACE)
    assert list(tmp_path.iterdir()) == []


@needs_full
@pytest.mark.parametrize("task", ["chunker", "pipeline"])
def test_a_full_log_costs_no_training(run, toy, tmp_path, task):
    more = ["--passes", "2", "--runs", "1"] if task == "chunker" else ["--without", "parser"]
    data = toy / ("train.conll" if task == "chunker" else "test.conllu")
    found = run("train", task, "--train", data, "--model", tmp_path / "m", "--log", FULL, "--quiet", *more)
    says = "structron: warning: /dev/full: the log cannot be written (no space left on device); training continues\n"
    assert (found.status, found.err) == (0, says)
    assert structron.load(tmp_path / "m").task == task


@pytest.mark.parametrize("task", ["chunker", "pipeline"])
def test_a_full_disk_under_checkpoints_costs_no_training(run, toy, tmp_path, monkeypatch, task):
    real, state = modelfile.save, tmp_path / "c"

    def full(path, *given, **options):
        if state in Path(path).parents:
            raise StructronError(f"{path}: could not be written (no space left on device)")
        real(path, *given, **options)

    monkeypatch.setattr(modelfile, "save", full)
    more = ["--passes", "2", "--runs", "1"] if task == "chunker" else ["--without", "parser"]
    data = toy / ("train.conll" if task == "chunker" else "test.conllu")
    found = run("train", task, "--train", data, "--model", tmp_path / "m", "--checkpoint", state, "--quiet", *more)
    assert found.status == 0
    assert found.err.count("\n") == 1
    assert found.err.startswith("structron: warning: no checkpoint")
    assert found.err.endswith("(no space left on device); training continues\n")
    assert structron.load(tmp_path / "m").task == task


def test_a_model_whose_place_fails_at_the_end_is_rescued(run, toy, tmp_path, monkeypatch):
    real = modelfile.save

    def full(path, *given, **options):
        if Path(path) == tmp_path / "m":
            raise StructronError(f"{path}: could not be written (no space left on device)")
        real(path, *given, **options)

    monkeypatch.setattr(modelfile, "save", full)
    monkeypatch.setattr(train.tempfile, "tempdir", str(tmp_path))
    found = run(*given(toy, tmp_path / "m", "--quiet"))
    (kept,) = tmp_path.glob("rescued-*.structron")
    assert found.status == 2
    assert found.err == (
        f"structron: error: {tmp_path / 'm'}: could not be written (no space left on device); the model is in {kept}\n"
    )
    assert structron.load(kept).task == "chunker"


# -- streams -------------------------------------------------------------------------------------------------------


def shell(line: str, *argv: object, **options) -> subprocess.CompletedProcess:
    """A command in a shell: `$0` and on are its words."""
    script = line.replace("structron", '"$@"')
    whole = ["bash", "-c", script, "bash", *command(*argv)]
    buffered = environment(PYTHONUNBUFFERED="")
    return subprocess.run(whole, capture_output=True, timeout=300, check=False, env=buffered, **options)


@posix
@needs_full
@pytest.mark.parametrize(
    "end", ["2>&-", "2>/dev/full", "2>&1 | head -1 >/dev/null; exit ${PIPESTATUS[0]}", ">&-", "<&-"]
)
def test_streams_that_fail_cost_no_training(toy, tmp_path, end):
    done = shell(f"structron {end}", *given(toy, tmp_path / "m"))
    assert done.returncode == 0, done
    assert structron.load(tmp_path / "m").task == "chunker"


@posix
@needs_full
@pytest.mark.parametrize(
    ("end", "says"),
    [
        (">&-", "standard output: could not be written (it is closed)"),
        (">/dev/full", "standard output: could not be written (no space left on device)"),
    ],
)
def test_errors_name_standard_output(toy, end, says):
    for argv in (
        ["predict", toy.chunker, toy / "test.conll"],
        ["evaluate", toy.chunker, toy / "test.conll"],
        ["inspect", toy.chunker, "--json"],
        ["--help"],
    ):
        done = shell(f"structron {end}", *argv)
        assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), (argv, done)
        assert done.stderr.decode().startswith(f"structron: error: {says}")


@posix
def test_errors_name_standard_input(toy):
    done = shell("structron <&-", "predict", toy.chunker)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), done
    assert done.stderr.startswith(b"structron: error: <stdin>: cannot be read (standard input is closed)")


@posix
def test_what_is_meant_for_a_closed_stream_goes_nowhere_else(toy, tmp_path):
    """Files that are opened take the free numbers; Python prints on standard output what standard error would get."""
    done = shell("structron 2>&- <&-", *given(toy, tmp_path / "m"))
    assert (done.returncode, done.stdout) == (0, b"")
    done = shell("structron 2>&-", "predict", toy.chunker, tmp_path / "missing")
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_stream_that_was_closed_costs_nothing(tmp_path):
    with open(tmp_path / "f", "w") as stream:
        pass
    progress = Progress(show=True, stream=stream)
    progress.note("to nobody")
    progress.close()


# -- signals -------------------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_signals_save_the_best_model(toy, tmp_path, name):
    number = getattr(signal, name)
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("ignored here, as under nohup, and by what is started here")
    running = begun(*given(toy, tmp_path / "m", *ENDLESS))
    running.send_signal(number)
    try:
        _, errors = running.communicate(timeout=300)
    finally:
        running.kill()
    assert running.returncode == 128 + number
    assert "interrupted: the best model so far (pass " in errors
    model = structron.load(tmp_path / "m")
    assert model.stopped_ == "interrupted"
    assert model.history_


@posix
def test_nohup_is_obeyed(toy, tmp_path):
    running = begun(
        *given(toy, tmp_path / "m", *LIMITED), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    running.send_signal(signal.SIGHUP)
    running.communicate(timeout=300)
    assert running.returncode == 0


# -- what killed runs leave ----------------------------------------------------------------------------------------


def left_over(folder: Path) -> Path:
    return write(folder / f".structron-{'0' * 16}.tmp", "half a model")


@pytest.mark.parametrize("argv", ["train", "predict"])
def test_the_next_run_cleans_up(run, toy, tmp_path, argv):
    (tmp_path / "c").mkdir()
    left = [left_over(tmp_path), *([left_over(tmp_path / "c")] if argv == "train" else [])]
    if argv == "train":
        assert run(*given(toy, tmp_path / "m", "--checkpoint", tmp_path / "c", "--quiet")).status == 0
        assert (tmp_path / "c" / STATE_FILE).exists()
    else:
        assert run("predict", toy.chunker, toy / "test.conll", "-o", tmp_path / "out").status == 0
    assert not any(path.exists() for path in left)


@posix
def test_what_others_are_writing_stays(tmp_path):
    """Runs that write into one folder leave each other's unfinished files alone."""
    with text.open_output(tmp_path / "one") as out:
        out.write("one")
        left = left_over(tmp_path)
        text.sweep(tmp_path)
        assert not left.exists()
        text.atomic_write_bytes(tmp_path / "two", b"two")
        done = process("--version")
        assert done.returncode == 0
    code = f"from structron.io.text import sweep; sweep({str(tmp_path)!r})"
    with text.open_output(tmp_path / "three") as out:
        out.write("three")
        subprocess.run([sys.executable, "-c", code], check=True, env=environment())
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "one": "one",
        "two": "two",
        "three": "three",
    }


@posix
def test_a_file_that_was_swept_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    real, swept = text._locked, []

    def late(descriptor, wait):
        if wait and not swept:
            swept.extend(tmp_path.iterdir())
            text.sweep(tmp_path)
        return real(descriptor, wait)

    monkeypatch.setattr(text, "_locked", late)
    text.atomic_write_bytes(tmp_path / "m", b"whole")
    assert len(swept) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"m": b"whole"}


def test_a_file_that_is_mounted_is_filled(tmp_path, monkeypatch):
    """A container's volume may be one file, which nothing can replace."""

    def busy(one, other):
        raise OSError(16, "Device or resource busy", other)

    place = write(tmp_path / "m", "old")
    monkeypatch.setattr(text.os, "replace", busy)
    text.atomic_write_bytes(place, b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"m": b"new"}
