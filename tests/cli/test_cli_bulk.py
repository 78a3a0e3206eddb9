"""Many files: `predict` and `annotate` with --output-dir, stopped and started again, on processes and on Ray."""

import contextlib
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import deque
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from bulk_writers import Writer
from cli_helpers import Toy, write

import structron
from helpers import SOURCE, patiently
from structron.cli import annotate, bulk
from structron.cli.predict import output_name
from structron.cli.workers import FileTask, FileWorker, Order
from structron.errors import StructronError
from structron.io.exports import FORMATS
from structron.runtime.cluster import RayPool
from structron.runtime.processes import ProcessPool, WorkerPool, as_done
from toy import toy_docs


def fill(folder: Path, toy: Toy, count: int = 6, times: int = 1) -> Path:
    """Files of different content, every third one packed."""
    folder.mkdir(parents=True)
    sentences = Path(toy / "test.conll").read_text().strip().split("\n\n")
    for k in range(count):
        text = "\n\n".join(sentences[k % 50 : k % 50 + 10] * times) + "\n\n"
        if k % 3 == 2:
            write(folder / f"f{k}.conll.gz", gzip.compress(text.encode()))
        else:
            write(folder / f"f{k}.conll", text)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != bulk.NOTE}


# -- what is written -------------------------------------------------------------------------------------------------


def test_many_files_and_a_second_run(toy, run, tmp_path):
    source, out = fill(tmp_path / "in", toy), tmp_path / "out"
    args = ["predict", toy.chunker, source / "*.conll", source / "*.gz", source / "f1.conll", "--output-dir", out]
    found = run(*args)
    assert (found.status, found.out) == (0, "")
    assert found.err.startswith(f"{out}: 6 files written, ")
    assert sorted(contents(out)) == [f"f{k}.conll" for k in range(6)]
    for file in source.iterdir():
        one = run("predict", toy.chunker, file, "--jobs", "1")
        assert (out / output_name(file.name)).read_text() == one.out
    (out / "f4.conll").unlink()
    write(out / ".structron-0123456789abcdef.tmp", "half")
    before = contents(out)
    again = run(*args, "--jobs", "1")
    assert again.status == 0
    assert f"{out}: 5 of 6 files exist already\n{out}: 1 file written" in again.err
    assert contents(out).keys() == before.keys() - {".structron-0123456789abcdef.tmp"} | {"f4.conll"}
    assert run(*args).err == f"{out}: 6 of 6 files exist already\n"


