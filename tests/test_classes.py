"""One class a name: a name that is read anywhere in the package says which class is meant."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import structron

PACKAGE = Path(structron.__file__).parent
TYPED = "tasks/typed.py"
"""What editors see of estimators: for each public one a class of its name."""
ONE_PER_PAPER = {"Scale"}
"""Each experiment says how large its quick and its full run are; nobody sees two of them."""


@cache
def classes() -> dict[str, list[str]]:
    """The modules that have a class of a name."""
    found = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())) if name != TYPED else ():
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)
    return found


def test_no_two_classes_share_a_name():
    found = classes()
    assert len(found) > 300
    assert {name: files for name, files in found.items() if len(files) > 1 and name not in ONE_PER_PAPER} == {}


def test_only_experiments_have_names_of_their_own_for_each_paper():
    found = classes()
    assert all(len(found[name]) > 1 for name in ONE_PER_PAPER)
    assert all(file.startswith("experiments/") for name in ONE_PER_PAPER for file in found[name])
