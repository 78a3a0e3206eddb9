"""Column files (CoNLL-2000, -2002, -2003, -X and kin): one token a line, a blank line after each sentence.

`ColumnSentence` keeps every raw line next to the fields read from it, and `replace_fields` edits those lines. That
is how an annotated file differs from its input in the predicted column only, whatever separators, comments
and line ends the input had.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain, islice

from structron.errors import NoSentencesError, StructronError

BOM = "\ufeff"
DOCSTART = "-DOCSTART-"

_METADATA = re.compile(r"# +(?:newdoc|newpar)(?![^ =\r\n])|# +[^ \t=]+ +=(?![^ \r\n])")
_NEWDOC = re.compile(r"# *newdoc(?![^ =\r\n])")
_FIELD = re.compile("[^ ]+")
_NEEDS_A_LOOK = frozenset("#- \t\r\n")


@dataclass(slots=True)
class ColumnSentence:
    """One sentence and the exact text it was read from.

    `lines` holds every raw line of the block with its line end: leading comments, document marks and blank
    lines, the tokens, and the run of blank lines after them. `rows[i]` are the fields of
    `lines[token_lines[i]]`. `line_number` is the place of `lines[0]` in the file, counted from 1.
    `new_document` says that a document boundary stands before the first token.
    """

    rows: list[list[str]]
    lines: list[str]
    token_lines: list[int]
    line_number: int
    new_document: bool


class Line(Enum):
    """What a line is that holds no token."""

    BLANK = "ends the sentence"
    OTHER = "belongs to the sentence it stands in or before"
    BOUNDARY = "begins a document"


class BadLine(Exception):
    """Raised by a line parser; `assemble` knows the place and makes it the user's error."""


def assemble(
    lines: Iterable[str], parse: Callable[[str], list[str] | Line], name: str, start: int = 1
) -> Iterator[ColumnSentence]:
    """Group parsed lines into sentences, so that their `lines` joined are the input joined. start: the first's number.

    What follows a sentence's blank lines belongs to the next sentence, whose first token decides that there
    is one; at the end of the file there is none, and it stays with the last.
    """
    block: list[str] = []
    rows: list[list[str]] = []
    token_lines: list[int] = []
    closed = new = upcoming = False
    cut = 0
    for line in lines:
        text = line if block or start > 1 or line[0] != BOM else line[1:] or "\n"
        try:
            fields = parse(text)
        except BadLine as problem:
            raise StructronError(f"{name}:{start + len(block)}: {problem}") from None
        if type(fields) is list:
            if closed:
                cut = cut or len(block)
                yield ColumnSentence(rows, block[:cut], token_lines, start, new)
                start += cut
                block, rows, token_lines = block[cut:], [], []
                new, upcoming, closed, cut = upcoming, False, False, 0
            rows.append(fields)
            token_lines.append(len(block))
        elif fields is Line.BLANK:
            closed = bool(rows)
        else:
            if fields is Line.BOUNDARY:
                closed = bool(rows)
                upcoming, new = closed, new or not closed
            if closed:
                cut = cut or len(block)
        block.append(line)
    if rows:
        yield ColumnSentence(rows, block, token_lines, start, new)
    elif block:
        raise NoSentencesError(f"{name}: no sentences in the file; expected one token per line", block)
    else:
        raise NoSentencesError(f"{name}: the file is empty; expected sentences, one token per line")


def is_blank(text: str) -> bool:
    """Whether a line holds spaces, tabs and line ends only (other white space can be a word)."""
    return not text.strip(" \t\r\n")


def is_newdoc(text: str) -> bool:
    """Whether a comment line begins a document."""
    return _NEWDOC.match(text) is not None


def columns(count: int) -> str:
    """A number of columns in words."""
    return f"{count} column{'s' * (count != 1)}"


def split_fields(text: str) -> list[str]:
    """The fields of a line: what tabs separate if it has any, else runs of anything but ASCII spaces.

    No-break and ideographic spaces stand inside words, so they never separate.
    """
    if "\t" in text:
        return text.rstrip("\r\n").split("\t")
    return _FIELD.findall(text.rstrip(" \r\n"))


def read_conll(lines: Iterable[str], name: str, like: str = "", start: int = 1) -> Iterator[ColumnSentence]:
    """The sentences of a column file whose token lines all have as many columns as the first one.

    like: that line, where these are only some lines of a file, from number `start` on.
    """
    if like:
        yield from assemble(lines, _line_parser(len(split_fields(like)), "\t" in like), name, start)
        return
    lines = iter(lines)
    head: list[str] = []
    first = ""
    for line in lines:
        first = line if head else line.removeprefix(BOM)
        head.append(line)
        if shows_columns(first):
            break
    else:
        first = ""
    yield from assemble(chain(head, lines), _line_parser(len(split_fields(first)), "\t" in first), name)


def shows_columns(text: str) -> bool:
    """Whether a line is a token whatever the number of columns: with ``#`` in front, only a tab tells."""
    if is_blank(text) or (text[0] == "#" and ("\t" not in text or _METADATA.match(text))):
        return False
    return split_fields(text)[0] != DOCSTART


