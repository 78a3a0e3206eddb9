"""Estimators in other processes: pickled, spawned, forked; and in a container's conditions."""

import copy
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import structron
from estimators import CASES, fitted
from structron.tasks.registry import TASKS, TRAINABLE
from torture.frame import environment, without_privileges
from toy import chunk_rows, toy_docs

PACKAGE = Path(structron.__file__).parent
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")


@pytest.mark.parametrize("task", TRAINABLE)
def test_untrained_estimators_are_pickled(task):
    again = pickle.loads(pickle.dumps(TASKS[task]()))
    assert again.get_params() == TASKS[task]().get_params()


def test_default_templates_are_pickled():
    """Those of the joint tagger ask for guesses by a function of its own."""
    rows = chunk_rows(40, 0)
    model = structron.JointTagger(passes=1, runs=1).fit(rows[:30])
    want = model.predict(rows[30:])
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.predict(rows[30:]) == want


def predicted(model, inputs):
    return model.predict(inputs)


@pytest.mark.parametrize("way", ["spawn", pytest.param("fork", marks=posix)])
def test_other_processes_predict_the_same(way):
    with multiprocessing.get_context(way).Pool(1) as pool:
        for name in ("chunker", "joint", "parser"):
            inputs = CASES[name].inputs[:3]
            assert pool.apply(predicted, (fitted(name), inputs)) == fitted(name).predict(inputs)


def test_documents_are_pickled():
    doc = toy_docs(8, 3)[0]
    assert pickle.loads(pickle.dumps(doc)).to_conllu() == doc.to_conllu()


@pytest.fixture
def image(tmp_path):
    """The package as an image of a container holds it: with its kernels, and nothing of it can be written to."""
    package = tmp_path / "image" / "structron"
    shutil.copytree(PACKAGE, package, copy_function=os.link)
    folders = [package.parent, package, *(path for path in package.rglob("*") if path.is_dir())]
    for folder in folders:
        os.chmod(folder, 0o555)
    yield package.parent
    for folder in folders:
        os.chmod(folder, 0o755)


@posix
def test_a_container(image, tmp_path):
    """Not root, a read-only package, no home, one folder of one's own: the conditions of the Dockerfile."""
    (tmp_path / "data").mkdir()
    model, text = tmp_path / "data" / "m", tmp_path / "data" / "t.conll"
    rows = "".join("".join(" ".join(row) + "\n" for row in sentence) + "\n" for sentence in chunk_rows(30, 0))
    text.write_text(rows)
    env = environment(PYTHONPATH=str(image), PYTHONDONTWRITEBYTECODE="1", NUMBA_CACHE_DIR="")
    env |= {name: str(image) for name in ("HOME", "XDG_CACHE_HOME")}
    for argv in (
        ["train", "chunker", "--train", text, "--model", model, "--passes", "1", "--quiet"],
        ["predict", model, text, "--output", tmp_path / "data" / "out"],
    ):
        command = [sys.executable, "-m", "structron", *map(str, argv)]
        options = {"cwd": tmp_path / "data", "env": env, "preexec_fn": without_privileges}
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800, **options)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "data" / "out").read_text().count("\n") == rows.count("\n")
    assert structron.load(model).task == "chunker"
