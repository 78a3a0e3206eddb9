"""What a command does without: other libraries than it needs, and taking the interpreter apart at its end."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import process

from helpers import run_python

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


@pytest.mark.parametrize("argv", ["--help", "train chunker --help", "predict m --nbest 0"])
def test_the_command_line_is_read_without_what_takes_long_to_import(argv):
    code = (
        "import sys; from structron.cli.app import main; status = main(sys.argv[1:]); "
        "slow = ('numpy', 'numba', 'rich', 'pydantic', 'typing_extensions', 'structron.estimator'); "
        "print([name for name in slow if name in sys.modules])"
    )
    assert run_python(code, *argv.split()).stdout.splitlines()[-1] == "[]"


def test_wrong_numbers_are_refused_as_ever(toy):
    found = process("predict", toy.chunker, toy / "test.conll", "--nbest", "many")
    assert found.returncode == 2
    assert found.stderr.startswith("structron: error: Invalid value for '--nbest'")
