"""Which task takes which option, asked of the estimators' classes: a refusal says why, and names the tasks that do."""

from collections.abc import Iterable
from typing import Any

from structron.cli.options import flag_of
from structron.errors import StructronError, unknown
from structron.estimator import Estimator
from structron.tasks.capabilities import able, able_tasks, reason
from structron.tasks.registry import TASKS, TRAINABLE


def kind_of(task: str) -> type[Estimator]:
    """The class of a task that the command line trains."""
    if task not in TRAINABLE:
        raise unknown("task", task, TRAINABLE)
    return TASKS[task]


def check_settings(kind: type[Estimator], names: Iterable[str]) -> None:
    """Refuse the first option that a task does not take."""
    for name in names:
        check_able(kind, flag_of(name), name)


def check_able(kind: type[Estimator], flag: str, what: str) -> None:
    """Refuse an option of a command that rests on something a task cannot do, and say where it works."""
    if able(kind, what):
        return
    why, others = reason(kind, what), able_tasks(what)
    parts = [f"{flag}: not available for the {kind.task}{f' ({why})' if why else ''}"]
    raise StructronError("; ".join([*parts, *([f"works with {', '.join(others)}"] if others else [])]))


def apply(estimator: Any, settings: dict[str, Any]) -> None:
    """Let a loaded model search with other options than it was trained with."""
    if estimator.python_only:
        raise StructronError(f"a {estimator.task} model: {estimator.python_only}")
    check_settings(type(estimator), settings)
    estimator.set_params(**settings).check_options()
