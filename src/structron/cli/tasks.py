"""What the commands ask of a task's estimator, and which options a task takes.

Commands know no task by name: a task that lacks a capability gets one clear line, which names the tasks that have it.
"""

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from structron.errors import StructronError
from structron.progress import Progress
from structron.tasks.storage import TASKS
from structron.update.alma import make_alma

MARGINS = "predict_with_margins"
"""The method of estimators that label word by word: margins, forced labels and explained decisions come with it."""
OPTIONS = {"labelled": "--unlabelled", "gazetteers": "--gazetteer", "check": "--check-violations"}
"""The options that are not called like the parameter they set."""

_WIDTH = re.compile("0*[1-9][0-9]{0,8}")


class Estimator(Protocol):
    """A task's model, from untrained to loaded. Its outputs are the columns that it predicts."""

    source_: dict[str, str]
    history_: list[dict[str, Any]]
    best_pass_: int
    stopped_: str
    signature_: str

    @property
    def task(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def columns_(self) -> list[str]: ...
    @property
    def outputs_(self) -> list[str]: ...
    @property
    def word_(self) -> str: ...
    @property
    def needed_(self) -> Iterable[str]: ...
    def fit(
        self,
        sentences: Any,
        dev: Any = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Any: ...
    def predict(self, sentences: Any, *, jobs: int | None = None) -> Any: ...
    def predict_columns(self, sentences: Any, jobs: int | None = None) -> list[list[list[str]]]: ...
    def evaluate(self, sentences: Any, jobs: int | None = None, guess: Any = None) -> Any: ...
    def save(self, path: str | Path) -> None: ...


def parameters_of(kind: type) -> set[str]:
    """The parameters of a class, with those that its constructor hands on to the classes above."""
    names: set[str] = set()
    for base in kind.__mro__:
        if "__init__" not in vars(base):
            continue
        found = inspect.signature(vars(base)["__init__"]).parameters.values()
        names.update(p.name for p in found if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD))
        if all(p.kind is not p.VAR_KEYWORD for p in found):
            break
    return names - {"self"}


def option_of(parameter: str) -> str:
    """The option that sets a parameter."""
    return OPTIONS.get(parameter, "--" + parameter.replace("_", "-"))


def check_settings(task: str, names: Iterable[str]) -> None:
    """Refuse the first parameter that the task's class does not take."""
    known = parameters_of(TASKS[task])
    for name in names:
        if name not in known:
            others = [other for other, kind in TASKS.items() if name in parameters_of(kind)]
            raise _refusal(f"{option_of(name)}: not an option of the {task}", others)


def check_capability(option: str, task: str, *capabilities: str) -> None:
    """Refuse an option that rests on something, or one of several things, that the task's class does not have."""
    able = [name for name, kind in TASKS.items() if any(getattr(kind, what, False) for what in capabilities)]
    if task not in able:
        raise _refusal(f"{option}: not available for the {task}", able)


def _refusal(problem: str, others: list[str]) -> StructronError:
    return StructronError(f"{problem}; works with {', '.join(others)}" if others else problem)


def beam_width(text: str) -> int | None:
    """The width that `--beam` names; None: no limit."""
    if text == "inf":
        return None
    if not _WIDTH.fullmatch(text):
        raise StructronError(f"--beam {text!r}: expected a whole number of at least 1, or inf")
    return int(text)


def margin_share(text: str) -> float | None:
    """The α that `--alma` names; None: plain perceptron updates."""
    try:
        alpha = None if text == "none" else float(text)
        make_alma(alpha)
    except (StructronError, ValueError):
        raise StructronError(f"--alma {text}: expected a number above 0 and up to 1, or none") from None
    return alpha


def set_beam(estimator: Any, text: str | None) -> None:
    """Search with another beam than the model was trained with."""
    if text is not None:
        check_settings(estimator.task, ["beam"])
        estimator.beam = beam_width(text)


def set_test_candidates(estimator: Any, number: int | None) -> None:
    """Choose from another number of labellings than the model was told to in training."""
    if number is not None:
        check_settings(estimator.task, ["test_candidates"])
        estimator.test_candidates = number
