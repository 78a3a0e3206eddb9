"""The one exception a user's mistake raises.

The command line turns it into one line on standard error and exit status 2; in Python it can be caught as a
`ValueError`. The message says where, what is wrong, and what was expected.
"""

from collections.abc import Iterable


class StructronError(ValueError):
    """Bad input, bad options or a bad file: something the user can put right."""


class OneLabelError(StructronError):
    """Training data that leave nothing to choose from."""


class NoSentencesError(StructronError):
    """A file without sentences; `lines` are what it has instead."""

    def __init__(self, text: str, lines: Iterable[str] = ()):
        super().__init__(text)
        self.lines = list(lines)


def unknown(kind: str, got: object, known: Iterable[object]) -> StructronError:
    """An error for an unknown name that lists the known ones."""
    return StructronError(f"unknown {kind} {got!r}; expected one of: {', '.join(map(str, known))}")
