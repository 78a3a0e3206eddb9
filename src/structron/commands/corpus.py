"""Between files and models: which column of a file is which column of a model, checked before any work is done."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from structron.errors import StructronError, unknown
from structron.io import CONLLU_COLUMNS, Sentence, detect_format, read
from structron.io.text import display_name, is_standard
from structron.tasks.labeler import WORD_COLUMNS, ChainLabeler, default_columns

CONLLU_LABELS = {"tagger": "upos"}
"""The CoNLL-U column that a task learns when nobody names one."""
EMPTY = "_"

Rows = list[list[str]]


def say(text: str) -> None:
    """A line for the user, out of the way of results."""
    print(text, file=sys.stderr, flush=True)


class Source:
    """An open file of sentences. The first is read at once, so that a bad name or width is known before all else."""

    def __init__(
        self,
        path: str | Path,
        format: str | None = None,
        encoding: str = "utf-8",
        columns: str | None = None,
        model: ChainLabeler | None = None,
    ):
        """`model`: the one to be used; standard input, which has no name to tell, is taken to be like its data."""
        if model is not None and is_standard(path):
            format = format or model.source_.get("format")
        self.name, self.format = display_name(path), detect_format(path, format)
        sentences = read(path, self.format, encoding)
        first = next(sentences)
        self.sentences: Iterator[Sentence] = chain([first], sentences)
        self.width = len(first.rows[0])
        self.place = f"{self.name}:{first.line_number + first.token_lines[0]}"
        self.columns: list[str] | None = list(CONLLU_COLUMNS) if self.format == "conllu" else None
        if columns is not None:
            self.columns = [name.strip() for name in columns.split(",")]
            if len(self.columns) != self.width:
                raise StructronError(f"{self.place}: {self.width} columns; --columns names {len(self.columns)}")


@dataclass(frozen=True, slots=True)
class View:
    """The columns that a model knows, and those of them that it cannot do without."""

    columns: list[str]
    label: str
    word: str
    needed: set[str]

    @classmethod
    def of(cls, labeler: ChainLabeler) -> "View":
        extractor = labeler.extractor_
        needed = extractor.needed - extractor.gazetteers.keys() - extractor.atoms.keys()
        return cls(extractor.columns, extractor.label, extractor.word, needed)

    @property
    def inputs(self) -> list[str]:
        return [name for name in self.columns if name != self.label]


def training_view(source: Source, label: str | None, task: str) -> View:
    """Names for the columns of training data, and which of them is to be learned."""
    names = source.columns or default_columns(source.width)
    if len(names) < 2:
        raise StructronError(f"{source.place}: 1 column; expected the word and its label at least")
    if label is None and source.format == "conllu":
        label = CONLLU_LABELS.get(task)
        if label is None:
            raise StructronError(
                f"{source.name}: CoNLL-U has no column of its own for the {task}; "
                f"name the one that holds the labels with --label ({', '.join(names[2:])})"
            )
    label = label or names[-1]
    if label not in names:
        raise StructronError(f"{source.name}: {unknown('label column', label, names)}")
    word = next((name for name in WORD_COLUMNS if name in names), names[0])
    if label == word:
        raise StructronError(f"{source.name}: {label!r} is the word and cannot be the label too")
    return View(names, label, word, set(names))


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a file has what a model asks for."""

    label: int | None  # the file's column with the labels; None: it has none
    places: list[int | None] | None  # of the model's columns; None: the rows fit as they are

    def rows(self, sentence: Sentence) -> Rows:
        """A sentence in the model's columns."""
        if self.places is None:
            return sentence.rows
        return [[EMPTY if k is None else row[k] for k in self.places] for row in sentence.rows]


def layout(source: Source, view: View, label: str | None = None, labelled: bool = False) -> Layout:
    """Find the model's columns in a file, by name or, in a file that nobody named the columns of, by number.

    The label column may be missing unless the file has to be `labelled`.
    """
    names = source.columns or _names_by_width(source, view)
    wanted = label or view.label
    if wanted not in names and (label or labelled or source.format == "conllu"):
        option = "" if label else "; name it with --label"
        raise StructronError(f"{source.name}: no label column {wanted!r} among {', '.join(names)}{option}")
    found: dict[str, int | None] = {name: names.index(name) if name in names else None for name in view.inputs}
    if found[view.word] is None:
        found[view.word] = next((names.index(name) for name in WORD_COLUMNS if name in names), None)
    for name in view.inputs:
        if name in view.needed and found[name] is None:
            raise StructronError(
                f"{source.name}: no column {name!r} among {', '.join(names)}; the model reads it (name it by --columns)"
            )
    place = names.index(wanted) if wanted in names else None
    if wanted == view.label and names in (view.columns, view.inputs):
        return Layout(place, None)
    return Layout(place, [place if name == view.label else found[name] for name in view.columns])


def _names_by_width(source: Source, view: View) -> list[str]:
    for names in (view.columns, view.inputs, [view.word]):
        if len(names) == source.width:
            return names
    raise StructronError(
        f"{source.place}: {source.width} columns; the model reads {len(view.columns)} ({', '.join(view.columns)}), "
        f"{view.label!r} may be missing; name other columns with --columns"
    )


def labelled_rows(source: Source, fits: Layout, at_least: int = 1) -> Iterator[Rows]:
    """The sentences of a labelled file, read as they are needed.

    Labels that are all empty, or too few to learn, are refused at the end of the file: before they are learned.
    """
    assert fits.label is not None
    place = fits.label if fits.places is None else fits.places.index(fits.label)
    labels: set[str] = set()
    for sentence in source.sentences:
        rows = fits.rows(sentence)
        labels.update([row[place] for row in rows])
        yield rows
    if labels == {EMPTY}:
        raise StructronError(f"{source.name}: the label column is empty ({EMPTY} everywhere); expected labels")
    if len(labels) < at_least:
        raise StructronError(f"{source.name}: one label only ({labels.pop()}); expected two or more to learn")


def batches(sentences: Iterable[Sentence], tokens: int) -> Iterator[list[Sentence]]:
    """Sentences in lists of about so many tokens, so that a file of any size fits in memory."""
    batch: list[Sentence] = []
    size = 0
    for sentence in sentences:
        batch.append(sentence)
        size += len(sentence.rows)
        if size >= tokens:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
