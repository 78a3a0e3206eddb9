"""Every public name has an entry in the reference, and a signature that an editor can show."""

import doctest
import inspect
import re
from pkgutil import resolve_name
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


def test_methods_describe_their_arguments():
    """An editor shows the docstring of the method that it finds, not the one that it overrides."""
    hidden = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    hidden = [re.compile(own) for own in re.findall(r'- "!(\S+)"', hidden)]
    for name, public in PUBLIC.items():
        for own, function in functions(public).items():
            if isinstance(function, type) or any(pattern.search(own) for pattern in hidden):
                continue
            about = (inspect.getdoc(function) or "").partition("Args:")[2]
            given = [each for each in inspect.signature(function).parameters if each not in ("self", "cls", "args")]
            assert function.__doc__, f"{name}.{own}: no docstring of its own, without which the reference leaves it out"
            if about or len(given) > 1:
                assert [each for each in given if f" {each}: " not in about] == [], f"{name}.{own}: {about}"


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_signatures_say_what_can_be_given(name):
    for own, function in functions(PUBLIC[name]).items():
        for parameter in inspect.signature(function).parameters.values():
            where = f"{name}.{own}: {parameter}"
            if parameter.name in ("self", "cls") or own in CONVENTIONS:
                continue
            assert parameter.kind is not parameter.VAR_KEYWORD, where
            assert parameter.annotation is not parameter.empty, where


@pytest.mark.parametrize("name", sorted(entries() | PUBLIC.keys()))
def test_what_the_reference_shows_has_an_example_that_runs(name, capsys):
    found = resolve_name(name)
    text = inspect.getdoc(found) or ""
    if isinstance(found, int):  # a constant: its docstring is a number's
        return
    assert ">>> " in text
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert not doctest.DocTestRunner(verbose=False).run(example).failed, capsys.readouterr().out
