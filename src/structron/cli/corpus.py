"""Between files and models: which column of a file is which column of a model, checked before any work is done.

file ──Source──▶ sentences ──Corpus──▶ items: rows in the model's columns, in documents where it labels those
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from structron.cli.files import MAX_NAMED_LABELS, Source, groups, header_note, say, tell_new
from structron.cli.options import flag_of
from structron.cli.trees import valid_trees
from structron.errors import StructronError
from structron.estimator import Estimator
from structron.fields import options_of
from structron.io import CONLLU_COLUMNS, ColumnSentence
from structron.io.columns import EMPTY, TREE_COLUMNS, WORDS, Columns, default_columns
from structron.options import Trees, many_roots
from structron.text.sentences import Document

CONLLU_LABELS = {"tagger": {"label": "upos"}, "lemmatizer": {"label": "lemma"}}
"""The CoNLL-U column that a task learns when nobody names one."""

Rows = list[list[str]]
Item = Rows | Document
"""What a task labels as one: a sentence, or a document of sentences."""


@dataclass(frozen=True, slots=True)
class View:
    """What a model reads and predicts, as far as files are concerned."""

    roles: Columns
    needed: set[str]  # columns that it cannot do without
    documents: bool = False  # whether the sentences of a document are labelled together
    many_roots: bool = False  # whether a parser's trees may have several roots
    closed: bool = True  # whether it predicts only labels that it has seen

    @classmethod
    def of(cls, estimator: Any, roles: Columns | None = None) -> "View":
        """That of a model; with `roles` of one that is still to be trained, which may read every column."""
        known, needed = (roles, set(roles.names)) if roles else (estimator.roles_, set(estimator.needed_))
        return cls(known, needed, estimator.documents, many_roots(estimator.options), estimator.closed)

    @property
    def orders(self) -> list[list[str]]:
        """What the columns of a file may be when nobody names them, the likeliest first."""
        roles = self.roles
        if roles.pos is None:
            begun = [name for name in roles.names if name not in roles.outputs[1:]]
            return [roles.names, roles.inputs, begun, [roles.word]]
        short = [[roles.word, roles.pos, *roles.outputs[:k]] for k in range(len(roles.outputs), -1, -1)]
        return [roles.names, *short, roles.inputs, [roles.word]]

    @property
    def filled(self) -> dict[str, str]:
        """The columns that labelled data must fill, and with what; a parser's heads are looked at one by one."""
        roles = self.roles
        if roles.pos is None:
            return dict.fromkeys(roles.outputs, "labels")
        relations = dict.fromkeys(roles.outputs[1:], "relations (not needed with train --unlabelled)")
        tags = "parts of speech (--pos names their column)"
        return relations | ({roles.pos: tags} if roles.pos in self.needed else {})


