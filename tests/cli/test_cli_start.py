"""What a command does without: pydantic for texts and paths, and taking the interpreter apart at its end."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from cli_helpers import process

from helpers import run_python
from structron.cli.app import app
from structron.cli.plain import AsTyped, taken_as_typed

LEAVE = """
import atexit, sys
from structron.runtime import streams
atexit.register(lambda: print("registered"))
sys.stdout.write("written")
streams.leave(int(sys.argv[1]))
"""
THREAD = """
import sys, threading, time
from structron.runtime import streams
threading.Thread(target=lambda: (time.sleep(0.3), print("done"))).start()
streams.leave(3)
"""


@pytest.mark.parametrize("status", [0, 2, 141])
def test_the_end_is_quick_and_nothing_is_lost(status):
    found = run_python(LEAVE, str(status))
    assert (found.returncode, found.stdout, found.stderr) == (status, "writtenregistered\n", "")


def test_threads_are_waited_for():
    found = run_python(THREAD)
    assert (found.returncode, found.stdout, found.stderr) == (3, "done\n", "")


def test_a_full_disk_is_told_as_ever(toy):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "structron", "predict", toy.chunker, toy / "test.conll"]
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    assert found.returncode == 2
    assert found.stderr.startswith("structron: error: standard output: could not be written")


# -- values of options -------------------------------------------------------------------------------------------------


def commands() -> list:
    top = taken_as_typed(typer.main.get_command(app))
    return [top, *top.commands.values()]


def test_every_option_can_be_taken_as_typed():
    """Fails where typer has no such place any more: then every command waits for pydantic again."""
    params = [param for command in commands() for param in command.params]
    assert len(params) > 50
    assert all(isinstance(param._runtime_param, AsTyped) for param in params)


@pytest.mark.parametrize("name", ["annotate", "predict", "evaluate", "train", "inspect"])
def test_values_are_those_that_typer_would_give(name):
    (plain,) = (command for command in commands() if command.name == name)
    checked = typer.main.get_command(app).commands[name]
    assert [param.name for param in plain.params] == [param.name for param in checked.params]
    for own, other in zip(plain.params, checked.params, strict=True):
        context = typer.Context(plain)
        kind = own.type_descriptor.annotation
        texts = ["a", "7", "", "-3", "٣", "9" * 30, "0.5", "inf", True, False, 7]
        given = [None, *([["a", "b"], ("a",), []] if kind == list[str] else texts)]
        for value in given:
            assert outcome(own, value, context) == outcome(other, value, context), (own.name, value)


def outcome(param, value, context):
    """What becomes of a value: itself with its type, or what is wrong with it."""
    try:
        found = param.get_runtime_param().coerce(value, param=param, ctx=context)
    except Exception as error:
        return type(error), str(error)
    return type(found), found


def test_compilers_stay_away_where_all_is_compiled(toy):
    """Numba's functions in our kernels need none of their modules, nor those SciPy."""
    code = (
        "import sys; from structron.cli.app import main; status = main(sys.argv[1:]); "
        "print([name for name in ('numba.np.arrayobj', 'numba.np.arraymath', 'scipy') if name in sys.modules])"
    )
    argv = ["predict", toy.chunker, toy / "test.conll", "--output", toy / "found.conll"]
    for _ in range(2):  # the first may have to compile
        found = run_python(code, *argv)
    assert found.stdout.splitlines()[-1] == "[]", found.stderr


def test_pydantic_stays_away(toy):
    code = (
        "import sys; from structron.cli.app import main; status = main(sys.argv[1:]); "
        "sys.exit(status or int('pydantic' in sys.modules))"
    )
    argv = ["predict", toy.chunker, toy / "test.conll", "--output", toy / "found.conll", "--encoding", "utf-8"]
    found = run_python(code, *argv)
    assert found.returncode == 0, found.stderr
    argv = ["train", "chunker", "--train", toy / "train.conll", "--passes", "1", "--model", toy / "plain.model"]
    found = run_python(code, *argv)
    assert found.returncode == 0, found.stderr


def test_wrong_numbers_are_refused_as_ever(toy):
    found = process("predict", toy.chunker, toy / "test.conll", "--nbest", "many")
    assert found.returncode == 2
    assert found.stderr.startswith("structron: error: Invalid value for '--nbest'")