def test_a_file_that_fails_is_reported_at_the_end(toy, run, tmp_path):
    source, out = fill(tmp_path / "in", toy, 3), tmp_path / "out"
    write(source / "a.conll", "one\ntwo words\n")
    write(source / "b.conll", b"\xff\xfe \xff O\n")
    args = ["predict", toy.chunker, source / "*", "--output-dir", out]
    found = run(*args)
    assert found.status == 1
    first, *errors = found.err.splitlines()
    assert first.startswith(f"{out}: 3 files written, 2 failed, ")
    assert errors[0].startswith(f"structron: error: {source / 'a.conll'}:")
    assert errors[1].startswith(f"structron: error: {source / 'b.conll'}:1: not valid")
    assert sorted(contents(out)) == ["f0.conll", "f1.conll", "f2.conll"]
    write(source / "a.conll", "The DT O\n")
    (source / "b.conll").unlink()
    assert run(*args).status == 0
    assert sorted(contents(out)) == ["a.conll", "f0.conll", "f1.conll", "f2.conll"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tmp_path_factory.mktemp("tokenizer") / "model"
    structron.Tokenizer(passes=2, runs=1).fit(toy_docs(30, 3)).save(model)
    return model


def test_texts(run, tokenizer, tmp_path):
    (tmp_path / "in").mkdir()
    text = "\n\n".join(doc.text for doc in toy_docs(5, 4))
    write(tmp_path / "in" / "a.txt", text)
    write(tmp_path / "in" / "b.txt.gz", gzip.compress(text.encode()))
    write(tmp_path / "in" / "c.7", text)
    args = ["annotate", "-m", tokenizer, tmp_path / "in" / "*", "--output-dir"]
    for format in ("conllu", "tokens"):
        ending, out = FORMATS[format].ending, tmp_path / format
        assert run(*args, out, "-f", format).status == 0
        one = run("annotate", "-m", tokenizer, tmp_path / "in" / "a.txt", "-f", format).out.encode()
        assert contents(out) == {f"{name}{ending}": one for name in ("a", "b", "c.7")}


def test_names_of_outputs():
    assert [output_name(name) for name in ("a.conll.gz", "a.conllu", "b.GZ")] == ["a.conll", "a.conllu", "b"]
    names = {
        "a.txt.gz": "a.x",
        "a.TXT": "a.x",
        "b.1": "b.1.x",
        "README": "README.x",
        "n.conllu": "n.x",
        ".txt": ".txt.x",
    }
    assert {name: annotate.output_name(name, ".x") for name in names} == names


# -- mistakes --------------------------------------------------------------------------------------------------------


def test_mistakes_touch_nothing(toy, refuses, tokenizer, tmp_path):
    source, out = fill(tmp_path / "in", toy, 3), tmp_path / "out"
    fill(tmp_path / "more", toy, 1)
    (tmp_path / "link").symlink_to(source)
    before = contents(source)
    args = ["predict", toy.chunker]
    for files, more, says in (
        ([source / "x*"], [], "x*: no files match; expected a pattern"),
        ([], [], "--output-dir: expected files"),
        (["-"], [], "-: standard input has no name"),
        ([source / "none.conll"], [], "none.conll: cannot be read (no such file)"),
        ([source], [], f"{source}: cannot be read (a folder)"),
        ([source / "*", tmp_path / "more" / "*"], [], f"both would become {out / 'f0.conll'}"),
        ([source / "f0.conll", tmp_path / "link" / "f0.conll"], [], "both would become"),
        ([source / "*"], ["-o", tmp_path / "o"], "--output: cannot be combined with --output-dir"),
        ([source / "*"], ["--nbest", "2", "--forced"], "--nbest: cannot be combined"),
    ):
        refuses(*args, *files, "--output-dir", out, *more, says=says)
        assert not out.exists()
    for folder in (source, tmp_path / "link", tmp_path / "more" / ".." / "in"):
        refuses(*args, source / "*", "--output-dir", folder, says=["would replace the input", "another --output-dir"])
    named = write(tmp_path / "f0.conll", Path(toy.chunker).read_bytes())
    refuses("predict", named, source / "f0.conll", "--output-dir", tmp_path, says="would replace the input")
    refuses(*args, source / "*", "--output-dir", tmp_path / "no" / "where", says="cannot be created (no such file")
    refuses(*args, source / "*", "--output-dir", source / "f1.conll", says="f1.conll")
    refuses(*args, source / "*.conll", says="2 files")
    refuses(*args, source / "f0.conll", "--ray", "auto", says="--ray: expected files and --output-dir")
    refuses("annotate", "-m", tokenizer, "--text", "x", "--output-dir", out, says="--text: cannot be combined")
    refuses("annotate", "-m", tokenizer, source / "*", "--output-dir", out, "-f", "xml", says="unknown format 'xml'")
    assert not out.exists()
    assert contents(source) == before


def test_a_cluster_that_is_not_there_touches_nothing(toy, refuses, tmp_path):
    pytest.importorskip("ray")
    source, out = fill(tmp_path / "in", toy, 1), tmp_path / "out"
    given = ["predict", toy.chunker, source / "*", "--output-dir", out, "--ray", "127.0.0.1:1"]
    refuses(*given, says="ray: 127.0.0.1:1: the cluster cannot be reached")
    assert not out.exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(toy, refuses, tmp_path):
    source, out = fill(tmp_path / "in", toy, 1), tmp_path / "out"
    out.mkdir(mode=0o500)
    refuses("predict", toy.chunker, source / "*", "--output-dir", out, says="no permission to write")


def test_a_folder_has_one_model_and_one_set_of_options(toy, run, refuses, tokenizer, tmp_path):
    source, out = fill(tmp_path / "in", toy, 2), tmp_path / "out"
    args = [source / "*", "--output-dir", out]
    assert run("predict", toy.chunker, *args).status == 0
    note = json.loads((out / bulk.NOTE).read_text())
    assert (note["command"], note["options"], note["version"]) == (
        "predict",
        {"confidence": False, "encoding": "utf-8", "forced": False},
        structron.__version__,
    )
    before = contents(out)
    same = write(tmp_path / "copy", Path(toy.chunker).read_bytes())
    assert run("predict", same, *args, "--jobs", "3").status == 0
    remedy = "expected the same model and options, or another folder"
    refuses("predict", toy.chunker, *args, "--confidence", says=["made differently (--confidence)", remedy])
    refuses("predict", toy.tagger, *args, "--columns", "a,b,c", says=["made differently (model, --columns)", remedy])
    refuses("annotate", "-m", tokenizer, *args, says=["made differently (structron predict)", remedy])
    assert contents(out) == before
    write(out / bulk.NOTE, "{")
    refuses("predict", toy.chunker, *args, says="damaged")
    (out / bulk.NOTE).unlink()
    refuses(
        "predict", toy.chunker, *args, says=["f0.conll: exists, and was not written by such a run", "move the file"]
    )
    assert contents(out) == before


def test_two_runs_in_one_folder(toy, refuses, tmp_path):
    source, out = fill(tmp_path / "in", toy, 1), tmp_path / "out"
    out.mkdir()
    with bulk._alone(out):
        refuses("predict", toy.chunker, source / "*", "--output-dir", out, says="another run is using it")
    assert contents(out) == {}


# -- killed ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_killed_ten_times_and_finished(toy, run, tmp_path):
    source, out = fill(tmp_path / "in", toy, 40, 100), tmp_path / "out"
    rng = random.Random(7)
    command = [sys.executable, "-m", "structron", "predict", toy.chunker, f"{source}/*", "--output-dir", str(out)]
    killed = 0
    for _ in range(10):
        there = len(list(out.glob("f*")))
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(list(out.glob("f*"))) <= there:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed >= 5
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    assert run("predict", toy.chunker, source / "*", "--output-dir", tmp_path / "undisturbed").status == 0
    assert contents(out) == contents(tmp_path / "undisturbed")


def test_processes_that_die(tmp_path):
    make = partial(FileWorker, Order(Writer, {"folder": str(tmp_path)}))
    check_deaths(ProcessPool(make, 2), tmp_path, ["dies 2", "dies 9"])


def check_deaths(pool: WorkerPool, folder: Path, mortal: list[str]) -> None:
    """Workers that die are replaced, and a file that kills three is given up; one that fails is not begun again."""
    files = ["well", "fails", *mortal, *(f"f{k}" for k in range(5))]
    tasks = [FileTask(str(folder / name), str(folder / f"{name}.out")) for name in files]
    with contextlib.closing(pool):
        found = {
            Path(task.file).name: str(future.exception() or "") or future.result()
            for task, future in as_done(pool, deque(tasks), bulk.TRIES)
        }
    assert {name for name, error in found.items() if error is None} == {*files} - {"fails", "dies 9"}
    assert found["fails"] == f"{folder / 'fails'}: KeyError: 'what' (perhaps a bug)"
    assert (folder / f"{mortal[0]}.out").read_text() == mortal[0]
    if "dies 9" in found:
        assert found["dies 9"] == "its process died (exit status -9)"
        assert (folder / "dies 9.times").read_text() == "xxx"


# -- Ray -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    """A Ray cluster of two workers."""
    ray = pytest.importorskip("ray")
    paths = os.pathsep.join([SOURCE, str(Path(__file__).parent)])  # workers import the writers of these tests
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", paths)
        patch.setenv("RAY_worker_niceness", "0")  # by default whatever else runs goes first
        patiently(lambda: ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False), ray.shutdown)
    yield ray
    ray.shutdown()