def cut_lines(lines: Iterator[str], most: int) -> Iterator[list[str]]:
    """The lines of a column file in batches of a little more than `most`, cut where a sentence certainly ends.

    That is between blank lines after a token and what follows; what comes after the last token stays with it.
    """
    held: list[str] = []
    for block in _blocks(lines, most):
        if held and any(line[0] not in _NEEDS_A_LOOK for line in block):
            yield held
            held = []
        held += block
    if held:
        yield held


def _blocks(lines: Iterator[str], most: int) -> Iterator[list[str]]:
    """Batches that end with a token and blank lines, but for the last."""
    rest: list[str] = []
    while block := rest + list(islice(lines, most)):
        rest = []
        blank, last = is_blank(block[-1]), next((line for line in reversed(block) if not is_blank(line)), "#")
        for line in lines:
            before, blank = blank, is_blank(line)
            if before and not blank and last[0] not in _NEEDS_A_LOOK:
                rest = [line]
                break
            block.append(line)
            last = last if blank else line
        yield block


def _line_parser(width: int, tabs: bool) -> Callable[[str], list[str] | Line]:
    """A parser of the lines of one file.

    ``#`` is a comment sign and also a word (``# # B-NP``), so a line that begins with it is a comment when it
    cannot be a token (no tab in a tab-separated file, another number of fields in a space-separated one) or
    when it reads as metadata: ``# newdoc`` and ``# name = value``.
    """

    def parse(text: str) -> list[str] | Line:
        if text[0] not in _NEEDS_A_LOOK:
            body = text.rstrip("\r\n")
            fields = body.split("\t" if "\t" in body else " ")
            if len(fields) == width and ("" not in fields or "\t" in body):
                return fields
        if is_blank(text):
            return Line.BLANK
        fields = split_fields(text)
        if fields[0] == DOCSTART:
            return Line.BOUNDARY
        if text[0] == "#":
            cannot_be_token = "\t" not in text if tabs else len(fields) != width
            if cannot_be_token or _METADATA.match(text):
                return Line.BOUNDARY if is_newdoc(text) else Line.OTHER
        if len(fields) != width:
            raise BadLine(f"{columns(len(fields))} where {width} {'was' if width == 1 else 'were'} expected")
        return fields

    return parse


def replace_fields(sentence: ColumnSentence, changes: dict[int, list[str]]) -> str:
    """The sentence's text with the given columns replaced, a value for each token, and no other byte changed.

    The index after the last column appends one, separated as the line separates its last two columns, or by a
    tab when it has one column only (spaces could make a comment of two words look like a token).
    """
    edits = sorted(changes.items())
    _check_shape(sentence, edits)
    tabs_only = any("" in values or " " in "".join(values) for _, values in edits)
    lines = sentence.lines.copy()
    bom = BOM if sentence.line_number == 1 and lines[0].startswith(BOM) else ""
    lines[0] = lines[0].removeprefix(bom)
    # One column before the last, between tabs: the rest of a line need not be looked at.
    only = edits[0] if len(edits) == 1 and edits[0][0] < len(sentence.rows[0]) - 1 else None
    for token, index in enumerate(sentence.token_lines):
        line = lines[index]
        if only and "\t" in line:
            fields = line.split("\t", only[0] + 1)
            fields[only[0]] = only[1][token]
            lines[index] = "\t".join(fields)
            continue
        body = line.rstrip("\r\n")
        separator = "\t" if "\t" in body else " "
        fields = body.split(separator)
        if separator == " " and (tabs_only or len(fields) == 1 or "" in fields):
            new = [(column, values[token]) for column, values in edits]
            lines[index] = _edit_spaced(line, new, sentence.line_number + index)
            continue
        for column, values in edits:
            if column < len(fields):
                fields[column] = values[token]
            else:
                fields.append(values[token])
        lines[index] = separator.join(fields) + line[len(body) :]
    return bom + "".join(lines)


def _check_shape(sentence: ColumnSentence, edits: list[tuple[int, list[str]]]) -> None:
    """Refuse changes that do not fit the sentence, or that would split a line or a column."""
    width = len(sentence.rows[0])
    for column, values in edits:
        if not 0 <= column <= width:
            raise ValueError(f"column {column} can be neither replaced nor appended to {columns(width)}")
        if len(values) != len(sentence.rows):
            raise ValueError(f"{len(values)} values in column {column} for {len(sentence.rows)} tokens")
        width = max(width, column + 1)
        joined = "".join(values)
        if "\n" in joined or "\t" in joined:
            raise StructronError(f"a value of column {column} contains a tab or line end; expected neither")


def _edit_spaced(line: str, new: list[tuple[int, str]], line_number: int) -> str:
    """`replace_fields` for a space-separated line of any shape: extra spaces stay where they are."""
    content = line.rstrip(" \r\n")
    core = content.lstrip(" ")
    parts = re.split("( +)", core)
    for column, value in new:
        if 2 * column < len(parts):
            parts[2 * column] = value
        else:
            parts += [parts[-2] if len(parts) > 1 else "\t", value]
    if "\t" not in parts:
        for _, value in new:
            if not value or " " in value:
                raise StructronError(
                    f"line {line_number}: {value!r} does not fit a space-separated file; expected a value "
                    "without spaces, or columns separated by tabs"
                )
    return content[: len(content) - len(core)] + "".join(parts) + line[len(content) :]
