"""Files of sentences as commands open them, in groups that are labelled as one."""

import contextlib
import glob
import io
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from structron.errors import StructronError
from structron.io import CONLLU_COLUMNS, Sentence, detect_format, read_from, read_lines
from structron.io.conll import BOM, read_conll, shows_columns
from structron.io.conllu import read_conllu
from structron.io.text import display_name, is_standard
from structron.progress import tell

DOCUMENT_TOKENS = 1_000_000
"""A document that is longer is cut, so that a file without end fits in memory."""


def say(text: str) -> None:
    """A line for the user, out of the way of results."""
    tell(text)


def expand(patterns: Sequence[str]) -> list[str]:
    """The files that names and quoted patterns stand for, each once, in order."""
    found: dict[str, str] = {}
    for pattern in patterns:
        paths = [pattern]
        if glob.has_magic(pattern) and not os.path.exists(pattern):
            paths = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
            if not paths:
                raise StructronError(f"{pattern}: no file has such a name; expected a pattern that some files fit")
        for path in paths:
            found.setdefault(os.path.abspath(path) if not is_standard(path) else path, path)
    return list(found.values())


def the_file(patterns: Sequence[str] | None, ray: str | None) -> str:
    """The one file of a command that writes one; none: standard input."""
    if ray is not None:
        raise StructronError("--ray: expected files and --output-dir beside it")
    files = expand(patterns or ["-"])
    if len(files) > 1:
        raise StructronError(f"{len(files)} files ({files[0]}, {files[1]} …); expected one, or --output-dir for many")
    return files[0]


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
        """All lines once more; whoever was reading them stops."""
        seen, self.seen = self.seen or [], None
        return chain(seen, self._lines)


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
    ):
        """`model`: the one to be used; standard input, which has no name to tell, is taken to be like its data.

        record: keep the lines that are read (see `Recorded`).
        """
        if model is not None and is_standard(path):
            format = format or model.source_.get("format")
        self.name, self.format = display_name(path), detect_format(path, format)
        lines = read_lines(path, encoding)
        self.lines = Recorded(lines)
        sentences = read_from(self.lines.all() if record else lines, self.name, self.format)
        first = next(sentences)
        self.like = next((line for line in map(without_bom, first.lines) if shows_columns(line)), "")
        self.sentences: Iterator[Sentence] = chain([first], sentences)
        self.width, self.place = len(first.rows[0]), self.line(first, 0)
        self.columns: list[str] | None = list(CONLLU_COLUMNS) if self.format == "conllu" else None
        if columns is not None:
            self.columns = [name.strip() for name in columns.split(",")]
            if len(self.columns) != self.width:
                raise StructronError(f"{self.place}: {self.width} columns; --columns names {len(self.columns)}")

    def some(self, text: str, start: int) -> list[Sentence]:
        """The sentences of some lines of the file, of which the first has the number `start`."""
        lines = io.StringIO(text, newline="\n")
        if self.format == "conllu":
            return list(read_conllu(lines, self.name, start))
        return list(read_conll(lines, self.name, self.like, start))

    def line(self, sentence: Sentence, token: int) -> str:
        """Where a token stands, for messages."""
        return f"{self.name}:{sentence.line_number + sentence.token_lines[token]}"


def groups(source: Source, documents: bool, quiet: bool = False) -> Iterator[list[Sentence]]:
    """The sentences of a file in groups that are labelled as one: each alone, or those of a document.

    A file that has no document boundaries, or none for very long, is a file of sentences.
    """
    if not documents:
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
    """Groups in lists of about so many tokens, so that a file of any size fits in memory.

    The first lists are shorter: a small file keeps all threads busy too, and a pipe has its first lines soon.
    """
    batch: list[list[Sentence]] = []
    size, enough = 0, tokens // 16
    for group in groups:
        batch.append(group)
        size += sum(len(sentence.rows) for sentence in group)
        if size >= enough:
            yield batch
            batch, size, enough = [], 0, min(tokens, enough * 5 // 4 + 1)
    if batch:
        yield batch
