"""Which task takes which option: a refusal says why, and names the tasks that do."""

from collections.abc import Iterable
from typing import Any

from structron.cli.command import refusal
from structron.cli.options import flag_of
from structron.errors import StructronError
from structron.options import TaskOptions
from structron.tasks.capabilities import able


def check_settings(kind: type[TaskOptions], names: Iterable[str]) -> None:
    """Refuse the first option that a task does not take."""
    for name in names:
        check_able(kind, flag_of(name), name)


def check_able(kind: type[TaskOptions], flag: str, what: str) -> None:
    """Refuse an option of a command that rests on something a task cannot do, and say where it works."""
    if not able(kind, what):
        raise refusal(kind, flag, what)


def apply(estimator: Any, settings: dict[str, Any]) -> None:
    """Let a loaded model search with other options than it was trained with."""
    if estimator.python_only:
        raise StructronError(f"a {estimator.task} model: {estimator.python_only}")
    check_settings(type(estimator), settings)
    estimator.set_params(**settings).check_options()
