"""Which options each task takes and what their defaults are, so that help texts need not import the estimators.

The estimators' classes know, but they need numpy and numba, which is half a second. So what they say is written down in
`defaults.json`, and a test compares the two. `python -m structron.cli.help` brings the file up to date.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from structron import options as groups
from structron.options import DEFAULT, Option, options_of

FILE = Path(__file__).with_suffix(".json")
RESTS_ON = {
    "--warm-start": "partial_fit",
    "--skip-invalid": "nonprojective",
    "--entities": "folds",
    "--dev-entities": "folds",
}
"""Options of `train` that rest on something a task may lack."""
OF_DOCUMENTS = tuple(name for name in options_of(groups.Documents) if name != "non_local")
"""Options that mean nothing without document features."""


@dataclass(frozen=True, slots=True)
class Taken:
    """An option that a task takes: the group that has it, its default as a user would give it, and the choices that
    the task refuses."""

    group: str
    default: str
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Takes:
    """What a task takes: options of its estimator, and options of `train` that are not for every task."""

    options: dict[str, Taken]
    flags: tuple[str, ...]


@cache
def taken() -> dict[str, Takes]:
    """The options of every task that the command line trains."""
    found: dict[str, Takes] = {}
    for task, own in json.loads(FILE.read_text(encoding="utf-8")).items():
        options = {name: Taken(group, default, tuple(refused)) for name, (group, default, *refused) in own[1].items()}
        found[task] = Takes(options, tuple(own[0]))
    return found


@cache
def option_groups() -> dict[str, type[groups.Options]]:
    """The groups of options by name, a group after those that it is made of."""
    every = {name: kind for name, kind in vars(groups).items() if isinstance(kind, type)}
    return {
        name: kind for name, kind in every.items() if issubclass(kind, groups.Options) and kind is not groups.Options
    }


def option(group: str, name: str) -> tuple[Option, str]:
    """An option of a group, and the section of the help text that it belongs to."""
    kind = option_groups()[group]
    found = options_of(kind)[name]
    return found, found.section or kind.section


# -- what the classes say ----------------------------------------------------------------------------------------------


def collect() -> dict[str, Takes]:
    """The same, asked of the estimators' classes."""
    from structron.tasks.capabilities import able
    from structron.tasks.registry import TASKS, TRAINABLE

    found: dict[str, Takes] = {}
    for task in TRAINABLE:
        kind, settled, own = TASKS[task], _settled(TASKS[task]), {}
        for name, option in options_of(kind).items():
            if option.flag is None or not able(kind, name) or (name in OF_DOCUMENTS and not able(kind, "non_local")):
                continue
            refused = tuple(word for word in option.choices if f"{name} {word}" in kind.lacks)
            own[name] = Taken(_group_of(name, option), _text(option, settled[name]), refused)
        able_to = {flag: able(kind, what) for flag, what in RESTS_ON.items()} | {"--columns": not kind.texts}
        found[task] = Takes(own, tuple(flag for flag, yes in able_to.items() if yes))
    return found


def _group_of(name: str, wanted: Option) -> str:
    return next(group for group, kind in option_groups().items() if options_of(kind).get(name) is wanted)


def _settled(kind: Any) -> dict[str, Any]:
    """The default of every option; where it depends on others, what it comes to."""
    estimator = kind()
    found = estimator.get_params()
    if isinstance(estimator, groups.Margins):
        search = estimator.search() if isinstance(estimator, groups.Searching) else estimator.steps()
        found |= {
            name: getattr(search, name) for name in ("beam", "update", "alma", "margin", "slack") if name in found
        }
    if found.get("templates") == DEFAULT and getattr(kind, "default_templates", None):
        found["templates"] = " or ".join(dict.fromkeys(kind.default_templates.values()))
    if found.get("non_local") == DEFAULT:
        found["non_local"] = "all" if kind.usual["non_local"] == groups.NON_LOCAL else kind.usual["non_local"]
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
    if isinstance(value, Mapping):
        return ""
    return ",".join(map(str, value))


def spelled(found: dict[str, Takes]) -> str:
    """The text of the file: a line for each option."""
    tasks = []
    for task, own in found.items():
        values = {name: [taken.group, taken.default, *taken.refused] for name, taken in own.options.items()}
        lines = (f"    {json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
        tasks.append(f"  {json.dumps(task)}: [{json.dumps(own.flags)}, {{\n" + ",\n".join(lines) + "\n  }]")
    return "{\n" + ",\n".join(tasks) + "\n}\n"
