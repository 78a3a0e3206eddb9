"""Texts, paths, switches and plain numbers taken as they were typed.

Typer has pydantic check the value of every option, whose import takes as long as all the rest of the command line. Most
values are texts, paths, switches or not given: for these there is nothing to check, nor for whole numbers without
bounds and what an option reads by a function of its own. Any other goes typer's way, as all do where typer has no such
place to step in.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

LONGEST = 19
"""A number of fewer digits fits in 64 bits."""


class AsTyped:
    """What typer asks for the value of an option."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        read = info.parser
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if read is None and kind in (str, Path) and isinstance(value, str):
            return kind(value)
        if read is None and kind == list[str] and isinstance(value, list | tuple) and set(map(type, value)) <= {str}:
            return list(value)
        if read is not None and isinstance(value, str) and not param.multiple and param.nargs == 1:
            with suppress(Exception):  # what is wrong, typer says
                return read(value)
        if read is None and kind in (bool, int) and type(value) is kind:  # a switch, or the option's own default
            return value
        if read is None and kind is int and info.min is None is info.max and is_plain(value):
            return int(value)
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def is_plain(value: Any) -> bool:
    """Whether a number was typed in digits alone."""
    return isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < LONGEST


def taken_as_typed(command: Any) -> Any:
    """A command, and those below it, whose options are not checked without need."""
    below: Iterable[Any] = getattr(command, "commands", {}).values()
    for own in (command, *below):
        for param in own.get_params(typer.Context(own, **command.context_settings)):
            if hasattr(param, "get_runtime_param") and getattr(param, "_runtime_param", param) is None:
                param._runtime_param = AsTyped()
    return command
