"""The arrows between modules: they run down the layers, never up or in a circle, and a plain chunker needs few.

And one class a name: a name that is read anywhere in the package says which class is meant.
"""

import ast
import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import structron
from helpers import run_python

PACKAGE = Path(structron.__file__).parent
LAYERS = [
    {"cli", "experiments", "serve", "sklearn", "spacy", "teach"},
    {"tasks"},
    {"estimator"},
    {"learn"},
    {"options"},
    {"model"},
    {"update"},
    {"search"},
    {"weights"},
    {"features"},
    {"io"},
    {"data", "eval", "fields", "kernels", "runtime", "show", "text"},
    {"_version", "errors"},
]
"""From the top down: a module imports from its own layer or from lower ones."""
PUBLIC = ["structron", "structron.__main__"]
"""The names that users see stand above all."""


class Arrow(NamedTuple):
    source: str
    target: str
    late: bool  # inside a function


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports_in(node: ast.AST, late: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The imports of a tree, and whether they stand inside a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, late
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from imports_in(child, late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


def arrows_of(source: str) -> Iterator[Arrow]:
    for node, late in imports_in(tree_of(source)):
        if isinstance(node, ast.Import):
            yield from (Arrow(source, alias.name, late) for alias in node.names)
            continue
        assert node.level == 0, f"{source}: a relative import"
        for name in (f"{node.module}.{alias.name}" for alias in node.names):
            yield Arrow(source, name if name in MODULES else str(node.module), late)


@cache
def arrows() -> list[Arrow]:
    return [arrow for source in MODULES for arrow in arrows_of(source)]


@cache
def own_arrows() -> list[Arrow]:
    """Those between modules of the package, below the public names."""
    return [arrow for arrow in arrows() if arrow.target.startswith("structron.") and arrow.source not in PUBLIC]


def layer_of(module: str) -> int:
    part = module.split(".")[1]
    return next(number for number, parts in enumerate(LAYERS) if part in parts)


def test_every_module_has_its_layer():
    parts = {module.split(".")[1] for module in MODULES if module not in PUBLIC}
    assert parts == set().union(*LAYERS)
    assert len(own_arrows()) > 500
    assert {arrow.target for arrow in own_arrows()} <= MODULES.keys()


def test_only_experiments_use_the_public_names():
    """They stand on everything else, as a user's program does."""
    sources = {arrow.source for arrow in arrows() if arrow.target == "structron"}
    assert all(source.startswith("structron.experiments.") for source in sources), sources


def test_arrows_run_down():
    assert not [arrow for arrow in own_arrows() if layer_of(arrow.target) < layer_of(arrow.source)]


@pytest.mark.parametrize("depth", [2, 3, 9], ids=["folders", "folders in folders", "modules"])
def test_there_is_no_circle(depth):
    """Imports inside functions count, too."""
    graph: dict[str, set[str]] = {}
    for arrow in own_arrows():
        source, target = (".".join(module.split(".")[:depth]) for module in arrow[:2])
        if source != target:
            graph.setdefault(source, set()).add(target)
    TopologicalSorter(graph).prepare()


PLAIN = """
import json, sys
import structron
rows = [[("a", "N", "B-X"), ("b", "V", "O")], [("b", "N", "O")]]
chunker = structron.Chunker(passes=1, runs=1)
imported = [name for name in sys.modules if name.startswith("structron")]
chunker.fit(rows, dev=rows).predict(rows)
print(json.dumps([imported, [name for name in sys.modules if name.startswith("structron")]]))
"""


@pytest.fixture(scope="module")
def plain() -> list[list[str]]:
    """What a plain chunker imports: when it is made, and until it has learned and predicted."""
    done = run_python(PLAIN, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


OTHERS = [
    *("beam", "queue", "swvp", "mixed", "documents", "graph", "alma", "joint", "segments", "trees.", "cli"),
    *(
        "several",
        "committee",
        "shards",
        "bpm",
        "cluster",
        "votes",
        "show.",
        "gazetteer",
        "lexicon",
        "choices",
        "wordtable",
        "wordforms",
    ),
]
"""Words in the names of modules that a chunker of one run, with exact search over all labels, does without."""


def test_a_plain_chunker_knows_nothing_of_other_searches(plain):
    """Nor of shards, committees, votes, clusters, gazetteers and drawing: who uses them imports them."""
    for imported in plain:
        assert "structron.learn.chain" in imported
        assert not [module for module in imported if any(word in module for word in OTHERS)]


def test_imports_inside_functions_are_for_what_most_do_without(plain):
    """The rule: an import stands inside a function only if a plain chunker never loads the module, or it is a library
    that not everybody has or waits for. All other imports stand at the top."""
    late = {arrow for arrow in arrows() if arrow.late}
    own = {arrow for arrow in late if arrow.target in MODULES}
    assert own
    assert not [arrow for arrow in own if arrow.target in plain[0]]
    libraries = {"matplotlib", "numba", "ray", "rich", "safetensors", "uvicorn"}  # numba: what only compiling needs
    assert {arrow.target.split(".")[0] for arrow in late - own} <= libraries


def test_editors_see_every_estimator_with_its_options():
    body = tree_of(TYPED).body
    seen = {node.name: ast.unparse(node.bases[0]) for node in body if isinstance(node, ast.ClassDef)}
    public = {name: getattr(structron, name) for name in structron.__all__}
    estimators = {name: kind for name, kind in public.items() if hasattr(kind, "options_class")}
    assert seen == {name: f"options.{kind.options_class.__name__}" for name, kind in estimators.items()}


TYPED = "structron.tasks.typed"
"""What editors see of estimators: for each public one a class of its name."""
ONE_PER_PAPER = {"Scale"}
"""Each experiment says how large its quick and its full run are; nobody sees two of them."""


def test_no_two_classes_share_a_name():
    found = defaultdict(list)
    for module in MODULES.keys() - {TYPED}:
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module)
    assert len(found) > 300
    shared = {name: modules for name, modules in found.items() if len(modules) > 1}
    assert shared.keys() == ONE_PER_PAPER
    assert all(module.startswith("structron.experiments.") for name in ONE_PER_PAPER for module in shared[name])