class Corpus:
    """A file as a model reads it: its columns are found by name or, where nobody named them, by number.

    The predicted columns may be missing unless the file has to be `labelled`; `label` is another name for the last.
    """

    def __init__(self, source: Source, view: View, label: str | None = None, labelled: bool = False):
        self.source, self.view, roles = source, view, view.roles
        names = source.columns or self._names_by_width()
        wanted = [*roles.outputs[:-1], label or roles.outputs[-1]]
        found = {name: names.index(name) if name in names else None for name in roles.inputs}
        if found[roles.word] is None:
            found[roles.word] = next((names.index(name) for name in WORDS if name in names), None)
        missing = [name for name in wanted if name not in names]
        if missing and (label or labelled or source.format == "conllu"):
            hint = "--label or --columns" if not label and roles.pos is None and len(wanted) == 1 else "--columns"
            raise self._no_column(missing[0], names, f"name it with {hint}")
        for name in roles.inputs:
            if name in view.needed and found[name] is None:
                raise self._no_column(name, names, "the model reads it (name it with --columns)")
        self.names = names
        self.texts: dict[str, set[str]] = {}
        """What stands in the columns of a labelled file that has been read to its end."""
        self.unfilled: set[str] = set()
        """Columns that the model reads and that are empty throughout."""
        self.open_label: str | None = None
        """What stands for labels that are not known."""
        self.outputs = [names.index(name) if name in names else None for name in wanted]
        """The file's columns of the model's outputs; None: it has none."""
        self.places: list[int | None] | None = None
        """The file's columns of all the model's; None: the rows fit as they are."""
        if wanted != roles.outputs or (names != roles.names and (names != roles.inputs or roles.pos is not None)):
            found |= zip(roles.outputs, self.outputs, strict=True)
            self.places = [found[name] for name in roles.names]

    def _names_by_width(self) -> list[str]:
        source, roles = self.source, self.view.roles
        for names in self.view.orders:
            if len(names) == source.width:
                return names
        outputs = " and ".join(map(repr, roles.outputs))
        raise StructronError(
            f"{source.place}: {source.width} columns; the model reads {len(roles.names)} ({', '.join(roles.names)}), "
            f"{outputs} may be missing; name other columns with --columns"
        )

    def _no_column(self, name: str, names: list[str], hint: str) -> StructronError:
        return StructronError(f"{self.source.name}: no column {name!r} among {', '.join(names)}; {hint}")

    def item(self, group: list[ColumnSentence]) -> Item:
        """Sentences that are labelled as one, in the model's columns."""
        rows = [sentence.rows for sentence in group]
        if self.places is not None:
            rows = [[[EMPTY if k is None else row[k] for k in self.places] for row in own] for own in rows]
        return Document(rows) if self.view.documents else rows[0]

    def targets(self) -> list[int]:
        """Where predictions go in the file: columns that it lacks come after its last."""
        missing = count(self.source.width)
        return [next(missing) if place is None else place for place in self.outputs]

    def labelled(self, *, at_least: int = 1, skip_invalid: bool = False, quiet: bool = False) -> Iterator[Item]:
        """The items of a labelled file, read as they are needed.

        Columns that are empty, or have less than `at_least` labels, are refused at its end: before they are learned.
        """
        source, roles, filled = self.source, self.view.roles, self.view.filled
        if roles.pos is not None:
            head, word = (self._place(name) for name in (roles.outputs[0], roles.word))
            how = {"many_roots": self.view.many_roots, "skip": skip_invalid, "quiet": quiet}
            source.sentences = valid_trees(source, source.sentences, head, word, self.open_label, **how)
        self.tell_header(quiet)
        places = {name: roles.names.index(name) for name in filled}
        texts: dict[str, set[str]] = {name: set() for name in filled}
        unfilled = self._inputs()
        for group in groups(source, self.view.documents, quiet):
            item = self.item(group)
            for rows in item if self.view.documents else (item,):
                for name, place in places.items():
                    texts[name].update([row[place] for row in rows])
                unfilled -= {name for name in unfilled if any(row[self._column(name)] != EMPTY for row in rows)}
            yield item
        for name in roles.outputs:
            texts.get(name, set()).discard(self.open_label or "")
        self.texts, self.unfilled = texts, unfilled
        for name, expected in filled.items():
            self._check_filled(name, texts[name], expected)
            if roles.pos is None and len(texts[name]) < at_least:
                only = next(iter(texts[name]), "none known")
                raise StructronError(f"{source.name}: column {name!r}: only one label ({only}); expected two or more")

    def _inputs(self) -> set[str]:
        """The columns beside the words that the model reads and the file has."""
        roles = self.view.roles
        read = {name for name in roles.inputs if name in self.view.needed and name not in (roles.word, roles.pos)}
        return {name for name in read if self.places is None or self.places[self._column(name)] is not None}

    def _column(self, name: str) -> int:
        return self.view.roles.names.index(name)

    def tell_header(self, quiet: bool = False) -> None:
        """Say that the first row names the columns."""
        note = header_note(self.source.first, self.source, self.names)
        if note is not None and not quiet:
            say(f"warning: {note}")

    def tell_empty(self, items: list[Item], learned: dict[str, str], quiet: bool = False) -> None:
        """Say which columns are empty that a model has learned from (`learned`: what it knows of its training data)."""
        rows = [row for item in items for own in (item if self.view.documents else [item]) for row in own]
        known = set(learned.get("empty", "").split(","))
        unfilled = {name for name in self._inputs() if all(row[self._column(name)] == EMPTY for row in rows)}
        self.tell_unfilled(unfilled - known, quiet)

    def tell_unfilled(self, names: set[str], quiet: bool = False) -> None:
        """Say which columns are empty that others have filled."""
        for name in [] if quiet else sorted(names):
            say(f"warning: {self.source.name}: column {name!r} is empty ({EMPTY}), but the model was trained with it")

    def tell_new_labels(self, training: "Corpus") -> None:
        """Say which labels of dev data are not among those of the training data."""
        for name in self.view.filled:
            if name != self.view.roles.pos:
                tell_new(self.source.name, name, self.texts[name] - training.texts[name])

    def check_labels(self, items: list[Item], known: set[str]) -> None:
        """Refuse a file whose labels, which would be replaced, are words: nobody has named its columns."""
        place, source = self.outputs[-1], self.source
        if place is None or not known or source.columns is not None or "\t" in source.like:
            return
        column = self._column(self.view.roles.outputs[-1])
        rows = [row for item in items for own in (item if self.view.documents else [item]) for row in own]
        found = {row[column] for row in rows}
        if found & known or (len(found) == 1 and len(rows) > 1) or all(text == text.upper() for text in found):
            return
        some = ", ".join(repr(text) for text in sorted(found)[:MAX_NAMED_LABELS])
        expected = f"expected the columns {', '.join(self.names)} (--columns renames them; for plain text use annotate)"
        raise StructronError(f"{source.place}: none of its labels is known to the model ({some}); {expected}")

    def check_tags(self, items: list[Item]) -> None:
        """Refuse to parse sentences without parts of speech: a model that reads them would give nonsense."""
        tags = self.view.roles.pos
        if tags is not None and tags in self.view.needed:
            place = self.view.roles.names.index(tags)
            self._check_filled(tags, {row[place] for rows in items for row in rows}, "parts of speech")

    def _check_filled(self, name: str, texts: set[str], expected: str) -> None:
        if texts == {EMPTY}:
            where = f"{self.source.name}: column {name!r}"
            raise StructronError(f"{where} is empty ({EMPTY} everywhere); expected {expected}")

    def _place(self, name: str) -> int:
        """The file's column of a model's column that it is known to have."""
        place = self.view.roles.names.index(name)
        found = place if self.places is None else self.places[place]
        assert found is not None
        return found


