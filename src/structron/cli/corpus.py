"""Between files and models: which column of a file is which column of a model, checked before any work is done."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from structron.cli.options import flag_of
from structron.documents import Document
from structron.errors import StructronError
from structron.estimator import Estimator
from structron.io import CONLLU_COLUMNS, Sentence, detect_format, read
from structron.io.columns import EMPTY, TREE_COLUMNS, WORDS, Columns, default_columns
from structron.io.text import display_name, is_standard
from structron.options import Trees, options_of

CONLLU_LABELS = {"tagger": {"label": "upos"}}
"""The CoNLL-U column that a task learns when nobody names one."""
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
    """What a model reads and predicts, as far as files are concerned."""

    roles: Columns
    needed: set[str]
    """Columns that it cannot do without."""
    documents: bool = False
    """Whether the sentences of a document are labelled together."""
    many_roots: bool = False
    """Whether the trees of a parser may have several roots."""

    @classmethod
    def of(cls, estimator: Any, roles: Columns | None = None) -> "View":
        """That of a model; with `roles` of one that is still to be trained, which may read every column."""
        known, needed = (roles, set(roles.names)) if roles else (estimator.roles_, set(estimator.needed_))
        many_roots = known.pos is not None and not estimator.single_root
        return cls(known, needed, estimator.documents, many_roots)

    @property
    def orders(self) -> list[list[str]]:
        """What the columns of a file may be when nobody names them, the likeliest first."""
        roles = self.roles
        if roles.pos is None:
            begun = [name for name in roles.names if name not in roles.outputs[1:]]
            return [roles.names, roles.inputs, begun, [roles.word]]
        short = [[roles.word, roles.pos, *roles.outputs[:k]] for k in range(len(roles.outputs), -1, -1)]
        return [roles.names, *short, roles.inputs, [roles.word]]


def column_names(source: Source, kind: type) -> list[str]:
    """The names of the columns of training data."""
    if source.columns is not None:
        return source.columns
    if not issubclass(kind, Trees):
        return default_columns(source.width)
    if not 3 <= source.width <= len(TREE_COLUMNS):
        raise StructronError(
            f"{source.place}: {source.width} columns; expected {', '.join(TREE_COLUMNS[:3])} and perhaps "
            f"{TREE_COLUMNS[3]}; name others with --columns, or give --format conllu"
        )
    return TREE_COLUMNS[: source.width]


def conllu_labels(source: Source, kind: type[Estimator], settings: dict[str, Any]) -> dict[str, str]:
    """The settings that name what is to be learned from CoNLL-U, which has no columns for most tasks' labels."""
    if source.format != "conllu" or issubclass(kind, Trees):
        return {}
    usual = CONLLU_LABELS.get(kind.task, {})
    missing = [name for name in ("pos", "label") if name in options_of(kind) and name not in {*settings, *usual}]
    if missing:
        raise StructronError(
            f"{source.name}: CoNLL-U has no column of its own for the {kind.task}; "
            f"name the one to learn with {' and '.join(map(flag_of, missing))} ({', '.join(CONLLU_COLUMNS[2:])})"
        )
    return {name: column for name, column in usual.items() if name not in settings}


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

    The predicted columns may be missing unless the file has to be `labelled`; `label` is another name for the last.
    """
    roles, names = view.roles, source.columns or _names_by_width(source, view)
    wanted = [*roles.outputs[:-1], label or roles.outputs[-1]]
    for name in wanted:
        if name not in names and (label or labelled or source.format == "conllu"):
            hint = "--columns" if label or roles.pos or len(wanted) > 1 else "--label or --columns"
            raise StructronError(f"{source.name}: no column {name!r} among {', '.join(names)}; name it with {hint}")
    found: dict[str, int | None] = {name: names.index(name) if name in names else None for name in roles.inputs}
    if found[roles.word] is None:
        found[roles.word] = next((names.index(name) for name in WORDS if name in names), None)
    for name in roles.inputs:
        if name in view.needed and found[name] is None:
            raise StructronError(
                f"{source.name}: no column {name!r} among {', '.join(names)}; the model reads it "
                "(name it with --columns)"
            )
    outputs = [names.index(name) if name in names else None for name in wanted]
    if wanted == roles.outputs and (names == roles.names or (names == roles.inputs and roles.pos is None)):
        return Layout(outputs, None)
    found |= zip(roles.outputs, outputs, strict=True)
    return Layout(outputs, [found[name] for name in roles.names])


def _names_by_width(source: Source, view: View) -> list[str]:
    for names in view.orders:
        if len(names) == source.width:
            return names
    names, outputs = view.roles.names, " and ".join(map(repr, view.roles.outputs))
    raise StructronError(
        f"{source.place}: {source.width} columns; the model reads {len(names)} ({', '.join(names)}), "
        f"{outputs} may be missing; name other columns with --columns"
    )


def labelled_rows(source: Source, view: View, fits: Layout, at_least: int = 1, quiet: bool = False) -> Iterator[Item]:
    """The sentences of a labelled file, or its documents for a task that labels those, read as they are needed.

    Columns that are all empty, or labels too few to learn, are refused at the end of the file: before they are learned.
    """
    roles, expected = view.roles, expectations(view)
    places = {name: roles.names.index(name) for name in expected}
    texts: dict[str, set[str]] = {name: set() for name in expected}
    for group in groups(source, view, quiet):
        item = fits.item(group, view)
        for rows in item if view.documents else (item,):
            for name, place in places.items():
                texts[name].update([row[place] for row in rows])
        yield item
    for name, what in expected.items():
        if texts[name] == {EMPTY}:
            raise empty_column(source, name, what)
        if roles.pos is None and len(texts[name]) < at_least:
            only = texts[name].pop()
            raise StructronError(f"{source.name}: column {name!r}: one label only ({only}); expected two or more")


def expectations(view: View) -> dict[str, str]:
    """The columns that labelled data must fill, and with what. Heads are looked at elsewhere."""
    roles = view.roles
    if roles.pos is None:
        return dict.fromkeys(roles.outputs, "labels")
    wanted = {roles.pos: "parts of speech (train takes them from the column that --pos names)"}
    wanted |= dict.fromkeys(roles.outputs[1:], "relations (train --unlabelled does without)")
    return {name: what for name, what in wanted.items() if name != roles.pos or name in view.needed}


def empty_column(source: Source, name: str, expected: str) -> StructronError:
    """A column that should say something."""
    return StructronError(f"{source.name}: column {name!r} is empty ({EMPTY} everywhere); expected {expected}")


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
