"""CoNLL-U, the format of Universal Dependencies: ten columns between tabs, words numbered in every sentence.

Lines for multiword tokens (``3-4``) and empty nodes (``8.1``) are no words of the basic tree: they stay in
the text and out of the rows.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from structron.io.conll import BadLine, ColumnSentence, Line, assemble, columns, is_blank, is_newdoc

CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

_NOT_A_WORD = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})|(?:0|[1-9][0-9]{0,8})\.[1-9][0-9]{0,8}")
_WORD = re.compile("[1-9][0-9]*")


def read_conllu(lines: Iterable[str], name: str, start: int = 1) -> Iterator[ColumnSentence]:
    """The sentences of a CoNLL-U file, or of some lines of it, from number `start` on."""
    return assemble(lines, _line_parser(), name, start)


def _line_parser() -> Callable[[str], list[str] | Line]:
    """A parser of the lines of one file, which counts the words of each sentence."""
    expected = 1
    width = len(CONLLU_COLUMNS)

    def parse(text: str) -> list[str] | Line:
        nonlocal expected
        fields = text.rstrip("\r\n").split("\t")
        if len(fields) == width and fields[0] == str(expected):
            if "" in fields:
                empty = CONLLU_COLUMNS[fields.index("")].upper()
                raise BadLine(f"{empty} is empty; expected a value, or _ for none")
            expected += 1
            return fields
        if text[0] == "#":
            if is_newdoc(text):
                expected = 1
                return Line.BOUNDARY
            return Line.OTHER
        if is_blank(text):
            expected = 1
            return Line.BLANK
        if len(fields) != width:
            raise BadLine(f"{columns(len(fields))} separated by tabs where {width} were expected")
        _check_not_a_word(fields[0], expected)
        return Line.OTHER

    return parse


def _check_not_a_word(identifier: str, expected: int) -> None:
    """Refuse an id that is neither a multiword token's nor an empty node's."""
    if _WORD.fullmatch(identifier):
        raise BadLine(f"word id {identifier} where {expected} was expected")
    match = _NOT_A_WORD.fullmatch(identifier)
    if match is None or (match[1] and int(match[1]) > int(match[2])):
        raise BadLine(f"malformed id {identifier!r}; expected a word id (3), a range (3-4) or an empty node (8.1)")