def column_names(source: Source, kind: type[Estimator]) -> list[str]:
    """The names of the columns of training data."""
    if source.columns is not None:
        return source.columns
    if not issubclass(kind.options_class, Trees):
        return default_columns(source.width)
    if not 3 <= source.width <= len(TREE_COLUMNS):
        raise StructronError(
            f"{source.place}: {source.width} columns; expected {', '.join(TREE_COLUMNS[:3])} and perhaps "
            f"{TREE_COLUMNS[3]}; name others with --columns, or give --format conllu"
        )
    return TREE_COLUMNS[: source.width]


def conllu_labels(source: Source, kind: type[Estimator], settings: dict[str, Any]) -> dict[str, str]:
    """The settings that name what is to be learned from CoNLL-U, which has no columns for most tasks' labels."""
    if source.format != "conllu" or issubclass(kind.options_class, Trees):
        return {}
    usual = CONLLU_LABELS.get(kind.task, {})
    missing = [name for name in ("pos", "label") if name in options_of(kind) and name not in {*settings, *usual}]
    if missing:
        raise StructronError(
            f"{source.name}: CoNLL-U has no column of its own for the {kind.task}; "
            f"name the one to learn with {' and '.join(map(flag_of, missing))} ({', '.join(CONLLU_COLUMNS[2:])})"
        )
    return {name: column for name, column in usual.items() if name not in settings}
