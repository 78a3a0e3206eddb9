"""Files of sentences as commands open them, in groups that are labelled as one."""

import contextlib
import glob
import io
import os
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from structron.errors import NoSentencesError, StructronError
from structron.io import CONLLU_COLUMNS, FORMATS, ColumnSentence, detect_format, read_from, read_lines
from structron.io.columns import EMPTY
from structron.io.conll import BOM, read_conll, shows_columns
from structron.io.conllu import read_conllu
from structron.io.text import Reading, display_name, is_standard, unpacked_name
from structron.runtime.progress import Tally, say, tally

MAX_NAMED_LABELS = 5
"""Labels that a message names."""
DOCUMENT_TOKENS = 1_000_000
"""A document that is longer is cut, so that a file without end fits in memory."""


def tell_new(file: str, column: str, labels: set[str]) -> None:
    """Say which labels of dev data no model can find, if there are any."""
    if new := sorted(labels - {EMPTY}):
        some = f"{', '.join(new[:MAX_NAMED_LABELS])}{' …' if len(new) > MAX_NAMED_LABELS else ''}"
        count = f"{len(new)} label{'s' * (len(new) != 1)}"
        say(f"warning: {file}: column {column!r}: {count} never seen in training ({some})")


def expand(patterns: Sequence[str]) -> list[str]:
    """The files that names and quoted patterns stand for, each once, in order."""
    found: dict[str, str] = {}
    for pattern in patterns:
        paths = [pattern]
        if glob.has_magic(pattern) and not os.path.exists(pattern):
            paths = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
            if not paths:
                raise StructronError(f"{pattern}: no files match; expected a pattern that matches files")
        for path in paths:
            found.setdefault(os.path.abspath(path) if not is_standard(path) else path, path)
    return list(found.values())


def the_file(patterns: Sequence[str] | None, ray: str | None) -> str:
    """The one file of a command that writes one; none: standard input."""
    if ray is not None:
        raise StructronError("--ray: expected files and --output-dir")
    files = expand(patterns or ["-"])
    if len(files) > 1:
        raise StructronError(f"{len(files)} files ({files[0]}, {files[1]} …); expected one, or --output-dir for many")
    if patterns and len(patterns) > 1:
        say(f"{files[0]}: given more than once; it is read only once")
    return files[0]


def tallied(output: Path | None, quiet: bool, reading: Reading) -> contextlib.AbstractContextManager[Tally]:
    """Counts what a command writes to a file, and shows it with the time that is left."""
    return tally(None if quiet or output is None or is_standard(output) else output, lambda: reading.share)


def without_bom(line: str) -> str:
    """A line, which may be the first of a file, as it is meant."""
    return line.removeprefix(BOM) or "\n"


class Recorded:
    """Lines that are kept while they are read, until `rest` gives all of them from the first on."""

    def __init__(self, lines: Generator[str, None, None]):
        self.seen: list[str] | None = []
        self._lines = lines

    def all(self) -> Generator[str, None, None]:
        """The lines, as they are read."""
        with contextlib.closing(self._lines):
            for line in self._lines:
                if self.seen is not None:
                    self.seen.append(line)
                yield line

    def forget(self) -> None:
        """Keep no more lines."""
        self.seen = None

    def rest(self) -> Iterator[str]:
        """Re-read from the first line; closes the current reader."""
        seen, self.seen = self.seen or [], None
        return chain(seen, self._lines)


PLAIN = "this looks like plain text; expected one word per line (for text use structron annotate)"
CONLLU_ID = re.compile(r"[0-9]+([-.][0-9]+)?")
SENTENCE_END = re.compile("[^\x00-\x60\x7b-\u00de][.!?…][\"'”’»)]*$")
"""A word with the end of a sentence on it; columns of tags and labels have none.

Letters are written as what they are not: a class that names them takes milliseconds to compile.
"""
HEADERS = {
    *("word", "words", "form", "token", "tokens", "text", "id", "lemma", "lemmas"),
    *("pos", "tag", "tags", "upos", "xpos", "feats", "pos_tag", "pos_tags", "postag", "morph"),
    *("chunk", "chunks", "chunk_tag", "chunk_tags", "ner", "ner_tag", "ner_tags", "entity", "entities", "bio", "iob"),
    *("label", "labels", "head", "deprel", "relation", "deps", "misc"),
}
"""What header rows call columns."""


