"""Which labels are taken for which, as a table and as a picture."""

from pathlib import Path
from typing import Any

from structron.cli.places import check_picture_place, check_places
from structron.errors import StructronError
from structron.eval.scores import Confusion
from structron.io import check_writable, open_output
from structron.show.charts import MOST_LABELS_DRAWN, confusion_svg
from structron.text.sentences import Document


def confusion_of(estimator: Any, items: list[Any], guess: list[Any]) -> Confusion:
    """Count what words were given against what they should have: labels, pairs of them, or relations."""
    gold = estimator._gold(items)
    found: list[Any] = []
    for item, own in zip(items, guess, strict=True):
        found += own if isinstance(item, Document) else [own]
    pairs = ((_name(a), _name(b)) for x, y in zip(gold, found, strict=True) for a, b in zip(x, y, strict=True))
    return Confusion.of(pairs)


def _name(label: Any) -> str:
    """A label; of an arc its relation, of an arc without one nothing; a pair of labels as they are written."""
    if isinstance(label, str):
        return label
    first, second = label
    return "/".join(label) if isinstance(first, str) else second or ""


def check_plot(plot: Path, asked: bool, inputs: dict[str, Any]) -> None:
    """Refuse a picture that cannot be written, before any work is done."""
    if not asked:
        raise StructronError("--plot: expected --confusion too")
    check_places(inputs, {"--plot": plot})
    if plot.suffix.lower() != ".svg":
        raise StructronError(f"--plot: {plot}; expected a file that ends in .svg")
    check_picture_place("--plot", plot)
    check_writable(plot)


def draw_confusion(confusion: Confusion, plot: Path) -> None:
    """Write the picture: of many labels those with most mistakes."""
    shown = confusion.first(MOST_LABELS_DRAWN)
    with open_output(plot) as out:
        out.write(confusion_svg(shown.labels, shown.counts))
