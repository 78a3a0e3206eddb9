"""Between files and models: which column of a file is which column of a model, checked before any work is done."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from structron.cli.tasks import Estimator
from structron.errors import StructronError, unknown
from structron.io import CONLLU_COLUMNS, Sentence, detect_format, read
from structron.io.text import display_name, is_standard
from structron.sentences import Document
from structron.tasks.chain.labeler import WORD_COLUMNS, default_columns
from structron.tasks.joint.inputs import Roles

CONLLU_LABELS = {"tagger": "upos"}
"""The CoNLL-U column that a task learns when nobody names one."""
EMPTY = "_"
DOCUMENT_TOKENS = 1_000_000
"""A document that is longer is cut, so that a file without end fits in memory."""

Rows = list[list[str]]
Item = Rows | Document
"""What a task labels as one: a sentence, or a document of sentences."""


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
        model: Estimator | None = None,
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
    """The columns that a model knows, those that it predicts, and those that it cannot do without."""

    columns: list[str]
    outputs: list[str]
    word: str
    needed: set[str]
    pos: str | None = None
    """A parser's parts of speech; other tasks have none."""
    documents: bool = False
    """Whether the sentences of a document are labelled together."""
    many_roots: bool = False
    """Whether the trees of a parser may have several roots."""

    @classmethod
    def of(cls, estimator: Estimator) -> "View":
        columns = list(estimator.columns_)
        pos = pos_column(columns, getattr(estimator, "pos", None)) if parses(type(estimator)) else None
        needed, documents = set(estimator.needed_), reads_documents(type(estimator))
        many_roots = not getattr(estimator, "single_root", True)
        return cls(columns, list(estimator.outputs_), estimator.word_, needed, pos, documents, many_roots)

    @property
    def inputs(self) -> list[str]:
        return [name for name in self.columns if name not in self.outputs]

    @property
    def orders(self) -> list[list[str]]:
        """What the columns of a file may be when nobody names them, the likeliest first."""
        if self.pos is None:
            begun = [name for name in self.columns if name not in self.outputs[1:]]
            return [self.columns, self.inputs, begun, [self.word]]
        short = [[self.word, self.pos, *self.outputs[:k]] for k in range(len(self.outputs), -1, -1)]
        return [self.columns, *short, self.inputs, [self.word]]


def parses(kind: type) -> bool:
    """Whether a task's sentences are trees."""
    return bool(getattr(kind, "checks_trees", False))


def predicts_tags(kind: type) -> bool:
    """Whether a task learns tags and chunk labels together."""
    return bool(getattr(kind, "predicts_tags", False))


def reads_documents(kind: type) -> bool:
    """Whether a task labels the sentences of a document together."""
    return bool(getattr(kind, "documents", False))


def pos_column(columns: list[str], given: str | None = None) -> str:
    """The column of a parser's parts of speech: CoNLL-U calls them upos."""
    return given or ("upos" if "upos" in columns else "pos")


def training_view(source: Source, label: str | None, task: str, documents: bool = False) -> View:
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
    word = word_column(names)
    if label == word:
        raise StructronError(f"{source.name}: {label!r} is the word and cannot be the label too")
    return View(names, [label], word, set(names), documents=documents)


def joint_view(source: Source, pos: str | None, label: str | None) -> View:
    """The same where two columns are learned: the tag and the chunk label."""
    if source.format == "conllu":
        raise StructronError(
            f"{source.name}: CoNLL-U has no column of chunk labels; expected CoNLL columns, for instance word,pos,chunk"
        )
    names = source.columns or default_columns(source.width)
    if len(names) < 3:
        found = f"{len(names)} column{'s' if len(names) > 1 else ''}"
        raise StructronError(f"{source.place}: {found}; expected the word, its tag and its chunk label at least")
    try:
        roles = Roles.settle(names, pos, label)
    except StructronError as error:
        raise StructronError(f"{source.name}: {error}") from None
    return View(names, roles.outputs, roles.word, set(names))


def word_column(names: list[str]) -> str:
    """The column of the words: the one that is called so, or the first."""
    return next((name for name in WORD_COLUMNS if name in names), names[0])


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a file has what a model asks for."""

    outputs: list[int | None]  # the file's columns of the model's outputs; None: it has none
    places: list[int | None] | None  # of the model's columns; None: the rows fit as they are

    def rows(self, sentence: Sentence) -> Rows:
        """A sentence in the model's columns."""
        if self.places is None:
            return sentence.rows
        return [[EMPTY if k is None else row[k] for k in self.places] for row in sentence.rows]

    def item(self, group: list[Sentence], view: View) -> Item:
        """A group of `groups` in the model's columns."""
        return Document(map(self.rows, group)) if view.documents else self.rows(group[0])

    def targets(self, width: int) -> list[int]:
        """Where predictions go in a file of so many columns: those that it lacks come after its last."""
        missing = count(width)
        return [next(missing) if place is None else place for place in self.outputs]


