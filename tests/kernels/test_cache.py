"""Compiled kernels are kept on disk: the second process loads them, and an edit of any kernel file makes them anew."""

import json
import os
import shutil
from pathlib import Path

import pytest

import structron
from helpers import run_python

LIST = """
import json, sys
from numba.core.dispatcher import Dispatcher

def counts():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("structron")]
    kernels = {k: v for module in modules for k, v in vars(module).items() if isinstance(v, Dispatcher)}
    stats = {name: kernel.stats for name, kernel in kernels.items()}
    return {name: [sum(s.cache_hits.values()), sum(s.cache_misses.values())] for name, s in stats.items()}
"""
TRAIN = f"""{LIST}
import structron
from structron.kernels.jit import is_cold
from structron.search.chain.viterbi import decode
from structron.update.perceptron import learn

cold = [is_cold(learn), is_cold(decode)]
labeler = structron.Tagger(passes=2).fit([[("a", "X"), ("b", "Y")], [("b", "Y")]])
labeler.predict([["a", "c"]])
labeler.save(sys.argv[1])
structron.load(sys.argv[1]).predict([["a", "c"]])
print(json.dumps({{"file": structron.__file__, "cold": cold, "warm": is_cold(learn), "kernels": counts()}}))
"""
HASH = f"""{LIST}
from structron.kernels.table import hash_list

hash_list(["a"])
print(json.dumps(counts()))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs programs on a copy of the package with a cache of their own; gives what they print."""
    folder = tmp_path_factory.mktemp("cache")
    package = Path(structron.__file__).parent
    shutil.copytree(package, folder / "src" / "structron", ignore=shutil.ignore_patterns("__pycache__"))

    def start(code: str) -> dict:
        environment = {"NUMBA_CACHE_DIR": str(folder / "cache"), "STRUCTRON_SOURCE": str(folder / "src")}
        done = run_python(code, str(folder / "model"), timeout=600, **environment)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    start.package = folder / "src" / "structron"
    return start


@pytest.mark.slow
def test_a_second_process_compiles_nothing(run):
    first, second = run(TRAIN), run(TRAIN)
    assert Path(first["file"]).parent == run.package
    assert first["cold"] == [True, True]
    assert second["cold"] == [False, False]
    assert first["warm"] is False
    for name in ("learn", "decode", "template_hashes", "atom_values", "table_number", "put_names"):
        assert first["kernels"][name][1] > 0, name
        assert second["kernels"][name][0] > 0, name
    assert {name: misses for name, (_, misses) in second["kernels"].items() if misses} == {}


def edit(path: Path) -> None:
    assert path.is_file()
    with path.open("a") as stream:
        stream.write("# edited\n")


@pytest.mark.slow
@pytest.mark.parametrize("edited", ["search/chain/viterbi.py", "update/perceptron.py"])
def test_an_edit_of_any_kernel_file_makes_kernels_anew(run, edited):
    """Numba itself would look at the file of the one kernel only, and keep what others inlined from elsewhere."""
    run(HASH)
    assert run(HASH)["hash_strings"] == [1, 0]
    edit(run.package / edited)
    assert run(HASH)["hash_strings"] == [0, 1]
    assert run(HASH)["hash_strings"] == [1, 0]
    touched = (run.package / edited).stat().st_mtime + 5
    os.utime(run.package / edited, (touched, touched))
    assert run(HASH)["hash_strings"] == [0, 1]


@pytest.mark.slow
def test_an_edit_elsewhere_changes_nothing(run):
    run(HASH)
    edit(run.package / "tasks" / "chain" / "labeler.py")
    assert run(HASH)["hash_strings"] == [1, 0]
