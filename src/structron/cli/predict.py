"""`structron predict`: the input's own text with labels in it, batch by batch, so that any file fits in memory."""

import contextlib
import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from structron.cli.corpus import Corpus, Item, View
from structron.cli.files import Source, batches, groups, tallied, the_file
from structron.cli.places import check_output, check_places, check_text_place
from structron.cli.tasks import apply, check_able
from structron.errors import NoSentencesError, StructronError
from structron.estimator import Estimator
from structron.io import ColumnSentence, open_output, replace_fields
from structron.io.columns import EMPTY
from structron.io.conll import BOM, cut_lines, is_blank
from structron.io.text import unpacked_name
from structron.runtime.processes import on_copies
from structron.runtime.threads import cores, in_order
from structron.tasks.registry import load
from structron.text.sentences import regroup

BATCH_TOKENS = 20_000
"""Tokens that a thread labels at a time."""
BLOCK_LINES = 3_000
"""Lines that a process labels at a time; with more of them the heap of whoever reads and writes grows for longer."""
SEVERAL = 8
"""Batches that a file has at least which is worth the making of processes."""
MISC = 9

Batch = list[list[ColumnSentence]]

Found = list[list[list[str]]]
"""The predicted columns of each sentence."""


def run(
    model: Path,
    files: list[str] | None = None,
    output: Path | None = None,
    output_dir: Path | None = None,
    ray: str | None = None,
    **how: Any,
) -> int:
    """Write files back with the predictions in their columns, or in further columns where they have none."""
    if output_dir is not None:
        from structron.cli import bulk

        if output is not None:
            raise StructronError("--output: cannot be combined with --output-dir")
        return bulk.run(bulk.Order(Predictor, {"model": model, **how}), files, output_dir, output_name, ray)
    file = the_file(files, ray)
    check_places({"MODEL": model, "FILE": file}, {"--output": output or "-"})
    predictor = Predictor(model, **how)
    check_text_place("--output", output)
    check_output(output)
    predictor.write(file, output, predictor.jobs)
    return 0


def output_name(name: str) -> str:
    """What the output of a file is called in another folder: as the file, but it is not packed."""
    return unpacked_name(name)


class Predictor:
    """A model and what it is asked for; `write` applies it to a file."""

    def __init__(
        self,
        model: Path,
        format: str | None = None,
        columns: str | None = None,
        label: str | None = None,
        encoding: str = "utf-8",
        nbest: int | None = None,
        confidence: bool = False,
        forced: bool = False,
        settings: dict[str, Any] | None = None,
        quiet: bool = False,
    ):
        settings, self.quiet = settings or {}, quiet
        self.estimator = estimator = load(model)
        apply(estimator, settings)
        self.jobs = settings.get("jobs") or cores()
        self.format, self.columns, self.label, self.encoding = format, columns, label, encoding
        self.nbest, self.confidence, self.forced = nbest, confidence, forced
        asked = {"nbest": nbest is not None, "confidence": confidence, "forced": forced, "label": label is not None}
        for what in (name for name, given in asked.items() if given):
            check_able(type(estimator), f"--{what}", what)
        if estimator.texts:
            raise StructronError(f"{model}: a {estimator.task} model reads plain text; use structron annotate")
        if nbest is not None and (confidence or forced):
            raise StructronError("--nbest: cannot be combined with --confidence or --forced")

    def write(self, file: str, output: Path | None, jobs: int) -> None:
        """Write a file back with predictions in it; memory does not depend on its size."""
        try:
            source = Source(file, self.format, self.encoding, self.columns, self.estimator, record=True)
        except NoSentencesError as error:
            with open_output(output, self.encoding) as out:
                out.writelines(error.lines)
            return
        corpus = Corpus(source, View.of(self.estimator), self.label, labelled=self.forced)
        work = batches(groups(corpus.source, corpus.view.documents, self.quiet), BATCH_TOKENS)
        head, work = _begun(work, SEVERAL if jobs > 1 else 1)
        corpus.tell_header(self.quiet)
        items = [corpus.item(group) for group in head[0]]
        corpus.check_tags(items)
        if not self.forced:
            corpus.check_labels(items, self.estimator.labels_known())
        corpus.tell_empty(items, self.estimator.source_, self.quiet)
        copied = sys.platform == "linux" and not (self.quiet or corpus.view.documents or source.like == "")
        with tallied(output, self.quiet, source.reading) as counts, open_output(output, self.encoding) as out:
            if copied and jobs > 1 and len(head) == SEVERAL:
                self._texts(corpus, head[0])  # loads kernels and tables once, for all copies
                pieces = counts.take(_blocks(source), _one)
                texts = on_copies(lambda block: self._block(corpus, *block), pieces, jobs)
            else:
                source.lines.forget()
                texts = in_order(lambda batch: self._texts(corpus, batch), counts.take(chain(head, work), _one), jobs)
            with contextlib.closing(texts):
                for text in texts:
                    out.write(text)
                    counts.add(1, line=text.count("\n"))

    def _block(self, corpus: Corpus, text: str, start: int) -> str:
        """What is written of some lines."""
        return self._texts(corpus, [[sentence] for sentence in corpus.source.some(text, start)])

    def _texts(self, corpus: Corpus, batch: list[list[ColumnSentence]]) -> str:
        """What is written of a batch: threads do this side by side."""
        estimator = self.estimator
        items = [corpus.item(group) for group in batch]
        if self.nbest is not None:
            found = zip(batch, estimator.nbest(items, self.nbest, jobs=1), strict=True)
            return "".join(text for group, best in found for text in _candidates(estimator, corpus, group, best))
        sentences = [sentence for group in batch for sentence in group]
        given = regroup(items, _given_labels(corpus, sentences)) if self.forced else None
        try:
            guesses, margins = _predict(estimator, items, given, self.confidence)
        except StructronError as error:
            raise _placed(error, estimator, corpus, sentences) if self.forced else error from None
        texts = [columns for guess in guesses for columns in _columns(estimator, corpus, guess)]
        sure = [own for group in margins for own in group] if corpus.view.documents else margins
        return "".join(_texts(corpus, sentences, texts, sure))


