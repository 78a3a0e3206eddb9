"""Reading and writing annotated text without changing a byte that was not asked for.

`read` streams the sentences of a column file or a CoNLL-U file, `replace_fields` gives a sentence's text back
with some columns changed, and `open_output` writes whole files or none.
"""

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path

from structron.errors import unknown
from structron.io.conll import ColumnSentence, read_conll, replace_fields
from structron.io.conllu import CONLLU_COLUMNS, read_conllu
from structron.io.text import atomic_write_bytes, check_writable, display_name, open_output, read_lines, unpacked_name

__all__ = [
    "CONLLU_COLUMNS",
    "FORMATS",
    "ColumnSentence",
    "atomic_write_bytes",
    "check_writable",
    "detect_format",
    "open_output",
    "read",
    "read_from",
    "read_lines",
    "replace_fields",
]

FORMATS = ("conll", "conllu")


def detect_format(path: str | Path, format: str | None = None) -> str:
    """The format asked for, or the one the file's name tells."""
    if format is None:
        return "conllu" if unpacked_name(path).lower().endswith(".conllu") else "conll"
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    return format


def read(path: str | Path, format: str | None = None, encoding: str = "utf-8") -> Iterator[ColumnSentence]:
    """The sentences of a file, one by one.

    The `lines` of all sentences joined are the decoded file, whatever it contains. A file that cannot be opened is
    reported at once, an error inside it when the reading gets there.

    Args:
        path: The file; "-" is standard input.
        format: conll or conllu; by default determined by the file name.
        encoding: The encoding of the file.

    Returns:
        An iterator over the sentences.

    Examples:
        >>> import structron, tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "two.conll")
        ...     _ = path.write_text("He PRP\\nsleeps VBZ\\n\\nYes UH\\n")
        ...     [sentence.rows for sentence in structron.read(path)]
        [[['He', 'PRP'], ['sleeps', 'VBZ']], [['Yes', 'UH']]]
    """
    return read_from(read_lines(path, encoding), display_name(path), detect_format(path, format))


def read_from(lines: Generator[str, None, None], name: str, format: str) -> Iterator[ColumnSentence]:
    """The sentences of lines that are open already."""
    reader = read_conllu if format == "conllu" else read_conll
    return _closing(lines, reader(lines, name))


def _closing(lines: Generator[str, None, None], sentences: Iterator[ColumnSentence]) -> Iterator[ColumnSentence]:
    """Close the file as soon as the reading ends, also when a bad line or the caller ends it."""
    with contextlib.closing(lines):
        yield from sentences
