"""`structron predict`: the input's own text with labels in it, batch by batch, so that any file fits in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structron.commands.corpus import EMPTY, Layout, Rows, Source, View, batches, layout, say
from structron.commands.estimator import MARGINS, Estimator, check_capability, set_beam
from structron.commands.trees import check_tags
from structron.errors import StructronError, unknown
from structron.io import Sentence, check_writable, open_output, replace_fields
from structron.kernels import is_cold
from structron.search.viterbi import decode
from structron.tasks.storage import load

BATCH_TOKENS = 100_000
MISC = 9


def run(
    model: Path,
    file: str = "-",
    output: Path | None = None,
    format: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    encoding: str = "utf-8",
    beam: str | None = None,
    confidence: bool = False,
    forced: bool = False,
    jobs: int = 1,
) -> None:
    """Write the file back with the predictions in their columns, or in further columns where it has none."""
    estimator = load(model)
    set_beam(estimator, beam)
    for option, given in (("--confidence", confidence), ("--forced", forced), ("--label", label)):
        if given:
            check_capability(option, estimator.task, MARGINS)
    check_writable(output)
    source = Source(file, format, encoding, columns, estimator)
    view = View.of(estimator)
    fits = layout(source, view, label, labelled=forced)
    announce_compiling(estimator)
    with open_output(output, encoding) as out:
        for number, batch in enumerate(batches(source.sentences, BATCH_TOKENS)):
            rows: list[Rows] = [fits.rows(sentence) for sentence in batch]
            if number == 0:
                check_tags(source, view, rows)
            if confidence or forced:
                given_labels = _given_labels(estimator, source, batch, fits) if forced else None
                labels, margins = estimator.predict_with_margins(rows, given_labels, jobs, margins=confidence)
                found = [[line] for line in labels]
            else:
                found, margins = estimator.predict_columns(rows, jobs=jobs), []
            out.write("".join(_texts(source, fits, batch, found, margins)))


def announce_compiling(estimator: Estimator) -> None:
    """Say why a first run takes its time; an estimator with kernels other than Viterbi's knows itself (`is_cold`)."""
    cold = estimator.is_cold() if hasattr(estimator, "is_cold") else hasattr(estimator, MARGINS) and is_cold(decode)
    if cold:
        say("compiling (first run only) …")


def _texts(
    source: Source, fits: Layout, batch: list[Sentence], found: list[list[list[str]]], margins: list[list[float]]
) -> Iterator[str]:
    """The text of each sentence with the predicted columns in it, and the margins if there are any."""
    places = fits.targets(source.width)
    for number, sentence in enumerate(batch):
        changes = dict(zip(places, found[number], strict=True))
        if margins:
            sure = [f"{margin:.4g}" for margin in margins[number]]
            if source.format == "conllu":
                changes[MISC] = [_in_misc(row[MISC], text) for row, text in zip(sentence.rows, sure, strict=True)]
            else:
                changes[max(source.width, *(place + 1 for place in places))] = sure
        yield replace_fields(sentence, changes)


def _in_misc(misc: str, margin: str) -> str:
    """CoNLL-U has no column to spare, but one for what others do not know."""
    kept = [item for item in misc.split("|") if item not in ("", EMPTY) and not item.startswith("Margin=")]
    return "|".join([*kept, f"Margin={margin}"])


def _given_labels(estimator: Any, source: Source, batch: list[Sentence], fits: Layout) -> list[list[str | None]]:
    """The labels that stand in the file, None where there is none yet."""
    place = fits.outputs[0]
    assert place is not None
    known: dict[str, str | None] = {label: label for label in estimator.model_.labels} | {EMPTY: None}
    given = []
    for sentence in batch:
        try:
            given.append([known[row[place]] for row in sentence.rows])
        except KeyError as error:
            token = next(i for i, row in enumerate(sentence.rows) if row[place] not in known)
            line = sentence.line_number + sentence.token_lines[token]
            problem = unknown("label", error.args[0], [EMPTY, *estimator.model_.labels])
            raise StructronError(f"{source.name}:{line}: {problem}") from None
    return given