def _one(piece: object) -> int:
    return 1


def _begun(work: Iterator[Batch], count: int) -> tuple[list[Batch], Iterator[Batch]]:
    """The first batches, and the others; an error comes when it is its turn, after the batches before it."""
    head: list[Batch] = []
    try:
        head.extend(islice(work, count))
    except StructronError as error:
        if not head:
            raise
        return head, _failing(error)
    return head, work


def _failing(error: StructronError) -> Iterator[Batch]:
    raise error
    yield []


def _blocks(source: Source) -> Iterator[tuple[str, int]]:
    """All lines of a file in blocks of whole sentences, each with the number of its first line."""
    start = 1
    for lines in cut_lines(source.lines.rest(), BLOCK_LINES):
        yield "".join(lines), start
        start += len(lines)


def _predict(estimator: Any, items: list[Item], given: list | None, confidence: bool) -> tuple[list, list]:
    """A prediction for each item, around labels that are given, and margins if they are asked for."""
    forced = {} if given is None else {"forced": given}
    if confidence:
        return estimator.predict_with_margins(items, jobs=1, **forced)
    return estimator.predict(items, jobs=1, **forced), []


def _columns(estimator: Estimator, corpus: Corpus, guess: Any) -> Found:
    """The columns of a prediction, sentence by sentence: those of a document have a list for each."""
    columns = estimator._columns_of(guess)
    return [list(own) for own in zip(*columns, strict=True)] if corpus.view.documents else [columns]


def _candidates(
    estimator: Estimator, corpus: Corpus, group: list[ColumnSentence], best: list[tuple[Any, float]]
) -> Iterator[str]:
    """The text of a sentence or document once for each of its best analyses, with comments that tell them apart."""
    first, last = group[0].lines[0], group[-1].lines[-1]
    end = "\r\n" if first.endswith("\r\n") else "\n"
    gap = "" if is_blank(last) and last.endswith("\n") else end if last.endswith("\n") else 2 * end
    for rank, (guess, score) in enumerate(best, 1):
        text = "".join(_texts(corpus, group, _columns(estimator, corpus, guess), []))
        mark = BOM if group[0].line_number == 1 and text.startswith(BOM) else ""
        head = f"# nbest = {rank}{end}# score = {score:.3f}{end}"
        yield (mark if rank == 1 else "") + head + text.removeprefix(mark) + gap


def _texts(corpus: Corpus, sentences: list[ColumnSentence], found: Found, margins: list[list[float]]) -> Iterator[str]:
    """The text of each sentence with the predicted columns in it, and the margins if there are any."""
    places = corpus.targets()
    for number, sentence in enumerate(sentences):
        changes = dict(zip(places, found[number], strict=True))
        if margins:
            sure = [f"{margin:.4g}" for margin in margins[number]]
            if corpus.source.format == "conllu":
                changes[MISC] = [_in_misc(row[MISC], text) for row, text in zip(sentence.rows, sure, strict=True)]
            else:
                changes[max(corpus.source.width, *(place + 1 for place in places))] = sure
        yield replace_fields(sentence, changes)


def _in_misc(misc: str, margin: str) -> str:
    """CoNLL-U has no column to spare, but one for what others do not know."""
    kept = [item for item in misc.split("|") if item not in ("", EMPTY) and not item.startswith("Margin=")]
    return "|".join([*kept, f"Margin={margin}"])


def _given_labels(corpus: Corpus, sentences: list[ColumnSentence]) -> list[list[str | None]]:
    """The labels that stand in the file, None where there is none yet."""
    place = corpus.outputs[-1]
    assert place is not None
    return [[None if row[place] == EMPTY else row[place] for row in sentence.rows] for sentence in sentences]


def _placed(error: StructronError, estimator: Any, corpus: Corpus, sentences: list[ColumnSentence]) -> StructronError:
    """What is wrong with forced labels, at the line of the first that the model does not know, if there is one."""
    known = {*estimator.model_.labels, None}
    for sentence, given in zip(sentences, _given_labels(corpus, sentences), strict=True):
        for token, label in enumerate(given):
            if label not in known:
                return StructronError(f"{corpus.source.line(sentence, token)}: {error}")
    return StructronError(f"{corpus.source.name}: {error}")
