"""Commands as click parses them: what is left of a command line is a `Call`, which app.py runs.

    structron train TASK …  ──click──▶  Call(module, options)  ──▶  structron.cli.train.run(**options)

`train` is a group with a command for each task, which has the options of the task and no others.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource

from structron.cli.options import OPTIONS, Argument, EstimatorOption, flag_of, flags_of, settings
from structron.errors import StructronError, unknown
from structron.fields import SECTIONS
from structron.options import TaskOptions
from structron.tasks.capabilities import able, able_tasks, reason
from structron.tasks.options import TASKS

HELP = ("-h", "--help")
WIDEST = 1000
"""Columns of a terminal that help uses: all."""
CONTEXT: dict[str, Any] = {"help_option_names": [*HELP], "max_content_width": WIDEST}
TITLES = ("Arguments", "Options", *(section.capitalize() for section in SECTIONS))
"""Of the sections of a help text, in this order."""
RESTS_ON = {
    "--warm-start": "partial_fit",
    "--skip-invalid": "nonprojective",
    "--partial": "open_label",
    "--entities": "folds",
    "--dev-entities": "folds",
    "--columns": "columns",
}
"""Options of `train` that rest on something a task may lack."""

SECTION_OF = dict.fromkeys(
    ("train", "dev", "format", "columns", "encoding", "partial", "skip_invalid", "entities", "dev_entities"), "Data"
) | {"warm_start": "Learning"}
"""Where the help of `train` has its own options; the others are about output."""


@dataclass(frozen=True, slots=True)
class Call:
    """The module whose `run` does a command's work, and the options for it."""

    module: str
    options: dict[str, Any]


class Command(click.Command):
    """A command whose work is the `run` of a module, which is imported when the command line has been read."""

    def __init__(self, name: str, module: str, help: str, *params: click.Parameter, short: str | None = None):
        super().__init__(name, help=help, short_help=short, params=list(params), context_settings=dict(CONTEXT))
        self.module = f"structron.{module}"

    def invoke(self, ctx: click.Context) -> Call:
        """Options of estimators that were given are `settings`; what was not given is left to the command."""
        options: dict[str, Any] = {}
        given: dict[str, Any] = {}
        for param in self.params:
            name = str(param.name)
            value = ctx.params[name]
            if not isinstance(param, EstimatorOption):
                options[name] = (list(value) or None) if isinstance(value, tuple) else value
            elif ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                given[name] = param.value(value)
        if any(isinstance(param, EstimatorOption) for param in self.params):
            options["settings"] = given
        return Call(self.module, options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def get_short_help_str(self, limit: int = 0) -> str:
        """All of it, whatever the width: it goes on in the next line."""
        return self.short_help or self.help or ""

    def section_of(self, param: click.Parameter) -> str:
        """Where the help text has a parameter."""
        return "Arguments" if isinstance(param, Argument) else "Options"

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in TITLES}
        for param in self.get_params(ctx):
            if record := param.get_help_record(ctx):
                rows[self.section_of(param)].append((folded(record[0], formatter.width - 2), record[1]))
        for title, lines in rows.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def folded(term: str, width: int) -> str:
    """An option with its values in lines of at most a width, broken after |."""
    lines, indent = [""], " " * 8
    for piece in re.split(r"(?<=\|)", term):
        if len(lines[-1] + piece) > width and lines[-1].strip():
            lines.append(indent)
        lines[-1] += piece
    return "\n".join(lines)


# -- train -------------------------------------------------------------------------------------------------------------


class TaskCommand(Command):
    """`train` for one task."""

    def __init__(self, kind: type[TaskOptions], params: Sequence[click.Parameter]):
        own = (param for param in params if all(able(kind, RESTS_ON[f]) for f in param.opts if f in RESTS_ON))
        super().__init__(kind.task, "cli.train", kind.about, *own, *settings(kind))
        self.kind, self.options_metavar = kind, "--train FILE --model OUT [OPTIONS]"

    def section_of(self, param: click.Parameter) -> str:
        return (
            param.option.section.capitalize()
            if isinstance(param, EstimatorOption)
            else SECTION_OF.get(param.name, "Output")
        )

    def invoke(self, ctx: click.Context) -> Call:
        job = super().invoke(ctx)
        return Call(job.module, {"task": self.kind.task, **job.options})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            self._refuse(error.option_name)
            raise

    def _refuse(self, flag: str) -> None:
        """Say why the task does not take an option, and which tasks do, if there are any."""
        if flag in RESTS_ON:
            raise refusal(self.kind, flag, RESTS_ON[flag])
        for name, option in OPTIONS.items():
            if flag in flags_of(name, option).split("/"):
                raise refusal(self.kind, flag_of(name), name)


class Train(click.Group):
    """`train`; params: of every task, but for what a task cannot use."""

    def __init__(self, *params: click.Parameter):
        self.of_tasks = params
        super().__init__(
            "train",
            help="Train a model on labelled sentences.",
            short_help="Train a model on labelled sentences.",
            epilog="structron train TASK --help shows the options of a task. Only --train and --model are required; "
            "the defaults are the settings that worked best overall.",
            context_settings=dict(CONTEXT),
            no_args_is_help=False,
            options_metavar=None,
            subcommand_metavar="TASK --train FILE --model OUT [OPTIONS]",
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(TASKS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return TaskCommand(TASKS[cmd_name], self.of_tasks) if cmd_name in TASKS else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The task may stand after options."""
        task = next((k for k, argument in enumerate(args) if argument in TASKS), None)
        if task is not None:
            args = [args[task], *args[:task], *args[task + 1 :]]
        elif not ctx.resilient_parsing and not {*HELP} & {*args} and (not args or args[0].startswith("-")):
            raise click.UsageError("Missing argument 'TASK'.", ctx)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing and args[0] not in TASKS:
            raise unknown("task", args[0], TASKS)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Tasks"):
            formatter.write_dl([(task, kind.about) for task, kind in TASKS.items()])


def refusal(kind: type[TaskOptions], flag: str, what: str) -> StructronError:
    """Why an option of a command does not go with a task, and with which tasks it does."""
    parts = [f"{flag}: not available for the {kind.task}{f' ({why})' if (why := reason(kind, what)) else ''}"]
    others = able_tasks(what)
    return StructronError("; ".join([*parts, *([f"works with {', '.join(others)}"] if others else [])]))
