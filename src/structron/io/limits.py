"""How long a sentence may be: a file that unpacks without end must not fill the memory.

A reader holds the sentence it is in, so memory follows the longest one. The limit counts the characters from one blank
line after a sentence to the next; `--max-sentence` or the environment's STRUCTRON_MAX_SENTENCE raises it.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from structron.errors import StructronError

VARIABLE = "STRUCTRON_MAX_SENTENCE"
DEFAULT_CHARACTERS = 1_000_000
"""Characters: some two hundred thousand words."""
_BLANK = re.compile(r"^[ \t\r]*\n", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def longest_sentence() -> int:
    """The characters that a sentence may have."""
    given = os.environ.get(VARIABLE, "")
    if given and not (given.isascii() and given.isdigit() and int(given)):
        raise StructronError(f"{VARIABLE}: {given}; expected a number of characters, for instance {DEFAULT_CHARACTERS}")
    return int(given or DEFAULT_CHARACTERS)


@contextmanager
def sentences_of(characters: int | None) -> Iterator[None]:
    """Let sentences have so many characters, here and in processes that are started; None: as many as before."""
    before = os.environ.get(VARIABLE)
    if characters is not None:
        os.environ[VARIABLE] = str(characters)
    try:
        yield
    finally:
        if characters is not None and before is None:
            del os.environ[VARIABLE]
        elif before is not None:
            os.environ[VARIABLE] = before


def too_long(where: str, limit: int) -> StructronError:
    """The error that a sentence beyond the limit gets."""
    return StructronError(
        f"{where}: a sentence of more than {limit} characters; expected blank lines between sentences "
        "(--max-sentence raises the limit)"
    )


class Measure:
    """Follows the text of a file, whole lines at a time, and refuses a sentence that is too long."""

    def __init__(self, name: str):
        self.name, self.limit = name, longest_sentence()
        self.open = 0
        """Characters since the last sentence ended."""
        self.begun = False
        """Whether there is a line among them that is not blank."""

    def see(self, text: str, line: int) -> None:
        """Take the next lines, of which the first has this number."""
        if self.open + len(text) <= self.limit:
            self._skip(text)
            return
        for row in _LINE.findall(text):
            blank = not row.strip(" \t\r\n")
            self.open += len(row)
            if self.open > self.limit:
                raise too_long(f"{self.name}:{line}", self.limit)
            if blank and self.begun:
                self.open, self.begun = 0, False
            self.begun = self.begun or not blank
            line += row.endswith("\n")

    def _skip(self, text: str) -> None:
        """The same for lines that cannot be too many: only what comes after the last sentence counts."""
        last = text.rfind("\n\n")
        if last > 0 and text[last - 1] not in " \t\r\n":  # the line before the blank one is not blank
            text, self.open, self.begun = text[last + 2 :], 0, False
        before, end = -1 if self.begun else 0, -1
        for start, stop in ((blank.start(), blank.end()) for blank in _BLANK.finditer(text)):
            if start != before:  # the line before it is not blank: a sentence ends
                end = stop
            before = stop
        if end >= 0:
            self.open, self.begun = 0, False
            text = text[end:]
        self.open += len(text)
        self.begun = self.begun or bool(text.strip(" \t\r\n"))
