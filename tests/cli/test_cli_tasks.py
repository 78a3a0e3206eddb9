"""What tasks can do, from the command line: every training option with one task that takes it, every use with all.

The contract goes through the table of capabilities cell by cell.
"""

from pathlib import Path

import pytest
from cli_helpers import Toy, write

from structron.cli import main
from structron.data.toy_english import toy_english, write_conll, write_conllu
from structron.tasks.capabilities import ROWS, able, able_tasks, reason
from structron.tasks.registry import TASKS, TRAINABLE

QUICK = ["--passes", "1", "--quiet"]
TRAINING = [title for title in ROWS if title.startswith("--")]
TEXTS = [task for task in TRAINABLE if TASKS[task].texts]
USING = [title for title in ROWS if not title.startswith("--")]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A few sentences in both formats, and a model of every task."""
    found = Toy(tmp_path_factory.mktemp("tasks"))
    corpus = toy_english(12, seed=3)
    write_conll(found / "a.conll", corpus)
    write_conllu(found / "a.conllu", corpus, lemmas=True)
    write(Path(found / "a.txt"), "Ann ran. It rained.\n")
    write(Path(found / "names"), "Ann\n")
    write(Path(found / "templates"), "w[0]\n")
    write(Path(found / "clusters"), "Ann\t01\nran\t11\n")
    write(Path(found / "lexicon"), "Ann\tAnn\tPROPN\nran\trun\tVERB\n")
    for task in TRAINABLE:
        quick = QUICK if able(TASKS[task], "passes") else ["--quiet"]
        assert main(["train", task, "--train", data(found, task), "--model", found / task, *quick]) == 0
    return found


def data(folder: Toy, task: str) -> str:
    return folder / ("a.conllu" if task.endswith("parser") or task in (*TEXTS, "lemmatizer") else "a.conll")


@pytest.mark.parametrize(("number", "title"), list(enumerate(TRAINING)), ids=TRAINING)
def test_training(run, models, tmp_path, number, title):
    tasks = [task for task in able_tasks(ROWS[title]) if task not in ("entities", "parser", *TEXTS)]
    task = tasks[number % len(tasks)] if tasks else able_tasks(ROWS[title])[0]
    values = {"--beam": "2", "--update": "early", "--alma": "0.9", "--margin": "5", "--swvp": "b-wm", "--runs": "2"}
    values |= {
        "--bpm": "1",
        "--shards": "2",
        "--tag-dictionary": "2",
        "--non-local": "phrase",
        "--templates": models / "templates",
    }
    values |= {
        "--warm-start": models / task,
        "--gazetteer": f"PER={models / 'names'}",
        "--clusters": models / "clusters",
        "--lexicon": models / "lexicon",
        "--open-label": "?",
    }
    given = [*title.split(), *([values[title]] if title in values else [])]
    found = run("train", task, "--train", data(models, task), "--model", tmp_path / "m", *QUICK, *given)
    assert found.status == 0, found.err
    assert run("predict", tmp_path / "m", data(models, task)).status == 0


@pytest.mark.parametrize("title", USING)
@pytest.mark.parametrize("task", TRAINABLE)
def test_using(run, refuses, models, task, title):
    command, *flag = title.split()
    sentence = {"joint": "Ann ran", "lemmatizer": "Ann/PROPN/NNP/_ ran/VERB/VBD/_"}.get(task, "Ann/NNP ran/VBD")
    value = {"--nbest": ["2"], "--jobs": ["2"], "--sentence": [sentence]}.get(title.split()[-1], [])
    argv = [command, models / task, *([data(models, task)] if command == "predict" else []), *flag, *value]
    if able(TASKS[task], ROWS[title]) or (task, title) == ("pipeline", "inspect"):  # it lists its parts
        if task in TEXTS and command == "predict":
            argv = ["annotate", models / "a.txt", "-m", models / task, *flag, *value]
        found = run(*argv)
        assert found.status == 0, found.err
        assert found.out
        if flag == ["--nbest"]:
            assert found.out.startswith("# nbest = 1\n# score = ")
    else:
        refuses(
            *argv, says=[f"{[command, *flag][-1]}: not available for the {task} ({reason(TASKS[task], ROWS[title])})"]
        )
