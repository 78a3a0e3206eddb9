"""`structron predict`: the input's own text with labels in it, batch by batch, so that any file fits in memory."""

from collections.abc import Iterator
from pathlib import Path

from structron.commands.corpus import EMPTY, Layout, Rows, Source, View, batches, layout, say
from structron.errors import StructronError, unknown
from structron.io import Sentence, check_writable, open_output, replace_fields
from structron.kernels import is_cold
from structron.search.viterbi import decode
from structron.tasks.labeler import ChainLabeler
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
    confidence: bool = False,
    forced: bool = False,
    jobs: int = 1,
) -> None:
    """Write the file back with the predicted labels in the label column, or in one more column if it has none."""
    labeler = load(model)
    check_writable(output)
    source = Source(file, format, encoding, columns, labeler)
    fits = layout(source, View.of(labeler), label, labelled=forced)
    announce_compiling()
    with open_output(output, encoding) as out:
        for batch in batches(source.sentences, BATCH_TOKENS):
            given = _given_labels(labeler, source, batch, fits) if forced else None
            rows: list[Rows] = [fits.rows(sentence) for sentence in batch]
            labels, margins = labeler.predict_with_margins(rows, given, jobs, margins=confidence)
            out.write("".join(_texts(source, fits, batch, labels, margins)))


def announce_compiling() -> None:
    """Say why a first run takes its time."""
    if is_cold(decode):
        say("compiling (first run only) …")


def _texts(
    source: Source, fits: Layout, batch: list[Sentence], labels: list[list[str]], margins: list[list[float]]
) -> Iterator[str]:
    place = source.width if fits.label is None else fits.label
    for number, sentence in enumerate(batch):
        changes = {place: labels[number]}
        if margins:
            sure = [f"{margin:.4g}" for margin in margins[number]]
            if source.format == "conllu":
                changes[MISC] = [_in_misc(row[MISC], text) for row, text in zip(sentence.rows, sure, strict=True)]
            else:
                changes[max(place + 1, source.width)] = sure
        yield replace_fields(sentence, changes)


def _in_misc(misc: str, margin: str) -> str:
    """CoNLL-U has no column to spare, but one for what others do not know."""
    kept = [item for item in misc.split("|") if item not in ("", EMPTY) and not item.startswith("Margin=")]
    return "|".join([*kept, f"Margin={margin}"])


def _given_labels(labeler: ChainLabeler, source: Source, batch: list[Sentence], fits: Layout) -> list[list[str | None]]:
    """The labels that stand in the file, None where there is none yet."""
    assert fits.label is not None
    known: dict[str, str | None] = {label: label for label in labeler.model_.labels} | {EMPTY: None}
    given = []
    for sentence in batch:
        try:
            given.append([known[row[fits.label]] for row in sentence.rows])
        except KeyError as error:
            token = next(i for i, row in enumerate(sentence.rows) if row[fits.label] not in known)
            line = sentence.line_number + sentence.token_lines[token]
            problem = unknown("label", error.args[0], [EMPTY, *labeler.model_.labels])
            raise StructronError(f"{source.name}:{line}: {problem}") from None
    return given
