"""The help of `train`: the tasks, or the options of one task by section, with defaults; and what a shell completes.

    structron train --help              the tasks
    structron train TASK --help         what this task takes

Like app.py this is loaded for every help text, so it needs neither numpy nor numba.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from typer.core import TyperCommand

from structron.cli.help.defaults import RESTS_ON, Takes, option, taken
from structron.options import SECTIONS, Option

TASKS = {
    "tagger": "One label per word: parts of speech, features, or anything else.",
    "chunker": "Chunks, written as B-NP, I-NP, O.",
    "segments": "Chunks as whole segments, with features of the segment.",
    "joint": "Tags and chunks together, from words alone.",
    "entities": "Names of people, places and so on, consistent throughout a document.",
    "parser": "Dependency trees, by shift and reduce.",
    "graph-parser": "Dependency trees, by searching all trees.",
    "tokenizer": "Sentences and tokens from plain text.",
    "lemmatizer": "The lemma of every word.",
    "pipeline": "All of it, from plain text to trees and entities.",
}
"""What each task learns."""
TITLES = {
    "data": "Data",
    "features": "Features",
    "learning": "Learning",
    "search": "Search",
    "output": "Output",
    "research": "Research",
}
OWN_SECTIONS = {
    **dict.fromkeys(("train", "dev", "entities", "dev_entities"), "data"),
    **dict.fromkeys(("format", "columns", "encoding", "skip_invalid"), "data"),
    "warm_start": "learning",
}
"""Of the options that are those of the command itself; the others are about output."""
HELP = ("-h", "--help")
TASK = "structron.task"
"""Where the context has the task, before anything else is read."""


class TrainCommand(TyperCommand):
    """`train`, whose help depends on the task."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[TASK] = next((argument for argument in args if argument in TASKS), None)
        if not ctx.resilient_parsing and any(argument in HELP for argument in args):
            print(self.get_help(ctx))
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        task = ctx.meta.get(TASK)
        formatter.write_usage(ctx.command_path, f"{task or 'TASK'} --train FILE --model OUT [OPTIONS]")
        if task is None:
            self._format_tasks(formatter)
        else:
            self._format_task(ctx, formatter, task)

    def _format_tasks(self, formatter: Any) -> None:
        _paragraph(formatter, "Learn a model from labelled sentences.")
        with formatter.section("Tasks"):
            formatter.write_dl(list(TASKS.items()))
        _paragraph(
            formatter,
            "structron train TASK --help shows the options of a task. --train and --model are all that a task needs: "
            "its defaults are those that work best all round.",
        )

    def _format_task(self, ctx: Any, formatter: Any, task: str) -> None:
        _paragraph(formatter, TASKS[task])
        rows: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
        takes = taken()[task]
        for parameter in self.params:
            own = not _is_option_of_estimators(parameter.name) and _is_for(parameter, takes)
            record = parameter.get_help_record(ctx) if own and parameter.param_type_name == "option" else None
            if record is not None:
                rows[OWN_SECTIONS.get(parameter.name or "", "output")].append(record)
        for name, taken_so in takes.options.items():
            found, section = option(taken_so.group, name)
            rows[section].append(_row(name, found, taken_so.default, taken_so.refused))
        rows["output"].append(("-h, --help", "Show this message and exit."))
        for section, lines in rows.items():
            if lines:
                with formatter.section(TITLES[section]):
                    formatter.write_dl(lines)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Only the options that the task takes."""
        items = super().shell_complete(ctx, incomplete)
        takes = taken().get(ctx.params.get("task") or "")
        if takes is None:
            return items
        flags = {flag for parameter in self.params if _is_for(parameter, takes) for flag in _flags(parameter)}
        return [item for item in items if item.value in {*flags, *HELP}]


def _paragraph(formatter: Any, text: str) -> None:
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(text)


def _is_option_of_estimators(name: str) -> bool:
    return any(name in takes.options for takes in taken().values())


def _is_for(parameter: Any, takes: Takes) -> bool:
    """Whether a parameter of the command is one that a task takes."""
    if parameter.name in takes.options:
        return True
    restricted = {*RESTS_ON, "--columns"} & set(parameter.opts)
    return not _is_option_of_estimators(parameter.name) and restricted <= set(takes.flags)


def _flags(parameter: Any) -> Iterable[str]:
    return (*parameter.opts, *parameter.secondary_opts)


def _row(name: str, found: Option, default: str, refused: Iterable[str]) -> tuple[str, str]:
    """An option, what may be given, what it does, and its default."""
    flag = (found.flag or f"--{name.replace('_', '-')}").replace("/", " / ")
    if found.kind == "switch":
        flag = flag if found.flag else f"{flag} / --no-{flag.removeprefix('--')}"
    else:
        flag += f" {found.metavar or '|'.join(_words(found, refused))}"
    told = not default or "default:" in found.help
    return flag, found.help if told else f"{found.help}  [default: {default}]"


def _words(found: Option, refused: Iterable[str]) -> Iterator[str]:
    if found.none:
        yield found.none
    yield from (word for word in found.choices if word not in refused)


def complete_tasks(incomplete: str) -> list[tuple[str, str]]:
    """The tasks that begin like this."""
    return [(task, what) for task, what in TASKS.items() if task.startswith(incomplete)]
