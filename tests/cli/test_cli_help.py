"""Help texts by task, what a shell completes, and what is said of where to read on."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from cli_helpers import process

from helpers import ROOT
from structron.cli.command import RESTS_ON
from structron.cli.commands import app
from structron.cli.completion import VARIABLE
from structron.cli.options import OPTIONS, flag_of
from structron.fields import SECTIONS, options_of
from structron.tasks.capabilities import able
from structron.tasks.options import TASKS
from structron.tasks.registry import TASKS as KINDS

TITLES = [section.capitalize() for section in SECTIONS]


def sections(text: str) -> dict[str, str]:
    """The text below each heading."""
    parts = re.split(rf"^({'|'.join(TITLES)}):\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_help_of_train_lists_the_tasks(run):
    found = run("train", "--help")
    assert found.status == 0
    for task, kind in TASKS.items():
        assert re.search(rf"^  {task}  +{' '.join(kind.about.split()[:3])}", found.out, re.MULTILINE)
    assert "--passes" not in found.out
    assert run("train", "-h") == found


@pytest.mark.parametrize("task", TASKS)
def test_help_of_a_task_has_its_options_in_sections_with_defaults(run, task):
    found = run("train", task, "--help")
    assert found.status == 0
    assert TASKS[task].about in " ".join(found.out.split())
    own = sections(found.out)
    assert list(own) == [title for title in TITLES if title in own]
    assert "--train FILE" in own["Data"]
    assert "--model OUT" in own["Output"]
    shown = set(re.findall(r"^  (?:-., )?(--[a-z-]+)", found.out, re.MULTILINE))
    takes = {name for name, option in options_of(KINDS[task]).items() if option.flag is not None}
    for name in OPTIONS:
        assert (flag_of(name) in shown) == (name in takes and able(KINDS[task], name)), name
    for flag, what in RESTS_ON.items():
        assert (flag in shown) == able(KINDS[task], what)
    joined, made = " ".join(found.out.split()), KINDS[task]()
    for name in ("passes", "runs", "seed", "cutoff", "order", "tag_dictionary"):
        if flag_of(name) in shown:
            assert f"{options_of(KINDS[task])[name].help} [default: {getattr(made, name)}]" in joined


@pytest.mark.parametrize("width", [50, 150])
def test_help_uses_the_width_there_is_and_cuts_nothing(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    found = run("--help").out
    assert min(width, 115) - 15 < max(map(len, found.splitlines())) <= width
    assert "..." not in found.partition("\n")[2]
    joined = " ".join(found.split())
    assert all((command.short_help or command.help) in joined for command in app.commands.values())


def test_no_line_of_help_is_wider_than_the_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    for words in [*([name] for name in app.commands), *(["train", task] for task in TASKS)]:
        lines = run(*words, "--help").out.splitlines()
        assert [line for line in lines if len(line) > 60] == [], words


def test_names_that_are_nearly_right(refuses, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("It rained.\n")
    refuses("train", "chunkr", says="did you mean chunker?")
    refuses("trian", says="No such command 'trian'; did you mean train? See structron --help")
    refuses("annotate", "t.txt", "--fromat", "html", says="; did you mean --format? See structron annotate --help")
    refuses("train", "parser", "--update", "max-voilation", says="did you mean max-violation?")
    refuses("annotate", "t.txt", "--format", "htlm", says="did you mean html?")
    refuses("annotate", "t.txt", "--model", "englsh", says="no such file or bundled model; did you mean english?")
    refuses("annotate", "Is it late?", says="Is it late?: no such file; expected a file, or a text after --text")


def test_models_of_the_server_that_are_nearly_right(refuses):
    pytest.importorskip("fastapi")
    refuses("serve", "englsh", says="englsh: no such file or bundled model; did you mean english?")


def test_defaults_that_depend_on_others_are_settled(run):
    shown = {task: " ".join(run("train", task, "-h").out.split()) for task in ("tagger", "joint", "entities")}
    assert "Update rule for inexact search. [default: laso]" in shown["joint"]
    assert "wins by more than C. [default: 50]" in shown["entities"]
    assert "Hypotheses that the search keeps at each step; inf: all. [default: inf]" in shown["tagger"]
    assert "Hypotheses that the search keeps at each step; inf: all. [default: 2]" in shown["joint"]


def test_research_comes_last_and_choices_are_those_of_the_task(run):
    text = run("train", "chunker", "-h").out
    assert "--average mean|none|voted" in text
    assert list(sections(text))[-1] == "Research"
    assert "--swvp" in sections(text)["Research"]
    assert "--average mean|none " in run("train", "parser", "-h").out
    assert "--among" not in run("train", "lemmatizer", "-h").out


def test_every_option_has_a_section():
    for kind in KINDS.values():
        assert {option.section for option in options_of(kind).values()} <= {*SECTIONS}


@pytest.mark.parametrize("command", ["annotate", "predict", "evaluate", "inspect", "demo", "precompile", "experiment"])
def test_short_flag_of_help(run, command):
    assert run(command, "-h") == run(command, "--help")
    assert "-h, --help" in run(command, "-h").out


def test_the_mistake_in_the_documentation(toy, refuses):
    page = (ROOT / "docs" / "howto" / "command-line.md").read_text(encoding="utf-8")
    line = re.search(r"^structron: error: (tset\.conll: .*)$", page, re.MULTILINE)
    refuses("evaluate", toy.chunker, "tset.conll", says=line[1])


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
        ("annotate --format s", ["sentences", "svg"]),
        ("evaluate --gold t", ["tokens", "tags"]),
        ("evaluate --er", ["--errors"]),
        ("experiment h", ["huang2012"]),
    ],
)
def test_what_a_shell_completes(line, expected):
    words = ["structron", *line.split()]
    environment = {VARIABLE: "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    found = process(env={**os.environ, **environment})
    assert found.returncode == 0, found.stderr
    assert [answer.partition(",")[2] for answer in found.stdout.split()] == expected


def test_a_shell_completes_files_itself():
    words = "structron train chunker --train trai"
    environment = {VARIABLE: "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "4"}
    assert process(env={**os.environ, **environment}).stdout == "file,trai\n"


@pytest.mark.parametrize(
    ("shell", "file", "start"),
    [
        ("bash", ".bash_completions/structron.sh", ".bashrc"),
        ("zsh", ".zfunc/_structron", ".zshrc"),
        ("fish", ".config/fish/completions/structron.fish", None),
    ],
)
def test_completion_is_installed_once(tmp_path, monkeypatch, run, shell, file, start):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    if start:
        (tmp_path / start).write_text("alias l=ls")  # without an end of line
    for _ in range(2):
        found = run("--install-completion")
        assert (found.status, found.err) == (0, "")
        assert str(tmp_path / file) in found.out
    shown = run("--show-completion").out
    assert (tmp_path / file).read_text() + "\n" == shown
    assert f"_STRUCTRON_COMPLETE={shell}_complete" in shown
    if start:
        lines = (tmp_path / start).read_text().splitlines()
        assert lines[0] == "alias l=ls"
        assert len(lines) == 2


def test_completion_of_an_unknown_shell(monkeypatch, refuses):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    for flag in ("--show-completion", "--install-completion"):
        refuses(flag, says="SHELL: tcsh; expected one of: bash, zsh, fish")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_takes_the_script(tmp_path):
    """The script, in a shell of its own: what it offers for a word that was begun."""
    (tmp_path / "structron").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m structron "$@"\n')
    (tmp_path / "structron").chmod(0o755)
    text = process("--show-completion", env={**os.environ, "SHELL": "/bin/bash"}).stdout
    ask = 'COMP_WORDS=(structron train gr); COMP_CWORD=2; _structron_completion structron; echo "${COMPREPLY[@]}"'
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-c", f"{text}\n{ask}"]
    found = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    assert found.stdout == "graph-parser\n", found.stderr
