"""Parameters of commands: their own, and options of estimators as tasks/options.py has them.

Like commands.py this is loaded for every help text, so it needs neither numpy nor numba.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

import click
from click.shell_completion import CompletionItem

from structron.errors import StructronError
from structron.fields import DEFAULT, Option, default_of, options_of
from structron.options import NON_LOCAL, Margins, Searching, TaskOptions
from structron.tasks.capabilities import able
from structron.tasks.options import TASKS


class Argument(click.Argument):
    """An argument with a line of help."""

    def __init__(self, name: str, metavar: str, help: str, **known: Any):
        super().__init__([name], metavar=metavar, **known)
        self.about = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return str(self.metavar), self.about


class EstimatorOption(click.Option):
    """An option of estimators. default: also of a switch that has one flag, which turns it over; shown: in the help."""

    def __init__(self, name: str, option: Option, default: Any = False, shown: str = ""):
        self.option, self.turned = option, not default
        told = not shown or "default:" in option.help
        known: dict[str, Any] = {"help": option.help if told else f"{option.help}  [default: {shown}]"}
        flags = flags_of(name, option)
        if option.kind == "switch":
            known |= {"is_flag": True}
        else:
            words = [option.none] * bool(option.none) + list(option.choices)
            known |= {"metavar": option.metavar or "|".join(words), "type": _Value(option, words)}
        super().__init__([flags, name], default=None, multiple=option.kind in REPEATABLE, **known)

    def value(self, given: Any) -> Any:
        """The value of an option that was given."""
        if self.option.kind == "switch":
            return given if self.secondary_opts else self.turned
        return REPEATABLE[self.option.kind][1](given) if self.multiple else given


class _Value(click.ParamType):
    """A value as an option of estimators reads it; a shell completes its words."""

    name = "text"

    def __init__(self, option: Option, words: Iterable[str]):
        self._words, self._files = list(words), "FILE" in option.metavar
        self._read = REPEATABLE[option.kind][0] if option.kind in REPEATABLE else option.read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._read(value)
        except StructronError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if self._files:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(word) for word in self._words if word.startswith(incomplete)]


def flags_of(name: str, option: Option) -> str:
    """What an option is called on the command line, off after on."""
    flag = option.flag or "--" + name.replace("_", "-")
    return f"{flag}/--no-{flag.removeprefix('--')}" if option.kind == "switch" and not option.flag else flag


# -- reading what can be repeated --------------------------------------------------------------------------------------


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


REPEATABLE: dict[str, tuple[Callable[[str], Any], Callable[[Iterable[Any]], Any]]] = {
    "pairs": (_pair, list),
    "files": (_file, _by_name),
    "names": (_names, _distinct),
}
"""By kind: how one text is read, and what becomes of all of them."""


# -- options of tasks --------------------------------------------------------------------------------------------------


def taken(kind: type[TaskOptions]) -> dict[str, Option]:
    """The options that a task takes on the command line."""
    return {name: option for name, option in options_of(kind).items() if option.flag is not None and able(kind, name)}


def settings(kind: type[TaskOptions]) -> list[EstimatorOption]:
    """The same as parameters of `train`, with defaults in their help."""
    defaults = _defaults(kind)
    options = taken(kind).items()
    return [
        EstimatorOption(name, option, default_of(kind, name), _text(option, defaults[name])) for name, option in options
    ]


def common(*names: str) -> list[EstimatorOption]:
    """Options of commands that read any model."""
    return [EstimatorOption(name, OPTIONS[name]) for name in names]


def flag_of(name: str) -> str:
    """The option that sets a parameter, as messages call it."""
    return flags_of(name, OPTIONS[name]).split("/")[0]


OPTIONS: dict[str, Option] = {name: option for kind in TASKS.values() for name, option in taken(kind).items()}
"""Every option that some task takes on the command line."""


def _defaults(kind: type[TaskOptions]) -> dict[str, Any]:
    """The default of every option; where it depends on others, what it comes to."""
    task = kind()
    found = task.get_params()
    if isinstance(task, Margins):
        search = task.search() if isinstance(task, Searching) else task.steps()
        found |= {
            name: getattr(search, name) for name in ("beam", "update", "alma", "margin", "slack") if name in found
        }
        if found.get("non_local") == DEFAULT:
            found["non_local"] = (
                "all" if task.task_defaults["non_local"] == NON_LOCAL else task.task_defaults["non_local"]
            )
    if found.get("templates") == DEFAULT and getattr(kind, "default_templates", None):
        found["templates"] = " or ".join(dict.fromkeys(kind.default_templates.values()))  # type: ignore[attr-defined]
    if found.get("among") == DEFAULT:
        found["among"] = "by the number of labels"
    return found | {"jobs": "all cores"}


def _text(option: Option, value: Any) -> str:
    """A value as it is given on the command line; "": there is nothing to give."""
    if value is None:
        return "" if option.kind == "switch" else option.none
    if option.kind == "switch":
        on, _, off = (option.flag or "").partition("/")
        if off:
            return (on if value else off).removeprefix("--")
        return "" if option.flag else "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str | int):
        return str(value)
    return "" if isinstance(value, Mapping) else ",".join(map(str, value))
