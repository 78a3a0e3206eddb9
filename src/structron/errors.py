"""The one exception a user's mistake raises.

The command line turns it into one line on standard error and exit status 2; in Python it can be caught as a
`ValueError`. The message says where, what is wrong, and what was expected.
"""

import difflib
import re
from collections.abc import Iterable

QUOTED = 80
"""Characters of a user's file or value that an error quotes."""
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]")
"""Characters that a terminal obeys, or that cannot be seen: controls, line separators, changes of direction."""


IN_QUOTES = re.compile(rf"(?<!\w)(['\"])([^'\"]{{{QUOTED + 1},}})\1(?!\w)")
MAX_ERROR_LENGTH = 2000
"""Characters of an error; of a longer one the middle is left out."""
NAMED = 100
"""Names that an error lists."""
ALIKE = 0.75
"""How alike two names are, from 0 to 1, of which one may be meant for the other."""


def shown(text: str) -> str:
    """A text as it can be shown: what a terminal would obey is escaped, as Python writes it."""
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def quoted(value: object) -> str:
    """A value in quotes, as errors name it: in one line, its beginning if it is long."""
    text = shown(repr(value[: QUOTED + 1] if isinstance(value, str | bytes) else value))
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1]}…"


class StructronError(ValueError):
    """Bad input, bad options or a bad file: something the user can put right.

    Examples:
        >>> import structron
        >>> try:
        ...     structron.load("englsh")
        ... except structron.StructronError as error:
        ...     print(error)
        englsh: no such file or bundled model; did you mean english?
    """

    def __str__(self) -> str:
        """In one line, and short, whatever it quotes."""
        text = IN_QUOTES.sub(lambda found: f"{found[1]}{found[2][:QUOTED]}…{found[1]}", shown(super().__str__()))
        return (
            text
            if len(text) <= MAX_ERROR_LENGTH
            else f"{text[: MAX_ERROR_LENGTH // 2]} … {text[-MAX_ERROR_LENGTH // 2 :]}"
        )


class OneLabelError(StructronError):
    """Training data that leave nothing to choose from."""


class NoSentencesError(StructronError):
    """A file without sentences; `lines` are what it has instead."""

    def __init__(self, text: str, lines: Iterable[str] = ()):
        super().__init__(text)
        self.lines = list(lines)


def unknown(kind: str, got: object, known: Iterable[object]) -> StructronError:
    """An error for an unknown name that lists the known ones."""
    names = [str(name) for name in known]
    some = [*names[:NAMED], f"… ({len(names)} in all)"] if len(names) > NAMED else names
    return StructronError(f"unknown {kind} {quoted(got)}; expected one of: {', '.join(some)}{meant(got, names)}")


def meant(got: object, known: Iterable[str]) -> str:
    """The end of a message on a name that is not known: the known one that it looks like, if there is one."""
    like = difflib.get_close_matches(str(got)[:QUOTED], list(known), 1, ALIKE)
    return f"; did you mean {like[0]}?" if like else ""


def counted(number: int, kind: str) -> str:
    """A number of things, as a message names them: 1 word, 2,000 words."""
    return f"{number:,} {kind}{'s' * (number != 1)}"
