"""Every public name has an entry in the reference, and a signature that an editor can show."""

import doctest
import inspect
import re
from typing import Any

import pytest

import structron
import structron.sklearn
from helpers import ROOT

PUBLIC = {
    **{f"structron.{name}": getattr(structron, name) for name in structron.__all__ if name != "__version__"},
    **{f"structron.sklearn.{name}": getattr(structron.sklearn, name) for name in structron.sklearn.__all__},
}
CONVENTIONS = ("set_params",)
"""Methods whose keywords are the estimator's own parameters, as in scikit-learn."""


EXAMPLES = sorted(name for name, own in PUBLIC.items() if inspect.isclass(own) and ">>> " in (own.__doc__ or ""))


def entries() -> set[str]:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    return {name for page in pages for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.M)}


def functions(public: Any) -> dict[str, Any]:
    """What can be called of a public name: itself, and the methods that are ours."""
    found = {"": public} if callable(public) else {}
    if inspect.isclass(public):
        found |= {name: getattr(public, name) for name in dir(public) if not name.startswith("_")}
    return {name: own for name, own in found.items() if is_ours(own)}


def is_ours(own: Any) -> bool:
    if not callable(own) or (isinstance(own, type) and issubclass(own, Exception | list)):
        return False
    return (getattr(own, "__module__", None) or "builtins").startswith("structron")


def test_every_public_name_has_an_entry():
    assert PUBLIC.keys() - entries() == set()


def test_functions_of_modules_are_shown():
    """The reference shows what has a docstring beneath it."""
    for module in (structron.sklearn.metrics, structron.sklearn.scorers):
        text = inspect.getsource(module)
        for name in re.findall(r"^(flat_\w+|sequence_\w+) = ", text, re.M):
            assert re.search(rf'^{name} = .*\n"""', text, re.M), name


def test_every_entry_is_there():
    for name in entries():
        module, parts = name, []
        while module:
            try:
                found = __import__(module, fromlist=["_"])
                break
            except ImportError:
                module, _, part = module.rpartition(".")
                parts.insert(0, part)
        for part in parts:
            found = getattr(found, part)
        assert inspect.getdoc(found), name


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_signatures_say_what_can_be_given(name):
    for own, function in functions(PUBLIC[name]).items():
        for parameter in inspect.signature(function).parameters.values():
            where = f"{name}.{own}: {parameter}"
            if parameter.name in ("self", "cls") or own in CONVENTIONS:
                continue
            assert parameter.kind is not parameter.VAR_KEYWORD, where
            assert parameter.annotation is not parameter.empty, where


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_in_docstrings_run(name, capsys):
    runner = doctest.DocTestRunner(verbose=False)
    [example] = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name)
    assert not runner.run(example).failed, capsys.readouterr().out


def test_main_classes_have_an_example():
    own = {"BeamLearner", "QueueLearner", "StructronError"}  # learners need a problem of the user's
    needed = {name for name, kind in PUBLIC.items() if inspect.isclass(kind) and name.count(".") == 1}
    assert {name.removeprefix("structron.") for name in needed - set(EXAMPLES)} == own
