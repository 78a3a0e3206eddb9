"""`import-templates` and `new-problem`: files to start from."""

import os
import subprocess
import sys

import pytest

import structron
from helpers import SOURCE
from structron.cli import main
from structron.cli.new.templates import translate
from structron.data.toy_english import toy_english, write_conll

CRFPP = """# Unigram
U00:%x[-1,0]
U01:%x[0,0]
U02:%x[-1,0]/%x[0,0]
U03:%x[0,1]

# Bigram
B
B01:%x[0,1]
"""
WAPITI = r"""*
u:wrd=%x[ 0,0]
*:tag=%x[+1,1]
u:low=%X[0,0]
u:pre=%m[0,0,"^.?.?.?"]
u:end=%M[-1,0,".?.?$"]
u:num=%t[0,0,"\d"]
u:cap=%t[0,0,"\u"]
u:dash=%t[0,1,"-"]
u:odd=%t[0,0,"^\p*$"]
u:far=%x[0,7]
u:what=%q[0,0]
b:
u:bias
"""


def test_templates_of_crfpp():
    expected = ["# Unigram", "w[-1]", "w[0]", "w[-1]|w[0]", "pos[0]", "", "# Bigram"]
    expected += ["# B: pairs of labels always have weights", "pos[0] &y"]
    assert list(translate(CRFPP.splitlines())) == expected


def test_templates_of_wapiti():
    found = list(translate(WAPITI.splitlines(), ["word", "pos"]))
    assert found[1:10] == [
        *("w[0]", "pos[1]", "pos[1] &y", "lower[0]", "prefix3[0]"),
        *("lsuffix2[-1]", "digit[0]", "upper[0]", "pos.hyphen[0]"),
    ]
    assert [line.split(":")[0] for line in found[10:13]] == ["# not possible"] * 3
    assert "column 7; expected 0 to 1" in found[11]
    assert found[13] == "# b:: pairs of labels always have weights"
    assert found[14] == "# u:bias: labels always have weights with every feature"


def test_the_command_writes_templates_that_training_takes(tmp_path, capsys):
    write_conll(tmp_path / "train.conll", toy_english(40))
    (tmp_path / "theirs").write_text(CRFPP)
    templates, model = str(tmp_path / "ours.txt"), str(tmp_path / "m")
    assert main(["import-templates", str(tmp_path / "theirs"), "--output", templates]) == 0
    assert capsys.readouterr().err == ""
    how = ["--templates", templates, "--passes", "1", "--runs", "1"]
    assert main(["train", "chunker", "--train", str(tmp_path / "train.conll"), "--model", model, *how]) == 0
    capsys.readouterr()
    assert main(["inspect", model, "--top", "50"]) == 0
    assert "w[-1]|w[0]=" in capsys.readouterr().out


def test_what_is_not_possible_is_counted(tmp_path, capsys):
    (tmp_path / "theirs").write_text(WAPITI)
    assert main(["import-templates", str(tmp_path / "theirs"), "--columns", "word,pos"]) == 0
    shown = capsys.readouterr()
    assert "pos[1] &y" in shown.out
    assert shown.err == "structron: 3 templates cannot be converted; they are comments in the output\n"


def test_templates_replace_neither_their_source_nor_a_model(tmp_path, capsys):
    theirs, model = tmp_path / "theirs", tmp_path / "model"
    theirs.write_text(CRFPP)
    structron.Tagger(passes=1, runs=1).fit([[("a", "X"), ("b", "Y")], [("b", "Y")]]).save(model)
    before = model.read_bytes()
    for output, says in (
        (theirs, "is also the input"),
        (model, "is a model"),
    ):
        assert main(["import-templates", str(theirs), "--output", str(output)]) == 2
        assert says in capsys.readouterr().err
    assert (theirs.read_text(), model.read_bytes()) == (CRFPP, before)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "theirs:1: 'hello': expected U…, B…, u…, b… or *…"),
        ("# nothing\nB\n", "theirs: no templates; expected lines like U01:"),
        ("U1:" + "/".join(["%x[0,0]"] * 9), "9 atoms; at most 8"),
        (None, "theirs: "),
    ],
)
def test_mistakes_are_named(tmp_path, capsys, text, message):
    if text is not None:
        (tmp_path / "theirs").write_text(text)
    assert main(["import-templates", str(tmp_path / "theirs"), "--output", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# -- a problem to start from -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_new_problem_runs_and_passes_its_test(tmp_path, capsys):
    """It trains, explains itself by names, is saved, and the command line says whose model it is."""
    assert main(["new-problem", "word_cuts", "--output-dir", str(tmp_path)]) == 0
    assert "python -m pytest" in capsys.readouterr().out
    how = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 600}
    how["env"] = os.environ | {"PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "word_cuts.py"], **how)
    assert done.returncode == 0, done.stderr
    assert "accuracy 100.00%" in done.stdout or "accuracy 9" in done.stdout
    assert "before|here=" in done.stdout
    tested = [sys.executable, "-m", "pytest", "-q", "test_word_cuts.py"]
    assert subprocess.run(tested, **how).returncode == 0
    model = str(tmp_path / "word_cuts.structron")
    (tmp_path / "f.conll").write_text("a O\n")
    for command in (["inspect", model], ["predict", model, str(tmp_path / "f.conll")]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "a model for the problem 'word_cuts' of the module word_cuts, which is Python code" in said
        assert "structron.load(path, problem=…)" in said


@pytest.mark.parametrize("name", ["word order", "1st", "class", "a-b"])
def test_a_name_that_python_cannot_import_is_refused(tmp_path, capsys, name):
    assert main(["new-problem", name, "--output-dir", str(tmp_path)]) == 2
    assert "not a name of a Python module" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path, capsys):
    (tmp_path / "test_mine.py").write_text("kept")
    assert main(["new-problem", "mine", "--output-dir", str(tmp_path)]) == 2
    assert "test_mine.py: exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]
    assert (tmp_path / "test_mine.py").read_text() == "kept"
