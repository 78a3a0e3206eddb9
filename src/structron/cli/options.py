"""Options of commands, derived from the dataclass fields in `structron/options.py`: a new field is a new option.

Like app.py this is loaded for every help text, so it needs neither numpy nor numba.
"""

import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any

import typer

from structron import options as groups
from structron.errors import StructronError
from structron.options import Option, default_of, options_of

COMPLETING = "_STRUCTRON_COMPLETE"
"""What a shell sets in the environment when it asks how a word may go on."""
Read = tuple[Any]
"""A value that was given: one can be None, and what was not given is None too."""


def _known() -> dict[str, tuple[Option, Any]]:
    """Every option of the command line and its default; where several groups have it, the last help stands."""
    found: dict[str, tuple[Option, Any]] = {}
    for kind in vars(groups).values():
        if not (isinstance(kind, type) and issubclass(kind, groups.Options)) or kind is groups.Options:
            continue
        for name, option in options_of(kind).items():
            if option.flag is not None:
                before = found[name][0].choices if name in found else ()
                choices = tuple(dict.fromkeys([*before, *option.choices]))
                found[name] = replace(option, choices=choices), default_of(kind, name)
    return found


def flag_of(name: str) -> str:
    """The option that sets a parameter, as messages call it."""
    option = OPTIONS[name][0]
    return (option.flag or "").split("/")[0] or "--" + name.replace("_", "-")


# -- reading ---------------------------------------------------------------------------------------------------------


def _pair(text: str) -> tuple[str, str]:
    labels = text.split()
    if len(labels) != 2:
        raise StructronError(f"{text!r}: expected a label and a next label, for instance 'O I-NP'")
    return labels[0], labels[1]


def _file(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    if not (name and path):
        raise StructronError(f"{text!r}: expected TYPE=FILE, for instance LOC=places.txt")
    return name, path


def _names(text: str) -> list[str]:
    found = [name.strip() for name in text.split(",")]
    if found == ["none"]:
        return []
    if "" in found or "none" in found:
        raise StructronError(f"{text!r}: expected names, for instance phrase,conjunction; or none")
    return found


def _by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, path in pairs:
        found.setdefault(name, []).append(path)
    return found


def _distinct(lists: Iterable[list[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(lists)))


REPEATABLE: dict[str, tuple[Callable[[str], Any], Callable[[list], Any]]] = {
    "pairs": (_pair, list),
    "files": (_file, _by_name),
    "names": (_names, _distinct),
}
"""By kind: how one text is read, and what becomes of all of them."""


def _reader(read: Callable[[str], Any]) -> Callable[[str], Read]:
    def reader(text: str) -> Read:
        try:
            return (read(text),)
        except StructronError as error:
            raise typer.BadParameter(str(error)) from None

    return reader


# -- commands --------------------------------------------------------------------------------------------------------


def _completion(words: list[str]) -> Callable[[str], list[str]] | None:
    """Completes one of several words; typer looks closely at such a function, so there is one for a shell that asks."""
    if not words or COMPLETING not in os.environ:
        return None

    def completed(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return completed


def _parameter(name: str, option: Option) -> inspect.Parameter:
    """An option as typer knows it; None: not given."""
    flag = option.flag or "--" + name.replace("_", "-")
    kind: Any = list[str] | None if option.kind in REPEATABLE else str | None
    if option.kind == "switch":
        flags = flag if option.flag else f"{flag}/--no-{flag.removeprefix('--')}"
        kind, info = bool | None, typer.Option(flags, help=option.help)
    else:
        words = [option.none] * bool(option.none) + list(option.choices)
        read = REPEATABLE[option.kind][0] if option.kind in REPEATABLE else option.read
        metavar, completion = option.metavar or "|".join(words), _completion(words)
        info = typer.Option(flag, metavar=metavar, parser=_reader(read), help=option.help, autocompletion=completion)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, info])


def _value(name: str, given: Any) -> Any:
    """The value of an option that was given; a switch with one flag is the opposite of its default."""
    option, default = OPTIONS[name]
    if option.kind == "switch":
        return given if "/" in (option.flag or "/") else not default
    if option.kind in REPEATABLE:
        return REPEATABLE[option.kind][1]([value for (value,) in given])
    return given[0]


OPTIONS = _known()


def takes(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a command take options of the estimators; it gets those that were given, by name, as `settings`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def command(**given: Any) -> Any:
            found = {name: given.pop(name) for name in names}
            settings = {name: _value(name, value) for name, value in found.items() if value not in (None, [])}
            return function(**given, settings=settings)

        signature = inspect.signature(function)
        own = list(signature.parameters.values())
        place = next(k for k, parameter in enumerate(own) if parameter.name == "settings")
        own[place : place + 1] = [_parameter(name, OPTIONS[name][0]) for name in names]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        return command

    return decorate