def test_the_same_on_ray(toy, run, refuses, cluster, tmp_path):
    source = fill(tmp_path / "in", toy, 4)
    write(source / "bad.conll", "one\ntwo words\n")
    args = ["predict", toy.chunker, source / "*"]
    refuses(*args, "--output-dir", tmp_path / "no", "--ray", "auto", "--jobs", "9", says="has 2 processors; expected")
    assert not (tmp_path / "no").exists()
    found = [
        run(*args, "--output-dir", tmp_path / "ray", "--ray", "auto"),
        run(*args, "--output-dir", tmp_path / "here"),
    ]
    assert [one.status for one in found] == [1, 1]
    assert found[0].err.splitlines()[1:] == found[1].err.splitlines()[1:]
    assert contents(tmp_path / "ray") == contents(tmp_path / "here")


def test_the_longest_sentence_is_known_on_ray(toy, run, cluster, tmp_path):
    source = fill(tmp_path / "in", toy, 1)
    args = ["predict", toy.chunker, source / "*", "--output-dir", tmp_path / "out", "--ray", "auto"]
    found = run(*args, "--max-sentence", 20)
    assert found.status == 1
    assert "a sentence of more than 20 characters" in found.err
    assert run(*args).status == 0


def test_actors_that_die(cluster, tmp_path):
    order = Order(Writer, {"folder": str(tmp_path)})
    check_deaths(RayPool(cluster, FileWorker, [(order,)] * 2), tmp_path, ["dies 1"])


def test_actors_that_cannot_start(cluster, monkeypatch, tmp_path):
    strange = type("Strange", (), {"__module__": "nowhere"})
    monkeypatch.setitem(sys.modules, "nowhere", ModuleType("nowhere"))
    monkeypatch.setattr(sys.modules["nowhere"], "Strange", strange, raising=False)
    pool = RayPool(cluster, FileWorker, [(Order(strange, {}),)] * 2)
    with (
        contextlib.closing(pool),
        pytest.raises(StructronError, match=r"ray: a worker could not start .*No module named 'nowhere'"),
    ):
        pool.start([0])


def test_without_ray(toy, refuses, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    source = fill(tmp_path / "in", toy, 1)
    args = ["predict", toy.chunker, source / "*", "--output-dir", tmp_path / "out", "--ray", "auto"]
    refuses(*args, says="ray: not installed")
    assert not (tmp_path / "out").exists()