class Source:
    """An open file of sentences. The first is read at once, so that a bad name or width is known before all else."""

    def __init__(
        self,
        path: str | Path,
        format: str | None = None,
        encoding: str = "utf-8",
        columns: str | None = None,
        model: Any = None,
        record: bool = False,
        text: str | None = None,
    ):
        """`model`: the one to be used. A name that tells nothing, as that of standard input, leaves it to the content.

        record: keep the lines that are read (see `Recorded`).   text: what the file has in it; it is not opened.
        """
        self.name = display_name(path)
        self.reading = Reading()
        if text is None:
            given = read_lines(path, encoding, reading=self.reading)
        else:
            given = (line for line in io.StringIO(text, newline="\n"))
        head, lines = begun(given)
        self.format = detect_format(path, format or told(path, head, model))
        self.lines = Recorded(lines)
        sentences = read_from(self.lines.all() if record else lines, self.name, self.format)
        try:
            first = next(sentences)
        except NoSentencesError:
            raise
        except StructronError as error:
            raise StructronError(f"{error}{hint(head, self.format)}") from None
        check_columns(first, self.name, self.format)
        self.like = next((line for line in map(without_bom, first.lines) if shows_columns(line)), "")
        self.sentences: Iterator[ColumnSentence] = chain([first], sentences)
        self.first = first
        self.width, self.place = len(first.rows[0]), self.line(first, 0)
        self.columns: list[str] | None = list(CONLLU_COLUMNS) if self.format == "conllu" else None
        if columns is not None:
            self.columns = [name.strip() for name in columns.split(",")]
            if len(self.columns) != self.width:
                raise StructronError(f"{self.place}: {self.width} columns; --columns names {len(self.columns)}")

    def some(self, text: str, start: int) -> list[ColumnSentence]:
        """The sentences of some lines of the file, of which the first has the number `start`."""
        lines = io.StringIO(text, newline="\n")
        if self.format == "conllu":
            return list(read_conllu(lines, self.name, start))
        return list(read_conll(lines, self.name, self.like, start))

    def line(self, sentence: ColumnSentence, token: int) -> str:
        """Where a token stands, for messages."""
        return f"{self.name}:{sentence.line_number + sentence.token_lines[token]}"


HEAD_LINES = 20
"""Token lines that are looked at to tell what a file is."""


def begun(lines: Generator[str, None, None]) -> tuple[list[str], Generator[str, None, None]]:
    """The lines up to the first token, and all lines."""
    head: list[str] = []
    for line in lines:
        head.append(line)
        if shows_columns(without_bom(line)):
            break
    return head, _again(head, lines)


def _again(head: list[str], lines: Generator[str, None, None]) -> Generator[str, None, None]:
    with contextlib.closing(lines):
        yield from head
        yield from lines


def told(path: str | Path, head: list[str], model: Any) -> str | None:
    """The format that the first token tells, where the name does not: the same bytes are the same from a pipe."""
    if unpacked_name(path).lower().endswith(tuple(f".{name}" for name in FORMATS)) or not head:
        return None
    fields = without_bom(head[-1]).rstrip("\r\n").split("\t")
    if len(fields) != len(CONLLU_COLUMNS) or not CONLLU_ID.fullmatch(fields[0]):
        return "conll"
    columns = model is not None and model.source_.get("format") == "conll" and len(model.roles_.names) == len(fields)
    return "conll" if columns else "conllu"


def hint(head: list[str], format: str) -> str:
    """What a file may be whose first sentence is no sentence."""
    line = without_bom(head[-1]) if head else ""
    return f"; {PLAIN}" if format == "conll" and "\t" not in line and len(line.split()) > 2 else ""


def check_columns(first: ColumnSentence, name: str, format: str) -> None:
    """Refuse plain text: between spaces it looks like columns, and its last words like labels."""
    lines = [first.lines[k] for k in first.token_lines[:HEAD_LINES]]
    if format != "conll" or len(first.rows[0]) < 2 or any("\t" in line for line in lines):
        return
    ends = sum(SENTENCE_END.search(row[-1]) is not None for row in first.rows[:HEAD_LINES])
    if 2 * ends >= len(lines):
        raise StructronError(f"{name}:{first.line_number + first.token_lines[0]}: no columns; {PLAIN}")


def header_note(first: ColumnSentence, source: "Source", names: Sequence[str]) -> str | None:
    """What to say of a first row that names columns; None: it does not."""
    fields = [field.casefold() for field in first.rows[0]]
    if len(fields) < 2 or not (fields == [name.casefold() for name in names] or set(fields) <= HEADERS):
        return None
    return f"{source.line(first, 0)}: looks like a header ({' '.join(first.rows[0])}) but is read as a word; remove it"


def groups(source: Source, documents: bool, quiet: bool = False) -> Iterator[list[ColumnSentence]]:
    """The sentences of a file in groups that are labelled as one: each alone, or those of a document.

    A file that has no document boundaries, or none for very long, is a file of sentences.
    """
    if not documents:
        yield from ([sentence] for sentence in source.sentences)
        return
    head: list[ColumnSentence] = []
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
        say(f"{source.name}: no document boundaries (-DOCSTART- or # newdoc lines): each sentence becomes a document")
    yield from ([sentence] for sentence in sentences)


def _documents(sentences: Iterable[ColumnSentence]) -> Iterator[list[ColumnSentence]]:
    group: list[ColumnSentence] = []
    size = 0
    for sentence in sentences:
        if group and (sentence.new_document or size >= DOCUMENT_TOKENS):
            yield group
            group, size = [], 0
        group.append(sentence)
        size += len(sentence.rows)
    yield group


def batches(groups: Iterable[list[ColumnSentence]], tokens: int) -> Iterator[list[list[ColumnSentence]]]:
    """Groups in lists of about so many tokens, so that a file of any size fits in memory.

    The first lists are shorter: a small file keeps all threads busy too, and a pipe has its first lines soon.
    """
    batch: list[list[ColumnSentence]] = []
    size, enough = 0, tokens // 16
    for group in groups:
        batch.append(group)
        size += sum(len(sentence.rows) for sentence in group)
        if size >= enough:
            yield batch
            batch, size, enough = [], 0, min(tokens, enough * 5 // 4 + 1)
    if batch:
        yield batch
