"""The one exception a user's mistake raises.

The command line turns it into one line on standard error and exit status 2; in Python it can be caught as a
`ValueError`. The message says where, what is wrong, and what was expected.
"""


class StructronError(ValueError):
    """Bad input, bad options or a bad file: something the user can put right."""


def unknown(kind: str, got: object, known: object) -> StructronError:
    """An error for an unknown name that lists the known ones."""
    names = ", ".join(str(k) for k in known)  # type: ignore[attr-defined]
    return StructronError(f"unknown {kind} {got!r}; expected one of: {names}")
