"""Options of commands come from the fields of the estimators: what commands get, and what is refused in one line."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from structron.cli import capabilities, evaluate, main, predict, train
from structron.cli.options import OPTIONS, flag_of
from structron.fields import options_of
from structron.tasks.capabilities import ABILITIES, ROWS, able, able_tasks, reason, table
from structron.tasks.registry import OWN, TASKS, TRAINABLE

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide.md"
TRAIN = ["train", "tagger", "--train", "t", "--model", "m"]
CHUNKER = ["train", "chunker", *TRAIN[2:]]
FLAGS = """--train --model --dev --format --columns --label --encoding --pos --unlabelled --nonprojective --skip-invalid
--order --beam --update --alma --margin --swvp --beta --merge --no-merge --check-violations --passes --runs --average
--cutoff --seed --templates --patience --stop-change --bpm --prune --tag-dictionary --longest --forbid --constrain
--no-constrain --gazetteer --clusters --lexicon --inner --non-local --candidates --test-candidates --local-update
--local-margin --projective --no-projective --single-root --many-roots --grandparents --no-grandparents --keep-heads
--warm-start --checkpoint --resume --log --jobs --shards --mix --ray --quiet --verbose"""


@pytest.fixture
def given(monkeypatch):
    """Run a command whose work is only to say what it was given."""

    def command(*argv: str) -> dict:
        found: dict = {}
        for module in (train, predict, evaluate):
            monkeypatch.setattr(module, "run", lambda **options: found.update(options))
        assert main(list(argv)) == 0
        return found

    return command


@pytest.mark.parametrize("argv", ["--help", "-h", "train --help", "train parser -h", "predict -h", ""])
def test_help_needs_neither_numpy_nor_numba(argv):
    code = (
        "import sys; from structron.cli.app import main; status = main(sys.argv[1:]); "
        "sys.exit(status or int(bool({'numpy', 'numba', 'sklearn'} & set(sys.modules))))"
    )
    found = subprocess.run([sys.executable, "-c", code, *argv.split()], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "Usage: structron" in found.stdout


def test_help_of_the_tasks_names_every_option(run):
    shown = {flag for task in TRAINABLE for flag in re.findall(r"--[a-z-]+[a-z]", run("train", task, "--help").out)}
    assert set(FLAGS.split()) <= shown
    assert {flag_of(name) for name in OPTIONS} <= shown
    assert not {"--shuffle", "--jj", "--bits", "--atoms", "--cost"} & shown


def test_every_option_of_a_task_is_one_of_the_command_line():
    for task in TRAINABLE:
        own = {name for name, option in options_of(TASKS[task]).items() if option.flag is not None}
        assert own <= OPTIONS.keys(), task
    assert {name for task in TRAINABLE for name in options_of(TASKS[task])} >= OPTIONS.keys()


@pytest.mark.parametrize(
    ("task", "argv", "expected"),
    [
        ("tagger", "", {}),
        ("tagger", "--margin 500 --bpm 3 --stop-change 1e-4", {"margin": 500.0, "bpm": 3, "stop_change": 1e-4}),
        ("tagger", "--margin none --alma none", {"margin": None, "alma": None}),
        ("tagger", "--swvp none --beam inf", {"swvp": None, "beam": None}),
        ("tagger", "--beam 007 --alma 0.9 --swvp b-wmr", {"beam": 7, "alma": 0.9, "swvp": "b-wmr"}),
        ("tagger", "--update laso --average voted", {"update": "laso", "average": "voted"}),
        ("chunker", "--local-update none --local-margin 0", {"local_update": "none", "local_margin": 0.0}),
        ("parser", "--unlabelled --check-violations", {"labelled": False, "check": True}),
        ("chunker", "--merge --no-constrain", {"merge": True, "constrain": False}),
        ("parser", "--no-merge --compact", {"merge": False, "compact": True}),
        ("graph-parser", "--many-roots --no-projective", {"single_root": False, "projective": False}),
        ("graph-parser", "--single-root --order 1", {"single_root": True, "order": 1}),
        ("pipeline", "--fast --lines", {"fast": True, "lines": True}),
        ("pipeline", "--without parser,tagger --no-compact", {"without": ["parser", "tagger"], "compact": False}),
        ("chunker", "--non-local phrase,conjunction --non-local phrase", {"non_local": ["phrase", "conjunction"]}),
        ("chunker", "--non-local none", {"non_local": []}),
        ("tagger", "--gazetteer A=x --gazetteer B=y= --gazetteer A=w", {"gazetteers": {"A": ["x", "w"], "B": ["y="]}}),
        ("entities", "--templates w[0] --inner bilou --label x", {"templates": "w[0]", "inner": "bilou", "label": "x"}),
        ("tagger", "--label -LRB-", {"label": "-LRB-"}),
    ],
)  # fmt: skip
def test_what_train_gets(given, task, argv, expected):
    """What is not given is left to the task, which may stand before options or after them."""
    files = ["--train", "t", "--model", "m"]
    for line in (["train", task, *files, *argv.split()], ["train", *files, *argv.split(), task]):
        found = given(*line)
        assert found["settings"] == expected
        assert (found["task"], found["train"], found["model"], found["quiet"]) == (task, "t", Path("m"), False)


def test_labels_in_pairs(given):
    argv = ["--forbid", "A B", "--forbid", " O  I-NP "]
    assert given(*TRAIN, *argv)["settings"] == {"forbid": [("A", "B"), ("O", "I-NP")]}


def test_what_predict_and_evaluate_get(given):
    found = given("predict", "m", "f", "--nbest", "5", "--test-candidates", "400", "--beam", "inf", "--jobs", "2")
    assert (found["model"], found["files"], found["nbest"]) == (Path("m"), ["f"], 5)
    assert found["settings"] == {"test_candidates": 400, "beam": None, "jobs": 2}
    assert given("predict", "m")["settings"] == {}
    assert "files" not in given("predict", "m")
    assert given("evaluate", "m", "f", "--test-candidates", "7")["settings"] == {"test_candidates": 7}


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("dance", "dance"),
        ("train", "TASK"),
        ("train tagger --model m", "--train"),
        *((f"{' '.join(CHUNKER)} {option}", says) for option, says in {
            "--average median": "expected one of: mean, none, voted",
            "--update late": "expected one of: standard, early, max-violation",
            "--swvp c-wm": "a-wmr, b-wmr, or none",
            "--order 3": "expected a whole number of at least 1 and at most 2",
            "--passes 0": "expected a whole number of at least 1",
            "--stop-change 0": "0: expected a number above 0, or none; see",
            "--margin inf": "inf: expected a number of at least 0, or none; see",
            "--beam 0": "expected a whole number of at least 1 and at most 1000, or inf",
            "--beam ²": "expected a whole number",
            "--alma 0": "expected a number above 0 and at most 1, or none",
            "--non-local none,phrase": "expected names",
            "--gazetteer LOC": "TYPE=FILE",
            "--forbid A": "expected a label and a next label",
        }.items()),
        ("predict m --jobs 0", "of at least 1"),
        ("predict m --nbest 0", "--nbest"),
        ("predict m --beam none", "or inf"),
        ("evaluate m f --test-candidates 0", "of at least 1"),
        ("inspect m --top many", "--top"),
    ],
)  # fmt: skip
def test_usage_errors(refuses, argv, says):
    refuses(*argv.split(), says=[says, "--help"])


# -- what a task can do --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TRAINABLE)
def test_options_that_a_task_does_not_take(refuses, task):
    """The line says why, if the task does, and names the tasks that take it."""
    for name in (name for name in OPTIONS if not able(TASKS[task], name) and OPTIONS[name].kind == "whole"):
        others = f"works with {', '.join(able_tasks(name))}"
        says = [f"{flag_of(name)}: not available for the {task}", reason(TASKS[task], name), others]
        refuses("train", task, "--train", "t", "--model", "m", flag_of(name), "2", says=says)


@pytest.mark.parametrize("task", TRAINABLE)
def test_every_cell_of_the_table_is_yes_or_has_its_reason(task):
    kind = TASKS[task]
    assert [what for what in ROWS.values() if not able(kind, what) and not reason(kind, what)] == []
    known = {*ABILITIES, *(name for other in TRAINABLE for name in options_of(TASKS[other]))}
    assert {what.partition(" ")[0] for what in kind.lacks} <= known


def printed(capsys, monkeypatch, width: int) -> dict[str, str]:
    """The rows of the table on a terminal, by their titles; what goes on in the next line belongs to them."""
    monkeypatch.setenv("COLUMNS", str(width))
    capsys.readouterr()
    capabilities.print_for_people()
    found: dict[str, str] = {}
    for line in capsys.readouterr().out.splitlines()[1:]:
        title, cells = line[:22].strip(), line[22:].strip()
        title = title or list(found)[-1] if cells else title
        found[title] = f"{found.get(title, '')} {cells}".strip()
    return found


@pytest.mark.parametrize("width", [80, 160])
def test_table_of_capabilities_on_a_terminal(capsys, monkeypatch, width):
    cells = printed(capsys, monkeypatch, width)["--beam"]
    if width < 100:
        assert cells == ", ".join(able_tasks("beam"))
    else:
        assert cells.count("yes") == len(able_tasks("beam"))


def test_table_of_capabilities(run, refuses, tmp_path):
    lines = table().splitlines()
    assert lines[0] == f"| | {' | '.join(TRAINABLE)} |"
    assert [line.split("`")[1] for line in lines if line.startswith("| `")] == list(ROWS)
    assert run("capabilities").out == f"{table()}\n"
    file = tmp_path / "a.md"
    refuses("capabilities", "--write", file, says=[file, "cannot be read"])
    file.write_text("before\n")
    refuses("capabilities", "--write", file, says=[file, "nowhere to put the table"])
    file.write_text("before\n<!-- capabilities: begin -->\nold\n<!-- capabilities: end -->\nafter\n")
    assert run("capabilities", "--write", file).status == 0
    assert file.read_text() == capabilities.renewed(file.read_text(), "")
    assert "old" not in file.read_text()
    assert file.read_text().startswith("before\n<!--")


def test_table_in_the_guide_is_up_to_date():
    """`structron capabilities --write docs/guide.md` brings it up to date."""
    assert GUIDE.read_text() == capabilities.renewed(GUIDE.read_text(), GUIDE.name)


def test_tasks_by_name(refuses):
    assert all(TASKS[task].task == task for task in TASKS)
    for task in (*OWN, "graph-parsers", "poet"):
        refuses("train", task, "--train", "t", "--model", "m", says=[repr(task), "tagger, chunker"])
