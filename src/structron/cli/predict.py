"""`structron predict`: the input's own text with labels in it, batch by batch, so that any file fits in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structron.cli.corpus import (
    EMPTY,
    Item,
    Layout,
    Source,
    View,
    batches,
    groups,
    layout,
    per_sentence,
    say,
)
from structron.cli.tasks import MARGINS, Estimator, check_capability, set_beam, set_test_candidates
from structron.cli.trees import check_tags
from structron.errors import StructronError, unknown
from structron.io import Sentence, check_writable, open_output, replace_fields
from structron.io.conll import BOM, is_blank
from structron.kernels.jit import is_cold
from structron.search.chain.viterbi import decode
from structron.sentences import regroup
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
    test_candidates: int | None = None,
    nbest: int | None = None,
    confidence: bool = False,
    forced: bool = False,
    jobs: int = 1,
) -> None:
    """Write the file back with the predictions in their columns, or in further columns where it has none."""
    estimator = load(model)
    set_beam(estimator, beam)
    set_test_candidates(estimator, test_candidates)
    for option, given in (("--confidence", confidence), ("--forced", forced), ("--label", label)):
        if given:
            check_capability(option, estimator.task, MARGINS)
    if forced and hasattr(estimator, "check_forced"):
        estimator.check_forced()
    if nbest is not None:
        _check_nbest(estimator, nbest, confidence or forced)
    check_writable(output)
    source = Source(file, format, encoding, columns, estimator)
    view = View.of(estimator)
    fits = layout(source, view, label, labelled=forced)
    announce_compiling(estimator)
    with open_output(output, encoding) as out:
        for number, batch in enumerate(batches(groups(source, view), BATCH_TOKENS)):
            items = [fits.item(group, view) for group in batch]
            if number == 0:
                check_tags(source, view, items)
            if nbest is not None:
                for group, best in zip(batch, estimator.nbest(items, nbest), strict=True):
                    out.write("".join(_candidates(source, view, fits, group, best)))
                continue
            sentences = [sentence for group in batch for sentence in group]
            margins: list[list[float]] = []
            if confidence or forced:
                given_labels = _given_labels(estimator, source, sentences, fits) if forced else None
                found, margins = _labelled(estimator, view, items, given_labels, jobs, confidence)
            elif view.documents:
                found = [[line] for line in per_sentence(view, estimator.predict(items, jobs=jobs))]
            else:
                found = estimator.predict_columns(items, jobs=jobs)
            out.write("".join(_texts(source, fits, sentences, found, margins)))


def _check_nbest(estimator: Estimator, number: int, more: bool) -> None:
    check_capability("--nbest", estimator.task, "nbest")
    if number < 1:
        raise StructronError(f"--nbest {number}: expected a whole number of at least 1")
    if more:
        raise StructronError("--nbest: expected neither --confidence nor --forced with it")


def _labelled(
    estimator: Any, view: View, items: list[Item], given: list | None, jobs: int, margins: bool
) -> tuple[list[list[list[str]]], list[list[float]]]:
    """The predicted column of each sentence around given labels, and the margins if they are wanted."""
    shaped = None if given is None else regroup(items, given)
    labels, sure = estimator.predict_with_margins(items, shaped, jobs, margins=margins)
    return [[line] for line in per_sentence(view, labels)], per_sentence(view, sure)


def _candidates(
    source: Source, view: View, fits: Layout, group: list[Sentence], best: list[tuple[Any, float]]
) -> Iterator[str]:
    """The text of a sentence or document once for each of its best labellings, with comments that tell them apart."""
    first, last = group[0].lines[0], group[-1].lines[-1]
    end = "\r\n" if first.endswith("\r\n") else "\n"
    gap = "" if is_blank(last) and last.endswith("\n") else end if last.endswith("\n") else 2 * end
    for rank, (labels, score) in enumerate(best, 1):
        found = [[line] for line in per_sentence(view, [labels])]
        text = "".join(_texts(source, fits, group, found, []))
        mark = BOM if group[0].line_number == 1 and text.startswith(BOM) else ""
        head = f"# nbest = {rank}{end}# score = {score:.3f}{end}"
        yield (mark if rank == 1 else "") + head + text.removeprefix(mark) + gap


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
