"""`structron compare`: two models on one labelled file."""

from pathlib import Path
from typing import Any

from structron.cli.corpus import Corpus, View
from structron.cli.files import Source
from structron.cli.texts import read_treebank
from structron.eval.compare import Comparison, check_alike, compare
from structron.tasks.registry import load
from structron.text.numbers import to_json


def run(
    first: Path,
    second: Path,
    file: str,
    format: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    encoding: str = "utf-8",
    top: int = 10,
    as_json: bool = False,
) -> None:
    """Print scores side by side, the significance of their difference, and sentences on which the models differ."""
    found = compare_files(first, second, file, format, columns, label, encoding)
    print(to_json(found.to_json()) if as_json else found.report(top))


def compare_files(
    first: Path,
    second: Path,
    file: str,
    format: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    encoding: str = "utf-8",
) -> Comparison:
    """Compare two models that are read from files."""
    a, b = load(first), load(second)
    check_alike(a, b)
    names = [str(first), str(second)]
    if a.texts and b.texts:
        return compare(a, b, read_treebank(file, encoding, format), names=names)
    own, other = (_items(model, file, format, columns, label, encoding) for model in (a, b))
    return compare(a, b, own, other=other, names=names)


def _items(
    model: Any, file: str, format: str | None, columns: str | None, label: str | None, encoding: str
) -> list[Any]:
    """The sentences of a file as a model reads them."""
    if model.texts:
        return read_treebank(file, encoding, format)
    source = Source(file, format, encoding, columns, model)
    return list(Corpus(source, View.of(model), label, labelled=True).labelled(quiet=True))
