"""Help texts by task, what a shell completes, and what is said of where to read on."""

import re

import pytest
from cli_helpers import process

from structron.cli.help import defaults
from structron.cli.help.train import TASKS, TITLES
from structron.cli.options import COMPLETING, OPTIONS, flag_of
from structron.options import SECTIONS, options_of
from structron.tasks.capabilities import able
from structron.tasks.registry import TASKS as KINDS
from structron.tasks.registry import TRAINABLE

HEADS = "^({}):$"


def sections(text: str) -> dict[str, str]:
    """The text below each heading."""
    parts = re.split(rf"^({'|'.join(TITLES.values())}):\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_what_help_knows_is_what_the_classes_say():
    """`python -m structron.cli.help` brings the file up to date."""
    assert defaults.FILE.read_text(encoding="utf-8") == defaults.spelled(defaults.collect())


def test_help_of_train_lists_the_tasks(run):
    found = run("train", "--help")
    assert found.status == 0
    assert tuple(TASKS) == TRAINABLE
    for task, what in TASKS.items():
        assert re.search(rf"^  {task}  +{' '.join(what.split()[:3])}", found.out, re.MULTILINE)
    assert "--passes" not in found.out
    assert run("train", "-h") == found


@pytest.mark.parametrize("task", TRAINABLE)
def test_help_of_a_task_has_its_options_in_sections_with_defaults(run, task):
    found = run("train", task, "--help")
    assert found.status == 0
    assert TASKS[task] in " ".join(found.out.split())
    own = sections(found.out)
    assert list(own) == [TITLES[section] for section in SECTIONS if TITLES[section] in own]
    assert "--train FILE" in own["Data"]
    assert "--model OUT" in own["Output"]
    shown = set(re.findall(r"^  (?:-., )?(--[a-z-]+)", found.out, re.MULTILINE))
    for name in OPTIONS:
        if not able(KINDS[task], name):
            assert flag_of(name) not in shown, name
    for flag, what in defaults.RESTS_ON.items():
        assert (flag in shown) == able(KINDS[task], what)
    taken = {flag_of(name) for name in defaults.taken()[task].options}
    assert taken <= shown
    joined = " ".join(found.out.split())
    for name, option in defaults.taken()[task].options.items():
        if option.default and option.default not in ("on", "off") and "default:" not in OPTIONS[name][0].help:
            assert f"[default: {option.default}]" in joined


def test_defaults_that_depend_on_others_are_settled(run):
    shown = {task: " ".join(run("train", task, "-h").out.split()) for task in ("tagger", "joint", "entities")}
    assert "Update rule for inexact search. [default: laso]" in shown["joint"]
    assert "wins by more than C. [default: 50]" in shown["entities"]
    assert "Hypotheses that the search keeps; inf: all of them. [default: inf]" in shown["tagger"]
    assert "Hypotheses that the search keeps; inf: all of them. [default: 2]" in shown["joint"]


def test_research_comes_last_and_choices_are_those_of_the_task(run):
    text = run("train", "chunker", "-h").out
    assert "--average mean|none|voted" in text
    assert list(sections(text))[-1] == "Research"
    assert "--swvp" in sections(text)["Research"]
    assert "--average mean|none " in run("train", "parser", "-h").out
    assert "--among seen" in run("train", "lemmatizer", "-h").out


def test_every_option_has_a_section():
    for kind in defaults.option_groups().values():
        assert kind.section in SECTIONS
        assert {option.section for option in options_of(kind).values()} <= {*SECTIONS, ""}


@pytest.mark.parametrize("command", ["annotate", "predict", "evaluate", "inspect", "demo", "precompile", "experiment"])
def test_short_flag_of_help(run, command):
    assert run(command, "-h") == run(command, "--help")
    assert "-h, --help" in run(command, "-h").out


def test_mistakes_name_the_help_of_the_task(refuses):
    refuses("train", "parser", "--train", "x", says="see structron train parser --help")
    refuses("train", "tagger", "--beam", "x", "--train", "t", "--model", "m", says="see structron train tagger --help")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("train gr", ["graph-parser"]),
        ("train tagger --upd", ["--update"]),
        ("train graph-parser --upd", []),
        ("train tokenizer --col", []),
        ("train chunker --average v", ["voted"]),
        ("train parser --update la", ["latest", "laso", "laso-literal"]),
        ("precompile tok", ["tokenizer"]),
        ("eval", ["evaluate"]),
        ("evaluate --er", ["--errors"]),
    ],
)
def test_what_a_shell_completes(run, monkeypatch, line, expected):
    import os

    words = ["structron", *line.split()]
    environment = {COMPLETING: "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    found = process(env={**os.environ, **environment})
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == expected