def layout(source: Source, view: View, label: str | None = None, labelled: bool = False) -> Layout:
    """Find the model's columns in a file, by name or, in a file that nobody named the columns of, by number.

    The predicted columns may be missing unless the file has to be `labelled`; `label` names the only one.
    """
    names = source.columns or _names_by_width(source, view)
    wanted = [label] if label and len(view.outputs) == 1 else view.outputs
    for name in wanted:
        if name not in names and (label or labelled or source.format == "conllu"):
            raise _no_output(source, view, name, names, bool(label))
    found: dict[str, int | None] = {name: names.index(name) if name in names else None for name in view.inputs}
    if found[view.word] is None:
        found[view.word] = next((names.index(name) for name in WORD_COLUMNS if name in names), None)
    for name in view.inputs:
        if name in view.needed and found[name] is None:
            raise StructronError(
                f"{source.name}: no column {name!r} among {', '.join(names)}; the model reads it (name it by --columns)"
            )
    outputs = [names.index(name) if name in names else None for name in wanted]
    if wanted == view.outputs and (names == view.columns or (names == view.inputs and view.pos is None)):
        return Layout(outputs, None)
    found |= zip(view.outputs, outputs, strict=True)
    return Layout(outputs, [found[name] for name in view.columns])


def _no_output(source: Source, view: View, name: str, names: list[str], by_option: bool) -> StructronError:
    if len(view.outputs) > 1 or view.pos is not None:
        return StructronError(f"{source.name}: no column {name!r} among {', '.join(names)}; name it by --columns")
    hint = "" if by_option else "; name it with --label"
    return StructronError(f"{source.name}: no label column {name!r} among {', '.join(names)}{hint}")


def _names_by_width(source: Source, view: View) -> list[str]:
    for names in view.orders:
        if len(names) == source.width:
            return names
    outputs = " and ".join(repr(name) for name in view.outputs)
    raise StructronError(
        f"{source.place}: {source.width} columns; the model reads {len(view.columns)} ({', '.join(view.columns)}), "
        f"{outputs} may be missing; name other columns with --columns"
    )


def labelled_rows(source: Source, view: View, fits: Layout, at_least: int = 1, quiet: bool = False) -> Iterator[Item]:
    """The sentences of a labelled file, or its documents for a task that labels those, read as they are needed.

    Columns that are all empty, or labels too few to learn, are refused at the end of the file: before they are learned.
    """
    expected = expectations(view)
    places = {name: view.columns.index(name) for name in expected}
    texts: dict[str, set[str]] = {name: set() for name in expected}
    for group in groups(source, view, quiet):
        item = fits.item(group, view)
        for rows in item if view.documents else (item,):
            for name, place in places.items():
                texts[name].update([row[place] for row in rows])
        yield item
    for name, what in expected.items():
        if texts[name] == {EMPTY}:
            raise StructronError(f"{source.name}: the {what}")
    if view.pos is None:
        for name in view.outputs:
            if len(texts[name]) < at_least:
                where = "" if len(view.outputs) == 1 else f"column {name!r}: "
                only = texts[name].pop()
                raise StructronError(f"{source.name}: {where}one label only ({only}); expected two or more to learn")


def expectations(view: View) -> dict[str, str]:
    """The columns that labelled data must fill, and what is wrong when one is empty. Trees are looked at elsewhere."""
    if view.pos is None and len(view.outputs) == 1:
        return {view.outputs[0]: f"label column is empty ({EMPTY} everywhere); expected labels"}
    if view.pos is None:
        return {name: f"column {name!r} is empty ({EMPTY} everywhere); expected labels" for name in view.outputs}
    wrong = {}
    if view.pos in view.needed:
        wrong[view.pos] = "expected parts of speech (train takes them from the column that --pos names)"
    wrong |= dict.fromkeys(view.outputs[1:], "expected relations (train --unlabelled does without)")
    return {name: f"column {name!r} is empty ({EMPTY} everywhere); {text}" for name, text in wrong.items()}


def groups(source: Source, view: View, quiet: bool = False) -> Iterator[list[Sentence]]:
    """The sentences of a file in groups that are labelled as one: each alone, or those of a document.

    A file that has no document boundaries, or none for very long, is a file of sentences.
    """
    if not view.documents:
        yield from ([sentence] for sentence in source.sentences)
        return
    head: list[Sentence] = []
    size, marked = 0, False
    for sentence in source.sentences:
        head.append(sentence)
        size += len(sentence.rows)
        marked = sentence.new_document
        if marked or size >= DOCUMENT_TOKENS:
            break
    sentences = chain(head, source.sentences)
    if marked:
        yield from _documents(sentences)
        return
    if not quiet:
        say(f"{source.name}: no document boundaries (-DOCSTART- or # newdoc lines): each sentence is a document")
    yield from ([sentence] for sentence in sentences)


def per_sentence(view: View, found: Sequence[Any]) -> list[Any]:
    """What was found for each item, sentence by sentence."""
    return [x for group in found for x in group] if view.documents else list(found)


def _documents(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    group: list[Sentence] = []
    size = 0
    for sentence in sentences:
        if group and (sentence.new_document or size >= DOCUMENT_TOKENS):
            yield group
            group, size = [], 0
        group.append(sentence)
        size += len(sentence.rows)
    yield group


def batches(groups: Iterable[list[Sentence]], tokens: int) -> Iterator[list[list[Sentence]]]:
    """Groups in lists of about so many tokens, so that a file of any size fits in memory."""
    batch: list[list[Sentence]] = []
    size = 0
    for group in groups:
        batch.append(group)
        size += sum(len(sentence.rows) for sentence in group)
        if size >= tokens:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
