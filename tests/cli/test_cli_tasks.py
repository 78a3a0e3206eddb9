"""The table of capabilities cell by cell: what it grants works from the command line, what it denies is refused."""

from pathlib import Path

import pytest
from cli_helpers import Toy, write

from structron.cli import main
from structron.data.toy_english import toy_english, write_conll, write_conllu
from structron.tasks.capabilities import ROWS, able, reason
from structron.tasks.registry import TASKS, TRAINABLE

QUICK = ["--passes", "1", "--quiet"]
VALUES = {
    "--beam": "2",
    "--update": "early",
    "--alma": "0.9",
    "--margin": "5",
    "--swvp": "b-wm",
    "--runs": "2",
    "--bpm": "1",
    "--tag-dictionary": "2",
    "--non-local": "phrase",
}
EXACT = ("--beam", "--update", "--merge", "--alma", "--swvp", "--average voted")
"""What does not go with features of documents, which entities have by default."""
TRAINING = [title for title in ROWS if title.startswith("--")]
USING = [title for title in ROWS if not title.startswith("--")]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A few sentences in both formats, and a model of every task."""
    found = Toy(tmp_path_factory.mktemp("tasks"))
    corpus = toy_english(12, seed=3)
    write_conll(found / "a.conll", corpus)
    write_conllu(found / "a.conllu", corpus)
    write(Path(found / "names"), "Ann\n")
    write(Path(found / "tokens"), "w[0]\n")
    write(Path(found / "stack"), "s0.w\n")
    for task in TRAINABLE:
        assert main(["train", task, "--train", data(found, task), "--model", found / task, *QUICK]) == 0
    return found


def data(folder: Toy, task: str) -> str:
    return folder / ("a.conllu" if task.endswith("parser") else "a.conll")


@pytest.mark.parametrize("title", TRAINING)
@pytest.mark.parametrize("task", TRAINABLE)
def test_training(run, refuses, models, tmp_path, task, title):
    flag, *value = title.split()
    files = {"--templates": models / ("stack" if task == "parser" else "tokens"), "--warm-start": models / task}
    given = {**VALUES, **files, "--gazetteer": f"PER={models / 'names'}"}
    value = value or ([given[flag]] if flag in given else [])
    argv = ["train", task, "--train", data(models, task), "--model", tmp_path / "m", *QUICK, flag, *value]
    if able(TASKS[task], ROWS[title]):
        found = run(*argv, *(["--non-local", "none"] if task == "entities" and title in EXACT else []))
        assert found.status == 0, found.err
        assert run("predict", tmp_path / "m", data(models, task)).status == 0
    elif value != ["voted"]:
        refuses(*argv, says=[f"{flag}: not available for the {task} ({reason(TASKS[task], ROWS[title])})"])
    else:
        refuses(*argv, says=["average: voted: not available for the", reason(TASKS[task], ROWS[title])])


@pytest.mark.parametrize("title", USING)
@pytest.mark.parametrize("task", TRAINABLE)
def test_using(run, refuses, models, task, title):
    command, *flag = title.split()
    sentence = {"tagger": "Ann/NNP ran/VBD", "joint": "Ann ran"}.get(task, "Ann/NNP ran/VBD")
    value = {"--nbest": ["2"], "--jobs": ["2"], "--sentence": [sentence]}.get(title.split()[-1], [])
    argv = [command, models / task, *([data(models, task)] if command == "predict" else []), *flag, *value]
    if able(TASKS[task], ROWS[title]):
        found = run(*argv)
        assert found.status == 0, found.err
        assert found.out
        if flag == ["--nbest"]:
            assert found.out.startswith("# nbest = 1\n# score = ")
    else:
        refuses(*argv, says=[f"{flag[0]}: not available for the {task} ({reason(TASKS[task], ROWS[title])})"])
